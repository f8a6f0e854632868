//! Streams that say nothing, for a good reason or a bad one.

use super::*;

fn begun(seq: u64) -> Step {
    Say(typed(seq, "turn_start", &json!({})))
}

#[tokio::test(start_paused = true)]
async fn silence_is_normal_and_the_session_is_asked_for_after_fifteen_seconds() {
    let engine = Scripted::new(vec![]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(14_900).await, ["complete"]);
    assert_eq!(engine.asked(), ["session", "after 4"]);
    assert_eq!(bench.hear(200).await, Vec::<String>::new());
    assert_eq!(engine.asked(), ["session"]);
}

#[tokio::test(start_paused = true)]
async fn a_half_open_stream_of_a_running_turn_is_opened_again_unnoticed() {
    let engine = Scripted::new(vec![stream(vec![begun(1)]), stream(vec![]), stream(vec![frames(2..=3)])]);
    let mut bench = Bench::attached(&engine, 0);
    assert_eq!(bench.hear(1_000).await, ["1 turn_start", "replayed 1: 1..1"]);
    assert_eq!(bench.hear(31_000).await, Vec::<String>::new());
    assert_eq!(engine.opened(), ["start", "after 1"]);
    assert_eq!(bench.hear(31_000).await, ["2", "3", "replayed 2: 2..3"]);
    assert_eq!(engine.opened(), ["after 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_is_opened_again_less_and_less() {
    let engine = Scripted::new(vec![]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(1_100_000).await, ["complete"]);
    // After 60, 120, 240, 300 and 300 s of silence.
    assert_eq!(engine.opened().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_begins_is_watched_closely() {
    let engine = Scripted::new(vec![]);
    let mut bench = Bench::attached(&engine, 4);
    bench.hear(1_000).await;
    bench.links.turn_began("s", 1);
    bench.hear(41_000).await;
    assert_eq!(engine.opened(), ["after 4", "after 4"]);
}

#[tokio::test(start_paused = true)]
async fn events_after_the_verdict_are_not_told_as_replayed_when_the_stream_is_opened_again() {
    let engine = Scripted::new(vec![stream(vec![begun(1), Wait(500), frames(2..=3)])]);
    let mut bench = Bench::attached(&engine, 0);
    assert_eq!(bench.hear(90_000).await, ["1 turn_start", "replayed 1: 1..1", "2", "3"]);
    assert_eq!(engine.opened()[..2], ["start", "after 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_of_an_engine_that_died_is_broken() {
    let engine = Scripted::standing(vec![running(), Standing::Fails(unreachable())], vec![]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(15_200).await[..2], ["complete".to_owned(), format!("connecting 0: {BROKEN}")]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_of_a_session_that_ended_is_over() {
    let engine = Scripted::standing(vec![running(), is("completed")], vec![]);
    assert_eq!(told(&engine, 4, 16_000).await, ["complete", "ended completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_of_a_session_that_went_is_gone() {
    let engine = Scripted::standing(vec![running(), Standing::Fails(gone())], vec![]);
    assert_eq!(told(&engine, 4, 16_000).await.last().unwrap(), "gone");
}

#[tokio::test(start_paused = true)]
async fn after_a_sleep_of_the_machine_the_stream_is_opened_again_at_once() {
    let engine = Scripted::new(vec![]);
    let mut bench = Bench::attached(&engine, 4);
    bench.hear(1_000).await;
    bench.moved.store(3_600_000, Ordering::Relaxed);
    assert_eq!(bench.hear(10_000).await, Vec::<String>::new());
    assert_eq!(engine.asked(), ["session", "after 4", "session", "after 4"]);
}

#[tokio::test(start_paused = true)]
async fn the_greeting_of_a_stream_that_is_opened_again_unnoticed_is_not_passed_on() {
    let greeted = || stream(vec![Say(loose("stream.open", &json!({ "headSequence": 4 })))]);
    let engine = Scripted::new((0..4).map(|_| greeted()).collect());
    assert_eq!(told(&engine, 4, 200_000).await, ["- stream.open", "complete"]);
    assert_eq!(engine.opened().len(), 3);
}
