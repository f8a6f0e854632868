//! What the history of a session is worth: whether anything that its engine said may be missing here.
//!
//! Owns the verdict that `bb/selectSession` answers with. Never asks anybody: it is made of the session's record and of how
//! its stream stands. What cannot be known is `lost`.

use super::live::LinkState;
use super::ports::ResumedLink;
use super::record::{Record, SessionEnd};
use crate::domain::sentence::sentence;
use crate::protocol::request::{Resume, ResumeVerdict};

/// Who hears what the engine says in a session.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hearing<'a> {
    /// Whatever is said is said to this server: no one else works on the session.
    Direct,
    /// Another window of the user, which writes it into the journal.
    OtherWindow,
    /// The stream of its engine.
    Stream(&'a LinkState),
    /// Nobody: its engine is not the one that is in use.
    Nobody,
}

/// The verdict on the history of a session that ends at `head`; `cursor` is the engine's number of the last event that came.
pub(super) fn resume_verdict(
    record: &Record,
    hearing: Hearing<'_>,
    cursor: Option<u64>,
    head: u64,
) -> Resume {
    let now = match &record.held {
        Some(held) => match &held.over {
            Some(end @ SessionEnd::Gone { .. }) => Resume {
                from: Some(cursor.map_or(1, |seq| seq.saturating_add(1))),
                ..lost(&end.unheard().unwrap_or_default())
            },
            Some(SessionEnd::Ended { .. }) => complete(head),
            None => of_hearing(hearing, head),
        },
        None => of_hearing(hearing, head),
    };
    if now.verdict == ResumeVerdict::Lost {
        return now;
    }
    if let Some(reason) = &record.damage {
        return lost(&format!("some events are missing: {reason}"));
    }
    let missing = record.held.as_ref().map(|held| held.missing.as_slice()).unwrap_or_default();
    match (missing.first(), missing.last()) {
        (Some((from, _)), Some((_, to))) => Resume {
            from: Some(*from),
            to: *to,
            ..lost("events that were missing before have not come since")
        },
        (_, _) => now,
    }
}

fn of_hearing(hearing: Hearing<'_>, head: u64) -> Resume {
    match hearing {
        Hearing::Direct | Hearing::OtherWindow => complete(head),
        Hearing::Stream(LinkState::Up(resumed)) => resumed_link(resumed),
        // An end would stand in the record.
        Hearing::Stream(LinkState::Detached | LinkState::Over) => {
            lost("the stream of the session is not open; whether anything is missing will be said when it is")
        }
        Hearing::Stream(LinkState::Opening) => {
            lost("the stream is being opened; whether anything is missing will be said when it is")
        }
        Hearing::Stream(LinkState::Broken(error)) => {
            lost(error.as_deref().unwrap_or("the stream is being opened again"))
        }
        Hearing::Nobody => lost(
            "the session belongs to another engine than the one in use, so whether it went on there is not known",
        ),
    }
}

/// A resume in the words of the wire. Its numbers are the engine's.
pub(super) fn resumed_link(resumed: &ResumedLink) -> Resume {
    let (verdict, events, from, to, reason) = match resumed {
        ResumedLink::Complete => (ResumeVerdict::Complete, Some(0), None, None, None),
        ResumedLink::Replayed { events, from, to } => {
            (ResumeVerdict::Replayed, Some(*events), Some(*from), Some(*to), None)
        }
        ResumedLink::Resynced { from, to } => (ResumeVerdict::Resynced, None, Some(*from), Some(*to), None),
        ResumedLink::Lost { from, to, reason } => {
            (ResumeVerdict::Lost, None, Some(*from), *to, Some(sentence(reason)))
        }
    };
    Resume { verdict, events, from, to, reason }
}

fn complete(head: u64) -> Resume {
    Resume { verdict: ResumeVerdict::Complete, events: None, from: None, to: Some(head), reason: None }
}

fn lost(reason: &str) -> Resume {
    Resume {
        verdict: ResumeVerdict::Lost,
        events: None,
        from: None,
        to: None,
        reason: Some(sentence(reason)),
    }
}

#[cfg(test)]
#[path = "resume_verdict_tests.rs"]
mod tests;
