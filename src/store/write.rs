//! Writing one `Commit`: all of it, or nothing. And what is written beside commits.
//!
//! Owns the statements that write. Never checks the order of events: the journal did, against the head it keeps.

use std::collections::BTreeMap;
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::database::BUSY;
use super::failure::{Failure, is_full};
use super::fold::FoldedFolder;
use super::forgotten::Left;
use super::front::WaitingFront;
use super::leases::{self, Leases};
use super::row::{number, status_word, stored};
use super::window::AGAIN;
use crate::app::ports::{
    BatchRow, BlockRow, Commit, EngineCursor, LedgerRow, SessionRow, StepChange, TabRow,
};

/// Tabs of a workspace that are kept: some windows' worth. Those of windows that never came back would otherwise stay for ever.
const TABS: i64 = 1_024;

/// Counts a transaction within it, from the beginning of the database, and gives its number. The front's head has the same
/// number, so that a database that went back is found out.
pub(super) fn count(transaction: &Connection) -> Result<u64, Failure> {
    let mut statement = transaction.prepare_cached(
        "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'commits' RETURNING CAST(value AS INTEGER)",
    )?;
    Ok(statement.query_row([], |row| number(row, 0))?)
}

/// Writes what waits in the front and then a commit, in one transaction, and gives its number; dropped on the way, it
/// rolls back. The lease of the commit's session is taken with it.
pub(super) fn write(
    connection: &mut Connection,
    leases: &Leases,
    waiting: &[WaitingFront],
    commit: &Commit,
) -> Result<u64, Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let commits = count(&transaction)?;
    leases.claim(&transaction, &commit.session_id)?;
    let mut cursors = BTreeMap::new();
    for one in waiting {
        write_batch(&transaction, &one.session_id, &one.batch)?;
        if let Some(cursor) = &one.cursor {
            cursors.insert(one.session_id.as_str(), cursor);
        }
    }
    let session_id = commit.session_id.as_str();
    if let Some(batch) = &commit.batch {
        write_batch(&transaction, session_id, batch)?;
    }
    if let Some(session) = &commit.session {
        write_session(&transaction, session, commits)?;
    }
    for block in &commit.blocks {
        write_block(&transaction, session_id, block)?;
    }
    if let Some((seq, state)) = &commit.view {
        write_view(&transaction, session_id, *seq, state)?;
    }
    for ask in &commit.ledger {
        write_ask(&transaction, session_id, ask)?;
    }
    for step in &commit.steps {
        write_step(&transaction, session_id, step)?;
    }
    for (message_id, answer) in &commit.prompts {
        write_prompt(&transaction, session_id, message_id, answer)?;
    }
    if let Some(cursor) = &commit.cursor {
        cursors.insert(session_id, cursor);
    }
    for (session_id, cursor) in cursors {
        write_cursor(&transaction, session_id, cursor)?;
    }
    for tab in &commit.tabs {
        match &tab.record {
            Some(record) => write_tab(&transaction, tab, record)?,
            None => delete_tab(&transaction, &tab.tab_id)?,
        }
    }
    transaction.commit()?;
    Ok(commits)
}

fn write_batch(transaction: &Transaction<'_>, session_id: &str, batch: &BatchRow) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO batch (session_id, from_seq, to_seq, events, crc) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            session_id,
            stored(batch.from_seq)?,
            stored(batch.to_seq)?,
            batch.events,
            crc32fast::hash(&batch.events)
        ])?;
    Ok(())
}

/// `commits` is the number of the transaction: what other windows have not seen is above the last one that they saw.
fn write_session(transaction: &Transaction<'_>, session: &SessionRow, commits: u64) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO session (session_id, workspace, updated_at, record, changed) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session_id) DO UPDATE SET workspace = excluded.workspace,
                updated_at = excluded.updated_at, record = excluded.record, changed = excluded.changed",
        )?
        .execute(params![
            session.session_id,
            session.workspace,
            session.updated_at,
            session.record,
            stored(commits)?
        ])?;
    Ok(())
}

fn write_view(
    transaction: &Transaction<'_>,
    session_id: &str,
    seq: u64,
    state: &[u8],
) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO view (session_id, seq, state) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, state = excluded.state",
        )?
        .execute(params![session_id, stored(seq)?, state])?;
    Ok(())
}

fn write_ask(transaction: &Transaction<'_>, session_id: &str, ask: &LedgerRow) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO ask (session_id, request_id, status, record) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session_id, request_id) DO UPDATE SET
                status = excluded.status, record = excluded.record",
        )?
        .execute(params![session_id, ask.request_id, status_word(ask.status), ask.record])?;
    Ok(())
}

fn write_step(transaction: &Transaction<'_>, session_id: &str, step: &StepChange) -> Result<(), Failure> {
    match step {
        StepChange::Taken(record) => transaction
            .prepare_cached("INSERT INTO step (session_id, record) VALUES (?1, ?2)")?
            .execute(params![session_id, record])?,
        StepChange::Cleared => {
            transaction.prepare_cached("DELETE FROM step WHERE session_id = ?1")?.execute([session_id])?
        }
    };
    Ok(())
}

fn write_prompt(
    transaction: &Transaction<'_>,
    session_id: &str,
    message_id: &str,
    answer: &[u8],
) -> Result<(), Failure> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO prompt (session_id, message_id, answer) VALUES (?1, ?2, ?3)")?
        .execute(params![session_id, message_id, answer])?;
    Ok(())
}

fn write_cursor(
    transaction: &Transaction<'_>,
    session_id: &str,
    cursor: &EngineCursor,
) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO cursor (session_id, seq, id) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, id = excluded.id",
        )?
        .execute(params![session_id, stored(cursor.seq)?, cursor.id])?;
    Ok(())
}

/// Writes a tab, and deletes the oldest of its workspace where there are too many.
fn write_tab(transaction: &Transaction<'_>, tab: &TabRow, record: &[u8]) -> Result<(), Failure> {
    transaction
        .prepare_cached(
            "INSERT INTO tab (tab_id, workspace, record) VALUES (?1, ?2, ?3)
             ON CONFLICT (tab_id) DO UPDATE SET workspace = excluded.workspace, record = excluded.record",
        )?
        .execute(params![tab.tab_id, tab.workspace, record])?;
    transaction
        .prepare_cached(
            "DELETE FROM tab WHERE workspace = ?1 AND rowid <=
                (SELECT rowid FROM tab WHERE workspace = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![tab.workspace, TABS])?;
    Ok(())
}

fn delete_tab(transaction: &Transaction<'_>, tab_id: &str) -> Result<(), Failure> {
    transaction.prepare_cached("DELETE FROM tab WHERE tab_id = ?1")?.execute([tab_id])?;
    Ok(())
}

pub(super) fn write_rule(
    transaction: &Transaction<'_>,
    workspace: &str,
    rule_id: &str,
    record: &[u8],
) -> Result<(), Failure> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO rule (workspace, rule_id, record) VALUES (?1, ?2, ?3)")?
        .execute((workspace, rule_id, record))?;
    Ok(())
}

pub(super) fn delete_rule(
    transaction: &Transaction<'_>,
    workspace: &str,
    rule_id: &str,
) -> Result<(), Failure> {
    transaction
        .prepare_cached("DELETE FROM rule WHERE workspace = ?1 AND rule_id = ?2")?
        .execute((workspace, rule_id))?;
    Ok(())
}

pub(super) fn write_spec(
    transaction: &Transaction<'_>,
    workspace: &str,
    record: &[u8],
) -> Result<(), Failure> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO spec (workspace, record) VALUES (?1, ?2)")?
        .execute((workspace, record))?;
    Ok(())
}

pub(super) fn delete_spec(transaction: &Transaction<'_>, workspace: &str) -> Result<(), Failure> {
    transaction.prepare_cached("DELETE FROM spec WHERE workspace = ?1")?.execute([workspace])?;
    Ok(())
}

/// A block that streams is written many times at the same place, so that is tried first and touches no index.
fn write_block(transaction: &Transaction<'_>, session_id: &str, block: &BlockRow) -> Result<(), Failure> {
    let lane = block.lane.as_str();
    let Some(json) = &block.block else {
        transaction
            .prepare_cached("DELETE FROM block WHERE session_id = ?1 AND lane = ?2 AND id = ?3")?
            .execute(params![session_id, lane, block.id])?;
        return Ok(());
    };
    let ord = stored(block.ord)?;
    let changed = transaction
        .prepare_cached(
            "UPDATE block SET block = ?5 WHERE session_id = ?1 AND lane = ?2 AND ord = ?3 AND id = ?4",
        )?
        .execute(params![session_id, lane, ord, block.id, json])?;
    if changed == 0 {
        // Whatever had this place or this id gives way: a rebuilt view may number its blocks anew.
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO block (session_id, lane, ord, id, block) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![session_id, lane, ord, block.id, json])?;
    }
    Ok(())
}

/// Deletes everything of a session in one transaction, and notes its name where the front may hold more of it.
pub(super) fn delete(
    connection: &mut Connection,
    leases: &Leases,
    session_id: &str,
    left: Left,
) -> Result<u64, Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let commits = count(&transaction)?;
    leases.claim(&transaction, session_id)?;
    for table in ["session", "batch", "block", "view", "ask", "step", "prompt", "cursor"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [session_id])?;
    }
    left.note(&transaction, leases.window.unwrap_or(0), session_id)?;
    leases::forget_session(&transaction, session_id)?;
    transaction.commit()?;
    Ok(commits)
}

/// Runs a write, and once more when the disk was full and the log could be folded in: the log's own space is then free. A fold of this
/// window that is under way is waited for, and one of another window a while.
pub(super) fn with_room<T>(
    connection: &mut Connection,
    folder: Option<&mut FoldedFolder>,
    write: impl Fn(&mut Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match write(connection) {
        Err(Failure::Sqlite(error)) if is_full(&error) => {
            if let Some(folder) = folder {
                folder.wait();
            }
            if fold_log(connection) { write(connection) } else { Err(Failure::Sqlite(error)) }
        }
        outcome => outcome,
    }
}

/// Copies the log into the database, so that the next write starts at the log's beginning and needs no new space.
/// Whether all of it could be copied.
fn fold_log(connection: &Connection) -> bool {
    let began = Instant::now();
    loop {
        let folded = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        match folded {
            // SQLite waits for readers and writers, not for another fold, of which it says nothing but that there is one.
            Ok((1, -1, -1)) if began.elapsed() < BUSY => std::thread::sleep(AGAIN),
            Ok((busy, log, copied)) => return busy == 0 && log >= 0 && log == copied,
            Err(_) => return false,
        }
    }
}
