//! Writing a file as it was: its bytes, its absence, its name.
//!
//! Owns that only what is known is replaced: what is there must be the bytes that were looked at. New bytes are on disk under
//! another name before they take a place. Never writes outside a root.

use std::io;
use std::path::Path;

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::content_hash;
use crate::domain::policy::path::WorkspacePath;
use crate::workspace::root::{Root, Roots, parse, refusal, short};
use crate::workspace::write::{Partial, current, new_parent, parent_of};

/// Puts bytes in the place of those with this hash, or where nothing is.
pub(super) fn bytes(
    roots: &Roots,
    (root, path): (&str, &str),
    expected: Option<&str>,
    bytes: &[u8],
    mode: Option<u32>,
) -> Result<(), CodedError> {
    let path = parse(path)?;
    let root = roots.choose(Some(root))?;
    let place = root.locate(&path)?;
    let refuse = |error: io::Error| refusal(&error, &path);
    let Some(place) = place else {
        if expected.is_some() {
            return Err(moved_on(&path));
        }
        let name = path.file_name().ok_or_else(|| moved_on(&path))?.to_owned();
        let parent = new_parent(root, &path)?;
        let partial = Partial::create(&parent, bytes, None).map_err(refuse)?;
        partial.set_mode(mode).map_err(refuse)?;
        return partial.appear(Path::new(&name)).map_err(refuse);
    };
    let now = current(&*root.dir()?, &place, &path)?;
    if expected != Some(content_hash(&now.bytes).as_str()) {
        return Err(moved_on(&path));
    }
    let (parent, name) = parent_of(root, &place, &path)?;
    let partial = Partial::create(&parent, bytes, Some(&now)).map_err(refuse)?;
    partial.set_mode(mode).map_err(refuse)?;
    partial.replace(&name).map_err(refuse)
}

/// Takes a file away whose bytes have this hash, and as many of the folders above it as the turn made, where nothing is left in
/// them.
pub(super) fn absence(
    roots: &Roots,
    (root, path): (&str, &str),
    expected: &str,
    new_folders: u32,
) -> Result<(), CodedError> {
    let path = parse(path)?;
    let root = roots.choose(Some(root))?;
    let Some(place) = root.locate(&path)? else { return Ok(()) };
    let now = current(&*root.dir()?, &place, &path)?;
    if expected != content_hash(&now.bytes) {
        return Err(moved_on(&path));
    }
    let (parent, name) = parent_of(root, &place, &path)?;
    parent.remove_file(&name).map_err(|error| refusal(&error, &path))?;
    remove_empty(root, &path, new_folders);
    Ok(())
}

fn remove_empty(root: &Root, path: &WorkspacePath, new_folders: u32) {
    let Ok(dir) = root.dir() else { return };
    let mut above = path.parent();
    for _ in 0..new_folders {
        let Some(folder) = above.filter(|folder| !folder.is_root()) else { return };
        // One that is not empty stays.
        if dir.remove_dir(folder.as_str()).is_err() {
            return;
        }
        above = folder.parent();
    }
}

/// Gives a file its old name again, where nothing has that name.
pub(super) fn name(
    roots: &Roots,
    root: &str,
    (path, old_path): (&str, &str),
    new_folders: u32,
) -> Result<(), CodedError> {
    let (path, old_path) = (parse(path)?, parse(old_path)?);
    let root = roots.choose(Some(root))?;
    let (Some(place), None) = (root.locate(&path)?, root.locate(&old_path)?) else {
        return Err(moved_on(&path));
    };
    let (from, name) = parent_of(root, &place, &path)?;
    let old_name = old_path.file_name().ok_or_else(|| moved_on(&old_path))?.to_owned();
    let into = new_parent(root, &old_path)?;
    // A link first: unlike a rename it fails where something came meanwhile.
    let moved = from.hard_link(&name, &into, &old_name).and_then(|()| from.remove_file(&name));
    moved
        .or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error),
            _ if into.symlink_metadata(&old_name).is_ok() => Err(error),
            _ => from.rename(&name, &into, &old_name),
        })
        .map_err(|error| refusal(&error, &path))?;
    remove_empty(root, &path, new_folders);
    Ok(())
}

fn moved_on(path: &WorkspacePath) -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        format!(
            "`{}` changed meanwhile, so it was left as it is; look at it and decide again.",
            short(path.as_str())
        ),
    )
}
