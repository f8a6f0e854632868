//! The processes of one agent, known by a mark in their environment: the agent, what it started, and its guardians.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::own_time::OwnTime;

/// Issue C, item 5: an agent and all it starts die within this.
const WITHIN: Duration = Duration::from_secs(3);

/// A mark that nobody else has.
pub struct Mark(pub String);

impl Mark {
    pub const NAME: &str = "CONTAINED_MARK";

    pub fn new() -> Self {
        let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        Self(random.trim().to_owned())
    }

    /// Who lives with this mark; what is dead has no environment any more.
    pub fn alive(&self) -> Vec<Process> {
        let wanted = format!("{}={}", Self::NAME, self.0);
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| {
                let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
                let environment = std::fs::read(entry.path().join("environ")).ok()?;
                let words = std::fs::read(entry.path().join("cmdline")).ok()?;
                let has_mark = environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
                let command = String::from_utf8_lossy(&words).replace('\0', " ");
                has_mark.then_some(Process { pid, command, at: entry.path() })
            })
            .collect()
    }

    /// An emulator's name may stand before what the guardian calls itself.
    pub fn outer(&self) -> Process {
        self.one(|command| command.contains("bb-guard guard -- "))
    }

    pub fn inner(&self) -> Process {
        self.one(|command| command.contains("bb-guard guard --inner -- "))
    }

    fn one(&self, is_it: impl Fn(&str) -> bool) -> Process {
        let mut found: Vec<Process> =
            self.alive().into_iter().filter(|process| is_it(&process.command)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// Waits until nobody with this mark lives, by their ends, not by time.
    #[track_caller]
    pub fn assert_gone(&self) {
        self.assert_gone_since(Instant::now());
    }

    #[track_caller]
    pub fn assert_gone_since(&self, since: Instant) {
        let (before, mut time) = (since.elapsed(), OwnTime::of_programs());
        loop {
            let alive = self.alive();
            let Some(first) = alive.first() else { return };
            let left = WITHIN.saturating_sub(before + time.taken());
            assert!(!left.is_zero(), "still alive after {WITHIN:?}: {alive:?}");
            first.wait(left);
        }
    }
}

#[derive(Debug)]
pub struct Process {
    pub pid: Pid,
    pub command: String,
    at: PathBuf,
}

impl Process {
    pub fn kill(&self) {
        kill_process(self.pid, Signal::KILL).unwrap();
    }

    pub fn environment(&self) -> Vec<String> {
        let bytes = std::fs::read(self.at.join("environ")).unwrap();
        bytes.split(|byte| *byte == 0).map(|one| String::from_utf8_lossy(one).into_owned()).collect()
    }

    fn wait(&self, at_most: Duration) {
        let Ok(process) = pidfd_open(self.pid, PidfdFlags::empty()) else { return };
        let time = Timespec::try_from(at_most).unwrap();
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&time)) {
            // A signal may wake the wait (a child of another test ends): the caller looks again, until its own time is up.
            Ok(_) | Err(Errno::INTR) => {}
            Err(failed) => panic!("poll: {failed}"),
        }
    }
}
