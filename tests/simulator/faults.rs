//! What goes wrong on streams on purpose.

use breadboard_ls::testing::simulate::breadboard::{Faults, Script, SimulatorOptions};
use serde_json::json;

use crate::desk::{Desk, Frame, Next, Stream, numbers};

const EVENTS: u64 = 60;

fn desk(faults: &str, seed: u64) -> Desk {
    let steps = json!([{"repeat": EVENTS, "steps": [{"type": "warning", "payload": {"message": "m"}}]}]);
    let script = json!([{"bare": true, "steps": steps}]);
    Desk::new(SimulatorOptions {
        script: Some(Script::parse(&script.to_string()).unwrap()),
        faults: Faults::parse(faults).unwrap(),
        seed,
        todo_store: false,
        ..SimulatorOptions::default()
    })
}

/// A session whose run is over: one event of its start and sixty warnings.
async fn done(desk: &Desk) -> String {
    let id = desk.create(&json!({"task": "go"})).await;
    desk.logged(&id, "warning", EVENTS as usize).await;
    id
}

async fn seen(desk: &Desk) -> (Vec<Frame>, Next) {
    let id = done(desk).await;
    desk.stream(&id, "?replay=true").await.rest().await
}

#[tokio::test]
async fn dropped_events_are_holes_on_the_wire_and_stay_in_the_log() {
    let desk = desk("drop=0.5", 1);
    let id = done(&desk).await;
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    let met = desk.simulator.faults_met()["drop"];
    // The budget of a session.
    assert_eq!((met, numbers(&frames).len() as u64), (20, EVENTS + 1 - 20));
    // It is spent: another stream of the same session is whole.
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!(numbers(&frames), (1..=EVENTS + 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_same_seed_meets_the_same_faults() {
    let list = "drop=0.05,dup=0.05,reorder=0.05,garbage=0.05,split=0.05";
    let told =
        |frames: Vec<Frame>| -> Vec<Option<String>> { frames.into_iter().map(|frame| frame.id).collect() };
    let mut all = Vec::new();
    for seed in [7, 7, 8] {
        let desk = desk(list, seed);
        let (frames, _) = seen(&desk).await;
        all.push((told(frames), desk.simulator.faults_met()));
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
}

#[tokio::test]
async fn doubled_and_swapped_events_are_all_there() {
    let (frames, _) = seen(&desk("dup=0.2,budget=5", 2)).await;
    assert_eq!(frames.len() as u64, EVENTS + 1 + 5);
    let mut all = numbers(&frames);
    all.dedup();
    assert_eq!(all, (1..=EVENTS + 1).collect::<Vec<_>>());

    let (frames, _) = seen(&desk("reorder=0.2,budget=5", 2)).await;
    let mut all = numbers(&frames);
    assert_eq!(all.windows(2).filter(|pair| pair[0] > pair[1]).count(), 5);
    all.sort_unstable();
    assert_eq!(all, (1..=EVENTS + 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_event_held_back_with_nothing_after_it_comes_all_the_same() {
    let (frames, _) = seen(&desk("reorder=1,budget=1000", 2)).await;
    assert_eq!(frames.len() as u64, EVENTS + 1);
}

#[tokio::test]
async fn a_frame_in_pieces_is_the_same_frame() {
    let desk = desk("split=1,budget=3", 3);
    let id = done(&desk).await;
    let mut stream: Stream = desk.stream(&id, "?replay=true").await;
    let (frames, _) = stream.rest().await;
    assert_eq!(numbers(&frames), (1..=EVENTS + 1).collect::<Vec<_>>());
    let (whole, _) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!(frames, whole);
    assert!(stream.chunks.len() as u64 > 2 * (EVENTS + 1), "{} chunks", stream.chunks.len());
}

#[tokio::test]
async fn a_cut_breaks_the_connection_and_nothing_is_lost() {
    let desk = desk("cut=0.2,budget=6", 4);
    let id = done(&desk).await;
    let mut got = Vec::new();
    let mut breaks = 0;
    loop {
        let query = got.last().map_or("?replay=true".to_owned(), |last| format!("?from_id={last}"));
        let (frames, end) = desk.stream(&id, &query).await.rest().await;
        got.extend(numbers(&frames));
        if end == Next::Silence {
            break;
        }
        assert_eq!(end, Next::Broken);
        breaks += 1;
    }
    assert_eq!((breaks, got), (6, (1..=EVENTS + 1).collect()));
}

#[tokio::test]
async fn garbage_and_oversized_frames_have_no_number() {
    let desk = desk("garbage=0.2,oversize=0.2,oversize_mib=1", 5);
    let (frames, _) = seen(&desk).await;
    assert_eq!(numbers(&frames), (1..=EVENTS + 1).collect::<Vec<_>>());
    assert!(frames.len() as u64 > EVENTS + 1);
    let large = frames.iter().filter(|frame| frame.data.len() > 1024 * 1024).count() as u64;
    let met = desk.simulator.faults_met();
    assert!(met["garbage"] > 0 && large > 0, "{met:?}");
    assert_eq!(large, met["oversize"]);
}

#[tokio::test]
async fn history_that_goes_behind_the_client_is_a_409() {
    let desk = desk("gone409=0.1,budget=1", 9);
    let id = done(&desk).await;
    let (frames, end) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!(end, Next::Broken);
    let last = frames.last().and_then(Frame::seq).unwrap();
    assert_eq!(desk.get(&format!("/v1/sessions/{id}/events?from_id={last}")).await.status, 409);
    let (rest, end) = desk.stream(&id, "?replay=true").await.rest().await;
    let first = numbers(&rest)[0];
    assert!(end == Next::Silence && (first == last + 1 || first == last + 2), "{last} then {first}");
}

#[tokio::test]
async fn a_restart_forgets_the_session_and_happens_three_times_at_most() {
    let desk = desk("restart=0.2", 7);
    for _ in 0..3 {
        let id = done(&desk).await;
        assert_eq!(desk.stream(&id, "?replay=true").await.rest().await.1, Next::Broken);
        assert_eq!(desk.get(&format!("/v1/sessions/{id}")).await.status, 404);
    }
    let (frames, end) = seen(&desk).await;
    assert_eq!((frames.len() as u64, end), (EVENTS + 1, Next::Silence));
}

#[tokio::test]
async fn a_stall_is_a_pause() {
    let desk = desk("stall=1,budget=1,stall_ms=60", 8);
    let id = done(&desk).await;
    let before = std::time::Instant::now();
    assert_eq!(desk.stream(&id, "?replay=true").await.frame_now().await.seq(), Some(1));
    assert!(before.elapsed().as_millis() >= 60);
}
