//! How long something took by itself: without what the machine kept it waiting for a processor or a disk meanwhile.
//!
//! Owns the reading of the kernel's counts. A promise of a second is about the program; beside a build or other tests the same work takes
//! longer, and a test that measured the clock alone would fail for what the machine does. Where a system counts nothing, it is the clock.

#![allow(dead_code, reason = "not every test that has this file measures in each way")]

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time that passes for a program and for this test.
pub struct OwnTime {
    began: Instant,
    /// The processes that have to do something.
    pids: Vec<u32>,
    /// How long each of their threads had waited for a processor when it began, and when it was last looked at.
    threads: HashMap<String, (Duration, Duration)>,
    machine: Machine,
    /// How long that had waited.
    waited: Duration,
}

/// What is counted of the whole machine.
#[derive(Clone, Copy)]
enum Machine {
    /// How long anything waited for a disk, and how long its processors were given to others.
    Disks,
    /// The same, and how long anything waited for a processor.
    DisksAndProcessors,
}

impl Machine {
    fn waited(self) -> Duration {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let stolen = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
        let processors = match self {
            Self::Disks => Duration::ZERO,
            Self::DisksAndProcessors => pressure("cpu"),
        };
        pressure("io") + processors + Duration::from_millis(stolen.unwrap_or(0) * 10)
    }
}

/// How long something of this machine has waited for one of these so far, where the kernel counts it.
fn pressure(of: &str) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/pressure/{of}")).unwrap_or_default();
    let total =
        text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")?.1.parse().ok());
    Duration::from_micros(total.unwrap_or(0))
}

impl OwnTime {
    /// Begins now; `pid` is the program, beside this test.
    pub fn of(pid: u32) -> Self {
        Self::begin(vec![pid, std::process::id()], Machine::Disks)
    }

    /// Begins now, where it takes programs of which not all are known: whatever waited for a processor on this machine counts.
    pub fn of_programs() -> Self {
        Self::begin(Vec::new(), Machine::DisksAndProcessors)
    }

    fn begin(pids: Vec<u32>, machine: Machine) -> Self {
        let threads = waited(&pids).into_iter().map(|(thread, at)| (thread, (at, at))).collect();
        Self { waited: machine.waited(), machine, pids, threads, began: Instant::now() }
    }

    /// Looks how its threads stand: what has ended can be asked no more.
    pub fn look(&mut self) {
        for (thread, now) in waited(&self.pids) {
            let known = self.threads.entry(thread).or_insert((Duration::ZERO, now));
            known.1 = now;
        }
    }

    /// What it took so far.
    pub fn taken(&mut self) -> Duration {
        let passed = self.began.elapsed();
        self.look();
        let threads: Duration = self.threads.values().map(|(begun, now)| now.saturating_sub(*begun)).sum();
        passed.saturating_sub(threads).saturating_sub(self.machine.waited().saturating_sub(self.waited))
    }
}

/// What processors did for a process so far, in its own code and in the kernel's; `None` where that is not counted.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything; proc(5) has these as the 14th and the 15th, in hundredths of a second.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// How long each thread of these processes has waited for a processor so far: the second number of its `schedstat`.
fn waited(pids: &[u32]) -> Vec<(String, Duration)> {
    let mut waited = Vec::new();
    for pid in pids {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let nanos = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
            if let Some(nanos) = nanos {
                waited.push((task.path().to_string_lossy().into_owned(), Duration::from_nanos(nanos)));
            }
        }
    }
    waited
}
