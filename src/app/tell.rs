//! What clients are told: events and views of the sessions that they follow, the connection, the state, and sentences.
//!
//! Owns the way back when a client did not read: it then falls behind in a session, is refilled from the journal, and its view
//! is replaced by a snapshot; nothing is lost or doubled, and no client holds back another. Never tells what is not in the
//! journal's line. Tests: `tests/loop`, `tests/e2e/stalled_editor.rs`.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::client::{Client, ClientId, Clients};
use super::journalling::from_seq_on;
use super::ports::BatchRow;
use super::state::App;
use super::subscription::{EventFlow, Subscription, ViewCopy};
use super::wire_out;
use crate::domain::shown::{Kind, show};
use crate::domain::view::coalesce;
use crate::protocol::notification::{ConnectionParams, StateParams, ViewParams};
use crate::protocol::request::{ConnectionStatus, Resume, ResumeVerdict};

/// Bytes of the journal read into the outbox at a time while a client catches up; well below the outbox' own bound, so
/// that one read never has to be thrown away.
const REFILL_BYTES: usize = 512 * 1024;

/// Gaps of one session that wait for a client that does not read. Past it the oldest goes: its card stands in the
/// transcript.
const WAITING_GAPS: usize = 64;

/// Sentences that wait for a client that does not read. Past it they are counted: one says how many there were.
const WAITING_SENTENCES: usize = 64;

/// Sentences for the user that wait for room in the outbox.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
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

impl Clients {
    /// Sends one message to those followers of a session that are picked, made once for all of them. A subscription whose
    /// outbox is full hears of it.
    fn send(
        &mut self,
        session_id: &str,
        picked: impl Fn(&Client, &Subscription) -> bool,
        make: impl FnOnce() -> Vec<u8>,
        refused: impl Fn(&mut Subscription),
    ) {
        let wants =
            |client: &Client| client.follows.get(session_id).is_some_and(|follows| picked(client, follows));
        let mut hearing: Vec<&mut Client> =
            self.iter_mut().map(|(_, client)| client).filter(|client| wants(client)).collect();
        let Some(last) = hearing.pop() else { return };
        let message = make();
        let refuse = |client: &mut Client| client.follows.get_mut(session_id).into_iter().for_each(&refused);
        for client in hearing {
            if !client.outbox.push(Cow::Borrowed(&message)) {
                refuse(client);
            }
        }
        if !last.push(message) {
            refuse(last);
        }
    }
}

impl Client {
    /// Sends one message. `false`: the outbox is full.
    pub(super) fn push(&self, message: Vec<u8>) -> bool {
        self.outbox.push(Cow::Owned(message))
    }

    /// A sentence for the user, kept when it does not fit.
    fn say(&mut self, level: &str, text: &str) {
        let kind = match level {
            "error" => 1,
            "warning" => 2,
            _ => 3,
        };
        let params = serde_json::json!({ "type": kind, "message": show(text, Kind::Lines) });
        let message = wire_out::notification("window/showMessage", &params);
        if !self.unsaid.is_empty() || !self.push(message.clone()) {
            self.unsaid.keep(message);
        }
    }

    /// Sentences that did not fit into the outbox, as far as it has room.
    fn say_rest(&mut self) {
        while let Some(message) = self.unsaid.messages.front() {
            if !self.push(message.clone()) {
                return;
            }
            self.unsaid.messages.pop_front();
        }
        let more = std::mem::take(&mut self.unsaid.more);
        if more > 0 {
            self.say("warning", &format!("{more} more messages of breadboard-ls could not be shown, because the editor did not read them; close the files you work on and open them again."));
        }
    }

    /// `bb/connection`, in order, kept when it does not fit.
    fn connection(&mut self, news: ConnectionParams) {
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

    /// What waits to be said, as far as the outbox has room. Whether all of it went.
    fn tell_rest(&mut self) -> bool {
        self.say_rest();
        // A plain editor does not know what this is; it is there for one that begins to use `bb/*` after all.
        if self.plain.is_some() {
            return true;
        }
        while let Some(news) = self.connection_news.front() {
            if !self.push(wire_out::told(news)) {
                return false;
            }
            self.connection_news.pop_front();
        }
        true
    }
}

impl App {
    /// `bb/events` and `bb/view` for batches that are in the journal, to all who follow the session.
    pub(super) fn tell(&mut self, session_id: &str, batches: &[BatchRow]) {
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return };
        let Some(live) = self.live_mut(session_id) else { return };
        let changes = coalesce(std::mem::take(&mut live.changes));
        let epoch = live.epoch.clone();
        for follows in self.clients.followers_mut(session_id).filter(|follows| !follows.is_present()) {
            follows.miss(first.from_seq);
        }
        for batch in batches {
            self.clients.send(
                session_id,
                |client, follows| {
                    client.hears.events && follows.is_present() && follows.events == EventFlow::Direct
                },
                || wire_out::events(session_id, &epoch, batch),
                |follows| follows.events = EventFlow::Behind { next_seq: batch.from_seq },
            );
        }
        let params = ViewParams {
            session_id: session_id.to_owned(),
            epoch,
            from_seq: first.from_seq,
            to_seq: last.to_seq,
            changes,
            snapshot: None,
        };
        for (_, client) in self.clients.iter_mut().filter(|(_, client)| client.hears.view) {
            let follows = client.follows.get_mut(session_id).filter(|follows| follows.is_present());
            if let Some(follows) = follows.filter(|follows| follows.events != EventFlow::Direct) {
                follows.view = ViewCopy::Stale;
            }
        }
        self.clients.send(
            session_id,
            |client, follows| client.hears.view && follows.is_present() && follows.view == ViewCopy::Current,
            || wire_out::told(&params),
            |follows| follows.view = ViewCopy::Stale,
        );
        self.plain_hears(session_id, &params.changes);
        self.tell_tabs(session_id, &params.changes, first.from_seq);
    }

    /// The outbox of a client has room: sessions in which it fell behind are read on from the journal.
    pub(super) fn on_outbox_drained(&mut self, client: ClientId) {
        let Some(drained) = self.clients.get(client) else { return };
        for session_id in drained.follows.keys().cloned().collect::<Vec<_>>() {
            self.catch_up(client, &session_id);
        }
        self.pump_all(client);
    }

    /// Everyone who has not been told all of a session reads on.
    pub(super) fn catch_up_all(&mut self, session_id: &str) {
        for client in self.clients.behind(session_id) {
            self.catch_up(client, session_id);
        }
    }

    /// Sends from the journal until the client is level or its outbox is full again; then a snapshot of the view.
    pub(super) fn catch_up(&mut self, client: ClientId, session_id: &str) {
        let Some(hears_events) = self.clients.get(client).map(|client| client.hears.events) else { return };
        loop {
            let Some(live) = self.live_mut(session_id) else { return };
            let (flushed, epoch) = (live.flushed, live.epoch.clone());
            let Some(follows) = self.clients.subscription(client, session_id) else { return };
            if !follows.is_present() {
                return;
            }
            let EventFlow::Behind { next_seq } = follows.events else { break };
            if next_seq > flushed || !hears_events {
                follows.events = EventFlow::Direct;
                break;
            }
            let rows = self.stored_batches(session_id, next_seq, REFILL_BYTES);
            if rows.first().is_none_or(|row| row.from_seq > next_seq) {
                // The journal does not have what it was given: say so instead of going round.
                self.gap(client, session_id, next_seq);
                break;
            }
            for row in rows {
                let row = from_seq_on(row, next_seq);
                let Some(behind) = self.clients.get_mut(client) else { return };
                if !behind.push(wire_out::events(session_id, &epoch, &row)) {
                    return;
                }
                let Some(follows) = behind.follows.get_mut(session_id) else { return };
                follows.events = EventFlow::Behind { next_seq: row.to_seq + 1 };
            }
        }
        self.refresh_view(client, session_id);
    }

    fn refresh_view(&mut self, client: ClientId, session_id: &str) {
        let hears_view = self.clients.get(client).is_some_and(|client| client.hears.view);
        let mut stale = || {
            let follows = self.clients.subscription(client, session_id);
            follows.is_some_and(|follows| follows.view == ViewCopy::Stale)
        };
        if !hears_view || !stale() {
            return;
        }
        // The snapshot stands at the head, so everything up to the head has to be told first.
        self.flush(session_id);
        if !self.is_level(client, session_id) {
            return;
        }
        let Ok(view) = self.snapshot(session_id) else { return };
        // To make it, what another window wrote meanwhile may have been read: its events come first.
        if !self.is_level(client, session_id) {
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
        let Some(told) = self.clients.get_mut(client) else { return };
        let sent = told.push(wire_out::told(&params));
        if let Some(follows) = told.follows.get_mut(session_id) {
            follows.view = if sent { ViewCopy::Current } else { ViewCopy::Stale };
        }
    }

    /// Whether a client was sent every event of a session that there is to send.
    fn is_level(&mut self, client: ClientId, session_id: &str) -> bool {
        let follows = self.clients.subscription(client, session_id);
        follows.is_some_and(|follows| follows.events == EventFlow::Direct)
    }

    /// The journal lacks events it should have; the client is told, and goes on from the head.
    fn gap(&mut self, client: ClientId, session_id: &str, from: u64) {
        let Some(to) = self.live_mut(session_id).map(|live| live.flushed) else { return };
        if let Some(follows) = self.clients.subscription(client, session_id) {
            follows.events = EventFlow::Direct;
            follows.view = ViewCopy::Stale;
        }
        let news = ConnectionParams {
            status: ConnectionStatus::Connected,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error: Some(format!("Events {from} to {to} could not be read from the journal.")),
            cause: None,
            gap_detected: Some(true),
            resume: Some(Resume {
                verdict: ResumeVerdict::Lost,
                events: None,
                from: Some(from),
                to: Some(to),
                reason: Some("the journal could not be read".to_owned()),
            }),
        };
        self.connection_to(client, news);
    }

    /// `bb/connection` to every client.
    pub(super) fn connection(&mut self, news: ConnectionParams) {
        let news = readable(news);
        for (_, client) in self.clients.iter_mut() {
            client.connection(news.clone());
        }
    }

    /// `bb/connection` to one client.
    pub(super) fn connection_to(&mut self, client: ClientId, news: ConnectionParams) {
        if let Some(client) = self.clients.get_mut(client) {
            client.connection(readable(news));
        }
    }

    /// What waits to be said, and `bb/state` where it changed, as far as each outbox has room.
    pub(super) fn tell_news(&mut self) {
        let changed = std::mem::take(&mut self.state_changed);
        let mut uninformed = Vec::new();
        for (id, client) in self.clients.iter_mut() {
            client.state_changed |= changed;
            if client.tell_rest() && client.greeted && client.state_changed {
                uninformed.push(id);
            }
        }
        for id in uninformed {
            let message = wire_out::told(&self.state_params(id));
            if let Some(client) = self.clients.get_mut(id) {
                client.state_changed = !client.push(message);
            }
        }
    }

    /// A sentence for the user, by `window/showMessage`, in every window.
    pub(super) fn say(&mut self, level: &str, text: &str) {
        for (_, client) in self.clients.iter_mut() {
            client.say(level, text);
        }
    }

    /// A sentence for the user of one window.
    pub(super) fn say_to(&mut self, client: ClientId, level: &str, text: &str) {
        if let Some(client) = self.clients.get_mut(client) {
            client.say(level, text);
        }
    }

    /// What the journal noticed since it was opened.
    pub(super) fn say_of_journal(&mut self) {
        let warnings = self.journal.as_mut().map(|journal| journal.take_warnings());
        for warning in warnings.unwrap_or_default() {
            self.say("warning", &warning);
        }
    }

    /// `bb/state` as it stands for a client.
    fn state_params(&self, client: ClientId) -> StateParams {
        let front = self.clients.get(client).and_then(|client| client.active.clone());
        let active = front.as_ref().and_then(|id| self.sessions.get(id));
        StateParams {
            sessions: self.summaries(),
            running: active.map(|session| session.record.turn.is_open()),
            pending_permission_count: active
                .map(|session| session.live.as_ref().map_or(0, |live| live.asks.len() as u64)),
            active_session_id: front,
        }
    }
}

/// News whose sentences hide nothing.
fn readable(mut news: ConnectionParams) -> ConnectionParams {
    let reason = news.resume.as_mut().and_then(|resume| resume.reason.as_mut());
    for text in news.last_error.iter_mut().chain(reason) {
        *text = show(text, Kind::Lines).into_owned();
    }
    news
}
