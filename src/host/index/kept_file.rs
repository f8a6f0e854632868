//! A file of the state directory that can be made again from what it is about.
//!
//! Owns how it is opened: one that is damaged, of another version or of something else is thrown away. Several processes may share one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use crate::platform::private;

/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(2);

/// What such a file is.
pub(crate) struct KeptForm {
    /// Goes up when its rows are made in another way.
    pub version: i64,
    /// Its tables, beside the one that says what it is about.
    pub tables: &'static str,
}

/// Opens the file at this place, which is about `subject`, or makes it, and reads what is wanted of it.
///
/// # Errors
/// When it can neither be read nor be made.
pub(crate) fn open<T>(
    place: &Path,
    form: &KeptForm,
    subject: &[u8],
    read: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<(Connection, T)> {
    match open_good(place, form, subject, &read) {
        Ok(opened) => Ok(opened),
        Err(error) => {
            tracing::info!(%error, "what is kept of a folder is made anew");
            for end in ["", "-wal", "-shm"] {
                let mut name = place.as_os_str().to_owned();
                name.push(end);
                // What is not there is as good as thrown away.
                let _ = std::fs::remove_file(PathBuf::from(name));
            }
            open_good(place, form, subject, &read)
        }
    }
}

fn open_good<T>(
    place: &Path,
    form: &KeptForm,
    subject: &[u8],
    read: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<(Connection, T)> {
    if let Some(directory) = place.parent() {
        make_directory(directory);
    }
    let mut connection = Connection::open(place)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let changes = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = changes.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        changes.execute_batch("CREATE TABLE folder (path BLOB NOT NULL);")?;
        changes.execute_batch(form.tables)?;
        changes.execute("INSERT INTO folder VALUES (?1)", [subject])?;
        changes.pragma_update(None, "user_version", form.version)?;
    }
    changes.commit()?;
    let owner: Vec<u8> = connection.query_row("SELECT path FROM folder", [], |row| row.get(0))?;
    if (version != 0 && version != form.version) || owner != subject {
        return Err(rusqlite::Error::InvalidQuery);
    }
    let wanted = read(&connection)?;
    Ok((connection, wanted))
}

/// For this user alone. What goes wrong is said by what is opened in it.
fn make_directory(directory: &Path) {
    let _ = private::create_folder(directory);
}
