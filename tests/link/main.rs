//! Links to a simulated engine, over its own wire: what breaks, and that nothing is lost or said twice.

mod desk;

use breadboard_ls::testing::app::ports::{LinkNews, ResumedLink};
use breadboard_ls::testing::simulate::breadboard::{Faults, SimulatorOptions};
use desk::Desk;

fn plain() -> SimulatorOptions {
    SimulatorOptions::default()
}

fn pr40() -> SimulatorOptions {
    SimulatorOptions { pr40: true, ..plain() }
}

fn settled(heard: &desk::Heard) -> bool {
    heard.news.iter().any(|news| matches!(news, LinkNews::Resumed(_)))
}

fn over(heard: &desk::Heard) -> bool {
    heard.news.iter().any(|news| matches!(news, LinkNews::Ended { .. } | LinkNews::Gone { .. }))
}

/// The numbers that were said and those that were told as missing are the log: each once, in order.
fn assert_whole(heard: &desk::Heard, from: u64) {
    assert!(heard.numbers.is_sorted_by(|a, b| a < b), "{heard:?}");
    let mut all = heard.numbers.clone();
    // A gap without an end is followed by the one that has it.
    for (from, to) in heard.gaps.iter().filter_map(|(from, to)| Some((*from, (*to)?))) {
        all.extend(from..=to);
    }
    all.sort_unstable();
    assert_eq!(all, (from..=heard.last()).collect::<Vec<_>>(), "{heard:?}");
}

#[tokio::test]
async fn fault_5_what_was_said_before_the_first_attach_comes() {
    for options in [plain(), pr40()] {
        let mut desk = Desk::new(options).await;
        let head = desk.say(20);
        desk.attach(0);
        desk.until(settled).await;
        assert_eq!(desk.heard.numbers, (1..=head).collect::<Vec<_>>());
        assert_eq!(desk.heard.verdicts(), [ResumedLink::Replayed { events: head, from: 1, to: head }]);
    }
}

#[tokio::test]
async fn r000_54_r000_76_r003_57_a_cut_in_a_frame_is_resumed_by_last_event_id() {
    let mut desk = Desk::new(plain()).await;
    let first = desk.say(5);
    desk.attach(0);
    desk.until(settled).await;
    desk.simulator.cut_streams();
    desk.until(|heard| heard.news.len() == 2).await;
    let head = desk.say(5);
    desk.until(|heard| heard.last() == head && heard.verdicts().len() == 2).await;
    assert!(
        matches!(&desk.heard.news[1], LinkNews::Connecting { retry: 0, error: Some(_) }),
        "{:?}",
        desk.heard
    );
    assert_eq!(desk.heard.numbers, (1..=head).collect::<Vec<_>>());
    assert_eq!(desk.heard.gaps, []);
    assert_eq!(desk.streams("last-event-id"), [None, Some(first.to_string())]);
}

#[tokio::test]
async fn fault_3_r000_55_r000_77_r003_58_r003_66_a_gap_is_told_and_never_again() {
    let mut desk = Desk::new(plain()).await;
    let head = desk.say(20);
    desk.simulator.evict(&desk.session, 9);
    desk.attach(2);
    desk.until(settled).await;
    assert_eq!(desk.heard.gaps, [(3, Some(9))]);
    assert_eq!(desk.heard.numbers, (10..=head).collect::<Vec<_>>());
    assert!(
        matches!(desk.heard.verdicts()[..], [ResumedLink::Lost { from: 3, to: Some(9), .. }]),
        "{:?}",
        desk.heard
    );
    desk.detach();
    desk.attach(head);
    desk.until(settled).await;
    assert_eq!(desk.heard.verdicts(), [ResumedLink::Complete]);
    assert_eq!(desk.heard.gaps, []);
}

#[tokio::test]
async fn fault_4_the_place_before_the_oldest_event_is_no_gap() {
    let mut desk = Desk::new(plain()).await;
    let head = desk.say(20);
    desk.simulator.evict(&desk.session, 9);
    desk.attach(9);
    desk.until(settled).await;
    assert_eq!(desk.heard.verdicts(), [ResumedLink::Resynced { from: 10, to: head }]);
    assert_eq!(desk.heard.gaps, []);
}

#[tokio::test]
async fn a_newer_engine_that_refuses_a_history_in_part_is_resumed_all_the_same() {
    for (seq, events) in [(0, 20), (2, 20), (9, 20)] {
        let mut desk = Desk::new(pr40()).await;
        let head = desk.say(events);
        desk.simulator.evict(&desk.session, 9);
        desk.attach(seq);
        desk.until(settled).await;
        assert_eq!(desk.heard.last(), head);
        assert_whole(&desk.heard, seq + 1);
        let more = desk.say(2);
        desk.until(|heard| heard.last() == more).await;
        assert_whole(&desk.heard, seq + 1);
    }
}

#[tokio::test]
async fn a_restart_of_the_engine_is_a_session_that_is_gone() {
    let mut desk = Desk::new(plain()).await;
    desk.say(5);
    desk.attach(0);
    desk.until(settled).await;
    desk.simulator.restart();
    desk.until(over).await;
    assert!(matches!(desk.heard.news.last(), Some(LinkNews::Gone { .. })), "{:?}", desk.heard);

    // Nothing is told of a session that never was.
    desk.attach(0);
    desk.until(over).await;
    assert!(matches!(desk.heard.news[..], [LinkNews::Gone { .. }]), "{:?}", desk.heard);
}

#[tokio::test]
async fn fault_10_an_ended_session_whose_stream_hangs_is_over() {
    let mut desk = Desk::new(plain()).await;
    desk.say(5);
    desk.attach(0);
    desk.until(settled).await;
    let head = desk.say(3);
    desk.simulator.end_session(&desk.session, "completed");
    desk.until(over).await;
    assert_eq!(desk.heard.numbers, (1..=desk.heard.last()).collect::<Vec<_>>());
    assert!(desk.heard.last() >= head);

    let last = desk.heard.last();
    desk.attach(0);
    desk.until(over).await;
    assert_eq!(
        desk.heard.news,
        [
            LinkNews::Resumed(ResumedLink::Replayed { events: last, from: 1, to: last }),
            LinkNews::Ended {
                status: "completed".to_owned(),
                configuration: Some("agent_configs/x.yaml".to_owned())
            },
        ]
    );
}

#[tokio::test]
async fn a_stream_that_the_engine_ends_goes_on() {
    for options in [plain(), pr40()] {
        let mut desk = Desk::new(options).await;
        desk.say(5);
        desk.attach(0);
        desk.until(settled).await;
        desk.simulator.overflow(&desk.session);
        let head = desk.say(5);
        desk.until(|heard| heard.last() == head).await;
        assert_eq!(desk.heard.numbers, (1..=head).collect::<Vec<_>>());
        assert_eq!(desk.heard.gaps, []);
    }
}

#[tokio::test]
async fn a_half_open_stream_is_opened_again_unnoticed() {
    // The first event of a connection stalls for longer than the test has patience; only the first one does.
    let faults = Faults { stall: 1.0, stall_ms: 3_600_000, budget: 1, ..Faults::default() };
    let mut desk = Desk::new(SimulatorOptions { faults, ..plain() }).await;
    desk.attach(0);
    desk.until(settled).await;
    let head = desk.say(5);
    desk.until(|heard| heard.last() == head).await;
    assert_eq!(desk.heard.numbers, (1..=head).collect::<Vec<_>>());
    assert_eq!(desk.simulator.faults_met().get("stall"), Some(&1));
    let connecting = |news: &LinkNews| matches!(news, LinkNews::Connecting { .. });
    assert!(!desk.heard.news.iter().any(connecting), "{:?}", desk.heard);
}

#[tokio::test]
async fn r000_50_r003_05_what_the_wire_drops_doubles_swaps_and_cuts_is_put_right() {
    let mut met = std::collections::BTreeSet::new();
    for seed in 0..12 {
        let faults = Faults {
            drop: 0.03,
            dup: 0.05,
            reorder: 0.05,
            cut: 0.03,
            split: 0.05,
            garbage: 0.05,
            budget: 25,
            ..Faults::default()
        };
        let mut desk = Desk::new(SimulatorOptions { faults, seed, pr40: seed % 3 == 2, ..plain() }).await;
        desk.say(60);
        desk.attach(0);
        desk.until(|heard| heard.last() > 30).await;
        let head = desk.say(60);
        desk.until(|heard| heard.last() == head).await;
        assert_eq!(desk.heard.gaps, [], "seed {seed}");
        assert_eq!(desk.heard.numbers, (1..=head).collect::<Vec<_>>(), "seed {seed}");
        // What was said, in the order in which it was said, whatever came with which number.
        let texts: Vec<&str> = desk.heard.said.iter().map(|(_, text)| text.as_str()).collect();
        let expected: Vec<String> = (0..60).chain(0..60).map(|n: usize| n.to_string()).collect();
        assert_eq!(texts[texts.len() - expected.len()..], expected, "seed {seed}");
        met.extend(desk.simulator.faults_met().into_keys());
    }
    assert_eq!(Vec::from_iter(met), ["cut", "drop", "dup", "garbage", "reorder", "split"]);
}

#[tokio::test]
async fn r000_55_what_the_engine_forgets_is_told_to_the_number() {
    let mut gaps = 0;
    for seed in 0..12 {
        let faults = Faults { gone409: 0.04, drop: 0.03, cut: 0.03, budget: 12, ..Faults::default() };
        let mut desk = Desk::new(SimulatorOptions { faults, seed, pr40: seed % 3 == 2, ..plain() }).await;
        desk.say(60);
        desk.attach(0);
        desk.until(|heard| heard.last() > 30).await;
        let mut head = desk.say(60);
        let mut told = 0;
        loop {
            // An engine that forgot its last event says nothing of it before the next one.
            let unknown = |heard: &desk::Heard| {
                heard.gaps.get(told..).is_some_and(|new| new.iter().any(|gap| gap.0 > heard.last()))
            };
            desk.until(|heard| heard.last() == head || unknown(heard)).await;
            if desk.heard.last() == head {
                break;
            }
            told = desk.heard.gaps.len();
            head = desk.say(1);
        }
        assert_whole(&desk.heard, 1);
        gaps += desk.heard.gaps.len();
    }
    assert!(gaps > 0);
}
