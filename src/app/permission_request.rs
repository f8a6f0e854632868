//! How what an engine asks becomes a permission request: completed, placed in the workspace, without secrets, safe to show.
//!
//! Owns what is read again for it and what clients are told of a path. Never settles a request: that is `on_request`.

use std::path::{Component, Path, PathBuf};

use super::journalling::{from_seq_on, split};
use super::state::App;
use crate::domain::approval::{Action, AskRoot, Permission, PermissionAsk, Proposal};
use crate::domain::dialect::{Dialect, completed};
use crate::domain::event::SessionEvent;
use crate::domain::fact::PromptFolder;
use crate::domain::shown::{Kind, show};

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
        let title = places.of_title(&ask.title, &ask.subject.action);
        let subject = ask.subject.clone().placed(|path| places.of(path));
        let ask = PermissionAsk { title, subject, ..ask.clone() };
        let expires_at = self.settings.ask_expiry_ms.map(|ms| now.saturating_add(ms));
        let mut permission = Permission::of(&ask, self.ambient.fresh_id(), root, expires_at);
        if self.redactor.knows_any() {
            permission.for_each_text(|text| self.redactor.scrub_text(text));
        }
        permission
    }

    /// What can be decided hunk by hunk of an edit in a folder of this machine. `None` too where a secret stands in it: it would
    /// be kept as it is.
    pub(super) fn proposal(&self, session_id: &str, ask: &PermissionAsk, root: &AskRoot) -> Option<Proposal> {
        match root {
            AskRoot::Folder(_) => {}
            AskRoot::AtEngine | AskRoot::Closed => return None,
        }
        let places = self.places_of(session_id);
        let subject = ask.subject.clone().placed(|path| places.of(path));
        let proposal = Proposal::of(&subject)?;
        // A file outside of the workspace is for the engine alone.
        if proposal.files.iter().any(|file| Path::new(&file.file_path).is_absolute()) {
            return None;
        }
        let mut clean = true;
        if self.redactor.knows_any() {
            let mut scrubbed = subject.clone();
            scrubbed.for_each_text(&mut |text| self.redactor.scrub_text(text));
            clean = scrubbed == subject;
        }
        clean.then_some(proposal)
    }

    /// The folders of the workspace as a prompt of an agent names them.
    pub(super) fn folders_told(&self, session_id: &str) -> Vec<PromptFolder> {
        let folders = self.places_of(session_id).folders.into_iter();
        folders.map(|(path, name)| PromptFolder { path: path.to_string_lossy().into_owned(), name }).collect()
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
    /// The title with the paths of the workspace as the subject has them. A command is never touched: it runs as it stands there.
    fn of_title(&self, title: &str, action: &Action) -> String {
        match action {
            Action::Edit { .. } => self.without_folders(title),
            Action::Tool { .. } if !title.starts_with("Run ") && !title.contains('{') => {
                self.without_folders(title)
            }
            Action::Command { command, cwd, .. } => {
                let here = format!(" in {}", show(cwd, Kind::Code));
                // Behind the command, which is at least as long as it was written.
                let from = title.floor_char_boundary("Run ".len() + command.len());
                let Some(at) = title[from..].find(&here).map(|at| from + at) else { return title.to_owned() };
                let (before, rest) = (&title[..at], &title[at + here.len()..]);
                if !(rest.is_empty() || rest.starts_with(" with ")) {
                    return title.to_owned();
                }
                match self.of(cwd) {
                    (path, _) if path == *cwd => title.to_owned(),
                    (path, None) if path == "." => format!("{before}{rest}"),
                    (path, root) => {
                        let path = root.map_or(path.clone(), |root| format!("{root}/{path}"));
                        format!("{before} in {}{rest}", show(&path, Kind::Code))
                    }
                }
            }
            Action::Tool { .. } | Action::Question { .. } => title.to_owned(),
        }
    }

    /// A text of words and paths, in which the paths of the workspace begin at their folder.
    fn without_folders(&self, text: &str) -> String {
        // What leads up may lead anywhere.
        if text.contains("/../") || text.ends_with("/..") {
            return text.to_owned();
        }
        let words = text.split_inclusive(' ').map(|word| {
            let inside = self.folders.iter().find_map(|(folder, name)| {
                let folder = show(&folder.to_string_lossy(), Kind::Code).into_owned();
                Some((word.strip_prefix(&folder)?.strip_prefix('/')?, name))
            });
            match inside {
                Some((inside, Some(name))) => format!("{name}/{inside}"),
                Some((inside, None)) => inside.to_owned(),
                None => word.to_owned(),
            }
        });
        words.collect()
    }

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
    #[cfg_attr(windows, ignore = "folders as they are spelled elsewhere")]
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
        // And titles name them so too, but for what a command says
        let edit = Action::Edit { files: Vec::new() };
        for (title, told) in [
            ("Write /w/app/src/a.rs (3 bytes)", "Write app/src/a.rs (3 bytes)"),
            ("Edit /real/lib/b, /etc/passwd", "Edit lib/b, /etc/passwd"),
            ("Edit /x/w/app/a", "Edit /x/w/app/a"),
            ("Edit /w/app/../b", "Edit /w/app/../b"),
        ] {
            assert_eq!(places.of_title(title, &edit), told);
        }
        let run = |command: &str, cwd: &str| Action::Command {
            command: command.to_owned(),
            cwd: cwd.to_owned(),
            env: None,
        };
        for (title, action, told) in [
            ("Run ls /w/app/x in /w/app/d", run("ls /w/app/x", "/w/app/d"), "Run ls /w/app/x in app/d"),
            ("Run ls in /w/app/d with A=b", run("ls", "/w/app/d"), "Run ls in app/d with A=b"),
            ("Run ls in /etc", run("ls", "/etc"), "Run ls in /etc"),
        ] {
            assert_eq!(places.of_title(title, &action), told);
        }
        let alone = SubjectPlaces { folders: vec![("/w/app".into(), None)], base: None, named: false };
        assert_eq!(alone.of_title("Run ls in /w/app", &run("ls", "/w/app")), "Run ls");
        assert_eq!(alone.of_title("Write /w/app/a (3 bytes)", &edit), "Write a (3 bytes)");
        // Given our own engine, whose paths begin with the name of their folder
        let named = SubjectPlaces { base: None, named: true, ..places };
        assert_eq!(named.of("lib/b"), ("b".to_owned(), name("lib")));
        assert_eq!(named.of("other/b"), ("other/b".to_owned(), None));
    }
}
