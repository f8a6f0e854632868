//! Hashes of files as they are on the disk, for whoever is told that they changed.
//!
//! Owns the bounds. Never follows a link, never gives a text.

use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::confined::{Links, open_regular, read_bounded};
use crate::domain::edits::text::content_hash;

/// Bytes of a file that is hashed. A hash is nobody's due; a larger file goes without.
const LARGEST: u64 = 1 << 20;

/// Bytes that are read for one list of files; what comes behind goes without.
const TOGETHER: u64 = 16 << 20;

/// The hash of each file, by its path relative to this folder; `None` where it is not there, is no regular file, or too large. Blocking.
pub(crate) fn file_hashes<'a>(folder: &Path, paths: impl Iterator<Item = &'a str>) -> Vec<Option<String>> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).ok();
    let mut left = TOGETHER;
    let mut one = |path: &str| {
        let (file, _) = open_regular(dir.as_ref()?, Path::new(path), Links::Refused).ok()?;
        let bytes = read_bounded(file, LARGEST.min(left), &|| false).ok()?;
        left -= bytes.len() as u64;
        Some(content_hash(&bytes))
    };
    paths.map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_what_is_there_and_of_nothing_from_outside() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a.txt"), "a").unwrap();
        std::fs::write(place.path().join("large"), vec![b'a'; LARGEST as usize + 1]).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hostname", place.path().join("link")).unwrap();
        let paths = ["a.txt", "gone", "link", "large", "../a.txt"];
        let hashes = file_hashes(place.path(), paths.into_iter());
        assert_eq!(hashes, [Some(content_hash(b"a")), None, None, None, None]);
    }
}
