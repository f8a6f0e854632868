//! Turns whose end was lost on the way: they end by what the engine says of itself.

use super::*;

/// An engine of the newer kind, which says whether a turn runs and how far the session is.
fn says(admission: &str, head: u64) -> Standing {
    Standing::Is(json!({
        "session_id": "s", "status": "running", "metadata": {}, "turn_admission": admission, "headSequence": head,
    }))
}

/// The same with a turn that waits to run.
fn queues(head: u64) -> Standing {
    let Standing::Is(mut summary) = says("idle", head) else { unreachable!() };
    summary["queued_turn_count"] = json!(1);
    Standing::Is(summary)
}

fn began(seq: u64) -> Step {
    Say(typed(seq, "turn_start", &json!({})))
}

/// The engine kept nothing of what it said.
fn all_gone(head: u64) -> [Opening; 3] {
    let greeting = loose("stream.open", &json!({ "headSequence": head }));
    [window_exceeded(), window_exceeded(), stream(vec![Say(greeting)])]
}

#[tokio::test(start_paused = true)]
async fn r000_54_a_turn_that_is_lost_whole_is_over_when_the_engine_took_it_and_is_idle() {
    for (taken, stands, is_told) in [
        (true, says("idle", 9), true),
        (true, says("active", 9), false),
        (true, queues(9), false),
        (false, says("idle", 9), false),
    ] {
        // Given a stream that stands, and a prompt on its way
        let openings = [stream(vec![Wait(2_000), Break])].into_iter().chain(all_gone(9)).collect();
        let engine = Scripted::standing(vec![says("idle", 4), stands.clone()], openings);
        let mut bench = Bench::attached(&engine, 4);
        bench.hear(1_000).await;
        bench.links.turn_began("s", 3);
        if taken {
            bench.links.turn_taken("s", 3);
        }
        // When the stream breaks and the engine has nothing left of what it said since
        let told = bench.hear(9_000).await;
        // Then the turn is lost where the engine is done with it
        let lost = "turn 3 lost".to_owned();
        assert!(told.contains(&format!("gap 5..9: {EVICTED}")), "{told:?}");
        assert_eq!(told.contains(&lost), is_told, "{taken}: {told:?}");
        // And where it said later that it took it, that is found in the next silence, once
        bench.links.turn_taken("s", 3);
        let told = bench.hear(60_000).await;
        assert_eq!(told.contains(&lost), !taken, "{taken}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r000_54_the_end_of_a_turn_is_missed_where_the_hole_was_asked_for_and_nobody_noticed() {
    // Given a turn that began, and a stream that goes on behind a hole
    let behind = || stream(vec![frames([9])]);
    let openings =
        vec![stream(vec![began(5), Wait(500), frames([9])]), behind(), behind(), behind(), behind()];
    let engine = Scripted::standing(vec![says("idle", 4), says("idle", 9)], openings);
    // When the hole stays one
    let told = told(&engine, 4, 9_000).await;
    // Then the turn is over, although the stream never broke
    assert_eq!(told[..3], ["complete", "no turn runs", "5 turn_start"], "{told:?}");
    assert!(told.contains(&format!("gap 6..8: {LEFT_OUT}")), "{told:?}");
    assert_eq!(told.last().unwrap(), "no turn runs", "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn r003_60_what_the_engine_said_and_the_stream_did_not_is_asked_for_in_a_silence() {
    let begun = || stream(vec![began(5)]);
    let standings = || vec![says("idle", 4), says("idle", 6)];
    let end = Say(typed(6, "run_finished", &json!({})));
    // Given a turn whose end the stream left out: opened again it brings it
    let engine = Scripted::standing(standings(), vec![begun(), stream(vec![end])]);
    assert_eq!(
        told(&engine, 4, 20_000).await,
        ["complete", "no turn runs", "5 turn_start", "6 run_finished", "replayed 1: 6..6"]
    );
    assert_eq!(engine.opened(), ["after 4", "after 5"]);
    // Or never brings it: then it is lost, and the turn is over
    let engine = Scripted::standing(standings(), vec![begun()]);
    let told = told(&engine, 4, 120_000).await;
    assert_eq!(
        told,
        [
            "complete".to_owned(),
            "no turn runs".to_owned(),
            "5 turn_start".to_owned(),
            format!("gap 6..6: {LEFT_OUT}"),
            "waiting []".to_owned(),
            "no turn runs".to_owned(),
        ]
    );
}
