//! What a BreadBoard engine may be told in a workspace that nobody trusts (R000-63).

use breadboard_ls::testing::simulate::breadboard::SimulatorOptions;
use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::Server;

/// A server in a workspace that is not trusted, connected.
fn untrusted(desk: &Desk) -> Server {
    let server = Server::ready(desk.chosen(false));
    connected(&server);
    server
}

/// Another client of the engine prompts.
fn prompted(desk: &Desk, session: &str, text: &str) {
    let (code, answer) = desk.post(&format!("/v1/sessions/{session}/input"), &json!({ "content": text }));
    assert_eq!(code, 202, "{answer}");
}

#[test]
fn r000_63_nothing_that_writes_or_runs_is_begun_without_trust() {
    let desk = Desk::scripted(&json!([[asks("make it", "made", "not made")], [says("now")]]));
    let mut server = untrusted(&desk);
    let refused = |server: &mut Server, method: &str, params: Value| {
        let error = server.refused(method, params);
        assert_eq!(error["data"]["code"], "untrusted_workspace", "{method}: {error}");
    };
    refused(&mut server, "bb/createSession", json!({ "task": "do it" }));
    assert_eq!(desk.engine.sessions(), Vec::<String>::new(), "a refusal leaves nothing behind");
    let session = server.session();
    refused(&mut server, "bb/sendMessage", json!({ "sessionId": session, "text": "do it" }));
    for command in ["restore_checkpoint", "set_model", "run_tests"] {
        refused(&mut server, "bb/command", json!({ "sessionId": session, "command": command, "args": {} }));
    }
    prompted(&desk, &session, "go");
    let ask = server.wait_ask(&session);
    for decision in ["allow_once", "allow_rule"] {
        refused(&mut server, "bb/approvePermission", Server::decision(&session, &ask, decision));
    }
    assert_eq!((desk.inputs(&session).len(), desk.commands(&session)), (1, Vec::new()), "nothing went out");
    // Trust, once given, counts at once.
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    assert_eq!(server.decide(&session, &ask, "allow_once")["outcome"], "recorded");
    ran(&server, &session);
    status(&server, &session, "idle");
    server.prompt(&session, "and now");
    ran(&server, &session);
}

#[test]
fn r000_63_looking_denying_stopping_and_deleting_need_no_trust() {
    let desk = Desk::scripted(&json!([
        { "when": "deny", "steps": [asks("make it", "made", "not made")] },
        { "when": "stop", "steps": [asks("make it", "made", "not made"), says("went on")] },
    ]));
    let mut server = untrusted(&desk);
    let session = server.session();
    prompted(&desk, &session, "deny");
    let ask = server.wait_ask(&session);
    assert_eq!(server.decide(&session, &ask, "deny")["outcome"], "recorded");
    server.wait_event(&session, "the denial", |event| event["payload"]["text"] == "not made");
    ran(&server, &session);
    prompted(&desk, &session, "stop");
    server.wait_ask(&session);
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], true);
    assert_eq!(ran(&server, &session)["payload"]["reason"], "stopped_by_user");

    server.write("a.txt", "after\n");
    server.write("old.txt", "before\n");
    assert_eq!(listed(&mut server, &session)["sessionId"], session.as_str());
    let files = server.ask("bb/listFiles", json!({ "sessionId": session, "path": "" }));
    assert!(files["entries"].as_array().unwrap().iter().any(|entry| entry["path"] == "a.txt"), "{files}");
    let read = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "a.txt" }));
    assert_eq!(read["content"], "after\n");
    let asked = json!({ "sessionId": session, "filePath": "a.txt", "beforeRef": "artifact:old.txt", "afterRef": "disk" });
    let diff = server.ask("bb/openDiff", asked);
    assert!(diff["unified"].as_str().unwrap().contains("+after"), "{diff}");
    server.ask("bb/command", json!({ "sessionId": session, "command": "list_checkpoints" }));
    heard(&server, &session, "checkpoint_list");
    assert!(!journal(&mut server, &session).is_empty());
    let deleted = server.ask("bb/deleteSession", json!({ "sessionId": session }));
    assert_eq!(deleted, json!({ "sessionId": session, "deleted": true }));
    assert_eq!(desk.engine.sessions(), Vec::<String>::new());
}

#[test]
fn a_token_that_the_editor_gives_behind_its_greeting_is_waited_for() {
    const TOKEN: &str = "engine-token-4711-abcdef";
    let options = SimulatorOptions { token: Some(TOKEN.to_owned()), ..scripted(&json!([])) };
    let desk = Desk::start(options);
    // Given an editor that starts the server without a token, and gives it as soon as it may
    let mut server = Server::ready(desk.chosen(true));
    server.ask("bb/setCredentials", json!({ "scope": "engine", "token": TOKEN }));
    // Then the engine is connected, and nobody was told that a token is missing
    connected(&server);
    let told: Vec<_> =
        server.received().into_iter().filter(|message| message["params"]["status"] == "error").collect();
    assert_eq!(told, Vec::<serde_json::Value>::new());
}
