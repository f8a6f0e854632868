//! What the repository tells agents: `AGENTS.md` and its kin.
//!
//! Owns which files are read, how much of them, and in which words the model gets them. They are read in trusted workspaces only, and
//! nothing in them changes which tools there are or what is asked: they are words to the model, and the tools ask all the same
//! (decision 0036).

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::ports::WorkspaceView;
use super::question::fence;
use super::retrieval;

/// Files of a folder; the first that is there counts, since the others say the same where somebody keeps several.
const NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", ".cursorrules"];

/// Those of folders within a workspace folder.
const NESTED: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Bytes of one file that are read.
const FILE: usize = 32 * 1024;

/// Bytes of all files of one turn.
const ALL: usize = 96 * 1024;

/// Folders on the way to a file that are looked into.
const DEPTH: usize = 16;

/// Instructions that a turn has read.
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    looked: BTreeSet<String>,
    bytes: usize,
    /// Files that were read, as they are shown, with how much of each.
    read: Vec<String>,
}

/// One file of instructions.
struct FoundInstructions {
    path: String,
    text: String,
    is_cut: bool,
}

impl Instructions {
    /// Those of the workspace folders, for the rules of a turn. Blocking.
    pub(crate) fn of_folders(view: &WorkspaceView, cancel: &AtomicBool) -> (Self, String) {
        let mut this = Self::default();
        let mut words = String::new();
        if !view.trusted {
            return (this, words);
        }
        for root in &view.roots {
            let folder = if view.roots.len() > 1 { root.name.clone() } else { String::new() };
            this.looked.insert(folder.clone());
            if let Some(found) = this.first(view, &folder, &NAMES, cancel) {
                words.push_str(&this.told(found, "the whole folder"));
            }
        }
        (this, words)
    }

    /// Those of the folders on the way to a file, that were not read in this turn; empty: none. Blocking.
    pub(crate) fn on_the_way_to(&mut self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> String {
        let mut words = String::new();
        if !view.trusted {
            return words;
        }
        let Ok((root, beneath)) = retrieval::resolve(view, path) else { return words };
        let several = view.roots.len() > 1;
        let folders = beneath.match_indices('/').map(|(at, _)| &beneath[..at]).take(DEPTH);
        let shown =
            folders.map(|folder| if several { format!("{}/{folder}", root.name) } else { folder.to_owned() });
        for folder in &shown.collect::<Vec<_>>() {
            if self.looked.insert(folder.to_owned())
                && let Some(found) = self.first(view, folder, &NESTED, cancel)
            {
                words.push_str(&self.told(found, &format!("what is in `{folder}`")));
            }
        }
        words
    }

    /// What was read since this was asked last, for the user; `None`: nothing.
    pub(crate) fn news(&mut self) -> Option<String> {
        let read = std::mem::take(&mut self.read);
        (!read.is_empty()).then(|| {
            format!(
                "Instructions of the repository that go to the model: {}. They allow it nothing.",
                read.join(", ")
            )
        })
    }

    fn first(
        &self,
        view: &WorkspaceView,
        folder: &str,
        names: &[&str],
        cancel: &AtomicBool,
    ) -> Option<FoundInstructions> {
        let room = FILE.min(ALL.saturating_sub(self.bytes));
        names.iter().find_map(|name| {
            let path = if folder.is_empty() { (*name).to_owned() } else { format!("{folder}/{name}") };
            let read = retrieval::read_lines(view, &path, 1, None, room, cancel).ok()?;
            let is_there = !read.text.trim().is_empty();
            is_there.then_some(FoundInstructions { path: read.path, text: read.text, is_cut: read.truncated })
        })
    }

    fn told(&mut self, found: FoundInstructions, of: &str) -> String {
        let FoundInstructions { path, text, is_cut } = found;
        self.bytes += text.len();
        let cut = if is_cut { ", cut" } else { "" };
        self.read.push(format!("`{path}` ({} bytes{cut})", text.len()));
        let fence = fence(&text);
        format!("\n\nInstructions of the repository for {of}, from `{path}`{cut}:\n{fence}\n{text}\n{fence}")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::ports::Root;

    fn view(folder: &Path, trusted: bool) -> WorkspaceView {
        let root = Root { name: "work".to_owned(), uri: String::new(), path: folder.to_owned() };
        WorkspaceView { roots: vec![root], trusted, ..WorkspaceView::default() }
    }

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn instructions_are_those_of_the_folder_and_of_those_on_the_way_to_a_file() {
        // Given a repository with instructions in three places, and kin that says the same
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write(folder, "AGENTS.md", "Use tabs.");
        write(folder, "CLAUDE.md", "See AGENTS.md.");
        write(folder, "src/net/AGENTS.md", "No unsafe.");
        write(folder, "docs/CLAUDE.md", "Short lines.");
        let never = AtomicBool::new(false);
        // When they are read for a turn that looks at files
        let view = view(folder, true);
        let (mut read, words) = Instructions::of_folders(&view, &never);
        assert!(words.contains("Use tabs.") && !words.contains("See AGENTS.md."), "{words}");
        let on_the_way = read.on_the_way_to(&view, "src/net/tcp.rs", &never);
        assert!(on_the_way.contains("No unsafe.") && on_the_way.contains("`src/net`"), "{on_the_way}");
        assert!(read.on_the_way_to(&view, "docs/a.md", &never).contains("Short lines."));
        // Then each is read once, and the user hears of all
        assert_eq!(read.on_the_way_to(&view, "src/net/udp.rs", &never), "");
        let news = read.news().unwrap();
        assert!(
            news.contains("`AGENTS.md` (9 bytes), `src/net/AGENTS.md` (10 bytes), `docs/CLAUDE.md`"),
            "{news}"
        );
        assert_eq!(read.news(), None);
    }

    #[test]
    fn without_trust_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "AGENTS.md", "Use tabs.");
        let never = AtomicBool::new(false);
        let view = view(folder.path(), false);
        let (mut read, words) = Instructions::of_folders(&view, &never);
        assert_eq!(
            (words, read.on_the_way_to(&view, "AGENTS.md/x", &never), read.news()),
            (String::new(), String::new(), None)
        );
    }

    #[test]
    fn long_instructions_are_cut_and_said_to_be() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "AGENTS.md", &"word word\n".repeat(10_000));
        let (mut read, words) = Instructions::of_folders(&view(folder.path(), true), &AtomicBool::new(false));
        assert!(words.len() < FILE + 200 && words.contains("`AGENTS.md`, cut:"), "{}", words.len());
        assert!(read.news().unwrap().contains("bytes, cut"));
    }
}
