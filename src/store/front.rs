//! The front of the journal: batches of events that are safe from `kill -9` but not yet in the database.
//!
//! Owns one file beside the database, to which a batch is appended with one write, and the batches that stand in it. A
//! transaction of SQLite costs ten times what such a write does, and an event has to be kept before it is told: so single
//! batches go here, and hundreds of them into the database at once. Never holds anything but events and their cursors,
//! never more than `BYTES`, and never a batch that does not follow on the one before it.
//!
//! Shape of the file: `MAGIC`, the epoch of the database, then records: length and CRC-32 of a body, the body. A record
//! that was cut by a kill was never told, and ends the reading.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crc32fast::Hasher;

use super::aside::beside;
use crate::app::ports::{BatchRow, EngineCursor};

/// Behind the name of the database.
pub(super) const SUFFIX: &str = "-front";

/// Bytes after which all of it goes into the database: some hundred batches, and a few milliseconds' work.
pub(super) const BYTES: usize = 1 << 20;

/// A larger batch is written into the database at once: copying it twice would cost more than its transaction does.
pub(super) const LARGEST: usize = 128 << 10;

/// Name and version of the shape.
const MAGIC: &[u8; 8] = b"bbfront1";

/// What a record needs beside its events, about.
const RECORD: usize = 160;

/// A batch that the database does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) session_id: String,
    pub(super) batch: BatchRow,
    pub(super) cursor: Option<EngineCursor>,
}

/// The file and what stands in it.
pub(super) struct Front {
    file: File,
    /// Bytes of the file that count; a write that failed may have left more.
    length: u64,
    begin: u64,
    waiting: Vec<Waiting>,
    bytes: usize,
}

impl Front {
    /// Opens the front of a database, or makes it, with what a process before this one left in it. A file of another database
    /// is begun anew.
    pub(super) fn open(database: &Path, epoch: &str) -> io::Result<Self> {
        Self::open_at(&beside(database, SUFFIX), epoch)
    }

    /// The same under any name.
    pub(super) fn open_at(path: &Path, epoch: &str) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut found = Vec::new();
        file.read_to_end(&mut found)?;
        let head = [MAGIC.as_slice(), &(epoch.len() as u64).to_le_bytes(), epoch.as_bytes()].concat();
        let begin = head.len() as u64;
        let mut front = Self { file, length: begin, begin, waiting: Vec::new(), bytes: 0 };
        if let Some(mut rest) = found.strip_prefix(head.as_slice()) {
            while let Some(record) = next_record(&mut rest) {
                front.count(record);
            }
            front.length = (found.len() - rest.len()) as u64;
        } else {
            front.file.set_len(0)?;
            front.file.seek(SeekFrom::Start(0))?;
            front.file.write_all(&head)?;
        }
        Ok(front)
    }

    /// Whether the file holds nothing. It may hold what does not wait any more.
    pub(super) fn is_empty(&self) -> bool {
        self.length == self.begin
    }

    /// The batches, in the order in which they came.
    pub(super) fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// The last event of a session that waits here.
    pub(super) fn head(&self, session_id: &str) -> Option<u64> {
        self.of(session_id).next_back().map(|one| one.batch.to_seq)
    }

    /// What waits of a session.
    pub(super) fn of(&self, session_id: &str) -> impl DoubleEndedIterator<Item = &Waiting> {
        self.waiting.iter().filter(move |one| one.session_id == session_id)
    }

    /// Whether a batch of so many bytes has a place.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes + RECORD <= BYTES
    }

    /// Appends a batch. Where that fails nothing of it counts.
    pub(super) fn append(&mut self, one: Waiting) -> io::Result<()> {
        self.write(&one)?;
        self.count(one);
        Ok(())
    }

    /// Everything is in the database. `Err`: the file could not be emptied, and what stands in it would be read again.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.waiting.clear();
        self.bytes = 0;
        self.file.set_len(self.begin)?;
        self.length = self.begin;
        Ok(())
    }

    /// Forgets what this does not want. The file holds it until it is emptied.
    pub(super) fn keep(&mut self, keep: impl FnMut(&Waiting) -> bool) {
        self.waiting.retain(keep);
        self.bytes = self.waiting.iter().map(|one| one.batch.events.len() + RECORD).sum();
    }

    /// From now on writing and emptying fail.
    #[cfg(test)]
    pub(super) fn refuse_to_be_written(&mut self, database: &Path) {
        self.file = File::open(beside(database, SUFFIX)).expect("the file");
    }

    fn count(&mut self, one: Waiting) {
        self.bytes += one.batch.events.len() + RECORD;
        self.waiting.push(one);
    }

    fn write(&mut self, one: &Waiting) -> io::Result<()> {
        let mut head = Vec::with_capacity(RECORD);
        // Room for length and checksum.
        head.extend_from_slice(&[0; 8]);
        put_text(&mut head, &one.session_id);
        head.extend_from_slice(&one.batch.from_seq.to_le_bytes());
        head.extend_from_slice(&one.batch.to_seq.to_le_bytes());
        head.push(u8::from(one.cursor.is_some()));
        if let Some(cursor) = &one.cursor {
            head.extend_from_slice(&cursor.seq.to_le_bytes());
            put_text(&mut head, &cursor.id);
        }
        let body = head.len() - 8 + one.batch.events.len();
        let mut checksum = Hasher::new();
        checksum.update(&head[8..]);
        checksum.update(&one.batch.events);
        head[..4].copy_from_slice(&u32::try_from(body).map_err(io::Error::other)?.to_le_bytes());
        head[4..8].copy_from_slice(&checksum.finalize().to_le_bytes());
        head.extend_from_slice(&one.batch.events);
        write_at(&mut self.file, &head, self.length)?;
        self.length += head.len() as u64;
        Ok(())
    }
}

/// One call of the system, since every batch of a calm session takes this way.
#[cfg(unix)]
fn write_at(file: &mut File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(file: &mut File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Takes the next record off; `None` at the end, or where the bytes are not a whole one.
fn next_record(rest: &mut &[u8]) -> Option<Waiting> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (checksum, after) = after.split_first_chunk::<4>()?;
    let (mut body, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let mut found = Hasher::new();
    found.update(body);
    if found.finalize() != u32::from_le_bytes(*checksum) {
        return None;
    }
    let session_id = take_text(&mut body)?;
    let (from_seq, to_seq) = (take_number(&mut body)?, take_number(&mut body)?);
    let (has_cursor, after_flag) = body.split_first()?;
    body = after_flag;
    let cursor = match has_cursor {
        0 => None,
        _ => Some(EngineCursor { seq: take_number(&mut body)?, id: take_text(&mut body)? }),
    };
    *rest = after;
    Some(Waiting { session_id, batch: BatchRow { from_seq, to_seq, events: body.to_vec() }, cursor })
}

fn take_number(body: &mut &[u8]) -> Option<u64> {
    let (number, after) = body.split_first_chunk::<8>()?;
    *body = after;
    Some(u64::from_le_bytes(*number))
}

fn take_text(body: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take_number(body)?).ok()?;
    let (text, after) = body.split_at_checked(length)?;
    *body = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(session_id: &str, from_seq: u64, to_seq: u64, cursor: Option<u64>) -> Waiting {
        let events = format!("{{\"seq\":{from_seq}}}, … {{\"seq\":{to_seq}}}").into_bytes();
        let cursor = cursor.map(|seq| EngineCursor { seq, id: format!("id-{seq}") });
        Waiting { session_id: session_id.into(), batch: BatchRow { from_seq, to_seq, events }, cursor }
    }

    #[test]
    fn what_was_appended_is_there_when_it_is_opened_again_until_it_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("a.sqlite3");
        let all = [one("s", 1, 2, None), one("ü", 1, 1, Some(7)), one("s", 3, 9, Some(u64::MAX))];
        let mut front = Front::open(&database, "e1").unwrap();
        all.iter().for_each(|one| front.append(one.clone()).unwrap());
        assert_eq!(front.waiting(), all);
        drop(front);

        let mut front = Front::open(&database, "e1").unwrap();
        assert_eq!(front.waiting(), all);
        assert_eq!((front.head("s"), front.head("ü"), front.head("t")), (Some(9), Some(1), None));
        front.keep(|one| one.session_id == "ü");
        assert_eq!(front.waiting(), &all[1..2]);
        front.clear().unwrap();
        front.append(all[0].clone()).unwrap();
        assert_eq!(Front::open(&database, "e1").unwrap().waiting(), &all[..1]);
        assert_eq!(Front::open(&database, "e2").unwrap().waiting(), [], "of another database");
        assert_eq!(Front::open(&database, "e1").unwrap().waiting(), [], "and then it is its");
    }

    #[test]
    fn a_record_that_was_cut_or_changed_ends_the_reading_and_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("a.sqlite3");
        let path = beside(&database, SUFFIX);
        let all = [one("s", 1, 2, Some(2)), one("s", 3, 4, Some(4))];
        let mut front = Front::open(&database, "e").unwrap();
        front.append(all[0].clone()).unwrap();
        let first = std::fs::metadata(&path).unwrap().len() as usize;
        front.append(all[1].clone()).unwrap();
        drop(front);
        let whole = std::fs::read(&path).unwrap();
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut front = Front::open(&database, "e").unwrap();
            assert_eq!(front.waiting(), &all[..1], "{cut}");
            front.append(all[1].clone()).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{cut}");
        }
        for at in first..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x10;
            std::fs::write(&path, &wrong).unwrap();
            assert_eq!(Front::open(&database, "e").unwrap().waiting(), &all[..1], "{at}");
        }
    }
}
