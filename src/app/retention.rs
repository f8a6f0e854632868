//! How much the journal keeps: a size, and what goes when it is reached.
//!
//! Owns the order in which old things go, and the small steps in which they do, so that nothing else waits for them. Never
//! takes what is in use. Tests: `tests/loop/retention.rs`, `store::tests::retention`.
//!
//! First the events of the sessions that were not used for longest, whose chats stay readable since view pages are kept; only
//! when that is not enough, whole sessions. A session of this window that is in memory, or whose turn is open, is not touched,
//! so what is in use may stand above the size until the next start. One that the user pinned never goes whole. A journal in memory has only such sessions: there the
//! oldest events go that the view holds and every client was told.

use std::collections::VecDeque;

use super::ports::JournalError;
use super::record::Record;
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};

/// Most that a journal in memory takes: it must not crowd out what the user works with.
const MEMORY_BYTES: u64 = 128 << 20;

/// Bytes written after which the size is looked at again: three numbers of the file's header.
const CHECK_EVERY: usize = 16 << 20;

/// Removal goes on until so much of the size is in use, in percent: not every write is to set it off again.
const DOWN_TO: u64 = 80;

/// Bytes that one step removes: a few milliseconds.
const STEP_BYTES: usize = 1 << 20;

/// Rest between two steps, in microseconds. With it about 100 MiB a second go, more than any engine writes.
const REST_US: u64 = 10_000;

/// Rest before the first step after the start, in microseconds: the first view comes first.
const START_REST_US: u64 = 1_000_000;

/// Where the removal of old things stands.
#[derive(Debug, Default)]
pub(super) struct Retention {
    /// Bytes written since the size was looked at.
    written: usize,
    removal: Option<Removal>,
    said_events: bool,
    said_sessions: bool,
}

/// A removal under way.
#[derive(Debug)]
struct Removal {
    /// When the next step is due, on the clock of the batchers.
    due_us: u64,
    /// Sessions to look at, oldest first.
    waiting: VecDeque<String>,
    /// Whether whole sessions go.
    whole: bool,
    /// The session that is going, whole.
    leaving: Option<String>,
}

impl Retention {
    /// Bytes were written.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
    }
}

impl App {
    /// Looks at the size after the start; nothing goes in the first moment. What was half removed goes on.
    pub(super) fn begin_retention(&mut self) {
        let leaving = self.journal.as_mut().and_then(|journal| journal.leaving().ok().flatten());
        self.look_at_size(leaving, START_REST_US);
    }

    /// One step, when one is due; the size, when enough was written.
    pub(super) fn retain(&mut self) {
        if self.retention.written >= CHECK_EVERY {
            self.retention.written = 0;
            if self.retention.removal.is_none() {
                self.look_at_size(None, 0);
            }
        }
        let now = self.now_us();
        let Some(removal) = self.retention.removal.take_if(|removal| removal.due_us <= now) else { return };
        match self.remove_some(removal) {
            Ok(rest) => self.retention.removal = rest,
            // Nothing is lost by waiting: the next look at the size begins anew.
            Err(error) => tracing::warn!(?error, "the journal could not be made smaller"),
        }
    }

    /// When the next step is due, on the clock of the batchers.
    pub(super) fn retention_due_us(&self) -> Option<u64> {
        self.retention.removal.as_ref().map(|removal| removal.due_us)
    }

    /// Refuses numbers of events that were removed.
    pub(super) fn still_kept(&mut self, session_id: &str, seq: u64) -> Result<(), CodedError> {
        let first = self.first_kept(session_id);
        if seq >= first {
            return Ok(());
        }
        Err(CodedError::new(
            ErrorCode::NotFound,
            format!(
                "The events before {first} were removed when the journal had reached its size; read from {first} on."
            ),
        ))
    }

    /// The first event that the journal has of a session.
    pub(super) fn first_kept(&mut self, session_id: &str) -> u64 {
        self.journal.as_mut().and_then(|journal| journal.first(session_id).ok()).unwrap_or(1)
    }

    fn in_memory(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.state_dir().is_none())
    }

    /// Bytes that the journal may take.
    fn cap(&self) -> u64 {
        let wanted = self.settings.journal_bytes;
        if self.in_memory() { wanted.min(MEMORY_BYTES) } else { wanted }
    }

    fn look_at_size(&mut self, leaving: Option<String>, rest_us: u64) {
        let due_us = self.now_us() + rest_us;
        let cap = self.cap();
        let Some(journal) = self.journal.as_mut() else { return };
        let full = journal.used_bytes().is_ok_and(|used| used > cap);
        if !full && leaving.is_none() {
            return;
        }
        let waiting =
            if full { journal.oldest_sessions().unwrap_or_default().into() } else { VecDeque::new() };
        self.retention.removal = Some(Removal { due_us, waiting, whole: false, leaving });
    }

    /// One step; what is left to do after it.
    fn remove_some(&mut self, mut removal: Removal) -> Result<Option<Removal>, JournalError> {
        let enough = self.cap() / 100 * DOWN_TO;
        let Some(journal) = self.journal.as_mut() else { return Ok(None) };
        removal.due_us += REST_US;
        if let Some(session_id) = removal.leaving.take() {
            if !journal.remove_session(&session_id, STEP_BYTES)? {
                removal.leaving = Some(session_id);
            }
            return Ok(Some(removal));
        }
        if journal.used_bytes()? <= enough {
            return Ok(None);
        }
        let Some(session_id) = removal.waiting.pop_front() else {
            if removal.whole || self.in_memory() {
                // All the rest is in use.
                return Ok(None);
            }
            removal.whole = true;
            removal.waiting =
                self.journal.as_mut().map_or(Ok(Vec::new()), |journal| journal.oldest_sessions())?.into();
            return Ok(Some(removal));
        };
        let Some(up_to) = self.may_go(&session_id)? else { return Ok(Some(removal)) };
        if removal.whole && self.is_pinned(&session_id)? {
            return Ok(Some(removal));
        }
        if removal.whole {
            self.say_sessions_go();
            self.sessions.remove(&session_id);
            self.tab_session_gone(&session_id);
            self.state_changed = true;
            // The next step removes the first part of it.
            removal.leaving = Some(session_id);
        } else if self.take_events(&session_id, up_to)? {
            removal.waiting.push_front(session_id);
        }
        Ok(Some(removal))
    }

    /// Whether there was something to take.
    fn take_events(&mut self, session_id: &str, up_to: u64) -> Result<bool, JournalError> {
        let Some(journal) = self.journal.as_mut() else { return Ok(false) };
        let some = journal.remove_events(session_id, up_to, STEP_BYTES)? > 0;
        if some && !std::mem::replace(&mut self.retention.said_events, true) {
            let size = spoken(self.cap());
            self.say(
                "info",
                &format!(
                    "The journal reached its size of {size}, so the raw events of the oldest sessions are removed; what they show stays."
                ),
            );
        }
        Ok(some)
    }

    fn say_sessions_go(&mut self) {
        if !std::mem::replace(&mut self.retention.said_sessions, true) {
            let size = spoken(self.cap());
            self.say(
                "info",
                &format!(
                    "The journal is still above its size of {size}, so the oldest sessions are removed; allow it more in the settings to keep more."
                ),
            );
        }
    }

    /// The last event of a session that may go; `None` when the session is in use.
    fn may_go(&mut self, session_id: &str) -> Result<Option<u64>, JournalError> {
        let in_memory = self.in_memory();
        if self.leases.elsewhere.contains(session_id) {
            return Ok(None);
        }
        if let Some(session) = self.sessions.get(session_id) {
            return Ok(match session.live.as_deref() {
                None => (!session.record.turn.is_open()).then_some(u64::MAX),
                Some(live) if in_memory => {
                    let sent = self
                        .clients
                        .followers(session_id)
                        .map(|(_, follows)| follows.sent_up_to(live.flushed));
                    Some(sent.min().unwrap_or(live.flushed))
                }
                Some(_) => None,
            });
        }
        // Of another workspace. What cannot be read is not ours to judge.
        Ok(self.record_of_another(session_id)?.filter(|record| !record.turn.is_open()).map(|_| u64::MAX))
    }

    /// Whether the user pinned a session, of whatever workspace.
    fn is_pinned(&mut self, session_id: &str) -> Result<bool, JournalError> {
        if let Some(session) = self.sessions.get(session_id) {
            return Ok(session.record.pinned);
        }
        Ok(self.record_of_another(session_id)?.is_some_and(|record| record.pinned))
    }

    fn record_of_another(&mut self, session_id: &str) -> Result<Option<Record>, JournalError> {
        let Some(journal) = self.journal.as_mut() else { return Ok(None) };
        let row = journal.session(session_id)?;
        Ok(row.and_then(|row| serde_json::from_slice::<Record>(&row.record).ok()))
    }
}

/// A size as one says it.
fn spoken(bytes: u64) -> String {
    if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) {
        format!("{} GiB", bytes >> 30)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}
