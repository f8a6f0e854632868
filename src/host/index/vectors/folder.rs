//! The vectors of one folder, by one model.
//!
//! Owns what is kept of each file, how the work stands and what it took. Locks for moments only.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::stamp::FileStamp;
use super::file_vectors::{FileVectors, PieceHash};
use super::keep::VectorFile;

/// Bytes of the vectors of one folder: some 50,000 pieces of a common model. Files beyond it are found by their words alone.
const MOST_BYTES: usize = 48 << 20;

/// See the module.
pub(crate) struct FolderVectors {
    root: PathBuf,
    place: Option<PathBuf>,
    /// What tells the model from others.
    model: String,
    state: Mutex<VectorState>,
    /// Apart from the state: a search never waits for a disk.
    file: Mutex<Option<VectorFile>>,
}

#[derive(Default)]
struct VectorState {
    files: HashMap<String, Arc<FileVectors>>,
    bytes: usize,
    is_loaded: bool,
    was_asked: bool,
    standing: VectorStanding,
    done: u64,
    total: u64,
    tokens: u64,
    told: Option<ToldReading>,
}

/// What a person was told last of files that are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ToldReading {
    /// Files that are read, and tokens.
    figures: (usize, u64),
    /// That it failed.
    failed: bool,
}

/// How the reading of a folder stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum VectorStanding {
    /// Nobody asked for it yet.
    #[default]
    Pending,
    /// Files are read.
    Reading,
    /// Every file was read.
    Complete,
    /// There are more files than room for their vectors.
    Full,
    /// It was stopped before its end.
    Stopped,
    /// The model failed: a sentence.
    Failed(String),
}

/// The same with figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorStatus {
    /// How it stands.
    pub standing: VectorStanding,
    /// Files that were looked at, of the present or the last work.
    pub done: u64,
    /// Files that are to be looked at.
    pub total: u64,
    /// Tokens that the model has read for this folder, ever.
    pub tokens: u64,
}

impl FolderVectors {
    pub(super) fn new(root: PathBuf, place: Option<PathBuf>, model: String) -> Self {
        Self { root, place, model, state: Mutex::default(), file: Mutex::default() }
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether nobody of this process has asked before.
    pub(crate) fn is_first_question(&self) -> bool {
        !std::mem::replace(&mut self.state().was_asked, true)
    }

    /// Whether it is another word than the last that so many files are read, or that no more are since it failed.
    pub(crate) fn is_news(&self, read: usize) -> bool {
        let mut state = self.state();
        let figures = (read, state.tokens);
        let failed = matches!(state.standing, VectorStanding::Failed(_));
        match &mut state.told {
            Some(told) if told.figures == figures => failed && !std::mem::replace(&mut told.failed, true),
            told => {
                *told = Some(ToldReading { figures, failed });
                true
            }
        }
    }

    /// How it stands.
    pub(crate) fn status(&self) -> VectorStatus {
        let state = self.state();
        VectorStatus {
            standing: state.standing.clone(),
            done: state.done,
            total: state.total,
            tokens: state.tokens,
        }
    }

    /// What is kept of a file, if it is the version that was read.
    pub(crate) fn known(&self, rel: &str, stamp: FileStamp) -> Option<Arc<FileVectors>> {
        let state = self.state();
        let file = state.files.get(rel)?;
        (file.is_settled && file.stamp == stamp).then(|| Arc::clone(file))
    }

    /// What is kept of a file, whichever version.
    pub(crate) fn file(&self, rel: &str) -> Option<Arc<FileVectors>> {
        self.state().files.get(rel).cloned()
    }

    /// What another process has kept of a file with these bytes.
    pub(crate) fn kept(&self, rel: &str, hash: PieceHash) -> Option<FileVectors> {
        self.kept_file().as_ref()?.of_bytes(rel, hash)
    }

    /// Reads what an earlier process kept, once.
    pub(crate) fn load(&self) {
        if std::mem::replace(&mut self.state().is_loaded, true) {
            return;
        }
        let Some(place) = &self.place else { return };
        match VectorFile::open(place, &self.root, &self.model) {
            Ok((file, kept)) => {
                let mut state = self.state();
                state.tokens = kept.tokens;
                for (rel, file) in kept.files {
                    state.put(rel, Arc::new(file));
                }
                drop(state);
                *self.kept_file() = Some(file);
            }
            Err(error) => tracing::warn!(%error, "vectors are kept in memory only"),
        }
    }

    /// So many files are to be looked at.
    pub(crate) fn reading(&self, total: u64) {
        let mut state = self.state();
        (state.standing, state.done, state.total) = (VectorStanding::Reading, 0, total);
    }

    /// Takes what was read of some files, how many were looked at for it, and the tokens that it took.
    pub(crate) fn take(&self, looked_at: u64, read: Vec<(String, FileVectors)>, tokens: u64) {
        self.write(&read, &[], tokens);
        let mut state = self.state();
        state.done += looked_at;
        state.tokens += tokens;
        for (rel, file) in read {
            state.put(rel, Arc::new(file));
        }
    }

    /// Forgets the files that are not among these.
    pub(crate) fn keep_only(&self, there: &BTreeSet<&str>) {
        let gone: Vec<String> =
            self.state().files.keys().filter(|rel| !there.contains(rel.as_str())).cloned().collect();
        if gone.is_empty() {
            return;
        }
        self.write(&[], &gone, 0);
        let mut state = self.state();
        gone.iter().for_each(|rel| state.remove(rel));
    }

    /// Whether there is no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.state().bytes >= MOST_BYTES
    }

    /// The work has ended so.
    pub(crate) fn ended(&self, standing: VectorStanding) {
        self.state().standing = standing;
    }

    /// What cannot be written is read again by the next process.
    fn write(&self, read: &[(String, FileVectors)], gone: &[String], tokens: u64) {
        let mut file = self.kept_file();
        if let Some(open) = file.as_mut()
            && let Err(error) = open.take(read, gone, tokens)
        {
            tracing::warn!(%error, "vectors are kept in memory only from now on");
            *file = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, VectorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_file(&self) -> MutexGuard<'_, Option<VectorFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VectorState {
    fn put(&mut self, rel: String, file: Arc<FileVectors>) {
        self.bytes += file.bytes();
        if let Some(old) = self.files.insert(rel, file) {
            self.bytes -= old.bytes();
        }
    }

    fn remove(&mut self, rel: &str) {
        if let Some(old) = self.files.remove(rel) {
            self.bytes -= old.bytes();
        }
    }
}
