//! Every process below another one.
//!
//! Owns how they are found and signalled: on Linux by the parents that `/proc` names, which a group or a session of its own does
//! not change, or by a mark that they inherited; elsewhere by the process group of the one that was started. Never waits for them.

#[cfg(target_os = "linux")]
pub(super) use self::linux::{children, entry, is_marked, kill_marked, kill_orphans, members, signal_all};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

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

    /// How an environment has a variable of this value.
    pub(in crate::process) fn entry(name: &str, value: &OsStr) -> Vec<u8> {
        [name.as_bytes(), b"=", value.as_bytes()].concat()
    }

    /// Whether the environment that a process began with has this entry. That of another user cannot be read.
    pub(in crate::process) fn is_marked(pid: i32, entry: &[u8]) -> bool {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == entry))
    }

    /// Kills all others that have this entry in their environment, and everything below them; answers whether there was any.
    pub(in crate::process) fn kill_marked(entry: &[u8]) -> bool {
        let ours = rustix::process::getpid().as_raw_pid();
        let all = SeenProcess::all();
        let found = members(&all, |seen| seen.identity.pid != ours && is_marked(seen.identity.pid, entry));
        let alive: Vec<SeenProcess> = found
            .into_iter()
            .filter(|seen| seen.identity.pid != ours && seen.state != ProcessState::Dead)
            .collect();
        for seen in &alive {
            seen.identity.signal(Signal::KILL);
        }
        !alive.is_empty()
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{entry, kill_marked};
    use crate::process::identity::{ProcessState, SeenProcess};

    fn is_running(pid: i32) -> bool {
        SeenProcess::now(pid).is_some_and(|seen| seen.state != ProcessState::Dead)
    }

    #[test]
    fn what_has_the_mark_is_killed_with_what_it_started_and_whatever_became_of_its_parent() {
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let place = tempfile::tempdir().unwrap();
        let up = place.path().join("up");
        // An orphan in a session of its own, whose child lost the mark.
        let script = "setsid sh -c 'env -u TREE_OF_A_TEST sh -c \"echo \\$\\$ > up.new; mv up.new up; exec sleep 600\"; :' & exit 0";
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("TREE_OF_A_TEST", &mark).current_dir(place.path());
        assert!(command.status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(10);
        while !up.exists() {
            assert!(Instant::now() < until, "it did not start");
            std::thread::yield_now();
        }
        let child: i32 = std::fs::read_to_string(up).unwrap().trim().parse().unwrap();
        assert!(!kill_marked(&entry("TREE_OF_A_TEST", "another".as_ref())));
        assert!(kill_marked(&entry("TREE_OF_A_TEST", mark.as_ref())));
        while is_running(child) || kill_marked(&entry("TREE_OF_A_TEST", mark.as_ref())) {
            assert!(Instant::now() < until, "it did not end");
            std::thread::yield_now();
        }
    }
}
