//! Any sequence of writes, reads and reopenings gives what a plain model in memory gives.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{journal, session_row};
use crate::app::ports::{BatchRow, BlockRow, Commit, Journal, JournalError, LedgerRow};
use crate::domain::approval::PermissionStatus;
use crate::domain::view::Lane;

#[derive(Debug, Clone)]
enum Step {
    /// Batches of `length` events that begin `skew` after the next one; everything but 0 is refused.
    Events {
        session: u8,
        skew: i8,
        length: u8,
    },
    Block {
        session: u8,
        lane: usize,
        ord: u8,
        id: u8,
        removed: bool,
    },
    Row {
        session: u8,
        workspace: u8,
        at: i8,
    },
    View {
        session: u8,
        seq: u8,
    },
    Ask {
        session: u8,
        id: u8,
        status: usize,
    },
    Prompt {
        session: u8,
        id: u8,
        answer: u8,
    },
    Delete {
        session: u8,
    },
    Reopen,
}

const STATUSES: [PermissionStatus; 5] = [
    PermissionStatus::Pending,
    PermissionStatus::Allowed,
    PermissionStatus::Denied,
    PermissionStatus::Expired,
    PermissionStatus::Cancelled,
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let session = 0..3u8;
    let step = prop_oneof![
        6 => (session.clone(), prop_oneof![5 => Just(0i8), 1 => -3..=3i8], 0..5u8)
            .prop_map(|(session, skew, length)| Step::Events { session, skew, length }),
        6 => (session.clone(), 0..2usize, 0..6u8, 0..6u8, prop::bool::weighted(0.2))
            .prop_map(|(session, lane, ord, id, removed)| Step::Block { session, lane, ord, id, removed }),
        2 => (session.clone(), 0..2u8, any::<i8>())
            .prop_map(|(session, workspace, at)| Step::Row { session, workspace, at }),
        1 => (session.clone(), any::<u8>()).prop_map(|(session, seq)| Step::View { session, seq }),
        3 => (session.clone(), 0..4u8, 0..5usize)
            .prop_map(|(session, id, status)| Step::Ask { session, id, status }),
        2 => (session.clone(), 0..3u8, any::<u8>())
            .prop_map(|(session, id, answer)| Step::Prompt { session, id, answer }),
        1 => session.prop_map(|session| Step::Delete { session }),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..60)
}

#[derive(Debug, Default, Clone)]
struct Session {
    batches: Vec<BatchRow>,
    blocks: BTreeMap<(Lane, u64), BlockRow>,
    row: Option<crate::app::ports::SessionRow>,
    view: Option<(u64, Vec<u8>)>,
    asks: Vec<LedgerRow>,
    prompts: BTreeMap<String, Vec<u8>>,
}

impl Session {
    fn head(&self) -> u64 {
        self.batches.last().map_or(0, |batch| batch.to_seq)
    }
}

fn name(session: u8) -> String {
    format!("session-{session}")
}

/// One step on both; the model changes only when the step is valid.
fn take(step: &Step, journal: &mut dyn Journal, model: &mut BTreeMap<String, Session>) {
    let (session_id, mut commit) = match step {
        Step::Reopen => return,
        Step::Delete { session } => {
            journal.delete_session(&name(*session)).unwrap();
            model.remove(&name(*session));
            return;
        }
        Step::Events { session, .. }
        | Step::Block { session, .. }
        | Step::Row { session, .. }
        | Step::View { session, .. }
        | Step::Ask { session, .. }
        | Step::Prompt { session, .. } => {
            (name(*session), Commit { session_id: name(*session), ..Commit::default() })
        }
    };
    let held = model.entry(session_id.clone()).or_default();
    let mut valid = true;
    match step {
        Step::Events { skew, length, .. } => {
            let from_seq = (held.head() + 1).saturating_add_signed(i64::from(*skew));
            let to_seq = (from_seq + u64::from(*length)).saturating_sub(1);
            let batch = BatchRow { from_seq, to_seq, events: vec![b'e'; usize::from(*length) * 7] };
            valid = *length > 0 && *skew == 0;
            if valid {
                held.batches.push(batch.clone());
            }
            commit.batch = Some(batch);
        }
        Step::Block { lane, ord, id, removed, .. } => {
            let lane = Lane::ALL[*lane];
            let block = (!removed).then(|| vec![*id, *ord]);
            let row = BlockRow { lane, ord: u64::from(*ord), id: format!("b{id}"), block };
            held.blocks.retain(|(of, _), known| *of != lane || known.id != row.id);
            if !removed {
                held.blocks.insert((lane, row.ord), row.clone());
            }
            commit.blocks.push(row);
        }
        Step::Row { workspace, at, .. } => {
            commit.session = Some(session_row(&session_id, &format!("w{workspace}"), i64::from(*at)));
            held.row.clone_from(&commit.session);
        }
        Step::View { seq, .. } => {
            commit.view = Some((u64::from(*seq), vec![*seq]));
            held.view.clone_from(&commit.view);
        }
        Step::Ask { id, status, .. } => {
            let ask = LedgerRow {
                request_id: format!("a{id}"),
                status: STATUSES[*status],
                record: vec![*id, *status as u8],
            };
            match held.asks.iter_mut().find(|known| known.request_id == ask.request_id) {
                Some(known) => *known = ask.clone(),
                None => held.asks.push(ask.clone()),
            }
            commit.ledger.push(ask);
        }
        Step::Prompt { id, answer, .. } => {
            held.prompts.insert(format!("m{id}"), vec![*answer]);
            commit.prompts.push((format!("m{id}"), vec![*answer]));
        }
        Step::Delete { .. } | Step::Reopen => {}
    }
    match journal.commit(&commit) {
        Ok(()) => assert!(valid, "{step:?} was taken"),
        Err(JournalError::Failed(_)) => assert!(!valid, "{step:?} was refused"),
        Err(error @ (JournalError::Full | JournalError::HeldElsewhere)) => panic!("{step:?}: {error:?}"),
    }
}

fn assert_same(journal: &mut dyn Journal, model: &BTreeMap<String, Session>) {
    for session in 0..3 {
        let id = name(session);
        let held = model.get(&id).cloned().unwrap_or_default();
        assert_eq!(journal.head(&id), Ok(held.head()));
        for from in 0..=held.head() + 1 {
            let expected: Vec<_> =
                held.batches.iter().filter(|batch| batch.to_seq >= from).cloned().collect();
            assert_eq!(journal.batches(&id, from, usize::MAX), Ok(expected));
        }
        for lane in Lane::ALL {
            let newest: Vec<_> = held
                .blocks
                .iter()
                .rev()
                .filter(|((of, _), _)| *of == lane)
                .map(|(_, row)| row.clone())
                .collect();
            assert_eq!(journal.blocks(&id, lane, None, usize::MAX), Ok(newest.clone()));
            assert_eq!(
                journal.blocks(&id, lane, Some(3), 2),
                Ok(newest.iter().filter(|row| row.ord < 3).take(2).cloned().collect())
            );
            for block in 0..6 {
                let block = format!("b{block}");
                let expected = newest.iter().find(|row| row.id == block).cloned();
                assert_eq!(journal.block(&id, lane, &block), Ok(expected));
            }
        }
        assert_eq!(journal.session(&id), Ok(held.row.clone()));
        assert_eq!(journal.view(&id), Ok(held.view.clone()));
        for ask in &held.asks {
            assert_eq!(journal.ask(&id, &ask.request_id), Ok(Some(ask.clone())));
        }
        let pending: Vec<_> =
            held.asks.iter().filter(|ask| ask.status == PermissionStatus::Pending).cloned().collect();
        assert_eq!(journal.pending_asks(&id), Ok(pending));
        for prompt in 0..3 {
            let prompt = format!("m{prompt}");
            assert_eq!(journal.prompt(&id, &prompt), Ok(held.prompts.get(&prompt).cloned()));
        }
    }
    for workspace in ["w0", "w1"] {
        let mut rows: Vec<_> = model
            .values()
            .filter_map(|held| held.row.clone())
            .filter(|row| row.workspace == workspace)
            .collect();
        let mut found = journal.sessions(workspace).unwrap();
        assert!(found.is_sorted_by(|newer, older| newer.updated_at >= older.updated_at));
        rows.sort_by(|one, other| one.session_id.cmp(&other.session_id));
        found.sort_by(|one, other| one.session_id.cmp(&other.session_id));
        assert_eq!(found, rows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_journal_is_the_model(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = journal(directory.path());
        let epoch = journal.epoch().to_owned();
        let mut model = BTreeMap::new();
        for step in &steps {
            take(step, &mut journal, &mut model);
            if matches!(step, Step::Reopen) {
                drop(journal);
                journal = super::journal(directory.path());
                prop_assert_eq!(journal.epoch(), &epoch);
                prop_assert_eq!(journal.take_warnings(), Vec::<String>::new());
                assert_same(&mut journal, &model);
            }
        }
        assert_same(&mut journal, &model);
    }
}
