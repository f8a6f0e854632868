//! Permissions and forms: who is asked, and that every one is answered once.

use serde_json::{Value, json};

use crate::desk::{Desk, Told, end};

fn asking(on: Value) -> Value {
    json!({ "prompts": [{ "steps": [
        { "ask": { "toolCall": { "toolCallId": "c", "title": "rm x", "kind": "execute" } }, "id": 0, "on": on }] }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_03_an_answer_goes_out_by_the_id_of_its_option() {
    let mut desk = Desk::of(asking(json!({ "allow_always": [{ "chunk": "thanks" }] })));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    assert_eq!(ask, "1:0");
    desk.answer("a", &ask, "allow_always", true);
    let (told, _) = desk.turn("a").await;
    assert_eq!(told, [crate::desk::piece("a", 1, "thanks"), end("a", 1, "end_turn")]);
    let selected = json!({ "outcome": { "outcome": "selected", "optionId": "allow_always" } });
    assert_eq!(desk.until_sent("answer 0").await, [selected]);
    // Answered once: what comes later goes nowhere.
    desk.answer("a", &ask, "reject_once", false);
    desk.command("a", "logout", json!({})).await.expect_err("it has no logout");
    assert_eq!(desk.until_sent("answer 0").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_05_a_stop_answers_what_waits_as_cancelled_before_it_cancels() {
    let mut desk = Desk::of(asking(json!({ "cancelled": [{ "wait": "cancel" }] })));
    desk.make("a").await;
    desk.start("a", 1, "go");
    desk.asked().await;
    desk.stop("a");
    let (told, failure) = desk.turn("a").await;
    assert_eq!((told.last(), failure), (Some(&end("a", 1, "cancelled")), None));
    let sent = desk.sent();
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    assert_eq!(
        sent[sent.len() - 2..],
        [("answer 0".to_owned(), cancelled), ("session/cancel".to_owned(), json!({ "sessionId": "sim-1" })),]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_05_an_agent_takes_its_own_request_back() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "ask": { "toolCall": { "toolCallId": "c" } }, "id": "u-1", "wait": false },
        { "notify": "$/cancel_request", "params": { "requestId": "u-1" } },
        { "wait": "cancel" },
    ] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    assert_eq!(ask, "1:\"u-1\"");
    let notified = desk.wait(Told::of).await;
    assert!(
        matches!(&notified, Told::Event(_, kind, Some(1), _) if kind == "$/cancel_request"),
        "{notified:?}"
    );
    assert_eq!(desk.wait(Told::of).await, Told::Withdrawn("a".to_owned(), ask.clone()));
    assert_eq!(desk.until_sent("error \"u-1\"").await, [json!(-32800)]);
    desk.answer("a", &ask, "allow_once", true);
    desk.stop("a");
    desk.turn("a").await;
    assert!(!desk.methods().contains(&"answer \"u-1\"".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_07_an_ask_without_its_tool_call_is_asked() {
    let mut desk = Desk::of(asking(json!({ "cancelled": [{ "chunk": "never mind" }] })));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    desk.answer("a", &ask, "", false);
    let (told, _) = desk.turn("a").await;
    assert_eq!(told, [crate::desk::piece("a", 1, "never mind"), end("a", 1, "end_turn")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_its_turn_because_of_a_denial_does_not_count_as_stopped() {
    for (ends, option, allowed, sentence) in [
        (
            "cancelled",
            "reject_once",
            false,
            Some("The request was denied, and the agent `sim` ended its turn."),
        ),
        ("cancelled", "", false, Some("The request was denied, and the agent `sim` ended its turn.")),
        (
            "cancelled",
            "allow_once",
            true,
            Some("The agent `sim` ended its turn before it was done, and nobody had stopped it."),
        ),
        // Some call that done, and say no word.
        (
            "end_turn",
            "reject_once",
            false,
            Some("The request was denied, and the agent `sim` ended its turn."),
        ),
        ("end_turn", "allow_once", true, None),
    ] {
        // Given an agent that asks, and ends so whatever is answered
        let mut desk = Desk::of(asking(json!({ "else": [{ "answer": ends }] })));
        desk.make("a").await;
        desk.start("a", 1, "go");
        // When it has its answer
        let ask = desk.asked().await;
        desk.answer("a", &ask, option, allowed);
        let (told, failure) = desk.turn("a").await;
        // Then its end says why
        let mut payload = json!({ "stopReason": ends });
        if let Some(sentence) = sentence {
            payload["sentence"] = json!(sentence);
        }
        let last = Told::Event("a".to_owned(), "session/prompt".to_owned(), Some(1), payload);
        assert_eq!((told.last(), failure), (Some(&last), None), "{ends} after {option:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_asked_and_filled_in() {
    let form = json!({ "message": "Name?", "mode": "form",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } } });
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "request": "elicitation/create", "params": form, "id": 5 },
        { "request": "elicitation/create", "params": form, "id": 6 },
        { "request": "elicitation/create", "params": form, "id": 7 },
    ] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let first = desk.asked().await;
    assert_eq!(first, "1:5");
    let content = Some(json!({ "name": "Ada" }));
    desk.answer_with("a", &first, "accept", true, content);
    let second = desk.asked().await;
    desk.answer("a", &second, "decline", false);
    let third = desk.asked().await;
    desk.answer("a", &third, "", false);
    desk.turn("a").await;
    for (id, wanted) in [
        ("answer 5", json!({ "action": "accept", "content": { "name": "Ada" } })),
        ("answer 6", json!({ "action": "decline" })),
        ("answer 7", json!({ "action": "cancel" })),
    ] {
        assert_eq!(desk.until_sent(id).await, [wanted]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_10_what_is_not_served_is_refused_and_told() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "request": "fs/write_text_file", "params": { "path": "/x", "content": "" }, "id": 1 },
        { "request": "terminal/create", "params": { "command": "ls" }, "id": 2 },
        { "request": "craft/drainMidTurnQueue", "params": { "k": 1 }, "id": 3 },
        { "notify": "qwen/notify/x", "params": { "k": 2 } },
    ] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    let kinds: Vec<&str> = told
        .iter()
        .map(|told| match told {
            Told::Event(_, kind, ..) => kind.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "fs/write_text_file",
            "terminal/create",
            "craft/drainMidTurnQueue",
            "qwen/notify/x",
            "session/prompt"
        ]
    );
    assert_eq!(failure, None);
    for id in ["error 1", "error 2", "error 3"] {
        assert_eq!(desk.until_sent(id).await, [json!(-32601)]);
    }
    let capabilities = desk.until_sent("initialize").await[0]["clientCapabilities"].clone();
    assert_eq!(capabilities["fs"], json!({ "readTextFile": false, "writeTextFile": false }));
    assert_eq!(capabilities["terminal"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_about_a_session_that_nobody_named_is_answered_at_once_and_told() {
    let ask = json!({ "request": "session/request_permission", "params": {
        "sessionId": "another", "toolCall": { "toolCallId": "c" },
        "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }] },
        "on": { "else": [{ "chunk": "went on" }] } });
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [ask] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    assert_eq!(failure, None);
    let kinds: Vec<String> = told
        .iter()
        .map(|told| match told {
            Told::Event(_, kind, ..) => kind.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["session/request_permission", "agent_message_chunk", "session/prompt"]);
}
