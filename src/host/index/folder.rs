//! The index of one folder.
//!
//! Owns its entries, how it stands and what is still wanted of it. Locks for moments only: what takes time is done before, and
//! handed in whole.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::entry::{CountedFile, FileNews};
use super::keep::IndexFile;
use super::stamp::FileStamp;
use super::task::IndexTask;

/// See the module.
pub struct FolderIndex {
    root: PathBuf,
    state: Mutex<FolderState>,
    /// Apart from the state: a search never waits for a disk.
    file: Mutex<Option<IndexFile>>,
    place: Option<PathBuf>,
}

#[derive(Default)]
struct FolderState {
    entries: HashMap<String, Arc<CountedFile>>,
    wanted: IndexTask,
    standing: IndexStanding,
    done: u64,
    total: u64,
    finished_at: Option<SystemTime>,
    is_loaded: bool,
}

/// How an index stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexStanding {
    /// Nothing was read yet.
    #[default]
    Pending,
    /// Files are read.
    Indexing,
    /// Every file was read.
    Complete,
    /// The folder has more files than one search looks at; the others were read.
    Partial,
    /// The last attempt failed; the files are searched without it.
    Failed,
}

/// The same with figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexStatus {
    /// How it stands.
    pub standing: IndexStanding,
    /// Files that the folder has, as far as they were counted.
    pub total_files: u64,
    /// Files of which the index knows something.
    pub indexed_files: u64,
    /// What of the present work is done, 0 to 1.
    pub progress: f64,
    /// When every file was compared last.
    pub finished_at: Option<SystemTime>,
}

impl FolderIndex {
    pub(super) fn new(root: PathBuf, place: Option<PathBuf>) -> Self {
        Self { root, state: Mutex::default(), file: Mutex::default(), place }
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// How it stands.
    pub fn status(&self) -> IndexStatus {
        let state = self.state();
        let working = state.standing == IndexStanding::Indexing;
        let whole = if working { 0.0 } else { f64::from(u8::from(state.finished_at.is_some())) };
        IndexStatus {
            standing: state.standing,
            total_files: state.total,
            indexed_files: state.entries.len() as u64,
            progress: if working && state.total > 0 { state.done as f64 / state.total as f64 } else { whole },
            finished_at: state.finished_at,
        }
    }

    /// What is known of these files, in their order: each only if it is the version that was read.
    pub(crate) fn known<'a>(
        &self,
        files: impl Iterator<Item = Option<(&'a str, FileStamp)>>,
    ) -> Vec<Option<Arc<CountedFile>>> {
        let state = self.state();
        let known = |(rel, stamp): (&str, FileStamp)| {
            let entry = state.entries.get(rel)?;
            (entry.is_settled && entry.stamp == stamp).then(|| Arc::clone(entry))
        };
        files.map(|file| file.and_then(known)).collect()
    }

    /// What is kept of a file, whichever version.
    pub(crate) fn entry(&self, rel: &str) -> Option<Arc<CountedFile>> {
        self.state().entries.get(rel).cloned()
    }

    /// The definitions of a file with these bytes, packed.
    pub(crate) fn symbols(&self, rel: &str, hash: [u8; 16]) -> Option<Vec<u8>> {
        self.file().as_ref()?.symbols(rel, hash)
    }

    /// Remembers what is wanted.
    pub(super) fn want(&self, wanted: IndexTask) {
        let mut state = self.state();
        state.wanted = std::mem::take(&mut state.wanted).and(wanted);
    }

    /// What is wanted, which is from now on being done.
    pub(super) fn begin(&self) -> Option<IndexTask> {
        let mut state = self.state();
        match std::mem::take(&mut state.wanted) {
            IndexTask::Nothing => None,
            wanted => Some(wanted),
        }
    }

    /// Reads what an earlier process kept, once. Whatever is wrong with it, it begins anew.
    pub(crate) fn load(&self) {
        if std::mem::replace(&mut self.state().is_loaded, true) {
            return;
        }
        let Some(place) = &self.place else { return };
        match IndexFile::open(place, &self.root) {
            Ok((file, entries)) => {
                self.state().entries.extend(entries.into_iter().map(|(rel, entry)| (rel, Arc::new(entry))));
                *self.file() = Some(file);
            }
            Err(error) => tracing::warn!(%error, "the index is kept in memory only"),
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&self) {
        self.state().entries.clear();
        self.write(IndexFile::clear);
    }

    /// So many files are looked at.
    pub(crate) fn looking_at(&self, total: u64) {
        let mut state = self.state();
        (state.standing, state.done, state.total) = (IndexStanding::Indexing, 0, total);
    }

    /// Takes what was found out of some files, and how many were looked at for it.
    pub(crate) fn take(&self, looked_at: u64, news: Vec<(String, FileNews)>) {
        self.write(|file| file.take(&news));
        let mut state = self.state();
        state.done += looked_at;
        for (rel, news) in news {
            match news {
                FileNews::Read(read) => drop(state.entries.insert(rel, Arc::new(read.entry))),
                FileNews::Touched(stamp, is_settled) => {
                    if let Some(entry) = state.entries.get_mut(&rel) {
                        let entry = Arc::make_mut(entry);
                        (entry.stamp, entry.is_settled) = (stamp, is_settled);
                    }
                }
                FileNews::Gone => drop(state.entries.remove(&rel)),
            }
        }
    }

    /// Files that are known and not among these.
    pub(crate) fn known_beside(&self, there: &BTreeSet<&str>) -> Vec<String> {
        let state = self.state();
        state.entries.keys().filter(|rel| !there.contains(rel.as_str())).cloned().collect()
    }

    /// Every file was looked at; `in_part`: every file that one search looks at.
    pub(crate) fn finished(&self, in_part: bool, now: SystemTime) {
        let mut state = self.state();
        state.standing = if in_part { IndexStanding::Partial } else { IndexStanding::Complete };
        state.finished_at = Some(now);
    }

    /// The work ended before its time.
    pub(crate) fn failed(&self) {
        self.state().standing = IndexStanding::Failed;
    }

    /// What cannot be written is read again by the next process.
    fn write(&self, change: impl FnOnce(&mut IndexFile) -> rusqlite::Result<()>) {
        let mut file = self.file();
        if let Some(open) = file.as_mut()
            && let Err(error) = change(open)
        {
            tracing::warn!(%error, "the index is kept in memory only from now on");
            *file = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> MutexGuard<'_, Option<IndexFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
