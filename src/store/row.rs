//! Rows of the database as the loop's types.
//!
//! Owns the spelling of numbers and statuses in the file. Never runs a statement of its own.

use rusqlite::types::Type;
use rusqlite::{CachedStatement, Params, Row};

use super::failure::Failure;
use crate::app::ports::{BlockRow, LedgerRow, SessionRow, TabRow};
use crate::domain::approval::PermissionStatus;
use crate::domain::view::Lane;

/// A sequence number or a place. SQLite has signed numbers only; ours never get that far.
pub(super) fn stored(number: u64) -> Result<i64, Failure> {
    i64::try_from(number)
        .map_err(|_| Failure::Refused(format!("{number} is too large for the journal; nothing was written.")))
}

/// A bound to read by; above what can be stored it is the same as the largest.
pub(super) fn at_most(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(index)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
}

pub(super) fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        session_id: row.get(0)?,
        workspace: row.get(1)?,
        updated_at: row.get(2)?,
        record: row.get(3)?,
    })
}

pub(super) fn tab_row(row: &Row<'_>) -> rusqlite::Result<TabRow> {
    Ok(TabRow { tab_id: row.get(0)?, workspace: row.get(1)?, record: Some(row.get(2)?) })
}

pub(super) fn block_row(lane: Lane, row: &Row<'_>) -> rusqlite::Result<BlockRow> {
    Ok(BlockRow { lane, ord: number(row, 0)?, id: row.get(1)?, block: Some(row.get(2)?) })
}

pub(super) fn ledger_row(row: &Row<'_>) -> rusqlite::Result<LedgerRow> {
    let word = row.get_ref(1)?.as_str()?;
    let unknown = || {
        let reason = format!("unknown status {word}");
        rusqlite::Error::FromSqlConversionFailure(1, Type::Text, reason.into())
    };
    let status = PermissionStatus::named(word).ok_or_else(unknown)?;
    Ok(LedgerRow { request_id: row.get(0)?, status, record: row.get(2)? })
}

/// The word for a status in the file. What is being saved first waits, for whoever looks for what does.
pub(super) fn status_word(status: PermissionStatus) -> &'static str {
    match status {
        PermissionStatus::Saving => PermissionStatus::Pending,
        other => other,
    }
    .as_str()
}

/// All rows of a statement.
pub(super) fn collect<T, P: Params>(
    statement: &mut CachedStatement<'_>,
    parameters: P,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Failure> {
    let rows = statement.query_map(parameters, read)?;
    Ok(rows.collect::<rusqlite::Result<Vec<T>>>()?)
}
