//! What keeps an editor reading.
//!
//! Owns when a command is answered, and when a word is sent to an editor that may not have read on. Some clients leave what came
//! right behind an answer that they waited for unread until more comes, and some drop it.

use serde_json::json;

use super::PlainEditor;
use crate::app::client::ClientId;
use crate::app::inbox::{Reply, StandardAnswer};
use crate::app::state::App;
use crate::app::wire_out;
use crate::domain::coded_error::CodedError;

/// After these times, in microseconds: once soon, and once more for an editor that was busy.
const AFTER_US: [u64; 2] = [250_000, 2_000_000];

/// How long the answer to a command waits, in microseconds, so that the edits that it leads to go first. Nobody sees it; the edits are
/// what the user waits for.
const ANSWER_US: u64 = 60_000;

/// Commands that were not answered yet. A user runs one at a time.
const ANSWERS: usize = 64;

/// An answer to a command.
pub(super) struct HeldAnswer {
    reply: Reply<StandardAnswer>,
    outcome: Result<StandardAnswer, CodedError>,
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

    pub(super) fn nudge_due_us(&self) -> Option<u64> {
        let nudge = match self.nudge {
            Nudge::Due(_, due) => Some(due),
            Nudge::Off | Nudge::Asked => None,
        };
        nudge.into_iter().chain(self.answers.iter().map(|answer| answer.due_us)).min()
    }
}

impl App {
    /// Answers a command, behind what it leads to. A refusal leads to nothing.
    pub(super) fn answer_soon(
        &mut self,
        client: ClientId,
        reply: Reply<StandardAnswer>,
        outcome: Result<StandardAnswer, CodedError>,
    ) {
        let due_us = self.now_us().saturating_add(ANSWER_US);
        match self.plain_mut(client) {
            Some(plain) if outcome.is_ok() && plain.answers.len() < ANSWERS => {
                plain.answers.push(HeldAnswer { reply, outcome, due_us });
            }
            Some(_) | None => reply.settle(outcome),
        }
    }

    pub(super) fn answer_due(&mut self, client: ClientId) {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client).filter(|plain| !plain.answers.is_empty()) else { return };
        let (due, waits) =
            std::mem::take(&mut plain.answers).into_iter().partition(|answer| answer.due_us <= now);
        plain.answers = waits;
        let due: Vec<HeldAnswer> = due;
        for HeldAnswer { reply, outcome, .. } in due {
            reply.settle(outcome);
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
