//! Which process a number means: its id and the moment it started, so that a number that was given anew hits nobody.
//!
//! Owns the look at `/proc/<pid>/stat` and the signal that goes through a handle of the process. Never waits.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process, of all that ever have its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) pid: i32,
    /// When it started, in ticks since the system did.
    start: u64,
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It runs, or waits for something.
    Alive,
    /// It was stopped, by a signal or by who traces it.
    Stopped,
    /// It has ended; nobody buried it yet.
    Dead,
}

/// A process as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenProcess {
    pub(super) identity: Identity,
    pub(super) parent: i32,
    pub(super) state: ProcessState,
}

impl SeenProcess {
    /// The process that has this id now.
    pub(super) fn now(pid: i32) -> Option<Self> {
        Self::parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// All processes that can be seen, in no order.
    pub(super) fn all() -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::now).collect()
    }

    /// From `/proc/<pid>/stat`. The name in it is the program's to choose, and may hold blanks and brackets.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let state = match words.next()? {
            "Z" | "X" | "x" => ProcessState::Dead,
            "T" | "t" => ProcessState::Stopped,
            _ => ProcessState::Alive,
        };
        let parent = words.next()?.parse().ok()?;
        // The 22nd field of the line; the parent is the fourth.
        let start = words.nth(17)?.parse().ok()?;
        Some(Self { identity: Identity { pid, start }, parent, state })
    }
}

impl Identity {
    /// The process that has this id now.
    pub(super) fn of(pid: i32) -> Option<Self> {
        SeenProcess::now(pid).map(|seen| seen.identity)
    }

    /// What it does; `Dead` also when it is buried and its id means another process.
    pub(super) fn state(self) -> ProcessState {
        SeenProcess::now(self.pid)
            .filter(|seen| seen.identity == self)
            .map_or(ProcessState::Dead, |seen| seen.state)
    }

    /// Signals it, and nobody who has its id meanwhile: the handle is taken first, and only then is it looked whose it is.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => {
                if Self::of(self.pid) == Some(self) {
                    // It may have ended, or not be ours to signal; whoever waits for its end sees either.
                    let _ = pidfd_send_signal(handle, signal);
                }
            }
            // Older kernels, and sandboxes that know no such handles: as near to the look as can be.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                if Self::of(self.pid) == Some(self) {
                    let _ = kill_process(pid, signal);
                }
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::{Identity, ProcessState, SeenProcess};

    #[test]
    fn a_name_cannot_hide_a_process_from_its_parent() {
        let tail = "42 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1000 5";
        let seen = |parent, start, state| SeenProcess { identity: Identity { pid: 7, start }, parent, state };
        let parse = |state: &str| SeenProcess::parse(7, &format!("7 (a) R 1 1 ) {state} {tail}"));
        assert_eq!(parse("S"), Some(seen(42, 99, ProcessState::Alive)));
        assert_eq!(parse("t"), Some(seen(42, 99, ProcessState::Stopped)));
        assert_eq!(parse("Z"), Some(seen(42, 99, ProcessState::Dead)));
        assert_eq!(SeenProcess::parse(9, "9 (c"), None);
    }

    #[test]
    fn a_process_that_only_has_the_id_of_another_is_not_signalled() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id().cast_signed();
        let real = Identity::of(pid).unwrap();
        let earlier = Identity { start: real.start - 1, ..real };
        earlier.signal(Signal::KILL);
        assert_eq!((real.state(), earlier.state()), (ProcessState::Alive, ProcessState::Dead));
        assert_eq!(child.try_wait().unwrap(), None);
        real.signal(Signal::KILL);
        child.wait().unwrap();
        assert_eq!(real.state(), ProcessState::Dead);
    }
}
