//! One side of a diff as text: from the buffer, the disk, a commit, a checkpoint, an artifact or a patch.
//!
//! Owns how much of a side is read and how it is cut. Never compares, and never reads outside a root but what was
//! downloaded for it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::charset::guess;
use super::git::{Blob, Entry, Repository};
use super::root::{Root, open_regular, parse, refusal, short};
use super::snippet::open_document;
use crate::app::ports::{DiffSide, Found, PatchText};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::apply::apply_hunks;
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::patch::{self, FilePatch, Hunk, LineKind};
use crate::domain::edits::reference::Reference;
use crate::domain::edits::text::{self, content_hash};
use crate::domain::policy::path::WorkspacePath;

/// Bytes of a side that are compared: above it no editor shows a diff, and everything is held in memory several times.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// Largest base of a patch; as large as a patch of ours may make a file.
const MOST_BASE_BYTES: usize = 16 << 20;

/// Where the engine keeps its checkpoints, in the folder where it works: a list of them, and a repository of its own.
const CHECKPOINTS: &str = ".breadboard/checkpoints/checkpoints.json";
const CHECKPOINT_REPOSITORY: &str = ".breadboard/checkpoints/git";

/// Bytes of that list that are read; an entry has some 250.
const MOST_LIST_BYTES: usize = 4 << 20;

/// The text of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SideText {
    /// The text; `None`: there is no such file.
    pub text: Option<String>,
    /// Whether more follows.
    pub cut: bool,
}

const ABSENT: SideText = SideText { text: None, cut: false };

/// Where the file of a diff is.
pub(super) struct DiffFile<'a> {
    /// Its root.
    pub root: &'a Root,
    /// As it was named.
    pub path: &'a WorkspacePath,
    /// Where it really is, `None`: nowhere.
    located: Result<Option<PathBuf>, CodedError>,
    /// Its open buffer: the editor's URI, the language and the text.
    pub buffer: Option<(String, String, String)>,
}

impl<'a> DiffFile<'a> {
    /// Finds the file.
    pub(super) fn find(root: &'a Root, path: &'a WorkspacePath, overlay: &Overlay) -> Self {
        let located = root.locate(path);
        let buffer = match &located {
            Ok(place) => open_document(root, path, place.as_deref(), overlay),
            Err(_) => None,
        };
        let buffer = buffer
            .map(|(uri, document)| (uri.to_owned(), document.language_id.clone(), document.text.to_string()));
        Self { root, path, located, buffer }
    }

    /// Whether the file is on disk.
    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self.located, Ok(Some(_)))
    }

    /// Reads a side of this file.
    pub(super) fn read(
        &self,
        side: &DiffSide,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<SideText, CodedError> {
        match (&side.reference, &side.found) {
            (_, Found::Downloaded(file)) => downloaded(file),
            (_, Found::Patch(patch)) => self.patched(patch, is_abandoned),
            (Reference::Buffer, Found::Nothing) => match self.buffer()? {
                Some(text) => Ok(shortened(text.to_owned(), false)),
                None => self.on_disk(),
            },
            (Reference::Disk, Found::Nothing) => self.on_disk(),
            (Reference::Git(revision), Found::Nothing) => self.in_commit(revision, is_abandoned),
            (Reference::Checkpoint(id), Found::Nothing) => self.in_checkpoint(id, is_abandoned),
            (Reference::Artifact(_) | Reference::Patch(_), Found::Nothing) => Err(CodedError::internal()),
        }
    }

    /// Not even an open buffer shows what lies outside.
    fn buffer(&self) -> Result<Option<&str>, CodedError> {
        self.located.as_ref().map_err(Clone::clone)?;
        Ok(self.buffer.as_ref().map(|(_, _, text)| text.as_str()))
    }

    fn on_disk(&self) -> Result<SideText, CodedError> {
        match self.bytes(MOST_BYTES)? {
            Some(blob) => decoded(blob, self.path.as_str()),
            None => Ok(ABSENT),
        }
    }

    fn bytes(&self, most: usize) -> Result<Option<Blob>, CodedError> {
        match self.located.as_ref().map_err(Clone::clone)? {
            Some(place) => file_in(self.root, place, self.path, most).map(Some),
            None => Ok(None),
        }
    }

    /// The repository is that of the file's own folder, so that one in a folder of the workspace is found too.
    fn in_commit(&self, revision: &str, is_abandoned: &dyn Fn() -> bool) -> Result<SideText, CodedError> {
        let entry = |path: &WorkspacePath| {
            let (directory, name) = self.nearest(path)?;
            let repository = Repository { directory, git_dir: None };
            repository.entry(revision, &name, MOST_BYTES, is_abandoned)
        };
        match entry(self.path)? {
            Entry::Absent => Ok(ABSENT),
            Entry::File(blob) => decoded(blob, self.path.as_str()),
            Entry::Link(blob) => match self.real_path() {
                // The link is followed on disk, so it is here.
                Some(real) => match entry(&real)? {
                    Entry::Absent => Ok(ABSENT),
                    Entry::File(blob) | Entry::Link(blob) => decoded(blob, self.path.as_str()),
                },
                None => decoded(blob, self.path.as_str()),
            },
        }
    }

    /// Where the file really is, when it is not where it was named.
    fn real_path(&self) -> Option<WorkspacePath> {
        let place = self.located.as_ref().ok()?.as_ref()?;
        let real = WorkspacePath::parse(&place.to_str()?.replace(std::path::MAIN_SEPARATOR, "/")).ok()?;
        (real != *self.path).then_some(real)
    }

    /// The nearest folder above a file that there is, and the rest of its path.
    fn nearest(&self, path: &WorkspacePath) -> Result<(PathBuf, String), CodedError> {
        let base = self.root.path()?;
        let mut folder = path.parent();
        while let Some(at) = folder.filter(|folder| !folder.is_root()) {
            if let Ok(Some(place)) = self.root.locate(&at)
                && self.root.dir()?.metadata(&place).is_ok_and(|found| found.is_dir())
            {
                let rest = path.as_str().get(at.as_str().len() + 1..).unwrap_or_default();
                return Ok((base.join(place), rest.to_owned()));
            }
            folder = at.parent();
        }
        Ok((base.to_owned(), path.as_str().to_owned()))
    }

    fn in_checkpoint(&self, id: &str, is_abandoned: &dyn Fn() -> bool) -> Result<SideText, CodedError> {
        #[derive(Deserialize)]
        struct SideCheckpoint {
            checkpoint_id: String,
            git_commit: String,
        }
        let unknown = || {
            CodedError::new(
                ErrorCode::NotFound,
                format!("There is no checkpoint `{}` here; list the checkpoints and choose one.", short(id)),
            )
        };
        let list = parse(CHECKPOINTS)?;
        let place = self.root.locate(&list)?.ok_or_else(unknown)?;
        let bytes = file_in(self.root, &place, &list, MOST_LIST_BYTES)?.bytes;
        let entries: Vec<serde_json::Value> = serde_json::from_slice(&bytes).map_err(|_| unknown())?;
        let commit = entries
            .into_iter()
            .filter_map(|entry| serde_json::from_value::<SideCheckpoint>(entry).ok())
            .find(|checkpoint| checkpoint.checkpoint_id == id)
            .map(|checkpoint| checkpoint.git_commit)
            // The list lies in the workspace, where anybody may have written it.
            .filter(|commit| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .ok_or_else(unknown)?;
        let git_dir = self.root.locate(&parse(CHECKPOINT_REPOSITORY)?)?.ok_or_else(unknown)?;
        let base = self.root.path()?;
        let repository = Repository { directory: base.to_owned(), git_dir: Some(base.join(git_dir)) };
        match repository.entry(&commit, self.path.as_str(), MOST_BYTES, is_abandoned)? {
            Entry::Absent => Ok(ABSENT),
            Entry::File(blob) | Entry::Link(blob) => decoded(blob, self.path.as_str()),
        }
    }

    /// The file as the patch leaves it: made from the text it was made for, wherever that still is; or the file itself,
    /// where the patch is in it already.
    fn patched(&self, patch: &PatchText, is_abandoned: &dyn Fn() -> bool) -> Result<SideText, CodedError> {
        let shown = self.path.as_str();
        if patch.file_path != shown && patch.file_path != format!("{}/{shown}", self.root.name()) {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                format!(
                    "The patch does not change `{}`; it changes `{}`.",
                    short(shown),
                    short(&patch.file_path)
                ),
            ));
        }
        let conflict = || {
            CodedError::new(
                ErrorCode::Conflict,
                format!(
                    "`{}` changed since the patch was made, so what the patch makes of it is not known; read its diff.",
                    short(shown)
                ),
            )
        };
        let files = patch::parse(&patch.diff).map_err(|_| conflict())?;
        let file = of_file(&files, &patch.file_path, shown).ok_or_else(conflict)?;
        if file.new_path.is_none() && file.old_path.is_some() {
            return Ok(ABSENT);
        }
        let mut bases = Vec::new();
        if let Some(text) = self.buffer()? {
            bases.push((content_hash(text.as_bytes()), text.to_owned()));
        }
        if let Some(blob) = self.bytes(MOST_BASE_BYTES)? {
            bases.push((content_hash(&blob.bytes), whole(blob, shown)?));
        }
        let made = |text: &str| apply_hunks(text, &file.hunks).map_err(|_| conflict());
        let text = match (&patch.base_hash, bases.as_slice()) {
            (None, []) => made("")?,
            (wanted, bases) => {
                let base = bases.iter().find(|(hash, _)| Some(hash) == wanted.as_ref());
                let done =
                    || bases.iter().find(|(_, text)| apply_hunks(text, &reversed(&file.hunks)).is_ok());
                match (base, wanted) {
                    (Some((_, text)), _) => made(text)?,
                    (None, wanted) => match (done(), wanted, bases.first()) {
                        (Some((_, text)), _, _) => text.clone(),
                        (None, None, Some((_, text))) => made(text)?,
                        (None, _, _) => {
                            made(&self.base_in_head(wanted.as_deref(), is_abandoned).ok_or_else(conflict)?)?
                        }
                    },
                }
            }
        };
        Ok(shortened(text, false))
    }

    /// The last commit still has the text that a patch was made from.
    fn base_in_head(&self, wanted: Option<&str>, is_abandoned: &dyn Fn() -> bool) -> Option<String> {
        let (directory, name) = self.nearest(self.path).ok()?;
        let repository = Repository { directory, git_dir: None };
        match repository.entry("HEAD", &name, MOST_BASE_BYTES, is_abandoned) {
            Ok(Entry::File(blob)) if Some(content_hash(&blob.bytes).as_str()) == wanted => {
                whole(blob, self.path.as_str()).ok()
            }
            Ok(Entry::File(_) | Entry::Absent | Entry::Link(_)) | Err(_) => None,
        }
    }
}

/// The part of a patch that is about this file.
fn of_file<'a>(files: &'a [FilePatch], named: &str, path: &str) -> Option<&'a FilePatch> {
    let is_it = |name: &Option<String>| name.as_deref().is_some_and(|name| name == named || name == path);
    match files {
        [only] => Some(only),
        files => files.iter().find(|file| is_it(&file.new_path) || is_it(&file.old_path)),
    }
}

/// The hunks that undo these.
fn reversed(hunks: &[Hunk]) -> Vec<Hunk> {
    let mut hunks = hunks.to_vec();
    for hunk in &mut hunks {
        std::mem::swap(&mut hunk.old_start, &mut hunk.new_start);
        for line in &mut hunk.lines {
            line.kind = match line.kind {
                LineKind::Added => LineKind::Removed,
                LineKind::Removed => LineKind::Added,
                LineKind::Context => LineKind::Context,
            };
        }
    }
    hunks
}

/// An artifact that was downloaded for this; it is deleted whatever comes of it.
pub(super) fn downloaded(path: &Path) -> Result<SideText, CodedError> {
    let outcome = File::open(path).and_then(|file| start_of(file, MOST_BYTES));
    let gone = fs::remove_file(path).and_then(|()| path.parent().map_or(Ok(()), fs::remove_dir));
    if let Err(error) = gone {
        tracing::debug!(%error, "a downloaded artifact stays until its session is deleted");
    }
    let blob = outcome.map_err(|error| {
        tracing::warn!(%error, "a downloaded artifact could not be read");
        CodedError::internal()
    })?;
    decoded(blob, &path.file_name().unwrap_or_default().to_string_lossy())
}

fn file_in(root: &Root, place: &Path, path: &WorkspacePath, most: usize) -> Result<Blob, CodedError> {
    let (file, _) = open_regular(&*root.dir()?, place, path)?;
    start_of(file, most).map_err(|error| refusal(&error, path))
}

fn start_of(file: impl Read, most: usize) -> io::Result<Blob> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Blob { bytes, cut })
}

/// All of a file as text.
fn whole(blob: Blob, shown: &str) -> Result<String, CodedError> {
    if blob.cut {
        return Err(CodedError::new(
            ErrorCode::TooLarge,
            format!(
                "`{}` is too large for a patch to be shown in it; read the patch's own diff.",
                short(shown)
            ),
        ));
    }
    text::decode(&blob.bytes, |bytes| guess([bytes]))
        .map(|decoded| decoded.text)
        .map_err(|text::NotText| not_text(shown, blob.bytes.len()))
}

/// The bytes as text, cut after a line when there are more.
fn decoded(mut blob: Blob, shown: &str) -> Result<SideText, CodedError> {
    if blob.cut {
        // A character of UTF-8 that was cut in two must not make the rest look like another encoding. Longer ones of
        // other encodings end a line earlier at most.
        if let Err(error) = std::str::from_utf8(&blob.bytes)
            && error.error_len().is_none()
        {
            blob.bytes.truncate(error.valid_up_to());
        }
    }
    let decoded = text::decode(&blob.bytes, |bytes| guess([bytes]))
        .map_err(|text::NotText| not_text(shown, blob.bytes.len()))?;
    Ok(shortened(decoded.text, blob.cut))
}

fn not_text(shown: &str, read: usize) -> CodedError {
    CodedError::new(
        ErrorCode::NotText,
        format!("`{}` is not text, so there are no lines to compare.", short(shown)),
    )
    .with_details(json!({ "size": read }))
}

/// A text of at most `MOST_BYTES`, whole lines where it is cut. One line that is longer is cut within.
fn shortened(mut text: String, was_cut: bool) -> SideText {
    let cut = was_cut || text.len() > MOST_BYTES;
    if cut {
        let most = (0..=MOST_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let end = memchr::memrchr(b'\n', &text.as_bytes()[..most]).map_or(most, |at| at + 1);
        text.truncate(end);
    }
    SideText { text: Some(text), cut }
}
