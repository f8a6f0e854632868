//! The client against frames and programs of its own.

use super::*;

#[test]
fn messages_are_sorted_and_refusals_keep_their_code() {
    let nobody: SharedStdin = Arc::default();
    let sorted = |message: Value| sort(message.to_string(), &nobody);
    assert!(matches!(
        sorted(json!({"method": "bb/events", "params": {}})),
        Some(Incoming::Notification { method, raw }) if method == "bb/events" && raw.contains("params")
    ));
    assert!(matches!(
        sorted(json!({"id": 3, "result": {"a": 1}})),
        Some(Incoming::Answer { id: 3, outcome: Ok(value) }) if value == json!({"a": 1})
    ));
    let refused = json!({"id": 4, "error": {"code": -32803, "message": "No.", "data": {"code": "conflict"}}});
    let wanted = Refusal { number: -32803, code: "conflict".into(), message: "No.".into() };
    assert!(matches!(
        sorted(refused),
        Some(Incoming::Answer { id: 4, outcome: Err(refusal) }) if refusal == wanted
    ));
    assert!(sorted(json!({"id": 5, "method": "workspace/configuration"})).is_none());
    assert!(matches!(sort("[]x".to_owned(), &nobody), Some(Incoming::Gone(_))));
}

#[test]
fn every_request_of_the_server_gets_an_answer() {
    let answer = |method: &str, params: Value| answer_to(method, &json!({"id": "a", "params": params}));
    assert_eq!(
        answer("window/workDoneProgress/create", json!({"token": 1})),
        json!({"jsonrpc": "2.0", "id": "a", "result": null})
    );
    assert_eq!(
        answer("workspace/configuration", json!({"items": [{}, {}]})),
        json!({"jsonrpc": "2.0", "id": "a", "result": [null, null]})
    );
    assert_eq!(answer("workspace/applyEdit", json!({})).pointer("/error/code"), Some(&json!(-32601)));
}

#[cfg(unix)]
#[test]
fn a_child_that_ends_early_leaves_its_last_words() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo one >&2; echo two >&2; exit 9"]);
    let mut client = Client::start(command).expect("sh starts");
    assert!(matches!(client.next(None), Some(Incoming::Gone(why)) if why == CLOSED));
    assert_eq!(client.abandon(Duration::from_secs(20)), ["one", "two"].map(str::to_owned));
}

#[cfg(unix)]
#[test]
fn a_program_that_is_no_server_is_told_apart() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo hello; cat >/dev/null"]);
    let mut client = Client::start(command).expect("sh starts");
    let error = client.request("initialize", json!({}), Duration::from_secs(20)).expect_err("is no server");
    assert_eq!(error, ClientError::Gone("The server sent text that is not the protocol.".to_owned()));
    client.finish(Duration::from_secs(20));
}
