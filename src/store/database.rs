//! The database of all windows of a user: its schema, its settings, and whether a file on disk may be used at all.
//!
//! Owns the connection, the schema and its version. Never renames or removes a file: it says why it refuses one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::aside::beside;
use super::failure::{Failure, is_damage, journal_error};
use super::guarded;
use crate::app::ports::JournalError;

/// `bbls`: marks the file as ours.
pub(super) const APPLICATION_ID: i32 = 0x6262_6c73;

/// Version of the schema below.
pub(super) const SCHEMA_VERSION: i32 = 2;

/// Bytes of a page of a new file. A flood writes batches of tens of kilobytes and blocks by the hundred, an event may have
/// megabytes, and each page is written, summed and folded by itself: with the usual 4 KiB an event of 4 MiB took twice as long.
/// Single events, which would write more than they need, go through the front.
pub(super) const PAGE_BYTES: u32 = 16 << 10;

/// How long a write waits for those of other windows. Each takes a millisecond or two, and the loop waits with it: after half a
/// second something is wrong, and events are kept in memory until it can be written.
pub(super) const BUSY: Duration = Duration::from_millis(500);

/// Files up to this size are checked at every start: that takes a few milliseconds. Larger ones only when there is a
/// reason, since the time grows with the file.
const ALWAYS_CHECKED_BYTES: u64 = 4 << 20;

/// Above this a file that nobody closed is not checked either: the log undoes what a killed process left half done, and a
/// check of a gigabyte would keep the user waiting for seconds. What a power cut spoils shows when it is read, and then
/// the next start checks all of it.
const UNCLEAN_CHECKED_BYTES: u64 = 32 << 20;

/// Blocks are clustered by what they are read by, so that a page of them is one range. Batches are not: where a row is its
/// own key, each comparison of keys reads the row to its end, and a batch may have megabytes.
/// Each has the CRC-32 of its events: SQLite checks how its pages hang together, not what stands in them. A tab is not bound
/// to a session: it is there before it has one. `changed` is the number of the transaction that wrote the row, so that other
/// windows read only what is new.
const SCHEMA: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE session (
        session_id TEXT PRIMARY KEY, workspace TEXT NOT NULL, updated_at INTEGER NOT NULL, record BLOB NOT NULL,
        changed INTEGER NOT NULL);
    CREATE INDEX session_by_change ON session (workspace, changed);
    CREATE TABLE batch (
        session_id TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, events BLOB NOT NULL,
        crc INTEGER NOT NULL, PRIMARY KEY (session_id, from_seq));
    CREATE TABLE block (
        session_id TEXT NOT NULL, lane TEXT NOT NULL, ord INTEGER NOT NULL, id TEXT NOT NULL, block BLOB NOT NULL,
        PRIMARY KEY (session_id, lane, ord)) WITHOUT ROWID;
    CREATE UNIQUE INDEX block_by_id ON block (session_id, lane, id);
    CREATE TABLE view (
        session_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE ask (
        session_id TEXT NOT NULL, request_id TEXT NOT NULL, status TEXT NOT NULL, record BLOB NOT NULL,
        PRIMARY KEY (session_id, request_id));
    CREATE INDEX ask_pending ON ask (session_id) WHERE status = 'pending';
    CREATE TABLE step (number INTEGER PRIMARY KEY, session_id TEXT NOT NULL, record BLOB NOT NULL);
    CREATE INDEX step_by_session ON step (session_id, number);
    CREATE TABLE prompt (
        session_id TEXT NOT NULL, message_id TEXT NOT NULL, answer BLOB NOT NULL,
        PRIMARY KEY (session_id, message_id)) WITHOUT ROWID;
    CREATE TABLE cursor (
        session_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, id TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE rule (
        workspace TEXT NOT NULL, rule_id TEXT NOT NULL, record BLOB NOT NULL,
        PRIMARY KEY (workspace, rule_id)) WITHOUT ROWID;
    CREATE TABLE tab (tab_id TEXT PRIMARY KEY, workspace TEXT NOT NULL, record BLOB NOT NULL);
    CREATE INDEX tab_by_workspace ON tab (workspace);
    CREATE TABLE spec (workspace TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE lease (session_id TEXT PRIMARY KEY, window INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE wish (session_id TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (session_id, kind)) WITHOUT ROWID;
    CREATE TABLE epoch (session_id TEXT PRIMARY KEY, epoch TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO meta (key, value) VALUES ('commits', 0);
";

/// Why a file is not used.
#[derive(Debug)]
pub(super) enum StoreRefusal {
    /// Its bytes are wrong or not ours: what is wrong, as the end of a sentence.
    Damaged(String),
    /// A newer version of ours wrote it: its schema version.
    Newer(i32),
    /// It is not at fault, but cannot be used now: why.
    Unusable(String),
}

impl From<rusqlite::Error> for StoreRefusal {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { Self::Damaged(error.to_string()) } else { Self::Unusable(error.to_string()) }
    }
}

/// The database of a journal.
pub(super) struct Database {
    /// `Err` only when not even one in memory could be made; every call then says so.
    pub(super) connection: Result<Connection, String>,
    /// `None` when it lives in memory.
    pub(super) file: Option<PathBuf>,
}

impl Database {
    /// Runs one read or write; wrong bytes in the file ask for a full check at the next start.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, JournalError> {
        let connection = match &mut self.connection {
            Ok(connection) => connection,
            Err(reason) => return Err(JournalError::Failed(reason.clone())),
        };
        work(connection).map_err(|failure| match failure {
            Failure::Refused(reason) => JournalError::Failed(reason),
            Failure::WindowLock(_) => JournalError::HeldElsewhere,
            Failure::Sqlite(error) => {
                if let Some(file) = self.file.as_ref().filter(|_| is_damage(&error)) {
                    // Where even this cannot be written, the next start checks after an unclean end anyway.
                    let _ = guarded::open_or_create(&suspect_marker(file))
                        .and_then(|mut marker| marker.write_all(error.to_string().as_bytes()));
                }
                journal_error(&error)
            }
        })
    }
}

/// A file whose presence asks for a full check at the next start: something read wrong bytes.
pub(super) fn suspect_marker(database: &Path) -> PathBuf {
    beside(database, ".suspect")
}

/// Whether other windows have the database open too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// Nobody has, and nobody opens it meanwhile.
    Alone,
    /// Somebody has, or may.
    Shared,
}

/// Opens a database file, or makes it where there is none, and gives it with its epoch.
pub(super) fn open_file(database: &Path, company: Company) -> Result<(Connection, String), StoreRefusal> {
    // SQLite would follow a link, wait for a pipe and leave the mode to the umask. Its other files get that of this one.
    let refused = |suffix: &str, error: std::io::Error| {
        StoreRefusal::Unusable(format!("{}: {error}", beside(database, suffix).display()))
    };
    for suffix in ["-wal", "-shm", "-journal"] {
        guarded::close_to_others(&beside(database, suffix)).map_err(|error| refused(suffix, error))?;
    }
    guarded::open_or_create(database).map_err(|error| refused("", error))?;
    let bytes = std::fs::metadata(database).map_or(0, |file| file.len());
    // A log that is still there means that nobody closed the database, or that somebody has it open.
    let unclean = company == Company::Alone
        && std::fs::metadata(beside(database, "-wal")).is_ok_and(|log| log.len() > 0);
    let marker = suspect_marker(database);
    let suspect = marker.exists();

    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    // Until we know that the file is good and ours, closing it must not fold its log into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(BUSY)?;
    if connection.is_readonly("main")? {
        return Err(StoreRefusal::Unusable("the file is read-only".to_owned()));
    }
    let version = inspect(&connection)?;
    if version.is_some() {
        if suspect {
            check(&connection, "PRAGMA integrity_check(1)")?;
        } else if bytes <= ALWAYS_CHECKED_BYTES || (unclean && bytes <= UNCLEAN_CHECKED_BYTES) {
            check(&connection, "PRAGMA quick_check(1)")?;
        }
    }
    if suspect {
        // Left behind, it only costs a check.
        let _ = std::fs::remove_file(&marker);
    }
    if version.is_none() {
        // Before anything is in the file: later it cannot change.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    }
    // The log makes a commit one append; NORMAL leaves syncing to checkpoints, which kill -9 cannot hurt.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // A log that once grew (a long reader, a big commit) gives its space back.
    connection.pragma_update(None, "journal_size_limit", 8 << 20)?;
    let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    connection.pragma_update(None, "wal_autocheckpoint", super::fold::LOG_BYTES / page.max(1))?;
    let epoch = set_up(&connection, version)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok((connection, epoch))
}

/// A database that is gone with the process.
pub(super) fn open_memory() -> Result<(Connection, String), StoreRefusal> {
    let connection = Connection::open_in_memory()?;
    let epoch = set_up(&connection, None)?;
    Ok((connection, epoch))
}

/// Whose file it is: the schema version of ours, `None` for an empty one.
fn inspect(connection: &Connection) -> Result<Option<i32>, StoreRefusal> {
    let application_id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application_id, version) {
        (0, 0) if objects == 0 => Ok(None),
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(Some(version)),
        (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => Err(StoreRefusal::Newer(newer)),
        (APPLICATION_ID, _) => {
            Err(StoreRefusal::Damaged("it names a schema version that never was".to_owned()))
        }
        _ => Err(StoreRefusal::Damaged("it is the database of another program".to_owned())),
    }
}

fn check(connection: &Connection, pragma: &str) -> Result<(), StoreRefusal> {
    let verdict: String = connection.query_row(pragma, [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(StoreRefusal::Damaged(verdict)) }
}

/// Settings of the connection, the schema where it is missing, and the epoch.
fn set_up(connection: &Connection, version: Option<i32>) -> Result<String, StoreRefusal> {
    connection.pragma_update(None, "mmap_size", 0)?;
    // Negative: kibibytes. Writes need little; reads of a page of history come in order.
    connection.pragma_update(None, "cache_size", -2048)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(32);
    if version.is_none() {
        let create = connection.unchecked_transaction()?;
        create.execute_batch(SCHEMA)?;
        create.execute(
            "INSERT INTO meta (key, value) VALUES ('epoch', ?1)",
            [uuid::Uuid::new_v4().simple().to_string()],
        )?;
        create.pragma_update(None, "application_id", APPLICATION_ID)?;
        create.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        create.commit()?;
    }
    match connection.query_row("SELECT value FROM meta WHERE key = 'epoch'", [], |row| row.get(0)) {
        Ok(epoch) => Ok(epoch),
        Err(rusqlite::Error::SqliteFailure(failure, sentence))
            if failure.code != rusqlite::ErrorCode::Unknown =>
        {
            Err(rusqlite::Error::SqliteFailure(failure, sentence).into())
        }
        // No such table, no such row, not a text: the file says that it is ours and is not.
        Err(error) => Err(StoreRefusal::Damaged(error.to_string())),
    }
}
