//! `FileJob::Diff`: two sides read and compared, or one side as a document.
//!
//! Owns the answer: which URI stands for which side, the heading, what is said when there is nothing. Never decides whether
//! a client may see it.

use std::path::Path;

use super::root::{Root, Roots, short};
use super::side::{DiffFile, SideText, downloaded};
use crate::app::ports::{DiffFor, DiffJob, DiffRoot, DiffSide, Found};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::compare::{self, compare};
use crate::domain::edits::diff_uri::DiffDocument;
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::reference::Reference;
use crate::domain::policy::path::WorkspacePath;
use crate::domain::shown::{Kind, show};
use crate::protocol::request::{DiffSideUri, OpenDiffResult, TextDocumentResult};

/// Bytes of a unified diff in an answer: far more than anybody reads, and small enough for every editor's reader.
pub(super) const MOST_UNIFIED_BYTES: usize = 1 << 20;

/// Reads, compares, answers.
pub(super) fn diff(roots: &Roots, overlay: &Overlay, job: DiffJob) {
    let DiffJob { client: _, session_id, root, path, left, purpose } = job;
    let place = choose(roots, &root).map(|root| DiffFile::find(root, &path, overlay));
    // With one folder its name is needed only where the client gave it.
    let says_root = roots.are_several() || !matches!(root, DiffRoot::Named(None) | DiffRoot::At(_, None));
    let work = Work { session_id, path: &path, place, says_root };
    match purpose {
        DiffFor::Comparison { right, reply } => {
            let outcome = work.compared(&left, &right, &|| reply.is_abandoned());
            reply.settle(outcome);
        }
        DiffFor::Document { reply } => {
            let outcome = work.document(&left, &|| reply.is_abandoned());
            reply.settle(outcome);
        }
    }
}

/// Deletes the artifacts of a session that is gone.
pub(super) fn drop_artifacts(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => {}
        // Most sessions have none.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "artifacts of a deleted session could not be deleted"),
    }
}

fn choose<'a>(roots: &'a Roots, root: &DiffRoot) -> Result<&'a Root, CodedError> {
    match root {
        DiffRoot::Named(name) => roots.choose(name.as_deref()),
        DiffRoot::At(directory, name) => {
            let root = roots.at(directory).ok_or_else(|| {
                CodedError::new(
                    ErrorCode::NotFound,
                    format!(
                        "The session works in `{}`, which is no folder of this workspace; open it in the editor first.",
                        short(&directory.to_string_lossy())
                    ),
                )
            })?;
            match name {
                Some(name) if name != root.name() => Err(CodedError::new(
                    ErrorCode::NotFound,
                    format!(
                        "The session works in the folder `{}`, not in `{}`; name that one, or none.",
                        short(root.name()),
                        short(name)
                    ),
                )),
                Some(_) | None => Ok(root),
            }
        }
        DiffRoot::Unknown => Err(CodedError::new(
            ErrorCode::Unsupported,
            "The engine does not say in which folder this session works; name the folder as `root`.",
        )),
    }
}

struct Work<'a> {
    session_id: String,
    path: &'a WorkspacePath,
    /// Whether URIs name the root.
    says_root: bool,
    /// Artifacts need none.
    place: Result<DiffFile<'a>, CodedError>,
}

impl Work<'_> {
    fn compared(
        &self,
        left: &DiffSide,
        right: &DiffSide,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<OpenDiffResult, CodedError> {
        let (before, after) = (self.read(left, is_abandoned), self.read(right, is_abandoned));
        let (before, after) = (before?, after?);
        if before.text.is_none() && after.text.is_none() {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                format!(
                    "There is no `{}` in `{}` nor in `{}`; name a file that one of them has.",
                    short(self.path.as_str()),
                    short(&left.reference.to_string()),
                    short(&right.reference.to_string())
                ),
            ));
        }
        let found = compare(
            self.path.as_str(),
            compare::Side { text: before.text.as_deref(), cut: before.cut },
            compare::Side { text: after.text.as_deref(), cut: after.cut },
            MOST_UNIFIED_BYTES,
        );
        Ok(OpenDiffResult {
            title: format!(
                "{} ({} ↔ {})",
                show(self.path.as_str(), Kind::Code),
                show(&left.reference.to_string(), Kind::Code),
                show(&right.reference.to_string(), Kind::Code)
            ),
            left: DiffSideUri { uri: self.uri(left) },
            right: DiffSideUri { uri: self.uri(right) },
            unified: found.unified,
            added: found.added,
            removed: found.removed,
            truncated: found.truncated,
        })
    }

    fn document(
        &self,
        side: &DiffSide,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<TextDocumentResult, CodedError> {
        let read = self.read(side, is_abandoned)?;
        let buffer = self.place.as_ref().ok().and_then(|place| place.buffer.as_ref());
        Ok(TextDocumentResult {
            // A side without the file is an empty document: that is what stands beside a new or a deleted file.
            text: read.text.unwrap_or_default(),
            language_id: buffer.map(|(_, language_id, _)| language_id.clone()),
            truncated: read.cut.then_some(true),
        })
    }

    fn read(&self, side: &DiffSide, is_abandoned: &dyn Fn() -> bool) -> Result<SideText, CodedError> {
        if let Found::Downloaded(file) = &side.found {
            return downloaded(file);
        }
        if is_abandoned() {
            return Err(CodedError::new(ErrorCode::Cancelled, "Nobody waits for this any more."));
        }
        self.place.as_ref().map_err(Clone::clone)?.read(side, is_abandoned)
    }

    /// The editor's own document where it shows the same text, else one of ours.
    fn uri(&self, side: &DiffSide) -> String {
        let own = self.place.as_ref().ok().and_then(|place| match (&side.reference, &place.buffer) {
            (Reference::Buffer, Some((uri, _, _))) => Some(uri.clone()),
            // For an open file the editor would show the buffer.
            (Reference::Buffer | Reference::Disk, None) if place.is_on_disk() => {
                Some(place.root.uri_of(self.path))
            }
            _ => None,
        });
        own.unwrap_or_else(|| {
            let root = self.place.as_ref().ok().filter(|_| self.says_root);
            let document = DiffDocument {
                session_id: self.session_id.clone(),
                root: root.map(|place| place.root.name().to_owned()),
                reference: side.reference.clone(),
                path: self.path.clone(),
            };
            document.to_string()
        })
    }
}

#[cfg(all(test, unix))]
#[path = "diff_tests.rs"]
mod tests;
