//! What the editor is told: events and views of attached sessions, the connection, the state, and sentences.
//!
//! Owns the way back when the editor did not read: a session then falls behind, is refilled from the journal, and its
//! view is replaced by a snapshot; nothing is lost or doubled. Never tells what is not in the journal's line. Tests:
//! `tests/loop`, `tests/e2e/stalled_editor.rs`.

use std::collections::VecDeque;

use super::journalling::from_seq_on;
use super::live::Flow;
use super::ports::BatchRow;
use super::state::App;
use super::wire_out;
use crate::domain::shown::{Kind, show};
use crate::domain::view::coalesce;
use crate::protocol::notification::{ConnectionParams, StateParams, ViewParams};
use crate::protocol::request::{ConnectionStatus, Resume, ResumeVerdict};

/// Bytes of the journal read into the outbox at a time while an editor catches up; well below the outbox' own bound, so
/// that one read never has to be thrown away.
const REFILL_BYTES: usize = 512 * 1024;

/// Gaps of one session that wait for an editor that does not read. Past it the oldest goes: its card stands in the
/// transcript.
const WAITING_GAPS: usize = 64;

/// Sentences that wait for an editor that does not read. Past it they are counted: one says how many there were.
const WAITING_SENTENCES: usize = 64;

/// Sentences for the user that wait for room in the outbox.
#[derive(Debug, Default)]
pub struct Unsaid {
    messages: VecDeque<Vec<u8>>,
    more: usize,
}

impl Unsaid {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.more == 0
    }

    fn keep(&mut self, message: Vec<u8>) {
        if self.messages.len() < WAITING_SENTENCES {
            self.messages.push_back(message);
        } else {
            self.more += 1;
        }
    }
}

impl App {
    /// `bb/events` and `bb/view` for batches that are in the journal.
    pub(super) fn tell(&mut self, session_id: &str, batches: &[BatchRow]) {
        let (outbox, hears) = (self.outbox.clone(), self.hears);
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return };
        let Some(live) = self.sessions.get_mut(session_id).and_then(|session| session.live.as_deref_mut())
        else {
            return;
        };
        let changes = coalesce(std::mem::take(&mut live.changes));
        let epoch = live.epoch.clone();
        if !live.attached {
            return;
        }
        if live.muted {
            Self::miss_batches(live, first.from_seq);
            return self.tell_tab(session_id, &changes, first.from_seq);
        }
        for batch in batches {
            if hears.events
                && live.flow == Flow::Direct
                && !outbox.push(wire_out::events(session_id, &epoch, batch))
            {
                live.flow = Flow::Behind { next_seq: batch.from_seq };
            }
        }
        let mut params = ViewParams {
            session_id: session_id.to_owned(),
            epoch,
            from_seq: first.from_seq,
            to_seq: last.to_seq,
            changes,
            snapshot: None,
        };
        if hears.view {
            live.view_stale |= live.flow != Flow::Direct;
            if !live.view_stale {
                live.view_stale = !outbox.push(wire_out::notification("bb/view", &params));
            }
        }
        self.tell_tab(session_id, &std::mem::take(&mut params.changes), first.from_seq);
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
        self.pump_all();
    }

    /// Sends from the journal until the editor is level or the outbox is full again; then a snapshot of the view.
    pub(super) fn catch_up(&mut self, session_id: &str) {
        let hears_events = self.hears.events;
        loop {
            let Some(live) = self.live_mut(session_id) else { return };
            if live.muted {
                return;
            }
            let Flow::Behind { next_seq } = live.flow else { break };
            let epoch = live.epoch.clone();
            if next_seq > live.flushed || !hears_events {
                live.flow = Flow::Direct;
                break;
            }
            let rows = self.stored_batches(session_id, next_seq, REFILL_BYTES);
            if rows.first().is_none_or(|row| row.from_seq > next_seq) {
                // The journal does not have what it was given: say so instead of going round.
                self.gap(session_id, next_seq);
                break;
            }
            for row in rows {
                let row = from_seq_on(row, next_seq);
                let pushed = self.outbox.push(wire_out::events(session_id, &epoch, &row));
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
        let Ok(view) = self.snapshot(session_id) else { return };
        // To make it, what another window wrote meanwhile may have been read: its events come first.
        if self.live_mut(session_id).is_none_or(|live| live.flow != Flow::Direct) {
            return;
        }
        let head = view.seq;
        let params = ViewParams {
            session_id: session_id.to_owned(),
            epoch: view.epoch.clone(),
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
            status: ConnectionStatus::Connected,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error: Some(format!("Events {from} to {to} could not be read from the journal.")),
            gap_detected: Some(true),
            resume: Some(Resume {
                verdict: ResumeVerdict::Lost,
                events: None,
                from: Some(from),
                to: Some(to),
                reason: Some("the journal could not be read".to_owned()),
            }),
        });
    }

    /// `bb/connection`, in order, kept when it does not fit.
    pub(super) fn connection(&mut self, mut news: ConnectionParams) {
        let reason = news.resume.as_mut().and_then(|resume| resume.reason.as_mut());
        for text in news.last_error.iter_mut().chain(reason) {
            *text = show(text, Kind::Lines).into_owned();
        }
        let is_gap = |news: &ConnectionParams| news.gap_detected == Some(true);
        let of_session = |old: &ConnectionParams| old.session_id == news.session_id;
        if is_gap(&news) {
            // Each names its own stretch, so none stands for another.
            let mut waiting = self.connection_news.iter().enumerate();
            let oldest = waiting.find(|(_, old)| of_session(old) && is_gap(old)).map(|(at, _)| at);
            let more = waiting.filter(|(_, old)| of_session(old) && is_gap(old)).count();
            if let Some(oldest) = oldest.filter(|_| more + 1 >= WAITING_GAPS) {
                self.connection_news.remove(oldest);
            }
        } else {
            // Of how a session stands only the latest is news.
            self.connection_news.retain(|old| !of_session(old) || is_gap(old));
        }
        self.connection_news.push_back(news);
    }

    /// `bb/connection` and `bb/state` that wait, as far as the outbox has room.
    pub(super) fn tell_news(&mut self) {
        self.say_rest();
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

    /// A sentence for the user, by `window/showMessage`, and into the log when the outbox is full.
    pub(super) fn say(&mut self, level: &str, text: &str) {
        let kind = match level {
            "error" => 1,
            "warning" => 2,
            _ => 3,
        };
        let params = serde_json::json!({ "type": kind, "message": show(text, Kind::Lines) });
        let message = wire_out::notification("window/showMessage", &params);
        if !self.unsaid.is_empty() || !self.outbox.push(message.clone()) {
            self.unsaid.keep(message);
        }
    }

    /// Sentences that did not fit into the outbox, as far as it has room.
    fn say_rest(&mut self) {
        while let Some(message) = self.unsaid.messages.front() {
            if !self.outbox.push(message.clone()) {
                return;
            }
            self.unsaid.messages.pop_front();
        }
        let more = std::mem::take(&mut self.unsaid.more);
        if more > 0 {
            self.say("warning", &format!("{more} more messages of breadboard-ls could not be shown, because the editor did not read them; close the files you work on and open them again."));
        }
    }

    /// What the journal noticed since it was opened.
    pub(super) fn say_of_journal(&mut self) {
        let warnings = self.journal.as_mut().map(|journal| journal.take_warnings());
        for warning in warnings.unwrap_or_default() {
            self.say("warning", &warning);
        }
    }

    /// `bb/state` as it stands.
    pub(super) fn state_params(&self) -> StateParams {
        let active = self.active.as_ref().and_then(|id| self.sessions.get(id));
        StateParams {
            sessions: self.summaries(),
            active_session_id: self.active.clone(),
            running: active.map(|session| session.record.turn.is_open()),
            pending_permission_count: active
                .map(|session| session.live.as_ref().map_or(0, |live| live.asks.len() as u64)),
        }
    }
}
