//! One database and several windows: leases taken and let go of, what a window left that is no more, and what others changed.
//!
//! Owns the order of that within this window's journal. Never decides what a session is: the rows are in `leases`, the locks
//! in `window`. Tests: `store::tests::sharing`.

use std::collections::BTreeSet;

use rusqlite::{TransactionBehavior, params};

use super::failure::Failure;
use super::front::FrontFiles;
use super::intake::Intake;
use super::journal::SqliteJournal;
use super::leases;
use super::loss::Stand;
use super::opening::OpenedStore;
use super::row::{at_most, collect, session_row};
use super::window::{DATABASE, WindowState, front_of, standing};
use crate::app::ports::{JournalError, Lease, News};

impl SqliteJournal {
    /// The epoch may be another one now.
    pub(super) fn renewed(&mut self, new_epoch: Option<String>) {
        let Some(epoch) = new_epoch else { return };
        let stored = self.database.run(|connection| {
            let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'epoch'")?;
            Ok(statement.query_row([], |row| row.get::<_, String>(0))?)
        });
        self.epoch_is_ours = stored.as_ref() != Ok(&epoch);
        self.epoch = epoch;
    }

    /// Takes in what windows left that are no more, and still have leases. Whether there were any.
    pub(super) fn take_in_the_left(&mut self) -> bool {
        let Some(own) = self.window.as_ref().map(|window| window.number) else { return false };
        let leases = self.database.run(|connection| leases::of_others(connection, own));
        let windows: BTreeSet<u32> =
            leases.unwrap_or_default().into_iter().map(|(_, window)| window).collect();
        let mut any = false;
        for window in windows {
            any |= self.take_in_window(window);
        }
        any
    }

    /// Takes in what a window left, if it is no more: its events go into the database, its leases are free. Whether it is so.
    fn take_in_window(&mut self, number: u32) -> bool {
        let Some(state_dir) = self.window.as_ref().map(|window| window.state_dir.clone()) else {
            return false;
        };
        // WindowLock until all of it is taken in.
        let WindowState::Left(_held) = standing(&state_dir, number) else { return false };
        let (front, database) = (front_of(&state_dir, number), state_dir.join(DATABASE));
        let place = FrontFiles { window: number, front: &front, database: &database };
        let OpenedStore { mut intake, new_epoch } =
            Intake::open(place, &mut self.database, &mut self.warnings);
        self.renewed(new_epoch);
        let freed = self.database.run(|connection| {
            intake.free_leases(connection)?;
            Ok(leases::of_window(connection, number)?.is_empty())
        });
        freed.unwrap_or(false)
    }

    /// Takes the lease of a session. A window that has it and is no more is taken in first.
    pub(super) fn take_lease(&mut self, session_id: &str) -> Result<Lease, JournalError> {
        if self.intake.leases.has(session_id) {
            return Ok(Lease::Ours);
        }
        self.heads.remove(session_id);
        for _ in 0..2 {
            let mut holder = None;
            let taken = self.database.run(|connection| {
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                match self.intake.leases.claim(&transaction, session_id) {
                    Ok(()) => {}
                    Err(Failure::WindowLock(window)) => {
                        holder = Some(window);
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
                // Whoever was asked for something is gone, or did it.
                leases::clear_wishes(&transaction, session_id)?;
                Ok(transaction.commit()?)
            });
            match (taken, holder) {
                (Ok(()), None) => {
                    self.intake.leases.claimed(session_id);
                    return Ok(Lease::Ours);
                }
                (Ok(()), Some(window)) if self.take_in_window(window) => {}
                (Ok(()), Some(_)) => return Ok(Lease::Elsewhere),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(Lease::Elsewhere)
    }

    /// Lets the lease of a session go, once nothing of it waits here.
    pub(super) fn release_lease(&mut self, session_id: &str) -> Result<(), JournalError> {
        let Some(window) = self.intake.leases.window else { return Ok(()) };
        if !self.intake.leases.held.contains(session_id) {
            return Ok(());
        }
        if self.intake.of(session_id).next().is_some() {
            self.database.run(|connection| self.intake.empty(connection))?;
        }
        self.database.run(|connection| leases::release(connection, window, session_id))?;
        self.intake.leases.held.remove(session_id);
        self.heads.remove(session_id);
        Ok(())
    }

    /// Begins to read from one picture of the database. Where that fails, what is read may be of different moments.
    pub(super) fn begin_picture(&mut self) {
        if let Err(error) = self.database.run(|connection| Ok(connection.execute_batch("BEGIN DEFERRED")?)) {
            tracing::debug!(?error, "the journal could not be held still");
        }
    }

    /// Ends that.
    pub(super) fn end_picture(&mut self) {
        let ended = self.database.run(|connection| {
            if connection.is_autocommit() { Ok(()) } else { Ok(connection.execute_batch("COMMIT")?) }
        });
        if let Err(error) = ended {
            tracing::debug!(?error, "the journal could not be let move on");
        }
    }

    /// Puts what waits into the database.
    pub(super) fn share_events(&mut self) -> Result<bool, JournalError> {
        if self.window.is_none() || self.intake.front.as_ref().is_none_or(|front| front.waiting().is_empty())
        {
            return Ok(false);
        }
        self.database.run(|connection| self.intake.empty(connection))?;
        Ok(true)
    }

    /// What other windows changed since.
    pub(super) fn news_since(&mut self, workspace: &str, since: u64) -> Result<Option<News>, JournalError> {
        let Some(own) = self.window.as_ref().map(|window| window.number) else { return Ok(None) };
        let taken_in = self.take_in_the_left();
        let version = self.database.run(|connection| {
            Ok(connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0))?)
        })?;
        if !taken_in && self.version == Some(version) {
            return Ok(None);
        }
        let news = self.database.run(|connection| {
            // One picture: what is no more worked on is read with what was written last.
            let picture = connection.transaction()?;
            let mut news = News {
                at: Stand::read(&picture, own)?.commits,
                elsewhere: leases::of_others(&picture, own)?.into_iter().map(|(id, _)| id).collect(),
                wishes: leases::wishes(&picture, own)?,
                ..News::default()
            };
            {
                let mut statement = picture.prepare_cached(
                    "SELECT session_id, workspace, updated_at, record FROM session
                     WHERE workspace = ?1 AND changed > ?2",
                )?;
                news.changed = collect(&mut statement, params![workspace, at_most(since)], session_row)?;
                let mut statement =
                    picture.prepare_cached("SELECT session_id FROM session WHERE workspace = ?1")?;
                let ids = statement.query_map([workspace], |row| row.get(0))?;
                news.present = ids.collect::<rusqlite::Result<_>>()?;
            }
            Ok(news)
        })?;
        self.version = Some(version);
        Ok(Some(news))
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // Where that fails, the next start does it.
        let emptied = self.database.run(|connection| self.intake.empty(connection));
        // What outlives this process may still work on something.
        if emptied.is_ok() && self.window.as_ref().is_some_and(|window| !window.is_shared()) {
            let _ = self.database.run(|connection| self.intake.free_leases(connection));
        }
    }
}
