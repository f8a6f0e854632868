//! Sessions over the life of one process: listed, opened with their history or without, in several folders, let go.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{AcpPeer, folder};
use super::{change_of, flags};
use crate::model::{Model, calls, says};

fn again(peer: &mut AcpPeer, flags: &[String]) -> AcpPeer {
    let (workspace, state) = (Arc::clone(&peer.workspace), Arc::clone(&peer.state));
    assert!(peer.close().success());
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut next = AcpPeer::start_in(workspace, state, &words);
    next.hello(json!({}));
    next
}

fn start(flags: &[String]) -> AcpPeer {
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut peer = AcpPeer::start(&words);
    peer.hello(json!({}));
    peer
}

#[test]
fn i14_6_a_session_of_an_earlier_process_is_listed_and_its_history_told_before_the_answer() {
    let model = Model::start(vec![
        calls("propose_patch", change_of("a.txt", "old", "new")),
        says("First answer."),
        says("Second answer."),
        says("Third answer."),
    ]);
    let flags = flags(&model, true);
    let mut peer = start(&flags);
    peer.write("a.txt", "old\n");
    let session = peer.session();
    let id = peer.prompt(&session, "first question");
    let ask = peer.wait_request("session/request_permission");
    peer.choose(&ask, "reject_once");
    peer.answer_to(&id);
    // When another process comes, it lists the session
    let mut peer = again(&mut peer, &flags);
    let cwd = json!(peer.workspace.path());
    let listed = peer.ask("session/list", json!({ "cwd": cwd }));
    let listed = listed["sessions"].as_array().expect("sessions");
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["sessionId"], &listed[0]["title"]), (&json!(session), &json!("first question")));
    assert_eq!(listed[0]["cwd"], json!(peer.path("").trim_end_matches('/')));
    assert!(listed[0]["updatedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{listed:?}");
    // And tells its history before the answer, without asking what was settled again
    peer.ask("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    assert_eq!(peer.said("user_message_chunk"), "first question");
    assert_eq!(peer.said("agent_message_chunk"), "First answer.");
    assert_eq!(peer.updates("tool_call").len(), 1);
    let asked = peer.heard.iter().any(|message| message["method"] == "session/request_permission");
    assert!(!asked, "{:#?}", peer.heard);
    let id = peer.prompt(&session, "second question");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.said("agent_message_chunk"), "First answer.Second answer.");
    assert_eq!(peer.said("user_message_chunk"), "first question", "the own prompt is not told back");
    // And a resume tells nothing again
    let mut peer = again(&mut peer, &flags);
    peer.ask("session/resume", json!({ "sessionId": session, "cwd": cwd }));
    assert_eq!(
        (peer.said("user_message_chunk"), peer.said("agent_message_chunk")),
        (String::new(), String::new())
    );
    let id = peer.prompt(&session, "third question");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.said("agent_message_chunk"), "Third answer.");
}

#[test]
fn i14_6_what_waited_when_the_process_ended_is_asked_again_when_its_session_is_opened() {
    let model =
        Model::start(vec![calls("propose_patch", change_of("a.txt", "old", "new")), says("Written.")]);
    let flags = flags(&model, true);
    let mut peer = start(&flags);
    peer.write("a.txt", "old\n");
    let session = peer.session();
    peer.prompt(&session, "change it");
    peer.wait_request("session/request_permission");
    let mut peer = again(&mut peer, &flags);
    let cwd = json!(peer.workspace.path());
    peer.ask("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    let ask = peer.wait_request("session/request_permission");
    peer.choose(&ask, "allow_once");
    peer.wait("the rest of the turn", |message| message["params"]["update"]["content"]["text"] == "Written.");
    assert_eq!(peer.read("a.txt"), "new\n");
}

#[test]
fn i14_6_each_folder_has_its_own_sessions_and_a_session_is_let_go_or_deleted() {
    let model = Model::start(vec![says("here"), says("there")]);
    let mut peer = start(&flags(&model, false));
    let other = folder();
    let here = peer.session();
    let there = peer.ask("session/new", json!({ "cwd": other.path(), "mcpServers": [] }));
    let there = there["sessionId"].as_str().expect("an id").to_owned();
    for (session, words) in [(&here, "here"), (&there, "there")] {
        let id = peer.prompt(session, "where?");
        assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
        assert!(peer.said("agent_message_chunk").ends_with(words));
    }
    let of = |peer: &mut AcpPeer, cwd: Value| -> Vec<String> {
        let listed = peer.ask("session/list", json!({ "cwd": cwd }));
        let sessions = listed["sessions"].as_array().expect("sessions").iter();
        sessions.filter_map(|session| session["sessionId"].as_str().map(str::to_owned)).collect()
    };
    let (mine, others) = (json!(peer.workspace.path()), json!(other.path()));
    assert_eq!(
        (of(&mut peer, mine.clone()), of(&mut peer, others.clone())),
        (vec![here.clone()], vec![there.clone()])
    );
    // When one is let go, it is known no more and still there; when one is deleted, it is gone
    assert_eq!(peer.ask("session/close", json!({ "sessionId": here })), json!({}));
    assert_eq!(peer.refused("session/close", json!({ "sessionId": here }))["code"], -32002);
    assert_eq!(peer.ask("session/delete", json!({ "sessionId": there })), json!({}));
    assert_eq!((of(&mut peer, mine), of(&mut peer, others)), (vec![here], Vec::new()));
}

#[test]
fn i14_6_tool_servers_that_are_not_started_are_said_to_be() {
    let mut peer = start(&[]);
    let server = json!({ "name": "tools", "command": "/bin/tools", "args": [], "env": [] });
    peer.ask("session/new", json!({ "cwd": peer.workspace.path(), "mcpServers": [server] }));
    peer.wait("a word", |message| message["params"]["update"].to_string().contains("are not started"));
}

#[test]
fn tool_servers_of_the_client_are_used_in_the_session_that_it_names_them_for() {
    // Given a trusted folder, and a client that names a server with a secret
    let model = Model::start(vec![calls("mcp__my-tools__echo", json!({ "text": "hello" })), says("Done.")]);
    let mut peer = start(&flags(&model, true));
    let notes = tempfile::tempdir().expect("a folder");
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/mcp/server.py");
    let server = json!({ "name": "my tools", "command": "python3", "args": [script, notes.path().join("heard")],
                         "env": [{ "name": "API_KEY", "value": "canary-of-a-client" }] });
    let made = peer.ask("session/new", json!({ "cwd": peer.workspace.path(), "mcpServers": [server] }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    // When the model calls its tool, then the client is asked, and the tool is called
    let prompt = peer.prompt(&session, "go");
    let ask = peer.wait_request("session/request_permission");
    assert!(ask["params"]["toolCall"].to_string().contains("my-tools"), "{ask}");
    peer.choose(&ask, "allow_once");
    assert_eq!(peer.answer_to(&prompt)["result"]["stopReason"], "end_turn");
    model.asked();
    assert_eq!(model.asked().tool_result(), "hello");
    assert!(!format!("{:?}", peer.heard).contains("canary-of-a-client"));
}
