//! Where processes cannot be found by their parents: the guardian is trusted to do its work.
//!
//! Owns nothing. Never looks at a process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use tokio::process::{Child, Command};

use super::Hold;
use super::heartbeat::{self, Beats};

/// Nobody's eye on a tree.
#[derive(Debug)]
pub(super) struct Oversight {
    _beats: Beats,
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
        Ok((Oversight { _beats: self.beats }, guardian))
    }
}

impl Oversight {
    /// The guardian said who it is.
    pub(super) fn guarded_by(&self, _: i32) {}

    /// The program runs.
    pub(super) fn runs(&self, _: i32) {}

    /// As far as is known.
    pub(super) fn is_guarded(&self) -> bool {
        true
    }

    /// Left to the guardian.
    pub(super) fn kill(&self) {}

    /// As far as is known.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + use<> {
        std::future::ready(())
    }

    /// Nothing is left.
    pub(super) fn ended_well(&self) {}

    /// The guardian was buried.
    pub(super) fn buried(&self) {}

    /// Left to the guardian, which the runtime buries.
    pub(super) fn leave(&self, guardian: Option<Child>) {
        drop(guardian);
    }
}
