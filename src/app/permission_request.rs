//! How what an engine asks becomes a permission request: completed, placed in the workspace, without secrets, safe to show.
//!
//! Owns what is read again for it and what clients are told of a path. Never settles a request: that is `on_request`.

use std::path::{Component, Path, PathBuf};

use super::journalling::{from_seq_on, split};
use super::state::App;
use crate::domain::approval::{AskRoot, Permission, PermissionAsk};
use crate::domain::dialect::{Dialect, completed};
use crate::domain::event::SessionEvent;

impl App {
    /// The request with everything that the engine said of its tool call before it asked.
    pub(super) fn completed(
        &mut self,
        session_id: &str,
        dialect: Dialect,
        ask: PermissionAsk,
    ) -> PermissionAsk {
        if dialect == Dialect::Desktop {
            // It says everything in its request.
            return ask.limited();
        }
        let call = ask.tool_call_id.as_deref();
        let told = self.live_mut(session_id).map(|live| live.view.told_of(call)).unwrap_or_default();
        if told.is_empty() {
            return ask.limited();
        }
        self.flush(session_id);
        let earlier: Vec<SessionEvent> =
            told.into_iter().filter_map(|seq| self.stored_event(session_id, seq)).collect();
        completed(dialect, ask, &earlier).limited()
    }

    fn stored_event(&mut self, session_id: &str, seq: u64) -> Option<SessionEvent> {
        let row = self.stored_batches(session_id, seq, 1).into_iter().next()?;
        if seq < row.from_seq || row.to_seq < seq {
            return None;
        }
        let event = split(&from_seq_on(row, seq)).into_iter().next()?;
        serde_json::from_str(event.get()).ok()
    }

    /// The whole request as clients may see it.
    pub(super) fn permission(
        &self,
        session_id: &str,
        ask: &PermissionAsk,
        root: &AskRoot,
        now: i64,
    ) -> Permission {
        let places = self.places_of(session_id);
        let subject = ask.subject.clone().placed(|path| places.of(path));
        let ask = PermissionAsk { subject, ..ask.clone() };
        let expires_at = self.settings.ask_expiry_ms.map(|ms| now.saturating_add(ms));
        let mut permission = Permission::of(&ask, self.ambient.fresh_id(), root, expires_at);
        if self.redactor.knows_any() {
            permission.for_each_text(|text| self.redactor.scrub_text(text));
        }
        permission
    }

    /// Where the paths of a session are.
    fn places_of(&self, session_id: &str) -> SubjectPlaces {
        let record = self.known(session_id).ok().map(|session| &session.record);
        let held = record.and_then(|record| record.held.as_ref());
        let several = self.workspace.folders.len() > 1;
        let mut folders = Vec::new();
        for folder in &self.workspace.folders {
            let name = several.then(|| folder.name.clone());
            let Some(path) = folder.path.clone() else { continue };
            // An agent may name a folder by the path behind its links.
            let real = self.files.identity(&path).map(|identity| PathBuf::from(identity.path));
            folders.extend(real.filter(|real| *real != path).map(|real| (real, name.clone())));
            folders.push((path, name));
        }
        SubjectPlaces {
            folders,
            base: held.and_then(|held| held.workspace.clone()),
            named: held.is_none() && several,
        }
    }
}

/// The folders of a workspace, as far as a path of an engine may be in one.
struct SubjectPlaces {
    /// Path and, where several are open, name.
    folders: Vec<(PathBuf, Option<String>)>,
    /// What a relative path begins at, of a session that works elsewhere.
    base: Option<PathBuf>,
    /// Relative paths begin with the name of their folder.
    named: bool,
}

impl SubjectPlaces {
    /// The path relative to its folder, and the folder's name; as it is, where it is in none.
    fn of(&self, path: &str) -> (String, Option<String>) {
        let as_it_is = || (path.to_owned(), None);
        let given = Path::new(path);
        if self.named
            && let Some((first, rest)) = path.split_once('/')
            && self.folders.iter().any(|(_, name)| name.as_deref() == Some(first))
        {
            return (rest.to_owned(), Some(first.to_owned()));
        }
        let whole = match (&self.base, given.is_absolute()) {
            (_, true) => given.to_path_buf(),
            (Some(base), false) => base.join(given),
            (None, false) => return as_it_is(),
        };
        // What leads up may lead anywhere.
        if whole.components().any(|part| part == Component::ParentDir) {
            return as_it_is();
        }
        let whole: PathBuf = whole.components().filter(|part| *part != Component::CurDir).collect();
        for (folder, name) in &self.folders {
            if let Ok(inside) = whole.strip_prefix(folder) {
                let inside = inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
                return (if inside.is_empty() { ".".to_owned() } else { inside }, name.clone());
            }
        }
        as_it_is()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r000_08_paths_of_engines_are_told_relative_to_their_folder_or_as_they_are() {
        // Given two folders, one of them reached through a link, and a session that works in the first
        let name = |name: &str| Some(name.to_owned());
        let places = SubjectPlaces {
            folders: vec![
                ("/w/app".into(), name("app")),
                ("/real/lib".into(), name("lib")),
                ("/w/lib".into(), name("lib")),
            ],
            base: Some("/w/app".into()),
            named: false,
        };
        // When and then
        let told = |path: &str| places.of(path);
        assert_eq!(told("/w/app/src/a.rs"), ("src/a.rs".to_owned(), name("app")));
        assert_eq!(told("src/./a.rs"), ("src/a.rs".to_owned(), name("app")));
        assert_eq!(told("."), (".".to_owned(), name("app")));
        assert_eq!(told("/real/lib/b"), ("b".to_owned(), name("lib")));
        assert_eq!(told("/w/application/a"), ("/w/application/a".to_owned(), None));
        assert_eq!(told("../lib/b"), ("../lib/b".to_owned(), None));
        assert_eq!(told("/etc/passwd"), ("/etc/passwd".to_owned(), None));
        // Given our own engine, whose paths begin with the name of their folder
        let named = SubjectPlaces { base: None, named: true, ..places };
        assert_eq!(named.of("lib/b"), ("b".to_owned(), name("lib")));
        assert_eq!(named.of("other/b"), ("other/b".to_owned(), None));
    }
}
