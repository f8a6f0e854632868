//! Every process below this one.
//!
//! Owns how they are found and signalled: on Linux by the parents that `/proc` names, which a group or a session of its own does
//! not change; elsewhere by the process group of the one that was started. Never waits for them.

use rustix::process::{Pid, Signal};

/// Signals all that runs below this process.
#[cfg(target_os = "linux")]
pub(super) fn signal_all(_started: Pid, signal: Signal) {
    for process in descendants(rustix::process::getpid()) {
        // It may be gone, or not ours to signal; either is seen by whoever waits for it.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// Kills what fell to this process, as often as there is something: a list that the kernel keeps and that is read at once, so that
/// a process that only lives until it has forked is met before it has. Where there is no such list, nothing is done.
#[cfg(target_os = "linux")]
pub(super) fn kill_orphans() {
    /// Enough to meet a process that forks away; not so many that nobody looks at the rest of the tree.
    const TIMES: usize = 256;
    for _ in 0..TIMES {
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return };
        let lists = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let children: Vec<Pid> = lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect();
        if children.is_empty() {
            return;
        }
        for child in children {
            // It may have been dead already, and not yet buried.
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }
}

/// Orphans do not fall to us there.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_orphans() {}

/// Signals the process group of the one that was started.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal_all(started: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(started, signal);
}

/// All below a process that are not dead yet, in no order.
#[cfg(target_os = "linux")]
fn descendants(of: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Running> = entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Running::parse(pid, &std::fs::read_to_string(entry.path().join("stat")).ok()?)
        })
        .collect();
    let mut found = vec![of.as_raw_pid()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
    }
    let is_alive = |pid: &i32| all.iter().any(|process| process.pid == *pid && !process.is_dead);
    found.into_iter().skip(1).filter(is_alive).filter_map(Pid::from_raw).collect()
}

#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Running {
    pid: i32,
    parent: i32,
    is_dead: bool,
}

#[cfg(target_os = "linux")]
impl Running {
    /// From `/proc/<pid>/stat`. The name in it is the program's to choose, and may hold blanks and brackets.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let state = words.next()?;
        Some(Self { pid, parent: words.next()?.parse().ok()?, is_dead: matches!(state, "Z" | "X") })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Running;

    #[test]
    fn a_name_cannot_hide_a_process_from_its_parent() {
        let stat = "7 (a) R 1 1 ) S 42 7 7 0 -1 4194560";
        assert_eq!(Running::parse(7, stat), Some(Running { pid: 7, parent: 42, is_dead: false }));
        assert_eq!(Running::parse(8, "8 (b) Z 7 8"), Some(Running { pid: 8, parent: 7, is_dead: true }));
        assert_eq!(Running::parse(9, "9 (c"), None);
    }
}
