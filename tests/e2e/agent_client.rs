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
    let titled = |server: &Server, ask: &Value, words: &str| {
        let title = ask["permission"]["title"].as_str().expect("a title").to_owned();
        let place = server.workspace.path().canonicalize().expect("a folder");
        let place = place.display().to_string();
        assert_eq!(title.replace(&place, "W"), words);
    };
    let ask = server.wait_ask(&session);
    titled(&server, &ask, "Write W/b.txt (13 bytes)");
    assert_eq!(ask["payload"]["oldText"], Value::Null);
    server.decide(&session, &ask, "allow_once");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["payload"]["oldText"], "typed");
    server.decide(&session, &ask, "deny");
    let ask = server.wait_ask(&session);
    titled(&server, &ask, "Run cat b.txt in W");
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
