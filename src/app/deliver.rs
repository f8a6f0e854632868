//! How events become true and leave: batch, journal, outbox, and the way back when the editor did not read.
//!
//! Owns the rule that every event is in the journal before anyone is told, and that nothing is lost or doubled when the
//! outbox is full: a session then falls behind and is refilled from the journal.

use std::borrow::Cow;

use tokio::time::{Duration, Instant};

use super::live::{CHECKPOINT_BYTES, CHECKPOINT_EVENTS, DIRTY_BYTES, Flow};
use super::ports::{BatchRow, BlockRow, Commit, Journal, JournalError};
use super::record::Ask;
use super::state::App;
use super::wire_out;
use crate::domain::delivery::batch::Verdict;
use crate::domain::event::{NormalizedEvent, SessionEvent};
use crate::domain::policy::redact::Redactor;
use crate::domain::view::{Block, Lane, coalesce};
use crate::protocol::notification::{ConnectionParams, StateParams, ViewParams};

/// Bytes of the journal read into the outbox at a time while an editor catches up; well below the outbox' own bound, so
/// that one read never has to be thrown away.
const REFILL_BYTES: usize = 512 * 1024;

/// Events kept in memory while the disk does not take them. Past it turns are stopped, since history could no longer
/// be kept.
const UNWRITTEN_BYTES: usize = 64 << 20;

impl App {
    /// Gives an event its `seq`, reduces it and puts it into the session's batch.
    pub(super) fn record_event(&mut self, session_id: &str, event: NormalizedEvent) {
        let now = self.now_us();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(live) = session.live.as_deref_mut() else { return };
        if let Some(ts) = event.ts {
            session.record.updated_at = session.record.updated_at.max(ts);
        }
        live.head += 1;
        let mut event = event.sequenced(live.head);
        // An event holds strings, numbers, maps and lists only, which always serialise.
        let Ok(mut text) = serde_json::to_vec(&event) else { return };
        if matches!(self.redactor.scrub(&text), Cow::Owned(_)) {
            // The event itself, so that the view and the journal hold the same, and string by string, so that it stays
            // an event.
            hide(&self.redactor, &mut event);
            text = serde_json::to_vec(&event).unwrap_or(text);
        }
        let changes = live.view.apply(&event);
        let journal = self.journal.as_mut();
        absorb(journal, session_id, live, &changes);
        live.changes.extend(changes);
        live.since_checkpoint += text.len();
        let verdict = live.batcher.push(now, &text, event.seq);
        if matches!(verdict, Verdict::FlushNow) {
            self.flush(session_id);
        }
    }

    /// Writes what waits of a session, then tells.
    pub(super) fn flush(&mut self, session_id: &str) {
        let now = self.now_us();
        let workspace = self.workspace.clone();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(live) = session.live.as_deref_mut() else { return };
        let mut batches = Vec::new();
        while let Some(batch) = live.batcher.take(now) {
            batches.push(BatchRow { from_seq: batch.from_seq, to_seq: batch.to_seq, events: batch.events });
        }
        let record_changed = std::mem::take(&mut live.record_changed);
        let ledger = std::mem::take(&mut live.ledger);
        let prompts = std::mem::take(&mut live.prompts);
        if batches.is_empty() && !record_changed && ledger.is_empty() && prompts.is_empty() {
            return;
        }
        live.flushed = live.head;
        // Only when it changed: it holds the queue, which may be large, and tokens change nothing in it.
        let row = record_changed.then(|| session.record.row(&workspace));
        // What is not an event goes with the first batch, so that an ask and its ledger row are one transaction.
        let mut commit = Commit {
            session_id: session_id.to_owned(),
            session: row,
            batch: batches.first().cloned(),
            ledger,
            prompts,
            ..Commit::default()
        };
        let mut rest = batches.iter().skip(1);
        loop {
            self.write(commit);
            let Some(batch) = rest.next() else { break };
            commit =
                Commit { session_id: session_id.to_owned(), batch: Some(batch.clone()), ..Commit::default() };
        }
        self.tell(session_id, &batches);
        self.checkpoint(session_id);
    }

    /// Writes the view's changed blocks and reducer state, at the end of a turn and now and then within one. Only on top
    /// of a journal that has everything: blocks stay in memory until they are stored.
    pub(super) fn checkpoint(&mut self, session_id: &str) {
        if !self.unwritten.is_empty() {
            return;
        }
        let (Some(session), Some(journal)) = (self.sessions.get_mut(session_id), self.journal.as_mut())
        else {
            return;
        };
        let Some(live) = session.live.as_deref_mut() else { return };
        let idle = session.record.open_turn.is_none();
        let behind = live.flushed - live.checkpoint;
        let worth = behind >= CHECKPOINT_EVENTS
            && live.since_checkpoint >= live.checkpoint_bytes.min(CHECKPOINT_BYTES);
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
                block: block.and_then(|block| serde_json::to_vec(block).ok()),
            })
            .collect();
        let state = serde_json::to_vec(&(&live.view, &live.dirty)).ok();
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
        live.checkpoint_bytes = bytes.map(Vec::len).sum();
        live.since_checkpoint = 0;
        match journal.commit(&commit) {
            Ok(()) => {
                live.checkpoint = live.head;
                live.dirty.clear();
            }
            Err(error) => self.disk_trouble(&error),
        }
    }

    /// One transaction, or its place in the line of those that the disk did not take.
    fn write(&mut self, mut commit: Commit) {
        self.hide_secrets(&mut commit);
        self.unwritten_bytes += weight(&commit);
        self.unwritten.push_back(commit);
        self.write_waiting();
    }

    fn write_waiting(&mut self) {
        let Some(journal) = self.journal.as_mut() else { return };
        while let Some(first) = self.unwritten.front() {
            match journal.commit(first) {
                Ok(()) => {
                    self.unwritten_bytes -= weight(first);
                    self.unwritten.pop_front();
                    if self.unwritten.is_empty() && std::mem::take(&mut self.disk_said) {
                        self.say(
                            "info",
                            "The journal can be written again; nothing of the sessions is missing.",
                        );
                        return;
                    }
                }
                Err(error) => {
                    self.disk_trouble(&error);
                    return;
                }
            }
        }
    }

    /// Events are clean already; records hold what the user or the engine wrote.
    fn hide_secrets(&self, commit: &mut Commit) {
        let records = commit.session.iter_mut().map(|row| &mut row.record);
        let records = records.chain(commit.ledger.iter_mut().map(|row| &mut row.record));
        for record in records.chain(commit.prompts.iter_mut().map(|(_, answer)| answer)) {
            if let Cow::Owned(clean) = self.redactor.scrub_json(record) {
                *record = clean;
            }
        }
    }

    fn disk_trouble(&mut self, error: &JournalError) {
        if !std::mem::replace(&mut self.disk_said, true) {
            let why = match error {
                JournalError::Full => "The disk (or the quota) of the state directory is full".to_owned(),
                JournalError::Failed(why) => format!("The journal could not be written: {why}"),
            };
            self.say(
                "error",
                &format!(
                    "{why}. Sessions go on and are kept in memory until it can be written; free some space."
                ),
            );
        }
        if self.unwritten_bytes > UNWRITTEN_BYTES {
            let running: Vec<String> = self
                .sessions
                .iter()
                .filter(|(_, session)| session.record.open_turn.is_some())
                .map(|(id, _)| id.clone())
                .collect();
            for session_id in running {
                self.stop_turn(&session_id, "the journal cannot be written and too much waits in memory");
            }
        }
    }

    /// Forgets what waits for the disk of a session that is gone.
    pub(super) fn drop_unwritten(&mut self, session_id: &str) {
        self.unwritten.retain(|commit| commit.session_id != session_id);
        self.unwritten_bytes = self.unwritten.iter().map(weight).sum();
    }

    /// `bb/events` and `bb/view` for batches that are in the journal.
    fn tell(&mut self, session_id: &str, batches: &[BatchRow]) {
        let (outbox, hears, epoch) = (self.outbox.clone(), self.hears, &self.epoch);
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return };
        let Some(live) = self.sessions.get_mut(session_id).and_then(|session| session.live.as_deref_mut())
        else {
            return;
        };
        let changes = coalesce(std::mem::take(&mut live.changes));
        if !live.attached {
            return;
        }
        for batch in batches {
            if hears.events
                && live.flow == Flow::Direct
                && !outbox.push(wire_out::events(session_id, epoch, batch))
            {
                live.flow = Flow::Behind { next_seq: batch.from_seq };
            }
        }
        if !hears.view {
            return;
        }
        if live.flow != Flow::Direct || live.view_stale {
            live.view_stale = true;
            return;
        }
        let params = ViewParams {
            session_id: session_id.to_owned(),
            epoch: epoch.clone(),
            from_seq: first.from_seq,
            to_seq: last.to_seq,
            changes,
            snapshot: None,
        };
        if !outbox.push(wire_out::notification("bb/view", &params)) {
            live.view_stale = true;
        }
    }

    /// The outbox has room: sessions that fell behind read on from the journal.
    pub(super) fn on_outbox_drained(&mut self) {
        let attached: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.live.as_ref().is_some_and(|live| live.attached))
            .map(|(id, _)| id.clone())
            .collect();
        for session_id in attached {
            self.catch_up(&session_id);
        }
    }

    /// Sends from the journal until the editor is level or the outbox is full again; then a snapshot of the view.
    pub(super) fn catch_up(&mut self, session_id: &str) {
        let hears_events = self.hears.events;
        loop {
            let Some(live) = self.live_mut(session_id) else { return };
            let Flow::Behind { next_seq } = live.flow else { break };
            if next_seq > live.flushed || !hears_events {
                live.flow = Flow::Direct;
                break;
            }
            let rows = self.stored_batches(session_id, next_seq, REFILL_BYTES);
            if rows.is_empty() {
                // The journal does not have what it was given: say so instead of going round.
                self.gap(session_id, next_seq);
                break;
            }
            for row in rows {
                let row = from_seq_on(row, next_seq);
                let pushed = self.outbox.push(wire_out::events(session_id, &self.epoch, &row));
                let Some(live) = self.live_mut(session_id) else { return };
                if !pushed {
                    return;
                }
                live.flow = Flow::Behind { next_seq: row.to_seq + 1 };
            }
        }
        self.refresh_view(session_id);
    }

    fn refresh_view(&mut self, session_id: &str) {
        if !self.hears.view || !self.live_mut(session_id).is_some_and(|live| live.view_stale && live.attached)
        {
            return;
        }
        // The snapshot stands at the head, so everything up to the head has to be told first.
        self.flush(session_id);
        let Some(live) = self.live_mut(session_id) else { return };
        if live.flow != Flow::Direct {
            return;
        }
        let head = live.head;
        let Ok(view) = self.snapshot(session_id) else { return };
        let params = ViewParams {
            session_id: session_id.to_owned(),
            epoch: self.epoch.clone(),
            from_seq: head,
            to_seq: head,
            changes: Vec::new(),
            snapshot: Some(view),
        };
        let sent = self.outbox.push(wire_out::notification("bb/view", &params));
        if let Some(live) = self.live_mut(session_id) {
            live.view_stale = !sent;
        }
    }

    /// The journal lacks events it should have; the client is told, and goes on from the head.
    fn gap(&mut self, session_id: &str, from: u64) {
        let Some(live) = self.live_mut(session_id) else { return };
        let to = live.flushed;
        live.flow = Flow::Direct;
        live.view_stale = true;
        self.connection(ConnectionParams {
            status: crate::protocol::request::ConnectionStatus::Connected,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error: Some(format!("Events {from} to {to} could not be read from the journal.")),
            gap_detected: Some(true),
            resume: Some(crate::protocol::request::Resume {
                verdict: crate::protocol::request::ResumeVerdict::Lost,
                events: None,
                from: Some(from),
                to: Some(to),
                reason: Some("the journal could not be read".to_owned()),
            }),
        });
    }

    /// Batches from the journal, then those that still wait for the disk.
    pub(super) fn stored_batches(
        &mut self,
        session_id: &str,
        from_seq: u64,
        max_bytes: usize,
    ) -> Vec<BatchRow> {
        let mut rows = match self.journal.as_mut() {
            Some(journal) => journal.batches(session_id, from_seq, max_bytes).unwrap_or_else(|error| {
                tracing::warn!(?error, "the journal could not be read");
                Vec::new()
            }),
            None => Vec::new(),
        };
        let mut bytes: usize = rows.iter().map(|row| row.events.len()).sum();
        let mut next = rows.last().map_or(from_seq, |row| row.to_seq + 1);
        for batch in self
            .unwritten
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

    /// After each event: batches that are due, the state if it changed, and news that did not fit before.
    pub(super) fn settle(&mut self) {
        let now = self.now_us();
        let due: Vec<String> = self
            .loaded
            .iter()
            .filter(|id| {
                self.sessions.get(*id).and_then(|session| session.live.as_ref()).is_some_and(|live| {
                    live.batcher.due_us().is_some_and(|deadline| deadline <= now)
                        || (live.batcher.due_us().is_none() && live.record_changed)
                        || !live.ledger.is_empty()
                        || !live.prompts.is_empty()
                })
            })
            .cloned()
            .collect();
        for session_id in due {
            self.flush(&session_id);
        }
        while let Some(news) = self.connection_news.front() {
            if !self.outbox.push(wire_out::notification("bb/connection", news)) {
                return;
            }
            self.connection_news.pop_front();
        }
        if self.greeted && self.state_changed {
            let params = self.state_params();
            self.state_changed = !self.outbox.push(wire_out::notification("bb/state", &params));
        }
    }

    /// When the next batch is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let next = self
            .loaded
            .iter()
            .filter_map(|id| self.sessions.get(id)?.live.as_ref()?.batcher.due_us())
            .min()?;
        Some(self.started + Duration::from_micros(next))
    }

    /// Everything that waits, now: at shutdown and exit.
    pub(super) fn flush_all(&mut self) {
        let all: Vec<String> = self.loaded.iter().cloned().collect();
        for session_id in all {
            self.flush(&session_id);
        }
        // Also what waited for the disk, though nothing new came since.
        self.write_waiting();
    }

    /// `bb/connection`, in order, kept when it does not fit.
    pub(super) fn connection(&mut self, news: ConnectionParams) {
        // One of each kind a session is enough: the latest status, and any gap that was said.
        self.connection_news
            .retain(|old| old.session_id != news.session_id || old.gap_detected != news.gap_detected);
        self.connection_news.push_back(news);
    }

    /// A sentence for the user, by `window/showMessage`, and into the log when the outbox is full.
    pub(super) fn say(&mut self, level: &str, text: &str) {
        let kind = match level {
            "error" => 1,
            "warning" => 2,
            _ => 3,
        };
        let params = serde_json::json!({ "type": kind, "message": text });
        if !self.outbox.push(wire_out::notification("window/showMessage", &params)) {
            tracing::warn!("{text}");
        }
    }

    /// A ledger row to be written with the next batch.
    pub(super) fn note_ask(&mut self, session_id: &str, ask: &Ask) {
        let row = super::ports::LedgerRow {
            request_id: ask.permission.request_id.clone(),
            status: ask.status,
            record: serde_json::to_vec(ask).unwrap_or_default(),
        };
        if let Some(live) = self.live_mut(session_id) {
            live.ledger.push(row);
        }
    }

    /// `bb/state` as it stands.
    pub(super) fn state_params(&self) -> StateParams {
        let active = self.active.as_ref().and_then(|id| self.sessions.get(id));
        StateParams {
            sessions: self.summaries(),
            active_session_id: self.active.clone(),
            running: active.map(|session| session.record.open_turn.is_some()),
            pending_permission_count: active
                .map(|session| session.live.as_ref().map_or(0, |live| live.asks.len() as u64)),
        }
    }
}

/// About what a commit that waits for the disk costs in memory.
fn weight(commit: &Commit) -> usize {
    let events = commit.batch.as_ref().map_or(0, |batch| batch.events.len());
    let record = commit.session.as_ref().map_or(0, |session| session.record.len());
    let ledger: usize = commit.ledger.iter().map(|row| row.record.len()).sum();
    256 + events + record + ledger
}

/// Takes the secrets out of what an engine or the user wrote.
fn hide(redactor: &Redactor, event: &mut SessionEvent) {
    redactor.scrub_text(&mut event.id);
    redactor.scrub_map(&mut event.payload);
    if let Some(permission) = &mut event.permission {
        redactor.scrub_text(&mut permission.title);
        permission.options.iter_mut().for_each(|option| redactor.scrub_text(&mut option.label));
        if let Some(rule) = &mut permission.rule {
            redactor.scrub_text(&mut rule.pattern);
        }
    }
}

/// Puts changes into the dirty blocks, asking the journal for the place of blocks that were checkpointed before.
pub(super) fn absorb(
    journal: Option<&mut Box<dyn Journal>>,
    session_id: &str,
    live: &mut super::live::Live,
    changes: &[crate::domain::view::Change],
) {
    let mut journal = journal;
    let mut stored = |lane: Lane, id: &str| -> Option<(u64, Block)> {
        let row = journal.as_mut()?.block(session_id, lane, id).ok()??;
        Some((row.ord, serde_json::from_slice(&row.block?).ok()?))
    };
    live.dirty.absorb(changes, &mut stored);
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
