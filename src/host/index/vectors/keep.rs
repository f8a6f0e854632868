//! The file of the vectors of a folder, by one model: one row a source file, and what the model has read for it.
//!
//! Owns its form. Several processes may share one: what one of them had read no other pays for again.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::super::kept_file::{self, KeptForm};
use super::super::stamp::FileStamp;
use super::file_vectors::{FileVectors, PieceHash};

/// Rows of one file: as many as a search looks at.
const MOST_ROWS: i64 = 70_000;

/// The version goes up when texts are cut or vectors are packed in another way.
const FORM: KeptForm = KeptForm {
    version: 1,
    tables: "
    CREATE TABLE file (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
        settled INTEGER NOT NULL, hash BLOB NOT NULL, pieces BLOB NOT NULL
    );
    CREATE TABLE spent (tokens INTEGER NOT NULL);
    INSERT INTO spent VALUES (0);",
};

const COLUMNS: &str = "path, size, modified, changed, settled, hash, pieces";

/// See the module.
pub(super) struct VectorFile {
    connection: Connection,
}

/// What such a file has.
pub(super) struct KeptVectors {
    pub files: Vec<(String, FileVectors)>,
    pub tokens: u64,
}

impl VectorFile {
    /// Opens or makes it, and gives what it has. `model`: what tells the model from others.
    pub(super) fn open(place: &Path, root: &Path, model: &str) -> rusqlite::Result<(Self, KeptVectors)> {
        let subject = [root.as_os_str().as_encoded_bytes(), b"\0", model.as_bytes()].concat();
        let (connection, kept) = kept_file::open(place, &FORM, &subject, |file| {
            let mut rows = file.prepare(&format!("SELECT {COLUMNS} FROM file LIMIT ?1"))?;
            let files = rows.query_map([MOST_ROWS], row_of)?.collect::<rusqlite::Result<Vec<_>>>()?;
            let tokens: i64 = file.query_row("SELECT sum(tokens) FROM spent", [], |row| row.get(0))?;
            Ok(KeptVectors { files, tokens: tokens.max(0) as u64 })
        })?;
        Ok((Self { connection }, kept))
    }

    /// What is kept of a file with these bytes, perhaps by another process.
    pub(super) fn of_bytes(&self, rel: &str, hash: PieceHash) -> Option<FileVectors> {
        let asked = format!("SELECT {COLUMNS} FROM file WHERE path = ?1 AND hash = ?2");
        let mut asked = self.connection.prepare_cached(&asked).ok()?;
        asked.query_row(params![rel, hash], row_of).optional().ok().flatten().map(|(_, file)| file)
    }

    /// Keeps what was read for so many tokens, and forgets what is gone; all of it or nothing.
    pub(super) fn take(
        &mut self,
        read: &[(String, FileVectors)],
        gone: &[String],
        tokens: u64,
    ) -> rusqlite::Result<()> {
        let changes = self.connection.transaction()?;
        {
            let mut put =
                changes.prepare_cached("INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for (rel, file) in read {
                let FileStamp { size, modified, changed } = file.stamp;
                put.execute(params![
                    rel,
                    size as i64,
                    modified,
                    changed,
                    file.is_settled,
                    file.hash,
                    file.pack()
                ])?;
            }
            let mut remove = changes.prepare_cached("DELETE FROM file WHERE path = ?1")?;
            for rel in gone {
                remove.execute([rel])?;
            }
            changes.execute("UPDATE spent SET tokens = tokens + ?1", [tokens as i64])?;
        }
        changes.commit()
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<(String, FileVectors)> {
    let size: i64 = row.get(1)?;
    let stamp = FileStamp { size: size as u64, modified: row.get(2)?, changed: row.get(3)? };
    let packed: Vec<u8> = row.get(6)?;
    let pieces = FileVectors::unpack(&packed).ok_or(rusqlite::Error::InvalidQuery)?;
    Ok((row.get(0)?, FileVectors { stamp, is_settled: row.get(4)?, hash: row.get(5)?, pieces }))
}
