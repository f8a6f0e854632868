//! What is read out of answers, waiting asks and todo lists.

use serde_json::{Value, json};

use super::*;

fn payload(value: Value) -> Payload {
    value.as_object().cloned().unwrap().into()
}

fn answer(value: Value) -> Option<(String, bool, String)> {
    permission_answer("permission_response", &payload(value))
        .map(|answer| (answer.engine_request_id, answer.allowed, answer.words))
}

fn said(id: &str, allowed: bool, words: &str) -> Option<(String, bool, String)> {
    Some((id.to_owned(), allowed, words.to_owned()))
}

#[test]
fn r003_21_an_answer_is_read_from_every_shape_it_comes_in() {
    assert_eq!(
        answer(
            json!({"request_id": "p1", "id": "p1", "responses": {"items": {"a": "once"}}, "response": "once", "decision": "once"})
        ),
        said("p1", true, "once")
    );
    assert_eq!(answer(json!({"id": "p1", "decision": "ALLOW-ALWAYS"})), said("p1", true, "ALLOW-ALWAYS"));
    assert_eq!(answer(json!({"id": "p1", "responses": {"default": "always"}})), said("p1", true, "always"));
    assert_eq!(answer(json!({"id": "p1", "response": "reject"})), said("p1", false, "reject"));
    assert_eq!(answer(json!({"id": 4, "items": {"a": "once"}})), said("4", true, "once"));
}

#[test]
fn r003_21_one_refused_item_refuses_and_so_does_every_word_we_do_not_know() {
    assert_eq!(
        answer(json!({"request_id": "p", "responses": {"items": {"a": "once", "b": "reject", "c": "once"}}})),
        said("p", false, "once, reject")
    );
    assert_eq!(
        answer(json!({"request_id": "p", "responses": {"items": {"a": "once"}}, "response": "reject"})),
        said("p", false, "once, reject")
    );
    assert_eq!(answer(json!({"request_id": "p", "response": "allow_rule"})), said("p", false, "allow_rule"));
    assert_eq!(
        answer(json!({"request_id": "p", "responses": {"items": {"a": true}}})),
        said("p", false, "unknown")
    );
    assert_eq!(answer(json!({"request_id": "p"})), said("p", false, ""));
    assert_eq!(answer(json!({"response": "once"})), None);
}

#[test]
fn a_task_carries_asks_and_answers_and_nothing_else_does() {
    let inner = json!({"request_id": "p", "response": "once"});
    let task = |kind: &str| payload(json!({"kind": kind, "task_id": "t", "payload": inner}));
    let answered = permission_answer("task_event", &task("permission_response")).unwrap();
    assert_eq!((answered.engine_request_id.as_str(), answered.allowed), ("p", true));
    assert_eq!(asked("task_event", &task("permission_request")), inner.as_object());
    assert_eq!(permission_answer("task_event", &task("permission_request")), None);
    assert_eq!(asked("task_event", &task("permission_response")), None);
    assert_eq!(permission_answer("tool_result", &payload(inner.clone())), None);
    assert_eq!(permission_answer("task_event", &payload(json!({"kind": 7}))), None);
}

#[test]
fn asks_that_wait_come_as_the_engine_would_send_them() {
    let metadata = json!({"pending_permissions": [
        {"source": "session", "request_id": "p1", "request": {"category": "shell", "seq": 7}},
        {"source": "task", "request_id": "outer", "request": {"request_id": "p2", "kind": "Shell"}},
        {"source": "session", "request_id": "p3"},
        {"source": "session", "request": {"category": "shell"}},
        "no object",
    ]});
    let asks = pending_asks(metadata.as_object().unwrap());
    let told: Vec<_> = asks
        .iter()
        .map(|ask| (ask.id.as_str(), ask.kind.as_str(), ask.turn, Value::Object(ask.payload.clone().into())))
        .collect();
    assert_eq!(
        told,
        [
            ("", "permission_request", None, json!({"category": "shell", "seq": 7, "request_id": "p1"})),
            ("", "permission_request", None, json!({"request_id": "p2", "kind": "Shell"})),
            ("", "permission_request", None, json!({"request_id": "p3"})),
        ]
    );
}

#[test]
fn asks_that_wait_are_bounded_and_may_be_missing_or_of_another_shape() {
    let many: Vec<Value> =
        (0..1_000).map(|at| json!({"request_id": at.to_string(), "request": {}})).collect();
    assert_eq!(pending_asks(json!({"pending_permissions": many}).as_object().unwrap()).len(), 256);
    for other in [json!({}), json!({"pending_permissions": null}), json!({"pending_permissions": {"a": 1}})] {
        assert_eq!(pending_asks(other.as_object().unwrap()), []);
    }
}

#[test]
fn the_last_todo_list_comes_as_the_tool_result_that_the_stream_has() {
    let shot = |value: Value| {
        todo_snapshot(json!({"todo_last_update": value}).as_object().unwrap())
            .map(|event| (event.kind, Value::Object(event.payload.into())))
    };
    let whole = json!({"call_id": "todo:4", "todo": {"items": [], "revision": 4}});
    assert_eq!(shot(whole.clone()), Some(("tool_result".to_owned(), whole)));
    assert_eq!(
        shot(json!({"items": [{"id": "a"}], "call_id": "todo:4"})),
        Some((
            "tool_result".to_owned(),
            json!({"call_id": "todo:4", "todo": {"items": [{"id": "a"}], "call_id": "todo:4"}})
        ))
    );
    assert_eq!(shot(json!({"op": "snapshot"})), None);
    assert_eq!(shot(Value::Null), None);
}
