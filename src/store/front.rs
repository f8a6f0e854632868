//! The front of the journal: batches of events that are safe from `kill -9` but not yet in the database.
//!
//! Owns one file a window, to which a batch is appended with one write, and the batches that stand in it. A
//! transaction of SQLite costs ten times what such a write does, and an event has to be kept before it is told: so single
//! batches go here, and hundreds of them into the database at once. Never holds anything but events and their cursors,
//! never more than `BYTES`, and never a batch that does not follow on the one before it.
//!
//! The head of the file also says how far the database had come when it was last written. Whoever finds a database that is
//! not that far knows that it went back. It is written once a transaction, never with a batch. The file has its full size
//! from the beginning, without taking that much of the disk, so that one that is shorter was cut. `front_scan` has the shape.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
#[cfg(not(unix))]
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::front_scan::{
    BEGIN, FrontOwner, FrontScan, HEADS, Head, LONGEST_ID, scan, write_head, write_record,
};
use super::guarded;
use crate::app::ports::{BatchRow, EngineCursor};

/// The front of a window, and the database that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontFiles<'a> {
    /// Number of the window.
    pub(super) window: u32,
    /// The file.
    pub(super) front: &'a Path,
    /// The database.
    pub(super) database: &'a Path,
}

/// Bytes after which all of it goes into the database: some hundred batches, and a few milliseconds' work.
pub(super) const BYTES: usize = 1 << 20;

/// A larger batch is written into the database at once: copying it twice would cost more than its transaction does.
pub(super) const LARGEST: usize = 128 << 10;

/// What a record needs beside its events, about.
pub(super) const RECORD: usize = 160;

/// Size of the file: what is counted above, and a quarter more for ids that are longer than usual.
const SIZE: u64 = BEGIN as u64 + BYTES as u64 / 4 * 5;

/// Most that is read of a file. Ours never has that much; the rest of a longer one counts as damage.
const READ: u64 = 2 * SIZE;

/// A batch that the database does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaitingFront {
    pub(super) session_id: String,
    pub(super) batch: BatchRow,
    pub(super) cursor: Option<EngineCursor>,
}

impl WaitingFront {
    /// Whether its ids are short enough for a record.
    pub(super) fn fits(session_id: &str, cursor: Option<&EngineCursor>) -> bool {
        session_id.len() <= LONGEST_ID && cursor.is_none_or(|cursor| cursor.id.len() <= LONGEST_ID)
    }
}

/// What a process finds of the front of the one before it.
pub(super) struct FoundFront {
    /// The file, to be begun or continued.
    pub(super) file: File,
    /// What it holds; `owner` is `Nobody` where there was none.
    pub(super) scan: FrontScan,
    /// Its length in bytes.
    pub(super) length: u64,
}

/// Looks at the front that lies there, or makes an empty one.
pub(super) fn find(path: &Path) -> io::Result<FoundFront> {
    let mut file = guarded::open_or_create(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(READ).read_to_end(&mut bytes)?;
    let mut scan = scan(&bytes);
    scan.spoiled |= length > READ;
    Ok(FoundFront { file, scan, length })
}

/// The file and what stands in it.
pub(super) struct Front {
    file: File,
    head: Head,
    /// Bytes of the file that count; a write that failed may have left more.
    length: u64,
    waiting: Vec<WaitingFront>,
    bytes: usize,
}

impl Front {
    /// Begins a file anew; what it held is gone.
    pub(super) fn begin(file: File, mut head: Head) -> io::Result<Self> {
        file.set_len(0)?;
        // Where the system gives no such file, a cut at its end cannot be told.
        head.size = if file.set_len(SIZE).is_ok() { SIZE } else { 0 };
        let mut front = Self { file, head, length: BEGIN as u64, waiting: Vec::new(), bytes: 0 };
        front.write_head()?;
        Ok(front)
    }

    /// Goes on with a file that is whole, and of this database.
    pub(super) fn go_on(file: File, head: Head, scan: FrontScan) -> Self {
        let length = scan.end as u64;
        let mut front = Self { file, head, length, waiting: Vec::new(), bytes: 0 };
        if scan.torn && !scan.spoiled && matches!(scan.owner, FrontOwner::Known(_)) {
            // Half of a record behind a shorter one would look like damage. Where this fails, it is said as that.
            let _ = front.shorten_to(length).and_then(|()| front.write_head());
        }
        scan.records.into_iter().for_each(|one| front.count(one));
        front
    }

    /// A file of records that nobody appends to later.
    pub(super) fn write_apart(path: &Path, records: Vec<WaitingFront>) -> io::Result<()> {
        let mut front = Self::begin(guarded::open_or_create(path)?, Head::default())?;
        records.into_iter().try_for_each(|one| front.append(one))
    }

    /// The database has seen so many transactions; the last of them brought these sessions to these events.
    pub(super) fn note(&mut self, commits: u64, heads: &BTreeMap<String, u64>) {
        self.take_note(commits, heads);
        // Where this fails, less is known of the database at the next start.
        if let Err(error) = self.write_head() {
            tracing::debug!(%error, "the head of the front was not written");
        }
    }

    fn take_note(&mut self, commits: u64, heads: &BTreeMap<String, u64>) {
        self.head.commits = commits;
        for (session_id, seq) in heads.iter().filter(|(id, _)| id.len() <= LONGEST_ID) {
            self.forget(session_id);
            self.head.heads.push((session_id.clone(), *seq));
        }
        let more = self.head.heads.len().saturating_sub(HEADS);
        self.head.heads.drain(..more);
    }

    /// A session was deleted.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.head.heads.retain(|(known, _)| known != session_id);
    }

    /// The file, and the name of its database.
    pub(super) fn into_parts(self) -> (File, String) {
        (self.file, self.head.identity)
    }

    fn write_head(&mut self) -> io::Result<()> {
        let mut bytes = write_head(&self.head);
        // A head that was longer must not show behind it.
        bytes.resize(BEGIN, 0);
        write_at(&mut self.file, &bytes, 0)
    }

    /// Whether the file holds nothing. It may hold what does not wait any more.
    pub(super) fn is_empty(&self) -> bool {
        self.length == BEGIN as u64
    }

    /// The batches, in the order in which they came.
    pub(super) fn waiting(&self) -> &[WaitingFront] {
        &self.waiting
    }

    /// The last event of a session that waits here.
    pub(super) fn head(&self, session_id: &str) -> Option<u64> {
        self.of(session_id).next_back().map(|one| one.batch.to_seq)
    }

    /// What waits of a session.
    pub(super) fn of(&self, session_id: &str) -> impl DoubleEndedIterator<Item = &WaitingFront> {
        self.waiting.iter().filter(move |one| one.session_id == session_id)
    }

    /// Whether a batch of so many bytes has a place.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let largest = (bytes + RECORD + 2 * LONGEST_ID) as u64;
        self.bytes + bytes + RECORD <= BYTES && self.length + largest <= SIZE
    }

    /// Appends a batch. Where that fails nothing of it counts.
    pub(super) fn append(&mut self, one: WaitingFront) -> io::Result<()> {
        self.write(&one)?;
        self.count(one);
        Ok(())
    }

    /// Everything is in the database, which has seen so many transactions. `Err`: the file could not be emptied, and what
    /// stands in it would be read again.
    pub(super) fn clear(&mut self, commits: u64, heads: &BTreeMap<String, u64>) -> io::Result<()> {
        self.waiting.clear();
        self.bytes = 0;
        if self.length > BEGIN as u64 {
            // Killed in between, it must not look as if somebody else had cut it.
            self.head.size = 0;
            self.write_head()?;
            self.shorten_to(BEGIN as u64)?;
        }
        self.take_note(commits, heads);
        self.write_head()
    }

    /// Zeros from here on, up to the full size.
    fn shorten_to(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.length = length;
        self.head.size = if self.file.set_len(SIZE).is_ok() { SIZE } else { 0 };
        Ok(())
    }

    /// Forgets what this does not want. The file holds it until it is emptied.
    pub(super) fn keep(&mut self, keep: impl FnMut(&WaitingFront) -> bool) {
        self.waiting.retain(keep);
        self.bytes = self.waiting.iter().map(|one| one.batch.events.len() + RECORD).sum();
    }

    /// From now on writing and emptying fail.
    #[cfg(test)]
    pub(super) fn refuse_to_be_written(&mut self, front: &Path) {
        self.file = File::open(front).expect("the file");
    }

    fn count(&mut self, one: WaitingFront) {
        self.bytes += one.batch.events.len() + RECORD;
        self.waiting.push(one);
    }

    fn write(&mut self, one: &WaitingFront) -> io::Result<()> {
        let record = write_record(one)?;
        if let Err(error) = write_at(&mut self.file, &record, self.length) {
            // Half of it must not look like damage. Where this fails too, it does, and is said.
            let _ = self.shorten_to(self.length).and_then(|()| self.write_head());
            return Err(error);
        }
        self.length += record.len() as u64;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn one(session_id: &str, from_seq: u64, to_seq: u64, cursor: Option<u64>) -> WaitingFront {
        let events = format!("{{\"seq\":{from_seq}}}, … {{\"seq\":{to_seq}}}").into_bytes();
        let cursor = cursor.map(|seq| EngineCursor { seq, id: format!("id-{seq}") });
        WaitingFront { session_id: session_id.into(), batch: BatchRow { from_seq, to_seq, events }, cursor }
    }

    fn opened(front: &Path) -> Front {
        let FoundFront { file, scan, .. } = find(front).unwrap();
        let head = Head { identity: "i".into(), ..Head::default() };
        match &scan.owner {
            FrontOwner::Known(found) => Front::go_on(file, found.clone(), scan),
            _ => Front::begin(file, head).unwrap(),
        }
    }

    #[test]
    fn what_was_appended_is_there_when_it_is_opened_again_until_it_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.front");
        let all = [one("s", 1, 2, None), one("ü", 1, 1, Some(7)), one("s", 3, 9, Some(u64::MAX))];
        let mut front = opened(&file);
        all.iter().for_each(|one| front.append(one.clone()).unwrap());
        assert_eq!(front.waiting(), all);
        drop(front);

        let mut front = opened(&file);
        assert_eq!(front.waiting(), all);
        assert_eq!((front.head("s"), front.head("ü"), front.head("t")), (Some(9), Some(1), None));
        front.keep(|one| one.session_id == "ü");
        assert_eq!(front.waiting(), &all[1..2]);
        front.clear(1, &BTreeMap::new()).unwrap();
        front.append(all[0].clone()).unwrap();
        assert_eq!(opened(&file).waiting(), &all[..1]);
    }

    #[test]
    fn the_head_is_kept_while_batches_come_and_go() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.front");
        let mut front = opened(&file);
        front.append(one("s", 1, 2, None)).unwrap();
        let heads = |heads: &[(&str, u64)]| heads.iter().map(|(id, seq)| ((*id).to_owned(), *seq)).collect();
        front.note(5, &heads(&[("s", 2), ("t", 9)]));
        front.clear(6, &heads(&[("s", 3)])).unwrap();
        front.append(one("s", 4, 4, None)).unwrap();
        let FoundFront { scan, length, .. } = find(&file).unwrap();
        let head = Head {
            identity: "i".into(),
            commits: 6,
            size: SIZE,
            heads: vec![("t".into(), 9), ("s".into(), 3)],
        };
        assert_eq!(
            (scan.owner, scan.records, scan.spoiled, length),
            (FrontOwner::Known(head), vec![one("s", 4, 4, None)], false, SIZE)
        );
    }
}
