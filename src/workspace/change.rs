//! `FileJob::Change` and `PatchJob::Change`: a file deleted, moved or given another mode, on disk.
//!
//! Owns that only what was looked at goes or moves, that nothing is written over, and that a file with unsaved text in an editor
//! is left alone. Never leaves a root: a link is taken away or moved itself, and nothing is done through one that leads out.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use ropey::Rope;

use super::charset::guess;
use super::root::{Root, Roots, parse, refusal, short};
use super::undo::ReplacedFile;
use super::write::{Current, Partial, conflict, current, encoded, expect, new_parent, settle};
use crate::app::ports::{DiskChange, DiskChangeKind, DiskChanged};
use crate::domain::approval::FileMode;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::text::{content_hash, decode};
use crate::domain::policy::path::WorkspacePath;
use crate::domain::policy::uri::spelling;

/// Does it, or says why not; then nothing was changed.
pub(super) fn change(
    roots: &Roots,
    wanted: &DiskChange,
    open: &Overlay,
    announce: &dyn Fn(&ReplacedFile<'_>),
) -> Result<DiskChanged, CodedError> {
    let path = parse(&wanted.path)?;
    let root = roots.choose(wanted.root.as_deref())?;
    let Some(name) = path.file_name().map(PathBuf::from) else {
        return Err(CodedError::new(ErrorCode::NotFound, "The folder itself is no file; name a file in it."));
    };
    let place = root.find(&path)?;
    let now = current(&*root.dir()?, &place, &path)?;
    if wanted.base_hash.is_some() {
        expect(Some(&now), wanted.base_hash.as_deref(), &path)?;
    }
    let mode_before = now.mode();
    let refuse = |error: io::Error| refusal(&error, &path);
    match &wanted.kind {
        DiskChangeKind::Mode(mode) => {
            now.set_mode(&*root.dir()?, &place, *mode).map_err(refuse)?;
            Ok(DiskChanged { hash: Some(content_hash(&now.bytes)), mode_before })
        }
        DiskChangeKind::Delete => {
            is_saved(root, &path, &now, open)?;
            let parent = parent_of(root, &path)?;
            announce(&gone(root, &path, &now));
            parent.remove_file(&name).map_err(refuse)?;
            settle(&parent).map_err(refuse)?;
            Ok(DiskChanged { hash: None, mode_before })
        }
        DiskChangeKind::Move { to, text, mode } => {
            is_saved(root, &path, &now, open)?;
            let parent = parent_of(root, &path)?;
            let from = MovedFile { root, parent, name, path: &path, now: &now };
            let to = parse(to)?;
            let bytes = text.as_deref().map(|text| encoded(text, &now, &path)).transpose()?;
            announce(&gone(root, &path, &now));
            let after = Some(bytes.as_deref().unwrap_or(&now.bytes));
            announce(&ReplacedFile { root: root.name(), path: to.as_str(), before: None, after });
            let hash = from.to(&to, text.as_deref(), *mode)?;
            Ok(DiskChanged { hash: Some(hash), mode_before })
        }
    }
}

/// What goes with a file that is deleted or moved.
fn gone<'a>(root: &'a Root, path: &'a WorkspacePath, now: &'a Current) -> ReplacedFile<'a> {
    ReplacedFile {
        root: root.name(),
        path: path.as_str(),
        before: Some((&now.bytes, now.bits())),
        after: None,
    }
}

/// A file on its way to another path.
struct MovedFile<'a> {
    root: &'a Root,
    /// The directory that it lies in.
    parent: Dir,
    name: PathBuf,
    path: &'a WorkspacePath,
    now: &'a Current,
}

impl MovedFile<'_> {
    /// Moves it, with another text where there is one; gives the hash of what is there then.
    fn to(
        &self,
        to: &WorkspacePath,
        text: Option<&str>,
        mode: Option<FileMode>,
    ) -> Result<String, CodedError> {
        let Some(name) = to.file_name() else {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                "The folder itself is no file; name a file in it.",
            ));
        };
        let occupied = || conflict(to, "exists already", None);
        if self.root.locate(to)?.is_some() {
            return Err(occupied());
        }
        let is_link = self.parent.symlink_metadata(&self.name).is_ok_and(|found| found.is_symlink());
        let bytes = match text {
            Some(_) if is_link => {
                return Err(conflict(self.path, "is a link, whose text is another file's", None));
            }
            Some(text) => Some(encoded(text, self.now, self.path)?),
            None => None,
        };
        let target = new_parent(self.root, to)?;
        let name = Path::new(name);
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => occupied(),
            _ => refusal(&error, to),
        };
        match &bytes {
            Some(bytes) => {
                let partial = Partial::create(&target, bytes, Some(self.now)).map_err(refuse)?;
                partial.appear(name).map_err(refuse)?;
                self.drop_old(&target, name)?;
            }
            None if is_link => self.parent.rename(&self.name, &target, name).map_err(refuse)?,
            // A second name first: unlike a rename it never takes the place of something that came meanwhile.
            None => match self.parent.hard_link(&self.name, &target, name) {
                Ok(()) => self.drop_old(&target, name)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(occupied()),
                Err(_) if target.symlink_metadata(name).is_err() => {
                    self.parent.rename(&self.name, &target, name).map_err(refuse)?;
                }
                Err(_) => return Err(occupied()),
            },
        }
        if let Some(mode) = mode.filter(|_| !is_link) {
            self.now.set_mode(&target, name, mode).map_err(refuse)?;
        }
        settle(&target).map_err(refuse)?;
        settle(&self.parent).map_err(refuse)?;
        Ok(content_hash(bytes.as_deref().unwrap_or(&self.now.bytes)))
    }

    /// Takes the old name away, if what it names is still what was read; else the new one.
    fn drop_old(&self, target: &Dir, name: &Path) -> Result<(), CodedError> {
        let still = current(&self.parent, &self.name, self.path)
            .and_then(|then| expect(Some(&then), Some(&content_hash(&self.now.bytes)), self.path));
        let gone = match still {
            Ok(()) => self.parent.remove_file(&self.name).map_err(|error| refusal(&error, self.path)),
            Err(error) => Err(error),
        };
        if gone.is_err() {
            // Both names are there otherwise; the failure before is the one to tell.
            let _ = target.remove_file(name);
        }
        gone
    }
}

/// The directory that a path lies in.
fn parent_of(root: &Root, path: &WorkspacePath) -> Result<Dir, CodedError> {
    let parent = path.parent().unwrap_or_else(WorkspacePath::root);
    root.dir()?.open_dir(root.find(&parent)?).map_err(|error| refusal(&error, path))
}

/// What an editor has open and has not saved must not lose its file.
fn is_saved(root: &Root, path: &WorkspacePath, now: &Current, open: &Overlay) -> Result<(), CodedError> {
    let uri = root.uri_of(path);
    let wanted = spelling(&uri);
    let is_same = |text: &Rope| {
        decode(&now.bytes, |bytes| guess([bytes])).is_ok_and(|decoded| *text == decoded.text.as_str())
    };
    let saved = match open.iter().find(|(known, _)| spelling(known) == wanted) {
        Some((_, document)) => is_same(&document.text),
        None => !open.hides(&uri),
    };
    match saved {
        true => Ok(()),
        false => Err(CodedError::new(
            ErrorCode::Conflict,
            format!(
                "`{}` has unsaved changes in an editor, so it was left as it is; save it and decide again.",
                short(path.as_str())
            ),
        )),
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
