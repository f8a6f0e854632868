//! Requests of ours to a client: sent, remembered, and matched with their answers.
//!
//! Owns what is outstanding at each, and what becomes of it when the client leaves. Never waits: an answer is an event like any
//! other, and one that is late or unknown is ignored.

use serde_json::{Value, json};

use super::client::{Client, ClientId};
use super::command_run::terminal_ran;
use super::context::provided;
use super::edits::EditDone;
use super::inbox::Reply;
use super::plain::PlainAsk;
use super::ports::CommandRan;
use super::saves::SaveFirst;
use super::state::App;
use super::wire_out;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::context::shape::UserContext;
use crate::protocol::server_message::ServerRequest;

/// Requests that may be outstanding at one client. Each belongs to a turn or to start-up, so this is generous; past it
/// the thing is done without the editor, or refused with `overloaded`.
const OUTSTANDING: usize = 256;

/// What an answer is for.
#[derive(Debug)]
pub(super) enum PendingAsk {
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
    EditApplied(Box<EditDone>),
    /// `bb/document/save`, after an edit.
    EditSaved(Box<EditDone>),
    /// `bb/document/save`, before a command.
    SavedFirst(Box<SaveFirst>),
    /// `bb/context/provide`.
    ContextProvided {
        /// Who waits for it, and for how long only he knows.
        reply: Reply<UserContext>,
    },
    /// What an editor without our plugin is asked by LSP alone.
    Plain(PlainAsk),
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
            Self::Plain(ask) => ask.is_awaited(),
            Self::EditApplied(edit) | Self::EditSaved(edit) => !edit.reply.is_abandoned(),
            Self::SavedFirst(_) => true,
            Self::ContextProvided { reply } => !reply.is_abandoned(),
            Self::TerminalRan { reply } => !reply.is_abandoned(),
        }
    }

    /// The client left before it answered. What nobody but the loop can tell of it comes back.
    pub(super) fn withdraw(self) -> Option<SaveFirst> {
        match self {
            Self::Registered | Self::Configuration | Self::ProgressCreated { .. } | Self::Plain(_) => {}
            Self::EditSaved(edit) => edit.unsaved(),
            Self::SavedFirst(first) => return Some(*first),
            Self::EditApplied(edit) => edit.reply.refuse(CodedError::new(
                ErrorCode::Conflict,
                "The editor that was to apply the edit disconnected before it said whether it did; read the file again before \
                 you go on.",
            )),
            Self::ContextProvided { reply } => reply.refuse(CodedError::internal()),
            Self::TerminalRan { reply } => reply.refuse(CodedError::new(
                ErrorCode::EngineRejected,
                "The editor that ran the command disconnected before it ended, so it is not known how it ended; look at what it \
                 did before you run it again.",
            )),
        }
        None
    }
}

impl App {
    /// Sends a request of ours to a client.
    pub(super) fn ask_client<M: ServerRequest>(&mut self, client: ClientId, params: &M, pending: PendingAsk) {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.ask_editor(client, M::METHOD, &params, pending);
    }

    /// Sends a request to a client; where it cannot be sent, what waits for it is told.
    pub(super) fn ask_editor(
        &mut self,
        client: ClientId,
        method: &'static str,
        params: &Value,
        pending: PendingAsk,
    ) {
        if let Some(pending) = self.apart(client, method, params, pending) {
            self.ask_now(client, method, params, pending);
        }
    }

    /// The same, at once.
    pub(super) fn ask_now(
        &mut self,
        client: ClientId,
        method: &'static str,
        params: &Value,
        pending: PendingAsk,
    ) {
        let unasked = match self.clients.get_mut(client) {
            Some(client) => client.ask(method, params, pending),
            None => pending.withdraw(),
        };
        if let Some(first) = unasked {
            self.not_saved(&first);
        }
    }
}

impl Client {
    /// What nobody but the loop can tell of one that cannot be sent comes back.
    pub(super) fn ask(
        &mut self,
        method: &'static str,
        params: &Value,
        pending: PendingAsk,
    ) -> Option<SaveFirst> {
        self.last_ask += 1;
        let id = format!("bb-{}", self.last_ask);
        if self.asks.len() >= OUTSTANDING {
            // An editor that never answers must not use up the places: what nobody waits for any more goes first.
            self.asks.retain(|_, pending| pending.is_awaited());
        }
        if self.asks.len() >= OUTSTANDING || !self.push(wire_out::request(&id, method, params)) {
            let error = CodedError::new(
                ErrorCode::Overloaded,
                "The editor does not read what it is sent; try again when it answers.",
            );
            match pending {
                PendingAsk::EditApplied(edit) => edit.reply.refuse(error),
                PendingAsk::EditSaved(edit) => edit.unsaved(),
                PendingAsk::SavedFirst(first) => return Some(*first),
                PendingAsk::ContextProvided { reply } => reply.refuse(error),
                PendingAsk::TerminalRan { reply } => reply.refuse(error),
                PendingAsk::Registered
                | PendingAsk::Configuration
                | PendingAsk::ProgressCreated { .. }
                | PendingAsk::Plain(_) => {}
            }
            return None;
        }
        self.asks.insert(id, pending);
        if let Some(plain) = &mut self.plain {
            plain.asked();
        }
        None
    }

    /// Requests for which nobody waits any more, because their turn was stopped: the editor is told, so that a command
    /// that it runs for us can end, and the list does not fill with an editor that never answers.
    fn cancel_abandoned(&mut self) {
        let abandoned: Vec<String> = self
            .asks
            .iter()
            .filter(|(_, pending)| match pending {
                PendingAsk::EditApplied(edit) | PendingAsk::EditSaved(edit) => edit.reply.is_abandoned(),
                PendingAsk::ContextProvided { reply } => reply.is_abandoned(),
                PendingAsk::TerminalRan { reply } => reply.is_abandoned(),
                PendingAsk::SavedFirst(_)
                | PendingAsk::Plain(_)
                | PendingAsk::Registered
                | PendingAsk::Configuration
                | PendingAsk::ProgressCreated { .. } => false,
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in abandoned {
            self.asks.remove(&id);
            if !self.push(wire_out::notification("$/cancelRequest", &json!({ "id": id }))) {
                tracing::debug!(id, "a cancellation did not fit into the outbox");
            }
        }
    }

    /// A turn is stopped: what it edits is not waited for any more, so that what it wrote before can be taken back.
    fn cancel_edits_of(&mut self, session_id: &str) {
        let is_edit = |pending: &mut PendingAsk| match pending {
            PendingAsk::EditApplied(edit) | PendingAsk::EditSaved(edit) => edit.session_id == session_id,
            PendingAsk::SavedFirst(_)
            | PendingAsk::Plain(_)
            | PendingAsk::Registered
            | PendingAsk::Configuration
            | PendingAsk::ProgressCreated { .. }
            | PendingAsk::ContextProvided { .. }
            | PendingAsk::TerminalRan { .. } => false,
        };
        let ids: Vec<String> =
            self.asks.iter_mut().filter_map(|(id, pending)| is_edit(pending).then(|| id.clone())).collect();
        for id in ids {
            match self.asks.remove(&id) {
                Some(PendingAsk::EditApplied(edit)) => edit.reply.refuse(CodedError::new(
                    ErrorCode::Conflict,
                    "The turn was stopped before the editor said whether it made the edit; look at the file.",
                )),
                Some(PendingAsk::EditSaved(edit)) => edit.unsaved(),
                Some(_) | None => {}
            }
            if !self.push(wire_out::notification("$/cancelRequest", &json!({ "id": id }))) {
                tracing::debug!(id, "a cancellation did not fit into the outbox");
            }
        }
    }

    /// The client left: what waits for it is told. What nobody but the loop can tell comes back.
    pub(super) fn withdraw_asks(&mut self) -> Vec<SaveFirst> {
        let later = self.plain.iter_mut().flat_map(|plain| plain.take_later()).map(|(.., pending)| pending);
        let asked = std::mem::take(&mut self.asks).into_values();
        asked.chain(later).filter_map(PendingAsk::withdraw).collect()
    }
}

impl App {
    /// Requests for which nobody waits any more, at every client.
    pub(super) fn cancel_abandoned(&mut self) {
        for (_, client) in self.clients.iter_mut() {
            client.cancel_abandoned();
        }
    }

    /// A turn of our own agent is stopped: what it edits is not waited for any more.
    pub(super) fn cancel_edits_of(&mut self, session_id: &str) {
        for (_, client) in self.clients.iter_mut() {
            client.cancel_edits_of(session_id);
        }
    }

    /// A client answered.
    pub(super) fn editor_answered(&mut self, client: ClientId, id: &str, outcome: Result<Value, Value>) {
        let asked = self.clients.get_mut(client);
        let Some(pending) = asked.and_then(|client| client.asks.remove(id)) else {
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
                self.progress_created(client, &session_id, &token, outcome);
            }
            PendingAsk::EditApplied(edit) => self.edit_applied(*edit, outcome),
            PendingAsk::EditSaved(edit) => self.edit_saved(*edit, &outcome),
            PendingAsk::SavedFirst(first) => self.saved_first(*first, &outcome),
            PendingAsk::ContextProvided { reply } => reply.settle(provided(outcome)),
            PendingAsk::Plain(ask) => self.plain_answered(client, ask, &outcome),
            PendingAsk::TerminalRan { reply } => reply.settle(terminal_ran(outcome)),
        }
    }
}
