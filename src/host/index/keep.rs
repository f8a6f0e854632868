//! The file of an index: one table, one row a source file.
//!
//! Owns its form. Several processes may share one; each row is true or not by itself, so nothing is agreed on between them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::entry::{CountedFile, FileNews, IndexedText};
use super::kept_file::{self, KeptForm};
use super::stamp::FileStamp;

/// Rows of one file: as many as a search looks at.
const MOST_ROWS: i64 = 70_000;

/// The version goes up when rows are made in another way, or words are counted in another.
const FORM: KeptForm = KeptForm {
    version: 2,
    tables: "
    CREATE TABLE file (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
        settled INTEGER NOT NULL, hash BLOB NOT NULL, bytes INTEGER, lines INTEGER, generated INTEGER, terms BLOB, symbols BLOB
    );",
};

/// See the module.
pub(super) struct IndexFile {
    connection: Connection,
}

impl IndexFile {
    /// Opens or makes it, and gives what it has.
    pub(super) fn open(place: &Path, root: &Path) -> rusqlite::Result<(Self, Vec<(String, CountedFile)>)> {
        let (connection, entries) = kept_file::open(
            place,
            &FORM,
            root.as_os_str().as_encoded_bytes(),
            |file| {
                let mut rows = file.prepare(
                "SELECT path, size, modified, changed, settled, hash, bytes, lines, generated, terms FROM file LIMIT ?1",
            )?;
                rows.query_map([MOST_ROWS], entry)?.collect::<rusqlite::Result<Vec<_>>>()
            },
        )?;
        Ok((Self { connection }, entries))
    }

    /// The packed definitions of a file, if they are of these bytes.
    pub(super) fn symbols(&self, rel: &str, hash: [u8; 16]) -> Option<Vec<u8>> {
        let mut asked =
            self.connection.prepare_cached("SELECT symbols FROM file WHERE path = ?1 AND hash = ?2").ok()?;
        asked.query_row(params![rel, hash], |row| row.get(0)).optional().ok().flatten().flatten()
    }

    /// Keeps what was found out, all of it or nothing.
    pub(super) fn take(&mut self, news: &[(String, FileNews)]) -> rusqlite::Result<()> {
        if news.is_empty() {
            return Ok(());
        }
        let changes = self.connection.transaction()?;
        {
            let mut put = changes.prepare_cached(
                "INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            let mut touch = changes.prepare_cached(
                "UPDATE file SET size = ?2, modified = ?3, changed = ?4, settled = ?5 WHERE path = ?1",
            )?;
            let mut remove = changes.prepare_cached("DELETE FROM file WHERE path = ?1")?;
            for (rel, news) in news {
                match news {
                    FileNews::Read(read) => {
                        let CountedFile { stamp, is_settled, hash, text } = &read.entry;
                        let text = text.as_ref();
                        put.execute(params![
                            rel,
                            stamp.size as i64,
                            stamp.modified,
                            stamp.changed,
                            is_settled,
                            hash,
                            text.map(|text| text.bytes),
                            text.map(|text| text.lines),
                            text.map(|text| text.is_generated),
                            text.map(|text| &*text.terms),
                            text.map(|_| &read.symbols),
                        ])?;
                    }
                    FileNews::Touched(stamp, is_settled) => {
                        touch.execute(params![
                            rel,
                            stamp.size as i64,
                            stamp.modified,
                            stamp.changed,
                            is_settled
                        ])?;
                    }
                    FileNews::Gone => drop(remove.execute([rel])?),
                }
            }
        }
        changes.commit()
    }

    /// Forgets every file.
    pub(super) fn clear(&mut self) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM file", []).map(drop)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<(String, CountedFile)> {
    let size: i64 = row.get(1)?;
    let stamp = FileStamp { size: size as u64, modified: row.get(2)?, changed: row.get(3)? };
    let terms: Option<Vec<u8>> = row.get(9)?;
    let text = match terms {
        Some(terms) => Some(IndexedText {
            bytes: row.get(6)?,
            lines: row.get(7)?,
            is_generated: row.get(8)?,
            terms: terms.into(),
        }),
        None => None,
    };
    Ok((row.get(0)?, CountedFile { stamp, is_settled: row.get(4)?, hash: row.get(5)?, text }))
}
