//! Edits of chat documents.
//!
//! Owns how one is sent: the smallest range that changes, for the version that was read, one document an edit. Whether it was made
//! says the document (`chat_document::sync`).

use serde_json::{Value, json};

use super::PlainAsk;
use crate::app::client::ClientId;
use crate::app::state::App;
use crate::domain::edits::replace::replacement;

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

    /// Yes is not believed: the text that comes back is. No is, until the text says otherwise.
    pub(super) fn chat_edited(&mut self, client: ClientId, uri: &str, outcome: &Result<Value, Value>) {
        let said_yes = outcome.as_ref().is_ok_and(|answer| answer["applied"] == json!(true));
        if said_yes {
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
