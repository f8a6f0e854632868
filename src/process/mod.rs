//! Programs that run on the server's account, whoever wanted them: commands of a model, agents and their terminals, `git`.
//!
//! Owns the promise that a program and everything it started end with it, with whoever ordered it, and with the server, however
//! the server ends. Two small processes of our own stand between: the outer guardian and the inner one, which holds the program.
//! Whichever of the server and the two is killed, another is left that sees it and kills the tree; the overseer in the server
//! does so when a guardian is gone, stopped or silent. Where a cgroup can be had, the tree lives in one besides. Never reads what
//! a program says, and never decides whether one may run.
//!
//! On other Unix systems one guardian ends the program's process group only; on Windows a job object holds the tree.

mod bounds;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(unix)]
mod contained;
mod directory;
#[cfg(target_os = "linux")]
mod guarded_tree;
#[cfg(unix)]
mod guardian;
#[cfg(unix)]
mod hand_over;
#[cfg(unix)]
mod heartbeat;
#[cfg(target_os = "linux")]
mod identity;
mod job;
#[cfg(windows)]
mod job_object;
#[cfg(target_os = "linux")]
mod overseer;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "overseer_elsewhere.rs"]
mod overseer;
#[cfg(any(windows, test))]
mod program_file;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod tree;

#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use bounds::ProcessBounds;
#[cfg(target_os = "linux")]
pub(crate) use confine::can_confine;
#[cfg(unix)]
pub(crate) use contained::Contained;
pub(crate) use directory::Directory;
#[cfg(unix)]
pub(crate) use guardian::{Post, guard};
pub(crate) use job::{Confined, Ending, Hold, Job, NotStarted, Stream, Streams};
#[cfg(windows)]
pub(crate) use job_object::Contained;
#[cfg(unix)]
pub(crate) use overseer::{adopt_orphans, end_the_unguarded};

/// Loops of one process at most: the lock of each is handed to every guardian, and a message takes so many handles at once.
pub(crate) const LOOPS: usize = 32;

/// The locks that guardians hold too, of each loop of this process.
#[cfg(unix)]
static LOCKS: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

/// From now on every guardian holds this lock, too, until it has ended, however the server ends. Another process that waits for the
/// lock then finds nothing running any more that this one started.
#[cfg(unix)]
pub(crate) fn share_lock(lock: OwnedFd) {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(lock));
}

#[cfg(unix)]
fn shared_locks() -> Vec<Arc<OwnedFd>> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Only Linux can.
#[cfg(not(target_os = "linux"))]
pub(crate) fn can_confine() -> bool {
    false
}

/// This program as it was started, also when its file was replaced meanwhile.
pub(crate) fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("breadboard-ls"))
    }
}
