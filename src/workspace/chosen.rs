//! A file that the user picked in the editor, anywhere: read whole and bounded.
//!
//! The workspace's confinement does not hold here, because the picker is the user's; it must be a regular file of this
//! machine. But a name in the workspace is the repository's, so a link there that leads out is told apart. Never writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use url::Url;

use super::root::Roots;

/// Why a picked file is not read.
#[derive(Debug)]
pub enum Unchosen {
    /// The URI names no file of this machine.
    NotLocal,
    /// It cannot be read.
    Unreadable(io::Error),
    /// A directory, a device, a pipe.
    NotRegular,
    /// It is larger than the bound: so many bytes, at least.
    TooLarge(u64),
}

/// The path of a `file:` URI.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok().filter(|uri| uri.scheme() == "file").and_then(|uri| uri.to_file_path().ok())
}

/// The name of a picked file, to be shown.
pub fn name_of(uri: &str) -> Option<String> {
    Some(path_of(uri)?.file_name()?.to_string_lossy().chars().filter(|c| !c.is_control()).take(255).collect())
}

/// Whether a picked file lies in the workspace by its name and outside by its links: the user cannot have seen that.
pub fn leads_out(roots: &Roots, uri: &str) -> bool {
    let Some((named, real)) =
        path_of(uri).and_then(|named| fs::canonicalize(&named).ok().map(|real| (named, real)))
    else {
        // Nothing is there, or it is no file of this machine; reading it says so.
        return false;
    };
    let real_roots: Vec<PathBuf> = roots.paths().filter_map(|root| fs::canonicalize(root).ok()).collect();
    let is_inside = |path: &Path| real_roots.iter().any(|root| path.starts_with(root));
    let seems_inside = is_inside(&named) || roots.paths().any(|root| named.starts_with(root));
    seems_inside && !is_inside(&real)
}

/// The bytes of a picked file of at most `max` bytes.
pub fn read_chosen(uri: &str, max: u64) -> Result<Vec<u8>, Unchosen> {
    let path = path_of(uri).ok_or(Unchosen::NotLocal)?;
    // Looked at before it is opened, because opening a device can already do something.
    if !fs::metadata(&path).map_err(Unchosen::Unreadable)?.is_file() {
        return Err(Unchosen::NotRegular);
    }
    let (file, metadata) = open(&path).map_err(Unchosen::Unreadable)?;
    if !metadata.is_file() {
        return Err(Unchosen::NotRegular);
    }
    if metadata.len() > max {
        return Err(Unchosen::TooLarge(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(Unchosen::Unreadable)?;
    match bytes.len() as u64 {
        read if read > max => Err(Unchosen::TooLarge(read)),
        _ => Ok(bytes),
    }
}

fn open(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}
