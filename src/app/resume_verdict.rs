//! What the history of a session is worth: whether anything that its engine said may be missing here.
//!
//! Owns the verdict that `bb/selectSession` answers with, and the losses that `bb/init` and `bb/connection` never leave out.
//! Never asks anybody: it is made of the session's record and of how its stream stands. What cannot be known is `lost`.

use super::live::LinkState;
use super::ports::ResumedLink;
use super::record::{Record, SessionEnd};
use super::sessions::Session;
use super::state::App;
use crate::domain::coded_error::CodedError;
use crate::domain::sentence::sentence;
use crate::protocol::request::{Resume, ResumeVerdict};

/// Said with a replay from our journal while the engine's stream is being opened.
const STILL_OPENS: &str = "This is what was kept here; what the engine said since is being asked for, and whether any of it is missing will be said then.";

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
    with_earlier_losses(record, now)
}

/// A verdict on what came last, and on everything that was lost before it: it begins at the first hole.
pub(super) fn with_earlier_losses(record: &Record, now: Resume) -> Resume {
    let damage = record.damage.as_ref().map(|reason| lost(&format!("some events are missing: {reason}")));
    let missing = record.held.as_ref().map(|held| held.missing.as_slice()).unwrap_or_default();
    // Not in order where the engine began to count anew.
    let first = missing.iter().map(|(from, _)| *from).min();
    let holes = first.map(|from| Resume {
        from: Some(from),
        to: last_of(missing.iter().map(|(_, to)| *to)),
        ..lost("events that were missing before have not come since")
    });
    [damage, holes].into_iter().flatten().fold(now, with_loss)
}

/// A verdict together with a loss that it may know already.
fn with_loss(now: Resume, loss: Resume) -> Resume {
    if now.verdict != ResumeVerdict::Lost {
        return loss;
    }
    if let (Some(from), Some(first)) = (now.from, loss.from)
        && from <= first
    {
        return now;
    }
    let (from, to) = match (now.from, loss.from) {
        (Some(_), Some(first)) => (Some(first), last_of([now.to, loss.to].into_iter())),
        (None, Some(first)) => (Some(first), loss.to),
        (from, None) => (from, now.to),
    };
    let reasons: Vec<String> = [now.reason, loss.reason].into_iter().flatten().collect();
    Resume { from, to, reason: Some(reasons.join(" ")), ..now }
}

/// The last of the ends of some stretches; none where one of them is open.
fn last_of(mut ends: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    ends.try_fold(0, |last, end| end.map(|end| last.max(end)))
}

impl App {
    /// What the history of a session is worth now.
    pub(super) fn worth(&self, session_id: &str, head: u64) -> Result<Resume, CodedError> {
        let session = self.known(session_id)?;
        Ok(resume_verdict(&session.record, self.hearing(session), cursor(session), head))
    }

    /// What our journal gives a client that comes back, and what is known to be lost besides: the journal has nothing of what
    /// the engine lost. What a stream that is only being opened brings is told on `bb/connection`.
    pub(super) fn worth_of_replay(&self, session_id: &str, replay: Resume) -> Resume {
        let Ok(session) = self.known(session_id) else { return replay };
        let hearing = self.hearing(session);
        let opens = matches!(hearing, Hearing::Stream(LinkState::Opening | LinkState::Broken(None)));
        let known = if opens { Hearing::Direct } else { hearing };
        let verdict = resume_verdict(&session.record, known, cursor(session), 0);
        if verdict.verdict == ResumeVerdict::Lost {
            return Resume { events: replay.events, ..verdict };
        }
        Resume {
            reason: (opens && self.is_followed(&session.record)).then(|| STILL_OPENS.to_owned()),
            ..replay
        }
    }

    fn hearing<'a>(&self, session: &'a Session) -> Hearing<'a> {
        let record = &session.record;
        if record.held.is_none() || !self.traits_for(record.engine).resume.is_followed() {
            Hearing::Direct
        } else if self.leases.elsewhere.contains(&record.session_id) {
            Hearing::OtherWindow
        } else if !self.is_ours(record) {
            Hearing::Nobody
        } else {
            Hearing::Stream(session.live.as_ref().map_or(&LinkState::Detached, |live| &live.link))
        }
    }
}

/// The engine's number of the last event that came.
fn cursor(session: &Session) -> Option<u64> {
    session.live.as_ref().and_then(|live| live.cursor.as_ref()).map(|cursor| cursor.seq)
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
