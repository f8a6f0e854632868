//! The records of a front file as values, and the bytes that they are written as.
//!
//! Owns nothing: it is the way by which the fuzz targets write a front, damage it and read it. Never touches a file, and
//! never used by the server.

use std::io;

use super::front::WaitingFront;
use super::front_scan::{BEGIN, Head, scan, write_head, write_record};
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

/// The bytes of a front with these records: a page for the head, then the records.
///
/// # Errors
/// When a record is longer than 4 GiB.
pub fn write(records: &[Record]) -> io::Result<Vec<u8>> {
    let mut bytes = write_head(&Head { identity: "i".to_owned(), ..Head::default() });
    bytes.resize(BEGIN, 0);
    for Record { session_id, batch, cursor } in records.iter().cloned() {
        bytes.extend(write_record(&WaitingFront { session_id, batch, cursor })?);
    }
    Ok(bytes)
}

/// The records that are whole in these bytes, in order.
pub fn read(bytes: &[u8]) -> Vec<Record> {
    let record =
        |one: WaitingFront| Record { session_id: one.session_id, batch: one.batch, cursor: one.cursor };
    scan(bytes).records.into_iter().map(record).collect()
}
