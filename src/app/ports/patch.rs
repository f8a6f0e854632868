//! Jobs of the workspace edge about edits that are decided part by part, and about files as a whole.
//!
//! Owns shapes only. What is to be done is decided in `domain::approval::file_edit`, and by whom in `app::patches`.

use super::{AllowedEdit, Applied, FileJob, PatchWrite};
use crate::app::inbox::Answer;
use crate::domain::approval::{BaseFile, FileMode};
use crate::domain::coded_error::CodedError;

/// A job for an edit that is decided part by part; each reports a `PatchJobDone`.
#[derive(Debug)]
pub enum PatchJob {
    /// Reads the whole file that accepted parts are for.
    Base {
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// What waits for it; it comes back with it.
        write: Box<PatchWrite>,
    },
    /// Waits until a text with accepted hunks is written, on disk or in an editor.
    Written {
        /// What comes of the write.
        answer: Answer<Applied>,
        /// What waits for it; it comes back with it.
        write: Box<PatchWrite>,
    },
    /// Deletes or moves a file, or sets its mode.
    Change {
        /// What is to be done.
        change: DiskChange,
        /// What waits for it; it comes back with it.
        write: Box<PatchWrite>,
    },
    /// Says what files hold, when an edit of them is asked for.
    Hashes {
        /// Id of the session.
        session_id: String,
        /// The request.
        request_id: String,
        /// Which files; those without a hash are read.
        places: Vec<PatchPlace>,
    },
    /// Says what files hold, when an edit of them is allowed as a whole.
    Compare {
        /// What waits for it; it comes back with it.
        allowed: Box<AllowedEdit>,
        /// Which files; those without a hash are read.
        places: Vec<PatchPlace>,
    },
}

impl From<PatchJob> for FileJob {
    fn from(job: PatchJob) -> Self {
        Self::Patch(job)
    }
}

/// A job for an edit is done.
#[derive(Debug)]
pub enum PatchJobDone {
    /// The file was read (or not).
    Base {
        /// What waited for it.
        write: Box<PatchWrite>,
        /// The file, `None` when there is none.
        outcome: Result<Option<BaseFile>, CodedError>,
    },
    /// The text was written (or not).
    Written {
        /// What waited for it.
        write: Box<PatchWrite>,
        /// What is there now.
        outcome: Result<Applied, CodedError>,
    },
    /// The file was changed (or not).
    Changed {
        /// What waited for it.
        write: Box<PatchWrite>,
        /// What is there now.
        outcome: Result<DiskChanged, CodedError>,
    },
    /// What files hold.
    Hashes {
        /// Id of the session.
        session_id: String,
        /// The request.
        request_id: String,
        /// The same files; those that are not there, or cannot be read, have no hash.
        places: Vec<PatchPlace>,
    },
    /// What files hold whose edit is allowed (or they could not be looked at).
    Compared {
        /// What waited for it.
        allowed: Box<AllowedEdit>,
        /// The same files.
        outcome: Result<Vec<PatchPlace>, CodedError>,
    },
}

/// A file of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPlace {
    /// Which file of the edit it is.
    pub index: usize,
    /// Name of its root; `None` for the first.
    pub root: Option<String>,
    /// Relative to it.
    pub path: String,
    /// `sha256:<hex>` of its bytes, or of its buffer's text.
    pub hash: Option<String>,
}

/// Something that is done to a file as a whole, on disk, beneath its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskChange {
    /// Name of the root; `None` for the first.
    pub root: Option<String>,
    /// Relative to it.
    pub path: String,
    /// Hash of the bytes that may be changed; `None`: whatever it holds.
    pub base_hash: Option<String>,
    /// The session in whose open turn it is done; a turn's changes are kept, so that they can be taken back.
    pub turn: Option<String>,
    /// What is done to the file.
    pub kind: DiskChangeKind,
}

/// What is done to a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskChangeKind {
    /// It goes.
    Delete,
    /// It gets another path, where nothing may be.
    Move {
        /// Relative to the same root.
        to: String,
        /// The whole new text, where that changes; in the encoding that the file has.
        text: Option<String>,
        /// The mode that it gets.
        mode: Option<FileMode>,
    },
    /// It gets another mode.
    Mode(FileMode),
}

/// A file after something was done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskChanged {
    /// `sha256:<hex>` of its bytes; `None`: it is gone.
    pub hash: Option<String>,
    /// The mode that it had.
    pub mode_before: Option<FileMode>,
}
