//! Edits that an agent asks for and makes itself or through us: what is shown of them, and that each is asked about once.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn settings(script: &Value, trusted: bool) -> Options {
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()], "fileSystem": true });
    let options = json!({ "workspaceTrusted": trusted, "agents": { "sim": agent } });
    Options { options, ..Options::default() }
}

fn session(server: &mut Server) -> String {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    made["sessionId"].as_str().expect("an id").to_owned()
}

/// A difference that says nothing of what is there.
fn written(path: &str, new: &str) -> Value {
    json!([{ "type": "diff", "path": path, "oldText": null, "newText": new }])
}

/// An agent that tells a call, asks for it by `named`, and is answered.
fn told_and_asked(content: &Value, named: Value) -> Vec<Value> {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "kind": "edit", "content": content });
    vec![json!({ "update": call }), json!({ "ask": { "toolCall": named, "options": options() } })]
}

fn options() -> Value {
    json!([{ "optionId": "once", "kind": "allow_once", "name": "Yes" }, { "optionId": "no", "kind": "reject_once", "name": "No" }])
}

fn blocks(server: &mut Server, session: &str) -> Vec<Value> {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
}

fn of_kind(blocks: &[Value], kind: &str) -> Value {
    blocks.iter().find(|block| block["kind"] == kind).expect("a block").clone()
}

/// The one file of an ask: what happens to it, how many lines, and its diff.
fn file_of(permission: &Value) -> Value {
    let file = &permission["subject"]["files"][0];
    json!([file["filePath"], file["change"], file["added"], file["removed"], file["diff"]])
}

#[test]
fn a_whole_text_for_a_file_that_is_there_is_shown_as_its_change_and_the_same_after_a_restart() {
    let changed = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    for typed in [false, true] {
        // Given an agent that writes a file whole, as if it were new, and a file of that name on disk, or in the editor alone
        let content = written("${cwd}/a.txt", "one\n2\nthree\n");
        let script =
            json!(told_and_asked(&content, json!({ "toolCallId": "c", "kind": "edit", "content": content })));
        let mut server = Server::ready(settings(&script, true));
        server.write("a.txt", if typed { "old\n" } else { "one\ntwo\nthree\n" });
        if typed {
            server.open("a.txt", "one\ntwo\nthree\n");
        }
        let session = session(&mut server);
        // When it asks
        server.prompt(&session, "go");
        let ask = server.wait_ask(&session);
        // Then a change is asked for, with what goes and what comes
        let permission = &ask["permission"];
        assert_eq!(permission["title"], "Edit a.txt", "{typed}");
        assert_eq!(file_of(permission), json!(["a.txt", "modify", 1, 1, changed]));
        assert_eq!(permission["subject"].get("unknown"), None);
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        // And the card of the call shows the same, under its path in the workspace
        let shown = blocks(&mut server, &session);
        assert_eq!(of_kind(&shown, "tool")["diff"], format!("--- a.txt\n+++ a.txt\n{changed}"));
        // And so does the next process, though the file is another one by now
        server.kill();
        server.write("a.txt", "other\n");
        let again = settings(&script, true);
        let mut again = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), again);
        again.shake_hands();
        let mut replayed = blocks(&mut again, &session);
        replayed.truncate(shown.len());
        assert_eq!(replayed, shown);
    }
}

#[test]
fn a_file_that_is_not_there_is_new_and_one_that_cannot_be_read_is_said_to_be_unread() {
    let unread = "What is there now could not be read, so what this replaces is not shown. ";
    for (path, trusted, made, title, reason) in [
        ("${cwd}/sub/new.txt", true, json!(["sub/new.txt", "create", 1, 0]), "Create sub/new.txt", None),
        (
            "/etc/hostname",
            true,
            json!(["/etc/hostname", "modify", 1, null]),
            "Edit /etc/hostname",
            Some("It is outside of the workspace."),
        ),
        ("${cwd}/blob", true, json!(["blob", "modify", 1, null]), "Edit blob", Some("`blob` is not text")),
        (
            "${cwd}/large",
            true,
            json!(["large", "modify", 1, null]),
            "Edit large",
            Some("`large` is larger than 512 KiB"),
        ),
    ] {
        // Given an agent that writes a file whole
        let content = written(path, "new\n");
        let script = json!(told_and_asked(&content, json!({ "toolCallId": "c", "content": content })));
        let mut server = Server::ready(settings(&script, trusted));
        std::fs::write(server.workspace.path().join("blob"), b"\x00\xff\x01").expect("a file");
        std::fs::write(server.workspace.path().join("large"), "x".repeat(600 << 10)).expect("a file");
        let session = session(&mut server);
        // When it asks, then what is known is shown, and what is not is said
        server.prompt(&session, "go");
        let ask = server.wait_ask(&session);
        let permission = &ask["permission"];
        let file = file_of(permission);
        assert_eq!(json!(file.as_array().expect("a file")[..4]), made, "{path}");
        assert_eq!(permission["title"], title);
        let said = permission["subject"]["reason"].as_str().unwrap_or_default();
        match reason {
            Some(reason) => assert!(said.starts_with(unread) && said.contains(reason), "{said}"),
            None => assert_eq!(said, ""),
        }
        server.decide(&session, &ask, "deny");
        server.wait_end(&session);
        // Outside of the workspace a path stays whole
        let diff = of_kind(&blocks(&mut server, &session), "tool")["diff"].clone();
        let named = if path.starts_with('/') { path } else { made[0].as_str().expect("a path") };
        assert!(diff.as_str().expect("a diff").contains(&format!("+++ {named}\n")), "{diff}");
    }
}

#[test]
fn d8_an_edit_is_asked_once_of_an_agent_that_names_its_call_and_then_writes_through_us() {
    for (old, new, before) in [
        (json!("one\ntwo\n"), "one\n2\n", Some("one\ntwo\n")),
        (Value::Null, "one\n2\n", Some("one\ntwo\n")),
        (Value::Null, "new\n", None),
    ] {
        // Given an agent that tells a call with its change, asks for it by its id alone, and then writes through us
        let content = json!([{ "type": "diff", "path": "${cwd}/a.txt", "oldText": old, "newText": new }]);
        let mut steps = told_and_asked(&content, json!({ "toolCallId": "c" }));
        steps.push(
            json!({ "request": "fs/write_text_file", "params": { "path": "${cwd}/a.txt", "content": new } }),
        );
        let mut server = Server::ready(settings(&json!(steps), true));
        if let Some(text) = before {
            server.write("a.txt", text);
        }
        let session = session(&mut server);
        server.prompt(&session, "go");
        // When the user allows what is shown
        let ask = server.wait_ask(&session);
        let file = file_of(&ask["permission"]);
        let change = if before.is_some() { "modify" } else { "create" };
        assert_eq!((&file[0], &file[1]), (&json!("a.txt"), &json!(change)));
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        // Then it is written, and nobody was asked again
        assert_eq!(server.read("a.txt"), new);
        let asks =
            server.events(&session).iter().filter(|event| event["class"] == "permission.request").count();
        assert_eq!(asks, 1, "{old} {new}");
    }
}

#[test]
fn d8_a_write_that_differs_from_what_the_named_call_told_is_asked_about() {
    // Given a call that tells one change, an ask for it by its id, and a write of another text
    let content = json!([{ "type": "diff", "path": "${cwd}/a.txt", "oldText": "one\n", "newText": "two\n" }]);
    let mut steps = told_and_asked(&content, json!({ "toolCallId": "c" }));
    steps.push(
        json!({ "request": "fs/write_text_file", "params": { "path": "${cwd}/a.txt", "content": "three\n" },
        "on": { "error": [{ "chunk": "refused" }] } }),
    );
    let mut server = Server::ready(settings(&json!(steps), true));
    server.write("a.txt", "one\n");
    let session = session(&mut server);
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    // When it writes, then that is asked about, and not done where it is denied
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["title"], "Write a.txt (6 bytes)");
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    assert_eq!(server.read("a.txt"), "one\n");
}
