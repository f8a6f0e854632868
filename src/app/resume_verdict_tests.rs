//! The verdict on a session, state by state.

use super::*;
use crate::app::record::RemoteSession;
use crate::protocol::settings::EngineKind;

/// 2026-11-22 19:24:05 UTC.
const HEARD: i64 = 1_795_375_445_000;

fn record(over: Option<SessionEnd>, missing: &[(u64, Option<u64>)]) -> Record {
    let mut record = Record::new("s1".to_owned(), 0, None, EngineKind::Breadboard);
    record.held = Some(RemoteSession { over, missing: missing.to_vec(), ..RemoteSession::default() });
    record
}

fn said(record: &Record, hearing: Hearing<'_>) -> String {
    let Resume { verdict, events, from, to, reason } = resume_verdict(record, hearing, Some(43), 50);
    format!("{verdict:?} events {events:?} from {from:?} to {to:?}: {}", reason.unwrap_or_default())
}

#[test]
fn r003_60_the_verdict_has_a_line_for_every_state_of_the_stream() {
    let lost = |reason: &str| ResumedLink::Lost { from: 7, to: Some(9), reason: reason.to_owned() };
    let states = [
        (
            LinkState::Detached,
            "Lost events None from None to None: The stream of the session is not open; whether anything is missing will be said when it is.",
        ),
        (
            LinkState::Opening,
            "Lost events None from None to None: The stream is being opened; whether anything is missing will be said when it is.",
        ),
        (
            LinkState::Broken(Some("it cannot be reached".to_owned())),
            "Lost events None from None to None: It cannot be reached.",
        ),
        (LinkState::Broken(None), "Lost events None from None to None: The stream is being opened again."),
        (LinkState::Up(ResumedLink::Complete), "Complete events Some(0) from None to None: "),
        (
            LinkState::Up(ResumedLink::Replayed { events: 2, from: 42, to: 43 }),
            "Replayed events Some(2) from Some(42) to Some(43): ",
        ),
        (
            LinkState::Up(ResumedLink::Resynced { from: 42, to: 43 }),
            "Resynced events None from Some(42) to Some(43): ",
        ),
        (LinkState::Up(lost("evicted")), "Lost events None from Some(7) to Some(9): Evicted."),
        // Without an end in the record nobody knows what it was.
        (
            LinkState::Over,
            "Lost events None from None to None: The stream of the session is not open; whether anything is missing will be said when it is.",
        ),
    ];
    for (state, verdict) in states {
        assert_eq!(said(&record(None, &[]), Hearing::Stream(&state)), verdict, "{state:?}");
    }
}

#[test]
fn r003_60_a_session_that_is_gone_is_lost_and_one_that_was_heard_to_its_end_is_complete() {
    for told in [false, true] {
        for state in [LinkState::Detached, LinkState::Over, LinkState::Up(ResumedLink::Complete)] {
            let gone = record(Some(SessionEnd::Gone { heard: HEARD, told }), &[]);
            assert_eq!(
                said(&gone, Hearing::Stream(&state)),
                "Lost events None from Some(44) to None: The engine no longer has this session, so what happened there after \
                 2026-11-22 19:24:05 UTC cannot be known.",
            );
            let ended = record(Some(SessionEnd::Ended { status: "completed".to_owned() }), &[]);
            assert_eq!(said(&ended, Hearing::Stream(&state)), "Complete events None from None to Some(50): ");
        }
    }
}

#[test]
fn r003_60_what_was_lost_before_stays_lost_whatever_came_since() {
    let missing = [(5, Some(6)), (20, None)];
    let still = "Lost events None from Some(5) to None: Events that were missing before have not come since.";
    let ended = || Some(SessionEnd::Ended { status: "completed".to_owned() });
    for over in [None, ended()] {
        let state = LinkState::Up(ResumedLink::Complete);
        assert_eq!(said(&record(over.clone(), &missing), Hearing::Stream(&state)), still);
        assert_eq!(said(&record(over, &missing), Hearing::OtherWindow), still);
    }
    let mut damaged = record(None, &[]);
    damaged.damage = Some("the disk lost events 3 to 9.".to_owned());
    assert_eq!(
        said(&damaged, Hearing::Direct),
        "Lost events None from None to None: Some events are missing: the disk lost events 3 to 9."
    );
}

#[test]
fn r003_60_a_verdict_names_the_first_hole_whatever_was_lost_since() {
    let gone = Some(SessionEnd::Gone { heard: HEARD, told: true });
    let up = |from, to| LinkState::Up(ResumedLink::Lost { from, to, reason: "evicted".to_owned() });
    let before = "Events that were missing before have not come since.";
    for (over, state, missing, verdict) in [
        // A session that is gone was not heard from some place on, and has a hole before it.
        (
            gone,
            LinkState::Over,
            vec![(5, Some(6)), (20, Some(30))],
            format!(
                "Lost events None from Some(5) to None: The engine no longer has this session, so what happened there after \
                 2026-11-22 19:24:05 UTC cannot be known. {before}"
            ),
        ),
        (
            None,
            up(40, Some(41)),
            vec![(5, Some(6)), (40, Some(41))],
            format!("Lost events None from Some(5) to Some(41): Evicted. {before}"),
        ),
        // The engine began to count anew: the last hole is the first.
        (
            None,
            up(2, Some(3)),
            vec![(29, Some(230)), (2, Some(3))],
            "Lost events None from Some(2) to Some(3): Evicted.".to_owned(),
        ),
        (
            None,
            LinkState::Broken(Some("it cannot be reached".to_owned())),
            vec![(5, Some(6))],
            format!("Lost events None from Some(5) to Some(6): It cannot be reached. {before}"),
        ),
    ] {
        assert_eq!(said(&record(over, &missing), Hearing::Stream(&state)), verdict, "{state:?}");
    }
    let mut damaged = record(None, &[]);
    damaged.damage = Some("the disk lost events 3 to 9.".to_owned());
    assert_eq!(
        said(&damaged, Hearing::Stream(&up(7, Some(9)))),
        "Lost events None from Some(7) to Some(9): Evicted. Some events are missing: the disk lost events 3 to 9."
    );
}

#[test]
fn r003_60_only_an_engine_that_is_in_use_can_be_known_to_be_heard() {
    let held = record(None, &[]);
    assert_eq!(said(&held, Hearing::Direct), "Complete events None from None to Some(50): ");
    assert_eq!(said(&held, Hearing::OtherWindow), "Complete events None from None to Some(50): ");
    assert_eq!(
        said(&held, Hearing::Nobody),
        "Lost events None from None to None: The session belongs to another engine than the one in use, so whether it went on \
         there is not known.",
    );
}
