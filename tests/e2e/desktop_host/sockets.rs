//! The sockets: prompts, approvals and stops of several clients on one session.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{Host, hello, prompt};
use crate::model::{Gate, Model, calls, says, says_and_waits};

const HELLO: &str = "+hello\n";

fn wish() -> Value {
    json!({ "file_path": "new.txt", "diff": format!("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n{HELLO}"), "rationale": "It greets." })
}

fn approve(request: &Value, approved: bool) -> Value {
    json!({ "type": "client.approval_response", "request_id": request["request_id"], "approved": approved, "scope": "all",
            "digest": request["digest"] })
}

#[test]
fn r002_27_28_30_54_the_handshake_comes_first_in_either_order_and_everything_bad_is_answered() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut socket = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    let greeting = socket.next().expect("a greeting");
    assert_eq!(greeting["type"], "server.hello");
    assert_eq!(greeting["server_info"]["model"]["model_name"], "story");
    socket.say(&prompt("too early"));
    assert_eq!(socket.refusal(), "HELLO_REQUIRED");
    let mut other = hello("one");
    other["protocol_version"] = json!("2.0.0");
    socket.say(&other);
    assert_eq!(socket.refusal(), "VERSION_MISMATCH");
    socket.say(&json!({ "type": "client.hello" }));
    assert_eq!(socket.refusal(), "BAD_MESSAGE");
    socket.say(&hello("one"));
    assert_eq!(socket.wait("session.snapshot")["reason"], "connected");
    let state = socket.wait("session.state");
    assert_eq!(state["state"]["clients"], json!([{ "name": "one", "version": "1" }]));
    for bad in ["", "{", "[1]", "null", r#"{"type":"client.unknown"}"#, r#"{"type":"client.cancel"}"#] {
        socket.send(Message::Text(bad.into()));
        assert_eq!(socket.refusal(), "BAD_MESSAGE", "{bad}");
    }
    socket.send(Message::Binary(vec![0, 1, 2].into()));
    assert_eq!(socket.refusal(), "BAD_MESSAGE");
    socket.send(Message::Text("x".repeat((1 << 20) + 1).into()));
    assert_eq!(socket.refusal(), "TOO_LARGE");
    socket.say(&hello("again"));
    assert_eq!(socket.refusal(), "BAD_MESSAGE");
    socket.say(&json!({ "type": "client.ping" }));
    socket.wait("server.pong");
}

#[test]
fn r002_31_72_73_all_clients_of_a_session_hear_the_prompt_the_tokens_and_the_end() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest.")]);
    let host = Host::of(&model);
    let session = host.session();
    let (mut asking, mut listening) = (host.client(&session, "one"), host.client(&session, "two"));
    asking.say(&prompt("what is it"));
    assert_eq!(listening.wait("session.user_message")["message"], "what is it");
    assert_eq!(listening.wait("assistant.token")["cumulative_text"], "Half of it, ");
    // One who comes in the middle has what was said.
    let mut late = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    late.say(&hello("three"));
    assert_eq!(late.wait("session.snapshot")["cumulative_text"], "Half of it, ");
    assert_eq!(late.wait("session.state")["state"]["running"], true);
    gate.open();
    for socket in [&mut asking, &mut listening, &mut late] {
        let end = socket.wait("assistant.message_final");
        assert_eq!(end["message"], "Half of it, and the rest.");
        assert_eq!(
            (&end["metadata"]["success"], &end["metadata"]["cancelled"]),
            (&json!(true), &Value::Null)
        );
        let tokens: Vec<&Value> =
            socket.heard.iter().filter(|message| message["type"] == "assistant.token").collect();
        let last = tokens.last().expect("a token");
        assert_eq!(last["cumulative_text"], end["message"]);
    }
    let put_together: String = asking
        .heard
        .iter()
        .filter(|message| message["type"] == "assistant.token")
        .map(|message| message["token"].as_str().expect("text"))
        .collect();
    assert_eq!(put_together, "Half of it, and the rest.");
}

#[test]
fn r002_44_64_66_an_approval_is_settled_once_and_the_others_hear_by_whom() {
    let model = Model::start(vec![calls("propose_patch", wish()), says("Done.")]);
    let host = Host::of(&model);
    let session = host.session();
    let (mut first, mut second) = (host.client(&session, "one"), host.client(&session, "two"));
    first.say(&prompt("write it"));
    let patch = second.wait("patch.proposed");
    assert_eq!((&patch["file_path"], &patch["rationale"]), (&json!("new.txt"), &json!("It greets.")));
    assert_eq!(patch["diff"], format!("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n{HELLO}"));
    assert!(!patch["acceptance_criteria"].as_array().expect("a list").is_empty());
    let request = second.wait("tool.request_approval");
    assert_eq!((&request["tool_name"], &request["risk_level"]), (&json!("write_file"), &json!("medium")));
    assert_eq!(first.wait("tool.request_approval"), request);
    // It waits for one who comes now, too: approvals outlive the sockets that heard of them.
    drop(first);
    let mut back = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    back.say(&hello("one again"));
    assert_eq!(back.wait("tool.request_approval"), request);
    let state = back.wait("session.state");
    assert_eq!(state["state"]["pending_approvals"], json!([request["request_id"]]));
    assert!(!host.workspace.path().join("new.txt").exists());
    second.say(&approve(&request, true));
    let settled = back.wait("approval.settled");
    assert_eq!((&settled["status"], &settled["by"]["name"]), (&json!("allowed"), &json!("two")));
    assert_eq!(second.wait("approval.settled"), settled);
    back.say(&approve(&request, false));
    let refused = back.wait("server.error");
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["details"]["by"]["name"]),
        (&json!("CONFLICT"), &json!("two"))
    );
    let end = back.wait("assistant.message_final");
    assert_eq!((&end["message"], &end["metadata"]["files_modified"]), (&json!("Done."), &json!(1)));
    assert_eq!(std::fs::read_to_string(host.workspace.path().join("new.txt")).expect("a file"), "hello\n");
    let state = back.wait_for("session.state", |state| state["state"]["running"] == false);
    assert_eq!(state["state"]["applied_patches"], json!([patch["patch_id"]]));
    assert_eq!(state["state"]["pending_approvals"], json!([]));
}

#[test]
fn r002_45_46_a_denial_writes_nothing_and_a_file_needs_its_path() {
    let model = Model::start(vec![calls("propose_patch", wish()), says("Then not.")]);
    let host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    client.say(&prompt("write it"));
    let request = client.wait("tool.request_approval");
    let mut answer = approve(&request, false);
    answer["scope"] = json!("file");
    client.say(&answer);
    assert_eq!(client.refusal(), "BAD_MESSAGE");
    let mut wrong = approve(&request, true);
    wrong["digest"] = json!("another");
    client.say(&wrong);
    assert_eq!(client.refusal(), "CONFLICT");
    client.say(&json!({ "type": "client.approval_response", "request_id": "nobody", "approved": true, "scope": "all" }));
    assert_eq!(client.refusal(), "NOT_FOUND");
    answer["file_path"] = json!("new.txt");
    client.say(&answer);
    assert_eq!(client.wait("approval.settled")["status"], "denied");
    assert_eq!(client.wait("assistant.message_final")["message"], "Then not.");
    assert!(!host.workspace.path().join("new.txt").exists());
}

#[test]
fn r002_51_a_cancel_of_any_client_ends_the_turn_and_no_socket() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half", &gate, ""), says("Whole.")]);
    let host = Host::of(&model);
    let session = host.session();
    let (mut asking, mut other) = (host.client(&session, "one"), host.client(&session, "two"));
    asking.say(&prompt("go on"));
    other.wait("assistant.token");
    other.say(&json!({ "type": "client.cancel", "reason": "user_cancelled" }));
    for socket in [&mut asking, &mut other] {
        let end = socket.wait("assistant.message_final");
        assert_eq!(
            (&end["metadata"]["success"], &end["metadata"]["cancelled"]),
            (&json!(false), &json!(true))
        );
    }
    other.say(&prompt("once more"));
    assert_eq!(asking.wait("assistant.message_final")["message"], "Whole.");
}

#[test]
fn r002_51_a_cancel_of_one_prompt_takes_that_one_back_and_no_turn_of_another() {
    // Given a turn of one client, and a prompt of another behind it
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest."), says("Third.")]);
    let host = Host::of(&model);
    let session = host.session();
    let mut one = host.client(&session, "one");
    let mut other = host.client(&session, "other");
    one.say(&prompt("the first"));
    one.wait("assistant.token");
    let mut second = prompt("the second");
    second["message_id"] = json!("m2");
    other.say(&second);
    // When the other takes its prompt back, and one that is unknown
    for id in ["m2", "m2", "never sent"] {
        other.say(&json!({ "type": "client.cancel", "reason": "user_cancelled", "message_id": id }));
    }
    other.say(&json!({ "type": "client.ping" }));
    other.wait("server.pong");
    gate.open();
    // Then the turn of the first ends by itself, and the next prompt is the next that is sent
    let end = one.wait("assistant.message_final");
    assert_eq!(end["message"], "Half of it, and the rest.", "{end}");
    one.say(&prompt("the third"));
    assert_eq!(one.wait("session.user_message")["message"], "the third");
    assert_eq!(one.wait("assistant.message_final")["message"], "Third.");
    assert!(!other.kinds().contains(&"server.error"), "{:?}", other.kinds());
}

#[test]
fn i14_2_a_stop_of_one_client_holds_back_no_prompt_of_another() {
    // Given a turn of one client, and a prompt of another behind it
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half", &gate, ""), says("Second.")]);
    let host = Host::of(&model);
    let session = host.session();
    let (mut one, mut other) = (host.client(&session, "one"), host.client(&session, "other"));
    one.say(&prompt("the first"));
    one.wait("assistant.token");
    other.say(&prompt("the second"));
    other.say(&json!({ "type": "client.ping" }));
    other.wait("server.pong");
    // When the first stops
    one.say(&json!({ "type": "client.cancel", "reason": "user_cancelled" }));
    // Then its own turn ends, and the prompt of the other is answered
    let end = one.wait("assistant.message_final");
    assert_eq!(end["metadata"]["cancelled"], true, "{end}");
    assert_eq!(one.wait("assistant.message_final")["message"], "Second.");
}

#[test]
fn i14_2_a_stop_of_a_client_whose_prompt_waits_means_that_prompt_and_no_turn_of_another() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest."), says("Third.")]);
    let host = Host::of(&model);
    let session = host.session();
    let (mut one, mut other) = (host.client(&session, "one"), host.client(&session, "other"));
    one.say(&prompt("the first"));
    one.wait("assistant.token");
    other.say(&prompt("the second"));
    other.say(&json!({ "type": "client.cancel", "reason": "user_cancelled" }));
    other.say(&json!({ "type": "client.ping" }));
    other.wait("server.pong");
    gate.open();
    let end = one.wait("assistant.message_final");
    assert_eq!(end["message"], "Half of it, and the rest.", "{end}");
    one.say(&prompt("the third"));
    assert_eq!(one.wait("assistant.message_final")["message"], "Third.");
}

#[test]
fn r002_74_75_76_a_model_that_fails_is_an_error_and_still_the_end_of_the_turn() {
    let model = Model::start(vec![crate::model::Reply::Status(
        400,
        r#"{"error":{"message":"no such model"}}"#.to_owned(),
    )]);
    let host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    client.say(&prompt("go on"));
    let error = client.wait("server.error");
    assert_eq!(
        (&error["error"]["code"], &error["error"]["recoverable"]),
        (&json!("MODEL_ERROR"), &json!(true))
    );
    assert_eq!(client.wait("assistant.message_final")["metadata"]["success"], false);
}

#[test]
fn r002_53_what_the_host_does_not_do_is_said_and_paths_that_lead_out_are_refused() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let mut client = host.client(&host.session(), "one");
    let changes = |path: &str| json!({ "type": "client.file_changes", "changes": [{ "type": "modified", "file_path": path }] });
    client.say(&changes("../ws-evil/secret.txt"));
    assert_eq!(client.refusal(), "POLICY_VIOLATION");
    client.say(
        &json!({ "type": "client.patch_apply_result", "patch_id": "p", "file_path": "f", "success": true,
                        "error": null, "applied_hash": "sha256:00" }),
    );
    assert_eq!(client.refusal(), "UNSUPPORTED");
    client.say(&json!({ "type": "client.command_result", "command_id": "c", "command": "ls", "exit_code": 0, "stdout": "",
                        "stderr": "", "duration_ms": 1 }));
    assert_eq!(client.refusal(), "UNSUPPORTED");
    client.say(&changes("src/a.rs"));
    client.say(&json!({ "type": "client.ping" }));
    client.wait("server.pong");
    assert_eq!(client.kinds().iter().filter(|kind| **kind == "server.error").count(), 3);
}

#[test]
fn r002_56_57_every_message_of_a_turn_fits_its_schema() {
    let model = Model::start(vec![calls("propose_patch", wish()), says("Done.")]);
    let host = Host::of(&model);
    let mut client = host.client(&host.session(), "one");
    client.say(&prompt("write it"));
    let request = client.wait("tool.request_approval");
    client.say(&approve(&request, true));
    client.wait("assistant.message_final");
    client.wait("session.state");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/desktop/host");
    for message in &client.heard {
        let kind = message["type"].as_str().expect("a type");
        let text = std::fs::read_to_string(folder.join(format!("{kind}.json"))).expect(kind);
        let validator =
            jsonschema::validator_for(&serde_json::from_str(&text).expect("JSON")).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{kind}: {errors:?} {message}");
    }
    assert!(client.kinds().contains(&"assistant.thinking"), "{:?}", client.kinds());
}

/// The handshake of a client that has nothing, and wants everything told again with who said what.
fn hello_for_all(name: &str) -> Value {
    let mut hello = hello(name);
    hello["replay"] = json!(true);
    hello["last_seen"] = json!({ "epoch": "", "seq": 0 });
    hello
}

#[cfg(unix)]
#[test]
fn i14_2_who_answered_is_known_after_the_host_was_killed() {
    let model = Model::start(vec![calls("propose_patch", wish()), says("Done.")]);
    let host = Host::of(&model);
    let session = host.session();
    // Given two clients of a session, one of which asks, and the other allows
    let (mut first, mut second) = (host.client(&session, "one"), host.client(&session, "two"));
    first.say(&prompt("write it"));
    let request = second.wait("tool.request_approval");
    second.say(&approve(&request, true));
    let by = json!({ "name": "two", "version": "1" });
    assert_eq!(first.wait("approval.settled")["by"], by);
    first.wait("assistant.message_final");
    drop((first, second));
    // When the host is killed and started again
    let host = host.killed_and_back(&Model::start(Vec::new()));
    // Then a third client reads by whom, in the snapshot, in the history, where it is told everything again, and where it answers
    let mut third = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    third.say(&hello("three"));
    let of = |page: &Value| -> Vec<String> {
        let entries = page["messages"].as_array().expect("entries").iter();
        let asked = entries.filter(|entry| entry["role"] == "approval");
        asked.map(|entry| entry["content"].as_str().expect("text").to_owned()).collect()
    };
    let told = of(&third.wait("session.snapshot"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with(" (allowed by two)"), "{told:?}");
    assert_eq!(of(&host.get(&format!("/v1/sessions/{session}/messages"))), told);
    third.wait("session.state");
    third.say(&approve(&request, false));
    let refused = third.wait("server.error");
    assert_eq!((&refused["error"]["code"], &refused["error"]["details"]["by"]), (&json!("CONFLICT"), &by));
    let mut fourth = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    fourth.say(&hello_for_all("four"));
    let settled = fourth.wait("approval.settled");
    assert_eq!((&settled["status"], &settled["by"]), (&json!("allowed"), &by));
}
