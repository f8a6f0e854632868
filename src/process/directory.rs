//! A directory by its handle: what a path led to when it was opened, whatever lies there later.
//!
//! Owns the comparison of the two. Never looks at what the directory holds.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::platform::real_path;

/// An open directory. Cloning shares the handle.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    /// Where the path led, without links.
    real: PathBuf,
    handle: Arc<File>,
}

impl Directory {
    /// Opens what lies at an absolute path.
    ///
    /// # Errors
    ///
    /// What the system says, `NotADirectory` among it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let real = real_path(path)?;
        Ok(Self { handle: Arc::new(open(&real)?), path: path.to_owned(), real })
    }

    /// One that is open already; `path` is where it was found.
    ///
    /// # Errors
    ///
    /// What the system says when nothing lies there any more.
    pub fn from_handle(handle: File, path: PathBuf) -> io::Result<Self> {
        let real = real_path(&path)?;
        Ok(Self { path, real, handle: Arc::new(handle) })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it was opened, without links.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    /// Whether its path still leads to it.
    pub fn is_at_its_path(&self) -> bool {
        let (Ok(held), Ok(found)) = (self.handle.metadata(), std::fs::metadata(&self.path)) else {
            return false;
        };
        is_same(&held, &found)
    }

    /// The same directory; or, when that one was deleted, the one that was made anew in its place, if no link leads elsewhere.
    ///
    /// # Errors
    ///
    /// What the system says, and `NotFound` when the path leads somewhere else now.
    pub fn renewed(&self) -> io::Result<Self> {
        if !is_deleted(&self.handle) {
            return Ok(self.clone());
        }
        let anew = Self::open(&self.path)?;
        if anew.real == self.real { Ok(anew) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    #[cfg(unix)]
    pub(super) fn handle(&self) -> &File {
        &self.handle
    }
}

#[cfg(unix)]
fn open(real: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(real)
}

/// Directories have no handles there without further flags: the flag is `FILE_FLAG_BACKUP_SEMANTICS`.
#[cfg(windows)]
fn open(real: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    let directory = std::fs::OpenOptions::new().read(true).custom_flags(0x0200_0000).open(real)?;
    if directory.metadata()?.is_dir() { Ok(directory) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

#[cfg(unix)]
fn is_same(held: &std::fs::Metadata, found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (held.dev(), held.ino()) == (found.dev(), found.ino())
}

/// What lies open there cannot be renamed or deleted.
#[cfg(not(unix))]
fn is_same(held: &std::fs::Metadata, found: &std::fs::Metadata) -> bool {
    held.is_dir() && found.is_dir()
}

/// A deleted directory has no name left.
#[cfg(unix)]
fn is_deleted(handle: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    handle.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

#[cfg(not(unix))]
fn is_deleted(_: &File) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Directory;

    #[test]
    fn a_directory_that_was_swapped_is_not_at_its_path_and_one_made_anew_is_opened() {
        let parent = tempfile::tempdir().unwrap();
        let (inside, outside) = (parent.path().join("ws"), parent.path().join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let held = Directory::open(&inside).unwrap();
        assert!(held.is_at_its_path());
        // Moved away, with a link in its place
        std::fs::rename(&inside, parent.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        assert!(!held.is_at_its_path());
        assert!(!held.renewed().unwrap().is_at_its_path());
        // Deleted, with the link still there
        std::fs::remove_dir(parent.path().join("moved")).unwrap();
        assert_eq!(held.renewed().unwrap_err().kind(), std::io::ErrorKind::NotFound);
        // Made anew
        std::fs::remove_file(&inside).unwrap();
        std::fs::create_dir(&inside).unwrap();
        assert!(held.renewed().unwrap().is_at_its_path());
    }

    #[test]
    fn only_a_directory_is_opened() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("file"), "").unwrap();
        for name in ["file", "missing"] {
            assert!(Directory::open(&parent.path().join(name)).is_err(), "{name}");
        }
    }
}
