//! `breadboard-ls acp`: an agent for any client of the Agent Client Protocol, over our sessions, journal and approvals (issue 14,
//! point 6). One claim a test, on the real binary over its stdio.

mod client;
mod engines;
mod files;
mod sessions;

use std::sync::Arc;

use serde_json::{Value, json};

use self::client::{AcpPeer, folder};
use crate::harness::{Options, Server};
use crate::model::{Gate, Model, calls, says, says_and_waits};

/// The flags that choose a model, in a trusted workspace or not.
fn flags(model: &Model, trusted: bool) -> Vec<String> {
    let url = model.options(true)["model"]["url"].as_str().expect("a URL").to_owned();
    let mut flags: Vec<String> =
        ["--model=story", "--model-provider=openai"].map(str::to_owned).into_iter().collect();
    flags.push(format!("--model-url={url}"));
    flags.extend(trusted.then(|| "--trust".to_owned()));
    flags
}

fn ready(model: &Model, trusted: bool, capabilities: Value) -> (AcpPeer, String) {
    let flags = flags(model, trusted);
    AcpPeer::ready(&flags.iter().map(String::as_str).collect::<Vec<_>>(), capabilities)
}

fn change_of(file: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": file, "edits": [{ "old_text": old, "new_text": new }], "rationale": "as asked" })
}

#[test]
fn i14_6_hello_tells_one_version_and_what_there_is_and_comes_first() {
    let mut peer = AcpPeer::start(&[]);
    // Given nothing, then something may not be asked
    let early = peer.refused("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    assert_eq!(early["code"], -32600);
    // When a client of a later protocol says hello, then it hears the version that there is
    let hello = peer.ask("initialize", json!({ "protocolVersion": 99 }));
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(
        hello["agentCapabilities"],
        json!({ "loadSession": true,
            "promptCapabilities": { "image": false, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": true, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} } })
    );
    assert_eq!((&hello["authMethods"], &hello["agentInfo"]["name"]), (&json!([]), &json!("breadboard-ls")));
    // And what there is not is refused by its number
    assert_eq!(peer.refused("session/teleport", json!({}))["code"], -32601);
    assert_eq!(peer.refused("authenticate", json!({ "methodId": "x" }))["code"], -32602);
    for cwd in ["relative", "/no/such/folder", "/dev/null"] {
        let refused = peer.refused("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        assert_eq!(refused["code"], -32602, "{cwd}");
    }
}

#[test]
fn i14_6_an_answer_comes_in_pieces_and_the_prompt_is_answered_behind_them() {
    let model = Model::start(vec![says("Hello, you.")]);
    let (mut peer, session) = ready(&model, false, json!({}));
    let id = peer.prompt(&session, "greet me");
    let answer = peer.answer_to(&id);
    assert_eq!(answer["result"], json!({ "stopReason": "end_turn" }));
    // All of it was there when the answer came, and the prompt was not told back
    assert_eq!(peer.said("agent_message_chunk"), "Hello, you.");
    assert_eq!(peer.updates("user_message_chunk"), Vec::<Value>::new());
}

#[test]
fn i14_6_a_tool_call_has_its_kind_its_place_and_its_end() {
    let model = Model::start(vec![calls("read_file", json!({ "path": "a.txt" })), says("Read.")]);
    let (mut peer, session) = ready(&model, false, json!({}));
    peer.write("a.txt", "one line\n");
    let id = peer.prompt(&session, "read it");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    let mut call = peer.updates("tool_call").pop().expect("a call");
    for update in peer.updates("tool_call_update") {
        assert_eq!(update["toolCallId"], call["toolCallId"]);
        call.as_object_mut().expect("a call").extend(update.as_object().expect("an update").clone());
    }
    assert_eq!((&call["kind"], &call["status"]), (&json!("read"), &json!("completed")));
    assert_eq!(call["locations"], json!([{ "path": peer.path("a.txt") }]));
    assert!(call["content"].to_string().contains("one line"), "{call}");
}

#[test]
fn i14_6_an_edit_is_asked_with_its_diff_and_what_is_allowed_is_written_and_recorded_as_the_clients() {
    let model = Model::start(vec![calls("propose_patch", change_of("a.txt", "old", "new")), says("Done.")]);
    let (mut peer, session) = ready(&model, true, json!({}));
    peer.write("a.txt", "old\nrest\n");
    let id = peer.prompt(&session, "change it");
    let ask = peer.wait_request("session/request_permission");
    let call = &ask["params"]["toolCall"];
    let content = call["content"].as_array().expect("content");
    let diff = json!({ "type": "diff", "path": peer.path("a.txt"), "oldText": "old\nrest\n", "newText": "new\nrest\n" });
    assert!(content.contains(&diff), "{content:#?}");
    assert!(call["content"].to_string().contains("as asked"), "{call}");
    assert_eq!((&call["kind"], &call["status"]), (&json!("edit"), &json!("pending")));
    assert_eq!(peer.read("a.txt"), "old\nrest\n", "nothing is written before the answer");
    let known = peer.updates("tool_call").iter().any(|told| told["toolCallId"] == call["toolCallId"]);
    assert!(known, "the call that waits is one that the client knows: {call}");
    peer.choose(&ask, "allow_once");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.read("a.txt"), "new\nrest\n");
    // And who answered stands in the journal
    let (workspace, state) = (Arc::clone(&peer.workspace), Arc::clone(&peer.state));
    assert!(peer.close().success());
    let mut server = Server::start_in(workspace, state, Options::default());
    server.shake_hands();
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let events = read["events"].as_array().expect("events");
    let settled = events.iter().find(|event| event["type"] == "local.permission_settled").expect("settled");
    assert_eq!(settled["payload"]["resolvedBy"], "client", "{settled}");
    assert_eq!(settled["payload"]["status"], "allowed");
}

#[test]
fn i14_6_a_question_that_is_closed_allows_nothing_and_the_turn_goes_on() {
    let reply = || calls("propose_patch", change_of("a.txt", "old", "new"));
    let model = Model::start(vec![reply(), says("Not then."), reply(), says("Nor then.")]);
    let (mut peer, session) = ready(&model, true, json!({}));
    peer.write("a.txt", "old\n");
    for (said, answer) in [
        ("Not then.", json!({ "outcome": { "outcome": "cancelled" } })),
        ("Not then.Nor then.", json!({ "outcome": { "outcome": "selected", "optionId": "made up" } })),
    ] {
        let id = peer.prompt(&session, "change it");
        let ask = peer.wait_request("session/request_permission");
        peer.answer(&ask, answer);
        assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
        assert_eq!((peer.said("agent_message_chunk").as_str(), peer.read("a.txt").as_str()), (said, "old\n"));
    }
}

#[test]
fn i14_6_a_command_is_asked_whole_and_its_output_is_content_of_its_call() {
    let command = json!({ "command": "printf 'printed\\n'", "reason": "to see" });
    let model = Model::start(vec![calls("run_command", command), says("Ran.")]);
    let (mut peer, session) = ready(&model, true, json!({}));
    let id = peer.prompt(&session, "run it");
    let ask = peer.wait_request("session/request_permission");
    let call = ask["params"]["toolCall"].to_string();
    assert!(call.contains("printf 'printed") && call.contains("to see"), "{call}");
    peer.choose(&ask, "allow_once");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    let updates = peer.updates("tool_call_update");
    let shown = updates.iter().any(|update| update["content"].to_string().contains("```\\nprinted\\n"));
    assert!(shown, "{updates:#?}");
}

#[test]
fn i14_6_a_turn_is_stopped_while_other_requests_are_served() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Thinking", &gate, "never said")]);
    let (mut peer, session) = ready(&model, false, json!({}));
    let id = peer.prompt(&session, "go");
    peer.wait("a piece", |message| message["params"]["update"]["content"]["text"] == "Thinking");
    // Given a turn that runs, when others are asked, they are answered
    let listed = peer.ask("session/list", json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
    let again = peer.refused(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "x" }] }),
    );
    assert_eq!(again["code"], -32600, "{again}");
    // When it is stopped, then the prompt says so
    peer.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(peer.answer_to(&id)["result"], json!({ "stopReason": "cancelled" }));
    // And a cancel of nothing is nothing
    peer.notify("session/cancel", json!({ "sessionId": session }));
    peer.notify("session/cancel", json!({ "sessionId": "no session" }));
    model.then(says("Still here."));
    let id = peer.prompt(&session, "and now?");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert!(peer.said("agent_message_chunk").contains("Still here."));
    gate.open();
}

#[test]
fn i14_6_what_is_settled_without_the_client_is_withdrawn_from_it() {
    let model = Model::start(vec![calls("propose_patch", change_of("a.txt", "old", "new")), says("x")]);
    let (mut peer, session) = ready(&model, true, json!({}));
    peer.write("a.txt", "old\n");
    let id = peer.prompt(&session, "change it");
    let ask = peer.wait_request("session/request_permission");
    peer.notify("session/cancel", json!({ "sessionId": session }));
    let withdrawn = peer.wait("its end", |message| message["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], ask["id"]);
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "cancelled");
    // A late answer changes nothing
    peer.choose(&ask, "allow_once");
    model.then(says("Later."));
    let id = peer.prompt(&session, "go on");
    peer.answer_to(&id);
    assert_eq!(peer.read("a.txt"), "old\n");
}

#[test]
fn i14_6_what_is_no_message_is_answered_and_ends_nothing() {
    let mut peer = AcpPeer::start(&[]);
    peer.raw(b"{\n[1]\n\"x\"\n\n{\"jsonrpc\":\"2.0\",\"id\":7}\n\xff\xfe\n");
    let mut long = vec![b'x'; (32 << 20) + 10];
    long.push(b'\n');
    peer.raw(&long);
    let codes: Vec<(Value, Value)> = (0..6)
        .map(|_| {
            let refused = peer.wait("an error", |message| message.get("error").is_some());
            (refused["id"].clone(), refused["error"]["code"].clone())
        })
        .collect();
    let none = || Value::Null;
    assert_eq!(
        codes,
        [
            (none(), json!(-32700)),
            (none(), json!(-32600)),
            (none(), json!(-32600)),
            (json!(7), json!(-32600)),
            (none(), json!(-32700)),
            (none(), json!(-32600)),
        ]
    );
    assert_eq!(peer.hello(json!({}))["protocolVersion"], 1);
    // An answer to nothing and an unknown notification are nothing
    peer.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    peer.notify("_vendor/event", json!({}));
    peer.session();
}

#[test]
fn i14_6_a_prompt_that_cannot_be_taken_is_refused_in_a_sentence() {
    let model = Model::start(vec![]);
    let (mut peer, session) = ready(&model, false, json!({}));
    for (blocks, part) in [
        (json!([]), "empty"),
        (json!([{ "type": "image", "mimeType": "image/png", "data": "AA==" }]), "pictures"),
        (json!([{ "type": "audio", "mimeType": "audio/wav", "data": "AA==" }]), "sound"),
        (json!("text"), "prompt"),
    ] {
        let refused = peer.refused("session/prompt", json!({ "sessionId": session, "prompt": blocks }));
        assert_eq!(refused["code"], -32602, "{refused}");
        assert!(refused["message"].as_str().is_some_and(|said| said.contains(part)), "{refused}");
    }
    let unknown = peer
        .refused("session/prompt", json!({ "sessionId": "x", "prompt": [{ "type": "text", "text": "x" }] }));
    assert_eq!(unknown["code"], -32002);
}

#[test]
fn i14_6_a_turn_that_fails_is_an_error_with_its_reason() {
    let model = Model::start(vec![]);
    let (mut peer, session) = ready(&model, false, json!({}));
    model.then(crate::model::Reply::Status(401, "{}".to_owned()));
    let id = peer.prompt(&session, "go");
    let answer = peer.answer_to(&id);
    let said = answer["error"]["message"].as_str().expect("an error");
    assert!(said.contains("401") || said.contains("key") || said.contains("token"), "{said}");
    assert!(!answer.to_string().contains("s3cret"), "{answer}");
}

#[test]
fn i14_6_it_stops_with_its_input_in_the_middle_of_a_turn() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Thinking", &gate, "")]);
    let (mut peer, session) = ready(&model, false, json!({}));
    peer.prompt(&session, "go");
    peer.wait("a piece", |message| message["params"]["update"]["content"]["text"] == "Thinking");
    assert!(peer.close().success());
    gate.open();
    assert!(AcpPeer::start_in(folder(), folder(), &[]).close().success(), "and before anything was said");
}
