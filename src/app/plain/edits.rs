//! Edits of an editor without our plugin: of its chat documents, and of files that an agent changes.
//!
//! Owns how one of a chat is sent: the smallest range that changes, for the version that was read, one document an edit. Whether one was
//! made says the document, and not the editor's answer.

use serde_json::{Value, json};

use super::{PlainAsk, PlainEditor};
use crate::app::client::ClientId;
use crate::app::edits::EditDone;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::replace::replacement;

/// How long the text of an edit may take to come back, in microseconds: some editors tell changes once nothing is typed.
const COMES_BACK_US: u64 = 5_000_000;

/// Edits of files whose text has not come back. An agent makes one after the other.
const AWAITED: usize = 64;

/// An edit of a file that the editor says is made.
pub(super) struct AwaitedEdit {
    done: EditDone,
    until_us: u64,
}

impl PlainEditor {
    /// When the first of them is given up.
    pub(super) fn edit_due_us(&self) -> Option<u64> {
        self.awaited.iter().map(|edit| edit.until_us).min()
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
                plain.awaited.push(AwaitedEdit { done, until_us });
            }
            Some(_) | None => self.edit_stands(done),
        }
    }

    /// Whether the editor has the text of an edit; `None`: it has told nothing of the file.
    fn stands_in_editor(&self, done: &EditDone) -> Option<bool> {
        let open = self.clients.get(done.client)?.overlay.get(&done.uri)?;
        Some(open.text == done.text.as_str())
    }

    /// Edits whose text came back, or did not in time.
    pub(super) fn step_edits(&mut self, client: ClientId) {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client).filter(|plain| !plain.awaited.is_empty()) else { return };
        for edit in std::mem::take(&mut plain.awaited) {
            if self.stands_in_editor(&edit.done) != Some(false) {
                self.edit_stands(edit.done);
            } else if now >= edit.until_us {
                edit.done.reply.refuse(CodedError::new(
                    ErrorCode::Conflict,
                    "The editor said that it made the edit, and its text is another one; look at the file before you go on.",
                ));
            } else if let Some(plain) = self.plain_mut(client) {
                plain.awaited.push(edit);
            }
        }
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
