//! Every process below another one.
//!
//! Owns how they are found and signalled: on Linux by the parents that `/proc` names, which a group or a session of its own does
//! not change; elsewhere by the process group of the one that was started. Never waits for them.

#[cfg(target_os = "linux")]
pub(super) use self::linux::{children, kill_orphans, members, signal_all};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;

    use rustix::process::{Pid, Signal};

    use crate::process::identity::{Identity, ProcessState, SeenProcess};

    /// Signals all that runs below this process.
    pub(in crate::process) fn signal_all(_started: Pid, signal: Signal) {
        let ours = rustix::process::getpid().as_raw_pid();
        let all = SeenProcess::all();
        for seen in members(&all, |seen| seen.identity.pid == ours) {
            if seen.identity.pid != ours && seen.state != ProcessState::Dead {
                seen.identity.signal(signal);
            }
        }
    }

    /// Those that are named and everything below them.
    pub(in crate::process) fn members(
        all: &[SeenProcess],
        is_named: impl Fn(&SeenProcess) -> bool,
    ) -> Vec<SeenProcess> {
        let mut found: Vec<SeenProcess> = all.iter().copied().filter(is_named).collect();
        let mut ids: HashSet<i32> = found.iter().map(|seen| seen.identity.pid).collect();
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|seen| seen.identity.pid) {
            next += 1;
            for seen in all.iter().filter(|seen| seen.parent == parent) {
                if ids.insert(seen.identity.pid) {
                    found.push(*seen);
                }
            }
        }
        found
    }

    /// The children of this process, from a list that the kernel keeps; empty where there is no such list.
    pub(in crate::process) fn children() -> Vec<i32> {
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
        let lists = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    /// Kills what fell to this process, as often as there is something: the kernel's list is read at once, so that a process that
    /// only lives until it has forked is met before it has. The children of `keep` are not touched.
    pub(in crate::process) fn kill_orphans(keep: &HashSet<i32>) {
        /// Enough to meet a process that forks away; not so many that nobody looks at the rest of the tree.
        const TIMES: usize = 256;
        for _ in 0..TIMES {
            let orphans: Vec<i32> = children().into_iter().filter(|pid| !keep.contains(pid)).collect();
            let alive = orphans.iter().filter_map(|pid| SeenProcess::now(*pid));
            let alive: Vec<Identity> =
                alive.filter(|seen| seen.state != ProcessState::Dead).map(|seen| seen.identity).collect();
            if alive.is_empty() {
                return;
            }
            for orphan in alive {
                orphan.signal(Signal::KILL);
            }
        }
    }
}

/// Signals the process group of the one that was started.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal_all(started: rustix::process::Pid, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process_group(started, signal);
}
