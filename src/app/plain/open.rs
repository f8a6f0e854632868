//! Opening a chat document in the editor, to write something into it.
//!
//! Owns that nothing waits for the editor's answer: that the document is open says the editor by opening it, and where it does not,
//! the answer is told without a document.

use serde_json::json;

use super::PlainAsk;
use crate::app::client::ClientId;
use crate::app::state::App;
use crate::domain::chat_document::{ChatText, is_chat};
use crate::domain::coded_error::CodedError;

/// How long an editor may take to open a document, in microseconds.
const OPENS_US: u64 = 5_000_000;

/// The document that is made where a workspace has none open.
const NAME: &str = "chat.bb.md";

/// A document that was asked to be shown.
pub(super) struct ChatOpening {
    uri: String,
    then: OnceOpen,
    origin: Option<String>,
    until_us: u64,
}

/// What is done once a chat document is open.
pub(super) enum OnceOpen {
    /// This is sent, and the answer written into it.
    Send(String),
    /// This is written into it, for the user to go on with.
    Draft(String),
    /// Nothing is sent or written.
    Nothing,
}

impl ChatOpening {
    /// When it is given up.
    pub(super) fn until_us(&self) -> u64 {
        self.until_us
    }
}

impl App {
    /// Does something in a chat document: one that is open, else one that the editor is asked to show.
    pub(super) fn in_chat(
        &mut self,
        client: ClientId,
        then: OnceOpen,
        origin: Option<String>,
    ) -> Result<(), CodedError> {
        let shows = self
            .clients
            .get(client)
            .and_then(|client| client.abilities.plain)
            .is_some_and(|able| able.show_document);
        if let Some(uri) = self.open_chat(client) {
            if shows {
                self.show_document(client, &uri);
            }
            return self.when_open(client, &uri, then, origin);
        }
        let folder = self.workspace.folders.first().map(|folder| folder.uri.trim_end_matches('/').to_owned());
        match (folder, then) {
            (Some(folder), then) if shows => {
                let uri = format!("{folder}/{NAME}");
                let until_us = self.now_us().saturating_add(OPENS_US);
                self.show_document(client, &uri);
                if let Some(plain) = self.plain_mut(client) {
                    plain.opening = Some(ChatOpening { uri, then, origin, until_us });
                }
                Ok(())
            }
            (_, OnceOpen::Send(prompt)) => self.send_without_document(client, prompt, origin),
            (_, OnceOpen::Draft(_) | OnceOpen::Nothing) => {
                self.say_to(
                    client,
                    "info",
                    "Make a file whose name ends with .bb.md and type what you want to ask; a code action sends it.",
                );
                Ok(())
            }
        }
    }

    /// The chat document that the user works in: the one that was asked in last, else any that is open.
    pub(super) fn open_chat(&self, client: ClientId) -> Option<String> {
        let editor = self.clients.get(client)?;
        let is_open = |uri: &&str| is_chat(uri);
        let open: Vec<&str> = editor.overlay.iter().map(|(uri, _)| uri).filter(is_open).collect();
        let used = open
            .iter()
            .find(|uri| editor.plain.as_ref().is_some_and(|plain| plain.chats.contains_key(**uri)));
        used.or(open.first()).map(|uri| (*uri).to_owned())
    }

    pub(super) fn show_document(&mut self, client: ClientId, uri: &str) {
        let params = json!({ "uri": uri, "external": false, "takeFocus": true });
        self.ask_plain(client, "window/showDocument", &params, PlainAsk::Told);
    }

    /// A chat document was opened, or changed.
    pub(super) fn chat_opened(&mut self, client: ClientId, uri: &str) {
        let Some(plain) = self.plain_mut(client) else { return };
        // Editors spell a URI in their own way; the name is ours.
        let Some(opening) = plain.opening.take_if(|opening| opening.uri == uri || uri.ends_with(NAME)) else {
            return;
        };
        if let Err(error) = self.when_open(client, uri, opening.then, opening.origin) {
            self.say_to(client, "error", &error.message);
        }
    }

    /// The editor did not open it in time.
    pub(super) fn opening_over(&mut self, client: ClientId) {
        let now = self.now_us();
        let Some(plain) = self.plain_mut(client) else { return };
        let Some(opening) = plain.opening.take_if(|opening| opening.until_us <= now) else { return };
        if let OnceOpen::Send(prompt) = opening.then
            && let Err(error) = self.send_without_document(client, prompt, opening.origin)
        {
            self.say_to(client, "error", &error.message);
        }
    }

    fn when_open(
        &mut self,
        client: ClientId,
        uri: &str,
        then: OnceOpen,
        origin: Option<String>,
    ) -> Result<(), CodedError> {
        match then {
            OnceOpen::Send(prompt) => self.send_chat(client, uri, Some(prompt), origin),
            OnceOpen::Draft(draft) => {
                let Some(text) = self.document_text(client, uri) else { return Ok(()) };
                let new = ChatText::read(&text).with_draft(&draft);
                self.edit_chat(client, uri, &text, &new);
                Ok(())
            }
            OnceOpen::Nothing => Ok(()),
        }
    }
}
