//! Opening files of the state directory: regular files of this user only, closed to everybody else.
//!
//! Owns what is refused: links, pipes, sockets, devices, directories and files of other users. Whoever could put one there
//! would otherwise make us read, overwrite or wait for something else. Never reads what a file holds.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(windows)]
use crate::platform::private;

/// What to do where there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Make one.
    Create,
    /// Give `None`.
    Leave,
}

/// Opens a file to read and write it. An existing file that others may read or write is closed to them.
///
/// # Errors
/// It is no regular file of this user, or cannot be opened; the error is the end of a sentence.
#[cfg(unix)]
pub(super) fn open(path: &Path, missing: Missing) -> io::Result<Option<File>> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

    // Looked at before it is opened: opening a device may already do something.
    match std::fs::symlink_metadata(path) {
        Ok(found) => refuse_kind(found.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if missing == Missing::Leave {
                return Ok(None);
            }
        }
        // Nothing can have such a name.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename && missing == Missing::Leave => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    // It may have been replaced since: not followed if it is a link, not waited for if it is a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(missing == Missing::Create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Leave => {
            return Ok(None);
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    refuse_kind(found.file_type())?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user; move it away"));
    }
    // Also where the umask left less than its owner needs.
    if found.mode() & 0o777 != 0o600 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(Some(file))
}

/// The same by an access list.
#[cfg(not(unix))]
pub(super) fn open(path: &Path, missing: Missing) -> io::Result<Option<File>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => refuse_kind(found.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if missing == Missing::Leave {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    }
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(missing == Missing::Create).truncate(false);
    private::open_and_close_to_others(path, options).map(Some)
}

/// Opens a file, or makes it.
pub(super) fn open_or_create(path: &Path) -> io::Result<File> {
    open(path, Missing::Create)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Closes a file to others where there is one, and refuses what is no regular file of this user.
pub(super) fn close_to_others(path: &Path) -> io::Result<()> {
    open(path, Missing::Leave).map(drop)
}

fn refuse_kind(kind: std::fs::FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a directory"
    } else {
        "a pipe, a socket or a device"
    };
    Err(io::Error::other(format!("it is {what}, not a regular file; move it away")))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("other"), "text").unwrap();
        std::os::unix::fs::symlink(at("other"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("dangling")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        for (name, what) in [
            ("link", "a link"),
            ("dangling", "a link"),
            ("directory", "a directory"),
            ("socket", "a pipe"),
            ("pipe", "a pipe"),
        ] {
            for missing in [Missing::Create, Missing::Leave] {
                let error = open(&at(name), missing).unwrap_err().to_string();
                assert!(error.contains(what), "{name}: {error}");
            }
        }
        assert!(!at("nothing").exists());
        assert_eq!(std::fs::read_to_string(at("other")).unwrap(), "text");
        assert!(open(Path::new("/dev/null"), Missing::Leave).is_err());
    }

    #[test]
    fn a_file_is_for_its_user_alone_whether_it_is_made_or_found() {
        let place = tempfile::tempdir().unwrap();
        let (fresh, found) = (place.path().join("fresh"), place.path().join("found"));
        assert!(open(&fresh, Missing::Leave).unwrap().is_none());
        assert!(open(&fresh, Missing::Create).unwrap().is_some());
        std::fs::write(&found, "kept").unwrap();
        std::fs::set_permissions(&found, std::fs::Permissions::from_mode(0o666)).unwrap();
        close_to_others(&found).unwrap();
        assert_eq!((mode(&fresh), mode(&found)), (0o600, 0o600));
        assert_eq!(std::fs::read_to_string(&found).unwrap(), "kept");
    }
}
