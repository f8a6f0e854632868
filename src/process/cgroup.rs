//! A cgroup for one tree of processes, where the server may make one: nothing in it can hide, and one word kills all of it.
//!
//! Owns the group's directory. Whether groups can be had is found out by trying; where not, the guardians do without. Never turns
//! a controller on, so nothing is limited or counted by it.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

/// Set to `off`, the server makes no groups.
const SWITCH: &str = "BREADBOARD_LS_CGROUP";

/// Names of groups begin so.
const PREFIX: &str = "breadboard-ls.";

/// How often a group is tried to be removed, and how long between: what was killed in it needs a moment to be gone.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(2);

/// The group of one tree.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    handle: OwnedFd,
}

impl Cgroup {
    /// A new and empty group; `None` where there can be none.
    pub(super) fn create() -> Option<Self> {
        static BASE: OnceLock<Option<PathBuf>> = OnceLock::new();
        static MADE: AtomicU64 = AtomicU64::new(0);
        let base = BASE
            .get_or_init(|| {
                let base = own().filter(|_| std::env::var_os(SWITCH).is_none_or(|word| word != "off"))?;
                remove_abandoned(&base);
                Some(base)
            })
            .as_ref()?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}.{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let opened =
            rustix::fs::open(&path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        // Without `cgroup.kill` the guardians do as well.
        match opened.ok().filter(|_| path.join("cgroup.kill").exists()) {
            Some(handle) => Some(Self { path, handle }),
            None => {
                let _ = fs::remove_dir(&path);
                None
            }
        }
    }

    /// The group that a handle from elsewhere leads to.
    pub(super) fn from_handle(handle: OwnedFd) -> Option<Self> {
        let path = fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()?;
        Some(Self { path, handle })
    }

    /// To be handed over.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// This process and all that it starts from now on belong to the group.
    pub(super) fn join(&self) {
        // Where that is not allowed, the guardians do without.
        let _ = fs::write(self.path.join("cgroup.procs"), "0");
    }

    /// Kills all in it, at once.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// This process, which joined, goes back to where the group was made.
    pub(super) fn leave(&self) {
        if let Some(above) = self.path.parent() {
            let _ = fs::write(above.join("cgroup.procs"), "0");
        }
    }

    /// Kills what is left in it and removes it.
    pub(super) fn remove(&self) {
        for _ in 0..TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    self.kill();
                    thread::sleep(PAUSE);
                }
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// The group that this process is in, as a directory.
fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    place(&groups, &mounts)
}

/// Where the unified hierarchy shows the group of `/proc/self/cgroup`.
fn place(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        // The fourth word is what of the hierarchy is shown, the fifth is where.
        let mut words = mount.split(' ').skip(3);
        let (shown, at) = (words.next()?, words.next()?);
        Some(Path::new(at).join(group.strip_prefix(shown).ok()?))
    })
}

/// A server that was killed in the same instant as both of its guardians left an empty group behind. One with processes in it
/// cannot be removed like this, so another server's is safe.
fn remove_abandoned(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let server =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('.').next());
        if server.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Cgroup, place};

    #[test]
    fn the_own_group_is_found_wherever_the_hierarchy_is_mounted() {
        let line =
            |shown: &str, at: &str, kind: &str| format!("25 1 0:22 {shown} {at} rw - {kind} none rw\n");
        let hybrid =
            line("/", "/sys/fs/cgroup/pids", "cgroup") + &line("/", "/sys/fs/cgroup/unified", "cgroup2");
        let groups = "8:pids:/\n0::/user.slice/app.scope\n";
        let found = place(groups, &hybrid);
        assert_eq!(found.as_deref(), Some(Path::new("/sys/fs/cgroup/unified/user.slice/app.scope")));
        let inside = line("/user.slice", "/sys/fs/cgroup", "cgroup2");
        assert_eq!(place(groups, &inside).as_deref(), Some(Path::new("/sys/fs/cgroup/app.scope")));
        assert_eq!(place(groups, &line("/other", "/sys/fs/cgroup", "cgroup2")), None);
        assert_eq!(place("8:pids:/\n", &hybrid), None);
    }

    #[test]
    fn a_group_is_gone_when_it_was_removed() {
        // Where none can be had, there is nothing to remove.
        let Some(group) = Cgroup::create() else { return };
        assert!(group.path.exists());
        group.remove();
        assert!(!group.path.exists());
    }

    #[test]
    fn an_empty_group_of_a_server_that_is_gone_is_removed_and_that_of_a_living_one_is_not() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let Some(base) = super::own() else { return };
        let [of_ended, of_living] =
            [ended.id(), std::process::id()].map(|pid| base.join(format!("breadboard-ls.{pid}.test")));
        // Where none can be had, there is nothing to remove.
        if std::fs::create_dir(&of_ended).is_err() {
            return;
        }
        std::fs::create_dir(&of_living).unwrap();
        super::remove_abandoned(&base);
        assert_eq!((of_ended.exists(), of_living.exists()), (false, true));
        std::fs::remove_dir(of_living).unwrap();
    }
}
