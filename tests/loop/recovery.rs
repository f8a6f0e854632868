//! What a restart finds: the same numbers, the same view, nothing doubled, and what was open settled once.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::desk::{Desk, Setup, types};
use crate::journal::Faults;

#[tokio::test]
async fn r000_03_53_a_restart_gives_the_same_epoch_events_and_view() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    for at in 0..700 {
        desk.token(&session, &format!("t{at} ")).await;
    }
    let text: String = (0..700).map(|at| format!("t{at} ")).collect();
    desk.finish(&session, 1, &text).await;
    let events = desk.events(&session).await;
    let before = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 1_000, ..Setup::default() });
    let after = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    assert_eq!(after, before);
    assert_eq!(desk.events(&session).await, events);
}

#[tokio::test]
async fn a_turn_that_was_cut_is_ended_once_its_ask_cancelled_and_its_queue_waits() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    desk.token(&session, "half").await;
    desk.ask_to_run(&session, "permission_1", "ls").await;
    desk.caught_up().await;
    desk.close().await;
    let expected = [
        "local.prompt",
        "assistant.token",
        "command.request_approval",
        "local.permission_settled",
        "local.turn_end",
    ];
    for restart in 1..=2 {
        let desk = Desk::at(dir.path(), Setup { first_id: restart * 1_000, ..Setup::default() });
        let events = desk.events(&session).await;
        assert_eq!(types(&events), expected, "start {restart}");
        assert_eq!(events[3]["payload"]["resolvedBy"], "restart");
        let queue = desk.ask("bb/queue/list", json!({"sessionId": session})).await.unwrap();
        assert_eq!(queue, json!({"items": [{"messageId": "two", "text": "two"}], "paused": true}));
        assert_eq!(desk.engine_heard(), Vec::<String>::new());
        desk.close().await;
    }
}

#[tokio::test]
async fn r000_53_a_turn_that_had_its_end_does_not_get_a_second_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    desk.conclude(&session, "all").await;
    let before = desk.events(&session).await;
    assert_eq!(types(&before), ["local.prompt", "assistant.message_final"]);
    desk.close().await;
    for restart in 1..=2 {
        let desk = Desk::at(dir.path(), Setup { first_id: restart * 1_000, ..Setup::default() });
        assert_eq!(desk.events(&session).await, before, "start {restart}");
        let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
        assert_eq!(listed["sessions"][0]["status"], "idle");
        let queue = desk.ask("bb/queue/list", json!({"sessionId": session})).await.unwrap();
        assert_eq!(queue, json!({"items": [{"messageId": "two", "text": "two"}], "paused": true}));
        desk.close().await;
    }
}

#[tokio::test]
async fn r000_53_last_seen_replays_exactly_what_is_missing_and_says_when_it_cannot_know() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.token(&session, "a").await;
    desk.finish(&session, 1, "a").await;
    let all = desk.events(&session).await;
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup::default());
    let epoch = desk.ask("bb/init", json!({})).await.unwrap()["epoch"].clone();
    let seen = json!({"lastSeen": {"epoch": epoch, "sessions": {session.clone(): 1, "gone": 4}}});
    let init = desk.ask("bb/init", seen).await.unwrap();
    assert_eq!(init["resume"][&session], json!({"verdict": "replayed", "events": 2, "from": 2, "to": 3}));
    assert_eq!(init["resume"]["gone"]["verdict"], "lost");
    assert_eq!(desk.heard_events(&session), all[1..]);
    let other = json!({"lastSeen": {"epoch": "other", "sessions": {session.clone(): 1}}});
    assert_eq!(desk.ask("bb/init", other).await.unwrap()["resume"][&session]["verdict"], "lost");
    let level = json!({"lastSeen": {"epoch": epoch, "sessions": {session.clone(): 3}}});
    let init = desk.ask("bb/init", level).await.unwrap();
    assert_eq!(init["resume"][&session], json!({"verdict": "complete", "events": 0}));
}

#[tokio::test]
async fn a_view_that_cannot_be_read_is_made_anew_and_what_follows_stands_below_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.finish(&session, 1, "first").await;
    desk.caught_up().await;
    desk.close().await;
    let (open, faults) = Faults::over(dir.path());
    faults.broken_view.store(true, Ordering::SeqCst);
    let desk = Desk::with_journal(open, Setup { first_id: 100, ..Setup::default() });
    desk.prompt(&session, "two").await;
    desk.finish(&session, 2, "second").await;
    desk.caught_up().await;
    let texts = async |desk: &Desk| -> Vec<String> {
        let selected = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
        let blocks = selected["view"]["lanes"]["chat"]["blocks"].as_array().unwrap().clone();
        blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
    };
    let expected = ["one", "first", "two", "second"];
    assert_eq!(texts(&desk).await, expected);
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 1_000, ..Setup::default() });
    assert_eq!(texts(&desk).await, expected);
}

#[tokio::test]
async fn without_an_engine_a_queue_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, engine: false, ..Setup::default() });
    let resumed = desk.ask("bb/queue/resume", json!({"sessionId": session})).await;
    assert_eq!(resumed.unwrap_err().code.as_str(), "unsupported");
    let queue = desk.ask("bb/queue/list", json!({"sessionId": session})).await.unwrap();
    assert_eq!(queue, json!({"items": [{"messageId": "two", "text": "two"}], "paused": true}));
}

#[tokio::test]
async fn a_killed_loop_reduces_little_more_than_a_mebibyte_again_however_long_the_session_is() {
    // Many small events, and few large ones: both once within a turn that was never ended.
    for (count, size) in [(30_000, 8), (400, 20_000)] {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::at(dir.path(), Setup::default());
        let session = desk.session().await;
        desk.prompt(&session, "one").await;
        for _ in 0..count {
            desk.token(&session, &"x".repeat(size)).await;
        }
        desk.caught_up().await;
        desk.kill().await;
        let written = std::fs::metadata(dir.path().join("sessions.sqlite3")).unwrap().len();
        assert!(written > 5 << 20, "{written}");
        let (open, faults) = Faults::over(dir.path());
        let desk = Desk::with_journal(open, Setup { first_id: 1_000, ..Setup::default() });
        let view = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
        // What came after the checkpoint, and the last events once more, to look for the end of the turn.
        let bytes = faults.bytes_read.load(Ordering::SeqCst);
        assert!(
            bytes < (1 << 20) + (1 << 20) / 2 + 128 * size,
            "{count} events: {bytes} bytes were read again"
        );
        let text = view["view"]["lanes"]["chat"]["blocks"][2]["text"].as_str().unwrap();
        assert!(text.len() > 5_000 && text.bytes().all(|byte| byte == b'x'));
        desk.close().await;
    }
}
