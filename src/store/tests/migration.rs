//! A file of an earlier version of ours is brought up to date where it lies, and keeps everything.

use std::path::Path;

use rusqlite::Connection;

use super::super::aside::beside;
use super::super::database::SCHEMA_VERSION;
use super::{batch, block_row, events, journal, session_row};
use crate::app::ports::{Commit, EngineCursor, Journal, LedgerRow, TabRow};
use crate::domain::approval::PermissionStatus;
use crate::domain::view::Lane;

/// Everything that version 1 could hold.
fn full(session_id: &str) -> Commit {
    Commit {
        session_id: session_id.into(),
        session: Some(session_row(session_id, "w", 7)),
        batch: Some(batch(1, 5)),
        blocks: vec![block_row(Lane::Chat, 0, "a", "one"), block_row(Lane::Run, 0, "r", "two")],
        view: Some((5, b"state".to_vec())),
        ledger: vec![LedgerRow {
            request_id: "p".into(),
            status: PermissionStatus::Pending,
            record: b"ask".to_vec(),
        }],
        prompts: vec![("m".into(), b"answer".to_vec())],
        ..Commit::default()
    }
}

/// The closed journal of a directory as version 1 would have left it, and its epoch.
fn first_version(directory: &Path) -> String {
    let mut journal = journal(directory);
    for session_id in ["s", "t"] {
        journal.commit(&full(session_id)).unwrap();
    }
    let (file, epoch) = (journal.database().unwrap().to_owned(), journal.epoch().to_owned());
    drop(journal);
    std::fs::remove_file(beside(&file, "-front")).unwrap();
    let old = Connection::open(file).unwrap();
    old.execute("DELETE FROM meta WHERE key IN ('front', 'commits')", []).unwrap();
    // Batches were clustered by their key, and such a file keeps them so.
    old.execute_batch(
        "DROP TABLE cursor; DROP TABLE rule; DROP TABLE tab; DROP TABLE spec;
        ALTER TABLE batch RENAME TO newer;
        CREATE TABLE batch (
            session_id TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, events BLOB NOT NULL,
            PRIMARY KEY (session_id, from_seq)) WITHOUT ROWID;
        INSERT INTO batch SELECT session_id, from_seq, to_seq, events FROM newer; DROP TABLE newer;
        PRAGMA user_version = 1; VACUUM",
    )
    .unwrap();
    epoch
}

/// Everything of both sessions is there, and what is new works.
fn assert_whole(directory: &Path, epoch: &str) {
    let mut journal = journal(directory);
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(journal.epoch(), epoch);
    let version = journal.connection().pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    assert_eq!(version, Ok(SCHEMA_VERSION));
    for session_id in ["s", "t"] {
        let kept = full(session_id);
        assert_eq!(journal.session(session_id), Ok(kept.session));
        assert_eq!(journal.head(session_id), Ok(5));
        assert_eq!(journal.batches(session_id, 1, usize::MAX), Ok(vec![batch(1, 5)]));
        for block in kept.blocks {
            assert_eq!(journal.block(session_id, block.lane, &block.id), Ok(Some(block)));
        }
        assert_eq!(journal.view(session_id), Ok(kept.view));
        assert_eq!(journal.pending_asks(session_id), Ok(kept.ledger));
        assert_eq!(journal.prompt(session_id, "m"), Ok(Some(b"answer".to_vec())));
        assert_eq!(journal.cursor(session_id), Ok(None));
    }
    let cursor = Some(EngineCursor { seq: 3, id: "3".into() });
    journal.commit(&Commit { cursor: cursor.clone(), ..events(6, 7) }).unwrap();
    assert_eq!(journal.cursor("s"), Ok(cursor));
    let tab = TabRow { tab_id: "t".into(), workspace: "w".into(), record: Some(b"tab".to_vec()) };
    assert_eq!(journal.tabs("w"), Ok(vec![]));
    journal.commit(&Commit { tabs: vec![tab.clone()], ..Commit::default() }).unwrap();
    assert_eq!(journal.tabs("w"), Ok(vec![tab]));
    assert_eq!(journal.spec("w"), Ok(None));
    journal.set_spec("w", Some(b"one")).unwrap();
    journal.set_spec("w", Some(b"two")).unwrap();
    assert_eq!((journal.spec("w"), journal.spec("v")), (Ok(Some(b"two".to_vec())), Ok(None)));
    journal.set_spec("w", None).unwrap();
    assert_eq!(journal.spec("w"), Ok(None));
}

#[test]
fn a_file_of_the_first_version_is_migrated_and_keeps_everything() {
    let directory = tempfile::tempdir().unwrap();
    let epoch = first_version(directory.path());
    assert_whole(directory.path(), &epoch);
}

#[test]
fn a_file_of_the_second_version_is_migrated_and_keeps_its_cursor() {
    let directory = tempfile::tempdir().unwrap();
    let cursor = Some(EngineCursor { seq: 4, id: "four".into() });
    let mut newest = journal(directory.path());
    newest.commit(&Commit { cursor: cursor.clone(), ..full("s") }).unwrap();
    let file = newest.database().unwrap().to_owned();
    drop(newest);
    let old = Connection::open(file).unwrap();
    old.execute_batch(
        "DROP TABLE rule; DROP TABLE tab; DROP TABLE spec; ALTER TABLE batch DROP COLUMN crc;
        PRAGMA user_version = 2; VACUUM",
    )
    .unwrap();
    drop(old);
    let mut journal = journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!((journal.head("s"), journal.cursor("s"), journal.tabs("w")), (Ok(5), Ok(cursor), Ok(vec![])));
    let version = journal.connection().pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    assert_eq!(version, Ok(SCHEMA_VERSION));
}

#[cfg(unix)]
mod kill {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    const DIRECTORY: &str = "BREADBOARD_TEST_MIGRATION_DIRECTORY";
    const FILES: u32 = 40;

    #[test]
    #[ignore = "runs as the child of the test below"]
    fn child() {
        let directory = std::env::var_os(DIRECTORY).expect("a directory");
        for number in 0..FILES {
            let mut stdout = std::io::stdout();
            writeln!(stdout, "\nbegins {number}").unwrap();
            stdout.flush().unwrap();
            drop(journal(&Path::new(&directory).join(number.to_string())));
        }
    }

    #[test]
    fn a_migration_that_is_killed_hurts_nothing() {
        let old = tempfile::tempdir().unwrap();
        let epoch = first_version(old.path());
        for round in 0..4 {
            let directory = tempfile::tempdir().unwrap();
            for number in 0..FILES {
                let slot = directory.path().join(number.to_string());
                std::fs::create_dir(&slot).unwrap();
                std::fs::copy(old.path().join("slot-0.sqlite3"), slot.join("slot-0.sqlite3")).unwrap();
            }
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["store::tests::migration::kill::child", "--exact", "--ignored", "--nocapture"])
                .env(DIRECTORY, directory.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            // One file after the other, so that the end comes at some point within one of them.
            let mut begun = 0;
            for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
                begun += u32::from(line.starts_with("begins "));
                if begun == 3 + round * 5 {
                    child.kill().unwrap();
                }
            }
            child.wait().unwrap();
            assert!((3..FILES).contains(&begun), "killed among them: {begun}");
            for number in 0..=begun {
                assert_whole(&directory.path().join(number.to_string()), &epoch);
            }
        }
    }
}
