//! The files of the workspace: what a search looks at.
//!
//! Owns which files count: no ignored, hidden (but `.github`), linked or oversized ones, open buffers instead of the
//! disk. Never reads a file before it is asked for its text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use ignore::WalkBuilder;

use super::RetrievalError;
use super::content::{SEARCH_LIMIT, load};
use super::lines::misleading;
use super::paths::{OpenBuffers, open_root};
use crate::domain::edits::overlay::OpenDocument;
use crate::host::ports::WorkspaceView;

/// Most files of one search. A tree beyond that (a home directory opened as a workspace) is searched in part, in path
/// order, and the answer says so.
const MOST_FILES: usize = 60_000;

/// One file that a search looks at.
pub(super) struct SourceFile {
    /// Place of its root among the roots.
    pub root: usize,
    /// Relative to the root, `/`-separated.
    pub rel: String,
    open: Option<Arc<OpenDocument>>,
}

/// All files of a workspace, in order of root and path.
pub(super) struct Tree {
    /// The files.
    pub files: Vec<SourceFile>,
    /// Whether there are more than a search looks at.
    pub truncated: bool,
    dirs: Vec<Option<Dir>>,
}

impl Tree {
    /// Walks all roots.
    pub(super) fn walk(view: &WorkspaceView, cancel: &AtomicBool) -> Result<Self, RetrievalError> {
        let buffers = OpenBuffers::of(view);
        let dirs: Vec<Option<Dir>> = view.roots.iter().map(open_root).collect();
        let mut found: BTreeMap<(usize, String), Option<Arc<OpenDocument>>> = BTreeMap::new();
        let mut truncated = false;
        for (at, root) in view.roots.iter().enumerate() {
            // A root inside this one lists its own files.
            let others: Vec<PathBuf> = view
                .roots
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != at)
                .map(|(_, root)| root.path.clone())
                .collect();
            let walk = WalkBuilder::new(&root.path)
                .hidden(false)
                .follow_links(false)
                .require_git(false)
                .sort_by_file_name(Ord::cmp)
                .filter_entry(move |entry| {
                    entry.depth() == 0
                        || entry.file_name().to_str().is_some_and(|name| {
                            (!name.starts_with('.') || name == ".github") && !name.chars().any(misleading)
                        }) && !others.iter().any(|other| other == entry.path())
                })
                .build();
            for entry in walk {
                if cancel.load(Ordering::Relaxed) {
                    return Err(RetrievalError::Cancelled);
                }
                // What cannot be listed is not searched; the rest is.
                let Ok(entry) = entry else { continue };
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                let Some(rel) = entry.path().strip_prefix(&root.path).ok().and_then(|rel| rel.to_str())
                else {
                    continue;
                };
                let rel = if cfg!(windows) { rel.replace('\\', "/") } else { rel.to_owned() };
                let open = buffers.get(at, &rel).cloned();
                if open.is_none() && entry.metadata().is_ok_and(|meta| meta.len() > SEARCH_LIMIT) {
                    continue;
                }
                if found.len() >= MOST_FILES {
                    truncated = true;
                    break;
                }
                found.insert((at, rel), open);
            }
        }
        // A buffer that is not on the disk yet is part of the workspace. One that is there but was not listed is
        // ignored, hidden or a link, and stays out.
        for (root, rel, document) in buffers.iter() {
            let hidden = rel.split('/').any(|part| part.starts_with('.') && part != ".github");
            let on_disk = dirs[root].as_ref().is_some_and(|dir| dir.symlink_metadata(rel).is_ok());
            if !hidden && !on_disk && !rel.is_empty() && !rel.chars().any(misleading) {
                found.insert((root, rel.to_owned()), Some(Arc::clone(document)));
            }
        }
        let files = found.into_iter().map(|((root, rel), open)| SourceFile { root, rel, open }).collect();
        Ok(Self { files, truncated, dirs })
    }

    /// The text of a file: the open buffer, else the disk; `None` when it is not text or gone.
    pub(super) fn text(&self, file: &SourceFile) -> Option<String> {
        match &file.open {
            Some(document) => (document.text.len_bytes() as u64 <= SEARCH_LIMIT)
                .then(|| Cow::from(&document.text).into_owned()),
            None => load(self.dirs[file.root].as_ref()?, &file.rel, SEARCH_LIMIT, &file.rel).ok(),
        }
    }
}

#[cfg(test)]
pub(in crate::host::retrieval) mod tests {
    use std::path::Path;

    use super::*;
    use crate::domain::edits::overlay::Overlay;
    use crate::host::ports::Root;

    /// A directory with files, gone with the value.
    pub(in crate::host::retrieval) struct Fixture(tempfile::TempDir);

    impl Fixture {
        pub(in crate::host::retrieval) fn new(files: &[(&str, &str)]) -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                fixture.write(path, text.as_bytes());
            }
            fixture
        }

        pub(in crate::host::retrieval) fn write(&self, path: &str, bytes: &[u8]) {
            let path = self.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }

        pub(in crate::host::retrieval) fn path(&self, rel: &str) -> PathBuf {
            self.0.path().join(rel)
        }

        pub(in crate::host::retrieval) fn view(&self) -> WorkspaceView {
            view_of(&[self.0.path()])
        }

        pub(in crate::host::retrieval) fn view_with(&self, open: &[(&str, &str)]) -> WorkspaceView {
            let mut overlay = Overlay::new();
            for (path, text) in open {
                let uri = url::Url::from_file_path(self.path(path)).unwrap();
                overlay.open(uri.as_str(), "text", 1, text);
            }
            WorkspaceView { overlay: Arc::new(overlay), ..self.view() }
        }
    }

    pub(in crate::host::retrieval) fn view_of(paths: &[&Path]) -> WorkspaceView {
        let roots = paths.iter().map(|path| Root {
            name: path.file_name().unwrap().to_str().unwrap().to_owned(),
            uri: url::Url::from_file_path(path).unwrap().to_string(),
            path: path.to_path_buf(),
        });
        WorkspaceView { roots: roots.collect(), trusted: true, ..WorkspaceView::default() }
    }

    pub(in crate::host::retrieval) static GO_ON: AtomicBool = AtomicBool::new(false);

    fn listed(view: &WorkspaceView) -> Vec<String> {
        Tree::walk(view, &GO_ON).unwrap().files.into_iter().map(|file| file.rel).collect()
    }

    #[test]
    fn ignored_hidden_and_oversized_files_are_left_out_and_github_is_not() {
        let fixture = Fixture::new(&[
            (".gitignore", "target/\n*.log\n"),
            (".env", "SECRET=1"),
            (".github/workflows/ci.yml", "on: push"),
            ("src/a.rs", "fn a() {}"),
            ("target/b.rs", "fn b() {}"),
            ("x.log", "x"),
        ]);
        fixture.write("huge.txt", &vec![b'a'; SEARCH_LIMIT as usize + 1]);
        assert_eq!(listed(&fixture.view()), [".github/workflows/ci.yml", "src/a.rs"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_names_that_break_lines_are_left_out() {
        let outside = Fixture::new(&[("secret.rs", "fn secret() {}")]);
        let fixture = Fixture::new(&[("a.rs", "fn a() {}"), ("b\nc.rs", "x"), ("d\u{1b}[2J.rs", "x")]);
        std::os::unix::fs::symlink(outside.path("secret.rs"), fixture.path("link.rs")).unwrap();
        std::os::unix::fs::symlink(outside.path(""), fixture.path("dir")).unwrap();
        assert_eq!(listed(&fixture.view()), ["a.rs"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_becomes_a_link_after_the_walk_gives_no_text() {
        let outside = Fixture::new(&[("secret.rs", "fn secret() {}")]);
        let fixture = Fixture::new(&[("a.rs", "fn a() {}")]);
        let tree = Tree::walk(&fixture.view(), &GO_ON).unwrap();
        std::fs::remove_file(fixture.path("a.rs")).unwrap();
        std::os::unix::fs::symlink(outside.path("secret.rs"), fixture.path("a.rs")).unwrap();
        assert_eq!(tree.text(&tree.files[0]), None);
    }

    #[test]
    fn an_open_buffer_wins_and_a_new_one_is_listed_but_an_ignored_one_is_not() {
        let fixture = Fixture::new(&[(".gitignore", "*.log\n"), ("a.rs", "old"), ("b.log", "log")]);
        let view =
            fixture.view_with(&[("a.rs", "new"), ("n.rs", "fresh"), ("b.log", "open"), (".env", "S=1")]);
        let tree = Tree::walk(&view, &GO_ON).unwrap();
        let texts: Vec<_> =
            tree.files.iter().map(|file| (file.rel.as_str(), tree.text(file).unwrap())).collect();
        assert_eq!(texts, [("a.rs", "new".to_owned()), ("n.rs", "fresh".to_owned())]);
    }

    #[test]
    fn a_cancelled_walk_ends() {
        let fixture = Fixture::new(&[("a.rs", "")]);
        let cancel = AtomicBool::new(true);
        assert!(matches!(Tree::walk(&fixture.view(), &cancel), Err(RetrievalError::Cancelled)));
    }
}
