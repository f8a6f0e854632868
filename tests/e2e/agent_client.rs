//! An agent that reads and writes files and runs commands through the server, as a setting lets it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn settings(script: &Value, given: &Value) -> Options {
    let mut agent =
        json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    for (name, value) in given.as_object().expect("members") {
        agent[name] = value.clone();
    }
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": agent } });
    Options { options, ..Options::default() }
}

fn session(server: &mut Server) -> String {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    made["sessionId"].as_str().expect("an id").to_owned()
}

#[test]
fn c_an_agent_works_on_files_and_in_terminals_and_its_log_has_no_token() {
    let script = json!([
        { "request": "fs/read_text_file", "params": { "path": "${cwd}/a.txt" }, "as": "a" },
        { "request": "fs/write_text_file", "params": { "path": "${cwd}/b.txt", "content": "copy of ${a.content}" } },
        { "request": "fs/write_text_file", "params": { "path": "${cwd}/a.txt", "content": "spoilt" },
          "on": { "error": [{ "chunk": "not written; " }] } },
        { "request": "fs/read_text_file", "params": { "path": "/etc/hostname" },
          "on": { "error": [{ "chunk": "not read; " }] } },
        { "request": "terminal/create", "params": { "command": "cat b.txt" }, "as": "t" },
        { "request": "terminal/wait_for_exit", "params": { "terminalId": "$t.terminalId" } },
        { "request": "terminal/output", "params": { "terminalId": "$t.terminalId" }, "as": "shown" },
        { "chunk": "${shown.output}" },
        { "stderr": "with tok-later-42 in it" },
    ]);
    let mut server = Server::ready(settings(&script, &json!({ "fileSystem": true, "terminals": true })));
    server.write("a.txt", "saved");
    // Given a buffer that is not saved, and a token that is set once the agent runs
    server.open("a.txt", "typed");
    let session = session(&mut server);
    server.ask("bb/setCredentials", json!({ "scope": "model", "token": "tok-later-42" }));
    // When it works
    server.prompt(&session, "go");
    let titled = |ask: &Value, words: &str| assert_eq!(ask["permission"]["title"], words);
    let ask = server.wait_ask(&session);
    titled(&ask, "Write b.txt (13 bytes)");
    assert_eq!(ask["payload"]["oldText"], Value::Null);
    server.decide(&session, &ask, "allow_once");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["payload"]["oldText"], "typed");
    server.decide(&session, &ask, "deny");
    let ask = server.wait_ask(&session);
    titled(&ask, "Run cat b.txt");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    // Then what was allowed was done, over what the editor has, and nothing else
    assert_eq!(
        (server.read("a.txt"), server.read("b.txt")),
        ("saved".to_owned(), "copy of typed".to_owned())
    );
    let said: String = server
        .events(&session)
        .iter()
        .filter(|event| event["type"] == "agent_message_chunk")
        .filter_map(|event| event["payload"]["content"]["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, "not written; not read; copy of typed");
    let state = Arc::clone(&server.state);
    server.shut_down();
    assert_eq!(
        std::fs::read_to_string(state.path().join("agents/sim.log")).expect("a log"),
        "with [redacted] in it\n"
    );
}

#[test]
fn c_without_the_settings_an_agent_gets_neither_files_nor_terminals() {
    let refused = |word: &str| json!({ "error": [{ "chunk": word }] });
    let script = json!([
        { "request": "fs/read_text_file", "params": { "path": "${cwd}/a.txt" }, "on": refused("a") },
        { "request": "fs/write_text_file", "params": { "path": "${cwd}/a.txt", "content": "x" }, "on": refused("b") },
        { "request": "terminal/create", "params": { "command": "touch ran" }, "on": refused("c") },
    ]);
    let mut server = Server::ready(settings(&script, &json!({})));
    server.write("a.txt", "saved");
    let session = session(&mut server);
    server.turn(&session, "go");
    let events = server.events(&session);
    assert!(events.iter().all(|event| event["class"] != "permission.request"));
    let chunks = events.iter().filter(|event| event["type"] == "agent_message_chunk");
    let said: Vec<&str> = chunks.filter_map(|event| event["payload"]["content"]["text"].as_str()).collect();
    assert_eq!(said, ["a", "b", "c"]);
    assert_eq!(
        (server.read("a.txt"), server.workspace.path().join("ran").exists()),
        ("saved".to_owned(), false)
    );
}

#[test]
fn d21_a_command_that_we_run_for_an_agent_stands_on_its_card_before_and_after_a_restart() {
    // Given an agent that runs a command through us and shows its terminal on a card
    let held = |status: &str| {
        json!({ "update": { "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status,
            "content": [{ "type": "terminal", "terminalId": "${t.terminalId}" }] } })
    };
    let script = json!([
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "c", "title": "sh", "kind": "execute" } },
        { "request": "terminal/create", "params": { "command": "echo out; echo err >&2; exit 3" }, "as": "t" },
        held("in_progress"),
        { "request": "terminal/wait_for_exit", "params": { "terminalId": "$t.terminalId" } },
        { "request": "terminal/release", "params": { "terminalId": "$t.terminalId" } },
        held("completed"),
    ]);
    let mut server = Server::ready(settings(&script, &json!({ "terminals": true })));
    let session = session(&mut server);
    // When it does
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    // Then the card has output and exit code, and the code decides how it stands
    let card = |server: &mut Server| {
        let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
        let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
        let tool = blocks.into_iter().find(|block| block["kind"] == "tool").expect("a card");
        json!([tool["status"], tool["exitCode"], tool["preview"], tool["bytes"]])
    };
    let shown = json!(["failed", 3, "out\nerr\n[exit code 3]", 8]);
    assert_eq!(card(&mut server), shown);
    // And the same after a restart
    server.kill();
    let options = settings(&script, &json!({ "terminals": true }));
    let mut again = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), options);
    again.shake_hands();
    assert_eq!(card(&mut again), shown);
}

#[test]
fn d17_what_is_allowed_always_at_an_agent_is_said_and_listed_as_its_own() {
    // Given an agent that offers "always"
    let options = json!([
        { "optionId": "once", "kind": "allow_once", "name": "Allow once" },
        { "optionId": "always", "kind": "allow_always", "name": "Always allow edits" },
        { "optionId": "no", "kind": "reject_once", "name": "Reject" },
    ]);
    let change = json!({ "type": "diff", "path": "${cwd}/a.txt", "oldText": null, "newText": "a" });
    let script = json!([{ "ask": { "toolCall": { "toolCallId": "c", "kind": "edit", "content": [change] }, "options": options } }]);
    let mut server = Server::ready(settings(&script, &json!({})));
    let session = session(&mut server);
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    // When the user takes it
    server.ask(
        "bb/approvePermission",
        json!({ "sessionId": session, "requestId": ask["permission"]["requestId"], "decision": "allow_rule", "optionId": "always" }),
    );
    server.wait_end(&session);
    // Then the card says what was chosen and who keeps it
    let card = settled_card(&mut server, &session);
    let chosen = json!({ "optionId": "always", "label": "Always allow edits",
        "rule": { "pattern": "Always allow edits", "holder": "agent", "keptBy": "sim" } });
    assert_eq!((&card["status"], &card["chosen"]), (&json!("allowed"), &chosen));
    // And so does the list, which cannot take it back
    let listed = server.ask("bb/permission/list", json!({}));
    let mut rule = listed["rules"][0].clone();
    let id = rule["ruleId"].take();
    let wanted = json!({ "ruleId": null, "pattern": "Always allow edits", "holder": "agent", "keptBy": "sim",
        "revocable": false, "sessionId": session });
    assert_eq!((listed["rules"].as_array().map(Vec::len), rule), (Some(1), wanted));
    let refused = server.refused("bb/permission/revoke", json!({ "ruleId": id }));
    assert_eq!(refused["data"]["code"], "unsupported");
    assert_eq!(refused["message"], "`sim` keeps this rule, so it can be taken back only there.");
    // And after a restart the card is the same
    server.kill();
    let settings = settings(&script, &json!({}));
    let mut again = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), settings);
    again.shake_hands();
    assert_eq!(settled_card(&mut again, &session), card);
}

#[test]
fn d8_all_edits_of_a_session_are_allowed_by_one_answer_that_is_listed_and_taken_back() {
    // Given an agent that writes two files, one outside of the workspace, and runs a command; and then writes another one
    let write = |path: &str| {
        json!({ "request": "fs/write_text_file", "params": { "path": path, "content": "new" },
            "on": { "error": [{ "chunk": format!("no {path}; ") }] } })
    };
    let outside = tempfile::tempdir().expect("a directory");
    let beside = outside.path().join("d.txt");
    let many = json!([
        write("${cwd}/a.txt"),
        write("${cwd}/b.txt"),
        write(beside.to_str().expect("is text")),
        { "request": "terminal/create", "params": { "command": "touch ran" }, "on": { "error": [{ "chunk": "not run" }] } },
    ]);
    let script = json!({ "prompts": [
        { "when": "many", "steps": many },
        { "when": "one", "steps": [write("${cwd}/c.txt")] },
    ] });
    let mut server = Server::ready(settings(&script, &json!({ "fileSystem": true, "terminals": true })));
    let allowing = session(&mut server);
    server.prompt(&allowing, "many");
    let ask = server.wait_ask(&allowing);
    // When the user allows all edits of the session at the first
    server.ask(
        "bb/approvePermission",
        json!({ "sessionId": allowing, "requestId": ask["permission"]["requestId"],
            "decision": "allow_rule", "optionId": "allow_session" }),
    );
    let ask =
        server.wait_event(&allowing, "the ask for the command", |event| event["type"] == "terminal/create");
    server.decide(&allowing, &ask, "deny");
    server.wait_end(&allowing);
    // Then the second is done without a question and says by what, and nothing else is
    let events = server.events(&allowing);
    let settled = events.iter().filter(|event| event["type"] == "local.permission_settled");
    let by: Vec<&Value> = settled.map(|event| &event["payload"]["resolvedBy"]).collect();
    assert_eq!(by, [&json!("user"), &json!("rule"), &json!("user")]);
    let chunks = events.iter().filter(|event| event["type"] == "agent_message_chunk");
    let said: Vec<&str> = chunks.filter_map(|event| event["payload"]["content"]["text"].as_str()).collect();
    assert_eq!(said, [format!("no {}; ", beside.display()).as_str(), "not run"]);
    assert_eq!((server.read("a.txt"), server.read("b.txt")), ("new".to_owned(), "new".to_owned()));
    assert!(!beside.exists() && !server.workspace.path().join("ran").exists());
    // And it is listed with the words of the option
    let listed = server.ask("bb/permission/list", json!({}));
    let mut rule = listed["rules"][0].clone();
    let (id, folder) = (rule["ruleId"].take(), rule["folder"].take());
    assert_eq!(
        (listed["rules"].as_array().map(Vec::len), rule),
        (
            Some(1),
            json!({ "ruleId": null, "pattern": "write any file in the open folders", "scope": "session",
                "holder": "server", "revocable": true, "folder": null, "sessionId": allowing })
        )
    );
    assert!(folder.is_string(), "{folder}");
    // And it holds in the next turn, in no other session, and no more once it is taken back
    server.turn(&allowing, "one");
    assert_eq!(server.read("c.txt"), "new");
    std::fs::remove_file(server.workspace.path().join("c.txt")).expect("removes");
    let other = session(&mut server);
    for revoked in [false, true] {
        if revoked {
            server.ask("bb/permission/revoke", json!({ "ruleId": id }));
        }
        let session = if revoked { &allowing } else { &other };
        server.prompt(session, "one");
        let ask = server.wait_ask(session);
        server.decide(session, &ask, "deny");
        server.wait_end(session);
        assert!(!server.workspace.path().join("c.txt").exists());
    }
}

fn settled_card(server: &mut Server, session: &str) -> Value {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    blocks.into_iter().find(|block| block["kind"] == "permission").expect("a card")
}
