//! What the agent of a session is and offers: told by its events and its answers, and whole after a restart.

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::dialect::acp::decode::update_event;
use breadboard_ls::testing::domain::dialect::acp::results::{AgentCapabilities, read};
use breadboard_ls::testing::domain::dialect::acp::state::AgentChange;
use breadboard_ls::testing::domain::payload::Payload;
use breadboard_ls::testing::protocol::agent::AgentStatus;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};

fn payload(value: Value) -> Payload {
    let Value::Object(members) = value else { panic!("{value}") };
    members.into()
}

/// A session that the agent `a` made.
async fn session(desk: &Desk) -> String {
    let made = async {
        loop {
            desk.caught_up().await;
            let mut calls = desk.calls.0.lock().unwrap();
            let at = calls.iter().position(|call| matches!(call, EngineCall::MakeSession { .. }));
            if let Some(EngineCall::MakeSession { session_id, wish, reply }) = at.map(|at| calls.remove(at)) {
                let at_agent = Some(("a".to_owned(), "its-1".to_owned()));
                let made = EngineSession { session_id, at_agent, ..EngineSession::default() };
                return EngineReport::SessionMade { wish, outcome: Ok(made), reply };
            }
        }
    };
    let (created, ()) = tokio::join!(desk.ask("bb/createSession", json!({"agent": "a"})), async {
        let report = made.await;
        desk.engine.send(report).await.unwrap();
    });
    created.unwrap()["sessionId"].as_str().unwrap().to_owned()
}

async fn report(desk: &Desk, report: AgentReport) {
    desk.engine.send(EngineReport::Agent(report)).await.unwrap();
}

async fn process(desk: &Desk, status: AgentStatus, hello: Option<AgentHello>) {
    let process = AgentProcess { generation: 3, status, hello };
    report(desk, AgentReport::Process { agent: "a".to_owned(), process }).await;
}

async fn update(desk: &Desk, session_id: &str, update: Value) {
    let update = payload(json!({"sessionId": "its-1", "update": update}));
    let (_, event) = update_event(&update).expect("an update");
    let session_id = session_id.to_owned();
    desk.engine.send(EngineReport::Said { session_id, event, cursor: None }).await.unwrap();
}

async fn info(desk: &Desk, session_id: &str) -> Value {
    desk.caught_up().await;
    desk.ask("bb/session/info", json!({"sessionId": session_id})).await.unwrap()
}

#[tokio::test]
async fn what_an_agent_offers_is_known_after_a_restart_and_no_secret_stands_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/setCredentials", json!({"scope": "model", "token": "sk-hush-12345"})).await.unwrap();
    // Given a session of an agent that greeted and opened it
    process(&desk, AgentStatus::Starting, None).await;
    let hello = AgentHello {
        title: Some("Agent A".to_owned()),
        version: Some("1.2 sk-hush-12345".to_owned()),
        auth_methods: Vec::new(),
        capabilities: AgentCapabilities { load_session: true, ..AgentCapabilities::default() },
    };
    process(&desk, AgentStatus::Running, Some(hello)).await;
    let id = session(&desk).await;
    let opened = payload(json!({
        "sessionId": "its-1",
        "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask sk-hush-12345"}]},
        "configOptions": [{"id": "m", "name": "Model", "type": "select", "currentValue": "small"}],
    }));
    let change = AgentChange::Opened(read(&opened));
    report(&desk, AgentReport::Changed { session_id: id.clone(), change, command: None }).await;
    // When it tells more, in events and in answers
    update(&desk, &id, json!({"sessionUpdate": "usage_update", "used": 5, "size": 10})).await;
    update(
        &desk,
        &id,
        json!({"sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "plan", "description": "Plans"}]}),
    )
    .await;
    let change = AgentChange::ModeSet("code".to_owned());
    report(&desk, AgentReport::Changed { session_id: id.clone(), change, command: None }).await;
    // Then all of it is the answer
    let mut expected = json!({
        "agent": {"name": "a", "title": "Agent A", "version": "1.2 [redacted]", "generation": 3, "status": "running"},
        "modes": {"currentModeId": "code", "availableModes": [{"id": "ask", "name": "Ask [redacted]"}]},
        "configOptions": [
            {"id": "m", "name": "Model", "type": "select", "currentValue": "small"},
        ],
        "commands": [{"name": "plan", "description": "Plans"}],
        "usage": {"used": 5, "size": 10},
        "capabilities": AgentCapabilities { load_session: true, ..AgentCapabilities::default() },
    });
    assert_eq!(info(&desk, &id).await, expected);
    // And after a kill too, but that there is no process
    desk.kill().await;
    let again = Desk::at(dir.path(), Setup::default());
    expected["agent"]["generation"] = json!(0);
    expected["agent"]["status"] = json!("stopped");
    assert_eq!(info(&again, &id).await, expected);
}

#[tokio::test]
async fn an_agent_that_ended_is_told_as_such_with_all_that_it_had_said() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let hello = AgentHello { title: Some("Agent A".to_owned()), ..AgentHello::default() };
    process(&desk, AgentStatus::Running, Some(hello)).await;
    let id = session(&desk).await;
    let change = AgentChange::Opened(read(&payload(json!({"sessionId": "its-1"}))));
    report(&desk, AgentReport::Changed { session_id: id.clone(), change, command: None }).await;
    update(&desk, &id, json!({"sessionUpdate": "current_mode_update", "currentModeId": "code"})).await;
    process(&desk, AgentStatus::Exited, None).await;
    let exited = AgentReport::Exited {
        agent: "a".to_owned(),
        generation: 3,
        code: Some(1),
        sessions: vec![id.clone()],
        message: "It ended.".to_owned(),
        expected: false,
    };
    report(&desk, exited).await;
    let told = info(&desk, &id).await;
    assert_eq!(told["agent"], json!({"name": "a", "title": "Agent A", "generation": 3, "status": "exited"}));
    assert_eq!(told["modes"], json!({"currentModeId": "code", "availableModes": []}));
}
