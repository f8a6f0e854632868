//! What is removed goes in bounded steps from the oldest end, numbers stay, and a removal that was cut goes on.

use super::{batch, block_row, events, journal, session_row};
use crate::app::ports::{BatchRow, Commit, EngineCursor, Journal, LedgerRow};
use crate::domain::approval::PermissionStatus;
use crate::domain::view::Lane;

const BATCH: usize = 10_000;

/// `count` batches of one event and `BATCH` bytes each, and a checkpoint of the view at `checkpoint`.
fn fill(journal: &mut dyn Journal, session_id: &str, count: u64, checkpoint: u64) {
    for seq in 1..=count {
        let batch = Some(BatchRow { from_seq: seq, to_seq: seq, events: vec![b'x'; BATCH] });
        journal.commit(&Commit { session_id: session_id.into(), batch, ..Commit::default() }).unwrap();
    }
    let commit = Commit {
        session_id: session_id.into(),
        session: Some(session_row(session_id, "w", 1)),
        blocks: (0..count).map(|ord| block_row(Lane::Chat, ord, &format!("b{ord}"), "shown")).collect(),
        view: Some((checkpoint, b"state".to_vec())),
        ..Commit::default()
    };
    journal.commit(&commit).unwrap();
}

#[test]
fn events_go_from_the_beginning_in_steps_and_numbers_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill(&mut journal, "s", 50, 50);
    fill(&mut journal, "t", 5, 5);
    let before = journal.used_bytes().unwrap();
    assert_eq!(journal.first("s"), Ok(1));

    assert_eq!(journal.remove_events("s", u64::MAX, 3 * BATCH), Ok(3 * BATCH as u64));
    assert_eq!(journal.first("s"), Ok(4));
    // One at least, however large it is.
    assert_eq!(journal.remove_events("s", u64::MAX, 1), Ok(BATCH as u64));
    assert_eq!(journal.first("s"), Ok(5));
    assert_eq!(journal.remove_events("s", u64::MAX, usize::MAX), Ok(45 * BATCH as u64));
    // The last batch says where the numbers stand.
    assert_eq!(journal.remove_events("s", u64::MAX, usize::MAX), Ok(0));
    assert_eq!((journal.first("s"), journal.head("s")), (Ok(50), Ok(50)));
    let freed = before - journal.used_bytes().unwrap();
    assert!(freed >= 49 * BATCH as u64, "{freed} bytes are free again, and 49 batches went");

    assert_eq!(journal.blocks("s", Lane::Chat, None, 99).map(|rows| rows.len()), Ok(50));
    assert_eq!(journal.view("s"), Ok(Some((50, b"state".to_vec()))));
    assert_eq!((journal.first("t"), journal.head("t")), (Ok(1), Ok(5)));
    drop(journal);
    let mut journal = super::journal(directory.path());
    assert_eq!((journal.first("s"), journal.head("s")), (Ok(50), Ok(50)));
    journal.commit(&events(51, 52)).unwrap();
    assert_eq!(journal.batches("s", 51, 1), Ok(vec![batch(51, 52)]));
}

#[test]
fn what_the_view_does_not_hold_or_a_client_was_not_told_stays() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill(&mut journal, "s", 20, 9);
    assert_eq!(journal.remove_events("s", 4, usize::MAX), Ok(4 * BATCH as u64));
    assert_eq!(journal.first("s"), Ok(5));
    assert_eq!(journal.remove_events("s", u64::MAX, usize::MAX), Ok(5 * BATCH as u64));
    assert_eq!(journal.first("s"), Ok(10));
    assert_eq!(journal.remove_events("s", u64::MAX, usize::MAX), Ok(0));

    journal.commit(&Commit { session_id: "never checkpointed".into(), ..events(1, 1) }).unwrap();
    journal.commit(&Commit { session_id: "never checkpointed".into(), ..events(2, 2) }).unwrap();
    assert_eq!(journal.remove_events("never checkpointed", u64::MAX, usize::MAX), Ok(0));
}

#[test]
fn room_that_was_freed_is_used_again_before_the_file_grows() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    fill(&mut journal, "s", 200, 200);
    journal.remove_events("s", u64::MAX, usize::MAX).unwrap();
    let pages = |journal: &super::SqliteJournal| -> i64 {
        journal.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
    };
    let before = pages(&journal);
    fill(&mut journal, "t", 180, 180);
    assert_eq!(pages(&journal), before);
}

#[test]
fn a_session_goes_in_steps_is_listed_no_more_and_goes_on_going_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for session_id in ["s", "t"] {
        fill(&mut journal, session_id, 30, 30);
        let rest = Commit {
            session_id: session_id.into(),
            ledger: vec![LedgerRow {
                request_id: "p".into(),
                status: PermissionStatus::Pending,
                record: vec![1],
            }],
            prompts: vec![("m".into(), vec![2])],
            cursor: Some(EngineCursor { seq: 30, id: "30".into() }),
            ..Commit::default()
        };
        journal.commit(&rest).unwrap();
    }
    assert_eq!(journal.leaving(), Ok(None));
    assert_eq!(journal.remove_session("s", 10 * BATCH), Ok(false));
    assert_eq!(journal.sessions("w"), Ok(vec![session_row("t", "w", 1)]));
    assert_eq!(journal.oldest_sessions(), Ok(vec!["t".to_owned()]));
    drop(journal);

    let mut journal = super::journal(directory.path());
    assert_eq!(journal.leaving(), Ok(Some("s".to_owned())));
    let mut steps = 1;
    while !journal.remove_session("s", 10 * BATCH).unwrap() {
        steps += 1;
    }
    assert!((3..=5).contains(&steps), "{steps} steps of ten batches each");
    assert_eq!(journal.leaving(), Ok(None));
    for table in ["session", "batch", "block", "view", "ask", "prompt", "cursor"] {
        let mut left =
            journal.connection().prepare(&format!("SELECT DISTINCT session_id FROM {table}")).unwrap();
        let left: Vec<String> = left.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(left, ["t"], "{table}");
    }
    assert_eq!((journal.head("s"), journal.head("t")), (Ok(0), Ok(30)));
    assert_eq!(journal.blocks("t", Lane::Chat, None, 99).map(|rows| rows.len()), Ok(30));
}

#[test]
fn the_oldest_sessions_are_those_of_every_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for row in [session_row("a", "w", 5), session_row("b", "v", 3), session_row("c", "w", 9)] {
        let commit = Commit { session_id: row.session_id.clone(), session: Some(row), ..Commit::default() };
        journal.commit(&commit).unwrap();
    }
    assert_eq!(journal.oldest_sessions(), Ok(["b", "a", "c"].map(str::to_owned).to_vec()));
}
