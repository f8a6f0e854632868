//! What keeps an editor reading.
//!
//! Owns that no request of ours comes right behind an answer, and when a word is sent to an editor that may not have read on. Some
//! clients leave what came with an answer that they waited for unread until more comes, and some drop it.

use serde_json::{Value, json};

use super::PlainEditor;
use crate::app::client::ClientId;
use crate::app::editor_asks::PendingAsk;
use crate::app::state::App;
use crate::app::wire_out;

/// After these times, in microseconds: once soon, and once more for an editor that was busy.
const AFTER_US: [u64; 2] = [250_000, 2_000_000];

/// How long a request of ours waits behind an answer, in microseconds, so that the two are not read together. Nobody sees it.
const APART_US: u64 = 60_000;

/// Requests that wait so. Each belongs to a document or a question, so it is generous; past it one goes at once.
const LATER: usize = 256;

/// A request of ours that waits for its time.
pub(super) struct LaterAsk {
    method: &'static str,
    params: Value,
    pending: PendingAsk,
    due_us: u64,
}

/// A notification that every client may ignore (LSP, "$ Notifications and Requests").
const METHOD: &str = "$/breadboard/waits";

/// When the next word is due.
#[derive(Debug, Default)]
pub(super) enum Nudge {
    /// Nothing was asked since the last one.
    #[default]
    Off,
    /// Something was asked.
    Asked,
    /// The nth is due at this time.
    Due(usize, u64),
}

impl PlainEditor {
    /// The editor is asked something.
    pub(in crate::app) fn asked(&mut self) {
        self.nudge = Nudge::Asked;
    }

    /// What waits to be asked, given back: the editor is gone, or has a surface of its own.
    pub(in crate::app) fn take_later(&mut self) -> Vec<(&'static str, Value, PendingAsk)> {
        let later = std::mem::take(&mut self.later).into_iter();
        later.map(|ask| (ask.method, ask.params, ask.pending)).collect()
    }

    pub(super) fn nudge_due_us(&self) -> Option<u64> {
        let nudge = match self.nudge {
            Nudge::Due(_, due) => Some(due),
            Nudge::Off | Nudge::Asked => None,
        };
        nudge.into_iter().chain(self.later.iter().map(|ask| ask.due_us)).min()
    }
}

impl App {
    /// A request of ours that would be read together with an answer waits; `Some`: it may go now.
    pub(in crate::app) fn apart(
        &mut self,
        client: ClientId,
        method: &'static str,
        params: &Value,
        pending: PendingAsk,
    ) -> Option<PendingAsk> {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client) else { return Some(pending) };
        let due_us = plain.answered_us.map_or(0, |at| at.saturating_add(APART_US));
        // Those that wait go first.
        if (due_us <= now && plain.later.is_empty()) || plain.later.len() >= LATER {
            return Some(pending);
        }
        plain.later.push(LaterAsk { method, params: params.clone(), pending, due_us });
        None
    }

    pub(super) fn step_later(&mut self, client: ClientId) {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client).filter(|plain| !plain.later.is_empty()) else { return };
        let due = plain.later.iter().take_while(|ask| ask.due_us <= now).count();
        let due: Vec<LaterAsk> = plain.later.drain(..due).collect();
        for LaterAsk { method, params, pending, .. } in due {
            self.ask_now(client, method, &params, pending);
        }
    }

    pub(super) fn step_nudge(&mut self, client: ClientId) {
        let now = self.now_us();
        let waits = self.clients.get(client).is_some_and(|client| !client.asks.is_empty());
        let Some(plain) = self.plain_mut(client) else { return };
        let after = |nth: usize| match AFTER_US.get(nth) {
            Some(after) => Nudge::Due(nth, now.saturating_add(*after)),
            None => Nudge::Off,
        };
        match plain.nudge {
            Nudge::Off => {}
            _ if !waits => plain.nudge = Nudge::Off,
            Nudge::Asked => plain.nudge = after(0),
            Nudge::Due(nth, due) if due <= now => {
                plain.nudge = after(nth + 1);
                let message = wire_out::notification(METHOD, &json!({}));
                let sent = self.clients.get(client).is_some_and(|client| client.push(message));
                tracing::debug!(sent, "the editor owes an answer");
            }
            Nudge::Due(..) => {}
        }
    }
}
