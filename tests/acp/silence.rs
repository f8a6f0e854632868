//! Agents that say nothing.

use std::time::Duration;

use breadboard_ls::testing::app::ports::{AgentReport, EngineReport};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::engine::acp::AgentTimeouts;
use serde_json::json;

use crate::desk::{Desk, Layout, Told, end, piece};

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_02_a_silence_is_told_once_and_the_agents_own_word_for_the_end_stays() {
    let script = json!({ "prompts": [{ "deaf": true, "steps": [
        { "chunk": "x" }, { "wait": "cancel" }, { "answer": "end_turn" }] }] });
    let mut desk = Desk::laid(Layout { script, quiet: 1, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    assert_eq!(desk.wait(Told::of).await, piece("a", 1, "x"));
    let notice = "The agent `sim` has said nothing for 1 seconds; wait on, or stop the turn.".to_owned();
    assert_eq!(desk.wait(Told::of).await, Told::Notice("a".to_owned(), notice));
    // Longer than the silence before.
    let more = tokio::time::timeout(Duration::from_millis(1_500), desk.next()).await;
    assert!(more.is_err(), "{more:?}");
    desk.stop("a");
    let (told, failure) = desk.turn("a").await;
    assert_eq!((told, failure), (vec![end("a", 1, "end_turn")], None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_waits_for_the_user_is_not_silent() {
    let script = json!({ "prompts": [{ "steps": [{ "ask": { "toolCall": { "toolCallId": "c" } } }] }] });
    let mut desk = Desk::laid(Layout { script, quiet: 1, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    let more = tokio::time::timeout(Duration::from_millis(1_500), desk.next()).await;
    assert!(more.is_err(), "{more:?}");
    desk.answer("a", &ask, "allow_once", true);
    let (told, _) = desk.turn("a").await;
    assert_eq!(told, [end("a", 1, "end_turn")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_waits_for_its_command_is_not_silent() {
    let script = json!({ "prompts": [{ "steps": [
        { "request": "terminal/create", "params": { "command": "while test ! -e go; do sleep 0.02; done" }, "as": "t" },
        { "request": "terminal/wait_for_exit", "params": { "terminalId": "$t.terminalId" } },
    ] }] });
    let given = json!({ "terminals": true });
    let mut desk = Desk::laid(Layout { script, quiet: 1, given, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    desk.answer("a", &ask, "allow_once", true);
    let begins = desk.next().await;
    assert!(matches!(&begins, EngineReport::Agent(AgentReport::Terminal { .. })), "{begins:?}");
    let waits = desk.next().await;
    assert!(
        matches!(&waits, EngineReport::Said { event, .. } if event.kind == "terminal/wait_for_exit"),
        "{waits:?}"
    );
    let more = tokio::time::timeout(Duration::from_millis(1_500), desk.next()).await;
    assert!(more.is_err(), "{more:?}");
    std::fs::write(desk.workspace().join("go"), "").expect("a file");
    let (told, _) = desk.turn("a").await;
    assert_eq!(told, [end("a", 1, "end_turn")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_say_hello_is_ended_and_said_so() {
    let patience = AgentTimeouts { start: Duration::from_millis(300), ..AgentTimeouts::default() };
    let script = json!({ "on": { "initialize": [{ "wait": "for_ever" }] } });
    let mut desk = Desk::laid(Layout { script, patience, ..Layout::default() });
    let refused = desk.try_make("sim", "a").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    assert!(refused.message.contains("did not say hello"), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_02_an_agent_that_opens_no_session_is_said_to() {
    let patience = AgentTimeouts { open: Duration::from_millis(300), ..AgentTimeouts::default() };
    let script = json!({ "on": { "session/new": [{ "wait": "for_ever" }] } });
    let mut desk = Desk::laid(Layout { script, patience, ..Layout::default() });
    let refused = desk.try_make("sim", "a").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    assert!(refused.message.contains("did not answer in time"), "{}", refused.message);
}
