//! Leases: which window works on which session, and what the others want of it.
//!
//! Owns the rows that say so. A lease is taken before anything of a session is written, by whoever finds no other; so the events
//! of a session wait in the front of one window at most. Never decides whether a window lives: `window` does.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::failure::Failure;
use crate::app::ports::HolderRequest;

/// The sessions that this window may write.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// `None` in memory, where there is nobody else.
    pub(super) window: Option<u32>,
    /// As the database has them.
    pub(super) held: HashSet<String>,
}

impl Leases {
    /// Whether a session may be written without looking.
    pub(super) fn has(&self, session_id: &str) -> bool {
        self.window.is_none() || self.held.contains(session_id)
    }

    /// Within a transaction: takes the lease of a session that nobody has. `WindowLock` names the window that has it.
    pub(super) fn claim(&self, transaction: &Transaction<'_>, session_id: &str) -> Result<(), Failure> {
        let Some(window) = self.window.filter(|_| !session_id.is_empty() && !self.has(session_id)) else {
            return Ok(());
        };
        transaction
            .prepare_cached("INSERT OR IGNORE INTO lease (session_id, window) VALUES (?1, ?2)")?
            .execute(params![session_id, window])?;
        match self.elsewhere(transaction, session_id)? {
            Some(other) => Err(Failure::WindowLock(other)),
            None => Ok(()),
        }
    }

    /// The lease of a session was taken, and that is written.
    pub(super) fn claimed(&mut self, session_id: &str) {
        if self.window.is_some() && !session_id.is_empty() {
            self.held.insert(session_id.to_owned());
        }
    }

    /// The other window that has the lease of a session.
    pub(super) fn elsewhere(
        &self,
        connection: &Connection,
        session_id: &str,
    ) -> Result<Option<u32>, Failure> {
        let Some(own) = self.window else { return Ok(None) };
        let mut statement = connection.prepare_cached("SELECT window FROM lease WHERE session_id = ?1")?;
        let holder: Option<u32> = statement.query_row([session_id], |row| row.get(0)).optional()?;
        Ok(holder.filter(|holder| *holder != own))
    }
}

/// Lets the lease of a session go, and what others wanted of it.
pub(super) fn release(connection: &Connection, window: u32, session_id: &str) -> Result<(), Failure> {
    connection
        .prepare_cached("DELETE FROM lease WHERE session_id = ?1 AND window = ?2")?
        .execute(params![session_id, window])?;
    Ok(())
}

/// Lets every lease of a window go.
pub(super) fn release_all(connection: &Connection, window: u32) -> Result<(), Failure> {
    connection.execute("DELETE FROM lease WHERE window = ?1", [window])?;
    Ok(())
}

/// The sessions that a window worked on.
pub(super) fn of_window(connection: &Connection, window: u32) -> Result<Vec<String>, Failure> {
    let mut statement = connection.prepare_cached("SELECT session_id FROM lease WHERE window = ?1")?;
    let ids = statement.query_map([window], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// All leases of other windows.
pub(super) fn of_others(connection: &Connection, own: u32) -> Result<Vec<(String, u32)>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT session_id, window FROM lease WHERE window <> ?1")?;
    let rows = statement.query_map([own], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The epoch of a session: its own, or that of the database.
pub(super) fn epoch(connection: &Connection, session_id: &str) -> Result<String, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT coalesce((SELECT epoch FROM epoch WHERE session_id = ?1),
                         (SELECT value FROM meta WHERE key = 'epoch'))",
    )?;
    Ok(statement.query_row([session_id], |row| row.get(0))?)
}

/// Numbers that were told may be given anew: a new epoch for every session but those that other windows than this one work on,
/// which lost nothing. `None`: for all.
pub(super) fn renew_epochs(
    transaction: &Transaction<'_>,
    epoch: &str,
    window: Option<u32>,
) -> Result<(), Failure> {
    if let Some(window) = window {
        transaction.execute(
            "INSERT OR IGNORE INTO epoch (session_id, epoch)
             SELECT session_id, (SELECT value FROM meta WHERE key = 'epoch') FROM lease WHERE window <> ?1",
            [window],
        )?;
        transaction.execute(
            "DELETE FROM epoch WHERE session_id NOT IN (SELECT session_id FROM lease WHERE window <> ?1)",
            [window],
        )?;
    } else {
        transaction.execute("DELETE FROM epoch", [])?;
    }
    transaction.execute("UPDATE meta SET value = ?1 WHERE key = 'epoch'", [epoch])?;
    Ok(())
}

/// A session is deleted: if one of its name ever comes back, as an engine that keeps sessions may do, its numbers begin anew.
pub(super) fn forget_session(transaction: &Transaction<'_>, session_id: &str) -> Result<(), Failure> {
    transaction.execute("DELETE FROM lease WHERE session_id = ?1", [session_id])?;
    transaction.execute("DELETE FROM wish WHERE session_id = ?1", [session_id])?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO epoch (session_id, epoch) VALUES (?1, ?2)")?
        .execute([session_id, uuid::Uuid::new_v4().simple().to_string().as_str()])?;
    Ok(())
}

/// Notes what another window wants of the one that works on a session.
pub(super) fn wish(connection: &Connection, session_id: &str, wish: HolderRequest) -> Result<(), Failure> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO wish (session_id, kind) VALUES (?1, ?2)")?
        .execute([session_id, word(wish)])?;
    Ok(())
}

/// What others want of the sessions that this window works on.
pub(super) fn wishes(connection: &Connection, own: u32) -> Result<Vec<(String, HolderRequest)>, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT wish.session_id, wish.kind FROM wish JOIN lease USING (session_id) WHERE lease.window = ?1",
    )?;
    let rows = statement.query_map([own], |row| {
        let kind: String = row.get(1)?;
        Ok((
            row.get(0)?,
            if kind == word(HolderRequest::Stop) { HolderRequest::Stop } else { HolderRequest::Yield },
        ))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Takes away what was wanted of a session: it was done, or whoever did not do it is gone.
pub(super) fn clear_wishes(connection: &Connection, session_id: &str) -> Result<(), Failure> {
    connection.prepare_cached("DELETE FROM wish WHERE session_id = ?1")?.execute([session_id])?;
    Ok(())
}

fn word(wish: HolderRequest) -> &'static str {
    match wish {
        HolderRequest::Stop => "stop",
        HolderRequest::Yield => "yield",
    }
}
