//! Files and folders that their owner alone may look at: by their modes on Unix, by an access list on Windows.
//!
//! Owns how they are made so that there is no moment in which others may open them, and the question whether others may read one.
//! Never knows what they hold.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder for this user alone, with those above it that are missing. One that is there is left as it is.
///
/// # Errors
/// What the system says.
#[cfg(unix)]
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a folder for this user alone, with those above it that are missing. One that is there is left as it is. What is made in it
/// later is this user's alone, too.
///
/// # Errors
/// What the system says.
#[cfg(windows)]
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_folder(above)?;
    }
    match DirBuilder::new().create(folder) {
        Ok(()) => super::access_list::close_folder(folder),
        // Somebody else made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a file for this user alone, to write it. What is there already is replaced or refused, as the options say.
///
/// # Errors
/// What the system says.
pub(crate) fn create_file(file: &Path, mut options: OpenOptions) -> io::Result<File> {
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        options.open(file)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        // Nobody else opens it before it is closed to them.
        options.access_mode(super::access_list::TO_WRITE_AND_CLOSE).share_mode(0);
        let made = options.open(file)?;
        super::access_list::close_file(&made)?;
        Ok(made)
    }
}

/// Opens a file as the options say, to read and write it, and closes it to everybody else, whoever made it.
///
/// # Errors
/// What the system says; it may belong to somebody else.
#[cfg(windows)]
pub(crate) fn open_and_close_to_others(file: &Path, mut options: OpenOptions) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    options.access_mode(super::access_list::TO_READ_WRITE_AND_CLOSE);
    let opened = options.open(file)?;
    super::access_list::close_file(&opened)?;
    Ok(opened)
}

/// Whether others may put something into a folder, or take it away.
///
/// # Errors
/// What the system says.
#[cfg(windows)]
pub(crate) fn is_changed_by_others(folder: &Path) -> io::Result<bool> {
    super::access_list::is_open_to_others(folder, super::access_list::CHANGE)
}

/// Options for a file that must not be there yet.
pub(crate) fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create_new(true);
    options
}

/// Why others may read a file, with what to do, as the rest of a sentence that begins with its name; `None` when they may not.
///
/// # Errors
/// What the system says.
pub(crate) fn read_by_others(file: &Path) -> io::Result<Option<String>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_open = std::fs::symlink_metadata(file)?.mode() & 0o077 != 0;
        Ok(is_open.then(|| "run `chmod 600` on it".to_owned()))
    }
    #[cfg(windows)]
    {
        let is_open = super::access_list::is_open_to_others(file, super::access_list::READ)?;
        let close = || format!("run `icacls \"{}\" /inheritance:r /grant:r %USERNAME%:F`", file.display());
        Ok(is_open.then(close))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_made_private_is_read_by_nobody_else_and_made_once() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a").join("b");
        create_folder(&folder).unwrap();
        create_folder(&folder).unwrap();
        let file = folder.join("secret");
        create_file(&file, new_file()).unwrap().write_all(b"x").unwrap();
        assert_eq!(read_by_others(&file).unwrap(), None);
        assert_eq!(create_file(&file, new_file()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
        assert!(read_by_others(&folder.join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_said_to_be_one() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("open");
        for (mode, is_open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o601, true)] {
            std::fs::write(&file, "x").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_by_others(&file).unwrap().is_some(), is_open, "{mode:o}");
            std::fs::remove_file(&file).unwrap();
        }
    }
}
