//! The way of a commit into the database: by the front, or at once with all that waits there.
//!
//! Owns the front while the process runs: when it is written, taken in and emptied. How it is opened is in `opening`. Never
//! checks the numbers of a commit (the journal did, against the head it keeps) and never reads what it takes.
//!
//! **A session that is deleted** must not come back from the file, whether it could not be emptied (a full disk) or not be
//! opened: see `forgotten`. Until its name is off that list nothing of it goes into the front, so all that the file holds of it
//! is older than the deletion.

use std::collections::{BTreeMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::database::PAGE_BYTES;
use super::failure::{Failure, is_full};
use super::fold::FoldedFolder;
use super::forgotten::{self, Left};
use super::front::{self, Front, WaitingFront};
use super::leases::Leases;
use super::retention;
use super::row::{number, stored};
use super::write::{count, delete, with_room, write};
use crate::app::ports::{Commit, EngineCursor, StepChange};

/// Where commits come in.
pub(super) struct Intake {
    /// `None` where there is no file.
    pub(super) folder: Option<FoldedFolder>,
    /// `None` where there is no file, or none could be kept beside it.
    pub(super) front: Option<Front>,
    /// A file lies there that is not used, and may hold anything.
    pub(super) passed_over: bool,
    /// Sessions that were deleted while the file held something of them, as they stand in the database.
    pub(super) forgotten: HashSet<String>,
    /// Number of the last transaction of this window, or the one at which it began.
    pub(super) commits: u64,
    /// The sessions that this window may write.
    pub(super) leases: Leases,
}

impl Intake {
    /// Of a journal that lives in memory.
    pub(super) fn without_front() -> Self {
        Self {
            folder: None,
            front: None,
            passed_over: false,
            forgotten: HashSet::new(),
            commits: 0,
            leases: Leases::default(),
        }
    }

    /// Number of the last transaction of this window.
    pub(super) fn commits(&self) -> u64 {
        self.commits
    }

    /// The database took a transaction of this window, the one with this number.
    fn committed(&mut self, commits: u64, heads: &BTreeMap<String, u64>) {
        self.commits = commits;
        if let Some(front) = &mut self.front {
            front.note(self.commits, heads);
        }
    }

    /// One change of the database beside commits, as a transaction.
    pub(super) fn change<T>(
        &mut self,
        connection: &mut Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let commits = count(&transaction)?;
        let outcome = work(&transaction)?;
        transaction.commit()?;
        self.committed(commits, &BTreeMap::new());
        Ok(outcome)
    }

    /// The last event of a session, 0 when it has none.
    pub(super) fn head(&self, connection: &Connection, session_id: &str) -> Result<u64, Failure> {
        match self.front.as_ref().and_then(|front| front.head(session_id)) {
            Some(head) => Ok(head),
            None => last_event(connection, session_id),
        }
    }

    /// What waits of a session: it comes behind all that is in the database.
    pub(super) fn of(&self, session_id: &str) -> impl DoubleEndedIterator<Item = &WaitingFront> {
        self.front.iter().flat_map(move |front| front.of(session_id))
    }

    /// The last cursor that waits of a session.
    pub(super) fn cursor(&self, session_id: &str) -> Option<EngineCursor> {
        self.of(session_id).rev().find_map(|one| one.cursor.clone())
    }

    /// Takes a commit.
    pub(super) fn commit(&mut self, connection: &mut Connection, commit: &Commit) -> Result<(), Failure> {
        if let Some(outcome) = self.write_in_front(connection, commit) {
            return outcome;
        }
        match self.write_all(connection, commit) {
            // What waits of other sessions has no room in the database; this one may have.
            Err(Failure::Sqlite(error)) if is_full(&error) && self.is_apart(&commit.session_id) => {
                let leases = &self.leases;
                let commits = with_room(connection, self.folder.as_mut(), |connection| {
                    write(connection, leases, &[], commit)
                })?;
                self.leases.claimed(&commit.session_id);
                self.committed(commits, &last_events(&[], commit));
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Whether only events of other sessions wait in the front.
    fn is_apart(&self, session_id: &str) -> bool {
        self.front
            .as_ref()
            .is_some_and(|front| !front.waiting().is_empty() && front.head(session_id).is_none())
    }

    /// Everything that waits in the front goes into the database.
    pub(super) fn empty(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let Some(front) = &self.front else { return Ok(()) };
        if !front.waiting().is_empty() {
            return self.write_all(connection, &Commit::default());
        }
        if !front.is_empty() || !self.forgotten.is_empty() {
            self.emptied(connection, &BTreeMap::new());
        }
        Ok(())
    }

    /// Deletes a session with everything of it.
    pub(super) fn delete(&mut self, connection: &mut Connection, session_id: &str) -> Result<(), Failure> {
        // On a full disk the deletion makes the room.
        let _ = self.empty(connection);
        let left = self.left();
        let leases = &self.leases;
        let commits = with_room(connection, self.folder.as_mut(), |connection| {
            delete(connection, leases, session_id, left)
        })?;
        self.leases.held.remove(session_id);
        self.deleted(session_id, left, commits);
        // The file needs no room to become shorter. Where what others left has none in the database, it stays as it is.
        let _ = self.empty(connection);
        Ok(())
    }

    /// One step of removing a session whole. Whether all of it is gone.
    pub(super) fn remove(
        &mut self,
        connection: &mut Connection,
        session_id: &str,
        max_bytes: usize,
    ) -> Result<bool, Failure> {
        self.empty(connection)?;
        let left = self.left();
        let (gone, commits) =
            retention::remove_session(connection, session_id, max_bytes, left, &self.leases)?;
        if gone {
            self.leases.held.remove(session_id);
        } else {
            self.leases.claimed(session_id);
        }
        self.deleted(session_id, left, commits);
        Ok(gone)
    }

    /// One step of removing events from the beginning of a session. Gives the bytes removed.
    pub(super) fn remove_events(
        &mut self,
        connection: &mut Connection,
        session_id: &str,
        up_to: u64,
        max_bytes: usize,
    ) -> Result<u64, Failure> {
        self.empty(connection)?;
        let (bytes, commits) =
            retention::remove_events(connection, session_id, up_to, max_bytes, &self.leases)?;
        if bytes > 0 {
            self.committed(commits, &BTreeMap::new());
        }
        Ok(bytes)
    }

    /// What the file may hold of any session.
    fn left(&self) -> Left {
        let empty = self.front.as_ref().map_or(!self.passed_over, Front::is_empty);
        if empty { Left::Nothing } else { Left::Perhaps }
    }

    /// A session was deleted.
    fn deleted(&mut self, session_id: &str, left: Left, commits: u64) {
        if let Some(front) = &mut self.front {
            front.forget(session_id);
        }
        self.committed(commits, &BTreeMap::new());
        if left == Left::Nothing {
            return;
        }
        self.forgotten.insert(session_id.to_owned());
        if let Some(front) = &mut self.front {
            front.keep(|one| one.session_id != session_id);
        }
    }

    /// What waits in the front, and a commit, in one transaction.
    fn write_all(&mut self, connection: &mut Connection, commit: &Commit) -> Result<(), Failure> {
        self.take_in(connection, bytes_of(commit), commit, |connection, leases, waiting| {
            write(connection, leases, waiting, commit)
        })
    }

    /// Writes what waits in the front with the rest that `write` knows of, so many bytes. Nothing leaves the front before it is
    /// written, so that whatever ends the transaction, a panic too, leaves what was told in its place.
    fn take_in(
        &mut self,
        connection: &mut Connection,
        bytes: usize,
        commit: &Commit,
        write: impl Fn(&mut Connection, &Leases, &[WaitingFront]) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        let waiting = self.front.as_ref().map_or(&[][..], Front::waiting);
        let bytes = bytes + waiting.iter().map(|one| one.batch.events.len()).sum::<usize>();
        let heads = last_events(waiting, commit);
        let leases = &self.leases;
        self.commits =
            with_room(connection, self.folder.as_mut(), |connection| write(connection, leases, waiting))?;
        self.leases.claimed(&commit.session_id);
        if let Some(folder) = &mut self.folder {
            folder.wrote(bytes);
        }
        self.emptied(connection, &heads);
        Ok(())
    }

    /// All that the file holds is in the database, or deleted.
    fn emptied(&mut self, connection: &Connection, heads: &BTreeMap<String, u64>) {
        let Some(front) = &mut self.front else { return };
        if front.clear(self.commits, heads).is_err() {
            // It is of no use any more; what stands in it is settled when it is read again.
            self.front = None;
            self.passed_over = true;
        } else if !self.forgotten.is_empty()
            && forgotten::clear(connection, self.leases.window.unwrap_or(0)).is_ok()
        {
            // Where there is no room for that, the sessions do without the front for longer.
            self.forgotten.clear();
        }
    }

    /// Appends a commit to the front, if it is one that may go there: nothing but a batch and its cursor. `None`: it was not.
    fn write_in_front(
        &mut self,
        connection: &mut Connection,
        commit: &Commit,
    ) -> Option<Result<(), Failure>> {
        let batch = commit.batch.as_ref()?;
        let only_events = commit.session.is_none()
            && commit.blocks.is_empty()
            && commit.view.is_none()
            && commit.ledger.is_empty()
            && commit.prompts.is_empty()
            && commit.steps.is_empty()
            && commit.tabs.is_empty();
        let length = batch.events.len();
        if !only_events || length > front::LARGEST || stored(batch.to_seq).is_err() {
            return None;
        }
        if commit.cursor.as_ref().is_some_and(|cursor| stored(cursor.seq).is_err()) {
            return None;
        }
        if !self.leases.has(&commit.session_id)
            || self.forgotten.contains(&commit.session_id)
            || !WaitingFront::fits(&commit.session_id, commit.cursor.as_ref())
        {
            return None;
        }
        if !self.front.as_ref()?.has_room(length)
            && let Err(error) = self.empty(connection)
        {
            let full = matches!(&error, Failure::Sqlite(error) if is_full(error));
            return (!full).then_some(Err(error));
        }
        let waiting = WaitingFront {
            session_id: commit.session_id.clone(),
            batch: batch.clone(),
            cursor: commit.cursor.clone(),
        };
        self.front.as_mut()?.append(waiting).ok().map(Ok)
    }
}

/// The last event of a session in the database, 0 when it has none.
pub(super) fn last_event(connection: &Connection, session_id: &str) -> Result<u64, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT to_seq FROM batch WHERE session_id = ?1 ORDER BY from_seq DESC LIMIT 1")?;
    let head = statement.query_row([session_id], |row| number(row, 0)).optional()?;
    Ok(head.unwrap_or(0))
}

/// The last event of each session that a transaction brings.
fn last_events(waiting: &[WaitingFront], commit: &Commit) -> BTreeMap<String, u64> {
    let mut heads = BTreeMap::new();
    for one in waiting {
        match heads.get_mut(&one.session_id) {
            Some(head) => *head = one.batch.to_seq,
            None => {
                heads.insert(one.session_id.clone(), one.batch.to_seq);
            }
        }
    }
    if let Some(batch) = &commit.batch {
        heads.insert(commit.session_id.clone(), batch.to_seq);
    }
    heads
}

/// About what a commit takes in the log: each table that it writes is a page of it and one of each of its indexes, and the whole
/// page is logged, whatever changed in it.
fn bytes_of(commit: &Commit) -> usize {
    const PAGE: usize = PAGE_BYTES as usize;
    let table = |pages: usize, is_written: bool| if is_written { pages * PAGE } else { 0 };
    let batch =
        table(2, commit.batch.is_some()) + commit.batch.as_ref().map_or(0, |batch| batch.events.len());
    let session = table(3, commit.session.is_some())
        + commit.session.as_ref().map_or(0, |session| session.record.len());
    let view = table(1, commit.view.is_some()) + commit.view.as_ref().map_or(0, |(_, state)| state.len());
    let blocks: usize = commit.blocks.iter().map(|row| row.block.as_ref().map_or(0, Vec::len)).sum();
    let steps: usize = commit.steps.iter().map(StepChange::bytes).sum();
    let rows = 3 * commit.ledger.len() + commit.prompts.len() + 3 * commit.tabs.len();
    // The number of the transaction stands in a page of its own, and so does the lease.
    let always = 2 * PAGE;
    always
        + batch
        + session
        + view
        + table(2, !commit.blocks.is_empty())
        + blocks
        + table(2, !commit.steps.is_empty())
        + steps
        + rows * PAGE
        + table(1, commit.cursor.is_some())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use std::path::{Path, PathBuf};

    use super::*;
    use crate::app::ports::BatchRow;
    use crate::store::aside::beside;
    use crate::store::database::{Company, Database, open_file};
    use crate::store::front::FrontFiles;

    /// The intake of a database, as a process finds the two.
    fn opened(file: &Path) -> (Intake, Database, Vec<String>) {
        let (connection, _) = open_file(file, Company::Alone).unwrap();
        let mut database = Database { connection: Ok(connection), file: Some(file.to_owned()) };
        let mut warnings = Vec::new();
        let front = front_of(file);
        let place = FrontFiles { window: 0, front: &front, database: file };
        let mut intake = Intake::open(place, &mut database, &mut warnings).intake;
        for session_id in ["s", "t"] {
            intake.leases.claimed(session_id);
        }
        (intake, database, warnings)
    }

    fn front_of(file: &Path) -> PathBuf {
        beside(file, "-front")
    }

    fn one(session_id: &str, seq: u64) -> Commit {
        let batch =
            Some(BatchRow { from_seq: seq, to_seq: seq, events: format!("{{\"seq\":{seq}}}").into_bytes() });
        Commit { session_id: session_id.into(), batch, ..Commit::default() }
    }

    fn waiting(intake: &Intake) -> Vec<(String, u64)> {
        let all = intake.front.iter().flat_map(Front::waiting);
        all.map(|one| (one.session_id.clone(), one.batch.to_seq)).collect()
    }

    #[test]
    fn a_panic_in_a_transaction_takes_nothing_out_of_the_front() {
        let directory = tempfile::tempdir().unwrap();
        let (mut intake, mut database, _) = opened(&directory.path().join("a.sqlite3"));
        let connection = database.connection.as_mut().unwrap();
        // Given two batches in the front
        intake.commit(connection, &one("s", 1)).ok().unwrap();
        intake.commit(connection, &one("s", 2)).ok().unwrap();
        // When the transaction that takes them in ends in a panic
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            intake.take_in(connection, 0, &Commit::default(), |connection, _, waiting| {
                let transaction = connection.transaction()?;
                assert_eq!(waiting.len(), 2);
                drop(transaction);
                panic!("as a bug would");
            })
        }));
        assert!(panicked.is_err());
        // Then they still wait there, and what comes next does too
        intake.commit(connection, &one("s", 3)).ok().unwrap();
        assert_eq!(waiting(&intake), [("s".into(), 1), ("s".into(), 2), ("s".into(), 3)]);
        assert!(matches!(intake.head(connection, "s"), Ok(3)));
        // And go into the database with the next one
        assert!(intake.empty(connection).is_ok());
        assert!(matches!(last_event(connection, "s"), Ok(3)));
    }

    #[test]
    fn a_session_that_was_deleted_does_not_come_back_from_a_file_that_could_not_be_emptied() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.sqlite3");
        let (mut intake, mut database, _) = opened(&file);
        let connection = database.connection.as_mut().unwrap();
        // Given a file of the front that went into the database, but could not be emptied
        intake.commit(connection, &one("s", 1)).ok().unwrap();
        intake.commit(connection, &one("t", 1)).ok().unwrap();
        intake.front.as_mut().unwrap().refuse_to_be_written(&front_of(&file));
        assert!(intake.empty(connection).is_ok());
        assert!(intake.front.is_none());
        // When a session is deleted, and another removed
        intake.delete(connection, "s").ok().unwrap();
        assert!(matches!(intake.remove(connection, "t", usize::MAX), Ok(true)));
        drop((intake, database));
        // Then the next process finds nothing of them, and has nothing to say
        let (intake, database, warnings) = opened(&file);
        let connection = database.connection.as_ref().unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert!(matches!((intake.head(connection, "s"), intake.head(connection, "t")), (Ok(0), Ok(0))));
        // And their names are off the list, since the file is empty
        assert!(intake.front.as_ref().is_some_and(Front::is_empty));
        assert_eq!(forgotten::all(connection, 0).ok(), Some(HashSet::new()));
    }

    #[cfg(unix)]
    #[test]
    fn strays_that_cannot_be_kept_apart_stay_in_the_front() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.sqlite3");
        let (mut intake, database, _) = opened(&file);
        // Given a record that does not follow on, and one that does
        let front = intake.front.as_mut().unwrap();
        for (session_id, seq) in [("s", 2), ("t", 1)] {
            let batch = one(session_id, seq).batch.unwrap();
            front.append(WaitingFront { session_id: session_id.into(), batch, cursor: None }).unwrap();
        }
        drop((intake, database));
        let before = std::fs::read(front_of(&file)).unwrap();
        // And no name for the former: the longest that the system takes is that of the front
        let long = directory.path().join("n".repeat(255 - "-front".len()));
        for suffix in ["", "-front"] {
            std::fs::rename(beside(&file, suffix), beside(&long, suffix)).unwrap();
        }
        // When the next process finds them
        let (intake, mut database, warnings) = opened(&long);
        // Then that is said, the latter is in the database, and the file is as it was
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("session s ") && warnings[0].contains("make room"), "{warnings:?}");
        let connection = database.connection.as_mut().unwrap();
        assert!(matches!((intake.head(connection, "s"), intake.head(connection, "t")), (Ok(0), Ok(1))));
        assert_eq!(std::fs::read(front_of(&long)).unwrap(), before);
    }
}
