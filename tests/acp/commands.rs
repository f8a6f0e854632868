//! Modes, options and models.

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    AgentCall, Engine, EngineCall, EngineReport, NewSession, SessionReply,
};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::protocol::agent::AgentStatus;
use serde_json::{Value, json};

use crate::desk::Desk;

fn rich() -> Value {
    json!({ "agent": {
        "modes": { "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }] },
        "configOptions": [
            { "id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
              "options": [{ "value": "small", "name": "Small" }, { "value": "large", "name": "Large" }] },
            { "id": "fast", "name": "Fast", "type": "boolean", "currentValue": false },
        ],
    }, "prompts": [{ "when": "", "steps": [] }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_become_requests_of_the_session() {
    let mut desk = Desk::of(rich());
    desk.make("a").await;
    for (command, args) in [
        ("set_mode", json!({ "modeId": "code" })),
        ("set_config_option", json!({ "configId": "fast", "value": true })),
        ("set_model", json!({ "model": "large" })),
    ] {
        let (reply, answer) = Reply::new();
        let args = args.as_object().cloned().expect("an object");
        let (session_id, command) = ("a".to_owned(), command.to_owned());
        desk.engine.call(EngineCall::Command { session_id, command, args, reply });
        let answer = desk.until_answered(answer).await.expect("is taken");
        assert_eq!((answer.session_id.as_str(), answer.status.as_str()), ("a", "accepted"));
    }
    assert_eq!(
        desk.until_sent("session/set_mode").await,
        [json!({ "sessionId": "sim-1", "modeId": "code" })]
    );
    assert_eq!(
        desk.until_sent("session/set_config_option").await,
        [
            json!({ "sessionId": "sim-1", "configId": "fast", "type": "boolean", "value": true }),
            json!({ "sessionId": "sim-1", "configId": "m", "value": "large" }),
        ]
    );
    // What was answered was told before.
    let said = json!(desk.told_of["a"]);
    assert_eq!(said["modes"]["currentModeId"], "code");
    assert_eq!(said["configOptions"][0]["currentValue"], "large");
    assert_eq!(said["configOptions"][1]["currentValue"], true);
    assert_eq!((desk.process.generation, desk.process.status), (1, AgentStatus::Running));
    assert_eq!(desk.process.hello.as_ref().and_then(|hello| hello.title.as_deref()), Some("Simulated agent"));
    let models = desk.ask(|reply| EngineCall::ListModels { chosen: None, reply }).await.expect("a list");
    assert_eq!(
        models,
        json!({ "models": [{ "id": "small", "name": "Small" }, { "id": "large", "name": "Large" }], "current": "large" })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_with_a_code() {
    let mut desk = Desk::of(json!({}));
    desk.make("a").await;
    for (command, args, code) in [
        ("dance", json!({}), ErrorCode::Unsupported),
        ("set_mode", json!({}), ErrorCode::InvalidParams),
        ("set_mode", json!({ "modeId": "x" }), ErrorCode::Unsupported),
        ("set_model", json!({ "model": "x" }), ErrorCode::Unsupported),
    ] {
        let refused = desk.command("a", command, args).await.expect_err("is refused");
        assert_eq!(refused.code, code, "{command}: {}", refused.message);
    }
    let refused = desk.command("nobody", "logout", json!({})).await.expect_err("is not there");
    assert_eq!(refused.code, ErrorCode::Conflict);
    let refused =
        desk.ask(|reply| EngineCall::ListModels { chosen: None, reply }).await.expect_err("names none");
    assert_eq!(refused.code, ErrorCode::Unsupported);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_for_a_session_that_is_not_open_opens_it_first() {
    let mut desk = Desk::of(rich());
    let at_agent = desk.make("a").await;
    let (reply, answer) = Reply::new();
    desk.engine.call(EngineCall::Agent(AgentCall::CloseSession { session_id: "a".to_owned() }));
    desk.exit().await;
    desk.remember("a", &at_agent);
    let args = json!({ "modeId": "code" }).as_object().cloned().expect("an object");
    let (session_id, command) = ("a".to_owned(), "set_mode".to_owned());
    desk.engine.call(EngineCall::Command { session_id, command, args, reply });
    desk.until_answered(answer).await.expect("is taken");
    let methods = desk.methods();
    assert_eq!(methods[methods.len() - 3..], ["initialize", "session/resume", "session/set_mode"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_was_asked_for_is_set_once_and_one_that_is_not_there_is_said() {
    let mut desk = Desk::of(rich());
    desk.make("a").await;
    // One that was chosen for another engine is not this agent's.
    desk.start_on("a", 1, "gpt-4");
    desk.turn("a").await;
    assert!(!desk.methods().contains(&"session/set_config_option".to_owned()));
    let (reply, _answer) = Reply::new();
    let wish = NewSession {
        agent: Some("sim".to_owned()),
        model: Some("large".to_owned()),
        ..NewSession::default()
    };
    desk.engine.call(EngineCall::MakeSession {
        session_id: "b".to_owned(),
        wish,
        reply: SessionReply::Client(reply),
    });
    desk.wait(|report| match report {
        EngineReport::SessionMade { outcome, .. } => Some(outcome),
        _ => None,
    })
    .await
    .expect("a session");
    let set = desk.until_sent("session/set_config_option").await;
    assert_eq!(set, [json!({ "sessionId": "sim-2", "configId": "m", "value": "large" })]);
    let (reply, _answer) = Reply::new();
    let wish =
        NewSession { agent: Some("sim".to_owned()), model: Some("huge".to_owned()), ..NewSession::default() };
    desk.engine.call(EngineCall::MakeSession {
        session_id: "c".to_owned(),
        wish,
        reply: SessionReply::Client(reply),
    });
    let said = desk
        .wait(|report| match report {
            EngineReport::Noticed { session_id, text, .. } => Some((session_id, text)),
            _ => None,
        })
        .await;
    assert_eq!(said.0, "c");
    assert!(said.1.contains("has no model `huge`"), "{}", said.1);
}
