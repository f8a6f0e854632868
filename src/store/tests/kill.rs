//! `kill -9` in the middle of a commit: what was answered is there, and nothing is half there.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{batch, block_row, journal, session_row};
use crate::app::ports::{Commit, EngineCursor, Journal};
use crate::domain::view::Lane;

const DIRECTORY: &str = "BREADBOARD_TEST_KILL_DIRECTORY";

/// Commit `n` of the child: two events, with their cursor, and with every fifth everything else at the same number. The others
/// go into the front.
fn numbered(n: u64) -> Commit {
    let cursor = Some(EngineCursor { seq: n, id: format!("id-{n}") });
    let events =
        Commit { session_id: "s".into(), batch: Some(batch(2 * n - 1, 2 * n)), cursor, ..Commit::default() };
    if !n.is_multiple_of(5) {
        return events;
    }
    Commit {
        session: Some(session_row("s", "w", i64::try_from(n).unwrap())),
        blocks: vec![block_row(Lane::Chat, n, &format!("b{n}"), &"text ".repeat(400))],
        view: Some((2 * n, n.to_string().into_bytes())),
        ..events
    }
}

#[test]
#[ignore = "runs as the child of the test below"]
fn child() {
    let directory = std::env::var_os(DIRECTORY).expect("a directory");
    let mut journal = journal(Path::new(&directory));
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    let mut n = journal.head("s").unwrap() / 2;
    let mut told = std::io::stdout();
    loop {
        n += 1;
        journal.commit(&numbered(n)).unwrap();
        if writeln!(told, "\ncommitted {n}").is_err() {
            return;
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_answered_and_leaves_nothing_half_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut epoch = None;
    let mut before = 0;
    for round in 0..15u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["store::tests::kill::child", "--exact", "--ignored", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let committed = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("committed ").and_then(|n| n.parse::<u64>().ok()));
        let mut told = 0;
        for n in committed {
            told = n;
            // At another point each round, checkpoints of the log included; then read what was told until it died.
            if n == before + 1 + round * 37 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(told > before, "the child worked: {told}");

        let mut journal = journal(directory.path());
        assert_eq!(journal.take_warnings(), Vec::<String>::new());
        assert_eq!(epoch.get_or_insert_with(|| journal.epoch().to_owned()), journal.epoch());
        let head = journal.head("s").unwrap();
        let n = head / 2;
        assert!(n == told || n == told + 1, "told {told}, found {n}");
        let expected: Vec<_> = (1..=n).map(|n| batch(2 * n - 1, 2 * n)).collect();
        assert_eq!(journal.batches("s", 1, usize::MAX), Ok(expected));
        assert_eq!(journal.cursor("s"), Ok(numbered(n).cursor));
        let whole = if n < 5 { Commit::default() } else { numbered(n / 5 * 5) };
        assert_eq!(journal.session("s"), Ok(whole.session));
        assert_eq!(journal.view("s"), Ok(whole.view));
        let expected: Vec<_> = (1..=n).rev().flat_map(|n| numbered(n).blocks).collect();
        assert_eq!(journal.blocks("s", Lane::Chat, None, usize::MAX), Ok(expected));
        before = n;
    }
}

#[test]
fn a_front_that_was_killed_between_its_transaction_and_its_emptying_is_not_taken_twice() {
    let directory = tempfile::tempdir().unwrap();
    let front = directory.path().join("window-0.front");
    let mut journal = journal(directory.path());
    // Given two batches in the front
    journal.commit(&numbered(1)).unwrap();
    journal.commit(&numbered(2)).unwrap();
    let before = std::fs::read(&front).unwrap();
    // When they went into the database, and one more came, but the file is as it was
    journal
        .commit(&Commit { session_id: "s".into(), view: Some((4, vec![1])), ..Commit::default() })
        .unwrap();
    assert!(
        !std::fs::read(&front).unwrap().windows(7).any(|window| window == b"\"seq\":1"),
        "it was emptied"
    );
    drop(journal);
    std::fs::write(&front, &before).unwrap();
    // Then they are there once, and numbers go on
    let mut journal = super::journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(journal.batches("s", 1, usize::MAX), Ok(vec![batch(1, 2), batch(3, 4)]));
    journal.commit(&numbered(3)).unwrap();
    assert_eq!(journal.batches("s", 1, usize::MAX), Ok(vec![batch(1, 2), batch(3, 4), batch(5, 6)]));
    assert_eq!(journal.cursor("s"), Ok(numbered(3).cursor));
}
