//! What the index knows of the files of a search.
//!
//! Owns when it is believed: of a file whose size and times are those of the version that was read. Open buffers, files that
//! changed and files that are new are not in it, and are read. Never waits for the index: what it lacks is asked for.

use std::sync::Arc;

use super::Symbol;
use super::packing::unpack_symbols;
use super::walk::{SourceFile, WalkedTree};
use crate::host::index::{CountedFile, FolderIndex, IndexTask};
use crate::host::ports::WorkspaceView;

/// Files of a workspace from which on an index is made of itself: fewer are read as fast.
const WORTH_AN_INDEX: usize = 400;

/// What is known of each file of a walked tree.
pub(super) struct KnownFiles {
    folders: Vec<Option<Arc<FolderIndex>>>,
    entries: Vec<Option<Arc<CountedFile>>>,
}

impl KnownFiles {
    /// Of these files, in their order.
    pub(super) fn of(view: &WorkspaceView, tree: &WalkedTree) -> Self {
        let none = || Self { folders: Vec::new(), entries: vec![None; tree.files.len()] };
        let Some(indexes) = &view.indexes else { return none() };
        let folders: Vec<_> = view.roots.iter().map(|root| indexes.of(&root.path)).collect();
        // In order of root, as the files are.
        let mut entries = Vec::with_capacity(tree.files.len());
        for files in tree.files.chunk_by(|a, b| a.root == b.root) {
            let root = files.first().map_or(0, |file| file.root);
            match folders.get(root).and_then(Option::as_ref) {
                Some(folder) => {
                    let stamped = files.iter().map(|file| Some((file.rel.as_str(), file.stamp?)));
                    let known = folder.known(stamped);
                    let is_behind =
                        known.iter().zip(files).any(|(entry, file)| entry.is_none() && file.stamp.is_some());
                    if is_behind && tree.files.len() >= WORTH_AN_INDEX {
                        indexes.want(&view.roots[root].path, IndexTask::Refresh);
                    }
                    entries.extend(known);
                }
                None => entries.extend(files.iter().map(|_| None)),
            }
        }
        Self { folders, entries }
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
