//! How events leave the loop: `seq`, redaction, view and batch, then the journal, then the editor.
//!
//! Owns the order of these steps, and so the rule that every event is in the journal before anyone is told; and when a
//! batch is due. How it is written is in `journalling`, how it is told in `tell`. Tests: `tests/loop`.

use std::borrow::Cow;
use std::collections::VecDeque;

use tokio::time::{Duration, Instant};

use super::agent_info;
use super::live::{Live, PendingRows, Writing};
use super::ports::{BatchRow, Commit, EngineCursor, Journal, LedgerRow};
use super::record::Ask;
use super::state::App;
use crate::domain::dialect::fact;
use crate::domain::event::{EventClass, NormalizedEvent, Origin, SessionEvent};
use crate::domain::fact::Fact;
use crate::domain::policy::redact::Redactor;
use crate::domain::view::{Block, Lane};

/// One event on its way into a session.
pub(super) struct Recording {
    pub event: NormalizedEvent,
    /// The engine's cursor of it, where it has one.
    pub cursor: Option<EngineCursor>,
}

impl App {
    /// Records an event of ours.
    pub(super) fn record_event(&mut self, session_id: &str, event: NormalizedEvent) {
        self.record(session_id, Recording { event, cursor: None });
    }

    /// Gives an event its `seq`, reduces it and puts it into the session's batch.
    pub(super) fn record(&mut self, session_id: &str, recording: Recording) {
        let Recording { event, cursor } = recording;
        let dialect = self.dialect_of(session_id);
        let ends = event.origin == Origin::Engine && event.class == EventClass::RunFinished;
        let received_at = ends.then(|| self.ambient.now_ms());
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(live) = session.live.as_deref_mut() else { return };
        if let Some(ts) = event.ts {
            session.record.updated_at = session.record.updated_at.max(ts);
        }
        live.head += 1;
        if let Some(cursor) = cursor {
            live.unwritten_cursors.push_back((live.head, cursor.clone()));
            live.cursor = Some(cursor);
        }
        let mut event = event.sequenced(live.head);
        event.received_at = received_at;
        let mut text = event.to_json();
        // An engine may spell a letter as an escape; then only the parsed text shows what it says.
        let escaped = self.redactor.knows_any()
            && event.payload.raw().is_some_and(|raw| raw.contains("\\u00"))
            && serde_json::to_vec(&*event.payload)
                .is_ok_and(|plain| matches!(self.redactor.scrub(&plain), Cow::Owned(_)));
        if escaped || matches!(self.redactor.scrub(&text), Cow::Owned(_)) {
            // The event itself, so that the view and the journal hold the same, and string by string, so that it stays
            // an event.
            hide(&self.redactor, &mut event);
            text = event.to_json();
        }
        if event.class == EventClass::RunFinished {
            let reason = match fact(dialect, &event) {
                Fact::TurnEnded(end) => Some(end.reason.into_owned()),
                _ => None,
            };
            match event.origin {
                Origin::Engine => session.record.turn.engine_ended(reason),
                Origin::Local => session.record.turn.ended(reason),
            }
        }
        live.pending.record_changed |= agent_info::fold(&mut session.record, dialect, &event);
        let changes = live.view.apply(&event);
        let journal = self.journal.as_mut();
        absorb(journal, session_id, live, &changes);
        live.changes.extend(changes);
        live.checkpoint.since += text.len();
        // What is merely due leaves when everything that came together is taken in: `settle`.
        if live.batcher.push(text, event.seq) && live.writing == Writing::AtOnce {
            self.flush(session_id);
        }
    }

    /// A ledger row to be written with the next batch.
    pub(super) fn note_ask(&mut self, session_id: &str, ask: &Ask) {
        let row = LedgerRow {
            request_id: ask.permission.request_id.clone(),
            status: ask.status,
            record: serde_json::to_vec(ask).unwrap_or_default(),
        };
        if let Some(live) = self.live_mut(session_id) {
            live.pending.ledger.push(row);
        }
    }

    /// Writes what waits of a session, then tells.
    pub(super) fn flush(&mut self, session_id: &str) {
        let now = self.now_us();
        if self.leases.elsewhere.contains(session_id) && !self.leases.ours.contains(session_id) {
            return self.flush_tabs(session_id);
        }
        let workspace = self.workspace.key.clone();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(live) = session.live.as_deref_mut() else { return };
        let mut batches = batches_of(live, now);
        if batches.is_empty() && live.pending.is_empty() {
            return;
        }
        let PendingRows { mut ledger, mut prompts, mut steps, mut tabs, record_changed } =
            std::mem::take(&mut live.pending);
        live.flushed = live.head;
        // Only when it changed: it holds the queue, which may be large, and tokens change nothing in it.
        let mut row = record_changed.then(|| session.record.row(&workspace));
        let mut told = Vec::with_capacity(batches.len());
        // One commit at least: there may be news without an event.
        loop {
            let (batch, cursor) = batches.pop_front().unzip();
            // An ask and its ledger row are one transaction. The record says how the session stands after the last event, and
            // a step may say that what was told is over, so they go with that one.
            let last = batches.is_empty();
            let commit = Commit {
                session_id: session_id.to_owned(),
                session: if last { row.take() } else { None },
                tabs: if last { std::mem::take(&mut tabs) } else { Vec::new() },
                batch,
                ledger: std::mem::take(&mut ledger),
                prompts: std::mem::take(&mut prompts),
                steps: if last { std::mem::take(&mut steps) } else { Vec::new() },
                cursor: cursor.flatten(),
                ..Commit::default()
            };
            told.extend(self.write(commit));
            if last {
                break;
            }
        }
        if record_changed {
            self.tell_queue(session_id);
        }
        self.tell(session_id, &told);
        self.checkpoint(session_id);
    }

    /// Of a session that another window works on only the tabs are ours to write.
    fn flush_tabs(&mut self, session_id: &str) {
        let Some(live) = self.live_mut(session_id) else { return };
        live.pending.record_changed = false;
        let tabs = std::mem::take(&mut live.pending.tabs);
        if !tabs.is_empty() {
            self.write(Commit { tabs, ..Commit::default() });
        }
    }

    /// After each event: batches that are due, the state if it changed, and news that did not fit before.
    pub(super) fn settle(&mut self) {
        let now = self.now_us();
        let is_due = |live: &Live| {
            live.pending.calls_for_a_batch()
                || live.batcher.due_us().map_or(live.pending.record_changed, |deadline| deadline <= now)
        };
        let due = self.sessions.loaded().filter(|(.., live)| is_due(live));
        let due: Vec<String> = due.map(|(id, ..)| id.clone()).collect();
        for session_id in due {
            self.flush(&session_id);
        }
        self.expire_asks();
        self.retain();
        self.let_go();
        self.look_at_others();
        self.settle_plain();
        self.tell_news();
    }

    /// Everything that waits, now: at shutdown and exit.
    pub(super) fn flush_all(&mut self) {
        for session_id in self.sessions.loaded_ids() {
            self.flush(&session_id);
        }
        // Also what waited for the disk, though nothing new came since.
        self.write_waiting();
    }

    /// When the next batch, or step of the retention, is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let next = self
            .sessions
            .loaded()
            .filter_map(|(.., live)| live.batcher.due_us())
            .chain(self.retention_due_us())
            .chain(self.next_expiry_us())
            .chain(self.look_due_us())
            .chain(self.plain_due_us())
            .min()?;
        Some(self.started + Duration::from_micros(next))
    }
}

/// Takes the secrets out of what an engine or the user wrote.
fn hide(redactor: &Redactor, event: &mut SessionEvent) {
    redactor.scrub_text(&mut event.id);
    redactor.scrub_name(&mut event.kind);
    redactor.scrub_map(&mut event.payload);
    if let Some(permission) = &mut event.permission {
        permission.for_each_text(|text| redactor.scrub_text(text));
    }
}

/// Puts changes into the dirty blocks, asking the journal for the place of blocks that were checkpointed before.
pub(super) fn absorb(
    journal: Option<&mut Box<dyn Journal>>,
    session_id: &str,
    live: &mut Live,
    changes: &[crate::domain::view::Change],
) {
    let mut journal = journal;
    let mut stored = |lane: Lane, id: &str| -> Option<(u64, Block)> {
        let row = journal.as_mut()?.block(session_id, lane, id).ok()??;
        Some((row.ord, serde_json::from_slice(&row.block?).ok()?))
    };
    live.dirty.absorb(changes, live.checkpoint.seq, &mut stored);
}

/// What waits to be written: each batch with the engine's place behind it, since written apart neither may name what the other
/// holds.
fn batches_of(live: &mut Live, now: u64) -> VecDeque<(BatchRow, Option<EngineCursor>)> {
    let mut batches = VecDeque::new();
    while let Some(batch) = live.batcher.take(now) {
        let mut cursor = None;
        while live.unwritten_cursors.front().is_some_and(|(seq, _)| *seq <= batch.to_seq) {
            cursor = live.unwritten_cursors.pop_front().map(|(_, cursor)| cursor).or(cursor);
        }
        let row = BatchRow { from_seq: batch.from_seq, to_seq: batch.to_seq, events: batch.events };
        batches.push_back((row, cursor));
    }
    batches
}
