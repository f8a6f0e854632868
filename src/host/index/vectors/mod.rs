//! Vectors: what the pieces of files mean, as an embedding model of the user's says.
//!
//! Owns what is kept of each file, in memory and in a file of the state directory a folder, and the one thread that has files read.
//! As the index, it is only ever believed of a version of a file. Never walks a folder, reads a source file or decides which of them a
//! model may see: `retrieval` does, and tells it.

mod file_vectors;
mod folder;
mod keep;
mod vector;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::asking::Asking;
use crate::host::models::{Embeddings, ModelError};

pub(crate) use file_vectors::{FileVectors, PieceHash, PieceVector};
pub(crate) use folder::{FolderVectors, VectorStanding, VectorStatus};
pub(crate) use vector::PackedVector;

/// Folders with vectors: each may take tens of MiB.
const MOST_FOLDERS: usize = 4;

/// Makes vectors of texts.
pub(crate) trait Embedder: Send + Sync {
    /// What tells its vectors from those of another model.
    fn identity(&self) -> String;
    /// What a person calls it: its name and where it is.
    fn name(&self) -> String;
    /// What a million tokens cost, where the user said so.
    fn price(&self) -> Option<f64>;
    /// Vectors of pieces of files. Blocking; ends soon after the flag is set.
    fn pieces(&self, texts: Vec<String>, cancel: &AtomicBool) -> Result<Embeddings, ModelError>;
    /// The vector of a question; the same.
    fn question(&self, text: String, cancel: &AtomicBool) -> Result<Embeddings, ModelError>;
}

/// Has these files of a folder read; blocking, ends soon after the flag is set.
pub(crate) type VectorWork = fn(&FolderVectors, Vec<String>, &dyn Embedder, &AtomicBool);

/// The vectors of this process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Vectors(Arc<VectorsParts>);

struct VectorsParts {
    work: VectorWork,
    state: Mutex<VectorsState>,
}

#[derive(Default)]
struct VectorsState {
    embedder: Option<Arc<dyn Embedder>>,
    /// How it fared with questions.
    asking: Arc<Asking>,
    /// Where they are kept; nowhere: in memory.
    directory: Option<PathBuf>,
    folders: BTreeMap<PathBuf, Arc<FolderVectors>>,
    /// By folder the files that are to be read: all that may be.
    waiting: BTreeMap<PathBuf, Vec<String>>,
    is_working: bool,
    /// Ends the work that is being done.
    stop: Arc<AtomicBool>,
}

impl Vectors {
    /// None, and nobody who makes any.
    pub(crate) fn new(work: VectorWork) -> Self {
        Self(Arc::new(VectorsParts { work, state: Mutex::default() }))
    }

    /// From now on this model makes them; `None`: nobody does. What another one made is not mixed with it.
    pub(crate) fn make_with(&self, embedder: Option<Arc<dyn Embedder>>) {
        let mut state = self.state();
        let identity = |embedder: &Option<Arc<dyn Embedder>>| embedder.as_ref().map(|one| one.identity());
        if identity(&state.embedder) != identity(&embedder) {
            state.end_work();
            state.folders.clear();
        }
        state.embedder = embedder;
        // Whoever sets it up anew wants it asked.
        state.asking = Arc::default();
    }

    /// By which questions are asked.
    pub(crate) fn asking(&self) -> Arc<Asking> {
        Arc::clone(&self.state().asking)
    }

    /// Keeps those of folders that are opened from now on in this directory.
    pub(crate) fn keep_in(&self, directory: PathBuf) {
        self.state().directory = Some(directory);
    }

    /// Who makes them, and those of a folder; `None` where nobody does, or there are too many folders.
    pub(crate) fn of(&self, root: &Path) -> Option<(Arc<dyn Embedder>, Arc<FolderVectors>)> {
        let mut state = self.state();
        let embedder = Arc::clone(state.embedder.as_ref()?);
        if let Some(known) = state.folders.get(root) {
            return Some((embedder, Arc::clone(known)));
        }
        if state.folders.len() >= MOST_FOLDERS {
            return None;
        }
        let model = embedder.identity();
        let place = state.directory.as_ref().map(|directory| directory.join(file_name(root, &model)));
        let folder = Arc::new(FolderVectors::new(root.to_owned(), place, model));
        state.folders.insert(root.to_owned(), Arc::clone(&folder));
        Some((embedder, folder))
    }

    /// Has these files of a folder read, as soon as what was wanted before is; what waits for the same folder is replaced.
    pub(crate) fn want(&self, root: &Path, files: Vec<String>) {
        let mut state = self.state();
        state.waiting.insert(root.to_owned(), files);
        if std::mem::replace(&mut state.is_working, true) {
            return;
        }
        drop(state);
        let own = self.clone();
        let begun = std::thread::Builder::new().name("vectors".into()).spawn(move || own.work());
        if let Err(error) = begun {
            tracing::warn!(%error, "the vectors wait for a thread");
            self.state().is_working = false;
        }
    }

    /// Ends what is being done, and forgets what waits: no file is sent from here on until somebody wants it again.
    pub(crate) fn stop(&self) {
        self.state().end_work();
    }

    /// Whether something is being done, or waits to be.
    pub(crate) fn is_working(&self) -> bool {
        self.state().is_working
    }

    fn work(&self) {
        while let Some((root, files, stop)) = self.next() {
            let Some((embedder, folder)) = self.of(&root) else { continue };
            let work = || (self.0.work)(&folder, files, &*embedder, &stop);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                folder.ended(VectorStanding::Stopped);
            }
        }
    }

    fn next(&self) -> Option<(PathBuf, Vec<String>, Arc<AtomicBool>)> {
        let mut state = self.state();
        let next = state.waiting.pop_first();
        state.is_working = next.is_some();
        state.stop = Arc::default();
        next.map(|(root, files)| (root, files, Arc::clone(&state.stop)))
    }

    /// The state. No code panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, VectorsState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VectorsState {
    fn end_work(&mut self) {
        self.waiting.clear();
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The name of a folder's file: made of its path and the model, so that it is found again.
fn file_name(root: &Path, model: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(root.as_os_str().as_encoded_bytes());
    digest.update(b"\0");
    digest.update(model);
    let hex: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.vectors")
}
