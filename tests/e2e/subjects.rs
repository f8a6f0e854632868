//! What a person decides on: the subject of a permission request, of each engine, as it comes over the wire.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, of_kind};
use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn chat(server: &mut Server, session: &str) -> Vec<Value> {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
}

#[test]
fn a_long_change_is_cut_on_the_wire_and_whole_when_it_is_asked_for() {
    // Given a file of 900 lines and a model that changes 600 of them
    let line = |at: usize| format!("line {at} of a text that is long enough to be cut somewhere\n");
    let old: String = (0..900).map(line).collect();
    let new = (0..900).map(|at| if at < 600 { format!("new {}", line(at)) } else { line(at) });
    let new: String = new.collect();
    let model = Model::start(vec![
        calls("propose_patch", json!({ "file_path": "long.txt", "rationale": "to try", "new_content": new })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.write("long.txt", &old);
    // When it asks
    server.prompt(&session, "change it");
    let ask = server.wait_ask(&session);
    // Then the event and the card carry the start of it and say so
    let permission = &ask["permission"];
    let subject = &permission["subject"];
    assert_eq!(
        (&subject["kind"], &subject["truncated"], &subject["reason"]),
        (&json!("edit"), &json!(true), &json!("to try"))
    );
    let file = &subject["files"][0];
    assert_eq!(
        (&file["filePath"], &file["change"], &file["added"], &file["removed"], &file["truncated"]),
        (&json!("long.txt"), &json!("modify"), &json!(600), &json!(600), &json!(true))
    );
    assert!(subject.to_string().len() < 32 * 1024, "{} bytes", subject.to_string().len());
    // And the request for it gives all of it, under the same digest
    let id = permission["requestId"].clone();
    let whole = server.ask("bb/permission/get", json!({ "sessionId": session, "requestId": id }));
    assert_eq!(whole["status"], "pending");
    assert_eq!(whole["permission"]["digest"], permission["digest"]);
    let subject = &whole["permission"]["subject"];
    assert_eq!(subject["truncated"], Value::Null);
    let diff = subject["files"][0]["diff"].as_str().expect("a diff");
    let added = diff.lines().filter(|line| line.starts_with('+')).count();
    assert_eq!((added, diff.contains("+new line 599 of")), (600, true));
    // And a patch block names the same patch
    let blocks = chat(&mut server, &session);
    let patches = of_kind(&blocks, "patch");
    assert_eq!(patches[0]["patchId"], permission["patchId"]);
    // When it was decided, then it can still be read
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    let settled = server.ask("bb/permission/get", json!({ "sessionId": session, "requestId": id }));
    assert_eq!((&settled["status"], &settled["resolvedBy"]), (&json!("denied"), &json!("user")));
    assert_eq!(settled["permission"], whole["permission"]);
    let unknown = json!({ "sessionId": session, "requestId": "another" });
    assert_eq!(server.refused("bb/permission/get", unknown)["data"]["code"], "unknown_request");
    let params = json!({ "requestId": id });
    assert_eq!(server.refused("bb/permission/get", params)["data"]["code"], "invalid_params");
}

#[test]
fn an_edit_of_the_breadboard_engine_shows_what_the_call_before_it_would_write() {
    // Given an engine that asks with a path and a function, its call before with the content, and no call for the second
    let arguments = json!({ "file_name": "sort.py", "content": "a\nb\n" }).to_string();
    let call = json!({ "call": { "id": "c9", "type": "function",
        "function": { "name": "create_file_from_block", "arguments": arguments } } });
    let ask = |path: &str| {
        let metadata = json!({ "path": path, "function": "create_file_from_block" });
        let item = json!({ "category": "edit", "pattern": path, "metadata": metadata });
        json!({ "ask": { "category": "edit", "pattern": path, "items": [item], "rule_suggestion": path } })
    };
    let desk =
        Desk::scripted(&json!([[{ "type": "tool_call", "payload": call }, ask("sort.py"), ask("blind.py")]]));
    let mut server = desk.server();
    let session = server.session();
    // When
    server.prompt(&session, "sort");
    let first = server.wait_ask(&session);
    // Then
    let file = json!({ "filePath": "sort.py", "change": "modify", "added": 2,
        "diff": "@@ -0,0 +1,2 @@\n+a\n+b\n" });
    let unseen = "`sort.py` gets this text as a whole; what it holds now, if it is there, is not shown and is replaced.";
    assert_eq!(first["permission"]["subject"], json!({ "kind": "edit", "files": [file], "reason": unseen }));
    let blocks = chat(&mut server, &session);
    let tools = of_kind(&blocks, "tool");
    assert_eq!((&first["permission"]["toolCallId"], &tools[0]["toolCallId"]), (&json!("c9"), &json!("c9")));
    server.decide(&session, &first, "allow_once");
    // And what the engine never told is unknown, and offers no rule
    let blind = server.wait_event(&session, "the second ask", |event| {
        event["permission"].is_object() && event["seq"].as_u64() > first["seq"].as_u64()
    });
    let untold = json!({ "filePath": "blind.py", "change": "modify" });
    assert_eq!(blind["permission"]["subject"], json!({ "kind": "edit", "files": [untold], "unknown": true }));
    let kinds: Vec<&Value> = blind["permission"]["options"]
        .as_array()
        .expect("options")
        .iter()
        .map(|option| &option["kind"])
        .collect();
    assert_eq!(kinds, ["allow_once", "deny"]);
    server.decide(&session, &blind, "deny");
    server.wait_end(&session);
}

#[test]
fn an_agent_that_names_its_call_and_no_more_is_shown_with_what_the_call_said() {
    // Given an agent that tells its change in an update of the call, and asks with the id alone
    let mut text = String::new();
    for line in 0..3 {
        let _ = writeln!(text, "line {line}");
    }
    let script = json!({ "prompts": [{ "when": "", "steps": [
        { "tool_call": { "toolCallId": "t1", "title": "Edit a.txt", "kind": "edit", "status": "pending" } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t1",
            "content": [{ "type": "diff", "path": "a.txt", "oldText": "line 0\n", "newText": text }] } },
        { "request": "session/request_permission", "params": { "toolCall": { "toolCallId": "t1" }, "options": [
            { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
            { "optionId": "ever", "name": "Always allow edits", "kind": "allow_always" },
            { "optionId": "no", "name": "Reject", "kind": "reject_once" }] } },
    ] }] });
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": agent } });
    let mut server = Server::ready(Options { options, ..Options::default() });
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    // When
    server.prompt(&session, "edit");
    let ask = server.wait_ask(&session);
    // Then the request says what would be written, in a path of the workspace, and whose rule would be saved
    let permission = &ask["permission"];
    let file = json!({ "filePath": "a.txt", "change": "modify", "added": 2, "removed": 0,
        "diff": "@@ -1,1 +1,3 @@\n line 0\n+line 1\n+line 2\n" });
    assert_eq!(permission["subject"], json!({ "kind": "edit", "files": [file] }));
    assert_eq!((&permission["title"], &permission["toolCallId"]), (&json!("Edit a.txt"), &json!("t1")));
    assert_eq!(
        permission["options"][1]["rule"],
        json!({ "pattern": "Always allow edits", "holder": "agent" })
    );
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
}
