//! The index: what is known of the files of a folder, so that a search reads few of them.
//!
//! Owns what is kept of each file, in memory and in a file of the state directory, and what is still to be done; each folder has
//! one. It is only ever believed of a file that is, by size and times, the one that was read (decision 0033), so that it may lag
//! behind and never be wrong. Never walks a folder or reads a source file: `retrieval` does, and tells it.

mod asking;
mod entry;
mod folder;
mod keep;
mod kept_file;
pub(crate) mod reranker;
mod stamp;
mod task;
pub(crate) mod vectors;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

pub(crate) use asking::{Asked, Asking};
pub(crate) use entry::{CountedFile, FileNews, IndexedText, ReadFile};
pub use folder::{FolderIndex, IndexStanding, IndexStatus};
use reranker::RerankerSlot;
pub(crate) use stamp::FileStamp;
pub use task::IndexTask;
use vectors::{VectorWork, Vectors};

/// Folders with an index. A client that opens more is searched without.
const MOST_FOLDERS: usize = 32;

/// Does what a folder wants; blocking.
pub(crate) type IndexWork = fn(&FolderIndex, IndexTask);

/// The indexes of this process. Cheap to clone.
#[derive(Clone)]
pub struct Indexes(Arc<IndexesParts>);

struct IndexesParts {
    work: IndexWork,
    vectors: Vectors,
    reranker: RerankerSlot,
    state: Mutex<IndexesState>,
}

#[derive(Default)]
struct IndexesState {
    /// Where they are kept; nowhere: in memory.
    directory: Option<PathBuf>,
    folders: BTreeMap<PathBuf, Arc<FolderIndex>>,
    is_working: bool,
}

impl fmt::Debug for Indexes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Indexes").field("folders", &self.state().folders.len()).finish()
    }
}

impl Indexes {
    /// None yet. `work` is done on a thread of its own, which ends when nothing is left to do; what makes vectors on another.
    pub(crate) fn new(work: IndexWork, vectors: VectorWork) -> Self {
        let vectors = Vectors::new(vectors);
        let reranker = RerankerSlot::default();
        Self(Arc::new(IndexesParts { work, vectors, reranker, state: Mutex::default() }))
    }

    /// What the files mean, where the user has a model that says so.
    pub(crate) fn vectors(&self) -> &Vectors {
        &self.0.vectors
    }

    /// The model that reads passages together with a question, where the user has one.
    pub(crate) fn reranker(&self) -> &RerankerSlot {
        &self.0.reranker
    }

    /// Keeps the indexes of folders that are opened from now on in this directory.
    pub fn keep_in(&self, directory: PathBuf) {
        self.0.vectors.keep_in(directory.clone());
        self.state().directory = Some(directory);
    }

    /// The index of a folder; `None` where there are too many.
    pub fn of(&self, root: &Path) -> Option<Arc<FolderIndex>> {
        let mut state = self.state();
        if let Some(known) = state.folders.get(root) {
            return Some(Arc::clone(known));
        }
        if state.folders.len() >= MOST_FOLDERS {
            return None;
        }
        let file = state.directory.as_ref().map(|directory| directory.join(file_name(root)));
        let folder = Arc::new(FolderIndex::new(root.to_owned(), file));
        state.folders.insert(root.to_owned(), Arc::clone(&folder));
        Some(folder)
    }

    /// Has something done for a folder, as soon as what was wanted before is done.
    pub fn want(&self, root: &Path, wanted: IndexTask) {
        let Some(folder) = self.of(root) else { return };
        folder.want(wanted);
        if std::mem::replace(&mut self.state().is_working, true) {
            return;
        }
        let own = self.clone();
        let begun = std::thread::Builder::new().name("index".into()).spawn(move || own.work());
        if let Err(error) = begun {
            tracing::warn!(%error, "the index waits for a thread");
            self.state().is_working = false;
        }
    }

    /// Files of a folder changed: where it has an index that was begun, it takes them in.
    pub(crate) fn hear(&self, root: &Path, changed: IndexTask) {
        let known = self.state().folders.get(root).map(Arc::clone);
        if changed != IndexTask::Nothing
            && known.is_some_and(|folder| folder.status().standing != IndexStanding::Pending)
        {
            self.want(root, changed);
        }
    }

    /// Whether something is being done, or waits to be.
    pub fn is_working(&self) -> bool {
        self.state().is_working || self.0.vectors.is_working()
    }

    fn work(&self) {
        while let Some((folder, wanted)) = self.next() {
            let done =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.0.work)(&folder, wanted)));
            if done.is_err() {
                folder.failed();
            }
        }
    }

    /// What is to be done next; where there is nothing, the work has ended.
    fn next(&self) -> Option<(Arc<FolderIndex>, IndexTask)> {
        let mut state = self.state();
        let next = state.folders.values().find_map(|folder| Some((Arc::clone(folder), folder.begin()?)));
        state.is_working = next.is_some();
        next
    }

    /// The state. No code panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, IndexesState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a folder's file: made of its path, so that it is found again.
fn file_name(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.sqlite")
}
