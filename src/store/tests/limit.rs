//! A full disk is told apart from other failures and does no lasting harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use super::{batch, events, journal};
use crate::app::ports::{BatchRow, Commit, Journal, JournalError};
use crate::store::failure::Failure;
use crate::store::fold::FoldedFolder;
use crate::store::write::with_room;

fn large(seq: u64) -> Commit {
    let batch = Some(BatchRow { from_seq: seq, to_seq: seq, events: vec![b'x'; 20_000] });
    Commit { session_id: "s".into(), batch, ..Commit::default() }
}

/// Commits until it fails: the last event that is in, and the failure.
fn fill(journal: &mut dyn Journal) -> (u64, JournalError) {
    let mut head = 0;
    loop {
        match journal.commit(&large(head + 1)) {
            Ok(()) => head += 1,
            Err(error) => return (head, error),
        }
        assert!(head < 10_000, "the limit was never met");
    }
}

#[test]
fn a_full_database_says_full_and_takes_commits_again_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.connection().pragma_update(None, "max_page_count", 200).unwrap();
    let (head, error) = fill(&mut journal);
    assert_eq!(error, JournalError::Full);
    assert_eq!(journal.head("s"), Ok(head));
    assert_eq!(journal.batches("s", head, 1).map(|rows| rows.len()), Ok(1));
    assert_eq!(journal.commit(&large(head + 1)), Err(JournalError::Full));
    journal.connection().pragma_update(None, "max_page_count", 20_000).unwrap();
    journal.commit(&events(head + 1, head + 1)).unwrap();
    assert_eq!(journal.batches("s", head + 1, 1000), Ok(vec![batch(head + 1, head + 1)]));
}

#[test]
fn deleting_a_session_makes_room_in_a_full_database() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.connection().pragma_update(None, "max_page_count", 200).unwrap();
    assert_eq!(fill(&mut journal).1, JournalError::Full);
    journal.delete_session("s").unwrap();
    journal.commit(&large(1)).unwrap();
    assert_eq!(journal.head("s"), Ok(1));
}

/// Of the log: what has no room may have some as soon as a fold that is under way has ended, and none before, since two cannot fold.
#[test]
fn what_has_no_room_is_written_again_once_the_fold_that_is_under_way_has_ended() {
    // Given a fold that goes on until a write had no room
    let directory = tempfile::tempdir().unwrap();
    let database = journal(directory.path()).database().unwrap();
    let mut connection = rusqlite::Connection::open(&database).unwrap();
    let (no_room, met) = mpsc::channel();
    let ended = Arc::new(AtomicBool::new(false));
    let (file, end) = (database.clone(), Arc::clone(&ended));
    let under_way = std::thread::spawn(move || {
        met.recv().unwrap();
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        end.store(true, Ordering::Release);
    });
    let mut folder = FoldedFolder::under_way(&database, under_way);
    // When a write has no room
    let has_failed = AtomicBool::new(false);
    let written = with_room(&mut connection, Some(&mut folder), |_| {
        if has_failed.swap(true, Ordering::AcqRel) {
            return Ok(ended.load(Ordering::Acquire));
        }
        no_room.send(()).unwrap();
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        Err(Failure::Sqlite(rusqlite::Error::SqliteFailure(full, None)))
    });
    // Then it is tried again when the fold has ended, and no sooner
    assert!(matches!(written, Ok(true)));
}

#[cfg(target_os = "linux")]
mod file_size {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    const DIRECTORY: &str = "BREADBOARD_TEST_LIMIT_DIRECTORY";

    /// A limit on file sizes holds for a whole process and by default kills it, so a shell that ignores the signal runs
    /// the child test below.
    #[test]
    fn a_limit_on_file_sizes_says_full_and_later_commits_work() {
        let directory = tempfile::tempdir().unwrap();
        let child = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["store::tests::limit::file_size::child", "--exact", "--ignored"])
            .env(DIRECTORY, directory.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        let mut journal = journal(directory.path());
        assert_eq!(journal.take_warnings(), Vec::<String>::new());
        let head = journal.head("s").unwrap();
        assert!(head > 1);
        assert_eq!(journal.batches("s", 1, usize::MAX).unwrap().len() as u64, head);
    }

    #[test]
    #[ignore = "runs as the child of the test above"]
    fn child() {
        let directory = std::env::var_os(DIRECTORY).expect("a directory");
        let mut journal = journal(directory.as_ref());
        let unlimited = getrlimit(Resource::Fsize);
        setrlimit(Resource::Fsize, Rlimit { current: Some(600_000), ..unlimited }).unwrap();
        // Three times the limit, at one place: the log is folded in and used again on the way.
        for round in 0..90 {
            let view = Some((0, vec![round; 20_000]));
            journal.commit(&Commit { session_id: "v".into(), view, ..Commit::default() }).unwrap();
        }
        let (head, error) = fill(&mut journal);
        assert_eq!(error, JournalError::Full);
        assert!(head > 0);
        assert_eq!(journal.head("s"), Ok(head));
        assert_eq!(journal.batches("s", 1, usize::MAX).unwrap().len() as u64, head);
        assert_eq!(journal.commit(&large(head + 1)), Err(JournalError::Full));

        setrlimit(Resource::Fsize, unlimited).unwrap();
        journal.commit(&large(head + 1)).unwrap();
        assert_eq!(journal.head("s"), Ok(head + 1));
    }
}
