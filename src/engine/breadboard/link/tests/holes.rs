//! Numbers that are missing, doubled or too large in a stream that stands.

use super::*;

#[tokio::test(start_paused = true)]
async fn r000_50_doubles_and_swaps_are_put_right_unnoticed() {
    let engine = Scripted::new(vec![
        stream(vec![frames([1, 1, 2]), Wait(500), frames([4, 3])]),
        stream(vec![frames([3, 4]), Wait(500), frames([5])]),
    ]);
    assert_eq!(
        told(&engine, 0, 2_000).await,
        ["1", "2", "replayed 2: 1..2", "3", "4", "replayed 2: 3..4", "5"]
    );
    assert_eq!(engine.opened(), ["start", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_hole_in_the_backlog_is_filled_before_the_verdict() {
    let engine = Scripted::new(vec![stream(vec![frames([1, 2, 5])]), stream(vec![frames(3..=5)])]);
    assert_eq!(told(&engine, 0, 900).await, ["1", "2", "3", "4", "5", "replayed 5: 1..5"]);
}

#[tokio::test(start_paused = true)]
async fn r000_55_a_hole_that_stays_is_told_after_three_more_tries() {
    let again = || stream(vec![frames([5])]);
    let engine = Scripted::new(vec![stream(vec![frames([1, 2, 5])]), again(), again(), again()]);
    let mut bench = Bench::attached(&engine, 0);
    assert_eq!(
        bench.hear(9_000).await,
        ["1", "2", &format!("gap 3..4: {LEFT_OUT}"), "5", "waiting []", &format!("lost 3..4: {LEFT_OUT}"),]
    );
    assert_eq!(engine.opened(), ["start", "after 2", "after 2", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_too_large_is_a_gap_of_its_number() {
    let large = "x".repeat(source::LARGEST_EVENT + 1);
    let engine = Scripted::new(vec![
        stream(vec![frames([1]), Say(format!("id: 2\ndata: {large}\n\n")), frames([3]), Wait(500), Break]),
        stream(vec![frames([4])]),
    ]);
    let too_large = "the event is larger than the 32 MiB that are taken of one";
    assert_eq!(
        told(&engine, 0, 2_000).await,
        [
            "1".to_owned(),
            format!("gap 2..2: {too_large}"),
            "3".to_owned(),
            "waiting []".to_owned(),
            format!("lost 2..2: {too_large}"),
            format!("connecting 0: {BROKEN}"),
            "4".to_owned(),
            "replayed 1: 4..4".to_owned(),
        ]
    );
    assert_eq!(engine.opened(), ["start", "after 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_gap_that_a_newer_engine_tells_of_is_passed_on_and_healed() {
    let gap = |cursor: Value| loose("stream.gap", &json!({ "last_safely_delivered_cursor": cursor }));
    let engine = Scripted::new(vec![
        stream(vec![frames(1..=4), Wait(500), Say(gap(json!("3"))), End]),
        stream(vec![frames([4, 5]), Wait(500), Say(gap(json!("9"))), End]),
        stream(vec![frames([6])]),
    ]);
    assert_eq!(
        told(&engine, 0, 3_000).await,
        [
            "1",
            "2",
            "3",
            "4",
            "replayed 4: 1..4",
            "- stream.gap",
            "5",
            "replayed 1: 5..5",
            "- stream.gap",
            "6",
            "replayed 1: 6..6",
        ]
    );
    assert_eq!(engine.opened(), ["start", "after 3", "after 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_number_that_no_journal_can_keep_is_no_number_and_no_place() {
    for seq in [1 << 63, u64::MAX] {
        let large = "x".repeat(source::LARGEST_EVENT + 1);
        let engine = Scripted::new(vec![stream(vec![
            frames([1]),
            Say(frame(seq).replacen(&format!("id: {seq}\n"), "", 1)),
            Say(format!("id: {seq}\ndata: {large}\n\n")),
            Say(format!("id: {seq}\ndata: no JSON\n\n")),
            frames([2]),
        ])]);
        let mut told = told(&engine, 0, 2_000).await;
        told.retain(|told| told != "replayed 2: 1..2");
        assert_eq!(told, ["1", "- e", "- unknown", "2"], "{seq}");
    }
}
