//! Events that are missing, and a process that dies: what is said of them, and what they do to the turn that is open.

use breadboard_ls::testing::app::ports::*;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup, types};

const WHY: &str = "the engine keeps only the last 1000 events of a session";

fn desk(dir: &tempfile::TempDir, first_id: i64) -> Desk {
    Desk::at(dir.path(), Setup { holds: true, first_id, ..Setup::default() })
}

fn gap(from: u64, to: Option<u64>) -> LinkNews {
    LinkNews::Gap { from, to, reason: WHY.to_owned() }
}

fn lost(from: u64, to: Option<u64>) -> LinkNews {
    LinkNews::Resumed(ResumedLink::Lost { from, to, reason: WHY.to_owned() })
}

async fn cursor_asked(desk: &Desk) -> Option<EngineCursor> {
    desk.called(
        |call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })),
        |call| match call {
            EngineCall::Stream(StreamCall::Attach { cursor, .. }) => cursor,
            other => panic!("{other:?}"),
        },
    )
    .await
}

#[tokio::test]
async fn r003_60_each_gap_is_told_on_the_connection_however_soon_the_next_one_comes() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    // No turn of the loop between them.
    desk.link(gap(1, Some(2))).await;
    desk.link(gap(5, Some(6))).await;
    desk.link(lost(1, Some(2))).await;
    desk.caught_up().await;
    let told: Vec<Value> = desk
        .heard("bb/connection")
        .iter()
        .filter(|told| told["gapDetected"] == json!(true))
        .map(|told| json!([told["resume"]["from"], told["resume"]["to"]]))
        .collect();
    assert_eq!(told, [json!([1, 2]), json!([5, 6]), json!([1, 2])]);
}

#[tokio::test]
async fn r003_60_a_loss_is_told_once_and_again_at_each_resume_that_does_not_bring_it() {
    // Given a session whose engine restarted and forgot a stretch of it
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    let resumes = |desk: &Desk| -> Vec<Value> {
        let told = desk.heard("bb/connection").into_iter().filter(|told| told["sessionId"] == "s1");
        let told = told.filter(|told| told["resume"].is_object());
        told.map(|told| json!([told["gapDetected"], told["resume"]])).collect()
    };
    let before = resumes(&desk).len();
    let broken = || LinkNews::Connecting { retry: 1, error: Some("It cannot be reached.".into()) };
    desk.link(broken()).await;
    desk.caught_up().await;
    // When its stream is resumed
    desk.link(gap(29, Some(230))).await;
    desk.link(lost(29, Some(230))).await;
    desk.caught_up().await;
    // Then the loss is told once
    let first = json!([true, {"verdict": "lost", "from": 29, "to": 230,
        "reason": "The engine keeps only the last 1000 events of a session."}]);
    assert_eq!(resumes(&desk)[before..], *std::slice::from_ref(&first));
    // And a later resume that lost nothing more does not say that nothing is missing
    desk.link(broken()).await;
    desk.caught_up().await;
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    desk.caught_up().await;
    let still = json!({"verdict": "lost", "from": 29, "to": 230,
        "reason": "Events that were missing before have not come since."});
    assert_eq!(resumes(&desk)[before..], [first, json!([true, still])]);
    let selected = desk.ask("bb/selectSession", json!({"sessionId": "s1"})).await.unwrap();
    assert_eq!(selected["resume"], still);
}

/// What `bb/init` says to a client that saw the session up to `seq`.
async fn resumed_from(desk: &Desk, seq: u64) -> Value {
    let epoch = desk.ask("bb/init", json!({})).await.unwrap()["epoch"].clone();
    let seen = json!({"lastSeen": {"epoch": epoch, "sessions": {"s1": seq}}});
    desk.ask("bb/init", seen).await.unwrap()["resume"]["s1"].clone()
}

#[tokio::test]
async fn r000_53_r003_60_coming_back_to_a_session_never_sounds_better_than_selecting_it() {
    let gone = || LinkNews::Gone { reason: "The engine forgot it.".into() };
    let broken = || LinkNews::Connecting { retry: 1, error: Some("It cannot be reached.".into()) };
    let up = || LinkNews::Resumed(ResumedLink::Complete);
    for news in [vec![gone()], vec![broken()], vec![gap(3, Some(9)), up()], vec![gap(3, Some(9)), gone()]] {
        // Given a session of which its engine lost something
        let dir = tempfile::tempdir().unwrap();
        let desk = desk(&dir, 1);
        desk.held_session().await;
        desk.working("one", 1).await;
        desk.event(2, "run_finished", json!({"reason": "done"})).await;
        let said = format!("{news:?}");
        let is_open = matches!(news[..], [LinkNews::Connecting { .. }]);
        for news in news {
            desk.link(news).await;
        }
        desk.caught_up().await;
        let events = desk.events("s1").await;
        let head = events.len() as u64;
        // When a client comes back from any place
        for seq in 0..=head {
            let mut resume = resumed_from(&desk, seq).await;
            // Then what it missed here is replayed
            assert_eq!(resume["events"], head - seq, "{said} from {seq}");
            resume.as_object_mut().unwrap().remove("events");
            // And what the engine lost is said as it is to one who selects the session
            let worth = if is_open {
                json!({"verdict": "lost", "reason": "It cannot be reached."})
            } else {
                desk.ask("bb/selectSession", json!({"sessionId": "s1"})).await.unwrap()["resume"].clone()
            };
            assert_eq!(worth["verdict"], "lost", "{said} from {seq}");
            assert_eq!(resume, worth, "{said} from {seq}");
        }
    }
}

#[tokio::test]
async fn r000_53_coming_back_before_the_stream_is_open_says_what_is_known_and_what_is_not() {
    for (news, known) in [
        (LinkNews::Resumed(ResumedLink::Complete), "complete"),
        (gap(3, Some(9)), "lost"),
        (LinkNews::Gone { reason: "The engine forgot it.".into() }, "lost"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let first = desk(&dir, 1);
        first.held_session().await;
        first.working("one", 1).await;
        first.event(2, "run_finished", json!({"reason": "done"})).await;
        first.link(news).await;
        first.caught_up().await;
        let head = first.events("s1").await.len() as u64;
        first.kill().await;

        let second = desk(&dir, 100);
        let resume = resumed_from(&second, head).await;
        assert_eq!((&resume["verdict"], &resume["events"]), (&json!(known), &json!(0)), "{resume}");
        let why = resume["reason"].as_str().unwrap();
        assert_eq!(why.contains("will be said then"), known == "complete", "{why}");
    }
}

#[tokio::test]
async fn r003_56_after_a_kill_the_engine_is_asked_for_what_follows_the_last_event_of_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir, 1);
    first.held_session().await;
    first.working("one", 1).await;
    first.event(2, "run_finished", json!({"reason": "done"})).await;
    assert_eq!(types(&first.events("s1").await), ["local.prompt", "user_message", "run_finished"]);
    first.kill().await;

    let second = desk(&dir, 100);
    second.prompt("s1", "two").await;
    assert_eq!(cursor_asked(&second).await, Some(EngineCursor { seq: 2, id: "2".to_owned() }));
}

#[tokio::test]
async fn a_turn_whose_beginning_is_missing_ends_with_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    desk.prompt("s1", "one").await;
    desk.link(gap(1, Some(4))).await;
    desk.event(5, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
    assert_eq!(types(&desk.events("s1").await), ["local.prompt", "local.gap", "run_finished"]);
}

#[tokio::test]
async fn a_turn_whose_end_may_be_missing_ends_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.link(gap(2, None)).await;
    // Said beside the run: it shows nothing of it.
    desk.event(9, "task_event", json!({"kind": "stop_requested"})).await;
    desk.link(lost(2, None)).await;
    let events = desk.events("s1").await;
    assert_eq!(types(&events)[2..], ["local.gap", "task_event", "local.turn_end"]);
    assert_eq!(events[4]["payload"]["reason"], "failed");
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
    // The next one is not ended by the same gap.
    desk.prompt("s1", "two").await;
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
}

#[tokio::test]
async fn r003_60_the_end_of_a_run_that_was_given_up_does_not_end_the_prompt_behind_it() {
    // Given a turn whose end may be missing, and the next prompt, which the engine answers with an error of its own
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.link(gap(2, None)).await;
    desk.link(lost(2, None)).await;
    desk.caught_up().await;
    desk.prompt("s1", "two").await;
    // When more is missing, and then the first run goes on and ends after all
    desk.link(gap(2, Some(4))).await;
    desk.event(5, "assistant.message.delta", json!({"delta": "of the first"})).await;
    desk.event(6, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    // Then the second has not ended with it
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    // And ends with what is known of it
    let failure = Some("The engine answered 502.".into());
    let session_id = "s1".to_owned();
    desk.report(EngineReport::TurnEnded { session_id, turn: 2, failure, cancelled: false }).await;
    let events = desk.events("s1").await;
    let end = &events.last().unwrap()["payload"];
    assert_eq!((&end["reason"], &end["message"]), (&json!("failed"), &json!("The engine answered 502.")));
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
}

#[tokio::test]
async fn a_turn_that_the_engine_forgot_ends_with_a_sentence_and_one_on_its_way_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    // Given a turn that waits for an answer at an engine that restarts and keeps the session
    desk.working("one", 1).await;
    desk.asked(2, "permission_1").await;
    desk.link(LinkNews::Connecting { retry: 1, error: Some("It cannot be reached.".into()) }).await;
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    // When the engine says that it runs nothing
    desk.link(LinkNews::NoTurnRuns).await;
    // Then the turn is over, and so is what it asked
    let events = desk.events("s1").await;
    assert_eq!(types(&events)[3..], ["local.permission_settled", "local.turn_end"]);
    let end = &events[4]["payload"];
    assert_eq!(end["reason"], "failed");
    assert_eq!(
        end["message"],
        "The engine no longer works on this turn and never told of its end, as after a restart of the engine; look at what it has \
         done before you send the prompt again."
    );
    let state = desk.heard("bb/state").pop().unwrap();
    assert_eq!((&state["running"], &state["pendingPermissionCount"]), (&json!(false), &json!(0)));
    // And a prompt that the engine has not begun is not ended by it
    desk.prompt("s1", "two").await;
    desk.link(LinkNews::NoTurnRuns).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
}

#[tokio::test]
async fn r000_54_a_turn_of_which_nothing_came_ends_when_the_engine_is_done_with_it_and_the_next_one_does_not()
{
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    // Given a prompt of which the engine has told nothing
    desk.prompt("s1", "one").await;
    desk.link(gap(1, Some(4))).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    // When what it said of it is lost
    desk.link(LinkNews::TurnLost { turn: 1 }).await;
    // Then its turn is over, and says what to do
    let events = desk.events("s1").await;
    let end = events.last().unwrap();
    assert_eq!((&end["type"], &end["payload"]["reason"]), (&json!("local.turn_end"), &json!("failed")));
    assert_eq!(
        end["payload"]["message"],
        "The engine is done with this prompt, and what it said of it is lost; look at what it has done before you send it again."
    );
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
    // And the same word, come late, does not end the next turn
    desk.prompt("s1", "two").await;
    desk.link(LinkNews::TurnLost { turn: 1 }).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
}

#[tokio::test]
async fn a_turn_that_asks_goes_on_whatever_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir, 1);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.link(gap(2, None)).await;
    desk.asked(0, "permission_1").await;
    desk.link(lost(2, None)).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    assert_eq!(desk.heard("bb/state").last().unwrap()["pendingPermissionCount"], 1);
}
