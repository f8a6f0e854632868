//! Files that cannot be read are kept under another name, and the window works all the same.

use std::path::{Path, PathBuf};

use super::super::aside::beside;
use super::super::database::{APPLICATION_ID, PAGE_BYTES, SCHEMA_VERSION, suspect_marker};
use super::{batch, events, journal};
use crate::app::ports::{BatchRow, Commit, Journal, JournalError};

const PAGE: usize = PAGE_BYTES as usize;

/// A closed journal of `events` batches in a fresh directory, and its file.
fn closed(directory: &Path, count: u64) -> (PathBuf, String) {
    let mut journal = journal(directory);
    for seq in 1..=count {
        // Of different sizes, so that pages differ.
        let events = vec![b'x'; 50 + usize::try_from(seq % 97).unwrap() * 10];
        let batch = Some(BatchRow { from_seq: seq, to_seq: seq, events });
        journal.commit(&Commit { session_id: "s".into(), batch, ..Commit::default() }).unwrap();
    }
    (journal.database().unwrap().to_owned(), journal.epoch().to_owned())
}

/// Databases that were set aside, without their logs.
fn kept(directory: &Path, word: &str) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(&format!(".sqlite3.{word}-")))
        .filter(|path| path.to_string_lossy().ends_with(|last: char| last.is_ascii_digit()))
        .collect();
    names.sort();
    names
}

/// The file was set aside as `word` with the bytes it had, and both this start and the next one work.
fn assert_set_aside(directory: &Path, old_epoch: &str, word: &str, bytes: &[u8]) {
    let mut journal = journal(directory);
    let aside = kept(directory, word);
    assert_eq!(aside.len(), 1, "{} bytes: {aside:?}", bytes.len());
    assert_eq!(std::fs::read(&aside[0]).unwrap(), bytes);
    let warnings = journal.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(&*aside[0].to_string_lossy()), "{warnings:?}");
    assert_ne!(journal.epoch(), old_epoch);
    assert_eq!(journal.head("s"), Ok(0));
    journal.commit(&events(1, 1)).unwrap();
    let epoch = journal.epoch().to_owned();
    drop(journal);

    let mut next = super::journal(directory);
    assert_eq!(next.take_warnings(), Vec::<String>::new());
    assert_eq!(next.epoch(), epoch);
    assert_eq!(next.head("s"), Ok(1));
    assert_eq!(kept(directory, word).len(), 1);
}

#[test]
fn garbage_is_set_aside() {
    for bytes in [&b"not a database at all"[..], &[0u8; 5000][..], &[0xff; 100_000][..], b"SQLite format 3\0"]
    {
        let directory = tempfile::tempdir().unwrap();
        let (file, epoch) = closed(directory.path(), 1);
        std::fs::write(&file, bytes).unwrap();
        assert_set_aside(directory.path(), &epoch, "damaged", bytes);
    }
}

#[test]
fn a_truncated_file_is_set_aside() {
    let whole = tempfile::tempdir().unwrap();
    let (file, _) = closed(whole.path(), 300);
    let bytes = std::fs::read(file).unwrap();
    let page = PAGE;
    let lengths = [
        2,
        50,
        99,
        100,
        511,
        512,
        page - 1,
        page,
        2 * page,
        3 * page + 1,
        bytes.len() / 2,
        bytes.len() - page,
    ];
    for length in lengths {
        let directory = tempfile::tempdir().unwrap();
        let (file, epoch) = closed(directory.path(), 1);
        std::fs::write(&file, &bytes[..length]).unwrap();
        assert_set_aside(directory.path(), &epoch, "damaged", &bytes[..length]);
    }
}

#[test]
fn an_empty_file_is_a_new_journal() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sessions.sqlite3"), b"").unwrap();
    let mut journal = journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    journal.commit(&events(1, 1)).unwrap();
    assert_eq!(journal.batches("s", 1, 1000), Ok(vec![batch(1, 1)]));
}

#[test]
fn flipped_bits_in_the_structure_of_any_page_are_found_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (file, _) = closed(directory.path(), 300);
    let bytes = std::fs::read(file).unwrap();
    let pages = bytes.len() / PAGE;
    assert!(pages > 20, "{pages}");
    for page in 1..pages {
        let directory = tempfile::tempdir().unwrap();
        let (file, epoch) = closed(directory.path(), 1);
        let mut flipped = bytes.clone();
        // The kind of the page and its count of cells.
        for at in [0, 3, 4] {
            flipped[page * PAGE + at] ^= 0xff;
        }
        std::fs::write(&file, &flipped).unwrap();
        assert_set_aside(directory.path(), &epoch, "damaged", &flipped);
    }
}

#[test]
fn random_damage_is_set_aside_or_survived_but_never_fatal() {
    let directory = tempfile::tempdir().unwrap();
    let (file, _) = closed(directory.path(), 300);
    let (bytes, front) =
        (std::fs::read(&file).unwrap(), std::fs::read(directory.path().join("window-0.front")).unwrap());
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..60 {
        let directory = tempfile::tempdir().unwrap();
        let (file, _) = closed(directory.path(), 1);
        let mut flipped = bytes.clone();
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 20).unwrap() % flipped.len();
            flipped[at] ^= 1 << ((state >> 10) & 7);
        }
        std::fs::write(&file, &flipped).unwrap();
        std::fs::write(directory.path().join("window-0.front"), &front).unwrap();
        let mut journal = journal(directory.path());
        let was_set_aside = !journal.take_warnings().is_empty();
        // A flip in the number of the schema makes it a newer one.
        let aside = ["damaged", "newer"].map(|why| kept(directory.path(), why).len());
        assert_eq!(aside.iter().sum::<usize>(), usize::from(was_set_aside));
        if was_set_aside {
            assert_eq!(journal.head("s"), Ok(0));
        }
        // Flips inside the text of events cannot be seen; whatever is left must be usable.
        let next = journal.head("s").unwrap() + 1;
        journal.commit(&events(next, next)).unwrap();
        assert_eq!(journal.head("s"), Ok(next));
    }
}

#[test]
fn damage_found_while_running_is_an_error_and_the_next_start_sets_the_file_aside() {
    let directory = tempfile::tempdir().unwrap();
    let (file, epoch) = closed(directory.path(), 20_000);
    let mut bytes = std::fs::read(&file).unwrap();
    assert!(bytes.len() > 4 << 20, "large enough not to be checked at a clean start: {}", bytes.len());
    let middle = bytes.len() / PAGE / 2;
    bytes[middle * PAGE] ^= 0xff;
    std::fs::write(&file, &bytes).unwrap();

    let mut journal = journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    let read = journal.batches("s", 1, usize::MAX);
    assert!(matches!(&read, Err(JournalError::Failed(why)) if why.contains("damaged")), "{:?}", read.err());
    assert!(suspect_marker(&file).exists());
    drop(journal);
    assert_set_aside(directory.path(), &epoch, "damaged", &bytes);
    assert!(!suspect_marker(&file).exists());
}

#[test]
fn a_file_of_a_newer_version_is_set_aside_with_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let (file, epoch) = closed(directory.path(), 3);
    let newer = rusqlite::Connection::open(&file).unwrap();
    newer.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    newer.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    drop(newer);
    let bytes = std::fs::read(&file).unwrap();
    let log = std::fs::read(beside(&file, "-wal")).unwrap();
    assert!(!log.is_empty());
    assert_set_aside(directory.path(), &epoch, "newer", &bytes);
    let aside = kept(directory.path(), "newer").remove(0);
    assert_eq!(std::fs::read(beside(&aside, "-wal")).unwrap(), log);
    let newer = rusqlite::Connection::open(aside).unwrap();
    assert_eq!(newer.query_row("SELECT max(to_seq) FROM batch", [], |row| row.get::<_, i64>(0)), Ok(3));
}

#[test]
fn a_database_of_another_program_is_set_aside() {
    for sql in ["CREATE TABLE theirs (a)", "PRAGMA application_id = 77", "PRAGMA user_version = 1"] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("sessions.sqlite3");
        rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        assert_set_aside(directory.path(), "", "damaged", &bytes);
    }
}

#[test]
fn a_file_that_only_says_that_it_is_ours_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sessions.sqlite3");
    let liar = rusqlite::Connection::open(&file).unwrap();
    liar.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}"
    ))
    .unwrap();
    drop(liar);
    let mut journal = journal(directory.path());
    assert_eq!(kept(directory.path(), "damaged").len(), 1);
    assert_eq!(journal.take_warnings().len(), 1);
    journal.commit(&events(1, 1)).unwrap();
}
