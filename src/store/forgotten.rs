//! Sessions that were deleted while the front's file still held events of them.
//!
//! Owns their names in the database. A name is written in the transaction that deletes the session, so that the two are true
//! together: the file itself need not be written, which a full disk or a file that cannot be opened would not allow, and a
//! kill at any moment brings no deleted event back. Once the file is empty the names go. Never reads the file.

use std::collections::HashSet;

use rusqlite::Connection;

use super::failure::Failure;

/// What the front's file may hold of a session that is being deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// It is empty, or there is none.
    Nothing,
    /// It was not emptied, or is not known.
    Perhaps,
}

impl Left {
    /// Within the transaction that deletes the session: its name is kept where something of it may be left.
    pub(super) fn note(
        self,
        transaction: &Connection,
        window: u32,
        session_id: &str,
    ) -> rusqlite::Result<()> {
        if self == Self::Perhaps {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1 || ?2, '')")?
                .execute([prefix(window).as_str(), session_id])?;
        }
        Ok(())
    }
}

fn prefix(window: u32) -> String {
    format!("forgotten:{window}:")
}

/// All names of a window's front.
pub(super) fn all(connection: &Connection, window: u32) -> Result<HashSet<String>, Failure> {
    let mut statement = connection
        .prepare("SELECT substr(key, length(?1) + 1) FROM meta WHERE substr(key, 1, length(?1)) = ?1")?;
    let names = statement.query_map([prefix(window)], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// The file is empty.
pub(super) fn clear(connection: &Connection, window: u32) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM meta WHERE substr(key, 1, length(?1)) = ?1", [prefix(window)])?;
    Ok(())
}
