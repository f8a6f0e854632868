//! Edits of an editor without our plugin: of its chat documents, and of files that an agent changes.
//!
//! Owns how one of a chat is sent: the smallest range that changes, for the version that was read, one document an edit. Whether one was
//! made says the document, and not the editor's answer. One of a file that was not made is offered to the user; never sent again by
//! itself, so that none is made twice.

use serde_json::{Value, json};

use super::{PlainAsk, PlainEditor};
use crate::app::client::ClientId;
use crate::app::edits::{EditDone, EditUnderWay};
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::replace::replacement;
use crate::domain::shown::{Kind, show};

/// How long the text of an edit may take to come back, in microseconds: some editors tell changes once nothing is typed.
const COMES_BACK_US: u64 = 5_000_000;

/// Edits of files whose text has not come back. An agent makes one after the other.
const AWAITED: usize = 64;

/// An edit of a file whose text has not come back.
pub(super) struct AwaitedEdit {
    /// Names it in the commands that are about it.
    pub(super) number: u64,
    pub(super) done: EditDone,
    pub(super) state: AwaitedState,
}

/// How such an edit stands.
pub(super) enum AwaitedState {
    /// The editor says that it made it.
    SaidMade {
        /// When that is not believed any more.
        until_us: u64,
    },
    /// The editor did not make it, so it waits for the user's command; its text may still come back without one.
    Offered,
}

impl PlainEditor {
    /// When the first of those that are said to be made is not believed any more.
    pub(super) fn edit_due_us(&self) -> Option<u64> {
        let due = |edit: &AwaitedEdit| match edit.state {
            AwaitedState::SaidMade { until_us } => Some(until_us),
            AwaitedState::Offered => None,
        };
        self.awaited.iter().filter_map(due).min()
    }

    /// The editor is gone: what it said it made stands there, as far as anybody knows, and nothing else is made.
    pub(in crate::app) fn leaves(self) {
        for AwaitedEdit { done, state, .. } in self.awaited {
            match state {
                AwaitedState::SaidMade { .. } => done.unsaved(),
                AwaitedState::Offered => done.reply.refuse(CodedError::new(
                    ErrorCode::Conflict,
                    "The editor was closed before it made the change, so the file is as it was.",
                )),
            }
        }
    }

    fn awaits(&mut self, done: EditDone, state: AwaitedState) {
        self.edits = self.edits.wrapping_add(1);
        self.awaited.push(AwaitedEdit { number: self.edits, done, state });
    }
}

impl App {
    pub(super) fn edit_chat(&mut self, client: ClientId, uri: &str, old: &str, new: &str) {
        let Some(editor) = self.clients.get(client) else { return };
        let version = editor.overlay.get(uri).map(|document| document.version);
        let (start, end, inserted) = replacement(old, new, editor.encoding);
        let edit = json!({ "range": Self::span((start, end)), "newText": inserted });
        let edit = if editor.abilities.document_changes {
            json!({ "documentChanges": [{ "textDocument": { "uri": uri, "version": version }, "edits": [edit] }] })
        } else {
            json!({ "changes": { uri: [edit] } })
        };
        let params = json!({ "label": "BreadBoard", "edit": edit });
        self.ask_plain(client, "workspace/applyEdit", &params, PlainAsk::Edited { uri: uri.to_owned() });
    }

    /// An editor says that it made an edit of a file. Of one without our plugin the text is awaited.
    pub(in crate::app) fn edit_said_made(&mut self, done: EditDone) {
        let until_us = self.now_us().saturating_add(COMES_BACK_US);
        let is_there = self.stands_in_editor(&done) != Some(false);
        match self.plain_mut(done.client) {
            Some(plain) if !is_there && plain.awaited.len() < AWAITED => {
                plain.awaits(done, AwaitedState::SaidMade { until_us });
            }
            Some(_) | None => self.edit_stands(done),
        }
    }

    /// Whether the editor has the text of an edit; `None`: it has told nothing of the file.
    fn stands_in_editor(&self, done: &EditDone) -> Option<bool> {
        let open = self.clients.get(done.client)?.overlay.get(&done.uri)?;
        Some(open.text == done.text.as_str())
    }

    /// An editor did not make an edit of a file. One without our plugin may take it only from a command of its user's, or ask the
    /// user first: it is offered, and nothing is sent again by itself. Any other has refused it.
    pub(in crate::app) fn edit_not_made(&mut self, done: EditDone, why: CodedError) {
        if self.stands_in_editor(&done) == Some(true) {
            return self.edit_stands(done);
        }
        let path = done.path.clone();
        let client = done.client;
        match self.plain_mut(client) {
            Some(plain) if plain.awaited.len() < AWAITED => plain.awaits(done, AwaitedState::Offered),
            Some(_) | None => return done.reply.refuse(why),
        }
        self.say_to(client, "info", &not_made(&path));
    }

    /// Edits whose text came back, or did not in time.
    pub(super) fn step_edits(&mut self, client: ClientId) {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client).filter(|plain| !plain.awaited.is_empty()) else { return };
        for AwaitedEdit { number, done, state } in std::mem::take(&mut plain.awaited) {
            let stands = self.stands_in_editor(&done);
            let state = match state {
                _ if stands == Some(true) => {
                    self.edit_stands(done);
                    continue;
                }
                // Of a file that is not open nothing comes back.
                AwaitedState::SaidMade { .. } if stands.is_none() => {
                    self.edit_stands(done);
                    continue;
                }
                _ if self.is_given_up(&done) => {
                    done.reply.refuse(CodedError::new(
                        ErrorCode::Cancelled,
                        "The turn that wanted this was stopped, so it was not done.",
                    ));
                    continue;
                }
                AwaitedState::SaidMade { until_us } if now >= until_us => {
                    self.say_to(client, "info", &not_made(&done.path));
                    AwaitedState::Offered
                }
                state @ (AwaitedState::SaidMade { .. } | AwaitedState::Offered) => state,
            };
            if let Some(plain) = self.plain_mut(client) {
                plain.awaited.push(AwaitedEdit { number, done, state });
            }
        }
    }

    /// Whether nobody waits for an edit any more.
    fn is_given_up(&self, done: &EditDone) -> bool {
        let stops = |session: &Session| session.record.turn.is_stopping();
        done.reply.is_abandoned() || self.known(&done.session_id).is_ok_and(stops)
    }

    /// The user's command: an edit that the editor did not make goes out anew, for what stands there now, or is left out.
    pub(super) fn edit_by_command(
        &mut self,
        client: ClientId,
        number: u64,
        again: bool,
    ) -> Result<(), CodedError> {
        let offered =
            |edit: &AwaitedEdit| edit.number == number && matches!(edit.state, AwaitedState::Offered);
        let at = self.plain(client).and_then(|plain| plain.awaited.iter().position(offered));
        let edit = at.and_then(|at| self.plain_mut(client).map(|plain| plain.awaited.remove(at)));
        let Some(AwaitedEdit { done, .. }) = edit else {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                "This change was made or left out meanwhile; look at the file.",
            ));
        };
        if self.stands_in_editor(&done) == Some(true) {
            self.edit_stands(done);
        } else if again {
            // It is looked at again whether the file is what the edit was made for.
            let EditDone { session_id, root, path, base_hash, text, reply, .. } = done;
            let edit = EditUnderWay { root, path, base_hash, text };
            self.apply_text(&session_id, edit, reply);
        } else {
            done.reply.refuse(CodedError::new(
                ErrorCode::Conflict,
                "The editor did not make the change, and the user left it out.",
            ));
        }
        Ok(())
    }

    /// Yes is not believed: the text that comes back is. No is, until the text says otherwise.
    pub(super) fn chat_edited(&mut self, client: ClientId, uri: &str, outcome: &Result<Value, Value>) {
        let said_yes = outcome.as_ref().is_ok_and(|answer| answer["applied"] == json!(true));
        if said_yes {
            let chat = self.chat_mut(client, uri);
            chat.and_then(|chat| chat.sync.as_mut()).into_iter().for_each(|sync| sync.accepted());
            return;
        }
        let version =
            self.clients.get(client).and_then(|client| client.overlay.get(uri)).map(|open| open.version);
        let Some(chat) = self.chat_mut(client, uri) else { return };
        if let (Some(sync), Some(version)) = (&mut chat.sync, version) {
            sync.refused(version);
        }
        chat.touch();
    }
}

/// What the user is told of an edit that was not made.
fn not_made(path: &str) -> String {
    let path = show(path, Kind::Code);
    format!(
        "The editor did not make the accepted change of `{path}`. A code action there, or in the chat document, makes it or leaves it out."
    )
}
