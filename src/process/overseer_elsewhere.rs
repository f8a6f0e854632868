//! Where processes cannot be found by their parents: a guardian that was killed leaves its program to us, which is killed then with
//! its process group. The end of a guardian is the end of its control socket, so nobody has to look for it.
//!
//! Owns the number of that group while it runs. What left the group is not found.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::process::{Child, Command};

use super::Hold;
use super::heartbeat::{self, Beats};

/// The group of a program that runs under a guardian.
#[derive(Debug)]
pub(super) struct Oversight {
    _beats: Beats,
    /// The program, which leads its group; 0 before it runs and when nothing is left of it.
    group: AtomicI32,
}

/// A tree that is about to be started.
#[derive(Debug)]
pub(super) struct Prepared {
    beats: Beats,
    heartbeat: OwnedFd,
}

/// Orphans fall to the first process of the system there.
pub(crate) fn adopt_orphans() {}

/// Guardians end their trees by themselves, because their control socket ends.
pub(crate) fn end_the_unguarded(_: Duration) {}

impl Prepared {
    /// A heartbeat that nobody listens to.
    pub(super) fn new(_: Hold) -> io::Result<Self> {
        let (beats, heartbeat) = heartbeat::pair()?;
        Ok(Self { beats, heartbeat })
    }

    /// For the guardian.
    pub(super) fn heartbeat(&self) -> BorrowedFd<'_> {
        self.heartbeat.as_fd()
    }

    /// There are none.
    pub(super) fn cgroup(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Starts the guardian.
    pub(super) fn start(self, command: &mut Command) -> io::Result<(Oversight, Child)> {
        let guardian = command.spawn()?;
        Ok((Oversight { _beats: self.beats, group: AtomicI32::new(0) }, guardian))
    }
}

impl Oversight {
    /// The guardian said who it is.
    pub(super) fn guarded_by(&self, _: i32) {}

    /// The program runs.
    pub(super) fn runs(&self, program: i32) {
        self.group.store(program, Ordering::Relaxed);
    }

    /// As far as is known.
    pub(super) fn is_guarded(&self) -> bool {
        true
    }

    /// The guardian cannot do it any more, or takes too long.
    pub(super) fn kill(&self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.group.load(Ordering::Relaxed)) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// As far as is known.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + use<> {
        std::future::ready(())
    }

    /// Nothing is left, and the number may be another one's soon.
    pub(super) fn ended_well(&self) {
        self.group.store(0, Ordering::Relaxed);
    }

    /// The guardian was buried.
    pub(super) fn buried(&self) {}

    /// Left to the guardian, which the runtime buries.
    pub(super) fn leave(&self, guardian: Option<Child>) {
        drop(guardian);
    }
}
