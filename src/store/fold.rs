//! Folding the log: copying what was committed from SQLite's write-ahead log into the file, beside the loop.
//!
//! Owns when that happens and the thread that does it. A fold waits for the disk twice, and the loop must not wait with it: an
//! event that comes meanwhile would be told that much later. Never decides what is kept, and changes nothing that a reader
//! or the next start could see; where it fails, the log only stays longer, and the journal's own connection folds it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Bytes of the log after which it is folded: it stays about this long. A turn of steps writes some hundred kilobytes of pages for
/// each, so that this is some tens of them, and a fold is two waits for the disk on a thread of its own.
const FOLD_BYTES: usize = 4 << 20;

/// A log of this size begins anew, even if the writer has to wait for that.
const LONG_BYTES: i64 = 8 << 20;

/// How long that is tried; where another window reads all the while, the next fold tries it again.
const RESTART_TIME: Duration = Duration::from_millis(200);

/// Size of the log at which the journal's connection folds it itself, in the commit. It is reached only by a flood that the
/// disk cannot follow. The writer then waits for the disk, as it must.
pub(super) const LOG_BYTES: u32 = 64 << 20;

/// Folds the log of one database.
pub(super) struct FoldedFolder {
    database: PathBuf,
    /// Bytes that were written since the last fold began.
    written: usize,
    running: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FoldedFolder {
    pub(super) fn new(database: &Path) -> Self {
        Self {
            database: database.to_owned(),
            written: 0,
            running: Arc::new(AtomicBool::new(false)),
            thread: None,
        }
    }

    /// With a fold under way that a test drives.
    #[cfg(test)]
    pub(super) fn under_way(database: &Path, thread: JoinHandle<()>) -> Self {
        let mut folder = Self::new(database);
        folder.thread = Some(thread);
        folder
    }

    /// So many bytes were committed. Starts a fold when it is worth one and none is under way.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes);
        if self.written < FOLD_BYTES || self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.written = 0;
        let (database, running) = (self.database.clone(), Arc::clone(&self.running));
        let spawned = std::thread::Builder::new().name("fold".to_owned()).spawn(move || {
            if let Err(error) = fold(&database) {
                tracing::debug!(%error, "the log of the journal was not folded");
            }
            running.store(false, Ordering::Release);
        });
        match spawned {
            // The one before has ended, or there would be no new one.
            Ok(thread) => self.thread = Some(thread),
            Err(_) => self.running.store(false, Ordering::Release),
        }
    }
}

impl FoldedFolder {
    /// Waits for a fold that is under way. While it lasts nobody else can fold, so what has no room would be refused although the log
    /// is about to make some.
    pub(super) fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for FoldedFolder {
    /// The journal closes its file after this, and must be the last one to.
    fn drop(&mut self) {
        self.wait();
    }
}

/// `PASSIVE` waits for nobody and holds nobody up: it copies what it can. What is written meanwhile keeps the log from beginning anew,
/// and a turn that writes without a pause would let it grow for ever; a long one is therefore ended by `RESTART`, which has the writer
/// wait for the little that came since.
fn fold(database: &Path) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let pages: i64 = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    if pages.saturating_mul(page) > LONG_BYTES {
        connection.busy_timeout(RESTART_TIME)?;
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?;
    }
    Ok(())
}
