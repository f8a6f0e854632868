//! Several windows on one database: who may write a session, what the others read, and what becomes of it when one is gone.

use std::collections::BTreeSet;
use std::path::Path;

use tempfile::TempDir;

use super::{batch, events, journal, session_row};
use crate::app::ports::{Commit, HolderRequest, Journal, JournalError, Lease};

/// The row of a session of workspace `w`.
fn made(session_id: &str) -> Commit {
    let session = Some(session_row(session_id, "w", 1));
    Commit { session_id: session_id.into(), session, ..Commit::default() }
}

/// The files as a kill of window 1 at this moment leaves them, in a directory that no process holds.
fn killed(directory: &Path) -> TempDir {
    let left = tempfile::tempdir().unwrap();
    let names =
        ["sessions.sqlite3", "sessions.sqlite3-wal", "window-0.front", "window-1.front", "window-1.lock"];
    for name in names {
        std::fs::copy(directory.join(name), left.path().join(name)).unwrap();
    }
    left
}

#[test]
fn windows_list_the_same_sessions_and_one_at_a_time_writes_each() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (journal(directory.path()), journal(directory.path()));
    // Given a session that the first window works on
    one.commit(&made("s")).unwrap();
    one.commit(&events(1, 2)).unwrap();
    // Then the other one lists it, and may not write it
    assert_eq!(two.sessions("w"), Ok(vec![session_row("s", "w", 1)]));
    let news = two.news("w", 0).unwrap().unwrap();
    assert_eq!(news.changed, [session_row("s", "w", 1)]);
    assert_eq!((news.present, news.elsewhere), (BTreeSet::from(["s".into()]), BTreeSet::from(["s".into()])));
    assert_eq!(two.take("s"), Ok(Lease::Elsewhere));
    assert_eq!(two.commit(&events(1, 1)), Err(JournalError::HeldElsewhere));
    assert_eq!(two.delete_session("s"), Err(JournalError::HeldElsewhere));
    assert_eq!(two.remove_events("s", 9, usize::MAX), Ok(0));
    // And reads its events once they are shared
    assert_eq!(one.share(), Ok(true));
    assert_eq!(one.share(), Ok(false));
    assert_eq!(two.batches("s", 1, usize::MAX), Ok(vec![batch(1, 2)]));
    // When the first lets go of it, with an event that was not shared
    one.commit(&events(3, 3)).unwrap();
    one.release("s").unwrap();
    // Then the other goes on behind that
    assert_eq!(two.take("s"), Ok(Lease::Ours));
    assert_eq!(two.head("s"), Ok(3));
    two.commit(&events(4, 4)).unwrap();
    assert_eq!(one.take("s"), Ok(Lease::Elsewhere));
}

#[test]
#[cfg_attr(windows, ignore = "files under a lock cannot be copied there")]
fn what_a_killed_window_left_is_taken_in_by_the_next_one_and_its_sessions_are_free() {
    let directory = tempfile::tempdir().unwrap();
    let (_one, mut two) = (journal(directory.path()), journal(directory.path()));
    two.commit(&made("s")).unwrap();
    two.commit(&events(1, 2)).unwrap();
    two.commit(&events(3, 3)).unwrap();
    let epoch = two.session_epoch("s");
    // Given a kill, and a window of another number that is opened then
    let left = killed(directory.path());
    let mut next = journal(left.path());
    // Then it has everything, says nothing, and may go on
    assert_eq!(next.take_warnings(), Vec::<String>::new());
    assert_eq!(next.batches("s", 1, usize::MAX), Ok(vec![batch(1, 2), batch(3, 3)]));
    assert_eq!((next.session_epoch("s"), next.take("s")), (epoch, Ok(Lease::Ours)));
    next.commit(&events(4, 4)).unwrap();
    // And so it is for one that was open already
    let left = killed(directory.path());
    let lock = std::fs::File::open(left.path().join("window-1.lock")).unwrap();
    lock.lock().unwrap();
    let mut open = journal(left.path());
    assert_eq!(open.take("s"), Ok(Lease::Elsewhere));
    assert!(open.news("w", 0).unwrap().unwrap().elsewhere.contains("s"));
    lock.unlock().unwrap();
    let news = open.news("w", 0).unwrap().unwrap();
    assert_eq!((news.elsewhere, open.head("s")), (BTreeSet::new(), Ok(3)));
}

#[test]
fn a_lock_that_something_still_holds_keeps_the_sessions_of_a_window_that_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (journal(directory.path()), journal(directory.path()));
    two.commit(&made("s")).unwrap();
    // Given a guardian that outlives its window
    let guardian = two.share_lock().unwrap();
    drop(two);
    // Then nobody takes what the window worked on, until the guardian has ended
    assert_eq!(one.take("s"), Ok(Lease::Elsewhere));
    drop(guardian);
    assert_eq!(one.take("s"), Ok(Lease::Ours));
}

#[test]
fn a_session_has_a_new_epoch_when_its_numbers_may_be_given_anew_and_others_keep_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (journal(directory.path()), journal(directory.path()));
    for (window, session_id) in [(&mut one, "lost"), (&mut two, "kept")] {
        window.commit(&made(session_id)).unwrap();
        window.commit(&Commit { session_id: session_id.into(), ..events(1, 1) }).unwrap();
    }
    let (lost, kept) = (two.session_epoch("lost"), two.session_epoch("kept"));
    // Given the damaged front of a window that ended without emptying it, beside one that works on
    let guardian = one.share_lock().unwrap();
    let bytes = std::fs::read(directory.path().join("window-0.front")).unwrap();
    one.commit(&Commit { session_id: "lost".into(), ..events(2, 2) }).unwrap();
    drop(one);
    let mut cut = bytes.clone();
    cut.truncate(5_000);
    std::fs::write(directory.path().join("window-0.front"), &cut).unwrap();
    drop(guardian);
    // When the other window takes it in
    assert_eq!(two.take("lost"), Ok(Lease::Ours));
    // Then that is said, and its session alone has another epoch
    assert_eq!(two.take_warnings().len(), 1);
    assert_ne!(two.session_epoch("lost"), lost);
    assert_eq!(two.session_epoch("kept"), kept);
    assert!(two.losses().unwrap().iter().any(|(session_id, _)| session_id == "lost"));
    // And one that was deleted and comes back has another one too
    two.delete_session("kept").unwrap();
    assert_ne!(two.session_epoch("kept"), kept);
}

#[test]
fn a_stop_is_passed_on_to_the_window_that_works_on_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (journal(directory.path()), journal(directory.path()));
    one.commit(&made("s")).unwrap();
    assert_eq!(one.news("w", 0).unwrap().map(|news| news.wishes), Some(Vec::new()));
    two.wish("s", HolderRequest::Stop).unwrap();
    assert_eq!(
        one.news("w", 0).unwrap().map(|news| news.wishes),
        Some(vec![("s".into(), HolderRequest::Stop)])
    );
    one.wish_done("s").unwrap();
    two.wish("other", HolderRequest::Stop).unwrap();
    assert_eq!(one.news("w", 0).unwrap().map(|news| news.wishes), Some(Vec::new()));
    // And nothing is new when nobody else did anything
    assert_eq!(one.news("w", 0), Ok(None));
}

#[test]
#[cfg_attr(windows, ignore = "a file that is open cannot be removed there")]
fn a_damaged_database_that_other_windows_use_is_left_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = journal(directory.path());
    one.commit(&made("s")).unwrap();
    let database = directory.path().join("sessions.sqlite3");
    let bytes = std::fs::read(&database).unwrap();
    // Not the first page, which the window that has it open may write again.
    std::fs::write(&database, [&bytes[..16_384], &vec![0xff; bytes.len() - 16_384][..]].concat()).unwrap();
    let _ = std::fs::remove_file(directory.path().join("sessions.sqlite3-wal"));
    let mut two = journal(directory.path());
    let warnings = two.take_warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("will not be kept"), "{warnings:?}");
    assert!(database.exists());
    assert_eq!(
        std::fs::read_dir(directory.path())
            .unwrap()
            .flatten()
            .filter(|file| { file.file_name().to_string_lossy().contains(".damaged-") })
            .count(),
        0
    );
}
