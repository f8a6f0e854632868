//! Lines that are no messages, and messages at the wrong place.

use breadboard_ls::testing::app::ports::{EngineReport, SessionReply};
use serde_json::json;

use crate::desk::{Desk, Told, end, junk, piece};

#[tokio::test(flavor = "multi_thread")]
async fn junk_wrong_ids_and_answers_that_come_twice_are_told_and_nothing_stops() {
    let stray = r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#;
    let fault = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#;
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "line": "DEBUG this is no JSON" }, { "line": stray }, { "line": fault }, { "line": "[1,2]" },
        { "bytes": [255, 254, 10] }, { "chunk": "on" },
        { "answer": "end_turn" }, { "answer": "end_turn" },
    ] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    assert_eq!(
        told,
        [
            junk("a", Some(1), "DEBUG this is no JSON"),
            junk("a", Some(1), stray),
            junk("a", Some(1), fault),
            junk("a", Some(1), "[1,2]"),
            junk("a", Some(1), "\u{fffd}\u{fffd}"),
            piece("a", 1, "on"),
            end("a", 1, "end_turn"),
        ]
    );
    assert_eq!(failure, None);
    let again = desk.wait(Told::of).await;
    assert!(
        matches!(&again, Told::Event(_, kind, None, raw)
        if kind == "unknown" && raw["raw"].as_str().is_some_and(|raw| raw.contains("end_turn"))),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_past_the_bound_is_told_as_such_and_the_next_one_is_read() {
    let mut desk =
        Desk::of(json!({ "prompts": [{ "steps": [{ "mib": 33, "junk": true }, { "chunk": "on" }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    let Some(Told::Event(_, kind, Some(1), payload)) = told.first() else { panic!("an event, {told:?}") };
    assert_eq!((kind.as_str(), &payload["truncated"]), ("unknown", &json!(true)));
    assert!(payload["bytes"].as_u64().is_some_and(|bytes| bytes >= 33 << 20), "{}", payload["bytes"]);
    assert_eq!(payload["raw"].as_str().map(str::len), Some(4_096));
    assert_eq!(told[1..], [piece("a", 1, "on"), end("a", 1, "end_turn")]);
    assert_eq!(failure, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_line_of_an_agent_that_ends_is_told() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "chunk": "x" }, { "half": "{\"jsonrpc\":\"2.0\",\"met" }, { "exit": 7 }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, exit) = desk.exit().await;
    assert_eq!(told, [piece("a", 1, "x"), junk("a", Some(1), "{\"jsonrpc\":\"2.0\",\"met")]);
    assert_eq!((exit.code, exit.expected), (Some(7), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_12_what_is_told_of_a_session_before_it_is_named_waits_for_it() {
    let update = |text: &str| json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    let mut desk = Desk::of(json!({
        "on": { "session/new": [
            { "notify": "_auth/status_update", "params": { "ok": true } },
            { "update": update("early"), "session": "sim-1" },
            { "update": update("nobody's"), "session": "another" },
            { "answer": "default" },
        ] },
    }));
    let (reply, _answer) = breadboard_ls::testing::app::inbox::Reply::new();
    use breadboard_ls::testing::app::ports::{Engine, EngineCall, NewSession};
    let wish = NewSession { agent: Some("sim".to_owned()), ..NewSession::default() };
    desk.engine.call(EngineCall::MakeSession {
        session_id: "a".to_owned(),
        wish,
        reply: SessionReply::Client(reply),
    });
    let mut order = Vec::new();
    while order.len() < 4 {
        order.push(match desk.next().await {
            EngineReport::Agent(_) => continue,
            EngineReport::SessionMade { outcome, .. } => format!("made {}", outcome.is_ok()),
            EngineReport::Said { session_id, event, .. } => format!("{session_id} {}", event.kind),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(order, ["made true", "a agent/log", "a _auth/status_update", "a agent_message_chunk"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_16_a_flood_on_stderr_is_no_event_and_holds_nothing_up() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "stderr": "error: retrying, and a long line of it to fill every pipe there may be", "times": 20000 },
        { "chunk": "fine" }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    assert_eq!((told, failure), (vec![piece("a", 1, "fine"), end("a", 1, "end_turn")], None));
    let log = std::fs::read_to_string(desk.place.path().join("logs/sim.log")).expect("a log");
    assert!(log.contains("error: retrying"));
}
