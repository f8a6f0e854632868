//! What happens on standard LSP traffic: start, documents, folders, settings, trust, answers.

use std::sync::Arc;

use serde_json::json;

use super::editor_asks::PendingAsk;
use super::inbox::{DocumentEvent, EditorEvent, Folder};
use super::ports::EngineCall;
use super::state::App;
use crate::domain::edits::overlay::Overlay;
use crate::protocol::settings::WorkspaceConfiguration;

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
    pub(super) fn on_editor(&mut self, event: EditorEvent) {
        match event {
            EditorEvent::Initialize(start) => self.start_up(*start),
            EditorEvent::Initialized => self.initialized(),
            EditorEvent::Document(event) => self.on_document(event),
            EditorEvent::FoldersChanged { added, removed } => self.folders_changed(added, &removed),
            EditorEvent::Configuration(configuration) => self.configured(&configuration),
            EditorEvent::ConfigurationChanged => self.ask_configuration(),
            EditorEvent::WorkspaceTrust { trusted } => self.trust(trusted),
            EditorEvent::ProgressCancelled { token } => self.progress_cancelled(&token),
            EditorEvent::Answered { id, outcome } => self.editor_answered(&id, outcome),
        }
    }

    fn initialized(&mut self) {
        if self.abilities.register_configuration {
            let params = json!({ "registrations": [{
                "id": "breadboard-configuration",
                "method": "workspace/didChangeConfiguration",
                "registerOptions": { "section": "breadboard" },
            }]});
            self.ask_editor("client/registerCapability", &params, PendingAsk::Registered);
        }
        self.ask_configuration();
    }

    fn ask_configuration(&mut self) {
        if self.abilities.configuration {
            let params = json!({ "items": [{ "section": "breadboard" }] });
            self.ask_editor("workspace/configuration", &params, PendingAsk::Configuration);
        }
    }

    /// Only harmless keys: in most editors this includes files of the repository.
    pub(super) fn configured(&mut self, configuration: &WorkspaceConfiguration) {
        let Some(setting) = &configuration.delivery else { return };
        self.batch_by(self.settings.delivery.with(setting));
    }

    fn trust(&mut self, trusted: bool) {
        self.trusted = trusted;
        for engine in self.engines() {
            engine.call(EngineCall::SetTrust { trusted });
        }
        self.state_changed = true;
    }

    fn folders_changed(&mut self, added: Vec<Folder>, removed: &[String]) {
        self.folders.retain(|folder| !removed.contains(&folder.uri));
        for folder in added {
            if !self.folders.iter().any(|known| known.uri == folder.uri) {
                self.folders.push(folder);
            }
        }
        tell_apart(&mut self.folders);
        // Sessions stay with the workspace they were begun in; only where files are looked for changes.
        self.files.set_folders(&self.folders);
        for engine in self.engines() {
            engine.call(EngineCall::SetFolders(self.folders.clone()));
        }
    }

    fn on_document(&mut self, event: DocumentEvent) {
        let encoding = self.encoding;
        let overlay = Arc::make_mut(&mut self.overlay);
        let lost = match event {
            DocumentEvent::Opened { uri, language_id, version, text } => {
                overlay.open(&uri, &language_id, version, &text);
                None
            }
            DocumentEvent::Changed { uri, version, changes } => {
                overlay.change(&uri, version, &changes, encoding).err().map(|why| (uri, why))
            }
            DocumentEvent::Closed { uri } => {
                overlay.close(&uri);
                None
            }
            DocumentEvent::Lost { uri } => {
                match uri {
                    Some(uri) => overlay.close(&uri),
                    None => *overlay = Overlay::new(),
                }
                None
            }
        };
        if let Some((uri, why)) = lost {
            tracing::warn!(uri, ?why, "a change did not fit; the buffer is unknown until it is opened again");
        }
        self.overlay_out.send_replace(self.overlay.clone());
    }
}
