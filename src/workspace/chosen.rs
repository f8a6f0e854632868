//! A file that the user picked in the editor, anywhere: read whole and bounded.
//!
//! The workspace's confinement does not hold here, because the picker is the user's; it must be a regular file of a disk of
//! this machine. But a name in the workspace is the repository's, so one is opened through the folder's handle and leads out
//! of it by no link, also not by one that appears meanwhile. Never writes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

use super::root::{Roots, is_escape};
use crate::confined::{NotOpened, NotRead, is_pseudo, read_bounded};

/// Why a picked file is not read.
#[derive(Debug)]
pub(super) enum Unchosen {
    /// The URI names no file of this machine.
    NotLocal,
    /// It is named in the workspace and leads out of it: the user cannot have seen that.
    LeadsOut,
    /// It cannot be read.
    Unreadable(io::Error),
    /// A directory, a device, a pipe, or a file that the system makes up, as in `/proc`.
    NotRegular,
    /// It is larger than the bound: so many bytes, at least.
    TooLarge(u64),
}

/// The path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok().filter(|uri| uri.scheme() == "file").and_then(|uri| uri.to_file_path().ok())
}

/// The name of a picked file, to be shown.
pub(super) fn name_of(uri: &str) -> Option<String> {
    Some(path_of(uri)?.file_name()?.to_string_lossy().chars().filter(|c| !c.is_control()).take(255).collect())
}

/// The bytes of a picked file of at most `max` bytes.
pub(super) fn read_chosen(roots: &Roots, uri: &str, max: u64) -> Result<Vec<u8>, Unchosen> {
    let path = path_of(uri).ok_or(Unchosen::NotLocal)?;
    let (file, length) = match roots.crossed(&path) {
        Some(named) => {
            let (file, metadata) = named.open().map_err(|why| match why {
                NotOpened::Failed(error) if is_escape(&error) => Unchosen::LeadsOut,
                NotOpened::Failed(error) => Unchosen::Unreadable(error),
                NotOpened::Directory | NotOpened::NotRegular => Unchosen::NotRegular,
            })?;
            (file, metadata.len())
        }
        None => open(&path)?,
    };
    if length > max {
        return Err(Unchosen::TooLarge(length));
    }
    let bytes = read_bounded(file, max, &|| false).map_err(|why| match why {
        NotRead::Failed(error) => Unchosen::Unreadable(error),
        NotRead::TooLarge | NotRead::Stopped => Unchosen::TooLarge(max + 1),
    })?;
    // A file that is empty and has bytes is none.
    if length == 0 && !bytes.is_empty() { Err(Unchosen::NotRegular) } else { Ok(bytes) }
}

fn open(path: &Path) -> Result<(File, u64), Unchosen> {
    // Looked at before it is opened, because opening a device can already do something.
    if !fs::metadata(path).map_err(Unchosen::Unreadable)?.is_file() {
        return Err(Unchosen::NotRegular);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path).map_err(Unchosen::Unreadable)?;
    let metadata = file.metadata().map_err(Unchosen::Unreadable)?;
    if !metadata.is_file() || is_pseudo(&file) {
        return Err(Unchosen::NotRegular);
    }
    Ok((file, metadata.len()))
}
