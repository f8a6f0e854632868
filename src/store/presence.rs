//! Whether the files that this process has open are still the ones that the state directory names.
//!
//! Owns what they were when they were opened. A directory that is deleted or replaced underneath takes them from the next
//! start, while everything here seems to work. Looked at once a transaction of the database, which costs a microsecond a
//! file. Never opens and never makes a file again.

use std::path::{Path, PathBuf};

/// Some files as they were opened.
pub(super) struct Presence(Vec<(PathBuf, (u64, u64))>);

impl Presence {
    /// These files as they are now; one that is not there is not looked at.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().filter_map(|path| identity(&path).map(|identity| (path, identity))).collect())
    }

    /// Whether one of them is not there any more, or is another one.
    pub(super) fn is_lost(&self) -> bool {
        self.0.iter().any(|(path, known)| identity(path) != Some(*known))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Other systems do not let a file go that is open.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}
