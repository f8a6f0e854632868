//! What a turn changed in the files of the workspace, in few words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::approval::ChangeKind;
use crate::domain::undo::{ChangedBy, FileState, ReviewMark};

/// A file that a turn changed, in few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFileSummary {
    /// Relative to its folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Where it was, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What happened to it.
    pub change: ChangeKind,
    /// Lines that came.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
    /// Who did it.
    pub by: ChangedBy,
    /// How it stood when this was told.
    pub state: FileState,
    /// What was marked: the least mark of its hunks.
    pub review: ReviewMark,
}

/// What a turn changed, or what a revert did.
#[derive(Debug, PartialEq)]
pub struct TurnChanges<'a> {
    /// `seq` of the turn's prompt, or of the first event that told of the revert; absent in that one.
    pub prompt_seq: Option<u64>,
    /// The turn that was taken back.
    pub of_revert: Option<u64>,
    /// The files.
    pub files: Vec<ChangedFileSummary>,
    /// Files, and groups of files, that cannot be taken back.
    pub uncovered: u64,
    /// One sentence.
    pub text: &'a str,
}
