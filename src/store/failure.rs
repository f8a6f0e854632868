//! What a failure of SQLite means to the loop.
//!
//! Owns the line between a full disk, a damaged file and the rest. Never retries.

use rusqlite::{Error, ErrorCode, ffi};

use crate::app::ports::JournalError;

/// The loop's word for a failure.
pub(super) fn journal_error(error: &Error) -> JournalError {
    if is_full(error) {
        JournalError::Full
    } else if is_damage(error) {
        JournalError::Failed(format!(
            "The journal's file is damaged ({error}); restart the language server, which checks the file and sets it aside."
        ))
    } else {
        JournalError::Failed(format!(
            "The journal failed ({error}); try again, and restart the language server if it stays."
        ))
    }
}

/// Whether the disk, a quota or a limit on file sizes is in the way.
pub(super) fn is_full(error: &Error) -> bool {
    let Some(code) = error.sqlite_error() else { return false };
    match code.code {
        ErrorCode::DiskFull => true,
        // A limit on file sizes shows as a failed write, a full disk under the shared memory file as a failed resize.
        ErrorCode::SystemIoFailure => matches!(
            code.extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_TRUNCATE
        ),
        // The file was writable when it was opened; what made it read-only since is the disk (remounted after an error),
        // unless it was moved away under us.
        ErrorCode::ReadOnly => code.extended_code != ffi::SQLITE_READONLY_DBMOVED,
        _ => false,
    }
}

/// Whether the bytes in the file are wrong.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Why a read or a write of the journal did not happen.
pub(super) enum Failure {
    /// It would have broken a promise: which one, in a sentence.
    Refused(String),
    /// This other window works on the session.
    WindowLock(u32),
    /// SQLite did not do it.
    Sqlite(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sqlite(error)
    }
}
