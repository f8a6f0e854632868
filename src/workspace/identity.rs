//! What makes a folder this one: its real path and the file system's own mark of it.
//!
//! Never opens a folder and never reads what is in it.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::domain::approval::FolderIdentity;
use crate::platform::real_path;

/// The identity of the folder that this path leads to now; `None` where it leads to none.
pub(super) fn identity(folder: &Path) -> Option<FolderIdentity> {
    let real = real_path(folder).ok()?;
    let metadata = real.symlink_metadata().ok().filter(Metadata::is_dir)?;
    Some(FolderIdentity { path: real.to_string_lossy().into_owned(), mark: mark(&metadata) })
}

/// Number and birth: a number alone is given again once its folder is deleted. The number of the device is left out, since
/// on some systems it is another one after a restart.
fn mark(metadata: &Metadata) -> String {
    let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = born.map_or(0, |born| born.as_nanos());
    format!("{}-{born}", number(metadata))
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// The standard library does not tell it here; what counts is the birth.
#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_identity_and_another_under_its_path_has_another() {
        let place = tempfile::tempdir().unwrap();
        let (here, there) = (place.path().join("here"), place.path().join("there"));
        std::fs::create_dir(&here).unwrap();
        let first = identity(&here).unwrap();
        std::fs::write(here.join("file"), "x").unwrap();
        assert_eq!(identity(&here).as_ref(), Some(&first));
        std::fs::rename(&here, &there).unwrap();
        assert_eq!(identity(&here), None);
        std::fs::create_dir(&here).unwrap();
        let second = identity(&here).unwrap();
        assert_eq!(second.path, first.path);
        if cfg!(unix) {
            assert_ne!(second.mark, first.mark);
        }
        assert_eq!(identity(&there).unwrap().mark, first.mark);
        assert_eq!(identity(&there.join("file")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_has_the_identity_of_the_folder_that_it_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let (here, link) = (place.path().join("here"), place.path().join("link"));
        std::fs::create_dir(&here).unwrap();
        std::os::unix::fs::symlink(&here, &link).unwrap();
        assert_eq!(identity(&link), identity(&here));
    }
}
