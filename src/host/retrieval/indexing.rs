//! Bringing the index of a folder up to date.
//!
//! Owns which files are read: those whose size or times are not the known ones; of them those are taken apart whose bytes are
//! others. What is ignored, hidden, linked, binary or too large for a search is so for the index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::content::decode;
use super::embedding::have_read;
use super::file_terms::pack;
use super::line_kind::is_generated;
use super::packing::pack_symbols;
use super::symbols::symbols_of;
use super::walk::{SourceFile, WalkedTree};
use super::workers::spread;
use crate::host::index::{CountedFile, FileNews, FolderIndex, IndexTask, IndexedText, Indexes, ReadFile};
use crate::host::ports::{Root, WorkspaceView};

/// Files that are read before what was found is kept: memory is bounded, and a killed process loses little.
const BATCH: usize = 256;

/// Names whose change changes which files count.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Nobody waits for the index, so nobody stops it; a process that ends ends it.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Indexes that are kept by this room.
pub fn new_indexes() -> Indexes {
    Indexes::new(bring_up_to_date, have_read)
}

fn bring_up_to_date(folder: &FolderIndex, wanted: IndexTask) {
    bring_up_to(folder, wanted, SystemTime::now());
}

/// The same as if the files were read at this time.
fn bring_up_to(folder: &FolderIndex, wanted: IndexTask, now: SystemTime) {
    folder.load();
    match wanted {
        IndexTask::Nothing => {}
        IndexTask::Files(files) if folder.status().finished_at.is_some() && all_known(folder, &files) => {
            update(folder, &files, now);
        }
        IndexTask::Files(_) | IndexTask::Refresh => refresh(folder, now),
        IndexTask::Rebuild => {
            folder.forget();
            refresh(folder, now);
        }
    }
}

/// A new file may be an ignored one, and one that says what is ignored changes others: only a walk tells.
fn all_known(folder: &FolderIndex, files: &BTreeSet<String>) -> bool {
    files.iter().all(|rel| {
        let name = rel.rsplit('/').next().unwrap_or(rel);
        folder.entry(rel).is_some() && !IGNORE_FILES.contains(&name)
    })
}

fn update(folder: &FolderIndex, files: &BTreeSet<String>, now: SystemTime) {
    let tree = WalkedTree::of_files(&view_of(folder.root()), files.iter().map(String::as_str));
    let there: BTreeMap<&str, &SourceFile> =
        tree.files.iter().map(|file| (file.rel.as_str(), file)).collect();
    let news = files.iter().filter_map(|rel| match there.get(rel.as_str()) {
        Some(file) => news_of(folder, &tree, file, now).map(|news| (rel.clone(), news)),
        None => Some((rel.clone(), FileNews::Gone)),
    });
    folder.take(0, news.collect());
}

fn refresh(folder: &FolderIndex, now: SystemTime) {
    let Ok(tree) = WalkedTree::walk(&view_of(folder.root()), &NEVER) else { return folder.failed() };
    folder.looking_at(tree.files.len() as u64);
    for files in tree.files.chunks(BATCH) {
        let read = spread(files.len(), &NEVER, |at| {
            news_of(folder, &tree, &files[at], now).map(|news| (files[at].rel.clone(), news))
        });
        let news = read.unwrap_or_default().into_iter().map(|(_, news)| news).collect();
        folder.take(files.len() as u64, news);
    }
    let there: BTreeSet<&str> = tree.files.iter().map(|file| file.rel.as_str()).collect();
    let gone = folder.known_beside(&there).into_iter().map(|rel| (rel, FileNews::Gone)).collect();
    folder.take(0, gone);
    folder.finished(tree.truncated, now);
}

/// What is to be learnt of a file; `None`: nothing.
fn news_of(folder: &FolderIndex, tree: &WalkedTree, file: &SourceFile, now: SystemTime) -> Option<FileNews> {
    let stamp = file.stamp?;
    let known = folder.entry(&file.rel);
    if known.as_ref().is_some_and(|known| known.is_settled && known.stamp == stamp) {
        return None;
    }
    let is_settled = stamp.is_settled(now);
    let Some(bytes) = tree.bytes(file, &NEVER) else { return Some(FileNews::Gone) };
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(&bytes)[..16]);
    if known.is_some_and(|known| known.hash == hash) {
        return Some(FileNews::Touched(stamp, is_settled));
    }
    let text = decode(bytes);
    let symbols =
        text.as_deref().and_then(|text| symbols_of(&file.rel, text, &NEVER).ok()).unwrap_or_default();
    let text = text.map(|text| {
        let (terms, lines) = pack(&text);
        IndexedText {
            bytes: text.len() as u32,
            lines,
            is_generated: is_generated(&text),
            terms: terms.into(),
        }
    });
    let entry = CountedFile { stamp, is_settled, hash, text };
    Some(FileNews::Read(ReadFile { entry, symbols: pack_symbols(&symbols) }))
}

fn view_of(root: &Path) -> WorkspaceView {
    let root = Root { name: String::new(), uri: String::new(), path: root.to_owned() };
    WorkspaceView { roots: vec![root], ..WorkspaceView::default() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::host::index::IndexStanding;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};
    use crate::host::retrieval::{Found, find_places};

    /// Long after the files were written, so that their times tell versions apart.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    fn tree() -> Fixture {
        let fixture = Fixture::new(&[
            (
                "src/frame.rs",
                "/// Refuses a frame that is too large.\npub fn frame_guard(n: usize) -> bool {\n    n < MAX\n}\n",
            ),
            ("src/server.rs", "use crate::frame::frame_guard;\n\nfn run() {\n    frame_guard(3);\n}\n"),
            ("tests/frame.rs", "fn frame_guard_refuses_oversized_frames() {}\n"),
            ("CHANGELOG.md", "- the frame guard refuses oversized frames\n"),
            ("ignored/frame.rs", "fn frame_guard() {}\n"),
            ("deep/kept.rs", "fn kept() {}\n"),
            ("deep/left.out", "frame guard\n"),
            ("deep/.gitignore", "*.out\n"),
            (".gitignore", "ignored/\n"),
        ]);
        fixture.write("bin", b"frame\0guard");
        fixture
    }

    fn indexed(fixture: &Fixture, indexes: &Indexes) -> WorkspaceView {
        let view = WorkspaceView { indexes: Some(indexes.clone()), ..fixture.view() };
        bring_up_to(&indexes.of(&view.roots[0].path).unwrap(), IndexTask::Refresh, later());
        view
    }

    fn ask(view: &WorkspaceView, question: &str) -> Found {
        find_places(view, question, 5, &GO_ON, &mut |_, _| {}).unwrap()
    }

    fn paths(view: &WorkspaceView, question: &str) -> Vec<String> {
        ask(view, question).places.into_iter().map(|place| place.path).collect()
    }

    #[test]
    fn an_answer_with_the_index_is_the_answer_without() {
        let fixture = tree();
        let indexes = new_indexes();
        let view = indexed(&fixture, &indexes);
        let status = indexes.of(&view.roots[0].path).unwrap().status();
        assert_eq!(
            (status.standing, status.total_files, status.indexed_files),
            (IndexStanding::Complete, 6, 6)
        );
        for question in [
            "where is the frame guard that refuses oversized frames?",
            "frame_guard",
            "kept",
            "src/server.rs",
            "zebra",
        ] {
            assert_eq!(ask(&view, question), ask(&fixture.view(), question), "{question}");
        }
    }

    #[test]
    fn r002_102_what_changed_is_read_again_and_nothing_else() {
        let fixture = tree();
        let indexes = new_indexes();
        let view = indexed(&fixture, &indexes);
        let folder = indexes.of(&view.roots[0].path).unwrap();
        let other = folder.entry("src/server.rs").unwrap();
        fixture.write("src/frame.rs", b"pub fn teleport() {}\n");
        // Not even a search before the index knows finds what is not there any more.
        assert_eq!(paths(&view, "teleport"), ["src/frame.rs"]);
        bring_up_to(&folder, IndexTask::files(["src/frame.rs".to_owned()]), later());
        assert_eq!(paths(&view, "teleport"), ["src/frame.rs"]);
        assert!(
            std::sync::Arc::ptr_eq(&other, &folder.entry("src/server.rs").unwrap()),
            "another file was read"
        );
        std::fs::remove_file(fixture.path("src/frame.rs")).unwrap();
        fixture.write("src/new.rs", b"pub fn teleport() {}\n");
        bring_up_to(&folder, IndexTask::files(["src/frame.rs".to_owned(), "src/new.rs".to_owned()]), later());
        assert_eq!(
            (paths(&view, "teleport"), folder.status().indexed_files),
            (vec!["src/new.rs".to_owned()], 6)
        );
        assert!(folder.entry("src/frame.rs").is_none());
    }

    #[test]
    fn a_file_that_was_only_touched_is_not_taken_apart_again() {
        let fixture = tree();
        let indexes = new_indexes();
        let view = indexed(&fixture, &indexes);
        let folder = indexes.of(&view.roots[0].path).unwrap();
        let before = folder.entry("src/frame.rs").unwrap();
        let text = std::fs::read(fixture.path("src/frame.rs")).unwrap();
        fixture.write("src/frame.rs", &text);
        bring_up_to(&folder, IndexTask::Refresh, later());
        let after = folder.entry("src/frame.rs").unwrap();
        let terms = |entry: &CountedFile| entry.text.as_ref().unwrap().terms.clone();
        assert_ne!(before.stamp, after.stamp);
        assert!(std::sync::Arc::ptr_eq(&terms(&before), &terms(&after)), "it was taken apart");
    }

    #[test]
    fn an_open_buffer_wins_and_a_change_of_an_ignore_file_is_heard() {
        let fixture = tree();
        let indexes = new_indexes();
        indexed(&fixture, &indexes);
        let view = WorkspaceView {
            indexes: Some(indexes.clone()),
            ..fixture.view_with(&[("src/server.rs", "fn teleport() {}\n")])
        };
        assert_eq!(paths(&view, "teleport"), ["src/server.rs"]);
        assert!(!paths(&view, "frame guard").contains(&"src/server.rs".to_owned()));
        fixture.write(".gitignore", b"src/\n");
        let folder = indexes.of(&view.roots[0].path).unwrap();
        bring_up_to(&folder, IndexTask::files([".gitignore".to_owned()]), later());
        assert!(folder.entry("src/frame.rs").is_none() && folder.entry("ignored/frame.rs").is_some());
    }

    #[test]
    fn what_was_read_so_recently_that_a_change_may_hide_is_not_believed() {
        let fixture = tree();
        let indexes = new_indexes();
        let view = WorkspaceView { indexes: Some(indexes.clone()), ..fixture.view() };
        let folder = indexes.of(&view.roots[0].path).unwrap();
        bring_up_to(&folder, IndexTask::Refresh, SystemTime::now());
        assert!(!folder.entry("src/frame.rs").unwrap().is_settled);
        assert_eq!(ask(&view, "frame guard"), ask(&fixture.view(), "frame guard"));
        bring_up_to(&folder, IndexTask::Refresh, later());
        assert!(folder.entry("src/frame.rs").unwrap().is_settled);
    }

    #[test]
    fn the_next_process_reads_what_was_kept_and_a_damaged_file_is_made_anew() {
        let fixture = tree();
        let state = tempfile::tempdir().unwrap();
        let kept = || {
            let indexes = new_indexes();
            indexes.keep_in(state.path().join("index"));
            indexes
        };
        let first = kept();
        let view = indexed(&fixture, &first);
        let root = view.roots[0].path.clone();
        let before = first.of(&root).unwrap().entry("src/frame.rs").unwrap();
        drop((view, first));
        let second = kept();
        let folder = second.of(&root).unwrap();
        folder.load();
        assert_eq!(folder.entry("src/frame.rs"), Some(before.clone()));
        assert!(folder.symbols("src/frame.rs", before.hash).is_some());
        drop((folder, second));
        let place = std::fs::read_dir(state.path().join("index")).unwrap().next().unwrap().unwrap().path();
        for damage in [b"no database at all, but long enough to be looked at as one".to_vec(), Vec::new()] {
            std::fs::write(&place, &damage).unwrap();
            let third = kept();
            let view = indexed(&fixture, &third);
            let folder = third.of(&root).unwrap();
            assert_eq!(
                (folder.status().indexed_files, folder.entry("src/frame.rs")),
                (6, Some(before.clone()))
            );
            assert_eq!(paths(&view, "frame_guard")[0], "src/frame.rs");
        }
    }
}
