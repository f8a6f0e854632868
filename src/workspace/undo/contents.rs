//! What a file holds now, and what it held: as text where it is text.
//!
//! Owns the order: the buffer of an editor before the disk. Never writes.

use std::path::Path;
use std::sync::Arc;

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::text::{content_hash, decode};
use crate::domain::policy::redact::Redactor;
use crate::domain::undo::{FileImage, ImageForm, NowContent};
use crate::workspace::charset::guess;
use crate::workspace::root::{Roots, parse};
use crate::workspace::snippet::open_document;
use crate::workspace::write::current;

use super::images::SessionPlace;

/// What a job works with.
pub(super) struct UndoDesk<'a> {
    pub(super) roots: &'a Roots,
    pub(super) state_dir: Option<&'a Path>,
    pub(super) overlay: &'a Overlay,
    /// What is never kept.
    pub(super) secrets: Arc<Redactor>,
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileNow {
    /// What it holds for whoever looks at it: the buffer where it is open.
    pub(super) content: NowContent,
    /// Whether it is open in an editor.
    pub(super) is_open: bool,
    /// The bytes on disk.
    pub(super) disk: Option<Vec<u8>>,
}

impl UndoDesk<'_> {
    /// Where things of a session are kept; `None`: nowhere.
    pub(super) fn place(&self, session_id: &str) -> Option<SessionPlace> {
        self.state_dir
            .map(|state_dir| SessionPlace::of(state_dir, session_id).hiding(Arc::clone(&self.secrets)))
    }

    /// Name of a root as the wire has it: only where several are open.
    pub(super) fn told_root(&self, root: &str) -> Option<String> {
        self.roots.are_several().then(|| root.to_owned())
    }

    /// Name of the root that a request means.
    pub(super) fn root_name(&self, root: Option<&str>) -> Result<String, CodedError> {
        self.roots.choose(root).map(|root| root.name().to_owned())
    }

    /// What a file holds now.
    pub(super) fn now(&self, root: &str, path: &str) -> Result<FileNow, CodedError> {
        let path = parse(path)?;
        let root = self.roots.choose(Some(root))?;
        let place = root.locate(&path)?;
        let buffer = open_document(root, &path, place.as_deref(), self.overlay)
            .map(|(_, document)| document.text.to_string());
        let disk = match &place {
            Some(place) => Some(current(&*root.dir()?, place, &path)?.bytes),
            None => None,
        };
        let content = match (&buffer, &disk) {
            (Some(text), Some(_)) => NowContent::Text(text.clone()),
            // A buffer whose file is gone is what an editor still shows of it.
            (_, None) => NowContent::Absent,
            (None, Some(bytes)) => read(bytes),
        };
        Ok(FileNow { content, is_open: buffer.is_some(), disk })
    }

    /// What was kept of a file at some time. Refused when it is kept no more.
    pub(super) fn kept(&self, session_id: &str, image: Option<&FileImage>) -> Result<NowContent, CodedError> {
        let Some(image) = image else { return Ok(NowContent::Absent) };
        let bytes = self.kept_bytes(session_id, image)?;
        Ok(match image.form {
            ImageForm::Disk => read(&bytes),
            ImageForm::Buffer => NowContent::Text(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// The same, as bytes.
    pub(super) fn kept_bytes(&self, session_id: &str, image: &FileImage) -> Result<Vec<u8>, CodedError> {
        self.place(session_id).and_then(|place| place.content(image)).ok_or_else(expired)
    }
}

/// Permission bits.
#[cfg(unix)]
pub(super) fn bits(metadata: &cap_std::fs::Metadata) -> Option<u32> {
    use cap_std::fs::MetadataExt;
    Some(metadata.mode() & 0o7777)
}

/// Permission bits, which this system does not have.
#[cfg(not(unix))]
pub(super) fn bits(_: &cap_std::fs::Metadata) -> Option<u32> {
    None
}

/// Bytes as text, where they are.
pub(super) fn read(bytes: &[u8]) -> NowContent {
    match decode(bytes, |bytes| guess([bytes])) {
        Ok(decoded) if !decoded.malformed => NowContent::Text(decoded.text),
        Ok(_) | Err(_) => NowContent::Bytes(content_hash(bytes)),
    }
}

fn expired() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "What the file held then is not kept any more, so it cannot be taken back here; look into the history of the files.",
    )
}
