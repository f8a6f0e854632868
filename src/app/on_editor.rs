//! What happens on standard LSP traffic: documents, folders, settings, answers. Start is in `load`, trust in `on_client`.

use std::sync::Arc;

use serde_json::json;

use super::client::{Client, ClientId};
use super::editor_asks::PendingAsk;
use super::inbox::{DocumentEvent, EditorEvent, Folder, WhyLost};
use super::ports::EngineCall;
use super::state::App;
use crate::domain::chat_document::is_chat;
use crate::domain::edits::overlay::{ChangeRefused, Overlay};
use crate::domain::edits::watched_file::{WatchedFile, WatchedFileChange};
use crate::protocol::settings::WorkspaceConfiguration;

/// Bytes of all open buffers of a client together. Hundreds of large sources fit; what is beyond is read from the disk, and
/// that is said.
const OVERLAY_BYTES: usize = 64 << 20;

const TOO_MUCH: &str = "the open files have more than 64 MiB together";

/// Said where it is not known which file it is.
const UNNAMED: &str = "A message about a file could not be taken, and it does not say which file; the saved files are used instead of what is open. Close the open files and open them again.";

/// Buffers that the user is told of one by one. Nobody reads more sentences of the kind: the last one says that there are
/// further files, and the log names each.
const UNKNOWN_BUFFERS: usize = 4_096;

/// Gives folders of one name different ones: an ask names its folder by the name alone.
pub(super) fn tell_apart(folders: &mut [Folder]) {
    for at in 1..folders.len() {
        let (before, rest) = folders.split_at_mut(at);
        let Some(folder) = rest.first_mut() else { return };
        let taken = |name: &str| before.iter().any(|other| other.name == name);
        let given = folder.name.clone();
        let mut number = 2_usize;
        while taken(&folder.name) {
            folder.name = format!("{given}-{number}");
            number += 1;
        }
    }
}

impl App {
    pub(super) fn on_editor(&mut self, client: ClientId, event: EditorEvent) {
        match event {
            EditorEvent::Initialize(start) => self.start_up(client, *start),
            EditorEvent::Initialized => self.initialized(client),
            EditorEvent::Document(event) => self.on_document(client, event),
            EditorEvent::FilesChanged(changes) => self.files_changed(client, changes),
            EditorEvent::FoldersChanged { added, removed } => self.folders_changed(client, added, &removed),
            EditorEvent::Configuration(configuration) => self.configured(&configuration),
            EditorEvent::ConfigurationChanged => self.ask_configuration(client),
            EditorEvent::WorkspaceTrust { trusted } => self.trust(client, trusted),
            EditorEvent::ProgressCancelled { token } => self.progress_cancelled(client, &token),
            EditorEvent::Answered { id, outcome } => self.editor_answered(client, &id, outcome),
        }
    }

    fn initialized(&mut self, client: ClientId) {
        if self.clients.get(client).is_some_and(|client| client.abilities.register_configuration) {
            let params = json!({ "registrations": [{
                "id": "breadboard-configuration",
                "method": "workspace/didChangeConfiguration",
                "registerOptions": { "section": "breadboard" },
            }]});
            self.ask_editor(client, "client/registerCapability", &params, PendingAsk::Registered);
        }
        self.watch_files(client);
        self.ask_configuration(client);
    }

    fn ask_configuration(&mut self, client: ClientId) {
        if self.clients.get(client).is_some_and(|client| client.abilities.configuration) {
            let params = json!({ "items": [{ "section": "breadboard" }] });
            self.ask_editor(client, "workspace/configuration", &params, PendingAsk::Configuration);
        }
    }

    /// Only harmless keys: in most editors this includes files of the repository.
    pub(super) fn configured(&mut self, configuration: &WorkspaceConfiguration) {
        let Some(setting) = &configuration.delivery else { return };
        self.batching.set = self.settings.delivery.with(setting);
        self.batch();
    }

    /// The workspace is that of the client which opened it; where that one has left, of the one that has news of it.
    fn folders_changed(&mut self, client: ClientId, added: Vec<Folder>, removed: &[String]) {
        let opener = self.workspace.opener.filter(|opener| self.clients.get(*opener).is_some());
        if opener.is_some_and(|opener| opener != client) {
            return;
        }
        self.workspace.opener = Some(client);
        self.workspace.folders.retain(|folder| !removed.contains(&folder.uri));
        for folder in added {
            if !self.workspace.folders.iter().any(|known| known.uri == folder.uri) {
                self.workspace.folders.push(folder);
            }
        }
        tell_apart(&mut self.workspace.folders);
        // Sessions stay with the workspace they were begun in; only where files are looked for changes.
        self.files.set_folders(&self.workspace.folders);
        for engine in self.engines() {
            engine.call(EngineCall::SetFolders(self.workspace.folders.clone()));
        }
        if let Some(mcp) = &self.mcp {
            mcp.set_folders(&self.workspace.folders);
        }
    }

    fn on_document(&mut self, id: ClientId, event: DocumentEvent) {
        if let DocumentEvent::Saved { uri } | DocumentEvent::Closed { uri } = &event {
            self.unsaved.saved(id, uri);
        }
        if let DocumentEvent::Saved { uri } = &event {
            self.turn_saw_save(uri);
            let saved = WatchedFile { uri: uri.clone(), kind: WatchedFileChange::Modified };
            self.files_changed(id, vec![saved]);
        }
        self.clients.buffers_changed();
        let named = event.uri().map(str::to_owned);
        let Some(client) = self.clients.get_mut(id) else { return };
        match taken(client, event) {
            GivenUp::Nothing => {}
            GivenUp::Buffer(uri, why) => self.give_up_buffer(id, uri, why),
            GivenUp::Unnamed => self.say_to(id, "warning", UNNAMED),
        }
        if let Some(uri) = named {
            self.plain_document_changed(id, &uri);
        }
    }

    /// The text of a buffer is not known any more. The user is told once, until the file is opened again or closed.
    fn give_up_buffer(&mut self, id: ClientId, uri: String, why: &str) {
        tracing::warn!(uri, why, "a buffer was given up");
        let Some(client) = self.clients.get_mut(id) else { return };
        if client.unknown_buffers.len() >= UNKNOWN_BUFFERS || !client.unknown_buffers.insert(uri.clone()) {
            return;
        }
        let more = if client.unknown_buffers.len() == UNKNOWN_BUFFERS {
            " So it is with further files, which the log names."
        } else {
            ""
        };
        // A chat is what is typed in it: its saved file stands in for nothing.
        let text = if is_chat(&uri) {
            format!(
                "The chat {uri} cannot be followed any more, because {why}; save it, close it and open it again.{more}"
            )
        } else {
            format!(
                "The saved file is used for {uri} instead of what is open, because {why}; save it, or close and open it again.{more}"
            )
        };
        self.say_to(id, "warning", &text);
    }
}

/// What is not known any more after an event, of which the user has not heard.
enum GivenUp {
    Nothing,
    /// This buffer, for this reason.
    Buffer(String, &'static str),
    /// Some buffer: the message did not say which.
    Unnamed,
}

/// Takes an event into what is known of a client's buffers.
fn taken(client: &mut Client, event: DocumentEvent) -> GivenUp {
    let overlay = Arc::make_mut(&mut client.overlay);
    match event {
        DocumentEvent::Opened { uri, language_id, version, text } => {
            overlay.close(&uri);
            client.unknown_buffers.remove(&uri);
            if overlay.bytes() + text.len() > OVERLAY_BYTES {
                overlay.give_up(&uri);
                return GivenUp::Buffer(uri, TOO_MUCH);
            }
            overlay.open(&uri, &language_id, version, &text);
        }
        DocumentEvent::Changed { uri, version, changes } => {
            let change = overlay.change(&uri, version, &changes, client.encoding);
            if let Some(why) = after_change(overlay, &uri, change) {
                return GivenUp::Buffer(uri, why);
            }
        }
        DocumentEvent::Saved { uri } => overlay.saved(&uri),
        DocumentEvent::Closed { uri } => {
            overlay.close(&uri);
            client.unknown_buffers.remove(&uri);
        }
        DocumentEvent::Lost { uri: Some(uri), why } => {
            overlay.give_up(&uri);
            match why {
                WhyLost::TooLarge => {}
                WhyLost::Unreadable => {
                    return GivenUp::Buffer(uri, "a message about it could not be read");
                }
                WhyLost::Stuck => return GivenUp::Buffer(uri, "breadboard-ls was busy for too long"),
            }
        }
        DocumentEvent::Lost { uri: None, why } => {
            overlay.give_up_all();
            if why != WhyLost::TooLarge {
                return GivenUp::Unnamed;
            }
        }
    }
    GivenUp::Nothing
}

/// Why the text of a buffer is not known any more after a change of it, if so.
fn after_change(overlay: &mut Overlay, uri: &str, change: Result<(), ChangeRefused>) -> Option<&'static str> {
    match change {
        Ok(()) if overlay.bytes() <= OVERLAY_BYTES => None,
        Ok(()) => {
            overlay.give_up(uri);
            Some(TOO_MUCH)
        }
        Err(ChangeRefused::BadRange) => Some("a change of it begins behind the end of the text"),
        Err(ChangeRefused::OutOfOrder) => Some("the editor sent its changes in the wrong order"),
        Err(ChangeRefused::NotOpen) => {
            tracing::warn!(uri, "a buffer was changed that is not open, or was given up");
            None
        }
    }
}
