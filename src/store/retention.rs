//! Taking old things out of the file, in bounded steps.
//!
//! Owns what a step may remove, and how a removal that was cut goes on. Never decides which session has to go: the loop does.
//!
//! The file never shrinks. Pages that a step frees are used again by later writes, so below the cap it stops growing; giving
//! them back to the system would mean to write the whole file anew.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::failure::Failure;
use super::forgotten::Left;
use super::leases::{self, Leases};
use super::row::{at_most, number};
use super::write::count;

/// `meta` key, before the name, of a session whose removal was begun.
const LEAVING: &str = "leaving:";

/// Bytes of the pages that hold something.
pub(super) fn used_bytes(connection: &Connection) -> Result<u64, Failure> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(pragma("page_size")?)).unwrap_or(0))
}

/// Sessions of every workspace, the longest unused first.
pub(super) fn oldest_sessions(connection: &Connection) -> Result<Vec<String>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT session_id FROM session ORDER BY updated_at, rowid")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// The first event that is kept.
pub(super) fn first_event(connection: &Connection, session_id: &str) -> Result<u64, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT from_seq FROM batch WHERE session_id = ?1 ORDER BY from_seq LIMIT 1")?;
    let first = statement.query_row([session_id], |row| number(row, 0)).optional()?;
    Ok(first.unwrap_or(1))
}

/// Removes whole batches from the beginning, one at least and about `max_bytes` at most. Three things stay: what comes after
/// `up_to`, what the view's checkpoint does not hold, and the last batch, since numbers go on from it. Nothing goes of a session
/// that another window works on. Gives the bytes removed, and the number of the transaction.
pub(super) fn remove_events(
    connection: &mut Connection,
    session_id: &str,
    up_to: u64,
    max_bytes: usize,
    leases: &Leases,
) -> Result<(u64, u64), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let commits = count(&transaction)?;
    if leases.elsewhere(&transaction, session_id)?.is_some() {
        return Ok((0, 0));
    }
    let most = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut bytes = 0;
    let mut last = None;
    {
        // The length of a blob is in its row's header: nothing of the events is read here.
        let mut statement = transaction.prepare_cached(
            "SELECT from_seq, length(events) FROM batch
             WHERE session_id = ?1 AND to_seq <= min(?2, (SELECT seq FROM view WHERE session_id = ?1))
               AND from_seq < (SELECT max(from_seq) FROM batch WHERE session_id = ?1)
             ORDER BY from_seq",
        )?;
        let mut rows = statement.query(params![session_id, at_most(up_to)])?;
        while let Some(row) = rows.next()? {
            let length = number(row, 1)?;
            if last.is_some() && bytes + length > most {
                break;
            }
            bytes += length;
            last = Some(row.get::<_, i64>(0)?);
        }
    }
    let Some(last) = last else { return Ok((0, 0)) };
    transaction
        .prepare_cached("DELETE FROM batch WHERE session_id = ?1 AND from_seq <= ?2")?
        .execute(params![session_id, last])?;
    transaction.commit()?;
    // An empty event would count as nothing and look like the end.
    Ok((bytes.max(1), commits))
}

/// The session whose removal was begun and is not over.
pub(super) fn leaving(connection: &Connection) -> Result<Option<String>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT substr(key, length(?1) + 1) FROM meta WHERE substr(key, 1, length(?1)) = ?1 LIMIT 1",
    )?;
    Ok(statement.query_row([LEAVING], |row| row.get(0)).optional()?)
}

/// One step of removing a session whole. The first takes its row and notes its name, so that from then on no list shows it and
/// a process that dies leaves no half of it behind for good; so does what the front may hold of it. Whether all of it is gone.
pub(super) fn remove_session(
    connection: &mut Connection,
    session_id: &str,
    max_bytes: usize,
    left: Left,
    leases: &Leases,
) -> Result<(bool, u64), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let commits = count(&transaction)?;
    leases.claim(&transaction, session_id)?;
    left.note(&transaction, leases.window.unwrap_or(0), session_id)?;
    transaction.execute("DELETE FROM session WHERE session_id = ?1", [session_id])?;
    let mut room = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut gone = true;
    for (table, order, content) in [("batch", "from_seq", "events"), ("block", "lane, ord", "block")] {
        gone = gone && remove_rows(&transaction, table, order, content, session_id, &mut room)?;
    }
    if gone {
        for table in ["view", "ask", "step", "prompt", "cursor"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [session_id])?;
        }
        transaction.execute("DELETE FROM meta WHERE key = ?1 || ?2", [LEAVING, session_id])?;
        leases::forget_session(&transaction, session_id)?;
    } else {
        transaction.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?1 || ?2, '')",
            [LEAVING, session_id],
        )?;
    }
    transaction.commit()?;
    Ok((gone, commits))
}

/// Removes rows of a session until `room` is used up. Whether none is left.
fn remove_rows(
    transaction: &Transaction<'_>,
    table: &str,
    order: &str,
    content: &str,
    session_id: &str,
    room: &mut u64,
) -> Result<bool, Failure> {
    let mut count = 0i64;
    let mut gone = true;
    {
        let mut statement = transaction.prepare_cached(&format!(
            "SELECT length({content}) FROM {table} WHERE session_id = ?1 ORDER BY {order}"
        ))?;
        let mut rows = statement.query([session_id])?;
        while let Some(row) = rows.next()? {
            if *room == 0 {
                gone = false;
                break;
            }
            // A row costs something too: no step takes an endless number of small ones.
            *room = room.saturating_sub(number(row, 0)? + 256);
            count += 1;
        }
    }
    transaction
        .prepare_cached(&format!(
            "DELETE FROM {table} WHERE ({order}) IN
                (SELECT {order} FROM {table} WHERE session_id = ?1 ORDER BY {order} LIMIT ?2) AND session_id = ?1"
        ))?
        .execute(params![session_id, count])?;
    Ok(gone)
}
