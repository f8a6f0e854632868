//! The files of the workspace: what a search looks at.
//!
//! Owns which files count: no ignored, hidden (but `.github`), linked or oversized ones, open buffers instead of the
//! disk. Never reads a file before it is asked for its text, but ignore files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::{Dir, DirEntry};

use super::RetrievalError;
use super::content::{SEARCH_LIMIT, load, load_bytes};
use super::lines::misleading;
use super::paths::{OpenBuffers, open_root};
use crate::confined::IgnoreRules;
use crate::domain::edits::overlay::OpenDocument;
use crate::domain::policy::file_lists::FileUse;
use crate::host::index::FileStamp;
use crate::host::ports::WorkspaceView;
use crate::platform::typed_name;

/// Most files of one search. A tree beyond that (a home directory opened as a workspace) is searched in part, the files of a
/// directory before those below it, and the answer says so.
const MOST_FILES: usize = 60_000;

/// Most directories that wait to be looked at, for the same trees.
const MOST_DIRECTORIES: usize = 60_000;

/// Bytes of all paths that are held: enough for both in a tree that people work in.
const MOST_PATH_BYTES: usize = 16 << 20;

/// One file that a search looks at.
pub(super) struct SourceFile {
    /// Place of its root among the roots.
    pub root: usize,
    /// Relative to the root, `/`-separated.
    pub rel: String,
    /// Which version the disk has; `None` where an open buffer wins.
    pub stamp: Option<FileStamp>,
    open: Option<Arc<OpenDocument>>,
}

/// All files of a workspace, in order of root and path.
pub(super) struct WalkedTree {
    /// The files.
    pub files: Vec<SourceFile>,
    /// Whether there are more than a search looks at.
    pub truncated: bool,
    dirs: Vec<Option<Dir>>,
}

impl WalkedTree {
    /// Walks all roots.
    pub(super) fn walk(view: &WorkspaceView, cancel: &AtomicBool) -> Result<Self, RetrievalError> {
        let buffers = OpenBuffers::of(view);
        let dirs: Vec<Option<Dir>> = view.roots.iter().map(open_root).collect();
        let mut walk = DirectoryWalk { found: BTreeMap::new(), path_bytes: 0, truncated: false, cancel };
        for (at, root) in view.roots.iter().enumerate() {
            let Some(dir) = &dirs[at] else { continue };
            // A root inside this one lists its own files.
            let others: Vec<&Path> =
                view.roots.iter().filter_map(|other| other.path.strip_prefix(&root.path).ok()).collect();
            walk.root(at, dir, &root.path, &others, &buffers)?;
        }
        let DirectoryWalk { mut found, truncated, .. } = walk;
        // A buffer that is not on the disk yet is part of the workspace. One that is there but was not listed is
        // ignored, hidden or a link, and stays out.
        for (root, rel, document) in buffers.iter() {
            let hidden = rel.split('/').any(is_hidden);
            let on_disk = dirs[root].as_ref().is_some_and(|dir| dir.symlink_metadata(rel).is_ok());
            if !hidden && !on_disk && !rel.is_empty() && !rel.chars().any(misleading) {
                found.insert((root, rel.to_owned()), Version::Open(Arc::clone(document)));
            }
        }
        if !view.lists.is_open() {
            found.retain(|(_, rel), _| view.lists.forbids(rel, FileUse::Read).is_none());
        }
        let file = |((root, rel), version)| match version {
            Version::Open(document) => SourceFile { root, rel, stamp: None, open: Some(document) },
            Version::OnDisk(stamp) => SourceFile { root, rel, stamp, open: None },
        };
        let files = found.into_iter().map(file).collect();
        Ok(Self { files, truncated, dirs })
    }

    /// These files of the first root as they are on the disk; what is gone, no regular file or too large is not among them.
    /// Whoever names them knows that they count.
    pub(super) fn of_files<'a>(view: &WorkspaceView, files: impl Iterator<Item = &'a str>) -> Self {
        let dir = view.roots.first().and_then(open_root);
        let found = files.filter_map(|rel| {
            let meta = dir.as_ref()?.symlink_metadata(rel).ok()?;
            let counts = meta.is_file() && meta.len() <= SEARCH_LIMIT;
            counts.then(|| SourceFile {
                root: 0,
                rel: rel.to_owned(),
                stamp: FileStamp::of(&meta),
                open: None,
            })
        });
        let files = found.collect();
        Self { files, truncated: false, dirs: vec![dir] }
    }

    /// The bytes of a file on the disk; `None` when it is gone, too large, or the search was cancelled.
    pub(super) fn bytes(&self, file: &SourceFile, cancel: &AtomicBool) -> Option<Vec<u8>> {
        load_bytes(self.dirs[file.root].as_ref()?, &file.rel, SEARCH_LIMIT, &file.rel, cancel).ok()
    }

    /// The text of a file: the open buffer, else the disk; `None` when it is not text, gone, or the search was cancelled.
    pub(super) fn text(&self, file: &SourceFile, cancel: &AtomicBool) -> Option<String> {
        match &file.open {
            Some(document) => (document.text.len_bytes() as u64 <= SEARCH_LIMIT)
                .then(|| Cow::from(&document.text).into_owned()),
            None => load(self.dirs[file.root].as_ref()?, &file.rel, SEARCH_LIMIT, &file.rel, cancel).ok(),
        }
    }
}

/// Where the text of a file is.
enum Version {
    Open(Arc<OpenDocument>),
    OnDisk(Option<FileStamp>),
}

/// A walk over the roots, one after the other.
struct DirectoryWalk<'a> {
    found: BTreeMap<(usize, String), Version>,
    path_bytes: usize,
    truncated: bool,
    cancel: &'a AtomicBool,
}

/// What is taken of one directory, in order of name.
#[derive(Default)]
struct IgnoredNames {
    files: BTreeMap<String, Option<FileStamp>>,
    directories: BTreeMap<String, ()>,
    truncated: bool,
}

impl DirectoryWalk<'_> {
    /// Walks one root through its handle, so that no link and no renaming leads out of it. Every directory is read under the
    /// handle by its whole path: a tree that is deeper than a path can be long ends there.
    fn root(
        &mut self,
        at: usize,
        dir: &Dir,
        path: &Path,
        others: &[&Path],
        buffers: &OpenBuffers,
    ) -> Result<(), RetrievalError> {
        let is_stopped = || self.cancel.load(Ordering::Relaxed);
        let mut rules = IgnoreRules::of_folder(dir, path, &is_stopped);
        // The next one last.
        let mut waiting: Vec<String> = vec![String::new()];
        while let Some(directory) = waiting.pop() {
            if is_stopped() {
                return Err(RetrievalError::Cancelled);
            }
            self.path_bytes -= directory.len();
            rules.enter(&directory);
            let place = if directory.is_empty() { "." } else { directory.as_str() };
            // What cannot be listed is not searched; the rest is.
            let Ok(entries) = dir.read_dir(place) else { continue };
            let mut names = IgnoredNames::default();
            for entry in entries.flatten() {
                if is_stopped() {
                    return Err(RetrievalError::Cancelled);
                }
                names.take(at, &directory, &entry, others, &rules, buffers);
            }
            self.truncated |= names.truncated;
            for (name, stamp) in names.files {
                let rel = beneath(&directory, &name);
                if self.found.len() >= MOST_FILES || self.path_bytes + rel.len() > MOST_PATH_BYTES {
                    self.truncated = true;
                    return Ok(());
                }
                self.path_bytes += rel.len();
                let open = buffers.get(at, &rel).cloned();
                let version = open.map_or(Version::OnDisk(stamp), Version::Open);
                self.found.insert((at, rel), version);
            }
            for name in names.directories.into_keys().rev() {
                let rel = beneath(&directory, &name);
                if waiting.len() >= MOST_DIRECTORIES || self.path_bytes + rel.len() > MOST_PATH_BYTES {
                    self.truncated = true;
                    break;
                }
                self.path_bytes += rel.len();
                waiting.push(rel);
            }
        }
        Ok(())
    }
}

impl IgnoredNames {
    fn take(
        &mut self,
        at: usize,
        directory: &str,
        entry: &DirEntry,
        others: &[&Path],
        rules: &IgnoreRules<'_>,
        buffers: &OpenBuffers,
    ) {
        let Some(name) = typed_name(entry.file_name()) else { return };
        let Ok(kind) = entry.file_type() else { return };
        if is_hidden(&name) || name.chars().any(misleading) || !(kind.is_dir() || kind.is_file()) {
            return;
        }
        let rel = beneath(directory, &name);
        if kind.is_dir() {
            if !others.contains(&Path::new(&rel)) && !rules.leaves_out(&rel, true) {
                self.truncated |= put(&mut self.directories, name, (), MOST_DIRECTORIES);
            }
            return;
        }
        if rules.leaves_out(&rel, false) {
            return;
        }
        let meta = entry.metadata().ok();
        let too_large = meta.as_ref().is_some_and(|meta| meta.len() > SEARCH_LIMIT);
        if !too_large || buffers.get(at, &rel).is_some() {
            let stamp = meta.as_ref().and_then(FileStamp::of);
            self.truncated |= put(&mut self.files, name, stamp, MOST_FILES);
        }
    }
}

/// Keeps the first `most` names; gives whether one was left out.
fn put<T>(names: &mut BTreeMap<String, T>, name: String, value: T, most: usize) -> bool {
    names.insert(name, value);
    names.len() > most && names.pop_last().is_some()
}

fn beneath(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && name != ".github"
}

#[cfg(test)]
pub(in crate::host::retrieval) mod tests {
    use std::path::{Path, PathBuf};

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
        WalkedTree::walk(view, &GO_ON).unwrap().files.into_iter().map(|file| file.rel).collect()
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
        let tree = WalkedTree::walk(&fixture.view(), &GO_ON).unwrap();
        std::fs::remove_file(fixture.path("a.rs")).unwrap();
        std::os::unix::fs::symlink(outside.path("secret.rs"), fixture.path("a.rs")).unwrap();
        assert_eq!(tree.text(&tree.files[0], &GO_ON), None);
    }

    #[test]
    fn an_open_buffer_wins_and_a_new_one_is_listed_but_an_ignored_one_is_not() {
        let fixture = Fixture::new(&[(".gitignore", "*.log\n"), ("a.rs", "old"), ("b.log", "log")]);
        let view =
            fixture.view_with(&[("a.rs", "new"), ("n.rs", "fresh"), ("b.log", "open"), (".env", "S=1")]);
        let tree = WalkedTree::walk(&view, &GO_ON).unwrap();
        let texts: Vec<_> =
            tree.files.iter().map(|file| (file.rel.as_str(), tree.text(file, &GO_ON).unwrap())).collect();
        assert_eq!(texts, [("a.rs", "new".to_owned()), ("n.rs", "fresh".to_owned())]);
    }

    #[test]
    fn a_cancelled_walk_ends() {
        let fixture = Fixture::new(&[("a.rs", "")]);
        let cancel = AtomicBool::new(true);
        assert!(matches!(WalkedTree::walk(&fixture.view(), &cancel), Err(RetrievalError::Cancelled)));
    }
}
