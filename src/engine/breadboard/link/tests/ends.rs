//! Sessions that end, go, or hang.

use super::*;

#[tokio::test(start_paused = true)]
async fn fault_10_an_ended_session_is_read_to_its_end_and_left() {
    for status in ["completed", "failed", "stopped"] {
        // Its stream hangs open.
        let engine =
            Scripted::standing(vec![is(status)], vec![stream(vec![frames(1..=2), Wait(200), frames([3])])]);
        let mut bench = Bench::attached(&engine, 0);
        let ended = format!("ended {status}");
        assert_eq!(bench.hear(900).await, ["1", "2", "3", "replayed 3: 1..3", &ended]);
        assert_eq!(bench.hear(600_000).await, Vec::<String>::new());
        // An engine says `stopped` while it deletes a session, so that one is looked at again.
        let looks: &[&str] =
            if status == "stopped" { &["session", "start", "session"] } else { &["session", "start"] };
        assert_eq!(engine.asked(), looks);
        assert_eq!(bench.links.count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_10_a_stream_that_ends_with_its_session_is_over() {
    let engine = Scripted::standing(
        vec![running(), is("completed")],
        vec![stream(vec![frames(1..=2), Wait(500), frames([3]), End])],
    );
    assert_eq!(told(&engine, 0, 9_000).await, ["1", "2", "replayed 2: 1..2", "3", "ended completed"]);
    assert_eq!(engine.opened(), ["start", "after 3"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_session_said_last_and_the_wire_lost_is_fetched_at_its_end() {
    let engine = Scripted::standing(
        vec![running(), is("failed")],
        vec![stream(vec![frames(1..=2), Wait(500), End]), stream(vec![frames(3..=4)])],
    );
    assert_eq!(
        told(&engine, 0, 9_000).await,
        ["1", "2", "replayed 2: 1..2", "3", "4", "replayed 2: 3..4", "ended failed"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_that_breaks_off_is_tried_again_with_a_pause() {
    let half = frame(2).split_at(20).0.to_owned();
    let engine = Scripted::standing(
        vec![is("completed")],
        vec![
            stream(vec![frames([1]), Break]),
            stream(vec![Say(half.clone())]),
            stream(vec![Say(half), End]),
            stream(vec![frames([2])]),
        ],
    );
    let told = told(&engine, 0, 60_000).await;
    assert_eq!(told[0], "1");
    assert!(told.iter().any(|news| news.contains("stopped in the middle of an event")), "{told:?}");
    assert!(told.iter().any(|news| news.contains("ended in the middle of an event")), "{told:?}");
    assert_eq!(told[told.len() - 3..], ["2", "replayed 2: 1..2", "ended completed"]);
    assert_eq!(engine.opened(), ["start", "after 1", "after 1", "after 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_deleted_is_gone() {
    let engine = Scripted::standing(
        vec![running(), Standing::Fails(gone())],
        vec![stream(vec![frames([1]), Wait(500), End])],
    );
    assert_eq!(told(&engine, 0, 9_000).await, ["1", "replayed 1: 1..1", "gone"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_goes_between_two_questions_is_gone() {
    let engine = Scripted::new(vec![Opening::Refuse(gone())]);
    assert_eq!(told(&engine, 4, 9_000).await, ["gone"]);
}

#[tokio::test(start_paused = true)]
async fn r003_60_a_session_that_is_asked_for_between_its_stop_and_its_removal_is_gone() {
    let engine = Scripted::standing(
        vec![running(), is("stopped"), Standing::Fails(gone())],
        vec![stream(vec![frames([1]), Wait(500), End])],
    );
    assert_eq!(told(&engine, 0, 9_000).await, ["1", "replayed 1: 1..1", "gone"]);
}
