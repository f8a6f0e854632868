//! Files that change in the workspace, for the engines that keep an index of it (R002-101).
//!
//! Owns who is told: whoever is trusted with the workspace, and nothing of what the user's lists keep or of files of secrets. The
//! editor is asked to watch only where an engine wants it. Never reads a file.

use std::path::Path;

use serde_json::json;
use url::Url;

use super::client::ClientId;
use super::editor_asks::PendingAsk;
use super::ports::{Engine, EngineCall, FileWatch};
use super::prompter::Prompter;
use super::state::App;
use crate::domain::edits::watched_file::WatchedFile;
use crate::domain::policy::file_lists::FileUse;
use crate::domain::policy::guarded_path::guarded_part;

impl App {
    /// Asks the editor to tell of changed files, where an engine wants to know and nothing else tells us.
    pub(super) fn watch_files(&mut self, client: ClientId) {
        let is_able = self.clients.get(client).is_some_and(|client| client.abilities.register_watched_files);
        if !is_able || !self.engines().any(|engine| engine.file_watch() == FileWatch::Asked) {
            return;
        }
        let params = json!({ "registrations": [{
            "id": "breadboard-files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": [{ "globPattern": "**/*" }] },
        }]});
        self.ask_editor(client, "client/registerCapability", &params, PendingAsk::Registered);
    }

    /// Files changed, as this client says.
    pub(super) fn files_changed(&mut self, client: ClientId, changes: Vec<WatchedFile>) {
        let hears = |engine: &&dyn Engine| engine.file_watch() != FileWatch::No;
        if !self.trusts(Prompter::Client(client)) || !self.engines().any(|engine| hears(&engine)) {
            return;
        }
        let may_be_told = |change: &WatchedFile| {
            let url = Url::parse(&change.uri).ok().filter(|url| url.scheme() == "file");
            url.and_then(|url| url.to_file_path().ok()).is_some_and(|path| self.is_shown(&path))
        };
        let told: Vec<WatchedFile> = changes.into_iter().filter(may_be_told).collect();
        if told.is_empty() {
            return;
        }
        for engine in self.engines().filter(hears) {
            engine.call(EngineCall::FilesChanged(told.clone()));
        }
    }

    /// Whether a file lies in the workspace, and an engine may hear of it.
    fn is_shown(&self, path: &Path) -> bool {
        let folders = self.workspace.folders.iter().filter_map(|folder| folder.path.as_deref());
        let inside = folders.filter_map(|folder| path.strip_prefix(folder).ok()).next();
        inside.is_some_and(|inside| guarded_part(&inside.to_string_lossy()).is_none())
            && self.kept_by_lists(path, FileUse::Read).is_none()
    }
}
