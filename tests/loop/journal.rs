//! A real journal with faults to switch on, and counts of what it was asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::view::Lane;
use breadboard_ls::testing::store::SqliteJournal;

/// What goes wrong, and what was asked so far.
#[derive(Default)]
pub struct Faults {
    /// Commits fail.
    pub full: AtomicBool,
    /// The process is killed after so many more commits: those after them reach no disk. 0: never.
    pub killed_after: AtomicUsize,
    /// It was.
    killed: AtomicBool,
    /// Batches cannot be read.
    pub unreadable: AtomicBool,
    /// The checkpoint of every view is nonsense.
    pub broken_view: AtomicBool,
    /// Bytes of session records that were written.
    pub record_bytes: AtomicUsize,
    /// Ends of runs that were written before the note that nothing runs.
    pub torn_ends: AtomicUsize,
    /// Checkpoints of views that were written.
    pub checkpoints: AtomicUsize,
    /// How often batches were read.
    pub reads: AtomicUsize,
    /// Events that were read.
    pub events_read: AtomicUsize,
    /// Bytes of events that were read.
    pub bytes_read: AtomicUsize,
    /// Bytes of the steps that removed events, the largest.
    pub largest_removal: AtomicUsize,
}

impl Faults {
    /// Opens the journal of a directory with faults that can be switched on.
    pub fn over(dir: &Path) -> (OpenJournal, Arc<Self>) {
        let faults = Arc::new(Self::default());
        let (path, own) = (dir.to_owned(), faults.clone());
        let open: OpenJournal = Box::new(move |_| {
            Box::new(Faulty { inner: Box::new(SqliteJournal::open(Some(&path))), faults: own })
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
    fn rules(&mut self, workspace: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.inner.rules(workspace)
    }
    fn set_rule(
        &mut self,
        workspace: &str,
        rule_id: &str,
        record: Option<&[u8]>,
    ) -> Result<(), JournalError> {
        self.inner.set_rule(workspace, rule_id, record)
    }
    fn tab(&mut self, workspace: &str, tab_id: &str) -> Result<Option<TabRow>, JournalError> {
        self.inner.tab(workspace, tab_id)
    }
    fn session_epoch(&mut self, session_id: &str) -> String {
        self.inner.session_epoch(session_id)
    }
    fn take(&mut self, session_id: &str) -> Result<Lease, JournalError> {
        self.inner.take(session_id)
    }
    fn release(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.inner.release(session_id)
    }
    fn share(&mut self) -> Result<bool, JournalError> {
        self.inner.share()
    }
    fn news(&mut self, workspace: &str, since: u64) -> Result<Option<News>, JournalError> {
        self.inner.news(workspace, since)
    }
    fn wish(&mut self, session_id: &str, wish: HolderRequest) -> Result<(), JournalError> {
        self.inner.wish(session_id, wish)
    }
    fn wish_done(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.inner.wish_done(session_id)
    }
    fn checkpoint(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.inner.checkpoint(session_id)
    }
    fn spec(&mut self, workspace: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.inner.spec(workspace)
    }
    fn set_spec(&mut self, workspace: &str, record: Option<&[u8]>) -> Result<(), JournalError> {
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(JournalError::Full);
        }
        self.inner.set_spec(workspace, record)
    }
    fn asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.inner.asks(session_id)
    }
    fn session_of_patch(&mut self, patch_id: &str) -> Result<Option<String>, JournalError> {
        self.inner.session_of_patch(patch_id)
    }
    fn steps(&mut self, session_id: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.inner.steps(session_id)
    }
    fn cursor(&mut self, session_id: &str) -> Result<Option<EngineCursor>, JournalError> {
        self.inner.cursor(session_id)
    }
    fn commit(&mut self, commit: &Commit) -> Result<(), JournalError> {
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(JournalError::Full);
        }
        if self.faults.killed.load(Ordering::SeqCst) {
            return Ok(());
        }
        if self.faults.killed_after.load(Ordering::SeqCst) > 0 {
            let last = self.faults.killed_after.fetch_sub(1, Ordering::SeqCst) == 1;
            self.faults.killed.store(last, Ordering::SeqCst);
        }
        let record = commit.session.as_ref().map_or(0, |session| session.record.len());
        self.faults.record_bytes.fetch_add(record, Ordering::SeqCst);
        let holds = |text: &[u8], word: &str| String::from_utf8_lossy(text).contains(word);
        let ends =
            commit.batch.as_ref().is_some_and(|batch| holds(&batch.events, r#""type":"run_finished""#));
        let noted = commit.session.as_ref().is_some_and(|row| holds(&row.record, r#""turn":"idle""#));
        self.faults.torn_ends.fetch_add(usize::from(ends && !noted), Ordering::SeqCst);
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
        let rows = self.inner.batches(id, from, max)?;
        let events: u64 = rows.iter().map(|row| row.to_seq + 1 - row.from_seq).sum();
        self.faults.events_read.fetch_add(events as usize, Ordering::SeqCst);
        let bytes = rows.iter().map(|row| row.events.len()).sum();
        self.faults.bytes_read.fetch_add(bytes, Ordering::SeqCst);
        Ok(rows)
    }
    fn used_bytes(&mut self) -> Result<u64, JournalError> {
        self.inner.used_bytes()
    }
    fn oldest_sessions(&mut self) -> Result<Vec<String>, JournalError> {
        self.inner.oldest_sessions()
    }
    fn first(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.inner.first(session_id)
    }
    fn remove_events(&mut self, session_id: &str, up_to: u64, max: usize) -> Result<u64, JournalError> {
        let removed = self.inner.remove_events(session_id, up_to, max)?;
        self.faults.largest_removal.fetch_max(removed as usize, Ordering::SeqCst);
        Ok(removed)
    }
    fn remove_session(&mut self, session_id: &str, max: usize) -> Result<bool, JournalError> {
        self.inner.remove_session(session_id, max)
    }
    fn leaving(&mut self) -> Result<Option<String>, JournalError> {
        self.inner.leaving()
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
