//! Sessions among windows: who works on one.
//!
//! Owns the leases of this window as the loop knows them, and that the copy in memory of a session is the newest there is once
//! it may be changed. Never decides what a request means: it says whether a session may be changed here. What the others did is
//! read in `other_windows`. Tests: `tests/windows`, `store::tests::sharing`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::client::ClientId;
use super::live::{LinkState, Live};
use super::on_request::{held_elsewhere, journal_failed};
use super::other_windows::Look;
use super::ports::{EngineCall, JournalError, Lease};
use super::record::Record;
use super::sessions::Session;
use super::state::App;
use super::wait_for_lease::Waiting;
use crate::domain::coded_error::CodedError;

/// What this window knows of leases.
#[derive(Default)]
pub(super) struct Leases {
    /// Sessions that this window works on.
    pub(super) ours: BTreeSet<String>,
    /// Sessions that another one works on.
    pub(super) elsewhere: BTreeSet<String>,
    /// The last look at what other windows did.
    pub(super) look: Look,
    /// Requests that wait for another window to let go of an idle session.
    pub(super) waiting: Waiting,
}

impl Leases {
    /// A client left; nobody hears what its requests come to.
    pub(super) fn forget_requests_of(&mut self, client: ClientId) {
        self.waiting.forget(client);
    }
}

/// What tells whether a record is the one that was read or written last.
pub(in crate::app) fn digest(record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    hasher.finish()
}

impl App {
    /// Before a session is changed: its lease is this window's, the copy in memory is the newest there is, and what a window
    /// that is gone left open of a turn is settled.
    pub(super) fn hold(&mut self, session_id: &str) -> Result<(), CodedError> {
        if self.leases.ours.contains(session_id) {
            return Ok(());
        }
        self.take_lease(session_id)?;
        self.settle_cut(session_id);
        Ok(())
    }

    /// The turn of a session whose lease became ours: no window runs it any more. One that an engine went on with is settled
    /// by its stream.
    pub(super) fn settle_cut(&mut self, session_id: &str) {
        let is_cut =
            |session: &Session| session.record.turn.is_worked_on() && !self.is_followed(&session.record);
        if self.known(session_id).is_ok_and(is_cut) {
            self.settle_interrupted(session_id);
        }
    }

    /// Makes the lease of a session this window's, and reads it anew.
    pub(super) fn take_lease(&mut self, session_id: &str) -> Result<(), CodedError> {
        self.meet(session_id);
        self.known(session_id)?;
        match self.journal()?.take(session_id) {
            Ok(Lease::Ours) => {}
            Ok(Lease::Elsewhere) => {
                self.state_changed |= self.leases.elsewhere.insert(session_id.to_owned());
                return Err(held_elsewhere());
            }
            // Nobody else could write that it is theirs, either; it is kept in memory until the disk takes it.
            Err(JournalError::Full) if !self.leases.elsewhere.contains(session_id) => {}
            Err(error) => return Err(journal_failed(&error)),
        }
        self.state_changed |= self.leases.elsewhere.remove(session_id);
        self.leases.ours.insert(session_id.to_owned());
        self.renew(session_id)?;
        self.kept_commands_lost(session_id);
        Ok(())
    }

    /// A session that is not known here may be one that another window made just now.
    pub(super) fn meet(&mut self, session_id: &str) {
        if !self.sessions.contains(session_id) {
            self.read_news();
        }
    }

    /// Reads the record of a session anew, and all of it where another window went on with it.
    fn renew(&mut self, session_id: &str) -> Result<(), CodedError> {
        let failed = |error| journal_failed(&error);
        let row = self.journal()?.session(session_id).map_err(failed)?;
        let head = self.journal()?.head(session_id).map_err(failed)?;
        let epoch = self.journal()?.session_epoch(session_id);
        let session = self.known(session_id)?;
        match row {
            None if session.saved.is_some() => {
                self.leases.ours.remove(session_id);
                let _ = self.journal()?.release(session_id);
                self.session_gone(session_id);
                return Err(CodedError::unknown_session(session_id));
            }
            None => {}
            Some(row) => self.take_record(session_id, &row.record),
        }
        let waits = self.backlog.commits.iter().any(|commit| commit.session_id == session_id);
        let old = self.live_mut(session_id).is_some_and(|live| live.flushed != head || live.epoch != epoch);
        if old && !waits {
            self.reload(session_id);
            // An agent that has it open does not know what was said elsewhere.
            self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        }
        // What was read of the other window, and not told yet, is not looked at any more once the session is ours.
        self.catch_up_all(session_id);
        if let Ok(record) = self.record_of(session_id)
            && !record.turn.is_open()
            && !record.queue.items().is_empty()
        {
            // Nothing runs, so nothing would take the next prompt: the user decides when it goes on.
            record.queue.pause();
        }
        Ok(())
    }

    fn record_of(&mut self, session_id: &str) -> Result<&mut Record, CodedError> {
        match self.sessions.get_mut(session_id) {
            Some(session) => Ok(&mut session.record),
            None => Err(CodedError::unknown_session(session_id)),
        }
    }

    /// A record as another window wrote it, if it is not the one that is known.
    pub(super) fn take_record(&mut self, session_id: &str, bytes: &[u8]) {
        let saved = Some(digest(bytes));
        if self.sessions.get(session_id).is_some_and(|session| session.saved == saved) {
            return;
        }
        let record = match serde_json::from_slice::<Record>(bytes) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(%error, session = session_id, "a session's record cannot be read");
                return;
            }
        };
        let waits = |message_id: &str| record.queue.items().iter().any(|item| item.message_id == message_id);
        self.clients.prompters.keep(session_id, &record.turn, waits);
        match self.sessions.get_mut(session_id) {
            Some(session) => (session.record, session.saved) = (record, saved),
            None => {
                self.sessions.insert(session_id.to_owned(), Session::stored(record, saved));
            }
        }
        self.state_changed = true;
    }

    /// After each event: sessions that nothing is done with any more are free for other windows.
    pub(super) fn let_go(&mut self) {
        let idle: Vec<String> = self.leases.ours.iter().filter(|id| self.is_idle(id)).cloned().collect();
        for session_id in idle {
            let Some(journal) = self.journal.as_mut() else { return };
            match journal.release(&session_id) {
                Ok(()) => {
                    self.leases.ours.remove(&session_id);
                }
                // It stays ours until the disk takes it.
                Err(error) => tracing::debug!(?error, "a session could not be let go of"),
            }
        }
    }

    /// Whether nothing of a session is under way here.
    fn is_idle(&self, session_id: &str) -> bool {
        let Some(session) = self.sessions.get(session_id) else { return true };
        // What waits for an answer of a turn that nobody runs is any window's.
        let paused = session.record.turn.is_paused();
        let rests = |live: &Live| {
            (live.asks.is_empty() || paused)
                && live.batcher.due_us().is_none()
                && live.head == live.flushed
                && live.pending.is_empty()
                && live.held.is_empty()
                && matches!(live.link, LinkState::Detached | LinkState::Over)
        };
        !session.record.turn.is_worked_on()
            && session.record.kept_commands.is_empty()
            && session.live.as_deref().is_none_or(rests)
            && !self.clients.is_selected(session_id)
            && !self.backlog.commits.iter().any(|commit| commit.session_id == session_id)
    }

    /// Whether what an engine says of a session may be taken in here.
    pub(super) fn may_record(&mut self, session_id: &str) -> bool {
        if self.leases.ours.contains(session_id) || !self.sessions.contains(session_id) {
            return true;
        }
        match self.hold(session_id) {
            Ok(()) => true,
            Err(error) => {
                // The window that works on it hears its engine itself.
                tracing::debug!(
                    session_id,
                    message = error.message,
                    "an engine's report is not taken in here"
                );
                false
            }
        }
    }
}
