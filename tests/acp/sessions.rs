//! Sessions: made, opened again, listed, closed, deleted, and the login before them.

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    AgentCall, Engine, EngineCall, EngineReport, EngineSession, NewSession, SessionReply,
};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{Desk, Told, end, piece};

fn able(capabilities: Value) -> Value {
    json!({ "agent": { "capabilities": capabilities }, "prompts": [
        { "when": "die", "steps": [{ "chunk": "half" }, { "exit": 1 }] },
        { "when": "", "steps": [{ "chunk": "fine" }] },
    ] })
}

/// A session with one whole answer, whose agent then ended.
async fn left_behind(capabilities: Value) -> Desk {
    let mut desk = Desk::of(able(capabilities));
    let at_agent = desk.make("a").await;
    desk.start("a", 1, "hi");
    desk.turn("a").await;
    desk.start("a", 2, "die");
    desk.exit().await;
    desk.remember("a", &at_agent);
    desk
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_15_39_a_session_has_an_id_of_ours_and_works_in_the_workspace() {
    let mut desk = Desk::of(json!({}));
    let made = desk.try_make("sim", "ours").await.expect("a session");
    let wanted = EngineSession {
        session_id: "ours".to_owned(),
        status: "running".to_owned(),
        workspace: Some(desk.workspace()),
        at_agent: Some(("sim".to_owned(), "sim-1".to_owned())),
        ..EngineSession::default()
    };
    assert_eq!(made, wanted);
    let workspace = desk.workspace().display().to_string();
    assert_eq!(desk.until_sent("session/new").await, [json!({ "cwd": workspace, "mcpServers": [] })]);
    let hello = desk.until_sent("initialize").await;
    assert_eq!(hello[0]["protocolVersion"], 1);
    let log = desk
        .wait(|report| match report {
            EngineReport::Said { event, .. } if event.kind == "agent/log" => Some(event.payload),
            _ => None,
        })
        .await;
    let uri = format!("file://{}", desk.place.path().join("logs/sim.log").display());
    assert_eq!(log.get("uri"), Some(&Value::from(uri)));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_13_a_load_is_not_told_again_what_the_journal_has() {
    let mut desk = left_behind(json!({ "loadSession": true })).await;
    desk.start("a", 3, "again");
    let (told, failure) = desk.turn("a").await;
    assert!(
        matches!(&told[0], Told::Rebound(id, Some(lost)) if id == "a" && lost.contains("in the middle of an answer"))
    );
    assert_eq!(told[1..], [piece("a", 3, "fine"), end("a", 3, "end_turn")]);
    assert_eq!(failure, None);
    assert_eq!(desk.until_sent("session/load").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_another_client_used_is_told_from_its_replay() {
    let desk = left_behind(json!({ "loadSession": true })).await;
    // As its list names it to a client that has no journal of it.
    let mut desk = desk;
    desk.engine.call(EngineCall::Forget { session_id: "a".to_owned() });
    desk.remember("other", "sim-1");
    desk.start("other", 1, "again");
    let (told, failure) = desk.turn("other").await;
    let words: Vec<String> = told
        .iter()
        .filter_map(|told| match told {
            Told::Event(_, kind, None, payload) => {
                Some(format!("{kind} {}", payload["content"]["text"].as_str().unwrap_or_default()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(words, ["user_message_chunk hi", "agent_message_chunk fine", "user_message_chunk die"]);
    assert_eq!(failure, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_01_an_agent_that_cannot_open_again_begins_anew_and_says_so() {
    let mut desk = left_behind(json!({})).await;
    desk.start("a", 3, "again");
    let (told, failure) = desk.turn("a").await;
    let lost = "the agent `sim` cannot open a session again, so it knows nothing of what was said before";
    assert_eq!(told[0], Told::Rebound("a".to_owned(), Some(lost.to_owned())));
    assert_eq!(failure, None);
    let prompts = desk.until_sent("session/prompt").await;
    assert_eq!(prompts.last().map(|params| params["sessionId"].clone()), Some(json!("sim-2")));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_01_a_session_that_the_agent_does_not_know_any_more_begins_anew() {
    let mut desk = Desk::of(able(json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } })));
    desk.remember("a", "gone");
    desk.start("a", 5, "hi");
    let (told, failure) = desk.turn("a").await;
    let Told::Rebound(_, Some(lost)) = &told[0] else { panic!("what was lost, {told:?}") };
    assert!(lost.contains("could not open the session again"), "{lost}");
    assert_eq!(failure, None);
    assert_eq!(
        desk.methods(),
        ["initialize", "session/resume", "session/load", "session/new", "session/prompt"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_is_closed_there_and_an_agent_that_nobody_uses_ends() {
    let mut desk = Desk::of(
        json!({ "agent": { "capabilities": { "sessionCapabilities": { "close": {}, "resume": {} } } } }),
    );
    let first = desk.make("a").await;
    desk.make("b").await;
    for id in ["a", "b"] {
        desk.engine.call(EngineCall::Agent(AgentCall::CloseSession { session_id: id.to_owned() }));
    }
    let (_, exit) = desk.exit().await;
    assert_eq!((exit.sessions, exit.expected), (Vec::new(), true));
    let closed = desk.until_sent("session/close").await;
    assert_eq!(closed, [json!({ "sessionId": "sim-1" }), json!({ "sessionId": "sim-2" })]);
    // It is used again.
    desk.remember("a", &first);
    desk.start("a", 1, "hi");
    let (told, failure) = desk.turn("a").await;
    assert_eq!((told.first(), failure), (Some(&Told::Rebound("a".to_owned(), None)), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_32_a_session_that_is_closed_while_it_is_opened_again_is_closed_at_the_agent() {
    let mut desk = Desk::of(json!({
        "on": { "session/resume": [{ "wait": { "file": "go" } }] },
        "prompts": [{ "when": "die", "steps": [{ "exit": 1 }] }],
    }));
    let at_agent = desk.make("a").await;
    desk.start("a", 1, "die");
    desk.exit().await;
    // Another session keeps the process.
    desk.make("b").await;
    desk.remember("a", &at_agent);
    desk.start("a", 2, "again");
    desk.until_sent("session/resume").await;
    desk.engine.call(EngineCall::Agent(AgentCall::CloseSession { session_id: "a".to_owned() }));
    desk.turn("a").await;
    std::fs::write(desk.workspace().join("go"), "").expect("a file");
    assert_eq!(desk.until_sent("session/close").await, [json!({ "sessionId": at_agent })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_47_an_id_that_another_session_has_is_no_session() {
    let mut desk = Desk::of(json!({ "on": { "session/new": [{ "answer": { "sessionId": "same" } }] } }));
    assert_eq!(desk.make("a").await, "same");
    let refused = desk.try_make("sim", "b").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    assert!(refused.message.contains("two sessions one id"), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_24_a_session_is_deleted_there_where_that_can_be_done() {
    for (capabilities, wanted) in [
        (json!({ "sessionCapabilities": { "delete": {} } }), vec![json!({ "sessionId": "sim-1" })]),
        (json!({}), Vec::new()),
    ] {
        let mut desk = Desk::of(able(capabilities));
        desk.make("a").await;
        let (reply, _answer) = Reply::new();
        let asks = Vec::new();
        desk.engine.call(EngineCall::DeleteSession { session_id: "a".to_owned(), asks, reply });
        let outcome = desk
            .wait(|report| match report {
                EngineReport::SessionDeleted { outcome, .. } => Some(outcome),
                _ => None,
            })
            .await;
        assert_eq!(outcome, Ok(()));
        desk.engine.call(EngineCall::Forget { session_id: "a".to_owned() });
        let (_, exit) = desk.exit().await;
        assert!(exit.expected);
        let deleted: Vec<Value> = desk
            .sent()
            .into_iter()
            .filter(|(name, _)| name == "session/delete")
            .map(|(_, params)| params)
            .collect();
        assert_eq!(deleted, wanted);
    }
}

async fn listed(desk: &mut Desk) -> Vec<EngineSession> {
    desk.engine.call(EngineCall::ListSessions { reply: None });
    desk.wait(|report| match report {
        EngineReport::SessionsListed { outcome, .. } => {
            let listed = outcome.expect("a list");
            assert!(!listed.whole);
            Some(listed.sessions)
        }
        _ => None,
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_22_sessions_are_listed_page_by_page_by_agents_that_run() {
    let mut desk = Desk::of(
        json!({ "agent": { "page": 2, "capabilities": { "sessionCapabilities": { "list": {} } } } }),
    );
    assert_eq!(listed(&mut desk).await, []);
    assert_eq!(desk.methods(), Vec::<String>::new());
    for id in ["a", "b", "c"] {
        desk.make(id).await;
    }
    let sessions = listed(&mut desk).await;
    let mut ids: Vec<_> =
        sessions.iter().map(|session| (&*session.session_id, session.at_agent.clone())).collect();
    ids.sort();
    let at = |id: &str| Some(("sim".to_owned(), id.to_owned()));
    assert_eq!(ids, [("a", at("sim-1")), ("b", at("sim-2")), ("c", at("sim-3"))]);
    assert_eq!(desk.until_sent("session/list").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_asked_for_in_one_sentence_and_can_be_done_in_the_session() {
    let mut desk = Desk::of(json!({
        "agent": { "authRequired": true, "authMethods": [
            { "id": "key", "name": "API key" },
            { "id": "tty", "name": "Log in", "description": "Run `sim login`", "type": "terminal" },
        ] },
        "prompts": [{ "when": "", "steps": [{ "chunk": "fine" }] }],
    }));
    let made = desk.try_make("sim", "a").await.expect("a session to log in with");
    let at_agent = made.at_agent.expect("an agent's session").1;
    let sentence =
        "The agent `sim` wants a login first; choose “API key”, or “Log in” in a terminal: Run `sim login`.";
    assert_eq!(desk.wait(Told::of).await, Told::Notice("a".to_owned(), sentence.to_owned()));
    desk.remember("a", &at_agent);
    desk.start("a", 1, "hi");
    let (_, failure) = desk.turn("a").await;
    assert_eq!(failure.as_deref(), Some(sentence));
    desk.command("a", "authenticate", json!({ "methodId": "key" })).await.expect("is done");
    desk.remember("a", &at_agent);
    desk.start("a", 2, "hi");
    let (told, failure) = desk.turn("a").await;
    assert_eq!(told, [Told::Rebound("a".to_owned(), None), piece("a", 2, "fine"), end("a", 2, "end_turn")]);
    assert_eq!(failure, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_way_to_log_in_no_session_is_made() {
    let mut desk = Desk::of(json!({ "agent": { "authRequired": true } }));
    let refused = desk.try_make("sim", "a").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::EngineUnauthorized);
    assert_eq!(refused.message, "The agent `sim` wants a login first; it says: Authentication required.");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_04_an_agent_that_refuses_a_session_is_quoted() {
    let mut desk = Desk::of(
        json!({ "on": { "session/new": [{ "error": { "code": -32602, "message": "no such\nfolder." } }] } }),
    );
    let refused = desk.try_make("sim", "a").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    assert!(refused.message.contains("made no session (no such folder)"), "{}", refused.message);
    let without = NewSession { agent: None, ..NewSession::default() };
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::MakeSession {
        session_id: "b".to_owned(),
        wish: without,
        reply: SessionReply::Client(reply),
    });
    let refused = desk
        .wait(|report| match report {
            EngineReport::SessionMade { outcome, .. } => Some(outcome),
            _ => None,
        })
        .await;
    assert_eq!(refused.expect_err("is refused").code, ErrorCode::InvalidParams);
}
