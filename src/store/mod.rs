//! The store: what has to outlive this process, in one SQLite database for all windows of a user.
//!
//! Owns the state directory, the windows that share it and their files. Never decides what is worth keeping (the loop does),
//! never reads the workspace, and never throws a user's file away: what it cannot read is set aside. Tests: `store/tests`.

mod aside;
mod database;
mod failure;
mod fold;
mod forgotten;
mod front;
pub mod front_records;
mod front_scan;
mod guarded;
mod intake;
mod journal;
mod leases;
mod leftover;
mod loss;
mod opening;
mod presence;
mod read;
mod retention;
mod row;
mod sharing;
mod state_dir;
mod window;
mod write;

#[cfg(test)]
mod tests;

pub use journal::SqliteJournal;
pub use state_dir::{Platform, default_state_dir, resolve_state_dir};
pub use window::{Window, WindowError, open_window};

use crate::app::ports::Journal;

/// Opens the journal in `state_dir`, or in the user's default state directory. It always gives one: where nothing can be
/// kept, the journal lives in memory and says so in its warnings. Matches `app::ports::OpenJournal`.
pub fn open(state_dir: Option<&str>) -> Box<dyn Journal> {
    Box::new(SqliteJournal::open(resolve_state_dir(state_dir).as_deref()))
}
