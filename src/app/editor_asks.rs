//! Requests of ours to the editor: sent, remembered, and matched with their answers.
//!
//! Owns the list of what is outstanding. Never waits: an answer is an event like any other, and one that is late or
//! unknown is ignored.

use serde_json::{Value, json};

use super::edits::{EditWait, terminal_ran};
use super::inbox::Reply;
use super::ports::CommandRan;
use super::state::App;
use super::wire_out;
use crate::protocol::{ErrorCode, WireError};

/// Requests that may be outstanding at the editor. Each belongs to a turn or to start-up, so this is generous; past it
/// the thing is done without the editor, or refused with `overloaded`.
const OUTSTANDING: usize = 256;

/// What an answer is for.
#[derive(Debug)]
pub enum PendingAsk {
    /// `client/registerCapability`.
    Registered,
    /// `workspace/configuration`.
    Configuration,
    /// `window/workDoneProgress/create`.
    ProgressCreated {
        /// Session of the turn.
        session_id: String,
        /// The token.
        token: String,
    },
    /// `workspace/applyEdit`.
    EditApplied(EditWait),
    /// `bb/terminal/run`.
    TerminalRan {
        /// Where the result goes.
        reply: Reply<CommandRan>,
    },
}

impl PendingAsk {
    /// Whether somebody still waits for the answer. Progress, settings and registrations are best effort.
    fn is_awaited(&self) -> bool {
        match self {
            Self::Registered | Self::Configuration | Self::ProgressCreated { .. } => false,
            Self::EditApplied(EditWait { reply, .. }) => !reply.is_abandoned(),
            Self::TerminalRan { reply } => !reply.is_abandoned(),
        }
    }
}

impl App {
    /// Sends a request to the editor. `false`: it could not be sent, and what waited for it was told.
    pub(super) fn ask_editor(&mut self, method: &'static str, params: &Value, pending: PendingAsk) -> bool {
        self.last_ask += 1;
        let id = format!("bb-{}", self.last_ask);
        if self.asks.len() >= OUTSTANDING {
            // An editor that never answers must not use up the places: what nobody waits for any more goes first.
            self.asks.retain(|_, pending| pending.is_awaited());
        }
        if self.asks.len() >= OUTSTANDING || !self.outbox.push(wire_out::request(&id, method, params)) {
            let error = WireError::new(
                ErrorCode::Overloaded,
                "The editor does not read what it is sent; try again when it answers.",
            );
            match pending {
                PendingAsk::EditApplied(EditWait { reply, .. }) => reply.refuse(error),
                PendingAsk::TerminalRan { reply } => reply.refuse(error),
                PendingAsk::Registered | PendingAsk::Configuration | PendingAsk::ProgressCreated { .. } => {}
            }
            return false;
        }
        self.asks.insert(id, pending);
        true
    }

    /// Requests for which nobody waits any more, because their turn was stopped: the editor is told, so that a command
    /// that it runs for us can end, and the list does not fill with an editor that never answers.
    pub(super) fn cancel_abandoned(&mut self) {
        let abandoned: Vec<String> = self
            .asks
            .iter()
            .filter(|(_, pending)| match pending {
                PendingAsk::EditApplied(EditWait { reply, .. }) => reply.is_abandoned(),
                PendingAsk::TerminalRan { reply } => reply.is_abandoned(),
                PendingAsk::Registered | PendingAsk::Configuration | PendingAsk::ProgressCreated { .. } => {
                    false
                }
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in abandoned {
            self.asks.remove(&id);
            if !self.outbox.push(wire_out::notification("$/cancelRequest", &json!({ "id": id }))) {
                tracing::debug!(id, "a cancellation did not fit into the outbox");
            }
        }
    }

    /// The editor answered.
    pub(super) fn editor_answered(&mut self, id: &str, outcome: Result<Value, Value>) {
        let Some(pending) = self.asks.remove(id) else {
            tracing::debug!(id, "an answer that nobody waits for");
            return;
        };
        match pending {
            PendingAsk::Registered => {}
            PendingAsk::Configuration => {
                let first = outcome.ok().and_then(|answer| match answer {
                    Value::Array(items) => items.into_iter().next(),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                        None
                    }
                });
                if let Some(configuration) = first.and_then(|first| serde_json::from_value(first).ok()) {
                    self.configured(&configuration);
                }
            }
            PendingAsk::ProgressCreated { session_id, token } => {
                self.progress_created(&session_id, &token, outcome.is_ok());
            }
            PendingAsk::EditApplied(wait) => self.edit_applied(wait, outcome),
            PendingAsk::TerminalRan { reply } => reply.settle(terminal_ran(outcome)),
        }
    }
}
