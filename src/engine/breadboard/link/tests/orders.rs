//! What the loop tells a running link, and how many may run.

use super::*;
use crate::app::ports::StreamReport;

#[tokio::test(start_paused = true)]
async fn a_second_attach_only_says_again_how_it_stands() {
    let engine = Scripted::standing(
        vec![running(), Standing::Fails(unreachable())],
        vec![stream(vec![frames(1..=2), Wait(5_000), Break])],
    );
    let mut bench = Bench::attached(&engine, 0);
    bench.links.attach("s", cursor(2));
    assert_eq!(bench.hear(1_000).await, ["1", "2", "replayed 2: 1..2"]);
    bench.links.attach("s", cursor(2));
    assert_eq!(bench.hear(1_000).await, ["complete"]);
    assert_eq!(engine.asked(), ["session", "start"]);
    let broken = bench.hear(3_050).await;
    assert_eq!(broken, [format!("connecting 0: {BROKEN}")]);
    bench.links.attach("s", cursor(2));
    assert_eq!(bench.hear(1).await, [format!("connecting 0: {BROKEN}")]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_is_asked_for_anew_by_the_next_attach() {
    let engine = Scripted::standing(vec![is("completed")], vec![]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(1_000).await, ["complete", "ended completed"]);
    bench.links.attach("s", cursor(4));
    assert_eq!(bench.hear(1_000).await, ["complete", "ended completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_detached_says_nothing_more() {
    let engine = Scripted::new(vec![stream(vec![frames([1]), Wait(1_000), frames([2])])]);
    let mut bench = Bench::attached(&engine, 0);
    assert_eq!(bench.hear(500).await, ["1", "replayed 1: 1..1"]);
    bench.links.detach("s");
    assert_eq!(bench.hear(60_000).await, Vec::<String>::new());
    assert_eq!(bench.links.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_link_waits_when_the_engine_is_back() {
    let mut standings = vec![Standing::Fails(unreachable()); 12];
    standings.push(running());
    let engine = Scripted::standing(standings, vec![]);
    let mut bench = Bench::attached(&engine, 4);
    for _ in 0..12 {
        bench.hear(10).await;
        bench.links.nudge();
    }
    // Twelve pauses of up to 8 s each would be most of a minute.
    assert_eq!(bench.hear(300).await, ["complete"]);
    assert_eq!(bench.engine.asked().len(), 14);
}

#[tokio::test(start_paused = true)]
async fn more_links_than_the_bound_are_refused_in_a_sentence() {
    let engine = Scripted::standing(vec![], vec![]);
    let (sender, mut reports) = mpsc::channel(1_000);
    let links =
        Links::new(Arc::clone(&engine), sender, Handle::current(), Arc::new(|| 0), LinkTiming::default(), 1);
    for number in 0..=MOST_LINKS {
        links.attach(&format!("s{number}"), None);
    }
    assert_eq!(links.count(), MOST_LINKS);
    let Some(EngineReport::Stream(StreamReport::Link { session_id, news })) = reports.recv().await else {
        panic!("no news")
    };
    assert_eq!(session_id, "s64");
    let LinkNews::Connecting { retry: 0, error: Some(error) } = news else { panic!("{news:?}") };
    assert!(error.starts_with("64 sessions are attached already"), "{error}");
}
