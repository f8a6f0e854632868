//! Prompts, their events, their end and their stop.

use std::time::Duration;

use breadboard_ls::testing::app::ports::{AgentCall, Engine, EngineCall, EngineReport, Secret};
use breadboard_ls::testing::engine::acp::AgentTimeouts;
use breadboard_ls::testing::protocol::request::CredentialScope;
use serde_json::{Value, json};

use crate::desk::{Desk, Layout, Told, end, piece};

fn event(session: &str, turn: Option<u64>, payload: Value) -> Told {
    let kind = payload["sessionUpdate"].as_str().expect("an update").to_owned();
    Told::Event(session.to_owned(), kind, turn, payload)
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_23_a_prompt_streams_its_events_and_ends_with_the_agents_answer() {
    let tool = json!({ "toolCallId": "c", "title": "read", "status": "pending", "_meta": { "x": 1 } });
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [
        { "chunk": "Hello " }, { "tool_call": tool },
        { "update": { "sessionUpdate": "checkpoint_created", "id": 7 } }, { "chunk": "world" },
    ] }] }));
    desk.make("a").await;
    desk.start("a", 1, "hi");
    let (told, failure) = desk.turn("a").await;
    let mut call = json!({ "sessionUpdate": "tool_call" });
    call.as_object_mut().unwrap().extend(tool.as_object().unwrap().clone());
    assert_eq!(
        told,
        [
            piece("a", 1, "Hello "),
            event("a", Some(1), call),
            event("a", Some(1), json!({ "sessionUpdate": "checkpoint_created", "id": 7 })),
            piece("a", 1, "world"),
            end("a", 1, "end_turn"),
        ]
    );
    assert_eq!(failure, None);
    let prompt = desk.until_sent("session/prompt").await;
    assert_eq!(prompt, [json!({ "sessionId": "sim-1", "prompt": [{ "type": "text", "text": "hi" }] })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_52_two_sessions_of_one_process_stream_at_once_and_do_not_mix() {
    let steps = |name: &str| {
        let mark = json!({ "write": format!("{name}-runs"), "content": "" });
        let other = if name == "one" { "two-runs" } else { "one-runs" };
        json!([{ "chunk": format!("{name} begins") }, mark, { "wait": { "file": other } }, { "chunk": name }])
    };
    let mut desk = Desk::of(json!({ "prompts": [
        { "when": "one", "steps": steps("one") }, { "when": "two", "steps": steps("two") },
    ] }));
    assert_eq!((desk.make("a").await, desk.make("b").await), ("sim-1".to_owned(), "sim-2".to_owned()));
    desk.start("a", 1, "one");
    desk.start("b", 1, "two");
    let mut told = Vec::new();
    for _ in 0..2 {
        loop {
            match desk.next().await {
                EngineReport::TurnEnded { failure, .. } => {
                    assert_eq!(failure, None);
                    break;
                }
                report => told.extend(Told::of(report)),
            }
        }
    }
    let of = |name: &str| -> Vec<&Told> {
        told.iter().filter(|told| matches!(told, Told::Event(session, ..) if session == name)).collect()
    };
    assert_eq!(of("a"), [&piece("a", 1, "one begins"), &piece("a", 1, "one"), &end("a", 1, "end_turn")]);
    assert_eq!(of("b"), [&piece("b", 1, "two begins"), &piece("b", 1, "two"), &end("b", 1, "end_turn")]);
    assert_eq!(desk.methods().iter().filter(|method| *method == "initialize").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_50_a_second_prompt_of_a_busy_session_is_not_sent() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [{ "chunk": "x" }, { "wait": "cancel" }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "one");
    desk.start("a", 2, "two");
    let (turn, failure) = desk
        .wait(|report| match report {
            EngineReport::TurnEnded { turn, failure, .. } => Some((turn, failure)),
            _ => None,
        })
        .await;
    assert_eq!(turn, 2);
    assert!(failure.expect("a sentence").message.contains("still works on turn 1"));
    desk.until_sent("session/prompt").await;
    desk.stop("a");
    desk.turn("a").await;
    assert_eq!(desk.methods().iter().filter(|method| *method == "session/prompt").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_04_a_stop_is_sent_once_and_what_still_comes_belongs_to_the_turn() {
    let mut desk = Desk::of(json!({ "prompts": [{
        "steps": [{ "chunk": "x" }, { "wait": "cancel" }],
        "on_cancel": [{ "tool_call_update": { "toolCallId": "c", "status": "completed" } }],
    }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    assert_eq!(desk.wait(Told::of).await, piece("a", 1, "x"));
    desk.stop("a");
    desk.stop("a");
    let (told, failure) = desk.turn("a").await;
    let update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed" });
    assert_eq!(told, [event("a", Some(1), update), end("a", 1, "cancelled")]);
    assert_eq!(failure, None);
    assert_eq!(desk.until_sent("session/cancel").await, [json!({ "sessionId": "sim-1" })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_02_a_stopped_turn_that_does_not_end_is_told_and_a_restart_ends_it() {
    let patience = AgentTimeouts { stop: Duration::from_millis(200), ..AgentTimeouts::default() };
    let script =
        json!({ "prompts": [{ "deaf": true, "steps": [{ "chunk": "x" }, { "wait": "for_ever" }] }] });
    let mut desk = Desk::laid(Layout { script, patience, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    desk.until_sent("session/prompt").await;
    desk.stop("a");
    let notice = desk
        .wait(|report| match report {
            EngineReport::Noticed { text, .. } => Some(text),
            _ => None,
        })
        .await;
    assert!(notice.contains("restart it"), "{notice}");
    let (reply, _answer) = breadboard_ls::testing::app::inbox::Reply::new();
    use breadboard_ls::testing::app::ports::{Engine, EngineCall};
    desk.engine.call(EngineCall::Agent(AgentCall::Restart { agent: None, reply }));
    let (_, exit) = desk.exit().await;
    assert_eq!((exit.sessions, exit.expected), (vec!["a".to_owned()], true));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_02_an_error_of_the_prompt_is_its_event_and_fails_the_turn() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [{ "chunk": "x" },
        { "error": { "code": 1001, "message": "upstream said no\nagain", "data": { "restartable": true } } }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, failure) = desk.turn("a").await;
    let error =
        json!({ "code": 1001, "message": "upstream said no\nagain", "data": { "restartable": true } });
    let log = desk.place.path().join("logs/sim.log");
    let sentence = format!(
        "The agent `sim` failed in this turn (upstream said no again, code 1001); try again, or look into its log, {}.",
        log.display()
    );
    let last = Told::Event(
        "a".to_owned(),
        "session/prompt".to_owned(),
        Some(1),
        json!({ "error": error, "sentence": sentence, "retry": { "taken": "perhaps", "when": "later" } }),
    );
    assert_eq!(told, [piece("a", 1, "x"), last]);
    assert_eq!(failure, Some(sentence));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_12_updates_outside_of_a_turn_have_no_turn() {
    let mut desk = Desk::of(json!({
        "agent": { "commands": [{ "name": "test", "description": "runs" }] },
        "prompts": [{ "steps": [{ "answer": "end_turn" },
            { "update": { "sessionUpdate": "session_info_update", "title": "T" } }] }],
    }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (before, _) = desk.turn("a").await;
    let commands = json!({ "sessionUpdate": "available_commands_update",
        "availableCommands": [{ "name": "test", "description": "runs" }] });
    let outside = |told: &Told| {
        matches!(told, Told::Event(_, kind, None, payload)
        if kind == "available_commands_update" && *payload == commands)
    };
    assert!(
        before.iter().any(outside) || before.contains(&event("a", Some(1), commands.clone())),
        "{before:?}"
    );
    let after = desk.wait(Told::of).await;
    assert_eq!(after, event("a", None, json!({ "sessionUpdate": "session_info_update", "title": "T" })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_does_not_listen_holds_the_agent_back_and_loses_nothing() {
    let script = json!({ "prompts": [{ "steps": [{ "repeat": 5_000, "steps": [{ "chunk": "x" }] }] }] });
    let mut desk = Desk::laid(Layout { script, room: 4, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    desk.until_sent("session/prompt").await;
    // A call is taken all the same, while nobody takes a report.
    let models =
        desk.ask(|reply| breadboard_ls::testing::app::ports::EngineCall::ListModels { chosen: None, reply });
    assert_eq!(
        models.await.expect_err("it names none").code,
        breadboard_ls::testing::domain::coded_error::ErrorCode::Unsupported
    );
    let (told, failure) = desk.turn("a").await;
    assert_eq!((told.len(), failure), (5_001, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_02_a_stopped_turn_was_cancelled_whatever_the_agent_says_of_its_end() {
    let script = json!({ "prompts": [
        { "when": "stop", "deaf": true, "steps": [{ "chunk": "x" }, { "wait": { "file": "go" } }, { "answer": "end_turn" }] },
        { "when": "", "steps": [] },
    ] });
    let mut desk = Desk::of(script);
    desk.make("a").await;
    desk.start("a", 1, "stop");
    desk.until_sent("session/prompt").await;
    desk.stop("a");
    desk.until_sent("session/cancel").await;
    std::fs::write(desk.workspace().join("go"), "").expect("a file");
    let ended = |report| match report {
        EngineReport::TurnEnded { turn, failure, cancelled, .. } => Some((turn, failure, cancelled)),
        _ => None,
    };
    let mut said = Vec::new();
    let stopped = loop {
        match desk.next().await {
            report @ EngineReport::TurnEnded { .. } => break ended(report),
            report => said.extend(Told::of(report)),
        }
    };
    assert_eq!(stopped, Some((1, None, true)));
    assert_eq!(said.last(), Some(&end("a", 1, "end_turn")), "its own words stay");
    desk.start("a", 2, "go on");
    assert_eq!(desk.wait(ended).await, (2, None, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_agent_makes_the_link_to_its_log() {
    let params = json!({ "uri": "file:///etc/passwd", "label": "Log" });
    let mut desk =
        Desk::of(json!({ "prompts": [{ "steps": [{ "notify": "agent/log", "params": params }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, _) = desk.turn("a").await;
    let whole = json!({ "method": "agent/log",
        "params": { "uri": "file:///etc/passwd", "label": "Log", "sessionId": "sim-1" } });
    let unknown = Told::Event("a".to_owned(), "unknown".to_owned(), Some(1), whole);
    assert_eq!(told, [unknown, end("a", 1, "end_turn")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_62_a_token_that_is_set_while_an_agent_runs_is_hidden_in_its_log() {
    let mut desk = Desk::of(json!({ "prompts": [
        { "steps": [{ "stderr": "engine tok-engine-1 model tok-model-2" }] }] }));
    desk.make("a").await;
    for (scope, token) in [(CredentialScope::Engine, "tok-engine-1"), (CredentialScope::Model, "tok-model-2")]
    {
        let token = Some(Secret(token.to_owned()));
        desk.engine.call(EngineCall::SetToken { scope, token });
    }
    desk.start("a", 1, "go");
    desk.turn("a").await;
    let log = desk.place.path().join("logs/sim.log");
    let written = async {
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.contains("model") {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let text = tokio::time::timeout(crate::desk::PATIENCE, written).await.expect("it is written");
    assert_eq!(text, "engine [redacted] model [redacted]\n");
}
