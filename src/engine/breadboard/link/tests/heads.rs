//! Engines that say how far a session is: what is missing at its end, and a history that grew too old.

use super::*;

fn says_newest(engine: &Scripted, seq: u64) {
    *engine.newest.lock().unwrap() = Some(seq);
}

#[tokio::test(start_paused = true)]
async fn r003_60_what_the_stream_of_an_ended_session_left_out_last_is_asked_for_again() {
    let engine = Scripted::standing(
        vec![is("completed")],
        vec![stream(vec![frames(1..=2)]), stream(vec![]), stream(vec![frames([3])])],
    );
    says_newest(&engine, 3);
    assert_eq!(
        told(&engine, 0, 9_000).await,
        ["1", "2", "replayed 2: 1..2", "3", "replayed 1: 3..3", "ended completed"]
    );
    assert_eq!(engine.opened(), ["start", "after 2", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn r003_60_what_an_ended_session_never_gives_is_lost() {
    let engine = Scripted::standing(vec![is("failed")], vec![stream(vec![frames(1..=2)])]);
    says_newest(&engine, 4);
    assert_eq!(
        told(&engine, 0, 9_000).await,
        [
            "1".to_owned(),
            "2".to_owned(),
            "replayed 2: 1..2".to_owned(),
            format!("gap 3..4: {LEFT_OUT}"),
            "waiting []".to_owned(),
            format!("lost 3..4: {LEFT_OUT}"),
            "ended failed".to_owned()
        ]
    );
    assert_eq!(engine.opened(), ["start", "after 2", "after 2", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn r003_60_an_ended_session_that_says_how_far_it_came_is_not_left_before_that() {
    let stopped = || Standing::Is(json!({ "status": "stopped", "metadata": {}, "headSequence": 3 }));
    let engine =
        Scripted::standing(vec![stopped()], vec![stream(vec![frames(1..=2)]), stream(vec![frames([3])])]);
    assert_eq!(
        told(&engine, 0, 9_000).await,
        ["1", "2", "replayed 2: 1..2", "3", "replayed 1: 3..3", "ended stopped"]
    );
    let engine = Scripted::standing(vec![stopped()], vec![stream(vec![frames(1..=2)])]);
    assert_eq!(
        told(&engine, 0, 9_000).await,
        [
            "1".to_owned(),
            "2".to_owned(),
            "replayed 2: 1..2".to_owned(),
            format!("gap 3..3: {LEFT_OUT}"),
            "waiting []".to_owned(),
            format!("lost 3..3: {LEFT_OUT}"),
            "ended stopped".to_owned()
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn r003_60_a_session_whose_whole_history_grew_too_old_goes_on_with_what_comes() {
    let head = Standing::Is(json!({ "status": "running", "metadata": {}, "headSequence": 9 }));
    let greeting = loose("stream.open", &json!({ "headSequence": 9 }));
    let engine = Scripted::standing(
        vec![head],
        vec![window_exceeded(), window_exceeded(), stream(vec![Say(greeting), Wait(500), frames([10])])],
    );
    assert_eq!(
        told(&engine, 4, 900).await,
        [
            format!("gap 5..9: {EVICTED}"),
            "- stream.open".to_owned(),
            "waiting []".to_owned(),
            format!("lost 5..9: {EVICTED}"),
            "10".to_owned()
        ]
    );
    assert_eq!(engine.opened(), ["after 4", "start", "live"]);
}
