//! The journal on SQLite: every event is in it before anyone is told.
//!
//! Owns the window and the head of each session that it works on; what comes in goes by the `intake`. Never reads what the loop
//! stores, and never lets a session have a hole or a double.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};

use super::aside::{AsideReason, keep_orphaned_log, set_aside};
use super::database::{Company, Database, StoreRefusal, open_file, open_memory};
use super::failure::Failure;
use super::front::FrontFiles;
use super::intake::Intake;
use super::leases;
use super::loss;
use super::opening::OpenedStore;
use super::presence::Presence;
use super::read;
use super::retention;
use super::search::SessionSearch;
use super::window::{
    Opening, StoreWindow, WindowError, WindowState, front_of, open_window, others, standing,
};
use super::write;
use crate::app::ports::{
    BatchRow, BlockRow, Commit, EngineCursor, HolderRequest, Journal, JournalError, Lease, LedgerRow, News,
    SearchFound, SearchJob, SessionRow, TabRow,
};
use crate::domain::view::Lane;

/// The journal of one window, or of one process where no window can be had.
pub struct SqliteJournal {
    /// These two are dropped first: the journal's connection is then the last one of this process, and closes the file cleanly.
    pub(super) search: Option<SessionSearch>,
    pub(super) intake: Intake,
    pub(super) database: Database,
    pub(super) epoch: String,
    /// It could not be written, so it holds for all sessions, in this process.
    pub(super) epoch_is_ours: bool,
    /// Head of each session that this window has the lease of, and that was written or asked for.
    pub(super) heads: HashMap<String, u64>,
    pub(super) warnings: Vec<String>,
    /// Whether the files are still where they were opened; `None` when they are not, and that was said.
    pub(super) presence: Option<Presence>,
    /// Transactions of the database when that was looked at.
    pub(super) looked_at: u64,
    /// SQLite's number of what other connections changed, when the news were given.
    pub(super) version: Option<i64>,
    /// Closed after the connection: fields are dropped in order.
    pub(super) window: Option<StoreWindow>,
}

impl SqliteJournal {
    /// Opens the database of `state_dir` as its first free window. What cannot be read is set aside; where nothing can be
    /// kept, the journal lives in memory. Both are said in the warnings.
    pub fn open(state_dir: Option<&Path>) -> Self {
        let Some(state_dir) = state_dir else {
            return Self::in_memory("no directory for state is known", Vec::new());
        };
        let shown = state_dir.display();
        // First, so that of windows that start together one is alone.
        let opening = Opening::wait(state_dir);
        let window = match open_window(state_dir) {
            Ok(window) => window,
            Err(WindowError::Directory(error)) => {
                let why = format!("the state directory {shown} cannot be used: {error}");
                return Self::in_memory(&why, Vec::new());
            }
            Err(WindowError::AllTaken) => {
                return Self::in_memory(&format!("too many windows use {shown}"), Vec::new());
            }
        };
        let mut warnings: Vec<String> = window.warning.clone().into_iter().collect();
        let database = window.database();
        let alone = opening.is_ours()
            && others(state_dir, window.number)
                .all(|other| !matches!(standing(state_dir, other), WindowState::Alive));
        let fronts: Vec<PathBuf> = others(state_dir, window.number)
            .map(|other| front_of(state_dir, other))
            .chain([window.front()])
            .collect();
        if alone && let Err(error) = keep_orphaned_log(&database, &fronts, &mut warnings) {
            return Self::in_memory(&error, warnings);
        }
        let company = if alone { Company::Alone } else { Company::Shared };
        match open_file(&database, company) {
            Ok(opened) => Self::with(opened, warnings, Some(window)),
            Err(refusal) => Self::instead_of(refusal, company, &fronts, window, warnings),
        }
    }

    /// The database cannot be opened as it is. One that cannot be read is set aside where no other window uses it.
    fn instead_of(
        refusal: StoreRefusal,
        company: Company,
        fronts: &[PathBuf],
        window: StoreWindow,
        mut warnings: Vec<String>,
    ) -> Self {
        let database = window.database();
        let file = database.display();
        let (why, reason) = match refusal {
            StoreRefusal::Unusable(reason) => {
                return Self::in_memory(&format!("{file} cannot be used now: {reason}"), warnings);
            }
            StoreRefusal::Damaged(reason) => {
                (AsideReason::Damaged, format!("{file} could not be read ({reason})"))
            }
            StoreRefusal::Newer(version) => (
                AsideReason::Newer,
                format!("{file} was written by a newer breadboard-ls (schema {version})"),
            ),
        };
        if company == Company::Shared {
            return Self::in_memory(
                &format!("{reason}, and other windows use it; close all of them, and open one again"),
                warnings,
            );
        }
        match set_aside(&database, fronts, why) {
            Ok(aside) => warnings.push(format!(
                "{reason}; it was kept as {} and a new journal was started. Earlier sessions are in the kept file.",
                aside.display()
            )),
            Err(error) => {
                return Self::in_memory(&format!("{reason}, and it could not be moved away: {error}"), warnings);
            }
        }
        match open_file(&database, company) {
            Ok(opened) => Self::with(opened, warnings, Some(window)),
            Err(refusal) => {
                Self::in_memory(&format!("a new {file} could not be made: {refusal:?}"), warnings)
            }
        }
    }

    /// The database of this journal; `None` when it lives in memory.
    #[cfg(test)]
    pub fn database(&self) -> Option<PathBuf> {
        self.window.as_ref().map(StoreWindow::database)
    }

    /// A second handle of the lock that says that this window lives, for what may outlive its process; `None` where nothing
    /// is locked.
    pub fn share_lock(&mut self) -> Option<File> {
        self.window.as_mut().and_then(|window| window.share_lock().ok())
    }

    fn with(
        (connection, epoch): (Connection, String),
        mut warnings: Vec<String>,
        window: Option<StoreWindow>,
    ) -> Self {
        let file = window.as_ref().map(StoreWindow::database);
        let mut database = Database { connection: Ok(connection), file };
        let OpenedStore { mut intake, new_epoch } = match &window {
            Some(window) => {
                let (front, database_path) = (window.front(), window.database());
                let place = FrontFiles { window: window.number, front: &front, database: &database_path };
                Intake::open(place, &mut database, &mut warnings)
            }
            None => OpenedStore { intake: Intake::without_front(), new_epoch: None },
        };
        // Where that cannot be written, they are ours all the same: their window is this one.
        let _ = database.run(|connection| intake.free_leases(connection));
        let presence = window
            .as_ref()
            .map(|window| Presence::of([window.lock_path(), window.database(), window.front()]));
        let looked_at = intake.commits();
        let mut journal = Self {
            search: window.as_ref().map(|window| SessionSearch::new(&window.database())),
            intake,
            database,
            epoch,
            epoch_is_ours: false,
            heads: HashMap::new(),
            warnings,
            presence,
            looked_at,
            version: None,
            window,
        };
        journal.renewed(new_epoch);
        journal.take_in_the_left();
        journal
    }

    fn in_memory(reason: &str, mut warnings: Vec<String>) -> Self {
        warnings.push(format!(
            "The sessions of this window will not be kept when it closes: {reason}. Make the state directory usable, or choose another one, and restart."
        ));
        match open_memory() {
            Ok(opened) => Self::with(opened, warnings, None),
            Err(refusal) => Self {
                search: None,
                intake: Intake::without_front(),
                database: Database {
                    connection: Err(format!(
                        "There is no journal: not even one in memory could be made ({refusal:?})."
                    )),
                    file: None,
                },
                epoch: uuid::Uuid::new_v4().simple().to_string(),
                epoch_is_ours: true,
                heads: HashMap::new(),
                warnings,
                presence: None,
                looked_at: 0,
                version: None,
                window: None,
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
        // Of another session it may be another number in the next moment.
        if self.intake.leases.has(session_id) {
            self.heads.insert(session_id.to_owned(), head);
        }
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
        let Some(window) = self.window.as_ref() else { return };
        if self.presence.as_ref().is_some_and(Presence::is_lost) {
            self.presence = None;
            self.warnings.push(format!(
                "The state directory {} or a file of this window in it was deleted or replaced while the window was open. Everything works on, but the sessions of this window will be gone when it closes; copy what you need, and open the window again.",
                window.state_dir.display()
            ));
        }
    }
}

impl Journal for SqliteJournal {
    fn epoch(&self) -> &str {
        &self.epoch
    }

    fn state_dir(&self) -> Option<PathBuf> {
        self.window.as_ref().map(|window| window.state_dir.clone())
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
        self.database.run(|connection| read::sessions(connection, workspace))
    }

    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError> {
        self.database.run(|connection| read::session(connection, session_id))
    }

    fn session_epoch(&mut self, session_id: &str) -> String {
        if self.epoch_is_ours {
            return self.epoch.clone();
        }
        let epoch = self.database.run(|connection| leases::epoch(connection, session_id));
        epoch.unwrap_or_else(|_| self.epoch.clone())
    }

    fn take(&mut self, session_id: &str) -> Result<Lease, JournalError> {
        self.take_lease(session_id)
    }

    fn release(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.release_lease(session_id)
    }

    fn share(&mut self) -> Result<bool, JournalError> {
        self.share_events()
    }

    fn news(&mut self, workspace: &str, since: u64) -> Result<Option<News>, JournalError> {
        self.news_since(workspace, since)
    }

    fn wish(&mut self, session_id: &str, wish: HolderRequest) -> Result<(), JournalError> {
        self.database.run(|connection| leases::wish(connection, session_id, wish))
    }

    fn wish_done(&mut self, session_id: &str) -> Result<(), JournalError> {
        self.database.run(|connection| leases::clear_wishes(connection, session_id))
    }

    fn stand_still(&mut self) {
        self.begin_picture();
    }

    fn move_on(&mut self) {
        self.end_picture();
    }

    fn checkpoint(&mut self, session_id: &str) -> Result<u64, JournalError> {
        self.database.run(|connection| read::checkpoint(connection, session_id))
    }

    fn search(&mut self, job: SearchJob) {
        match &mut self.search {
            Some(search) => search.search(job),
            None => (job.done)(Ok(SearchFound::default())),
        }
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
        if !session_id.is_empty() && !self.intake.leases.has(session_id) {
            // Whoever had it before may have gone on.
            if self.take(session_id)? == Lease::Elsewhere {
                return Err(JournalError::HeldElsewhere);
            }
        }
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
                None if self.intake.leases.has(session_id) => {
                    self.heads.insert(session_id.to_owned(), head);
                }
                None => {}
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
        let read::Batches { mut rows, mut bytes } =
            self.database.run(|connection| read::batches(connection, session_id, from_seq, max_bytes))?;
        for one in self.intake.of(session_id).filter(|one| one.batch.to_seq >= from_seq) {
            bytes = bytes.saturating_add(one.batch.events.len());
            if bytes > max_bytes && !rows.is_empty() {
                break;
            }
            rows.push(one.batch.clone());
        }
        Ok(rows)
    }

    fn blocks(
        &mut self,
        session_id: &str,
        lane: Lane,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<BlockRow>, JournalError> {
        self.database.run(|connection| read::blocks(connection, session_id, lane, before, limit))
    }

    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError> {
        self.database.run(|connection| read::block(connection, session_id, lane, id))
    }

    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError> {
        self.database.run(|connection| read::view(connection, session_id))
    }

    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError> {
        self.database.run(|connection| read::ask(connection, session_id, request_id))
    }

    fn asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.database.run(|connection| read::asks(connection, session_id))
    }

    fn session_of_patch(&mut self, patch_id: &str) -> Result<Option<String>, JournalError> {
        self.database.run(|connection| read::session_of_patch(connection, patch_id))
    }

    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError> {
        self.database.run(|connection| read::pending_asks(connection, session_id))
    }

    fn steps(&mut self, session_id: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.database.run(|connection| read::steps(connection, session_id))
    }

    fn cursor(&mut self, session_id: &str) -> Result<Option<EngineCursor>, JournalError> {
        let waiting = self.intake.cursor(session_id);
        if waiting.is_some() {
            return Ok(waiting);
        }
        self.database.run(|connection| read::cursor(connection, session_id))
    }

    fn rules(&mut self, workspace: &str) -> Result<Vec<Vec<u8>>, JournalError> {
        self.database.run(|connection| read::rules(connection, workspace))
    }

    fn set_rule(
        &mut self,
        workspace: &str,
        rule_id: &str,
        record: Option<&[u8]>,
    ) -> Result<(), JournalError> {
        self.change(|transaction| match record {
            Some(record) => write::write_rule(transaction, workspace, rule_id, record),
            None => write::delete_rule(transaction, workspace, rule_id),
        })
    }

    fn spec(&mut self, workspace: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.database.run(|connection| read::spec(connection, workspace))
    }

    fn set_spec(&mut self, workspace: &str, record: Option<&[u8]>) -> Result<(), JournalError> {
        self.change(|transaction| match record {
            Some(record) => write::write_spec(transaction, workspace, record),
            None => write::delete_spec(transaction, workspace),
        })
    }

    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.database.run(|connection| read::prompt(connection, session_id, message_id))
    }

    fn tab(&mut self, workspace: &str, tab_id: &str) -> Result<Option<TabRow>, JournalError> {
        self.database.run(|connection| read::tab(connection, workspace, tab_id))
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
