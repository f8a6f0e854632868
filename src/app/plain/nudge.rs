//! A word to an editor that may not have read on.
//!
//! Owns when it is sent. Some clients stop reading what came with the answer that they waited for, until more comes: a question of ours
//! right behind such an answer would lie there for ever.

use serde_json::json;

use super::PlainEditor;
use crate::app::client::ClientId;
use crate::app::state::App;
use crate::app::wire_out;

/// After these times, in microseconds: once soon, and once more for an editor that was busy.
const AFTER_US: [u64; 2] = [250_000, 2_000_000];

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

    pub(super) fn nudge_due_us(&self) -> Option<u64> {
        match self.nudge {
            Nudge::Due(_, due) => Some(due),
            Nudge::Off | Nudge::Asked => None,
        }
    }
}

impl App {
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
