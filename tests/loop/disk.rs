//! A disk that is full is said, the stream goes on, and nothing is missing when it can be written again.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::desk::{Desk, Setup};
use crate::journal::Faults;

#[tokio::test]
async fn a_full_disk_is_said_once_the_stream_goes_on_and_all_of_it_is_written_later() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    faults.full.store(true, Ordering::SeqCst);
    for at in 0..600 {
        desk.token(&session, &format!("{at} ")).await;
    }
    let during = desk.events(&session).await;
    assert_eq!(during.len(), 601, "history is readable while the disk is full");
    assert_eq!(desk.heard_events(&session), during);
    let page = desk.ask("bb/view/page", json!({"sessionId": session, "lane": "chat"})).await.unwrap();
    assert_eq!(page["blocks"].as_array().unwrap().len(), 3);
    assert_eq!(desk.heard("window/showMessage").len(), 1);
    faults.full.store(false, Ordering::SeqCst);
    desk.finish(&session, 1, "x").await;
    let after = desk.events(&session).await;
    let view = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    assert_eq!(desk.events(&session).await, after);
    assert_eq!(desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap(), view);
}

#[tokio::test]
async fn what_waited_for_the_disk_is_written_at_the_end_although_nothing_new_came() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    faults.full.store(true, Ordering::SeqCst);
    desk.finish(&session, 1, "answer").await;
    let before = desk.events(&session).await;
    assert_eq!(before.len(), 2);
    faults.full.store(false, Ordering::SeqCst);
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    assert_eq!(desk.events(&session).await, before);
}

#[tokio::test]
async fn the_record_of_a_session_is_written_when_it_changes_and_not_with_every_batch() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, &"x".repeat(500_000)).await;
    let before = faults.record_bytes.load(Ordering::SeqCst);
    for _ in 0..640 {
        desk.token(&session, "t").await;
    }
    assert_eq!(desk.events(&session).await.len(), 641);
    assert_eq!(faults.record_bytes.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn large_blocks_are_stored_before_they_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let before = faults.checkpoints.load(Ordering::SeqCst);
    for at in 0..30 {
        desk.ask_to_run(&session, &format!("permission_{at}"), &"x".repeat(400_000)).await;
    }
    desk.caught_up().await;
    assert!(faults.checkpoints.load(Ordering::SeqCst) > before, "12 MB of blocks wait in memory");
}
