//! What git's index says of the files of a folder: which of them are as git has them.
//!
//! Owns the reading of the index file (versions 2 to 4, gitformat-index). Only ever reads it, and what it says counts only where
//! the system says the same of the file. Never starts git.

use std::collections::HashMap;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::tree::FileStat;
use crate::confined::read_bounded;
use crate::domain::edits::text::hex;

/// Bytes of an index that is read: some 250,000 files.
const MOST_BYTES: u64 = 64 << 20;

/// Bytes of an id: SHA-1. An index of another kind is not read.
const ID: usize = 20;

/// Bytes of an entry before its path.
const FIXED: usize = 62;

/// The files that git has, by path relative to a folder.
#[derive(Debug, Default)]
pub(super) struct GitIndex {
    files: HashMap<String, IndexedFile>,
    /// When it was written, in nanoseconds since the Unix epoch. What was changed at that time or later may be another content
    /// under the same times.
    written: i128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexedFile {
    seconds: u32,
    nanoseconds: u32,
    size: u32,
    id: [u8; ID],
}

impl GitIndex {
    /// The index at this path; of paths that begin with `prefix`, without it. `None`: there is none that can be read.
    pub(super) fn read(path: &Path, prefix: &str) -> Option<Self> {
        let file = std::fs::File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let bytes = read_bounded(file, MOST_BYTES, &|| false).ok()?;
        Some(Self { files: entries(&bytes, prefix)?, written: i128::try_from(written).ok()? })
    }

    /// The id of the content of a file, where the file is as it was when git looked at it.
    pub(super) fn unchanged(&self, path: &str, stat: &FileStat) -> Option<String> {
        let known = self.files.get(path)?;
        let seconds = i128::from(known.seconds) * 1_000_000_000;
        let same_time = match known.nanoseconds {
            // Some builds of git know only seconds.
            0 => stat.modified / 1_000_000_000 == i128::from(known.seconds),
            nanoseconds => stat.modified == seconds + i128::from(nanoseconds),
        };
        let same_size = u64::from(known.size) == stat.size;
        (same_time && same_size && stat.modified < self.written).then(|| hex(&known.id))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn entries(bytes: &[u8], prefix: &str) -> Option<HashMap<String, IndexedFile>> {
    let version = number(bytes, 4).filter(|_| bytes.starts_with(b"DIRC"))?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = number(bytes, 8)? as usize;
    let mut files = HashMap::with_capacity(count.min(bytes.len() / FIXED));
    let mut at = 12;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let is_extended = version > 2 && flags & 0x4000 != 0;
        let more =
            if is_extended { u16::from_be_bytes(bytes.get(at + 62..at + 64)?.try_into().ok()?) } else { 0 };
        let from = at + FIXED + if is_extended { 2 } else { 0 };
        let next = if version == 4 {
            let (strip, from) = varint(bytes, from)?;
            let end = from + memchr::memchr(0, bytes.get(from..)?)?;
            path.truncate(path.len().checked_sub(strip)?);
            path.extend_from_slice(&bytes[from..end]);
            end + 1
        } else {
            let end = from + memchr::memchr(0, bytes.get(from..)?)?;
            path.clear();
            path.extend_from_slice(&bytes[from..end]);
            // Filled up to a multiple of eight, with one zero at least.
            at + (end - at) / 8 * 8 + 8
        };
        let is_file = number(bytes, at + 24)? & 0o170_000 == 0o100_000;
        // Of a merge, or announced only.
        let is_plain = flags & 0x3000 == 0 && more & 0x2000 == 0;
        if is_file
            && is_plain
            && let Some(name) = std::str::from_utf8(&path).ok().and_then(|path| path.strip_prefix(prefix))
        {
            let file = IndexedFile {
                seconds: number(bytes, at + 8)?,
                nanoseconds: number(bytes, at + 12)?,
                size: number(bytes, at + 36)?,
                id: bytes.get(at + 40..at + 40 + ID)?.try_into().ok()?,
            };
            files.insert(name.to_owned(), file);
        }
        at = next;
    }
    // Entries of a split index lie in another file.
    (!has_extension(bytes, at, b"link")).then_some(files)
}

fn has_extension(bytes: &[u8], mut at: usize, wanted: &[u8; 4]) -> bool {
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), number(bytes, at + 4)) {
        if name == wanted {
            return true;
        }
        at = at.saturating_add(8).saturating_add(length as usize);
        // The check sum follows.
        if at + ID >= bytes.len() {
            return false;
        }
    }
    false
}

/// A number of version 4: seven bits a byte, each continuation one more.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    use std::process::Command;

    fn git(at: &Path, args: &[&str]) {
        let ran =
            Command::new("git").current_dir(at).args(args).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    #[test]
    fn what_git_says_of_a_file_is_read_from_its_index_in_every_version() {
        for version in ["2", "3", "4"] {
            let root = tempfile::tempdir().unwrap();
            git(root.path(), &["init", "-q"]);
            std::fs::create_dir_all(root.path().join("sub/deeper")).unwrap();
            for (path, text) in [("sub/a", "one\n"), ("sub/deeper/b", "two\n"), ("top", "three\n")] {
                let path = root.path().join(path);
                std::fs::write(&path, text).unwrap();
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 123_456_789)).unwrap();
            }
            git(root.path(), &["add", "."]);
            git(root.path(), &["update-index", "--index-version", version]);
            let index = GitIndex::read(&root.path().join(".git/index"), "sub/").unwrap();
            let stat = |path: &str| {
                let dir = Dir::open_ambient_dir(root.path().join("sub"), ambient_authority()).unwrap();
                FileStat::of(&dir.metadata(path).unwrap())
            };
            // `git hash-object` says the same.
            let id = index.unchanged("a", &stat("a"));
            assert_eq!(id.as_deref(), Some("5626abf0f72e58d7a153368ba57db4c673c0e171"), "version {version}");
            assert!(index.unchanged("deeper/b", &stat("deeper/b")).is_some());
            assert_eq!(index.unchanged("top", &stat("a")), None, "it lies outside");
            // And of a file that was written since nothing is said.
            std::fs::write(root.path().join("sub/a"), "won\n").unwrap();
            assert_eq!(index.unchanged("a", &stat("a")), None);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_of_the_index_fail() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"DIRC\0\0\0\x04\0\0\0\x01"] {
            assert_eq!(entries(bytes, ""), None);
        }
        let mut whole = b"DIRC\0\0\0\x04\0\0\0\x02".to_vec();
        whole.extend_from_slice(&[0x81; 400]);
        assert_eq!(entries(&whole, ""), None);
    }
}
