//! Reading what the database has: the rows of a session, a workspace, a tab.
//!
//! Owns the statements that read. Never knows what waits in the front: the journal puts that behind it.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::Failure;
use super::row::{at_most, block_row, collect, ledger_row, number, session_row, tab_row};
use crate::app::ports::{BatchRow, BlockRow, EngineCursor, LedgerRow, SessionRow, TabRow};
use crate::domain::view::Lane;

/// Batches that hold `?2` or come after it. Ranges neither overlap nor have holes, so the batch that starts last at or
/// before `?2` is the only earlier one that can hold it.
pub(super) const BATCHES: &str = "
    SELECT from_seq, to_seq, events, crc FROM batch
    WHERE session_id = ?1
      AND from_seq >= coalesce(
          (SELECT max(from_seq) FROM batch WHERE session_id = ?1 AND from_seq <= ?2), ?2)
    ORDER BY from_seq";

/// A page of a lane, newest first.
pub(super) const BLOCKS: &str = "
    SELECT ord, id, block FROM block
    WHERE session_id = ?1 AND lane = ?2 AND ord < ?3
    ORDER BY ord DESC LIMIT ?4";

/// Batches in order, and the bytes of their events.
pub(super) struct Batches {
    pub(super) rows: Vec<BatchRow>,
    pub(super) bytes: usize,
}

pub(super) fn sessions(connection: &Connection, workspace: &str) -> Result<Vec<SessionRow>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, workspace, updated_at, record FROM session
         WHERE workspace = ?1 ORDER BY updated_at DESC, rowid DESC",
    )?;
    collect(&mut statement, [workspace], session_row)
}

pub(super) fn session(connection: &Connection, session_id: &str) -> Result<Option<SessionRow>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, workspace, updated_at, record FROM session WHERE session_id = ?1",
    )?;
    Ok(statement.query_row([session_id], session_row).optional()?)
}

/// The last event of the stored view; 0 without one.
pub(super) fn checkpoint(connection: &Connection, session_id: &str) -> Result<u64, Failure> {
    let mut statement = connection.prepare_cached("SELECT seq FROM view WHERE session_id = ?1")?;
    Ok(statement.query_row([session_id], |row| number(row, 0)).optional()?.unwrap_or(0))
}

/// The batches from that event on, at most so many bytes of them, but one in any case.
pub(super) fn batches(
    connection: &Connection,
    session_id: &str,
    from_seq: u64,
    max_bytes: usize,
) -> Result<Batches, Failure> {
    let mut statement = connection.prepare_cached(BATCHES)?;
    let mut found = statement.query(params![session_id, at_most(from_seq)])?;
    let mut batches = Batches { rows: Vec::new(), bytes: 0 };
    while let Some(row) = found.next()? {
        let to_seq = number(row, 1)?;
        if to_seq < from_seq {
            continue;
        }
        let events = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        if row.get::<_, u32>(3)? != crc32fast::hash(events) {
            let from_seq = number(row, 0)?;
            return Err(Failure::Refused(format!(
                "The events {from_seq} to {to_seq} of session {session_id} were changed on disk and cannot be read; delete the session, or restore the state directory from a backup."
            )));
        }
        batches.bytes = batches.bytes.saturating_add(events.len());
        if batches.bytes > max_bytes && !batches.rows.is_empty() {
            break;
        }
        batches.rows.push(BatchRow { from_seq: number(row, 0)?, to_seq, events: events.to_vec() });
    }
    Ok(batches)
}

pub(super) fn blocks(
    connection: &Connection,
    session_id: &str,
    lane: Lane,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<BlockRow>, Failure> {
    let mut statement = connection.prepare_cached(BLOCKS)?;
    let before = before.map_or(i64::MAX, at_most);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    collect(&mut statement, params![session_id, lane.as_str(), before, limit], |row| block_row(lane, row))
}

pub(super) fn block(
    connection: &Connection,
    session_id: &str,
    lane: Lane,
    id: &str,
) -> Result<Option<BlockRow>, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT ord, id, block FROM block WHERE session_id = ?1 AND lane = ?2 AND id = ?3")?;
    let row = statement.query_row(params![session_id, lane.as_str(), id], |row| block_row(lane, row));
    Ok(row.optional()?)
}

/// The stored view and its last event.
pub(super) fn view(connection: &Connection, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, Failure> {
    let mut statement = connection.prepare_cached("SELECT seq, state FROM view WHERE session_id = ?1")?;
    Ok(statement.query_row([session_id], |row| Ok((number(row, 0)?, row.get(1)?))).optional()?)
}

pub(super) fn ask(
    connection: &Connection,
    session_id: &str,
    request_id: &str,
) -> Result<Option<LedgerRow>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT request_id, status, record FROM ask WHERE session_id = ?1 AND request_id = ?2",
    )?;
    Ok(statement.query_row([session_id, request_id], ledger_row).optional()?)
}

pub(super) fn asks(connection: &Connection, session_id: &str) -> Result<Vec<LedgerRow>, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT request_id, status, record FROM ask WHERE session_id = ?1 ORDER BY rowid")?;
    collect(&mut statement, [session_id], ledger_row)
}

/// Looks at every ask: somebody names a patch and not its session, which no client of ours does.
pub(super) fn session_of_patch(connection: &Connection, patch_id: &str) -> Result<Option<String>, Failure> {
    // Records are text, which only a cast tells from the binary JSON of SQLite.
    let mut statement = connection.prepare_cached(
        "SELECT session_id FROM ask
         WHERE json_extract(CAST(record AS TEXT), '$.permission.patchId') = ?1 ORDER BY rowid DESC LIMIT 1",
    )?;
    Ok(statement.query_row([patch_id], |row| row.get(0)).optional()?)
}

pub(super) fn pending_asks(connection: &Connection, session_id: &str) -> Result<Vec<LedgerRow>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT request_id, status, record FROM ask
         WHERE session_id = ?1 AND status = 'pending' ORDER BY rowid",
    )?;
    collect(&mut statement, [session_id], ledger_row)
}

pub(super) fn steps(connection: &Connection, session_id: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT record FROM step WHERE session_id = ?1 ORDER BY number")?;
    let rows = statement.query_map([session_id], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn cursor(connection: &Connection, session_id: &str) -> Result<Option<EngineCursor>, Failure> {
    let mut statement = connection.prepare_cached("SELECT seq, id FROM cursor WHERE session_id = ?1")?;
    let row = |row: &Row<'_>| Ok(EngineCursor { seq: number(row, 0)?, id: row.get(1)? });
    Ok(statement.query_row([session_id], row).optional()?)
}

pub(super) fn rules(connection: &Connection, workspace: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT record FROM rule WHERE workspace = ?1 ORDER BY rule_id")?;
    let rows = statement.query_map([workspace], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn spec(connection: &Connection, workspace: &str) -> Result<Option<Vec<u8>>, Failure> {
    let mut statement = connection.prepare_cached("SELECT record FROM spec WHERE workspace = ?1")?;
    Ok(statement.query_row([workspace], |row| row.get(0)).optional()?)
}

pub(super) fn prompt(
    connection: &Connection,
    session_id: &str,
    message_id: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT answer FROM prompt WHERE session_id = ?1 AND message_id = ?2")?;
    Ok(statement.query_row([session_id, message_id], |row| row.get(0)).optional()?)
}

pub(super) fn tab(connection: &Connection, workspace: &str, tab_id: &str) -> Result<Option<TabRow>, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT tab_id, workspace, record FROM tab WHERE workspace = ?1 AND tab_id = ?2")?;
    Ok(statement.query_row([workspace, tab_id], tab_row).optional()?)
}
