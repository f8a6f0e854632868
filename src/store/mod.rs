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
pub(crate) mod front_records;
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
mod search;
mod sharing;
mod state_dir;
mod window;
mod write;

#[cfg(test)]
mod tests;

pub use journal::SqliteJournal;
pub(crate) use state_dir::resolve_state_dir;
