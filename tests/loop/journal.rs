//! A real journal with faults to switch on, and counts of what it was asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use breadboard_ls::app::ports::*;
use breadboard_ls::domain::view::Lane;

/// What goes wrong, and what was asked so far.
#[derive(Default)]
pub struct Faults {
    /// Commits fail.
    pub full: AtomicBool,
    /// Batches cannot be read.
    pub unreadable: AtomicBool,
    /// The checkpoint of every view is nonsense.
    pub broken_view: AtomicBool,
    /// Bytes of session records that were written.
    pub record_bytes: AtomicUsize,
    /// Checkpoints of views that were written.
    pub checkpoints: AtomicUsize,
    /// How often batches were read.
    pub reads: AtomicUsize,
}

impl Faults {
    /// Opens the journal of a directory with faults that can be switched on.
    pub fn over(dir: &Path) -> (OpenJournal, Arc<Self>) {
        let faults = Arc::new(Self::default());
        let (path, own) = (dir.to_string_lossy().into_owned(), faults.clone());
        let open: OpenJournal = Box::new(move |_| {
            Box::new(Faulty { inner: breadboard_ls::store::open(Some(&path)), faults: own })
        });
        (open, faults)
    }
}

struct Faulty {
    inner: Box<dyn Journal>,
    faults: Arc<Faults>,
}

impl Journal for Faulty {
    fn epoch(&self) -> &str {
        self.inner.epoch()
    }
    fn state_dir(&self) -> Option<PathBuf> {
        self.inner.state_dir()
    }
    fn take_warnings(&mut self) -> Vec<String> {
        self.inner.take_warnings()
    }
    fn sessions(&mut self, workspace: &str) -> Result<Vec<SessionRow>, JournalError> {
        self.inner.sessions(workspace)
    }
    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError> {
        self.inner.session(session_id)
    }
    fn delete_session(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.inner.delete_session(session_id)
    }
    fn commit(&mut self, commit: &Commit) -> Result<(), JournalError> {
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(JournalError::Full);
        }
        let record = commit.session.as_ref().map_or(0, |session| session.record.len());
        self.faults.record_bytes.fetch_add(record, Ordering::SeqCst);
        self.faults.checkpoints.fetch_add(usize::from(commit.view.is_some()), Ordering::SeqCst);
        self.inner.commit(commit)
    }
    fn head(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.inner.head(session_id)
    }
    fn batches(&mut self, id: &str, from: u64, max: usize) -> Result<Vec<BatchRow>, JournalError> {
        self.faults.reads.fetch_add(1, Ordering::SeqCst);
        if self.faults.unreadable.load(Ordering::SeqCst) {
            return Err(JournalError::Failed("a bad sector".to_owned()));
        }
        self.inner.batches(id, from, max)
    }
    fn blocks(
        &mut self,
        id: &str,
        lane: Lane,
        before: Option<u64>,
        n: usize,
    ) -> Result<Vec<BlockRow>, JournalError> {
        self.inner.blocks(id, lane, before, n)
    }
    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError> {
        self.inner.block(session_id, lane, id)
    }
    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError> {
        let stored = self.inner.view(session_id)?;
        let broken = self.faults.broken_view.load(Ordering::SeqCst);
        Ok(if broken { stored.map(|(seq, _)| (seq, b"nonsense".to_vec())) } else { stored })
    }
    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError> {
        self.inner.ask(session_id, request_id)
    }
    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.inner.pending_asks(session_id)
    }
    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.inner.prompt(session_id, message_id)
    }
}
