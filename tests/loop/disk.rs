//! A disk that is full is said, the stream goes on, and nothing is missing when it can be written again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use breadboard_ls::app::ports::*;
use breadboard_ls::domain::view::Lane;
use serde_json::json;

use crate::desk::{Desk, Setup};

/// A real journal whose commits fail while `full` is set.
struct Fills {
    inner: Box<dyn Journal>,
    full: Arc<AtomicBool>,
}

impl Journal for Fills {
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
        if self.full.load(Ordering::SeqCst) { Err(JournalError::Full) } else { self.inner.commit(commit) }
    }
    fn head(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.inner.head(session_id)
    }
    fn batches(&mut self, id: &str, from: u64, max: usize) -> Result<Vec<BatchRow>, JournalError> {
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
        self.inner.view(session_id)
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

#[tokio::test]
async fn a_full_disk_is_said_once_the_stream_goes_on_and_all_of_it_is_written_later() {
    let dir = tempfile::tempdir().unwrap();
    let full = Arc::new(AtomicBool::new(false));
    let (path, flag) = (dir.path().to_string_lossy().into_owned(), full.clone());
    let open: OpenJournal =
        Box::new(move |_| Box::new(Fills { inner: breadboard_ls::store::open(Some(&path)), full: flag }));
    let desk = Desk::with_journal(open, Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    full.store(true, Ordering::SeqCst);
    for at in 0..600 {
        desk.token(&session, &format!("{at} ")).await;
    }
    let during = desk.events(&session).await;
    assert_eq!(during.len(), 601, "history is readable while the disk is full");
    assert_eq!(desk.heard_events(&session), during);
    let page = desk.ask("bb/view/page", json!({"sessionId": session, "lane": "chat"})).await.unwrap();
    assert_eq!(page["blocks"].as_array().unwrap().len(), 2);
    assert_eq!(desk.heard("window/showMessage").len(), 1);
    full.store(false, Ordering::SeqCst);
    desk.finish(&session, 1, "x").await;
    let after = desk.events(&session).await;
    let view = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    assert_eq!(desk.events(&session).await, after);
    assert_eq!(desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap(), view);
}
