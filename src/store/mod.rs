//! The store: what has to outlive this process, in one SQLite file a slot of the state directory.
//!
//! Owns the state directory, the slots and their files. Never decides what is worth keeping (the loop does), never reads
//! the workspace, and never throws a user's file away: what it cannot read is set aside. Tests: `store/tests`.

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
mod leftover;
mod loss;
mod opening;
mod presence;
mod retention;
mod row;
mod slot;
mod state_dir;
mod write;

#[cfg(test)]
mod tests;

pub use journal::SqliteJournal;
pub use slot::{Slot, SlotError, open_slot};
pub use state_dir::{Platform, default_state_dir, resolve_state_dir};

use crate::app::ports::Journal;

/// Opens the journal in `state_dir`, or in the user's default state directory. It always gives one: where nothing can be
/// kept, the journal lives in memory and says so in its warnings. Matches `app::ports::OpenJournal`.
pub fn open(state_dir: Option<&str>) -> Box<dyn Journal> {
    Box::new(SqliteJournal::open(resolve_state_dir(state_dir).as_deref()))
}
