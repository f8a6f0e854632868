//! What the index knows of the files of a search.
//!
//! Owns when it is believed: of a file whose size and times are those of the version that was read. Open buffers, files that
//! changed and files that are new are not in it, and are read. Never waits for the index: what it lacks is asked for behind a search
//! that came to its end, so that none is read beside the search, and none for a question that was stopped.

use std::sync::Arc;

use super::Symbol;
use super::packing::unpack_symbols;
use super::walk::{SourceFile, WalkedTree};
use crate::host::index::{CountedFile, FolderIndex, IndexTask, Indexes};
use crate::host::ports::WorkspaceView;

/// Files of a workspace from which on an index is made of itself: fewer are read as fast.
const WORTH_AN_INDEX: usize = 400;

/// What is known of each file of a walked tree.
pub(super) struct KnownFiles {
    folders: Vec<Option<Arc<FolderIndex>>>,
    entries: Vec<Option<Arc<CountedFile>>>,
    /// The folders whose index lacks files of the tree.
    behind: Vec<Arc<FolderIndex>>,
    indexes: Option<Indexes>,
}

impl KnownFiles {
    /// Of these files, in their order.
    pub(super) fn of(view: &WorkspaceView, tree: &WalkedTree) -> Self {
        let none = || Self {
            folders: Vec::new(),
            entries: vec![None; tree.files.len()],
            behind: Vec::new(),
            indexes: None,
        };
        let Some(indexes) = &view.indexes else { return none() };
        let folders: Vec<_> = view.roots.iter().map(|root| indexes.of(&root.path)).collect();
        // In order of root, as the files are.
        let mut entries = Vec::with_capacity(tree.files.len());
        let mut behind = Vec::new();
        for files in tree.files.chunk_by(|a, b| a.root == b.root) {
            let root = files.first().map_or(0, |file| file.root);
            match folders.get(root).and_then(Option::as_ref) {
                Some(folder) => {
                    let stamped = files.iter().map(|file| Some((file.rel.as_str(), file.stamp?)));
                    let known = folder.known(stamped);
                    let is_behind =
                        known.iter().zip(files).any(|(entry, file)| entry.is_none() && file.stamp.is_some());
                    if is_behind && tree.files.len() >= WORTH_AN_INDEX {
                        behind.push(Arc::clone(folder));
                    }
                    entries.extend(known);
                }
                None => entries.extend(files.iter().map(|_| None)),
            }
        }
        Self { folders, entries, behind, indexes: Some(indexes.clone()) }
    }

    /// Has what the index lacks read, now that the search is over.
    pub(super) fn ask_for_the_rest(&self) {
        for folder in &self.behind {
            self.indexes.iter().for_each(|indexes| indexes.want(folder.root(), IndexTask::Refresh));
        }
    }

    /// What is known of the file at this place of the tree.
    pub(super) fn entry(&self, at: usize) -> Option<&CountedFile> {
        self.entries[at].as_deref()
    }

    /// The definitions of the file, where they are known.
    pub(super) fn symbols(&self, at: usize, file: &SourceFile) -> Option<Vec<Symbol>> {
        let entry = self.entry(at)?;
        let packed = self.folders.get(file.root)?.as_ref()?.symbols(&file.rel, entry.hash)?;
        unpack_symbols(&packed)
    }
}
