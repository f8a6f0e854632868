//! Editors that know nothing of us: a whole turn by LSP alone, by what they announced and never by their names (decision 0024).
//!
//! Owns what such an editor has instead of a plugin: its chats, the one prompt that is in front of its user, and what was marked in
//! its documents. An editor that announces `experimental.breadboard`, or sends any `bb/*` request, has none of it.

mod approvals;
mod chat;
mod chats;
mod commands;
mod completion;
mod edits;
mod marks;
mod nudge;
mod offered_edits;
mod offers;
mod open;
mod places;
mod undo;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::approvals::PromptShown;
use self::chat::PlainChat;
pub(in crate::app) use self::completion::KnownPaths;
pub(crate) use self::completion::{PathsWanted, SYMBOLS, SymbolsWanted};
use self::edits::AwaitedEdit;
use self::marks::PlacedMark;
use self::nudge::{LaterAsk, Nudge};
use self::open::ChatOpening;
use self::undo::PlainUndo;
use super::client::ClientId;
use super::inbox::{Reply, StandardAnswer, StandardRequest};
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};

/// How long after a command of the user's an editor surely takes an edit, in microseconds. One editor gives two seconds.
const COMMAND_US: u64 = 1_500_000;

/// What an editor has instead of a plugin of ours.
#[derive(Default)]
pub(super) struct PlainEditor {
    /// By URI of their documents; under the empty one what was asked where no document can be shown.
    chats: BTreeMap<String, PlainChat>,
    /// When the user ran a command of ours last.
    commanded_us: Option<u64>,
    /// The document that was asked to be shown, and what is to be written there.
    opening: Option<ChatOpening>,
    /// The question in front of the user.
    prompt: PromptShown,
    /// An undo, as far as it is.
    undo: PlainUndo,
    /// Requests that were in front of the user, and wait on as offers.
    prompted: BTreeSet<String>,
    /// What is marked, by document.
    marks: BTreeMap<String, Vec<PlacedMark>>,
    /// Edits of files that it says it made, or has not made.
    awaited: Vec<AwaitedEdit>,
    /// How many edits were awaited; numbers them.
    edits: u64,
    /// When it was answered last.
    answered_us: Option<u64>,
    /// What is asked of it in a moment.
    later: Vec<LaterAsk>,
    /// Whether it may not have read on.
    nudge: Nudge,
    /// What lenses and hints say, as far as the editor was told to ask again.
    told: u64,
}

/// A request of ours to such an editor.
#[derive(Debug)]
pub(super) enum PlainAsk {
    /// `workspace/applyEdit` of a chat document.
    Edited {
        /// Its URI.
        uri: String,
    },
    /// `window/showMessageRequest`.
    Prompted {
        /// The request that is asked about.
        request_id: String,
    },
    /// `window/showMessageRequest` about an undo.
    Undo,
    /// `window/showDocument`, or that lenses are to be asked for again: whatever the answer is, nothing comes of it.
    Told,
}

impl PlainAsk {
    /// Whether somebody still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        match self {
            Self::Edited { .. } | Self::Prompted { .. } | Self::Undo => true,
            Self::Told => false,
        }
    }
}

impl App {
    /// A request of standard LSP. Of an editor with a plugin of ours nothing is offered twice.
    pub(super) fn on_standard(
        &mut self,
        client: ClientId,
        request: StandardRequest,
        reply: Reply<StandardAnswer>,
    ) {
        if reply.is_abandoned() {
            return;
        }
        if self.plain(client).is_none() {
            return reply.settle(match request {
                StandardRequest::Actions { .. } | StandardRequest::Lenses { .. } => {
                    Ok(StandardAnswer::Offers(Vec::new()))
                }
                StandardRequest::Hints { .. } => Ok(StandardAnswer::Hints(Vec::new())),
                StandardRequest::Words { .. } => Ok(StandardAnswer::Words(Vec::new())),
                StandardRequest::Execute { .. } => Err(CodedError::new(
                    ErrorCode::Unsupported,
                    "This editor has a plugin of breadboard-ls; use what the plugin offers.",
                )),
            });
        }
        let now = self.now_us();
        if let Some(plain) = self.plain_mut(client) {
            plain.answered_us = Some(now);
        }
        match request {
            StandardRequest::Actions { uri, range, problems } => {
                reply.answer(StandardAnswer::Offers(self.actions(client, &uri, range, &problems)));
            }
            StandardRequest::Lenses { uri } => {
                reply.answer(StandardAnswer::Offers(self.lenses(client, &uri)));
            }
            StandardRequest::Hints { uri } => reply.answer(StandardAnswer::Hints(self.hints(client, &uri))),
            StandardRequest::Words { uri, at } => self.words(client, &uri, at, reply),
            StandardRequest::Execute { command, argument } => {
                if let Some(plain) = self.plain_mut(client) {
                    plain.commanded_us = Some(now);
                    plain.chats.values_mut().for_each(PlainChat::commanded);
                }
                reply.settle(self.execute(client, &command, &argument).map(|()| StandardAnswer::Begun));
            }
        }
    }

    /// An editor without our plugin answered a request of ours.
    pub(super) fn plain_answered(&mut self, client: ClientId, ask: PlainAsk, outcome: &Result<Value, Value>) {
        match ask {
            PlainAsk::Edited { uri } => self.chat_edited(client, &uri, outcome),
            PlainAsk::Prompted { request_id } => self.prompt_answered(client, &request_id, outcome),
            PlainAsk::Undo => self.undo_answered(client, outcome),
            PlainAsk::Told => {}
        }
    }

    /// Whether an editor has no plugin of ours.
    pub(super) fn is_plain(&self, client: ClientId) -> bool {
        self.plain(client).is_some()
    }

    fn plain(&self, client: ClientId) -> Option<&PlainEditor> {
        self.clients.get(client)?.plain.as_deref()
    }

    fn plain_mut(&mut self, client: ClientId) -> Option<&mut PlainEditor> {
        self.clients.get_mut(client)?.plain.as_deref_mut()
    }

    fn chat(&self, client: ClientId, uri: &str) -> Option<&PlainChat> {
        self.plain(client)?.chats.get(uri)
    }

    fn chat_mut(&mut self, client: ClientId, uri: &str) -> Option<&mut PlainChat> {
        self.plain_mut(client)?.chats.get_mut(uri)
    }

    fn plain_clients(&self) -> Vec<ClientId> {
        self.clients.iter().filter(|(_, client)| client.plain.is_some()).map(|(id, _)| id).collect()
    }

    /// After each event: documents that lag behind, questions, marks.
    pub(super) fn settle_plain(&mut self) {
        for client in self.plain_clients() {
            self.step_later(client);
            if self.plain(client).is_some_and(PlainEditor::is_idle) {
                continue;
            }
            self.opening_over(client);
            self.step_edits(client);
            self.step_chats(client);
            self.step_prompt(client);
            self.step_marks(client);
            self.step_nudge(client);
        }
    }

    /// When something of it is due, in microseconds of the loop's clock.
    pub(super) fn plain_due_us(&self) -> Option<u64> {
        let editors = self.clients.iter().filter_map(|(_, client)| client.plain.as_deref());
        editors
            .flat_map(|plain| {
                let chats = plain.chats.values().filter_map(PlainChat::due_us);
                chats
                    .chain(plain.opening.as_ref().map(ChatOpening::until_us))
                    .chain(plain.edit_due_us())
                    .chain(plain.nudge_due_us())
            })
            .min()
    }
}

impl PlainEditor {
    /// Whether nothing was asked in it.
    fn is_idle(&self) -> bool {
        self.chats.is_empty() && self.opening.is_none()
    }
}
