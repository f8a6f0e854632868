//! Tests of the store, one concern a file. What more than one needs is here: a journal in a directory, and commits.

mod damage;
mod front;
mod kill;
mod limit;
mod loss;
mod model;
mod retention;
mod round_trip;
mod search;
mod sharing;
mod windows;

use std::path::Path;

use super::SqliteJournal;
use crate::app::ports::{BatchRow, BlockRow, Commit, SessionRow};
use crate::domain::view::Lane;

fn journal(state_dir: &Path) -> SqliteJournal {
    SqliteJournal::open(Some(state_dir))
}

/// Events `from..=to` as one commit of session `s`.
fn events(from: u64, to: u64) -> Commit {
    Commit { session_id: "s".into(), batch: Some(batch(from, to)), ..Commit::default() }
}

fn batch(from_seq: u64, to_seq: u64) -> BatchRow {
    let events: Vec<String> = (from_seq..=to_seq).map(|seq| format!("{{\"seq\":{seq}}}")).collect();
    BatchRow { from_seq, to_seq, events: events.join(",").into_bytes() }
}

fn session_row(session_id: &str, workspace: &str, updated_at: i64) -> SessionRow {
    SessionRow {
        session_id: session_id.into(),
        workspace: workspace.into(),
        updated_at,
        record: format!("{{\"of\":\"{session_id}\",\"at\":{updated_at}}}").into_bytes(),
    }
}

fn block_row(lane: Lane, ord: u64, id: &str, text: &str) -> BlockRow {
    BlockRow { lane, ord, id: id.into(), block: Some(text.as_bytes().to_vec()) }
}
