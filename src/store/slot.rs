//! Slots: which file of the state directory is this process's.
//!
//! Owns the lock that keeps two windows out of one file. Never opens the database.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::{guarded, state_dir};

/// Windows of one user at the same time. More than that is a runaway script, and the search must end; such a window still
/// works, with a journal in memory.
const SLOTS: usize = 64;

/// A slot that this process holds, for as long as this value lives.
#[derive(Debug)]
pub struct Slot {
    /// The directory it lies in.
    pub state_dir: PathBuf,
    /// Its number, from 0.
    pub number: usize,
    /// Its database.
    pub database: PathBuf,
    /// What the user has to know of the directory.
    pub warning: Option<String>,
    /// The system lets go of the lock when the process ends, however it does.
    lock: File,
}

impl Slot {
    /// The file that is locked.
    pub(super) fn lock_path(&self) -> PathBuf {
        self.state_dir.join(format!("slot-{}.lock", self.number))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Closing is not enough: a child that is being started holds a copy of the handle until it runs its program.
        // Where this fails, the lock goes with the process.
        let _ = self.lock.unlock();
    }
}

/// Why there is no slot.
#[derive(Debug)]
pub enum SlotError {
    /// The directory, or a lock in it, could not be made or closed to others.
    Directory(io::Error),
    /// Every slot is held by another process.
    AllTaken,
}

/// Takes the first free slot of a state directory, which is made (mode 0700) where it is missing.
pub fn open_slot(state_dir: &Path) -> Result<Slot, SlotError> {
    let warning = state_dir::prepare(state_dir).map_err(SlotError::Directory)?;
    for number in 0..SLOTS {
        let name = format!("slot-{number}.lock");
        let lock = guarded::open_or_create(&state_dir.join(&name))
            .map_err(|error| SlotError::Directory(io::Error::other(format!("{name}: {error}"))))?;
        match lock.try_lock() {
            Ok(()) => {
                let database = state_dir.join(format!("slot-{number}.sqlite3"));
                return Ok(Slot { state_dir: state_dir.to_owned(), number, database, warning, lock });
            }
            Err(TryLockError::WouldBlock) => {}
            // Without locks (some network file systems) two windows could meet in one file.
            Err(TryLockError::Error(error)) => return Err(SlotError::Directory(error)),
        }
    }
    Err(SlotError::AllTaken)
}
