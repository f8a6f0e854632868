//! The loop's side of the journal: one transaction after another, checkpoints, and reading batches back.
//!
//! Owns what the disk did not take yet: it keeps its order in memory, is read as if it were written, and nothing is
//! dropped. Never tells the editor about events. Tests: `tests/loop/disk.rs`, `tests/loop/recovery.rs`.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::leases::digest;
use super::live::{CHECKPOINT_BYTES, CHECKPOINT_EVENTS, DIRTY_BYTES};
use super::on_request::journal_failed;
use super::ports::{BatchRow, BlockRow, Commit, JournalError, StepChange};
use super::state::App;
use crate::domain::view::Block;

/// What the disk did not take yet, and what was said of it.
#[derive(Default)]
pub(super) struct Backlog {
    /// Commits in order; they are written first when the disk takes again.
    pub(super) commits: VecDeque<Commit>,
    /// About what they cost in memory.
    pub(super) bytes: usize,
    /// Whether it was said that the disk takes nothing.
    failure_said: bool,
    /// Whether it was said that the journal could not be read.
    unreadable_said: bool,
    /// The turn of each session that was stopped because of it; at most one a session.
    stopped: BTreeMap<String, u64>,
}

/// Events kept in memory while the disk does not take them. Past it turns are stopped, since history could no longer
/// be kept.
const UNWRITTEN_BYTES: usize = 64 << 20;

impl App {
    /// One transaction, or its place in the line of those that the disk did not take. Gives its batch, to be told; it is copied
    /// only when it has to wait.
    pub(super) fn write(&mut self, mut commit: Commit) -> Option<BatchRow> {
        self.hide_secrets(&mut commit);
        let journal = self.journal.as_mut().filter(|_| self.backlog.commits.is_empty());
        let tried = journal.map(|journal| journal.commit(&commit));
        if let Some(Ok(())) = tried {
            self.written_as_ours(&commit);
            self.was_written(weight(&commit));
            self.say_of_journal();
            return commit.batch;
        }
        if let Some(Err(JournalError::HeldElsewhere)) = tried {
            self.lost_to_another(&commit.session_id);
            return None;
        }
        let batch = commit.batch.clone();
        self.backlog.bytes += weight(&commit);
        self.backlog.commits.push_back(commit);
        match tried {
            Some(Err(error)) => self.disk_trouble(&error),
            Some(Ok(())) | None => self.write_waiting(),
        }
        batch
    }

    /// As much of the line as the disk takes; says once that it does not, and once that it does again.
    pub(super) fn write_waiting(&mut self) {
        while let (Some(first), Some(journal)) = (self.backlog.commits.front(), self.journal.as_mut()) {
            match journal.commit(first) {
                Ok(()) => {}
                Err(JournalError::HeldElsewhere) => {
                    // While nothing could be written, neither could it be seen that another window works on it.
                    let session_id = first.session_id.clone();
                    self.drop_unwritten(&session_id);
                    self.lost_to_another(&session_id);
                    continue;
                }
                Err(error) => return self.disk_trouble(&error),
            }
            let bytes = weight(first);
            let Some(first) = self.backlog.commits.pop_front() else { return };
            self.backlog.bytes -= bytes;
            self.written_as_ours(&first);
            if self.backlog.commits.is_empty() {
                return self.was_written(bytes);
            }
            self.retention.wrote(bytes);
        }
    }

    /// A commit was written: the lease of its session is this window's, and its record is the one in the journal.
    fn written_as_ours(&mut self, commit: &Commit) {
        if !commit.session_id.is_empty() && !self.leases.ours.contains(&commit.session_id) {
            self.leases.ours.insert(commit.session_id.clone());
        }
        if let Some(row) = &commit.session
            && let Some(session) = self.sessions.get_mut(&commit.session_id)
        {
            session.saved = Some(digest(&row.record));
        }
    }

    /// What was to be written of a session belongs to another window, which works on it.
    fn lost_to_another(&mut self, session_id: &str) {
        self.leases.ours.remove(session_id);
        self.leases.elsewhere.insert(session_id.to_owned());
        self.state_changed = true;
        self.reload(session_id);
        self.say(
            "warning",
            "Another window works on a session that was changed here too; what was changed here was not kept. Wait there for the end of its turn.",
        );
    }

    /// So much was written, and nothing waits.
    fn was_written(&mut self, bytes: usize) {
        self.retention.wrote(bytes);
        if std::mem::take(&mut self.backlog.failure_said) {
            self.backlog.stopped.clear();
            self.say("info", "The journal can be written again; nothing of the sessions is missing.");
        }
    }

    /// Events are clean already; records hold what the user or the engine wrote.
    fn hide_secrets(&self, commit: &mut Commit) {
        let records = commit.session.iter_mut().map(|row| &mut row.record);
        let records = records.chain(commit.ledger.iter_mut().map(|row| &mut row.record));
        let records = records.chain(commit.tabs.iter_mut().filter_map(|row| row.record.as_mut()));
        let records = records.chain(commit.steps.iter_mut().filter_map(|step| match step {
            StepChange::Taken(record) => Some(record),
            StepChange::Cleared => None,
        }));
        for record in records.chain(commit.prompts.iter_mut().map(|(_, answer)| answer)) {
            if let Cow::Owned(clean) = self.redactor.scrub_json(record) {
                *record = clean;
            }
        }
    }

    /// Says once that the journal could not be read; the log has it every time.
    fn read_trouble(&mut self, error: &JournalError) {
        tracing::warn!(?error, "the journal could not be read");
        if !std::mem::replace(&mut self.backlog.unreadable_said, true) {
            let sentence = journal_failed(error).message;
            self.say("warning", &sentence);
        }
    }

    fn disk_trouble(&mut self, error: &JournalError) {
        if !std::mem::replace(&mut self.backlog.failure_said, true) {
            let why = match error {
                JournalError::Full => "The disk (or the quota) of the state directory is full".to_owned(),
                JournalError::Failed(why) => format!("The journal could not be written: {why}"),
                JournalError::HeldElsewhere => "Another window works on a session".to_owned(),
            };
            self.say(
                "error",
                &format!(
                    "{why}. Sessions go on and are kept in memory until it can be written; free some space."
                ),
            );
        }
        if self.backlog.bytes > UNWRITTEN_BYTES {
            let running: Vec<(String, u64)> = self
                .sessions
                .iter()
                .filter_map(|(id, session)| Some((id.clone(), session.record.turn.open()?)))
                .collect();
            for (session_id, turn) in running {
                // Once a turn, and noted before: what the stop writes comes back here.
                if self.backlog.stopped.insert(session_id.clone(), turn) == Some(turn) {
                    continue;
                }
                self.stop_turn(&session_id, "the journal cannot be written and too much waits in memory");
            }
        }
    }

    /// Forgets what waits for the disk of a session that is gone.
    pub(super) fn drop_unwritten(&mut self, session_id: &str) {
        self.backlog.commits.retain(|commit| commit.session_id != session_id);
        self.backlog.bytes = self.backlog.commits.iter().map(weight).sum();
    }

    /// Writes the view's changed blocks and reducer state, at the end of a turn and now and then within one. Only on top
    /// of a journal that has everything: blocks stay in memory until they are stored.
    pub(super) fn checkpoint(&mut self, session_id: &str) {
        if !self.backlog.commits.is_empty() || !self.leases.ours.contains(session_id) {
            return;
        }
        let (Some(session), Some(journal)) = (self.sessions.get_mut(session_id), self.journal.as_mut())
        else {
            return;
        };
        let Some(live) = session.live.as_deref_mut() else { return };
        let idle = !session.record.turn.is_open();
        let behind = live.flushed - live.checkpoint.seq;
        // A few events may be megabytes: their bytes count too.
        let worth = live.checkpoint.since >= CHECKPOINT_BYTES
            || (behind >= CHECKPOINT_EVENTS && live.checkpoint.since >= live.checkpoint.bytes);
        let due = idle || worth || live.dirty.bytes() >= DIRTY_BYTES;
        if live.flushed != live.head || behind == 0 || !due {
            return;
        }
        let blocks: Vec<BlockRow> = live
            .dirty
            .iter()
            .map(|(lane, ord, id, block)| BlockRow {
                lane,
                ord,
                id: id.to_owned(),
                block: block.and_then(Block::to_json),
            })
            .collect();
        let state = live.dirty.checkpoint(&live.view);
        let commit = Commit {
            session_id: session_id.to_owned(),
            blocks,
            view: state.map(|state| (live.head, state)),
            ..Commit::default()
        };
        let bytes = commit
            .blocks
            .iter()
            .filter_map(|row| row.block.as_ref())
            .chain(commit.view.as_ref().map(|(_, state)| state));
        live.checkpoint.bytes = bytes.map(Vec::len).sum();
        live.checkpoint.since = 0;
        match journal.commit(&commit) {
            Ok(()) => {
                live.checkpoint.seq = live.head;
                live.dirty.clear();
                self.retention.wrote(live.checkpoint.bytes);
                self.say_of_journal();
            }
            Err(error) => self.disk_trouble(&error),
        }
    }

    /// Batches from the journal, then those that still wait for the disk.
    pub(super) fn stored_batches(
        &mut self,
        session_id: &str,
        from_seq: u64,
        max_bytes: usize,
    ) -> Vec<BatchRow> {
        let read = self.journal.as_mut().map(|journal| journal.batches(session_id, from_seq, max_bytes));
        let mut rows = match read {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => {
                self.read_trouble(&error);
                Vec::new()
            }
            None => Vec::new(),
        };
        let mut bytes: usize = rows.iter().map(|row| row.events.len()).sum();
        let mut next = rows.last().map_or(from_seq, |row| row.to_seq + 1);
        for batch in self
            .backlog
            .commits
            .iter()
            .filter(|commit| commit.session_id == session_id)
            .filter_map(|commit| commit.batch.as_ref())
        {
            if bytes < max_bytes && batch.from_seq <= next && batch.to_seq >= next {
                bytes += batch.events.len();
                next = batch.to_seq + 1;
                rows.push(batch.clone());
            }
        }
        rows
    }
}

/// About what a commit that waits for the disk costs in memory.
fn weight(commit: &Commit) -> usize {
    let events = commit.batch.as_ref().map_or(0, |batch| batch.events.len());
    let record = commit.session.as_ref().map_or(0, |session| session.record.len());
    let ledger: usize = commit.ledger.iter().map(|row| row.record.len()).sum();
    let tabs: usize = commit.tabs.iter().filter_map(|row| row.record.as_ref()).map(Vec::len).sum();
    let steps: usize = commit.steps.iter().map(StepChange::bytes).sum();
    256 + events + record + ledger + tabs + steps
}

/// The part of a stored batch from `seq` on.
pub(super) fn from_seq_on(row: BatchRow, seq: u64) -> BatchRow {
    if row.from_seq >= seq {
        return row;
    }
    let events = split(&row);
    let skip = usize::try_from(seq - row.from_seq).unwrap_or(usize::MAX);
    let kept: Vec<&str> = events.iter().skip(skip).map(|event| event.get()).collect();
    BatchRow { from_seq: seq, to_seq: row.to_seq, events: kept.join(",").into_bytes() }
}

/// The single events of a stored batch.
pub(super) fn split(row: &BatchRow) -> Vec<Box<serde_json::value::RawValue>> {
    let mut text = Vec::with_capacity(row.events.len() + 2);
    text.push(b'[');
    text.extend_from_slice(&row.events);
    text.push(b']');
    serde_json::from_slice(&text).unwrap_or_default()
}
