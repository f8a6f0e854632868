//! Finding what was said: in which sessions, what of a change is seen, and that nothing stays of what was deleted.

use std::sync::mpsc::channel;

use serde_json::json;

use super::super::SqliteJournal;
use super::{journal, session_row};
use crate::app::ports::{BlockRow, Commit, Journal, SearchFound, SearchJob};
use crate::domain::session_search::{said, words};
use crate::domain::view::Lane;

/// A turn of a session: what was asked and what was answered, stored up to this event.
fn turn(session_id: &str, at: u64, prompt: &str, answer: &str) -> Commit {
    let block = |ord: u64, kind: &str, text: &str| BlockRow {
        lane: Lane::Chat,
        ord,
        id: format!("b{ord}"),
        block: Some(
            json!({ "id": format!("b{ord}"), "seq": ord, "kind": kind, "text": text }).to_string().into(),
        ),
    };
    Commit {
        session_id: session_id.into(),
        session: Some(session_row(session_id, "w", 1)),
        blocks: vec![
            block(at, "user", prompt),
            block(at + 1, "assistant", answer),
            block(at + 2, "tool", prompt),
        ],
        view: Some((at + 2, b"{}".to_vec())),
        ..Commit::default()
    }
}

/// Session, block and text of all that was found.
fn find(journal: &mut SqliteJournal, sessions: &[&str], query: &str) -> (Vec<String>, usize) {
    let (sender, found) = channel();
    journal.search(SearchJob {
        sessions: sessions.iter().map(|id| (*id).to_owned()).collect(),
        words: words(query),
        reads: said,
        done: Box::new(move |outcome| sender.send(outcome).unwrap()),
    });
    let SearchFound { said, unsearched } = found.recv().unwrap().unwrap();
    let shown = said.into_iter().map(|(id, said)| format!("{id}/{} {}", said.block_id, said.text));
    (shown.collect(), unsearched)
}

#[test]
fn prompts_and_answers_are_found_by_the_beginnings_of_all_words_in_any_case_and_with_any_accent() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.commit(&turn("a", 1, "Where is the retry_delay?", "In lib.rs, near the Café.")).unwrap();
    journal.commit(&turn("b", 1, "Rename it", "The delay is called pause now.")).unwrap();
    let all = ["b", "a"];
    assert_eq!(find(&mut journal, &all, "RETRY del").0, ["a/b1 Where is the retry_delay?"]);
    assert_eq!(
        find(&mut journal, &all, "delay").0,
        ["b/b2 The delay is called pause now.", "a/b1 Where is the retry_delay?"],
        "newest session first, and what a tool was called with is not said"
    );
    assert_eq!(find(&mut journal, &all, "cafe lib.rs").0, ["a/b2 In lib.rs, near the Café."]);
    assert_eq!(find(&mut journal, &all, "delay pause missing").0, Vec::<String>::new());
    assert_eq!(find(&mut journal, &all, "\"near OR (NOT").0, Vec::<String>::new(), "no word is an operator");
    assert_eq!(
        find(&mut journal, &["b"], "retry").0,
        Vec::<String>::new(),
        "only in the sessions that were named"
    );
}

#[test]
fn a_later_search_sees_what_was_said_since_and_nothing_of_what_was_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.commit(&turn("a", 1, "one kiwi", "yes")).unwrap();
    assert_eq!(find(&mut journal, &["a"], "kiwi").0, ["a/b1 one kiwi"]);
    journal.commit(&turn("a", 4, "another kiwi", "no")).unwrap();
    // By another window, whose journal it is as well.
    let mut other = super::journal(directory.path());
    other.commit(&turn("c", 1, "kiwi of the other window", "well")).unwrap();
    other.release("c").unwrap();
    assert_eq!(
        find(&mut journal, &["c", "a"], "kiwi").0,
        ["c/b1 kiwi of the other window", "a/b4 another kiwi", "a/b1 one kiwi"]
    );
    journal.delete_session("a").unwrap();
    assert_eq!(find(&mut journal, &["c", "a"], "kiwi").0, ["c/b1 kiwi of the other window"]);
}

#[test]
fn a_journal_in_memory_finds_nothing_and_one_that_is_closed_leaves_no_log() {
    let mut memory = SqliteJournal::open(None);
    assert_eq!(find(&mut memory, &["a"], "kiwi"), (Vec::new(), 0));
    let directory = tempfile::tempdir().unwrap();
    let mut kept = journal(directory.path());
    kept.commit(&turn("a", 1, "one kiwi", "yes")).unwrap();
    assert_eq!(find(&mut kept, &["a"], "kiwi").0.len(), 1);
    let log = kept.database().unwrap().with_extension("db-wal");
    drop(kept);
    assert!(!log.exists(), "{}", log.display());
}
