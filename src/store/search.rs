//! Finding what was said in sessions: an index of words in memory, made of the database's blocks by a thread of its own.
//!
//! Owns the index and its thread. It is kept from one search to the next, and what changed since is read anew. It lies on no disk:
//! what was deleted is nowhere in it, and other windows and versions need not know of it. Never writes the database, and never reads
//! what a block means: the job brings that along.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::failure::{Failure, journal_error};
use super::read;
use super::row::number;
use crate::app::ports::{JournalError, SearchFound, SearchJob};
use crate::domain::session_search::Said;
use crate::domain::view::Lane;

/// Searches that wait for the one under way: a person types one after another, and of a few windows' worth each is answered. More are
/// refused with a sentence.
const WAITING: usize = 8;

/// Bytes of text that the index holds; sessions past that, the oldest ones, are not searched. An index takes about as much memory as
/// the half of its text, so this is a bound on that.
const INDEXED_BYTES: u64 = 128 << 20;

/// Passages of one session that are given.
const A_SESSION: usize = 3;

/// Passages of all sessions that are given: more than anybody reads.
const ALL: usize = 600;

/// How long a read waits for a write that is being folded.
const BUSY: Duration = Duration::from_millis(500);

/// Without its text: that is in the database, and read from there where something was found.
const SCHEMA: &str = "
    CREATE VIRTUAL TABLE said USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
    CREATE TABLE place (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, block_id TEXT NOT NULL);
    CREATE INDEX place_by_session ON place (session_id);
    CREATE TABLE known (session_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
";

/// The thread that searches, once somebody did.
pub(super) struct SessionSearch {
    database: PathBuf,
    running: Option<(SyncSender<SearchJob>, JoinHandle<()>)>,
    ends: Arc<AtomicBool>,
}

impl SessionSearch {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: database.to_owned(), running: None, ends: Arc::default() }
    }

    /// Hands the job to the thread.
    pub(super) fn search(&mut self, job: SearchJob) {
        if self.running.is_none() {
            self.running = self.start();
        }
        let refused = match &self.running {
            Some((jobs, _)) => match jobs.try_send(job) {
                Ok(()) => return,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => job,
            },
            None => job,
        };
        let busy = "sessions are being searched already; try again in a moment";
        (refused.done)(Err(JournalError::Failed(busy.to_owned())));
    }

    fn start(&self) -> Option<(SyncSender<SearchJob>, JoinHandle<()>)> {
        let (sender, jobs) = sync_channel(WAITING);
        let (database, ends) = (self.database.clone(), Arc::clone(&self.ends));
        let named = std::thread::Builder::new().name("session search".to_owned());
        let thread = named.spawn(move || answer_all(&jobs, &database, &ends)).ok()?;
        Some((sender, thread))
    }
}

impl Drop for SessionSearch {
    /// Waits for a read that is under way, which ends at the next row: the journal closes its file after this, and must be the
    /// last one to.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some((jobs, thread)) = self.running.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}

fn answer_all(jobs: &Receiver<SearchJob>, database: &Path, ends: &AtomicBool) {
    let mut index = None;
    while let Ok(SearchJob { sessions, words, reads, done }) = jobs.recv() {
        let found = search(&mut index, database, ends, &sessions, &words, reads);
        if found.is_err() {
            // Whatever is wrong with it, the next one is made of the database.
            index = None;
        }
        done(found.map_err(|failure| match failure {
            Failure::Sqlite(error) => journal_error(&error),
            Failure::Refused(why) => JournalError::Failed(why),
            Failure::WindowLock(_) => JournalError::HeldElsewhere,
        }));
    }
}

fn search(
    index: &mut Option<SearchIndex>,
    database: &Path,
    ends: &AtomicBool,
    sessions: &[String],
    words: &[String],
    reads: fn(&[u8]) -> Option<Said>,
) -> Result<SearchFound, Failure> {
    // Open only while it reads: the journal's own connection is to be the last one.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = Connection::open_with_flags(database, flags)?;
    journal.busy_timeout(BUSY)?;
    if index.is_none() {
        *index = Some(SearchIndex::new()?);
    }
    let Some(index) = index else { return Ok(SearchFound::default()) };
    let unsearched = index.renew(&journal, sessions, reads, ends)?;
    let places = index.places(words)?;
    let newest = sessions.iter().filter_map(|id| Some((id, places.get(id)?)));
    let newest = newest.flat_map(|(id, blocks)| blocks.iter().map(move |block| (id, block)));
    let mut said = Vec::new();
    for (session_id, block_id) in newest.take(ALL) {
        let row = read::block(&journal, session_id, Lane::Chat, block_id)?;
        if let Some(found) = row.and_then(|row| row.block).and_then(|block| reads(&block)) {
            said.push((session_id.clone(), found));
        }
    }
    Ok(SearchFound { said, unsearched })
}

/// The words of what was said, by block.
struct SearchIndex {
    connection: Connection,
}

impl SearchIndex {
    fn new() -> Result<Self, Failure> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection })
    }

    /// Reads what changed since the last search, and forgets what is no more. How many sessions had no room.
    fn renew(
        &mut self,
        journal: &Connection,
        sessions: &[String],
        reads: fn(&[u8]) -> Option<Said>,
        ends: &AtomicBool,
    ) -> Result<usize, Failure> {
        let transaction = self.connection.transaction()?;
        let (mut bytes, mut unsearched) = (0, 0);
        let mut kept: HashSet<&str> = HashSet::with_capacity(sessions.len());
        for session_id in sessions {
            if bytes > INDEXED_BYTES {
                unsearched += 1;
                continue;
            }
            kept.insert(session_id);
            let seq = read::checkpoint(journal, session_id)?;
            let known = transaction
                .prepare_cached("SELECT seq, bytes FROM known WHERE session_id = ?1")?
                .query_row([session_id], |row| Ok((number(row, 0)?, number(row, 1)?)))
                .optional()?;
            bytes += match known {
                Some((known, bytes)) if known == seq => bytes,
                Some(_) | None => {
                    forget(&transaction, session_id)?;
                    take_in(&transaction, journal, session_id, seq, reads, ends)?
                }
            };
        }
        let gone: Vec<String> = {
            let mut statement = transaction.prepare_cached("SELECT session_id FROM known")?;
            let all = statement.query_map([], |row| row.get::<_, String>(0))?;
            all.filter(|id| id.as_ref().map_or(true, |id| !kept.contains(id.as_str())))
                .collect::<rusqlite::Result<_>>()?
        };
        for session_id in gone {
            forget(&transaction, &session_id)?;
        }
        transaction.commit()?;
        Ok(unsearched)
    }

    /// Blocks in which all of the words stand, by session, the newest first.
    fn places(&self, words: &[String]) -> Result<HashMap<String, Vec<String>>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT place.session_id, place.block_id FROM said JOIN place ON place.id = said.rowid
             WHERE said MATCH ?1 ORDER BY said.rowid DESC",
        )?;
        let mut rows = statement.query([matching(words)])?;
        let mut places: HashMap<String, Vec<String>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let of_session = places.entry(row.get(0)?).or_default();
            if of_session.len() < A_SESSION {
                of_session.push(row.get(1)?);
            }
        }
        Ok(places)
    }
}

/// The words as FTS5 reads them: each a string, of which the end may be missing.
fn matching(words: &[String]) -> String {
    let quoted: Vec<String> =
        words.iter().map(|word| format!("\"{}\"*", word.replace('"', "\"\""))).collect();
    quoted.join(" AND ")
}

/// Reads what was said in a session. Its bytes.
fn take_in(
    index: &Connection,
    journal: &Connection,
    session_id: &str,
    seq: u64,
    reads: fn(&[u8]) -> Option<Said>,
    ends: &AtomicBool,
) -> Result<u64, Failure> {
    let mut statement = journal
        .prepare_cached("SELECT block FROM block WHERE session_id = ?1 AND lane = 'chat' ORDER BY ord")?;
    let mut rows = statement.query([session_id])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        if ends.load(Ordering::Acquire) {
            return Err(Failure::Refused("the server ends".to_owned()));
        }
        let Some(said) = reads(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?) else { continue };
        bytes += said.text.len() as u64;
        index
            .prepare_cached("INSERT INTO place (session_id, block_id) VALUES (?1, ?2)")?
            .execute([session_id, &said.block_id])?;
        index
            .prepare_cached("INSERT INTO said (rowid, text) VALUES (last_insert_rowid(), ?1)")?
            .execute([&said.text])?;
    }
    index
        .prepare_cached("INSERT INTO known (session_id, seq, bytes) VALUES (?1, ?2, ?3)")?
        .execute(params![session_id, super::row::stored(seq)?, super::row::stored(bytes)?])?;
    Ok(bytes)
}

fn forget(index: &Connection, session_id: &str) -> Result<(), Failure> {
    index
        .prepare_cached("DELETE FROM said WHERE rowid IN (SELECT id FROM place WHERE session_id = ?1)")?
        .execute([session_id])?;
    for table in ["place", "known"] {
        index.prepare_cached(&format!("DELETE FROM {table} WHERE session_id = ?1"))?.execute([session_id])?;
    }
    Ok(())
}
