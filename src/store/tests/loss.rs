//! Files that were cut, flipped, removed or exchanged after a kill: everything told is there, or the loss is said and the epoch
//! is another one.

use std::path::Path;

use tempfile::TempDir;

use super::{batch, events, journal, session_row};
use crate::app::ports::{BatchRow, Commit, Journal, JournalError};

const DATABASE: &str = "sessions.sqlite3";
const LOG: &str = "sessions.sqlite3-wal";
const FRONT: &str = "window-0.front";

/// The files of a killed process: events 1 to 6 of session `s`, the last four in the front, and one of `t` there.
struct Killed {
    files: Vec<(&'static str, Vec<u8>)>,
    epoch: String,
}

fn killed() -> Killed {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for session_id in ["s", "t"] {
        let session = Some(session_row(session_id, "w", 1));
        journal.commit(&Commit { session_id: session_id.into(), session, ..Commit::default() }).unwrap();
    }
    journal.commit(&events(1, 2)).unwrap();
    let view = Some((2, vec![1]));
    journal.commit(&Commit { session_id: "s".into(), view, ..Commit::default() }).unwrap();
    journal.commit(&events(3, 4)).unwrap();
    journal.commit(&Commit { session_id: "t".into(), ..events(1, 1) }).unwrap();
    journal.commit(&events(5, 6)).unwrap();
    let files = [DATABASE, LOG, FRONT];
    let files = files.map(|name| (name, std::fs::read(directory.path().join(name)).unwrap())).to_vec();
    Killed { files, epoch: journal.epoch().to_owned() }
}

impl Killed {
    fn of(&self, name: &str) -> &[u8] {
        &self.files.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// The files, with one of them as given; `None`: without it.
    fn with(&self, name: &str, bytes: Option<&[u8]>) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (known, whole) in &self.files {
            let bytes = if *known == name { bytes } else { Some(&whole[..]) };
            if let Some(bytes) = bytes {
                std::fs::write(directory.path().join(known), bytes).unwrap();
            }
        }
        directory
    }
}

/// What a start found: the events, and whether a loss was said.
#[derive(Debug, PartialEq)]
struct Start {
    s: Vec<BatchRow>,
    t: Vec<BatchRow>,
    said: bool,
    cards: Vec<String>,
}

/// Starts, asserts that what was told is there or its loss said, and that a second start finds nothing new to say.
fn start(directory: &Path, killed: &Killed, what: &str) -> Start {
    let mut journal = journal(directory);
    let warnings = journal.take_warnings();
    let told_s = [batch(1, 2), batch(3, 4), batch(5, 6)];
    let all = |journal: &mut super::SqliteJournal, id| journal.batches(id, 1, usize::MAX).unwrap_or_default();
    let (s, t) = (all(&mut journal, "s"), all(&mut journal, "t"));
    assert!(told_s.starts_with(&s), "{what}: never other events, and no hole: {s:?}");
    let whole = s == told_s && t == [batch(1, 1)];
    let said = !warnings.is_empty();
    assert!(whole || said, "{what}: lost and not said: {s:?} {t:?}");
    assert_eq!(said, journal.epoch() != killed.epoch, "{what}: {warnings:?}");
    let mut cards: Vec<String> =
        journal.losses().unwrap().into_iter().map(|(session_id, _)| session_id).collect();
    cards.sort();
    // What comes next has its place, and a second start says nothing any more.
    let next = journal.head("s").unwrap() + 1;
    journal.commit(&events(next, next)).unwrap();
    let epoch = journal.epoch().to_owned();
    drop(journal);
    let mut again = super::journal(directory);
    assert_eq!((again.take_warnings(), again.epoch()), (Vec::new(), &*epoch), "{what}");
    assert_eq!(again.head("s"), Ok(next), "{what}");
    Start { s, t, said, cards }
}

fn whole() -> Start {
    let s = vec![batch(1, 2), batch(3, 4), batch(5, 6)];
    Start { s, t: vec![batch(1, 1)], said: false, cards: Vec::new() }
}

#[test]
fn a_kill_alone_loses_nothing_and_says_nothing() {
    let killed = killed();
    let directory = killed.with("", None);
    assert_eq!(start(directory.path(), &killed, "a kill"), whole());
}

#[test]
fn every_byte_of_a_small_front_may_be_wrong() {
    let killed = killed();
    let front = killed.of(FRONT).to_vec();
    let used = front.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let head = front[..4_096].iter().rposition(|byte| *byte != 0).unwrap() + 1;
    // The empty rest of the head's page, and what lies behind, are alike: a few of each.
    let positions = (0..head).chain((head..4_096).step_by(500)).chain(4_096..used).chain([
        used,
        used + 1,
        front.len() - 1,
    ]);
    for at in positions {
        let mut wrong = front.clone();
        wrong[at] ^= 1 << (at % 8);
        let directory = killed.with(FRONT, Some(&wrong));
        let found = start(directory.path(), &killed, &format!("byte {at}"));
        assert!(found.said, "byte {at}");
        // A record that is wrong takes those behind it of its own session with it, and of no other.
        let other_is_there = found.t == [batch(1, 1)] || found.s.len() == 3;
        assert!(other_is_there, "byte {at}: {found:?}");
        assert_eq!(found.cards, ["s", "t"], "byte {at}");
        let kept = std::fs::read_dir(directory.path()).unwrap();
        let mut kept =
            kept.map(|entry| entry.unwrap().path()).filter(|path| path.to_string_lossy().contains(".stray-"));
        assert_eq!(std::fs::read(kept.next().unwrap()).unwrap(), wrong, "byte {at}");
    }
}

#[test]
fn a_front_that_was_cut_anywhere_is_said() {
    let killed = killed();
    let front = killed.of(FRONT);
    let used = front.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let lengths = [0, 1, 8, 20, 60, 4_095, 4_096]
        .into_iter()
        .chain((4_096..used + 2).step_by(7))
        .chain([front.len() - 1]);
    for length in lengths {
        let directory = killed.with(FRONT, Some(&front[..length]));
        assert!(start(directory.path(), &killed, &format!("front of {length}")).said, "{length}");
    }
    assert!(start(killed.with(FRONT, None).path(), &killed, "no front").said);
}

#[test]
fn a_log_that_was_cut_or_removed_is_said_because_the_front_knows_how_far_the_database_was() {
    let killed = killed();
    let log = killed.of(LOG);
    for length in (0..log.len()).step_by(1_024) {
        let directory = killed.with(LOG, Some(&log[..length]));
        assert!(
            start(directory.path(), &killed, &format!("log of {length} of {}", log.len())).said,
            "{length}"
        );
    }
    assert!(start(killed.with(LOG, None).path(), &killed, "no log").said);
}

#[test]
fn a_database_that_was_removed_or_emptied_is_said() {
    let killed = killed();
    for bytes in [None, Some(&[][..])] {
        for without_log in [false, true] {
            let directory = killed.with(DATABASE, bytes);
            if without_log {
                std::fs::remove_file(directory.path().join(LOG)).unwrap();
            }
            let found = start(directory.path(), &killed, "a database that is gone");
            assert!(found.said && found.s.is_empty(), "{found:?}");
        }
    }
}

#[test]
fn files_that_were_exchanged_with_those_of_another_window_are_said() {
    let (one, other) = (killed(), killed());
    for name in [DATABASE, FRONT] {
        let directory = one.with(name, Some(other.of(name)));
        if name == DATABASE {
            std::fs::write(directory.path().join(LOG), other.of(LOG)).unwrap();
        }
        let mut journal = journal(directory.path());
        assert!(!journal.take_warnings().is_empty(), "{name}");
        assert!(journal.epoch() != one.epoch && journal.epoch() != other.epoch, "{name}");
    }
}

#[test]
fn what_a_transcript_has_to_say_is_kept_until_it_says_it() {
    let killed = killed();
    let log = killed.of(LOG);
    let directory = killed.with(LOG, Some(&log[..log.len() - 20_000]));
    let mut journal = journal(directory.path());
    let losses = journal.losses().unwrap();
    assert!(!losses.is_empty());
    drop(journal);
    let mut journal = super::journal(directory.path());
    assert_eq!(journal.losses().unwrap(), losses);
    for (session_id, _) in &losses {
        journal.loss_recorded(session_id).unwrap();
    }
    assert_eq!(journal.losses(), Ok(Vec::new()));
}

#[test]
fn a_byte_that_is_wrong_in_the_text_of_an_event_in_the_database_is_not_read_as_another_event() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.commit(&events(1, 2)).unwrap();
    drop(journal);
    let path = directory.path().join(DATABASE);
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"{\"seq\":2}";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at + 7] = b'9';
    std::fs::write(&path, bytes).unwrap();
    let mut journal = super::journal(directory.path());
    let read = journal.batches("s", 1, usize::MAX);
    assert!(matches!(&read, Err(JournalError::Failed(why)) if why.contains("changed on disk")), "{read:?}");
    assert_eq!(journal.head("s"), Ok(2));
}
