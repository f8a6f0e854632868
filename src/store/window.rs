//! Windows: which of the numbered processes that share a state directory this one is, and which others live.
//!
//! Owns the locks that say so. A window lives as long as its lock is held, by its process or by a guardian that outlives it,
//! so whoever finds the lock free may take what the window left. Never opens the database.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{guarded, state_dir};

/// Windows of one user at the same time. More than that is a runaway script, and the search must end; such a window still
/// works, with a journal in memory.
const WINDOWS: u32 = 64;

/// The database of all windows.
pub(super) const DATABASE: &str = "sessions.sqlite3";

/// How long a start waits for others that start at the same time. Each needs some milliseconds; one that was stopped in the
/// middle must not hold up the rest.
const OPENING: Duration = Duration::from_secs(1);

/// Between two looks at a lock that somebody has.
pub(super) const AGAIN: Duration = Duration::from_millis(2);

/// A window of the state directory that this process is, for as long as this value lives.
#[derive(Debug)]
pub(super) struct StoreWindow {
    /// The directory.
    pub state_dir: PathBuf,
    /// Its number, from 0.
    pub number: u32,
    /// What the user has to know of the directory.
    pub warning: Option<String>,
    /// The system lets go of the lock when the last process that has this handle ends, however it does.
    lock: File,
    /// Whether processes that may outlive this one have the handle too.
    shared: bool,
}

impl StoreWindow {
    /// The database of all windows.
    pub(super) fn database(&self) -> PathBuf {
        self.state_dir.join(DATABASE)
    }

    /// The write-ahead segment of this one.
    pub(super) fn front(&self) -> PathBuf {
        front_of(&self.state_dir, self.number)
    }

    /// The file that is locked.
    pub(super) fn lock_path(&self) -> PathBuf {
        lock_of(&self.state_dir, self.number)
    }

    /// Whether something that may outlive this process holds the lock too.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// A second handle of the lock, for processes that must be gone before another window takes what this one left.
    ///
    /// # Errors
    /// The system gives no more handles.
    pub(super) fn share_lock(&mut self) -> io::Result<File> {
        let handle = self.lock.try_clone()?;
        self.shared = true;
        Ok(handle)
    }
}

impl Drop for StoreWindow {
    fn drop(&mut self) {
        if !self.shared {
            // Closing is not enough: a child that is being started holds a copy of the handle until it runs its program.
            // Where this fails, the lock goes with the process.
            let _ = self.lock.unlock();
        }
    }
}

/// Why there is no window.
#[derive(Debug)]
pub(super) enum WindowError {
    /// The directory, or a lock in it, could not be made or closed to others.
    Directory(io::Error),
    /// Every number is held by another process.
    AllTaken,
}

/// Takes the first free number of a state directory, which is made (mode 0700) where it is missing.
///
/// # Errors
/// There is none, or the directory cannot be used.
pub(super) fn open_window(state_dir: &Path) -> Result<StoreWindow, WindowError> {
    let warning = state_dir::prepare(state_dir).map_err(WindowError::Directory)?;
    for number in 0..WINDOWS {
        let path = lock_of(state_dir, number);
        let named = |error: io::Error| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            WindowError::Directory(io::Error::other(format!("{name}: {error}")))
        };
        let lock = guarded::open_or_create(&path).map_err(named)?;
        match lock.try_lock() {
            Ok(()) => {
                return Ok(StoreWindow {
                    state_dir: state_dir.to_owned(),
                    number,
                    warning,
                    lock,
                    shared: false,
                });
            }
            Err(TryLockError::WouldBlock) => {}
            // Without locks (some network file systems) two windows could meet in one segment.
            Err(TryLockError::Error(error)) => return Err(WindowError::Directory(error)),
        }
    }
    Err(WindowError::AllTaken)
}

/// How a numbered window stands.
#[derive(Debug)]
pub(super) enum WindowState {
    /// It cannot be told.
    Unknown,
    /// A process, or a guardian that it left, holds it.
    Alive,
    /// Nobody does; as long as this is kept, nobody can.
    Left(WindowLock),
}

/// The lock of a window that is no more.
#[derive(Debug)]
pub(super) struct WindowLock(File);

impl Drop for WindowLock {
    fn drop(&mut self) {
        // As with our own.
        let _ = self.0.unlock();
    }
}

/// Looks at the lock of a window.
pub(super) fn standing(state_dir: &Path, number: u32) -> WindowState {
    let Ok(lock) = guarded::open_or_create(&lock_of(state_dir, number)) else { return WindowState::Unknown };
    match lock.try_lock() {
        Ok(()) => WindowState::Left(WindowLock(lock)),
        Err(TryLockError::WouldBlock) => WindowState::Alive,
        Err(TryLockError::Error(_)) => WindowState::Unknown,
    }
}

/// The other windows that ever were, by number.
pub(super) fn others(state_dir: &Path, own: u32) -> impl Iterator<Item = u32> {
    (0..WINDOWS).filter(move |number| *number != own && lock_of(state_dir, *number).exists())
}

/// The write-ahead segment of a window.
pub(super) fn front_of(state_dir: &Path, number: u32) -> PathBuf {
    state_dir.join(format!("window-{number}.front"))
}

fn lock_of(state_dir: &Path, number: u32) -> PathBuf {
    state_dir.join(format!("window-{number}.lock"))
}

/// The turn of one process among those that open the database at the same time: to make it, or to move a damaged one away.
pub(super) struct Opening(Option<File>);

impl Opening {
    /// Waits for the turn, a moment. Without one nothing may be moved away.
    pub(super) fn wait(state_dir: &Path) -> Self {
        // What is not to be used is left as it is; `open_window` says why.
        let prepared = state_dir::prepare(state_dir);
        let lock = prepared.and_then(|_| guarded::open_or_create(&state_dir.join("opening.lock")));
        let Ok(lock) = lock else { return Self(None) };
        let began = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Self(Some(lock)),
                Err(TryLockError::WouldBlock) if began.elapsed() < OPENING => std::thread::sleep(AGAIN),
                Err(_) => return Self(None),
            }
        }
    }

    /// Whether nobody else opens the database now.
    pub(super) fn is_ours(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(lock) = &self.0 {
            let _ = lock.unlock();
        }
    }
}
