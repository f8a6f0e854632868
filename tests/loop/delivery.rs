//! An editor that does not read loses nothing and gets nothing twice; its view jumps by a snapshot.

use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::{EditorEvent, Event};
use breadboard_ls::testing::protocol::settings::{DeliverySetting, WorkspaceConfiguration};
use serde_json::json;

use crate::desk::{Desk, Setup};
use crate::journal::Faults;

#[tokio::test]
async fn r000_50_a_full_outbox_is_refilled_from_the_journal_without_holes_or_doubles() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.caught_up().await;
    for room in [0, 3, 0, 1, 2, 0] {
        desk.paper.room.store(room, Ordering::SeqCst);
        for at in 0..100 {
            desk.token(&session, &format!("{room}-{at} ")).await;
        }
        desk.caught_up().await;
        desk.inbox.send(Event::OutboxDrained { client: desk.client }).unwrap();
        desk.caught_up().await;
    }
    desk.paper.room.store(usize::MAX, Ordering::SeqCst);
    desk.inbox.send(Event::OutboxDrained { client: desk.client }).unwrap();
    desk.finish(&session, 1, "end").await;
    let stored = desk.events(&session).await;
    assert_eq!(desk.heard_events(&session), stored);
    let views = desk.heard("bb/view");
    let snapshot = views.iter().rev().find(|view| view.get("snapshot").is_some()).unwrap();
    assert_eq!(snapshot["changes"], json!([]));
    assert_eq!(snapshot["snapshot"]["seq"], snapshot["toSeq"]);
}

#[tokio::test]
async fn r000_66_many_events_are_fewer_messages() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    for _ in 0..1_000 {
        desk.token(&session, "x").await;
    }
    desk.finish(&session, 1, &"x".repeat(1_000)).await;
    desk.caught_up().await;
    let heard = desk.heard_events(&session).len();
    assert_eq!(heard, 1_002);
    assert!(desk.heard("bb/events").len() < heard / 2, "{} messages", desk.heard("bb/events").len());
}

#[tokio::test]
async fn a_client_hears_only_what_it_asked_for_and_only_of_attached_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/init", json!({"subscribe": {"events": true, "view": false}})).await.unwrap();
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    assert_eq!(desk.heard_events(&session).len(), 2);
    assert_eq!(desk.heard("bb/view"), Vec::<serde_json::Value>::new());
    desk.close().await;
    // After a restart nothing is attached until the client says so.
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/init", json!({})).await.unwrap();
    assert_eq!(desk.heard("bb/events"), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn selecting_a_session_that_is_behind_leaves_no_hole_in_its_events() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.caught_up().await;
    desk.paper.room.store(0, Ordering::SeqCst);
    for _ in 0..10 {
        desk.token(&session, "x").await;
    }
    assert_eq!(desk.events(&session).await.len(), 11);
    desk.paper.room.store(usize::MAX, Ordering::SeqCst);
    let selected = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    assert_eq!(selected["seq"], 11);
    desk.inbox.send(Event::OutboxDrained { client: desk.client }).unwrap();
    desk.finish(&session, 1, &"x".repeat(10)).await;
    let stored = desk.events(&session).await;
    assert_eq!(desk.heard_events(&session), stored);
}

#[tokio::test]
async fn r000_41_55_after_a_gap_that_the_journal_cannot_fill_the_view_goes_on_with_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.caught_up().await;
    desk.paper.room.store(0, Ordering::SeqCst);
    desk.token(&session, "lost").await;
    assert_eq!(desk.events(&session).await.len(), 2);
    desk.paper.room.store(usize::MAX, Ordering::SeqCst);
    faults.unreadable.store(true, Ordering::SeqCst);
    desk.inbox.send(Event::OutboxDrained { client: desk.client }).unwrap();
    desk.caught_up().await;
    let gap = desk.heard("bb/connection").pop().unwrap();
    assert_eq!((&gap["gapDetected"], &gap["resume"]["verdict"]), (&json!(true), &json!("lost")));
    faults.unreadable.store(false, Ordering::SeqCst);
    desk.finish(&session, 1, "lost and found").await;
    desk.caught_up().await;
    let head = desk.events(&session).await.len();
    let view = desk.heard("bb/view").pop().unwrap();
    assert_eq!(view["toSeq"], json!(head), "the view stands still");
}

#[tokio::test]
async fn a_client_without_events_costs_no_reading_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.finish(&session, 1, "a").await;
    desk.caught_up().await;
    desk.close().await;
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup { first_id: 100, ..Setup::default() });
    let epoch = desk.ask("bb/init", json!({})).await.unwrap()["epoch"].clone();
    let seen = json!({"subscribe": {"events": false}, "lastSeen": {"epoch": epoch, "sessions": {session.clone(): 0}}});
    let init = desk.ask("bb/init", seen).await.unwrap();
    assert_eq!(init["resume"][&session]["verdict"], "replayed");
    assert_eq!(desk.heard("bb/view").len(), 1);
    assert_eq!(faults.reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_the_client_asks_of_latency_stands_above_a_later_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/init", json!({"subscribe": {"maxLatencyMs": 0}})).await.unwrap();
    let slow = DeliverySetting { max_latency_ms: Some(1_000), ..DeliverySetting::default() };
    desk.tell(EditorEvent::Configuration(WorkspaceConfiguration { delivery: Some(slow) }));
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    for _ in 0..3 {
        desk.token(&session, "x").await;
    }
    desk.caught_up().await;
    assert_eq!(desk.heard_events(&session).len(), 4);
}
