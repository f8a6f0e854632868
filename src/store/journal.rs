//! The journal on SQLite: every event is in it before anyone is told.
//!
//! Owns the connection, the slot's lock and the head of each session. Never reads what the loop stores, and never lets a
//! session have a hole or a double.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::aside::{Why, set_aside};
use super::database::{Refusal, open_file, open_memory, suspect_marker};
use super::failure::{Failure, is_damage, journal_error};
use super::fold::Folder;
use super::front::{self, Front, Waiting};
use super::retention;
use super::row::{at_most, block_row, collect, ledger_row, number, session_row, stored, tab_row};
use super::slot::{Slot, SlotError, open_slot};
use super::write::{delete, with_room, write};
use crate::app::ports::{
    BatchRow, BlockRow, Commit, EngineCursor, Journal, JournalError, LedgerRow, SessionRow, TabRow,
};
use crate::domain::view::Lane;

/// Batches that hold `?2` or come after it. Ranges neither overlap nor have holes, so the batch that starts last at or
/// before `?2` is the only earlier one that can hold it.
pub(super) const BATCHES: &str = "
    SELECT from_seq, to_seq, events FROM batch
    WHERE session_id = ?1
      AND from_seq >= coalesce(
          (SELECT max(from_seq) FROM batch WHERE session_id = ?1 AND from_seq <= ?2), ?2)
    ORDER BY from_seq";

/// A page of a lane, newest first.
pub(super) const BLOCKS: &str = "
    SELECT ord, id, block FROM block
    WHERE session_id = ?1 AND lane = ?2 AND ord < ?3
    ORDER BY ord DESC LIMIT ?4";

/// The journal of one slot, or of one process where no slot can be had.
pub struct SqliteJournal {
    /// `None` where there is no file. Dropped first: the connection is then the last one, and closes the file cleanly.
    folder: Option<Folder>,
    /// `None` where there is no file, or none could be kept beside it.
    front: Option<Front>,
    /// `Err` only when not even a database in memory could be made; every call then says so.
    connection: Result<Connection, String>,
    epoch: String,
    /// Head of each session that was written or asked for. One number a session, so it is as large as their list.
    heads: HashMap<String, u64>,
    warnings: Vec<String>,
    /// Closed after the connection: fields are dropped in order.
    slot: Option<Slot>,
}

impl SqliteJournal {
    /// Opens the journal of the first free slot in `state_dir`. What cannot be read is set aside; where nothing can be
    /// kept, the journal lives in memory. Both are said in the warnings.
    pub fn open(state_dir: Option<&Path>) -> Self {
        let Some(state_dir) = state_dir else {
            return Self::in_memory("no directory for state is known (set `stateDir`)", Vec::new());
        };
        let shown = state_dir.display();
        let slot = match open_slot(state_dir) {
            Ok(slot) => slot,
            Err(SlotError::Directory(error)) => {
                return Self::in_memory(
                    &format!("the state directory {shown} cannot be used: {error}"),
                    Vec::new(),
                );
            }
            Err(SlotError::AllTaken) => {
                return Self::in_memory(
                    &format!("every slot in {shown} is taken by another window"),
                    Vec::new(),
                );
            }
        };
        let mut warnings = Vec::new();
        let refusal = match open_file(&slot.database) {
            Ok(opened) => return Self::with(opened, warnings, Some(slot)),
            Err(refusal) => refusal,
        };
        let file = slot.database.display();
        let (why, reason) = match refusal {
            Refusal::Unusable(reason) => {
                return Self::in_memory(&format!("{file} cannot be used now: {reason}"), warnings);
            }
            Refusal::Damaged(reason) => (Why::Damaged, format!("{file} could not be read ({reason})")),
            Refusal::Newer(version) => {
                (Why::Newer, format!("{file} was written by a newer breadboard-ls (schema {version})"))
            }
        };
        match set_aside(&slot.database, why) {
            Ok(aside) => warnings.push(format!(
                "{reason}; it was kept as {} and a new journal was started. Earlier sessions of this window are in the kept file.",
                aside.display()
            )),
            Err(error) => {
                return Self::in_memory(&format!("{reason}, and it could not be moved away: {error}"), warnings);
            }
        }
        match open_file(&slot.database) {
            Ok(opened) => Self::with(opened, warnings, Some(slot)),
            Err(refusal) => Self::in_memory(
                &format!("a new {} could not be made: {refusal:?}", slot.database.display()),
                warnings,
            ),
        }
    }

    /// The database of this journal; `None` when it lives in memory.
    pub fn database(&self) -> Option<&Path> {
        self.slot.as_ref().map(|slot| slot.database.as_path())
    }

    fn with((connection, epoch): (Connection, String), warnings: Vec<String>, slot: Option<Slot>) -> Self {
        let folder = slot.as_ref().map(|slot| Folder::new(&slot.database));
        let front = slot.as_ref().and_then(|slot| Front::open(&slot.database, &epoch).ok());
        let mut journal =
            Self { folder, front, connection: Ok(connection), epoch, heads: HashMap::new(), warnings, slot };
        journal.take_over();
        journal
    }

    fn in_memory(reason: &str, mut warnings: Vec<String>) -> Self {
        warnings.push(format!(
            "The sessions of this window will not be kept when it closes: {reason}. Make the state directory usable, or choose another one, and restart."
        ));
        match open_memory() {
            Ok(opened) => Self::with(opened, warnings, None),
            Err(refusal) => Self {
                folder: None,
                front: None,
                connection: Err(format!(
                    "There is no journal: not even one in memory could be made ({refusal:?})."
                )),
                epoch: uuid::Uuid::new_v4().simple().to_string(),
                heads: HashMap::new(),
                warnings,
                slot: None,
            },
        }
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("a connection")
    }

    /// Runs one read or write; wrong bytes in the file ask for a full check at the next start.
    fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, JournalError> {
        let connection = match &mut self.connection {
            Ok(connection) => connection,
            Err(reason) => return Err(JournalError::Failed(reason.clone())),
        };
        work(connection).map_err(|failure| match failure {
            Failure::Refused(reason) => JournalError::Failed(reason),
            Failure::Sqlite(error) => {
                if let Some(slot) = self.slot.as_ref().filter(|_| is_damage(&error)) {
                    // Where even this cannot be written, the next start checks after an unclean end anyway.
                    let _ = std::fs::write(suspect_marker(&slot.database), error.to_string());
                }
                journal_error(&error)
            }
        })
    }

    fn read_head(&mut self, session_id: &str) -> Result<u64, JournalError> {
        if let Some(head) = self.heads.get(session_id) {
            return Ok(*head);
        }
        let head = self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT to_seq FROM batch WHERE session_id = ?1 ORDER BY from_seq DESC LIMIT 1",
            )?;
            let head = statement.query_row([session_id], |row| number(row, 0)).optional()?;
            Ok(head.unwrap_or(0))
        })?;
        let waiting = self.front.as_ref().and_then(|front| front.head(session_id));
        let head = waiting.unwrap_or(head);
        self.heads.insert(session_id.to_owned(), head);
        Ok(head)
    }

    /// What a process before this one left in the front goes into the database, but for what had gone there already.
    fn take_over(&mut self) {
        let Some(front) = &mut self.front else { return };
        let mut heads = HashMap::new();
        front.keep(|one| {
            let stored = || stored_head(&self.connection, &one.session_id);
            let head = heads.entry(one.session_id.clone()).or_insert_with(stored);
            let follows = one.batch.from_seq == *head + 1;
            if follows {
                *head = one.batch.to_seq;
            }
            follows
        });
        // Where the disk is full it waits on, and is read from there.
        let _ = self.empty_front();
    }

    /// Everything that waits in the front goes into the database.
    fn empty_front(&mut self) -> Result<(), JournalError> {
        if self.front.as_ref().is_none_or(|front| front.waiting().is_empty()) {
            return Ok(());
        }
        self.write_all(&Commit::default())
    }

    /// What waits in the front, and a commit, in one transaction.
    fn write_all(&mut self, commit: &Commit) -> Result<(), JournalError> {
        let front = self.front.take();
        let waiting = front.as_ref().map_or(&[][..], Front::waiting);
        let bytes = bytes_of(commit) + waiting.iter().map(|one| one.batch.events.len()).sum::<usize>();
        let outcome =
            self.run(|connection| with_room(connection, |connection| write(connection, waiting, commit)));
        self.front = front;
        if outcome.is_ok() {
            if let Some(folder) = &mut self.folder {
                folder.wrote(bytes);
            }
            // A front that cannot be emptied is of no use any more; what stands in it is skipped when it is read again.
            if self.front.as_mut().is_some_and(|front| front.clear().is_err()) {
                self.front = None;
            }
        }
        outcome
    }

    /// Appends a commit to the front, if it is one that may go there: nothing but a batch and its cursor. `None`: it was not.
    fn write_in_front(&mut self, commit: &Commit) -> Option<Result<(), JournalError>> {
        let batch = commit.batch.as_ref()?;
        let only_events = commit.session.is_none()
            && commit.blocks.is_empty()
            && commit.view.is_none()
            && commit.ledger.is_empty()
            && commit.prompts.is_empty()
            && commit.tabs.is_empty();
        let length = batch.events.len();
        if !only_events || length > front::LARGEST || stored(batch.to_seq).is_err() {
            return None;
        }
        if commit.cursor.as_ref().is_some_and(|cursor| stored(cursor.seq).is_err()) {
            return None;
        }
        if !self.front.as_ref()?.has_room(length)
            && let Err(error) = self.empty_front()
        {
            return Some(Err(error));
        }
        let waiting = Waiting {
            session_id: commit.session_id.clone(),
            batch: batch.clone(),
            cursor: commit.cursor.clone(),
        };
        self.front.as_mut()?.append(waiting).ok().map(Ok)
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // Where that fails, the next start does it.
        let _ = self.empty_front();
    }
}

impl Journal for SqliteJournal {
    fn epoch(&self) -> &str {
        &self.epoch
    }

    fn state_dir(&self) -> Option<PathBuf> {
        self.slot.as_ref().map(|slot| slot.state_dir.clone())
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn sessions(&mut self, workspace: &str) -> Result<Vec<SessionRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT session_id, workspace, updated_at, record FROM session
                 WHERE workspace = ?1 ORDER BY updated_at DESC, rowid DESC",
            )?;
            collect(&mut statement, [workspace], session_row)
        })
    }

    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT session_id, workspace, updated_at, record FROM session WHERE session_id = ?1",
            )?;
            Ok(statement.query_row([session_id], session_row).optional()?)
        })
    }

    fn delete_session(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.heads.remove(session_id);
        // On a full disk the deletion makes the room.
        let _ = self.empty_front();
        self.run(|connection| with_room(connection, |connection| delete(connection, session_id)))?;
        if let Some(front) = self.front.as_mut().filter(|front| front.head(session_id).is_some()) {
            front.keep(|one| one.session_id != session_id);
            let _ = self.empty_front();
        }
        Ok(())
    }

    fn commit(&mut self, commit: &Commit) -> Result<(), JournalError> {
        let session_id = commit.session_id.as_str();
        if let Some(session) = commit.session.as_ref().filter(|session| session.session_id != session_id) {
            return Err(JournalError::Failed(format!(
                "A commit of session {session_id} carried the row of session {}; nothing was written.",
                session.session_id
            )));
        }
        let mut head = None;
        if let Some(batch) = &commit.batch {
            let next = self.read_head(session_id)?.saturating_add(1);
            if batch.from_seq != next || batch.to_seq < batch.from_seq {
                return Err(JournalError::Failed(format!(
                    "Events {}..={} of session {session_id} do not follow on event {}; nothing was written.",
                    batch.from_seq,
                    batch.to_seq,
                    next - 1
                )));
            }
            head = Some(batch.to_seq);
        }
        let outcome = match self.write_in_front(commit) {
            Some(outcome) => outcome,
            None => self.write_all(commit),
        };
        match (&outcome, head) {
            (Ok(()), Some(head)) => match self.heads.get_mut(session_id) {
                Some(known) => *known = head,
                None => {
                    self.heads.insert(session_id.to_owned(), head);
                }
            },
            // What the file says counts, not what we think that it says.
            (Err(_), _) => {
                self.heads.remove(session_id);
            }
            (Ok(()), None) => {}
        }
        outcome
    }

    fn head(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.read_head(session_id)
    }

    fn batches(
        &mut self,
        session_id: &str,
        from_seq: u64,
        max_bytes: usize,
    ) -> Result<Vec<BatchRow>, JournalError> {
        let mut batches = self.run(|connection| {
            let mut statement = connection.prepare_cached(BATCHES)?;
            let mut rows = statement.query(params![session_id, at_most(from_seq)])?;
            let mut batches: Vec<BatchRow> = Vec::new();
            let mut bytes = 0usize;
            while let Some(row) = rows.next()? {
                let to_seq = number(row, 1)?;
                if to_seq < from_seq {
                    continue;
                }
                let events = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
                bytes = bytes.saturating_add(events.len());
                if bytes > max_bytes && !batches.is_empty() {
                    break;
                }
                batches.push(BatchRow { from_seq: number(row, 0)?, to_seq, events: events.to_vec() });
            }
            Ok((batches, bytes))
        })?;
        // What waits in the front comes behind all that is in the database.
        if let Some(front) = &self.front {
            for one in front.of(session_id).filter(|one| one.batch.to_seq >= from_seq) {
                batches.1 = batches.1.saturating_add(one.batch.events.len());
                if batches.1 > max_bytes && !batches.0.is_empty() {
                    break;
                }
                batches.0.push(one.batch.clone());
            }
        }
        Ok(batches.0)
    }

    fn blocks(
        &mut self,
        session_id: &str,
        lane: Lane,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<BlockRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(BLOCKS)?;
            let before = before.map_or(i64::MAX, at_most);
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            collect(&mut statement, params![session_id, lane.as_str(), before, limit], |row| {
                block_row(lane, row)
            })
        })
    }

    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ord, id, block FROM block WHERE session_id = ?1 AND lane = ?2 AND id = ?3",
            )?;
            let row = statement.query_row(params![session_id, lane.as_str(), id], |row| block_row(lane, row));
            Ok(row.optional()?)
        })
    }

    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError> {
        self.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT seq, state FROM view WHERE session_id = ?1")?;
            Ok(statement.query_row([session_id], |row| Ok((number(row, 0)?, row.get(1)?))).optional()?)
        })
    }

    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT request_id, status, record FROM ask WHERE session_id = ?1 AND request_id = ?2",
            )?;
            Ok(statement.query_row([session_id, request_id], ledger_row).optional()?)
        })
    }

    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT request_id, status, record FROM ask
                 WHERE session_id = ?1 AND status = 'pending' ORDER BY rowid",
            )?;
            collect(&mut statement, [session_id], ledger_row)
        })
    }

    fn cursor(&mut self, session_id: &str) -> Result<Option<EngineCursor>, JournalError> {
        let waiting = self
            .front
            .as_ref()
            .and_then(|front| front.of(session_id).rev().find_map(|one| one.cursor.clone()));
        if waiting.is_some() {
            return Ok(waiting);
        }
        self.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT seq, id FROM cursor WHERE session_id = ?1")?;
            let row = |row: &rusqlite::Row<'_>| Ok(EngineCursor { seq: number(row, 0)?, id: row.get(1)? });
            Ok(statement.query_row([session_id], row).optional()?)
        })
    }

    fn rules(&mut self, workspace: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT record FROM rule WHERE workspace = ?1 ORDER BY rule_id")?;
            let rows = statement.query_map([workspace], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn set_rule(
        &mut self,
        workspace: &str,
        rule_id: &str,
        record: Option<&[u8]>,
    ) -> Result<(), JournalError> {
        self.run(|connection| {
            match record {
                Some(record) => connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO rule (workspace, rule_id, record) VALUES (?1, ?2, ?3)",
                    )?
                    .execute((workspace, rule_id, record))?,
                None => connection
                    .prepare_cached("DELETE FROM rule WHERE workspace = ?1 AND rule_id = ?2")?
                    .execute((workspace, rule_id))?,
            };
            Ok(())
        })
    }

    fn spec(&mut self, workspace: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached("SELECT record FROM spec WHERE workspace = ?1")?;
            Ok(statement.query_row([workspace], |row| row.get(0)).optional()?)
        })
    }

    fn set_spec(&mut self, workspace: &str, record: Option<&[u8]>) -> Result<(), JournalError> {
        self.run(|connection| {
            match record {
                Some(record) => connection
                    .prepare_cached("INSERT OR REPLACE INTO spec (workspace, record) VALUES (?1, ?2)")?
                    .execute((workspace, record))?,
                None => connection
                    .prepare_cached("DELETE FROM spec WHERE workspace = ?1")?
                    .execute([workspace])?,
            };
            Ok(())
        })
    }

    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.run(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT answer FROM prompt WHERE session_id = ?1 AND message_id = ?2")?;
            Ok(statement.query_row([session_id, message_id], |row| row.get(0)).optional()?)
        })
    }

    fn tabs(&mut self, workspace: &str) -> Result<Vec<TabRow>, JournalError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT tab_id, workspace, record FROM tab WHERE workspace = ?1 ORDER BY rowid",
            )?;
            collect(&mut statement, [workspace], tab_row)
        })
    }

    fn used_bytes(&mut self) -> Result<u64, JournalError> {
        self.run(|connection| retention::used_bytes(connection))
    }

    fn oldest_sessions(&mut self) -> Result<Vec<String>, JournalError> {
        self.run(|connection| retention::oldest_sessions(connection))
    }

    fn first(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.empty_front()?;
        self.run(|connection| retention::first_event(connection, session_id))
    }

    fn remove_events(&mut self, session_id: &str, up_to: u64, max_bytes: usize) -> Result<u64, JournalError> {
        self.empty_front()?;
        self.run(|connection| retention::remove_events(connection, session_id, up_to, max_bytes))
    }

    fn remove_session(&mut self, session_id: &str, max_bytes: usize) -> Result<bool, JournalError> {
        self.heads.remove(session_id);
        self.empty_front()?;
        self.run(|connection| retention::remove_session(connection, session_id, max_bytes))
    }

    fn leaving(&mut self) -> Result<Option<String>, JournalError> {
        self.run(|connection| retention::leaving(connection))
    }
}

/// About what a commit takes in the log.
fn bytes_of(commit: &Commit) -> usize {
    /// Each row touches a page at least, and the whole page is logged.
    const PAGE: usize = 4_096;
    let batch = commit.batch.as_ref().map_or(0, |batch| PAGE + batch.events.len());
    let session = commit.session.as_ref().map_or(0, |session| PAGE + session.record.len());
    let view = commit.view.as_ref().map_or(0, |(_, state)| PAGE + state.len());
    let blocks: usize = commit.blocks.iter().map(|row| row.block.as_ref().map_or(0, Vec::len)).sum();
    let others = commit.ledger.len() + commit.prompts.len() + commit.tabs.len();
    batch + session + view + blocks + others * PAGE + usize::from(commit.cursor.is_some()) * PAGE
}

/// The last event of a session in the database.
fn stored_head(connection: &Result<Connection, String>, session_id: &str) -> u64 {
    let Ok(connection) = connection else { return 0 };
    let head = connection.query_row(
        "SELECT to_seq FROM batch WHERE session_id = ?1 ORDER BY from_seq DESC LIMIT 1",
        [session_id],
        |row| number(row, 0),
    );
    head.unwrap_or(0)
}
