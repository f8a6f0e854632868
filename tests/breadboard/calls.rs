//! Sessions, decisions, commands and models.

use std::time::Duration;

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    Engine, EngineCall, EngineReport, EngineSession, NewSession, Ruling, StreamReport,
};
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::simulate::breadboard::{HoldPoint, Simulator, SimulatorOptions};
use serde_json::{Value, json};

use crate::desk::{Desk, bodies, lines, scripted, seen, simulator};
use crate::own_time::OwnTime;

fn asking() -> SimulatorOptions {
    scripted(&json!([{ "when": "ask", "steps": [{ "ask": { "tool": "run_shell", "pattern": "ls *" } }] }]))
}

/// Sends a prompt that asks, and waits until the engine waits for the answer.
async fn asked(desk: &Desk, simulator: &Simulator, id: &str) {
    desk.start(id, 1, "ask me", Vec::new());
    let waiting = async {
        while !simulator.sent(id).iter().any(|event| event.kind == "permission_request") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the engine asks");
}

async fn decide(desk: &mut Desk, id: &str, ruling: Ruling) -> Result<(), CodedError> {
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::Decide {
        session_id: id.to_owned(),
        engine_request_id: "permission_1".to_owned(),
        decision: ruling.into(),
        request_id: "r".to_owned(),
        reply: Some(reply),
    });
    desk.wait(|report| match report {
        EngineReport::Stream(StreamReport::Answered { outcome, .. }) => Some(outcome),
        _ => None,
    })
    .await
}

async fn delete(desk: &mut Desk, id: &str, asks: Vec<String>) -> Result<(), CodedError> {
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::DeleteSession { session_id: id.to_owned(), asks, reply });
    desk.wait(|report| match report {
        EngineReport::SessionDeleted { outcome, .. } => Some(outcome),
        _ => None,
    })
    .await
}

async fn command(desk: &mut Desk, id: &str, command: &str, args: Value) -> Result<Value, CodedError> {
    let Value::Object(args) = args else { panic!("args are an object") };
    let (session_id, command) = (id.to_owned(), command.to_owned());
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::Command { session_id, command, args, reply });
    let told = desk.wait(|report| match report {
        EngineReport::Stream(StreamReport::Commanded { outcome, .. }) => Some(outcome),
        _ => None,
    });
    told.await.map(|result| json!(result))
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_21_a_session_is_made_idle_asking_and_in_the_workspace() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let workspace = tempfile::tempdir().expect("a workspace");
    desk.folder(workspace.path());
    let place = workspace.path().to_string_lossy().into_owned();
    let made =
        desk.try_make(NewSession { task: Some("do it\nnow".to_owned()), ..NewSession::default() }).await;
    let made = made.expect("a session");
    assert_eq!(made.workspace.as_deref(), Some(workspace.path()));
    let wish = NewSession {
        config_path: Some("agent_configs/c.yaml".to_owned()),
        model: Some("m".to_owned()),
        permission_mode: Some("ask".to_owned()),
        ..NewSession::default()
    };
    desk.try_make(wish).await.expect("a session");
    let version = env!("CARGO_PKG_VERSION");
    let metadata = json!({ "client": "breadboard-ls", "client_version": version, "workspace": place });
    let with = |more: Value| {
        let mut metadata = metadata.clone();
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        metadata
    };
    assert_eq!(
        bodies(&engine, "POST /v1/sessions"),
        [
            json!({
                "config_path": "agent_configs/codex_0-107-0_e4_3-6-2026.yaml", "task": "", "workspace": place,
                "permission_mode": "prompt", "metadata": with(json!({ "title": "do it" })),
            }),
            json!({
                "config_path": "agent_configs/c.yaml", "task": "", "workspace": place, "permission_mode": "ask",
                "metadata": with(json!({ "model": "m" })),
            }),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_21_a_blank_configuration_is_refused_here() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let refused =
        desk.try_make(NewSession { config_path: Some("  ".to_owned()), ..NewSession::default() }).await;
    assert_eq!(refused.expect_err("is refused").code, ErrorCode::InvalidParams);
    assert_eq!(bodies(&engine, "POST /v1/sessions").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_22_sessions_are_listed_with_what_the_engine_knows() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let workspace = tempfile::tempdir().expect("a workspace");
    desk.folder(workspace.path());
    let made = desk
        .try_make(NewSession { task: Some("t".to_owned()), ..NewSession::default() })
        .await
        .expect("a session");
    desk.engine.call(EngineCall::ListSessions { reply: None });
    let listed = desk
        .wait(|report| match report {
            EngineReport::SessionsListed { outcome, .. } => Some(outcome.map(|listed| listed.sessions)),
            _ => None,
        })
        .await
        .expect("a list");
    let [only] = listed.as_slice() else { panic!("one session, {listed:?}") };
    assert!(only.updated_at.is_some_and(|at| at > 1_700_000_000_000), "{only:?}");
    let wanted = EngineSession {
        session_id: made.session_id,
        status: only.status.clone(),
        title: Some("t".to_owned()),
        created_at: made.created_at,
        updated_at: only.updated_at,
        model: None,
        work: None,
        at_agent: None,
        workspace: Some(workspace.path().to_owned()),
    };
    assert_eq!(*only, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_24_a_session_that_waits_for_an_answer_is_denied_and_deleted() {
    let engine = simulator(asking());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    asked(&desk, &engine, &id).await;
    let mut time = OwnTime::of_programs();
    // The loop may know nothing of the ask, as after a gap.
    assert_eq!(delete(&mut desk, &id, Vec::new()).await, Ok(()));
    let took = time.taken();
    assert!(took < Duration::from_secs(9), "{took:?}");
    assert_eq!(engine.sessions(), Vec::<String>::new());
    let denied =
        bodies(&engine, "/command").into_iter().find(|body| body["command"] == "permission_decision");
    assert_eq!(
        denied,
        Some(json!({
            "command": "permission_decision", "payload": { "request_id": "permission_1", "decision": "deny-stop" },
        }))
    );
    // Once more: it is not there any more, which is what was wanted.
    assert_eq!(delete(&mut desk, &id, vec!["permission_1".to_owned()]).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_24_a_deletion_that_takes_too_long_is_said_to() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    engine.hold_answers("DELETE ", HoldPoint::BeforeWork);
    let refused = delete(&mut desk, &id, Vec::new()).await.expect_err("takes too long");
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    assert_eq!(engine.sessions(), [id]);
    engine.release_answers();
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_28_decisions_are_said_in_the_engines_words() {
    let engine = simulator(asking());
    let mut desk = Desk::connected(&engine).await;
    let rule = Ruling::AllowRule { pattern: "ls *".to_owned(), scope: "project".to_owned() };
    for (decision, wanted) in [
        (Ruling::AllowOnce, json!({ "decision": "allow-once" })),
        (rule, json!({ "rule": "ls *", "scope": "project", "decision": "allow-always" })),
        (Ruling::Deny, json!({ "decision": "deny-once" })),
        (Ruling::DenyAndStop, json!({ "decision": "deny-stop" })),
    ] {
        let id = desk.make().await;
        asked(&desk, &engine, &id).await;
        assert_eq!(decide(&mut desk, &id, decision).await, Ok(()));
        let mut wanted = wanted;
        wanted["request_id"] = "permission_1".into();
        assert_eq!(
            bodies(&engine, &format!("{id}/command")),
            [json!({ "command": "permission_decision", "payload": wanted })]
        );
    }
    let id = desk.make().await;
    let refused = decide(&mut desk, &id, Ruling::Deny).await.expect_err("nothing waits");
    assert_eq!(refused.code, ErrorCode::Conflict);
    let refused = decide(&mut desk, "nobody", Ruling::Deny).await.expect_err("nobody is there");
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_27_commands_pass_and_refusals_have_a_code() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    let answer = command(&mut desk, &id, "set_model", json!({ "model": "x" })).await.expect("is taken");
    assert_eq!(answer["sessionId"], id.as_str());
    assert_eq!(answer["status"], "accepted");
    assert_eq!(answer["detail"]["model"], "x");
    assert_eq!(bodies(&engine, "/command"), [json!({ "command": "set_model", "payload": { "model": "x" } })]);
    for (name, args, code) in [
        ("dance", json!({}), ErrorCode::Unsupported),
        ("run_tests", json!({}), ErrorCode::Unsupported),
        ("restore_checkpoint", json!({ "checkpoint_id": "none" }), ErrorCode::EngineRejected),
        (
            "permission_decision",
            json!({ "request_id": "permission_1", "decision": "allow-once" }),
            ErrorCode::InvalidParams,
        ),
        (" ", json!({}), ErrorCode::InvalidParams),
    ] {
        let refused = command(&mut desk, &id, name, args).await.expect_err("is refused");
        assert_eq!(refused.code, code, "{name}: {}", refused.message);
    }
    engine.end_session(&id, "failed");
    let refused = command(&mut desk, &id, "stop", json!({})).await.expect_err("is over");
    assert_eq!(refused.code, ErrorCode::Conflict);
    let refused = command(&mut desk, "nobody", "stop", json!({})).await.expect_err("is not there");
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert_eq!(lines(&engine, "permission_decision").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_those_of_the_configuration_and_one_is_told_once() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let listed = desk.ask(|reply| EngineCall::ListModels { chosen: None, reply }).await.expect("a list");
    assert_eq!(
        listed,
        json!({
            "models": [
                { "id": "simulator/small", "name": "simulator/small", "provider": "simulator" },
                { "id": "simulator/large", "name": "simulator/large", "provider": "simulator" },
            ],
            "current": "simulator/small",
        })
    );
    let chosen = Some("simulator/large".to_owned());
    let listed = desk.ask(|reply| EngineCall::ListModels { chosen, reply }).await.expect("a list");
    assert_eq!(listed["current"], "simulator/large");
    let id = desk.make().await;
    desk.start(&id, 1, "prompt 1", Vec::new());
    seen(&engine, "/input", 1).await;
    for turn in [2, 3] {
        desk.start_on(&id, turn, "simulator/large");
        seen(&engine, "/input", usize::try_from(turn).expect("small")).await;
    }
    let told = |model: &str| json!({ "command": "set_model", "payload": { "model": model } });
    assert_eq!(bodies(&engine, "/command"), [told("simulator/large")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_the_user_sets_by_a_command_stands_until_the_loop_names_another() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    // Given a session that was made with a model
    let wish = NewSession { model: Some("simulator/small".to_owned()), ..NewSession::default() };
    let id = desk.try_make(wish).await.expect("a session").session_id;
    // When the user sets another one, and prompts come that name the first
    command(&mut desk, &id, "set_model", json!({ "model": "simulator/large" })).await.expect("is taken");
    for turn in [1, 2] {
        desk.start_on(&id, turn, "simulator/small");
        seen(&engine, "/input", usize::try_from(turn).expect("small")).await;
    }
    // Then it stands, until a prompt names a third
    desk.start_on(&id, 3, "simulator/third");
    seen(&engine, "/input", 3).await;
    let told = |model: &str| json!({ "command": "set_model", "payload": { "model": model } });
    assert_eq!(bodies(&engine, "/command"), [told("simulator/large"), told("simulator/third")]);
}
