//! What is written is read back, whole, and the promises of a commit hold.

use super::super::read::{BATCHES, BLOCKS};
use super::{batch, block_row, events, journal, session_row};
use crate::app::ports::{
    BlockRow, Commit, EngineCursor, Journal, JournalError, LedgerRow, StepChange, TabRow,
};
use crate::domain::approval::PermissionStatus;
use crate::domain::view::Lane;

fn ask(request_id: &str, status: PermissionStatus) -> LedgerRow {
    LedgerRow {
        request_id: request_id.into(),
        status,
        record: format!("{{\"{request_id}\":1}}").into_bytes(),
    }
}

#[test]
fn an_empty_journal_knows_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    assert_eq!(journal.epoch().len(), 32);
    assert_eq!(journal.head("s"), Ok(0));
    assert_eq!(journal.sessions("w"), Ok(vec![]));
    assert_eq!(journal.session("s"), Ok(None));
    assert_eq!(journal.batches("s", 1, 1000), Ok(vec![]));
    assert_eq!(journal.blocks("s", Lane::Chat, None, 10), Ok(vec![]));
    assert_eq!(journal.block("s", Lane::Chat, "b"), Ok(None));
    assert_eq!(journal.view("s"), Ok(None));
    assert_eq!(journal.ask("s", "a"), Ok(None));
    assert_eq!(journal.pending_asks("s"), Ok(vec![]));
    assert_eq!(journal.prompt("s", "m"), Ok(None));
    assert_eq!(journal.steps("s"), Ok(vec![]));
}

#[test]
fn r001_68_steps_keep_their_order_until_they_are_cleared_and_never_wait_in_the_front() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = journal(directory.path());
    let taken = |text: &str| StepChange::Taken(text.as_bytes().to_vec());
    let steps = |from: u64, steps: Vec<StepChange>| Commit { steps, ..events(from, from) };
    // Given steps of one turn, then another turn's, and batches without any in between
    first.commit(&steps(1, vec![taken("a"), taken("b")])).unwrap();
    first.commit(&events(2, 2)).unwrap();
    first.commit(&steps(3, vec![StepChange::Cleared, taken("c")])).unwrap();
    first.commit(&steps(4, vec![taken("d")])).unwrap();
    let other = Commit { session_id: "t".into(), steps: vec![taken("x")], ..Commit::default() };
    first.commit(&other).unwrap();
    // When another process opens the file, the first one being killed
    std::mem::forget(first);
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let mut again = journal(copy.path());
    // Then it finds the newer ones of each session
    assert_eq!(again.steps("s"), Ok(vec![b"c".to_vec(), b"d".to_vec()]));
    assert_eq!(again.steps("t"), Ok(vec![b"x".to_vec()]));
    assert_eq!(again.head("s"), Ok(4));
}

#[test]
fn one_commit_writes_all_of_it_and_a_reopened_file_still_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = journal(directory.path());
    let commit = Commit {
        session_id: "s".into(),
        session: Some(session_row("s", "w", 7)),
        batch: Some(batch(1, 3)),
        blocks: vec![block_row(Lane::Chat, 0, "a", "one"), block_row(Lane::Debug, 0, "a", "raw")],
        view: Some((3, b"state".to_vec())),
        ledger: vec![ask("p", PermissionStatus::Pending), ask("d", PermissionStatus::Denied)],
        prompts: vec![("m".into(), b"{}".to_vec())],
        cursor: Some(EngineCursor { seq: 9, id: "nine".into() }),
        tabs: vec![tab("t", Some("one")), tab("u", Some("two"))],
        steps: vec![StepChange::Taken(b"begun".to_vec()), StepChange::Taken(b"asked".to_vec())],
    };
    first.commit(&commit).unwrap();
    let epoch = first.epoch().to_owned();
    drop(first);

    let mut again = journal(directory.path());
    assert_eq!(again.take_warnings(), Vec::<String>::new());
    assert_eq!(again.epoch(), epoch);
    assert_eq!(again.head("s"), Ok(3));
    assert_eq!(again.session("s"), Ok(Some(session_row("s", "w", 7))));
    assert_eq!(again.batches("s", 1, 1000), Ok(vec![batch(1, 3)]));
    assert_eq!(again.blocks("s", Lane::Chat, None, 9), Ok(vec![block_row(Lane::Chat, 0, "a", "one")]));
    assert_eq!(again.block("s", Lane::Debug, "a"), Ok(Some(block_row(Lane::Debug, 0, "a", "raw"))));
    assert_eq!(again.view("s"), Ok(Some((3, b"state".to_vec()))));
    assert_eq!(again.ask("s", "d"), Ok(Some(ask("d", PermissionStatus::Denied))));
    assert_eq!(again.pending_asks("s"), Ok(vec![ask("p", PermissionStatus::Pending)]));
    assert_eq!(again.prompt("s", "m"), Ok(Some(b"{}".to_vec())));
    assert_eq!(again.cursor("s"), Ok(Some(EngineCursor { seq: 9, id: "nine".into() })));
    assert_eq!(again.steps("s"), Ok(vec![b"begun".to_vec(), b"asked".to_vec()]));
    again.commit(&events(4, 4)).unwrap();
    assert_eq!(again.head("s"), Ok(4));
    assert_eq!(again.tab("w", "t"), Ok(Some(tab("t", Some("one")))));
    assert_eq!(again.tab("w", "u"), Ok(Some(tab("u", Some("two")))));
    assert_eq!(again.tab("another", "t"), Ok(None));
    let changed = vec![tab("t", Some("three")), tab("u", None)];
    again.commit(&Commit { tabs: changed, ..Commit::default() }).unwrap();
    assert_eq!(again.tab("w", "t"), Ok(Some(tab("t", Some("three")))));
    assert_eq!(again.tab("w", "u"), Ok(None));
    again.delete_session("s").unwrap();
    assert_eq!(again.tab("w", "t"), Ok(Some(tab("t", Some("three")))));
}

fn tab(tab_id: &str, record: Option<&str>) -> TabRow {
    TabRow {
        tab_id: tab_id.into(),
        workspace: "w".into(),
        record: record.map(|record| record.as_bytes().to_vec()),
    }
}

#[test]
fn a_hole_a_double_and_a_backward_range_are_refused_and_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    journal.commit(&events(1, 2)).unwrap();
    for (from, to) in [(2, 2), (1, 1), (4, 4), (3, 2), (0, 0), (u64::MAX, u64::MAX)] {
        let mut commit = Commit { session: Some(session_row("s", "w", 1)), ..events(from, to) };
        commit.batch =
            Some(crate::app::ports::BatchRow { from_seq: from, to_seq: to, events: b"{}".to_vec() });
        assert!(matches!(journal.commit(&commit), Err(JournalError::Failed(_))), "{from}..={to}");
    }
    assert_eq!(journal.session("s"), Ok(None));
    assert_eq!(journal.batches("s", 0, 1000), Ok(vec![batch(1, 2)]));
    journal.commit(&events(3, 3)).unwrap();
    assert_eq!(journal.head("s"), Ok(3));
}

#[test]
fn a_commit_that_fails_halfway_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    let too_large = BlockRow { ord: u64::MAX, ..block_row(Lane::Run, 0, "b", "x") };
    let commit = Commit {
        session: Some(session_row("s", "w", 1)),
        blocks: vec![block_row(Lane::Chat, 0, "a", "one"), too_large],
        ..events(1, 1)
    };
    assert!(matches!(journal.commit(&commit), Err(JournalError::Failed(_))));
    assert_eq!(journal.head("s"), Ok(0));
    assert_eq!(journal.session("s"), Ok(None));
    assert_eq!(journal.blocks("s", Lane::Chat, None, 9), Ok(vec![]));
    journal.commit(&events(1, 1)).unwrap();
    assert_eq!(journal.batches("s", 1, 1000), Ok(vec![batch(1, 1)]));
}

#[test]
fn the_row_of_another_session_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    let commit = Commit { session: Some(session_row("other", "w", 1)), ..events(1, 1) };
    assert!(matches!(journal.commit(&commit), Err(JournalError::Failed(_))));
    assert_eq!(journal.head("s"), Ok(0));
}

#[test]
fn batches_begin_with_the_one_that_holds_the_event_and_stop_at_the_bound() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for (from, to) in [(1, 3), (4, 4), (5, 9)] {
        journal.commit(&events(from, to)).unwrap();
    }
    let all = vec![batch(1, 3), batch(4, 4), batch(5, 9)];
    assert_eq!(journal.batches("s", 0, usize::MAX), Ok(all.clone()));
    assert_eq!(journal.batches("s", 2, usize::MAX), Ok(all.clone()));
    assert_eq!(journal.batches("s", 4, usize::MAX), Ok(all[1..].to_vec()));
    assert_eq!(journal.batches("s", 9, usize::MAX), Ok(all[2..].to_vec()));
    assert_eq!(journal.batches("s", 10, usize::MAX), Ok(vec![]));
    assert_eq!(journal.batches("s", u64::MAX, usize::MAX), Ok(vec![]));
    let two = all[0].events.len() + all[1].events.len();
    assert_eq!(journal.batches("s", 1, two), Ok(all[..2].to_vec()));
    assert_eq!(journal.batches("s", 1, two - 1), Ok(all[..1].to_vec()));
    assert_eq!(journal.batches("s", 1, 0), Ok(all[..1].to_vec()));
    assert_eq!(journal.batches("other", 1, 1000), Ok(vec![]));
}

#[test]
fn pages_are_ranges_of_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(directory.path());
    for (sql, key) in
        [(BATCHES, "INDEX sqlite_autoindex_batch_1 (session_id=?"), (BLOCKS, "PRIMARY KEY (session_id=?")]
    {
        let mut plan = journal.connection().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let parameters = (1..=plan.parameter_count()).map(|_| 1);
        let steps: Vec<String> = plan
            .query_map(rusqlite::params_from_iter(parameters), |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(steps.iter().any(|step| step.contains("SEARCH") && step.contains(key)), "{steps:?}");
        assert!(
            !steps.iter().any(|step| step.starts_with("SCAN b") || step.contains("TEMP B-TREE")),
            "{steps:?}"
        );
    }
}

#[test]
fn blocks_come_newest_first_keep_their_place_and_go_when_removed() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    let put = |blocks| Commit { session_id: "s".into(), blocks, ..Commit::default() };
    let row = |ord: u64, text: &str| block_row(Lane::Chat, ord, &format!("b{ord}"), text);
    journal.commit(&put((0..5).map(|ord| row(ord, "old")).collect())).unwrap();
    journal.commit(&put(vec![row(1, "new"), BlockRow { block: None, ..row(3, "") }])).unwrap();
    let newest = |texts: &[(u64, &str)]| texts.iter().map(|(ord, text)| row(*ord, text)).collect::<Vec<_>>();
    assert_eq!(
        journal.blocks("s", Lane::Chat, None, 9),
        Ok(newest(&[(4, "old"), (2, "old"), (1, "new"), (0, "old")]))
    );
    assert_eq!(journal.blocks("s", Lane::Chat, None, 2), Ok(newest(&[(4, "old"), (2, "old")])));
    assert_eq!(journal.blocks("s", Lane::Chat, Some(2), 9), Ok(newest(&[(1, "new"), (0, "old")])));
    assert_eq!(journal.blocks("s", Lane::Chat, Some(0), 9), Ok(vec![]));
    assert_eq!(journal.blocks("s", Lane::Tasks, None, 9), Ok(vec![]));
    assert_eq!(journal.block("s", Lane::Chat, "b3"), Ok(None));

    // A rebuilt view numbers its blocks anew: the id moves, and what had the place is gone.
    journal.commit(&put(vec![BlockRow { id: "b4".into(), ..row(0, "moved") }])).unwrap();
    let moved = BlockRow { id: "b4".into(), ..row(0, "moved") };
    assert_eq!(journal.block("s", Lane::Chat, "b4"), Ok(Some(moved.clone())));
    assert_eq!(journal.block("s", Lane::Chat, "b0"), Ok(None));
    let rest = vec![row(2, "old"), row(1, "new"), moved];
    assert_eq!(journal.blocks("s", Lane::Chat, None, 9), Ok(rest));
}

#[test]
fn an_ask_is_pending_until_it_is_settled_and_asks_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    let with = |ledger| Commit { session_id: "s".into(), ledger, ..Commit::default() };
    journal.commit(&with(["z", "y", "x"].map(|id| ask(id, PermissionStatus::Pending)).to_vec())).unwrap();
    assert_eq!(
        journal.pending_asks("s"),
        Ok(["z", "y", "x"].map(|id| ask(id, PermissionStatus::Pending)).to_vec())
    );
    let settled = [
        PermissionStatus::Allowed,
        PermissionStatus::Denied,
        PermissionStatus::Expired,
        PermissionStatus::Cancelled,
    ];
    for status in settled {
        journal.commit(&with(vec![ask("y", status)])).unwrap();
        assert_eq!(journal.ask("s", "y"), Ok(Some(ask("y", status))));
        assert_eq!(
            journal.pending_asks("s"),
            Ok(["z", "x"].map(|id| ask(id, PermissionStatus::Pending)).to_vec())
        );
    }
    assert_eq!(journal.pending_asks("other"), Ok(vec![]));
}

#[test]
fn sessions_are_those_of_the_workspace_newest_first() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for row in [session_row("a", "w", 5), session_row("b", "w", 9), session_row("c", "v", 7)] {
        let commit = Commit { session_id: row.session_id.clone(), session: Some(row), ..Commit::default() };
        journal.commit(&commit).unwrap();
    }
    assert_eq!(journal.sessions("w"), Ok(vec![session_row("b", "w", 9), session_row("a", "w", 5)]));
    let newer =
        Commit { session_id: "a".into(), session: Some(session_row("a", "w", 11)), ..Commit::default() };
    journal.commit(&newer).unwrap();
    assert_eq!(journal.sessions("w"), Ok(vec![session_row("a", "w", 11), session_row("b", "w", 9)]));
}

#[test]
fn deleting_a_session_takes_all_of_it_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(directory.path());
    for session_id in ["s", "t"] {
        let commit = Commit {
            session_id: session_id.into(),
            session: Some(session_row(session_id, "w", 1)),
            batch: Some(batch(1, 2)),
            blocks: vec![block_row(Lane::Chat, 0, "a", "x")],
            view: Some((2, vec![1])),
            ledger: vec![ask("p", PermissionStatus::Pending)],
            prompts: vec![("m".into(), vec![2])],
            cursor: Some(EngineCursor { seq: 2, id: "2".into() }),
            tabs: Vec::new(),
            steps: vec![StepChange::Taken(vec![3])],
        };
        journal.commit(&commit).unwrap();
    }
    journal.delete_session("s").unwrap();
    journal.delete_session("never was").unwrap();
    for table in ["session", "batch", "block", "view", "ask", "step", "prompt", "cursor"] {
        let left: Vec<String> = journal
            .connection()
            .prepare(&format!("SELECT session_id FROM {table}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(left, ["t"], "{table}");
    }
    assert_eq!((journal.head("s"), journal.head("t")), (Ok(0), Ok(2)));
    journal.commit(&events(1, 1)).unwrap();
}
