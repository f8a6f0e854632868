//! Writing one `Commit`: all of it, or nothing.
//!
//! Owns the statements that write. Never checks the order of events: the journal did, against the head it keeps.

use std::collections::BTreeMap;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::failure::{Failure, is_full};
use super::forgotten::Left;
use super::front::Waiting;
use super::row::{status_word, stored};
use crate::app::ports::{BatchRow, BlockRow, Commit};

/// Notes within a transaction which one it is, counted from the beginning of the database. The front's head has the same
/// number, so that a database that went back is found out.
pub(super) fn count(transaction: &Connection, commits: u64) -> Result<(), Failure> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('commits', ?1)")?
        .execute([stored(commits)?])?;
    Ok(())
}

/// Writes what waits in the front and then a commit, in one transaction, the one with this number; dropped on the way, it
/// rolls back.
pub(super) fn write(
    connection: &mut Connection,
    waiting: &[Waiting],
    commit: &Commit,
    commits: u64,
) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    count(&transaction, commits)?;
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
        transaction
            .prepare_cached(
                "INSERT INTO session (session_id, workspace, updated_at, record) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (session_id) DO UPDATE SET
                    workspace = excluded.workspace, updated_at = excluded.updated_at, record = excluded.record",
            )?
            .execute(params![session_id, session.workspace, session.updated_at, session.record])?;
    }
    for block in &commit.blocks {
        write_block(&transaction, session_id, block)?;
    }
    if let Some((seq, state)) = &commit.view {
        transaction
            .prepare_cached(
                "INSERT INTO view (session_id, seq, state) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, state = excluded.state",
            )?
            .execute(params![session_id, stored(*seq)?, state])?;
    }
    for ask in &commit.ledger {
        transaction
            .prepare_cached(
                "INSERT INTO ask (session_id, request_id, status, record) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (session_id, request_id) DO UPDATE SET
                    status = excluded.status, record = excluded.record",
            )?
            .execute(params![session_id, ask.request_id, status_word(ask.status), ask.record])?;
    }
    for (message_id, answer) in &commit.prompts {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO prompt (session_id, message_id, answer) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![session_id, message_id, answer])?;
    }
    if let Some(cursor) = &commit.cursor {
        cursors.insert(session_id, cursor);
    }
    for (session_id, cursor) in cursors {
        transaction
            .prepare_cached(
                "INSERT INTO cursor (session_id, seq, id) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, id = excluded.id",
            )?
            .execute(params![session_id, stored(cursor.seq)?, cursor.id])?;
    }
    for tab in &commit.tabs {
        match &tab.record {
            Some(record) => transaction
                .prepare_cached(
                    "INSERT INTO tab (tab_id, workspace, record) VALUES (?1, ?2, ?3)
                     ON CONFLICT (tab_id) DO UPDATE SET workspace = excluded.workspace, record = excluded.record",
                )?
                .execute(params![tab.tab_id, tab.workspace, record])?,
            None => transaction.prepare_cached("DELETE FROM tab WHERE tab_id = ?1")?.execute([&tab.tab_id])?,
        };
    }
    Ok(transaction.commit()?)
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
    session_id: &str,
    left: Left,
    commits: u64,
) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    count(&transaction, commits)?;
    for table in ["session", "batch", "block", "view", "ask", "prompt", "cursor"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [session_id])?;
    }
    left.note(&transaction, session_id)?;
    Ok(transaction.commit()?)
}

/// Runs a write, and once more when the disk was full and the log could be folded in: the log's own space is then free.
pub(super) fn with_room(
    connection: &mut Connection,
    write: impl Fn(&mut Connection) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match write(connection) {
        Err(Failure::Sqlite(error)) if is_full(&error) && fold_log(connection) => write(connection),
        outcome => outcome,
    }
}

/// Copies the log into the database, so that the next write starts at the log's beginning and needs no new space.
/// Whether all of it could be copied.
fn fold_log(connection: &Connection) -> bool {
    let folded = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0
            && row.get::<_, i64>(1)? >= 0
            && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    });
    matches!(folded, Ok(true))
}
