//! An editor that does not read loses nothing and gets nothing twice; its view jumps by a snapshot.

use std::sync::atomic::Ordering;

use breadboard_ls::app::Event;
use serde_json::json;

use crate::desk::{Desk, Setup};

#[tokio::test]
async fn a_full_outbox_is_refilled_from_the_journal_without_holes_or_doubles() {
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
        desk.inbox.send(Event::OutboxDrained).unwrap();
        desk.caught_up().await;
    }
    desk.paper.room.store(usize::MAX, Ordering::SeqCst);
    desk.inbox.send(Event::OutboxDrained).unwrap();
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
