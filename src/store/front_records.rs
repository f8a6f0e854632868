//! The records of a front file as values, without a database beside it.
//!
//! Owns nothing: it is the way by which the fuzz targets write a front, damage it and read it. Never used by the server.

use std::io;
use std::path::Path;

use super::front::{Front, Waiting};
use crate::app::ports::{BatchRow, EngineCursor};

/// A batch as it stands in a front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its session.
    pub session_id: String,
    /// Its events.
    pub batch: BatchRow,
    /// Where the engine's stream stood after it.
    pub cursor: Option<EngineCursor>,
}

/// Appends records to the front at `path`, which is made where there is none.
///
/// # Errors
/// When the file cannot be opened or written.
pub fn append(path: &Path, epoch: &str, records: &[Record]) -> io::Result<()> {
    let mut front = Front::open_at(path, epoch)?;
    records.iter().cloned().try_for_each(|Record { session_id, batch, cursor }| {
        front.append(Waiting { session_id, batch, cursor })
    })
}

/// The records that the front at `path` holds. A file that is no front of this epoch is begun anew, as at a start.
///
/// # Errors
/// When the file cannot be opened or read.
pub fn read(path: &Path, epoch: &str) -> io::Result<Vec<Record>> {
    let front = Front::open_at(path, epoch)?;
    let record = |one: &Waiting| Record {
        session_id: one.session_id.clone(),
        batch: one.batch.clone(),
        cursor: one.cursor.clone(),
    };
    Ok(front.waiting().iter().map(record).collect())
}
