//! What lies in the state directory, seen from outside.
//!
//! Owns the look at windows and at files that were set aside. Never opens a database and never makes or changes a file.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::check::Check;

/// The state directory as it lies there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StateDir {
    /// Whether it is there.
    pub exists: bool,
    /// Its permission bits, where the platform has them.
    pub mode: Option<u32>,
    /// Whether this user may make files in it.
    pub writable: bool,
    /// Windows by number, and whether each lives.
    pub windows: Vec<(u32, bool)>,
    /// Bytes of the database of all of them.
    pub database_bytes: Option<u64>,
    /// Bytes of what is kept so that turns can be taken back.
    pub undo_bytes: u64,
    /// Databases that could not be used, and events that did not follow on one: they were kept under another name.
    pub set_aside: Vec<String>,
}

/// Looks. A window's lock is tried for a moment where it is free; one that starts in that moment takes the next number.
pub(super) fn look(directory: &Path) -> StateDir {
    let Ok(metadata) = std::fs::metadata(directory) else { return StateDir::default() };
    let mut state = StateDir { exists: metadata.is_dir(), mode: mode(&metadata), ..StateDir::default() };
    state.writable = writable(directory, &metadata);
    let Ok(entries) = std::fs::read_dir(directory) else { return state };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("window-").and_then(|rest| rest.strip_suffix(".lock"));
        if name == "undo" {
            state.undo_bytes = bytes_in(&entry.path());
        } else if name == "sessions.sqlite3" {
            state.database_bytes = entry.metadata().ok().map(|file| file.len());
        } else if let Some(number) = number.and_then(|number| number.parse().ok()) {
            let held = File::open(entry.path()).is_ok_and(|lock| match lock.try_lock() {
                Ok(()) => {
                    // Where this fails, closing the file lets go.
                    let _ = lock.unlock();
                    false
                }
                Err(TryLockError::WouldBlock) => true,
                Err(TryLockError::Error(_)) => false,
            });
            state.windows.push((number, held));
        } else if [".damaged-", ".newer-", ".stray-"].iter().any(|word| name.contains(word))
            && ["-wal", "-shm", ".front"].iter().all(|end| !name.ends_with(end))
        {
            state.set_aside.push(name);
        }
    }
    state.windows.sort_unstable();
    state.set_aside.sort_unstable();
    state
}

fn bytes_in(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

/// The window that was begun between two looks.
pub(super) fn taken(before: &StateDir, after: &StateDir) -> Option<u32> {
    let held = |state: &StateDir, number: u32| state.windows.contains(&(number, true));
    after
        .windows
        .iter()
        .find(|(number, is_held)| *is_held && !held(before, *number))
        .map(|(number, _)| *number)
}

/// Which window this visit was, and how many others there are.
fn window(before: &StateDir, after: &StateDir, met: bool) -> Check {
    let held = after.windows.iter().filter(|(_, held)| *held).count();
    let ours = taken(before, after);
    let others = held - usize::from(ours.is_some());
    let others = match others {
        0 => "no other window uses these sessions".to_owned(),
        1 => "1 other window uses these sessions".to_owned(),
        many => format!("{many} other windows use these sessions"),
    };
    match ours {
        Some(number) => Check::ok("window", format!("this check was window {number}; {others}")),
        None if met => Check::warn(
            "window",
            format!("this check could keep no session; {others}"),
            "see the warnings about the state directory and the journal",
        ),
        None => Check::ok("window", others),
    }
}

/// The checks of the state directory: what lay there before this visit and after it.
pub(super) fn state(directory: Option<&Path>, before: &StateDir, after: &StateDir, met: bool) -> Vec<Check> {
    let Some(directory) = directory else {
        return vec![Check::warn(
            "state",
            "it is not known where to keep sessions, so they are lost when the program ends",
            "set HOME, or give --state-dir",
        )];
    };
    let shown = directory.display();
    if !after.exists {
        return vec![if met {
            Check::fail("state", format!("{shown} could not be created"), "give another --state-dir")
        } else {
            Check::ok("state", format!("{shown} does not exist yet; the first start creates it"))
        }];
    }
    let mut checks = vec![match (after.mode, after.writable) {
        (_, false) => Check::fail(
            "state",
            format!("{shown} is not writable"),
            "make it writable for you, or give another --state-dir",
        ),
        (Some(mode), true) if mode & 0o077 != 0 => Check::warn(
            "state",
            format!("{shown} has mode {mode:04o}"),
            format!("close it to other users: chmod 700 {shown}"),
        ),
        (Some(mode), true) => Check::ok("state", format!("{shown}, mode {mode:04o}")),
        (None, true) => Check::ok("state", format!("{shown}")),
    }];
    checks.push(window(before, after, met));
    checks.push(match after.database_bytes {
        Some(bytes) => {
            Check::ok("database", format!("sessions.sqlite3, {} KiB for all windows", bytes >> 10))
        }
        None => Check::ok("database", "no session has been stored yet".to_owned()),
    });
    if after.undo_bytes > 0 {
        let kib = after.undo_bytes.div_ceil(1 << 10);
        let said = format!("{kib} KiB are kept for undo, at most 256 MiB and 14 days");
        checks.push(Check::ok("undo", said));
    }
    if !after.set_aside.is_empty() {
        checks.push(Check::warn(
            "journal",
            format!("set aside earlier: {}", after.set_aside.join(", ")),
            "they hold older sessions or events; delete the files when you no longer need them",
        ));
    }
    checks
}

#[cfg(unix)]
fn mode(metadata: &std::fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &std::fs::Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn writable(directory: &Path, _: &std::fs::Metadata) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn writable(_: &Path, metadata: &std::fs::Metadata) -> bool {
    !metadata.permissions().readonly()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_told_apart_by_their_locks() {
        let place = tempfile::tempdir().expect("a folder");
        let file = |name: &str| File::create(place.path().join(name)).expect("a file");
        let (held, _free) = (file("window-0.lock"), file("window-1.lock"));
        for name in [
            "sessions.sqlite3",
            "sessions.sqlite3.damaged-12",
            "sessions.sqlite3.damaged-12-wal",
            "sessions.sqlite3.damaged-12-window-0.front",
            "window-0.front.stray-13",
            "other",
        ] {
            file(name);
        }
        let before = look(place.path());
        held.lock().expect("is free");
        let after = look(place.path());
        assert_eq!(before.windows, [(0, false), (1, false)]);
        assert_eq!(after.windows, [(0, true), (1, false)]);
        assert_eq!(taken(&before, &after), Some(0));
        assert_eq!(taken(&after, &after), None);
        assert_eq!(after.set_aside, ["sessions.sqlite3.damaged-12", "window-0.front.stray-13"]);
        assert!(after.exists && after.writable && after.database_bytes == Some(0));
    }

    #[test]
    fn a_directory_that_is_not_there_is_said_to_be_so() {
        let place = tempfile::tempdir().expect("a folder");
        assert_eq!(look(&place.path().join("none")), StateDir::default());
    }
}
