//! The journal keeps to its size: the events of the oldest sessions go first, their chats stay; what is in use stays whole.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use breadboard_ls::testing::app::ports::Journal;
use breadboard_ls::testing::store::SqliteJournal;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};
use crate::journal::Faults;

/// The least size there is.
const SIZE: u64 = 1 << 20;

fn small(first_id: i64) -> Setup {
    Setup { journal_bytes: Some(SIZE), first_id, ..Setup::default() }
}

/// A loop on the journal of a directory that keeps 1 MiB.
fn desk(dir: &Path, first_id: i64) -> (Desk, Arc<Faults>) {
    let (open, faults) = Faults::over(dir);
    (Desk::with_journal(open, small(first_id)), faults)
}

/// Sessions of one turn each, oldest first, with the view that each has; written by a loop that is closed again.
async fn written(dir: &Path, sessions: usize, tokens: usize, final_text: usize) -> Vec<(String, Value)> {
    let desk = Desk::at(dir, Setup::default());
    let mut made = Vec::new();
    for at in 0..sessions {
        let session = desk.session().await;
        desk.prompt(&session, &format!("prompt {at}")).await;
        for token in 0..tokens {
            desk.token(&session, &format!("{token} ")).await;
        }
        desk.finish(&session, 1, &"x".repeat(final_text)).await;
        desk.caught_up().await;
        made.push((session, Value::Null));
    }
    for (session, view) in &mut made {
        *view = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    }
    desk.close().await;
    made
}

/// Lets time go until the journal is no larger than 80 % of its size.
async fn until_small(dir: &Path) {
    for _ in 0..1_000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if used(dir) <= SIZE / 100 * 80 {
            return;
        }
    }
    panic!("still {} bytes", used(dir));
}

/// Bytes in use, by a reader of our own.
fn used(dir: &Path) -> u64 {
    let file = rusqlite::Connection::open(dir.join("sessions.sqlite3")).unwrap();
    let pragma = |name: &str| file.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).unwrap();
    u64::from(pragma("page_count") - pragma("freelist_count")) * u64::from(pragma("page_size"))
}

#[tokio::test]
async fn the_events_of_the_oldest_sessions_go_their_chats_stay_and_the_user_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = written(dir.path(), 5, 1_500, 10).await;
    assert!(used(dir.path()) > SIZE * 5 / 4, "{}", used(dir.path()));
    let (desk, faults) = desk(dir.path(), 1_000);
    // In use from the first moment, so it stays whole, although it is the oldest.
    let (in_use, _) = &sessions[0];
    desk.ask("bb/selectSession", json!({"sessionId": in_use})).await.unwrap();
    until_small(dir.path()).await;
    assert!(faults.largest_removal.load(Ordering::SeqCst) <= 1 << 20);
    assert!(faults.largest_removal.load(Ordering::SeqCst) > 0);

    let told = desk.heard("window/showMessage");
    assert_eq!(told.len(), 1, "{told:?}");
    let sentence = told[0]["message"].as_str().unwrap();
    assert!(sentence.starts_with("The journal reached its size of 1 MiB"), "{sentence}");

    let read = json!({"sessionId": in_use, "fromSeq": 1, "limit": 1});
    assert_eq!(desk.ask("bb/events/read", read).await.unwrap()["events"][0]["seq"], 1);

    let (trimmed, _) = &sessions[1];
    for (method, params) in [
        ("bb/events/read", json!({"sessionId": trimmed, "fromSeq": 1})),
        ("bb/eventBody", json!({"sessionId": trimmed, "seq": 2})),
    ] {
        let refused = desk.ask(method, params).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "not_found");
        assert!(refused.message.contains("were removed"), "{}", refused.message);
    }
    // The client that had seen the beginning is told that the rest is not to be had.
    let epoch = desk.ask("bb/init", json!({})).await.unwrap()["epoch"].clone();
    let seen = json!({"lastSeen": {"epoch": epoch, "sessions": {trimmed: 1}}});
    assert_eq!(desk.ask("bb/init", seen).await.unwrap()["resume"][trimmed]["verdict"], "lost");
    assert_eq!(desk.heard_events(trimmed), Vec::<Value>::new());

    for (session, view) in &sessions {
        assert_eq!(&desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap(), view);
    }
    // Numbers go on where they were.
    let head = sessions[1].1["seq"].as_u64().unwrap();
    desk.prompt(trimmed, "and then").await;
    let read = json!({"sessionId": trimmed, "fromSeq": head + 1});
    let next = desk.ask("bb/events/read", read).await.unwrap();
    assert_eq!(next["events"][0]["seq"], json!(head + 1));
    assert_eq!(next["events"][0]["type"], "local.prompt");
    desk.close().await;
}

#[tokio::test]
async fn a_session_whose_turn_is_open_keeps_its_events() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { folder: "file:///other", first_id: 500, ..Setup::default() });
    let open = desk.session().await;
    desk.prompt(&open, "one").await;
    for at in 0..700 {
        desk.token(&open, &format!("{at} ")).await;
    }
    desk.caught_up().await;
    desk.close().await;
    let sessions = written(dir.path(), 3, 2_000, 10).await;
    let (desk, _) = self::desk(dir.path(), 1_000);
    until_small(dir.path()).await;
    let refused = desk.ask("bb/events/read", json!({"sessionId": sessions[0].0, "fromSeq": 1})).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "not_found");
    desk.close().await;
    let mut journal = SqliteJournal::open(Some(dir.path()));
    assert_eq!(journal.first(&open), Ok(1));
}

#[tokio::test]
async fn when_events_are_not_enough_the_oldest_sessions_go_whole() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = written(dir.path(), 6, 1, 190_000).await;
    let (desk, _) = desk(dir.path(), 1_000);
    until_small(dir.path()).await;
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    let left: Vec<&str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["sessionId"].as_str().unwrap())
        .collect();
    // Newest first, and none of the newest is gone.
    let newest: Vec<&str> = sessions.iter().rev().map(|(id, _)| id.as_str()).take(left.len()).collect();
    assert_eq!(left, newest);
    assert!((1..6).contains(&left.len()), "{left:?}");
    let gone = desk.ask("bb/selectSession", json!({"sessionId": sessions[0].0})).await;
    assert_eq!(gone.unwrap_err().code.as_str(), "unknown_session");
    let told = desk.heard("window/showMessage");
    assert_eq!(
        told.iter()
            .filter(|said| said["message"].as_str().unwrap().contains("so the oldest sessions are removed"))
            .count(),
        1
    );
    desk.close().await;
    let (desk, _) = self::desk(dir.path(), 2_000);
    assert_eq!(
        desk.ask("bb/listSessions", json!({})).await.unwrap()["sessions"].as_array().unwrap().len(),
        left.len()
    );
}

#[tokio::test]
async fn a_session_that_the_user_pinned_stays_when_the_oldest_go_whole() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = written(dir.path(), 6, 1, 190_000).await;
    let (pinned, next) = (&sessions[0].0, &sessions[1].0);
    let desk = Desk::at(dir.path(), Setup { first_id: 500, ..Setup::default() });
    desk.ask("bb/session/pin", json!({"sessionId": pinned, "pinned": true})).await.unwrap();
    desk.close().await;
    let (desk, _) = self::desk(dir.path(), 1_000);
    until_small(dir.path()).await;
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], pinned.as_str());
    let gone = desk.ask("bb/selectSession", json!({"sessionId": next})).await;
    assert_eq!(gone.unwrap_err().code.as_str(), "unknown_session");
    desk.close().await;
}

#[tokio::test]
async fn a_journal_in_memory_drops_what_the_view_holds_and_the_client_was_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let nowhere = file.path().join("state");
    let desk = Desk::with_journal(Box::new(move |_| Box::new(SqliteJournal::open(Some(&nowhere)))), small(1));
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    for at in 0..45 {
        desk.ask_to_run(&session, &format!("permission_{at}"), &"x".repeat(400_000)).await;
    }
    desk.caught_up().await;
    let read = json!({"sessionId": session, "fromSeq": 1, "limit": 1});
    let dropped = async {
        loop {
            match desk.ask("bb/events/read", read.clone()).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(refused) => break refused,
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(30), dropped).await.expect("it is dropped");
    assert_eq!(refused.code.as_str(), "not_found");
    assert_eq!(desk.heard_events(&session).len(), 46);
    let view = desk.ask("bb/view/page", json!({"sessionId": session, "lane": "chat"})).await.unwrap();
    assert_eq!(view["blocks"].as_array().unwrap().len(), 47);
}
