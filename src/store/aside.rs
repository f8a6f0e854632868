//! Setting a file aside: what cannot be read is kept under another name, never overwritten.
//!
//! Owns the names of what was set aside. Never looks into the file.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Why a file is set aside; the word in its new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AsideReason {
    /// It cannot be read, or is not ours.
    Damaged,
    /// A newer version of ours wrote it.
    Newer,
    /// Events of it that the journal went on without.
    Stray,
}

impl AsideReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Newer => "newer",
            Self::Stray => "stray",
        }
    }
}

/// `path` with `suffix` behind its whole name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

/// A name beside a file that nothing has.
pub(super) fn free_name(database: &Path, why: AsideReason) -> io::Result<PathBuf> {
    let mut millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    loop {
        let aside = beside(database, &format!(".{}-{millis}", why.as_str()));
        if !aside.try_exists()? {
            return Ok(aside);
        }
        millis += 1;
    }
}

/// Renames a database with its `-wal` and `-shm` and these fronts, so that they still belong together, and gives the new name.
pub(super) fn set_aside(database: &Path, fronts: &[PathBuf], why: AsideReason) -> io::Result<PathBuf> {
    let aside = free_name(database, why)?;
    for front in fronts.iter().filter(|front| front.is_file()) {
        let name = front.file_name().unwrap_or_default().to_string_lossy();
        std::fs::rename(front, beside(&aside, &format!("-{name}")))?;
    }
    // The main file goes last: as long as it is there, a process that dies in between finds the same trouble again.
    for suffix in ["-wal", "-shm", ""] {
        match std::fs::rename(beside(database, suffix), beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(aside)
}

/// A log without its database would be deleted when that is made anew: both are kept under another name, and that is said.
/// `Err`: why not.
pub(super) fn keep_orphaned_log(
    database: &Path,
    fronts: &[PathBuf],
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    // What is no regular file is refused when it is opened.
    let length = |path: &Path| {
        std::fs::symlink_metadata(path).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
    };
    if length(database) > 0 || length(&beside(database, "-wal")) == 0 {
        return Ok(());
    }
    let file = database.display();
    let aside = set_aside(database, fronts, AsideReason::Damaged).map_err(|error| {
        format!("{file} was removed or emptied, and its log could not be moved away: {error}")
    })?;
    warnings.push(format!(
        "{file} was removed or emptied while its log was still there; a new journal was started, and what was left was kept as {}-wal. Earlier sessions are missing.",
        aside.display()
    ));
    Ok(())
}
