//! What a killed process left in the front: it is taken in, or said, and never comes back where it was deleted.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::SqliteJournal;
use super::super::front::find;
use super::{batch, events, journal};
use crate::app::ports::{BatchRow, Commit, Journal, JournalError, SessionRow};

/// The files as a kill at this moment leaves them, in a directory that no process holds.
fn killed(directory: &Path) -> TempDir {
    let left = tempfile::tempdir().unwrap();
    for name in ["sessions.sqlite3", "sessions.sqlite3-wal", "window-0.front"] {
        if directory.join(name).exists() {
            std::fs::copy(directory.join(name), left.path().join(name)).unwrap();
        }
    }
    left
}

fn front_of(directory: &Path) -> PathBuf {
    directory.join("window-0.front")
}

/// Events that differ from those of `batch` at the same numbers.
fn other(from_seq: u64, to_seq: u64) -> BatchRow {
    BatchRow { from_seq, to_seq, events: format!("other {from_seq} to {to_seq}").into_bytes() }
}

fn commit_of(session_id: &str, batch: BatchRow) -> Commit {
    Commit { session_id: session_id.into(), batch: Some(batch), ..Commit::default() }
}

/// Takes all that waits into the database, as any such commit does.
fn checkpoint(journal: &mut SqliteJournal, seq: u64) {
    let view = Some((seq, vec![1]));
    journal.commit(&Commit { session_id: "s".into(), view, ..Commit::default() }).unwrap();
}

/// A killed process: events 1 and 2 are in the database, 3 to 6 in the front, and one of session `t`.
fn with_a_front() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.commit(&events(1, 2)).unwrap();
    checkpoint(&mut journal, 2);
    journal.commit(&events(3, 4)).unwrap();
    journal.commit(&events(5, 6)).unwrap();
    journal.commit(&commit_of("t", batch(1, 1))).unwrap();
    killed(directory.path())
}

/// Puts a directory in the place of the front, which was there, or is again.
fn hide(directory: &Path) {
    std::fs::rename(front_of(directory), directory.join("hidden")).unwrap();
    std::fs::create_dir(front_of(directory)).unwrap();
}

fn show(directory: &Path) {
    std::fs::remove_dir(front_of(directory)).unwrap();
    std::fs::rename(directory.join("hidden"), front_of(directory)).unwrap();
}

fn all_of(journal: &mut SqliteJournal, session_id: &str) -> Vec<BatchRow> {
    journal.batches(session_id, 1, usize::MAX).unwrap()
}

fn stray_files(directory: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().contains(".stray-")).collect()
}

#[test]
fn a_front_that_cannot_be_opened_is_said_and_taken_in_when_it_can_be() {
    let directory = with_a_front();
    hide(directory.path());
    // When it cannot be opened, then that is said once, and what is in the database is there
    let mut journal = journal(directory.path());
    let warnings = journal.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let named = front_of(directory.path()).to_string_lossy().into_owned();
    assert!(warnings[0].contains(&named) && warnings[0].contains("restart"), "{warnings:?}");
    assert_eq!(all_of(&mut journal, "s"), [batch(1, 2)]);
    // And the journal works
    journal.commit(&commit_of("u", batch(1, 3))).unwrap();
    assert_eq!(all_of(&mut journal, "u"), [batch(1, 3)]);
    drop(journal);
    // When it can be opened again, then all of it is there, since nothing else came
    show(directory.path());
    let mut journal = super::journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(all_of(&mut journal, "s"), [batch(1, 2), batch(3, 4), batch(5, 6)]);
    assert_eq!(all_of(&mut journal, "t"), [batch(1, 1)]);
    assert_eq!(all_of(&mut journal, "u"), [batch(1, 3)]);
}

#[test]
fn events_that_the_journal_went_on_without_are_kept_apart_and_said() {
    let directory = with_a_front();
    hide(directory.path());
    // Given a journal that went on without the front, up to where its second batch would fit by its number
    let mut journal = journal(directory.path());
    journal.take_warnings();
    journal.commit(&commit_of("s", other(3, 4))).unwrap();
    drop(journal);
    show(directory.path());
    // When it can be opened again
    let mut journal = super::journal(directory.path());
    // Then nothing of that session is taken in, and what follows on in the other is
    assert_eq!(all_of(&mut journal, "s"), [batch(1, 2), other(3, 4)]);
    assert_eq!(all_of(&mut journal, "t"), [batch(1, 1)]);
    // And the rest is in the file that is named
    let kept = stray_files(directory.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    let warnings = journal.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("Events of session s ") && warnings[0].contains(&*kept[0].to_string_lossy()),
        "{warnings:?}"
    );
    let left = find(&kept[0]).unwrap().scan;
    assert!(!left.spoiled);
    let left: Vec<_> = left.records.iter().map(|one| (one.session_id.as_str(), &one.batch)).collect();
    assert_eq!(left, [("s", &batch(3, 4)), ("s", &batch(5, 6))]);
    // And it is said once
    journal.commit(&commit_of("s", other(5, 5))).unwrap();
    drop(journal);
    let mut journal = super::journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(all_of(&mut journal, "s"), [batch(1, 2), other(3, 4), other(5, 5)]);
    assert_eq!(stray_files(directory.path()), kept);
}

#[test]
fn a_session_that_was_deleted_while_the_front_could_not_be_opened_does_not_come_back() {
    let directory = with_a_front();
    hide(directory.path());
    let mut journal = journal(directory.path());
    journal.take_warnings();
    // Given a session that the database never had, and one of the same name after it
    journal.delete_session("t").unwrap();
    journal.delete_session("s").unwrap();
    journal.commit(&commit_of("s", other(1, 2))).unwrap();
    drop(journal);
    // When the front can be opened again, then neither is there with what was deleted, and nothing is kept of it
    show(directory.path());
    let mut journal = super::journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(all_of(&mut journal, "s"), [other(1, 2)]);
    assert_eq!(all_of(&mut journal, "t"), []);
    assert_eq!(stray_files(directory.path()), Vec::<PathBuf>::new());
    // And from then on the front keeps what comes under that name
    journal.commit(&commit_of("s", other(3, 3))).unwrap();
    journal.commit(&commit_of("t", other(1, 1))).unwrap();
    let directory = killed(directory.path());
    let mut journal = super::journal(directory.path());
    assert_eq!(all_of(&mut journal, "s"), [other(1, 2), other(3, 3)]);
    assert_eq!(all_of(&mut journal, "t"), [other(1, 1)]);
}

/// A database that takes not one page more.
fn fill_up(journal: &SqliteJournal) {
    let pages: i64 = journal.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    journal.connection().pragma_update(None, "max_page_count", pages).unwrap();
}

fn large(seq: u64) -> BatchRow {
    BatchRow { from_seq: seq, to_seq: seq, events: vec![b'x'; 20_000] }
}

#[test]
fn a_session_that_is_deleted_on_a_full_disk_does_not_come_back_from_the_front() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill_up(&journal);
    // Given a session that is in the front only
    journal.commit(&commit_of("s", large(1))).unwrap();
    journal.commit(&commit_of("s", large(2))).unwrap();
    // When it is deleted, and the process killed
    journal.delete_session("s").unwrap();
    let left = killed(directory.path());
    // Then nothing of it is left, in the file neither
    let mut next = super::journal(left.path());
    assert_eq!(next.take_warnings(), Vec::<String>::new());
    assert_eq!((next.head("s"), all_of(&mut next, "s")), (Ok(0), vec![]));
    let bytes = std::fs::read(front_of(left.path())).unwrap();
    assert!(!bytes.windows(20).any(|window| window == [b'x'; 20]));
    // And the process that was not killed goes on in the front
    journal.commit(&commit_of("s", batch(1, 1))).unwrap();
    let mut next = super::journal(killed(directory.path()).path());
    assert_eq!(all_of(&mut next, "s"), [batch(1, 1)]);
}

#[test]
fn a_deletion_on_a_full_disk_leaves_what_waits_of_others_and_holds_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill_up(&journal);
    // Given two sessions in the front, for neither of which the database has room
    for seq in 1..=3 {
        journal.commit(&commit_of("s", large(seq))).unwrap();
        journal.commit(&commit_of("t", large(seq))).unwrap();
    }
    // When one is deleted
    journal.delete_session("s").unwrap();
    let others = [large(1), large(2), large(3)];
    assert_eq!((all_of(&mut journal, "s"), all_of(&mut journal, "t")), (vec![], others.to_vec()));
    // Then a killed process finds the other, and only it, however often it is killed
    let mut left = killed(directory.path());
    for _ in 0..2 {
        let mut next = super::journal(left.path());
        assert_eq!(next.take_warnings(), Vec::<String>::new());
        assert_eq!((all_of(&mut next, "s"), all_of(&mut next, "t")), (vec![], others.to_vec()));
        left = killed(left.path());
    }
    // And one under the same name does without the front, where it could not be told from what was deleted
    journal.commit(&commit_of("s", batch(1, 1))).unwrap();
    let mut next = super::journal(killed(directory.path()).path());
    assert_eq!((all_of(&mut next, "s"), all_of(&mut next, "t")), (vec![batch(1, 1)], others.to_vec()));
    journal.commit(&commit_of("t", batch(4, 4))).unwrap();
    journal.connection().pragma_update(None, "max_page_count", 20_000).unwrap();
    journal.commit(&commit_of("s", batch(2, 2))).unwrap();
    let mut next = super::journal(killed(directory.path()).path());
    assert_eq!(all_of(&mut next, "s"), [batch(1, 1), batch(2, 2)]);
    assert_eq!(all_of(&mut next, "t"), [&others[..], &[batch(4, 4)]].concat());
}

#[test]
fn a_commit_that_has_room_does_not_wait_for_what_has_none_of_other_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill_up(&journal);
    // Given events in the front for which the database has no room
    for seq in 1..=30 {
        journal.commit(&commit_of("s", large(seq))).unwrap();
    }
    // When it is read, that needs no room; and when another session is made, and events come with it
    assert_eq!((journal.first("s"), journal.first("t"), journal.head("s")), (Ok(1), Ok(1), Ok(30)));
    let made = SessionRow { session_id: "t".into(), workspace: "w".into(), updated_at: 1, record: vec![1] };
    let commit = Commit { session: Some(made.clone()), ..commit_of("t", batch(1, 1)) };
    journal.commit(&commit).unwrap();
    // Then it is kept; the session that waits cannot overtake itself, and nothing of it is lost
    let own = Commit {
        session: Some(SessionRow { session_id: "s".into(), ..made.clone() }),
        ..commit_of("s", large(31))
    };
    assert_eq!(journal.commit(&own), Err(JournalError::Full));
    let mut next = super::journal(killed(directory.path()).path());
    assert_eq!((next.session("t"), all_of(&mut next, "t")), (Ok(Some(made)), vec![batch(1, 1)]));
    assert_eq!(all_of(&mut next, "s"), (1..=30).map(large).collect::<Vec<_>>());
}
