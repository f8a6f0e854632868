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
    pub(super) fn note(self, transaction: &Connection, session_id: &str) -> rusqlite::Result<()> {
        if self == Self::Perhaps {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('forgotten:' || ?1, '')")?
                .execute([session_id])?;
        }
        Ok(())
    }
}

/// All names.
pub(super) fn all(connection: &Connection) -> Result<HashSet<String>, Failure> {
    let mut statement = connection.prepare(
        "SELECT substr(key, length('forgotten:') + 1) FROM meta WHERE key >= 'forgotten:' AND key < 'forgotten;'",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// The file is empty.
pub(super) fn clear(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM meta WHERE key >= 'forgotten:' AND key < 'forgotten;'", [])?;
    Ok(())
}
