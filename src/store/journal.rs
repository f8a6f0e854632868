//! The journal on SQLite: every event is in it before anyone is told.
//!
//! Owns the slot's lock and the head of each session; what comes in goes by the `intake`. Never reads what the loop stores,
//! and never lets a session have a hole or a double.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::aside::{Why, beside, set_aside};
use super::database::{Database, Refusal, open_file, open_memory};
use super::failure::Failure;
use super::front;
use super::intake::Intake;
use super::loss;
use super::opening::Opened;
use super::presence::Presence;
use super::retention;
use super::row::{at_most, block_row, collect, ledger_row, number, session_row, tab_row};
use super::slot::{Slot, SlotError, open_slot};
use crate::app::ports::{
    BatchRow, BlockRow, Commit, EngineCursor, Journal, JournalError, LedgerRow, SessionRow, TabRow,
};
use crate::domain::view::Lane;

/// Batches that hold `?2` or come after it. Ranges neither overlap nor have holes, so the batch that starts last at or
/// before `?2` is the only earlier one that can hold it.
pub(super) const BATCHES: &str = "
    SELECT from_seq, to_seq, events, crc FROM batch
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
    /// Dropped first: the journal's connection is then the last one, and closes the file cleanly.
    intake: Intake,
    database: Database,
    epoch: String,
    /// Head of each session that was written or asked for. One number a session, so it is as large as their list.
    heads: HashMap<String, u64>,
    warnings: Vec<String>,
    /// Whether the files are still where they were opened; `None` when they are not, and that was said.
    presence: Option<Presence>,
    /// Transactions of the database when that was looked at.
    looked_at: u64,
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
        let mut warnings: Vec<String> = slot.warning.clone().into_iter().collect();
        if let Err(error) = keep_orphaned_log(&slot.database, &mut warnings) {
            return Self::in_memory(&error, warnings);
        }
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

    fn with(
        (connection, epoch): (Connection, String),
        mut warnings: Vec<String>,
        slot: Option<Slot>,
    ) -> Self {
        let file = slot.as_ref().map(|slot| slot.database.clone());
        let mut database = Database { connection: Ok(connection), file };
        let Opened { intake, new_epoch } = match &slot {
            Some(slot) => Intake::open(&slot.database, &epoch, &mut database, &mut warnings),
            None => Opened { intake: Intake::without_front(), new_epoch: None },
        };
        let presence = slot.as_ref().map(|slot| {
            let front = beside(&slot.database, front::SUFFIX);
            Presence::of([slot.lock_path(), slot.database.clone(), front])
        });
        let epoch = new_epoch.unwrap_or(epoch);
        let looked_at = intake.commits();
        Self { intake, database, epoch, heads: HashMap::new(), warnings, presence, looked_at, slot }
    }

    fn in_memory(reason: &str, mut warnings: Vec<String>) -> Self {
        warnings.push(format!(
            "The sessions of this window will not be kept when it closes: {reason}. Make the state directory usable, or choose another one, and restart."
        ));
        match open_memory() {
            Ok(opened) => Self::with(opened, warnings, None),
            Err(refusal) => Self {
                intake: Intake::without_front(),
                database: Database {
                    connection: Err(format!(
                        "There is no journal: not even one in memory could be made ({refusal:?})."
                    )),
                    file: None,
                },
                epoch: uuid::Uuid::new_v4().simple().to_string(),
                heads: HashMap::new(),
                warnings,
                presence: None,
                looked_at: 0,
                slot: None,
            },
        }
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        self.database.connection.as_ref().expect("a connection")
    }

    fn read_head(&mut self, session_id: &str) -> Result<u64, JournalError> {
        if let Some(head) = self.heads.get(session_id) {
            return Ok(*head);
        }
        let head = self.database.run(|connection| self.intake.head(connection, session_id))?;
        self.heads.insert(session_id.to_owned(), head);
        Ok(head)
    }

    /// One change beside commits.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, JournalError> {
        let outcome = self.database.run(|connection| self.intake.change(connection, work));
        self.look_around();
        outcome
    }

    /// Says once when the files are gone from where they were. Looked at after a transaction, never for a batch in the front.
    fn look_around(&mut self) {
        if std::mem::replace(&mut self.looked_at, self.intake.commits()) == self.looked_at {
            return;
        }
        let Some(slot) = self.slot.as_ref() else { return };
        if self.presence.as_ref().is_some_and(Presence::is_lost) {
            self.presence = None;
            self.warnings.push(format!(
                "The state directory {} or a file of this window in it was deleted or replaced while the window was open. Everything works on, but the sessions of this window will be gone when it closes; copy what you need, and open the window again.",
                slot.state_dir.display()
            ));
        }
    }
}

/// A log without its database would be deleted when that is made anew: both are kept under another name, and that is said.
/// `Err`: why not.
fn keep_orphaned_log(database: &Path, warnings: &mut Vec<String>) -> Result<(), String> {
    // What is no regular file is refused when it is opened.
    let length = |path: &Path| {
        std::fs::symlink_metadata(path).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
    };
    if length(database) > 0 || length(&beside(database, "-wal")) == 0 {
        return Ok(());
    }
    let file = database.display();
    let aside = set_aside(database, Why::Damaged).map_err(|error| {
        format!("{file} was removed or emptied, and its log could not be moved away: {error}")
    })?;
    warnings.push(format!(
        "{file} was removed or emptied while its log was still there; a new journal was started, and what was left was kept as {}-wal and {}-front. Earlier sessions of this window are missing.",
        aside.display(),
        aside.display()
    ));
    Ok(())
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // Where that fails, the next start does it.
        let _ = self.database.run(|connection| self.intake.empty(connection));
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

    fn losses(&mut self) -> Result<Vec<(String, String)>, JournalError> {
        self.database.run(|connection| loss::unsaid(connection))
    }

    fn loss_recorded(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.change(|transaction| Ok(loss::said(transaction, session_id)?))
    }

    fn sessions(&mut self, workspace: &str) -> Result<Vec<SessionRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT session_id, workspace, updated_at, record FROM session
                 WHERE workspace = ?1 ORDER BY updated_at DESC, rowid DESC",
            )?;
            collect(&mut statement, [workspace], session_row)
        })
    }

    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT session_id, workspace, updated_at, record FROM session WHERE session_id = ?1",
            )?;
            Ok(statement.query_row([session_id], session_row).optional()?)
        })
    }

    fn delete_session(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.heads.remove(session_id);
        self.database.run(|connection| self.intake.delete(connection, session_id))
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
        let outcome = self.database.run(|connection| self.intake.commit(connection, commit));
        self.look_around();
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
        let mut batches = self.database.run(|connection| {
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
                if row.get::<_, Option<u32>>(3)?.is_some_and(|crc| crc != crc32fast::hash(events)) {
                    let from_seq = number(row, 0)?;
                    return Err(Failure::Refused(format!(
                        "The events {from_seq} to {to_seq} of session {session_id} were changed on disk and cannot be read; delete the session, or restore the state directory from a backup."
                    )));
                }
                bytes = bytes.saturating_add(events.len());
                if bytes > max_bytes && !batches.is_empty() {
                    break;
                }
                batches.push(BatchRow { from_seq: number(row, 0)?, to_seq, events: events.to_vec() });
            }
            Ok((batches, bytes))
        })?;
        for one in self.intake.of(session_id).filter(|one| one.batch.to_seq >= from_seq) {
            batches.1 = batches.1.saturating_add(one.batch.events.len());
            if batches.1 > max_bytes && !batches.0.is_empty() {
                break;
            }
            batches.0.push(one.batch.clone());
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
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(BLOCKS)?;
            let before = before.map_or(i64::MAX, at_most);
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            collect(&mut statement, params![session_id, lane.as_str(), before, limit], |row| {
                block_row(lane, row)
            })
        })
    }

    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ord, id, block FROM block WHERE session_id = ?1 AND lane = ?2 AND id = ?3",
            )?;
            let row = statement.query_row(params![session_id, lane.as_str(), id], |row| block_row(lane, row));
            Ok(row.optional()?)
        })
    }

    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError> {
        self.database.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT seq, state FROM view WHERE session_id = ?1")?;
            Ok(statement.query_row([session_id], |row| Ok((number(row, 0)?, row.get(1)?))).optional()?)
        })
    }

    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT request_id, status, record FROM ask WHERE session_id = ?1 AND request_id = ?2",
            )?;
            Ok(statement.query_row([session_id, request_id], ledger_row).optional()?)
        })
    }

    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT request_id, status, record FROM ask
                 WHERE session_id = ?1 AND status = 'pending' ORDER BY rowid",
            )?;
            collect(&mut statement, [session_id], ledger_row)
        })
    }

    fn cursor(&mut self, session_id: &str) -> Result<Option<EngineCursor>, JournalError> {
        let waiting = self.intake.cursor(session_id);
        if waiting.is_some() {
            return Ok(waiting);
        }
        self.database.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT seq, id FROM cursor WHERE session_id = ?1")?;
            let row = |row: &rusqlite::Row<'_>| Ok(EngineCursor { seq: number(row, 0)?, id: row.get(1)? });
            Ok(statement.query_row([session_id], row).optional()?)
        })
    }

    fn rules(&mut self, workspace: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.database.run(|connection| {
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
        self.change(|transaction| {
            match record {
                Some(record) => transaction
                    .prepare_cached(
                        "INSERT OR REPLACE INTO rule (workspace, rule_id, record) VALUES (?1, ?2, ?3)",
                    )?
                    .execute((workspace, rule_id, record))?,
                None => transaction
                    .prepare_cached("DELETE FROM rule WHERE workspace = ?1 AND rule_id = ?2")?
                    .execute((workspace, rule_id))?,
            };
            Ok(())
        })
    }

    fn spec(&mut self, workspace: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached("SELECT record FROM spec WHERE workspace = ?1")?;
            Ok(statement.query_row([workspace], |row| row.get(0)).optional()?)
        })
    }

    fn set_spec(&mut self, workspace: &str, record: Option<&[u8]>) -> Result<(), JournalError> {
        self.change(|transaction| {
            match record {
                Some(record) => transaction
                    .prepare_cached("INSERT OR REPLACE INTO spec (workspace, record) VALUES (?1, ?2)")?
                    .execute((workspace, record))?,
                None => transaction
                    .prepare_cached("DELETE FROM spec WHERE workspace = ?1")?
                    .execute([workspace])?,
            };
            Ok(())
        })
    }

    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT answer FROM prompt WHERE session_id = ?1 AND message_id = ?2")?;
            Ok(statement.query_row([session_id, message_id], |row| row.get(0)).optional()?)
        })
    }

    fn tabs(&mut self, workspace: &str) -> Result<Vec<TabRow>, JournalError> {
        self.database.run(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT tab_id, workspace, record FROM tab WHERE workspace = ?1 ORDER BY rowid",
            )?;
            collect(&mut statement, [workspace], tab_row)
        })
    }

    fn used_bytes(&mut self) -> Result<u64, JournalError> {
        self.database.run(|connection| retention::used_bytes(connection))
    }

    fn oldest_sessions(&mut self) -> Result<Vec<String>, JournalError> {
        self.database.run(|connection| retention::oldest_sessions(connection))
    }

    fn first(&mut self, session_id: &str) -> Result<u64, JournalError> {
        // What waits in the front is never the beginning but of a session that has nothing else, whose first event is 1.
        self.database.run(|connection| retention::first_event(connection, session_id))
    }

    fn remove_events(&mut self, session_id: &str, up_to: u64, max_bytes: usize) -> Result<u64, JournalError> {
        self.database.run(|connection| self.intake.remove_events(connection, session_id, up_to, max_bytes))
    }

    fn remove_session(&mut self, session_id: &str, max_bytes: usize) -> Result<bool, JournalError> {
        self.heads.remove(session_id);
        self.database.run(|connection| self.intake.remove(connection, session_id, max_bytes))
    }

    fn leaving(&mut self) -> Result<Option<String>, JournalError> {
        self.database.run(|connection| retention::leaving(connection))
    }
}
