//! What an engine wants when nobody waits for it any more, and what becomes of a wish that nobody can grant.

use std::time::Duration;

use breadboard_ls::testing::app::inbox::{Answer, EditorAbilities, Reply};
use breadboard_ls::testing::app::ports::{ClientRequest, CommandRan, EngineReport, FileJob};
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};

fn editor() -> Setup {
    let abilities = EditorAbilities { terminal_run: true, apply_edit: true, ..EditorAbilities::default() };
    Setup { abilities, ..Setup::default() }
}

async fn want<T>(desk: &Desk, session: &str, make: impl FnOnce(Reply<T>) -> ClientRequest) -> Answer<T> {
    let (reply, answer) = Reply::new();
    let report = EngineReport::Wants { session_id: session.to_owned(), want: make(reply) };
    desk.engine.send(report).await.unwrap();
    answer
}

fn run(reply: Reply<CommandRan>) -> ClientRequest {
    let (command, cwd) = ("make".to_owned(), ".".to_owned());
    ClientRequest::RunCommand { command, cwd, call_id: None, background: None, reply }
}

#[tokio::test]
async fn a_command_runs_only_in_a_turn_that_runs_and_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), editor());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    // The engine was stopped: it wants nothing any more, but its wish was on the way.
    let (reply, answer) = Reply::new();
    drop(answer);
    let report = EngineReport::Wants { session_id: session.clone(), want: run(reply) };
    desk.engine.send(report).await.unwrap();
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/terminal/run"), Vec::<Value>::new(), "a stopped turn");
    let _waiting = want(&desk, &session, run).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/terminal/run").len(), 1, "a running turn");
    desk.finish(&session, 1, "").await;
    let refused = want(&desk, &session, run).await.await.unwrap().unwrap_err();
    assert_eq!(refused.code.as_str(), "cancelled", "a turn that is over");
    desk.ask("bb/deleteSession", json!({"sessionId": session})).await.unwrap();
    let refused = want(&desk, &session, run).await.await.unwrap().unwrap_err();
    assert_eq!(refused.code.as_str(), "cancelled", "a deleted session");
    assert_eq!(desk.heard("bb/terminal/run").len(), 1);
}

#[tokio::test]
async fn an_edit_whose_base_is_never_read_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), editor());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let answer = want(&desk, &session, |reply| ClientRequest::ApplyText {
        root: None,
        path: "a.txt".to_owned(),
        base_hash: Some("sha256:0".to_owned()),
        text: "new".to_owned(),
        reply,
    })
    .await;
    desk.caught_up().await;
    // The job is dropped, as by a full inbox.
    let dropped = desk.jobs.0.lock().unwrap().pop();
    assert!(matches!(dropped, Some(FileJob::Read { .. })), "{dropped:?}");
    drop(dropped);
    let answer = tokio::time::timeout(Duration::from_secs(60), answer).await.expect("never answered");
    assert_eq!(answer.unwrap().unwrap_err().code.as_str(), "internal");
}

#[tokio::test]
async fn r000_63_the_loop_refuses_by_itself_what_an_engine_wants_without_trust() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { trusted: false, ..editor() });
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let write = |reply| ClientRequest::ApplyText {
        root: None,
        path: "a.txt".to_owned(),
        base_hash: None,
        text: "new".to_owned(),
        reply,
    };
    let command = want(&desk, &session, run).await;
    let write = want(&desk, &session, write).await;
    for refused in [command.await.unwrap().unwrap_err(), write.await.unwrap().unwrap_err()] {
        assert_eq!(refused.code.as_str(), "untrusted_workspace");
    }
    assert_eq!(desk.heard("bb/terminal/run"), Vec::<Value>::new());
}
