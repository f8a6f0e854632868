//! Sessions that an engine holds, at the worst moment: the process dies, the disk is full, trust goes, the engine lies.

use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::EditorEvent;
use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::event::EngineEvent;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup, types};
use crate::held::{desk, held};
use crate::journal::Faults;

/// The place from which the next stream is asked for.
async fn place(desk: &Desk) -> Option<u64> {
    desk.called(
        |call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })),
        |call| match call {
            EngineCall::Stream(StreamCall::Attach { cursor, .. }) => cursor.map(|cursor| cursor.seq),
            other => panic!("{other:?}"),
        },
    )
    .await
}

/// A new process after `kill -9`.
async fn again(desk: Desk, dir: &tempfile::TempDir) -> Desk {
    desk.caught_up().await;
    desk.kill().await;
    Desk::at(dir.path(), Setup { first_id: 100, ..held() })
}

#[tokio::test]
async fn r003_56_an_event_that_is_written_at_once_has_its_place_written_with_it() {
    // An ask is written at once.
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir);
    first.held_session().await;
    first.working("one", 1).await;
    first.asked(2, "permission_1").await;
    let second = again(first, &dir).await;
    assert_eq!(place(&second).await, Some(2), "else the ask would be told twice");
    // So is the end of a run.
    second.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    second.event(3, "run_finished", json!({"reason": "done"})).await;
    let before = second.events("s1").await;
    let third = again(second, &dir).await;
    let (selected, place) = tokio::join!(third.ask("bb/selectSession", json!({"sessionId": "s1"})), async {
        let place = place(&third).await;
        third.link(LinkNews::Resumed(ResumedLink::Complete)).await;
        place
    });
    selected.unwrap();
    assert_eq!(place, Some(3), "else the end would be told twice");
    assert_eq!(third.events("s1").await, before);
}

#[tokio::test]
async fn r003_56_a_place_is_never_written_before_its_event() {
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir);
    first.held_session().await;
    first.working("one", 1).await;
    first.asked(2, "permission_1").await;
    // The older ask of this id is settled first, which is an event too.
    first.asked(5, "permission_1").await;
    let events = first.events("s1").await;
    assert_eq!(types(&events)[3..], ["local.permission_settled", "permission_request"]);
    let second = again(first, &dir).await;
    assert_eq!(place(&second).await, Some(5));
    assert_eq!(second.events("s1").await, events);
}

#[tokio::test]
async fn an_answer_that_died_on_its_way_with_the_process_can_be_given_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir);
    first.held_session().await;
    first.working("one", 1).await;
    let request_id = first.asked(2, "permission_1").await;
    let answer = json!({"sessionId": "s1", "requestId": request_id, "decision": "allow_once"});
    // The engine never says whether it took it.
    let (reply, _nobody) = breadboard_ls::testing::app::inbox::EditorReply::new();
    let request =
        breadboard_ls::testing::protocol::Request::parse("bb/approvePermission", answer.clone()).unwrap();
    first
        .inbox
        .send(breadboard_ls::testing::app::Event::Request { client: first.client, request, reply })
        .unwrap();
    let second = again(first, &dir).await;
    second.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    second.caught_up().await;
    second.calls.0.lock().unwrap().clear();
    let given = async {
        loop {
            if second.engine_heard().iter().any(|call| call.starts_with("answer ")) {
                return second.decided(Ok(())).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let given = tokio::time::timeout(std::time::Duration::from_secs(60), given);
    let (recorded, given) = tokio::join!(second.ask("bb/approvePermission", answer), given);
    assert_eq!(recorded.unwrap()["outcome"], "recorded", "else the ask would wait for ever");
    assert_eq!(given.unwrap(), ("permission_1".to_owned(), Ruling::AllowOnce));
}

#[tokio::test]
async fn r000_63_a_queue_stands_still_when_trust_goes_and_is_not_resumed_without() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    assert_eq!(desk.prompt("s1", "two").await["disposition"], "queued");
    desk.tell(EditorEvent::WorkspaceTrust { trusted: false });
    desk.event(2, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    assert_eq!(desk.engine_heard().iter().filter(|call| call.starts_with("start")).count(), 1);
    let params = json!({"sessionId": "s1"});
    let queue = desk.ask("bb/queue/list", params.clone()).await.unwrap();
    assert_eq!((&queue["paused"], &queue["items"][0]["text"]), (&json!(true), &json!("two")));
    let refused = desk.ask("bb/queue/resume", params.clone()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UntrustedWorkspace);
    desk.tell(EditorEvent::WorkspaceTrust { trusted: true });
    desk.ask("bb/queue/resume", params).await.unwrap();
    assert!(desk.engine_heard().contains(&"start 2 two".to_owned()), "{:?}", desk.engine_heard());
}

#[tokio::test]
async fn the_queue_of_a_session_that_is_over_is_not_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.prompt("s1", "two").await;
    desk.link(LinkNews::Gone { reason: "The engine forgot it.".to_owned() }).await;
    desk.caught_up().await;
    let refused = desk.ask("bb/queue/resume", json!({"sessionId": "s1"})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::EngineRejected);
    let queue = desk.ask("bb/queue/list", json!({"sessionId": "s1"})).await.unwrap();
    assert_eq!(queue["items"].as_array().unwrap().len(), 1, "it is not lost");
}

#[tokio::test]
async fn a_turn_that_waits_for_an_answer_is_stopped_once_when_too_much_waits_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, held());
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.asked(2, "permission_1").await;
    desk.calls.0.lock().unwrap().clear();
    faults.full.store(true, Ordering::SeqCst);
    let large = "x".repeat(8 << 20);
    for seq in 3..15 {
        desk.event(seq, "assistant_message", json!({"text": large})).await;
    }
    desk.caught_up().await;
    let heard = |word: &str| desk.engine_heard().iter().filter(|call| call.starts_with(word)).count();
    assert_eq!((heard("answer "), heard("stop")), (1, 1));
    // Written again, and the next time it is full the turn is stopped again.
    faults.full.store(false, Ordering::SeqCst);
    desk.event(15, "turn_start", json!({})).await;
    desk.events("s1").await;
    faults.full.store(true, Ordering::SeqCst);
    for seq in 16..28 {
        desk.event(seq, "assistant_message", json!({"text": large})).await;
    }
    desk.caught_up().await;
    assert_eq!((heard("answer "), heard("stop")), (2, 2));
    faults.full.store(false, Ordering::SeqCst);
}

#[tokio::test]
async fn a_list_that_fails_for_a_reason_of_its_own_says_nothing_about_the_connection() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.report(EngineReport::Connectivity(Connectivity::Connected {
        capabilities: vec!["sessions".into()],
    }))
    .await;
    let listed = async {
        let reply = desk
            .called(
                |call| matches!(call, EngineCall::ListSessions { .. }),
                |call| match call {
                    EngineCall::ListSessions { reply } => reply,
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let outcome =
            Err(CodedError::new(ErrorCode::Overloaded, "Too many requests are under way; try again."));
        desk.report(EngineReport::SessionsListed { outcome, reply }).await;
    };
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed);
    assert_eq!(list.unwrap()["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(desk.heard("bb/connection").last().unwrap()["status"], "connected");
    assert_eq!(desk.ask("bb/init", json!({"v": 1})).await.unwrap()["engine"]["status"], "connected");
    let said = desk.heard("window/showMessage");
    assert_eq!(said.last().unwrap()["message"], "Too many requests are under way; try again.");
}

#[tokio::test]
async fn a_number_at_the_end_of_all_numbers_is_no_fault_in_a_rebuild() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.link(LinkNews::Gap { from: 2, to: None, reason: "it lies".to_owned() }).await;
    desk.caught_up().await;
    let rebuilt = async {
        let reply = desk
            .called(
                |call| matches!(call, EngineCall::Stream(StreamCall::Rebuild { .. })),
                |call| match call {
                    EngineCall::Stream(StreamCall::Rebuild { reply, .. }) => reply,
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let event = EngineEvent {
            id: "x".to_owned(),
            kind: "assistant_message".to_owned(),
            turn: None,
            ts: None,
            payload: json!({"text": "x"}).as_object().cloned().unwrap().into(),
            repaired: false,
        };
        let outcome = Ok(vec![(event, u64::MAX)]);
        desk.report(EngineReport::Stream(StreamReport::Rebuilt {
            session_id: "s1".to_owned(),
            outcome,
            reply,
        }))
        .await;
    };
    let (answer, ()) = tokio::join!(desk.ask("bb/rebuild", json!({"sessionId": "s1"})), rebuilt);
    let resume: Value = answer.unwrap()["resume"].clone();
    assert_eq!((&resume["from"], &resume["to"]), (&json!(2), &json!(u64::MAX - 1)));
}

#[tokio::test]
async fn r000_62_what_can_no_longer_be_the_beginning_of_a_secret_does_not_wait() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/setCredentials", json!({"scope": "engine", "token": "canary-token-1"})).await.unwrap();
    desk.held_session().await;
    desk.working("one", 1).await;
    // Each ends as the token begins, and none goes on as it does.
    for seq in 2..40 {
        desk.event(seq, "assistant.message.delta", json!({"item_id": "m", "delta": "word c"})).await;
    }
    assert_eq!(desk.events("s1").await.len(), 39, "only the newest waits");
    desk.event(40, "assistant.message.delta", json!({"item_id": "m", "delta": "anary-token-1."})).await;
    let events = desk.events("s1").await;
    let text: String = events[2..].iter().filter_map(|event| event["payload"]["delta"].as_str()).collect();
    assert_eq!(text, format!("{}word [redacted].", "word c".repeat(37)));
}

#[tokio::test]
async fn an_address_that_is_spelled_otherwise_is_the_same_engine() {
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir);
    first.held_session().await;
    first.working("one", 1).await;
    first.caught_up().await;
    first.close().await;
    let url = "HTTP://127.0.0.1:9099/";
    let second = Desk::at(dir.path(), Setup { first_id: 100, url, ..held() });
    assert_eq!(place(&second).await, Some(1));
    second.close().await;
    let url = "http://127.0.0.1:9099/other";
    let third = Desk::at(dir.path(), Setup { first_id: 200, url, ..held() });
    let refused = third.ask("bb/sendMessage", json!({"sessionId": "s1", "text": "x"})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unsupported);
}

#[tokio::test]
async fn the_end_of_a_run_and_the_note_that_nothing_runs_are_written_together() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, held());
    desk.held_session().await;
    desk.working("one", 1).await;
    // Large enough to be written at once: between two writes a process may die, and the end is not told again.
    desk.event(2, "run_finished", json!({"reason": "x".repeat(1 << 20)})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
    assert_eq!(faults.torn_ends.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn asks_without_end_are_kept_as_events_and_shown_up_to_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    for seq in 2..302 {
        let id = format!("permission_{seq}");
        desk.event(seq, "permission_request", json!({"request_id": id, "category": "shell", "pattern": "p"}))
            .await;
    }
    assert_eq!(desk.events("s1").await.len(), 302);
    assert_eq!(desk.pending().await, 256);
}
