//! Which folder an ask is about, when it is asked and again when it is answered.
//!
//! Owns the comparison of the two. The folder is looked at each time: its path may lead elsewhere by now.

use std::path::Path;

use serde_json::Value;

use super::inbox::Folder;
use super::ports::SessionHome;
use super::state::App;
use crate::domain::approval::AskRoot;
use crate::domain::coded_error::{CodedError, ErrorCode};

impl App {
    /// Name of the folder that an ask of our own agent is about: where several are open, paths begin with it. `None`: the
    /// first.
    pub(super) fn root_name_in(&self, subject: &Value) -> Option<String> {
        let path = subject.get("args").and_then(|args| args.get("file_path")).and_then(Value::as_str)?;
        let (first, _) = path.split_once('/')?;
        let several = self.workspace.folders.len() > 1;
        self.workspace
            .folders
            .iter()
            .find(|folder| several && folder.name == first)
            .map(|folder| folder.name.clone())
    }

    /// The folder in which something would happen for a session now.
    pub(super) fn ask_root(&self, session_id: &str, named: Option<&str>) -> AskRoot {
        let Ok(session) = self.known(session_id) else { return AskRoot::Closed };
        let Some(held) = &session.record.held else {
            let folder = self.root_named(named).and_then(|folder| folder.path.as_deref());
            let identity = folder.and_then(|folder| self.files.identity(folder));
            return identity.map_or(AskRoot::Closed, AskRoot::Folder);
        };
        let Some(workspace) = &held.workspace else { return AskRoot::AtEngine };
        let Some(own) = self.files.identity(workspace) else {
            // The engine may be on another machine; an agent never is.
            return if self.traits_of(session_id).sessions == SessionHome::Engine {
                AskRoot::AtEngine
            } else {
                AskRoot::Closed
            };
        };
        let holds = |folder: &Folder| {
            let root = folder.path.as_deref().and_then(|path| self.files.identity(path));
            root.is_some_and(|root| Path::new(&own.path).starts_with(&root.path))
        };
        if self.workspace.folders.iter().any(holds) { AskRoot::Folder(own) } else { AskRoot::Closed }
    }

    /// Refuses what would happen in another folder than the one that it was asked for.
    pub(super) fn same_root(
        &self,
        session_id: &str,
        asked: &AskRoot,
        named: Option<&str>,
    ) -> Result<(), CodedError> {
        let now = self.ask_root(session_id, named);
        match asked {
            AskRoot::Folder(_) | AskRoot::AtEngine if *asked == now => Ok(()),
            AskRoot::Folder(_) | AskRoot::AtEngine | AskRoot::Closed => Err(CodedError::new(
                ErrorCode::Conflict,
                "This was asked for a folder that is not the open one any more, so nothing was allowed; deny it, and ask \
                 again in the folder that is open.",
            )),
        }
    }
}
