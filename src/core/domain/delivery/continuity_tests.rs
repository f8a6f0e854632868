//! Numbers in and out of order, and that what is taken and what is told as lost are the whole log.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn steps(continuity: &mut Continuity, seqs: &[u64]) -> Vec<Step> {
    seqs.iter().map(|seq| continuity.take(Some(*seq), HOLE_TRIES)).collect()
}

#[test]
fn r000_50_events_in_order_are_taken_and_doubles_are_not() {
    let mut continuity = Continuity::after(Some(4));
    let got = steps(&mut continuity, &[4, 5, 5, 6, 1]);
    assert_eq!(got, [Step::Duplicate, Step::Next, Step::Duplicate, Step::Next, Step::Duplicate]);
    assert_eq!(continuity.last(), 6);
}

#[test]
fn fault_4_an_event_without_a_number_moves_nothing() {
    let mut continuity = Continuity::after(Some(4));
    assert_eq!(continuity.take(None, HOLE_TRIES), Step::Unnumbered);
    assert_eq!(continuity.take(Some(0), HOLE_TRIES), Step::Unnumbered);
    assert_eq!(continuity, Continuity::after(Some(4)));
}

#[test]
fn a_hole_is_asked_for_three_times_and_then_lost() {
    let mut continuity = Continuity::after(Some(4));
    let hole = Step::Hole { from: 5, to: 6 };
    assert_eq!(
        steps(&mut continuity, &[7, 7, 7, 7, 8]),
        [hole, hole, hole, Step::Lost { from: 5, to: 6 }, Step::Next]
    );
}

#[test]
fn progress_makes_patient_again() {
    let mut continuity = Continuity::after(Some(4));
    let got = steps(&mut continuity, &[7, 7, 7, 5, 7]);
    assert_eq!(got[3..], [Step::Next, Step::Hole { from: 6, to: 6 }]);
}

#[test]
fn a_history_that_begins_late_twice_begins_there() {
    let mut continuity = Continuity::after(None);
    assert_eq!(continuity.take(Some(2006), HISTORY_TRIES), Step::Hole { from: 1, to: 2005 });
    assert_eq!(continuity.take(Some(2006), HISTORY_TRIES), Step::Lost { from: 1, to: 2005 });
}

#[test]
fn the_largest_number_overflows_nothing() {
    let mut continuity = Continuity::after(Some(u64::MAX));
    assert_eq!(continuity.take(Some(u64::MAX), HOLE_TRIES), Step::Duplicate);
    assert_eq!(Continuity::after(None).take(Some(u64::MAX), 0), Step::Lost { from: 1, to: u64::MAX - 1 });
}

#[test]
fn verdicts_name_what_came() {
    let mut books = Resumption::default();
    assert_eq!(books.verdict(), ResumedLink::Complete);
    books.took(5);
    books.took(6);
    assert_eq!(books.verdict(), ResumedLink::Replayed { events: 2, from: 5, to: 6 });
    books.place_was_unknown();
    assert_eq!(books.verdict(), ResumedLink::Resynced { from: 5, to: 6 });
    books.lost(7, Some(9), "r");
    assert_eq!(books.verdict(), ResumedLink::Lost { from: 7, to: Some(9), reason: "r".to_owned() });
    books.lost(10, Some(10), "r");
    assert_eq!(books.verdict(), ResumedLink::Lost { from: 7, to: Some(10), reason: "r".to_owned() });
    books.lost(12, None, "r");
    assert_eq!(
        books.verdict(),
        ResumedLink::Lost { from: 7, to: Some(10), reason: "r; more is missing behind them".to_owned() }
    );
}

/// What the wire does to a connection.
#[derive(Debug, Clone)]
enum Wire {
    /// Gives the next event of the log.
    Give,
    /// Gives an event without a number.
    Unnumbered,
    /// Leaves the next one out.
    Drop,
    /// Gives the last one again.
    Double,
    /// Gives the one after the next before the next.
    Swap,
    /// Ends the connection.
    Cut,
}

fn wire() -> impl Strategy<Value = Wire> {
    prop_oneof![
        6 => Just(Wire::Give),
        1 => Just(Wire::Unnumbered),
        2 => Just(Wire::Drop),
        1 => Just(Wire::Double),
        1 => Just(Wire::Swap),
        1 => Just(Wire::Cut),
    ]
}

proptest! {
    /// Any wire over a gapless log from `start + 1`: what is taken is the log in order, without doubles, and every number
    /// up to the last one taken that was not taken is in a loss that was told, and in no other.
    #[test]
    fn r000_50_what_is_taken_and_what_is_told_as_lost_are_the_log(
        start in 0_u64..5,
        patience in 0_u32..4,
        doings in vec(wire(), 0..200),
    ) {
        let mut continuity = Continuity::after(Some(start));
        let mut books = Resumption::default();
        let mut at = start;
        let mut taken = Vec::new();
        let mut lost = Vec::new();
        for doing in doings {
            let given: Vec<Option<u64>> = match doing {
                Wire::Give => { at += 1; vec![Some(at)] }
                Wire::Unnumbered => vec![None],
                Wire::Drop => { at += 1; vec![] }
                Wire::Double => vec![(at > 0).then_some(at)],
                Wire::Swap => { at += 2; vec![Some(at), Some(at - 1)] }
                Wire::Cut => { at = continuity.last(); vec![] }
            };
            for seq in given {
                match (continuity.take(seq, patience), seq) {
                    (Step::Next, Some(seq)) => { taken.push(seq); books.took(seq); }
                    (Step::Lost { from, to }, Some(seq)) => {
                        prop_assert!(from <= to);
                        lost.extend(from..=to);
                        books.lost(from, Some(to), "r");
                        taken.push(seq);
                        books.took(seq);
                    }
                    (Step::Hole { from, to }, Some(seq)) => {
                        prop_assert_eq!((from, to), (continuity.last() + 1, seq - 1));
                        at = continuity.last();
                        break;
                    }
                    (Step::Duplicate, Some(seq)) => prop_assert!(seq <= continuity.last()),
                    (Step::Unnumbered, None) => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
        prop_assert!(taken.is_sorted_by(|a, b| a < b), "{taken:?}");
        let mut all = taken.clone();
        all.extend(&lost);
        all.sort_unstable();
        prop_assert_eq!(all, (start + 1..=continuity.last()).collect::<Vec<_>>());
        match books.verdict() {
            ResumedLink::Complete => prop_assert!(taken.is_empty() && lost.is_empty()),
            ResumedLink::Replayed { events, from, to } => {
                prop_assert_eq!(taken, (from..=to).collect::<Vec<_>>());
                prop_assert_eq!(events, to - from + 1);
            }
            ResumedLink::Lost { from, to, reason } => {
                let told: Vec<u64> = (from..=to.unwrap()).collect();
                prop_assert!(lost.starts_with(&told));
                prop_assert_eq!(reason.ends_with("; more is missing behind them"), lost.len() > told.len());
            }
            ResumedLink::Resynced { .. } => prop_assert!(false),
        }
    }
}
