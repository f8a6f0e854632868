//! What a link does when a try fails or the stream breaks.

use super::*;

#[tokio::test(start_paused = true)]
async fn r003_57_r000_54_a_break_is_told_and_the_stream_goes_on_behind_the_last_event() {
    let half = frame(3).split_at(20).0.to_owned();
    let cut = vec![frames(1..=2), Wait(500), Say(half), Break];
    let engine = Scripted::new(vec![stream(cut), stream(vec![frames(3..=4)])]);
    assert_eq!(
        told(&engine, 0, 2_000).await,
        [
            "1".to_owned(),
            "2".to_owned(),
            "replayed 2: 1..2".to_owned(),
            format!("connecting 0: {BROKEN}"),
            "3".to_owned(),
            "4".to_owned(),
            "replayed 2: 3..4".to_owned(),
        ]
    );
    assert_eq!(engine.opened(), ["start", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_runs_nothing_when_its_stream_stands_again_is_said_to() {
    // Given an engine of the newer kind, which says whether a turn runs
    let admits = |word: &str| {
        Standing::Is(
            json!({ "session_id": "s", "status": "running", "metadata": {}, "turn_admission": word }),
        )
    };
    for (word, goes_on, verdict, told_idle) in [
        ("idle", vec![], "complete", true),
        ("idle", vec![frames([2])], "replayed 1: 2..2", true),
        ("active", vec![], "complete", false),
        // One that began after the engine was asked.
        ("idle", vec![Say(typed(2, "turn_start", &json!({})))], "replayed 1: 2..2", false),
    ] {
        let begun = stream(vec![Say(typed(1, "user_message", &json!({ "text": "go" }))), Wait(500), Break]);
        let engine = Scripted::standing(vec![admits("active"), admits(word)], vec![begun, stream(goes_on)]);
        // When its stream breaks in a turn and stands again
        let told = told(&engine, 0, 5_000).await;
        // Then that nothing runs is told behind everything that it kept
        assert!(told.contains(&verdict.to_owned()), "{word}: {told:?}");
        assert_eq!(told.last().unwrap() == "no turn runs", told_idle, "{word}: {told:?}");
        assert_eq!(told.iter().filter(|news| *news == "no turn runs").count(), usize::from(told_idle));
    }
}

#[tokio::test(start_paused = true)]
async fn fault_10_a_stream_that_ends_at_once_is_not_asked_for_without_a_pause() {
    let engine = Scripted::new((0..10_000).map(|_| stream(vec![End])).collect());
    let mut bench = Bench::attached(&engine, 0);
    let told = bench.hear(60_000).await;
    assert_eq!(told[0], format!("connecting 1: {ENDED_BY_ENGINE}"));
    assert_eq!(told[1], format!("connecting 2: {ENDED_BY_ENGINE}"));
    assert!(told.iter().all(|news| news.starts_with("connecting")), "{told:?}");
    let opened = engine.opened().len();
    // Delays are anything up to 8 s, 4 s in the mean.
    assert!((10..=40).contains(&opened), "{opened}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_answers_200_with_nothing_and_is_found_out() {
    let engine = Scripted::standing(vec![running(), Standing::Fails(gone())], vec![stream(vec![End])]);
    assert_eq!(told(&engine, 0, 900).await, ["gone"]);
    assert_eq!(engine.asked(), ["session", "start", "session"]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_asks_us_to_wait_is_left_alone_for_so_long() {
    let busy = || EngineError::Busy { detail: String::new(), wait: Some(Duration::from_secs(40)) };
    let engine =
        Scripted::standing(vec![Standing::Fails(busy()), running()], vec![stream(vec![frames([1])])]);
    let mut bench = Bench::attached(&engine, 0);
    let told = "The engine at http://127.0.0.1:9099 is busy; try again in 40 seconds.";
    assert_eq!(bench.hear(39_900).await, [format!("connecting 1: {told}")]);
    assert_eq!(engine.asked(), ["session"]);
    assert_eq!(bench.hear(500).await, ["1", "replayed 1: 1..1"]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_away_is_tried_again_with_the_reason() {
    let engine = Scripted::standing(
        vec![Standing::Fails(unreachable()), Standing::Fails(unreachable()), running()],
        vec![stream(vec![frames([1])])],
    );
    assert_eq!(
        told(&engine, 0, 3_000).await,
        [
            format!("connecting 1: {BROKEN}"),
            format!("connecting 2: {BROKEN}"),
            "1".to_owned(),
            "replayed 1: 1..1".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_is_a_break_and_then_a_session_that_is_gone() {
    let engine = Scripted::standing(
        vec![running(), Standing::Fails(unreachable()), Standing::Fails(gone())],
        vec![stream(vec![frames([1]), Wait(500), Break])],
    );
    assert_eq!(
        told(&engine, 0, 3_000).await,
        ["1", "replayed 1: 1..1", &format!("connecting 0: {BROKEN}"), "gone"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_news_comes_in_time_from_an_engine_that_says_nothing() {
    for (standings, openings) in
        [(vec![Standing::Never], vec![]), (vec![running()], vec![Opening::Never, Opening::Never])]
    {
        let engine = Scripted::standing(standings, openings);
        let mut bench = Bench::attached(&engine, 0);
        assert_eq!(bench.hear(1_499).await, Vec::<String>::new());
        assert_eq!(bench.hear(500).await, [format!("connecting 0: {}", report_sender::SLOW)]);
        let then = bench.hear(9_000).await;
        assert!(then[0].starts_with("connecting 1: The BreadBoard engine"), "{then:?}");
    }
    assert!(LinkTiming::default().first_news < crate::app::ports::FIRST_NEWS);
}

#[tokio::test(start_paused = true)]
async fn a_slow_loop_slows_the_engine_and_loses_nothing() {
    let engine = Scripted::new(vec![stream((1..=500).map(|seq| frames([seq])).collect())]);
    let mut bench = Bench::with_room(&engine, 1);
    bench.links.attach("s", None);
    let mut told = Vec::new();
    while told.len() < 501 {
        sleep(Duration::from_millis(7)).await;
        told.extend(words(bench.reports.recv().await.unwrap()));
    }
    let mut numbers = told.clone();
    numbers.retain(|word| word.parse::<u64>().is_ok());
    assert_eq!(numbers, heard(1..=500));
    assert_eq!(engine.opened(), ["start"]);
}
