//! What turns changed in the files, on the wire: told, marked, and taken back.
//!
//! Owns shapes only (wire.md section 2, `bb/turn/*`). A turn is named by the `seq` of its `local.prompt`, a revert by that of the
//! `local.changes` that told of it; both are given to the same requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::approval::ChangeKind;
use crate::domain::edits::take_back::HunkStanding;
use crate::domain::undo::{BeforeSource, ChangedBy, ChangesKind, FileState, ReviewMark, UncoveredFile};

/// Params of `bb/turn/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct TurnListParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Most turns; 50 without.
    pub limit: Option<u64>,
}

/// Result of `bb/turn/list`: the turns, and the reverts, that changed something, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnListResult {
    /// They.
    pub turns: Vec<ListedTurn>,
}

/// A turn that changed files, in few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedTurn {
    /// Names it.
    pub turn: u64,
    /// Whether a turn or a revert.
    pub kind: ChangesKind,
    /// The turn that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// When it began, in milliseconds since the Unix epoch.
    pub at: i64,
    /// First line of its prompt.
    pub text: String,
    /// How many files.
    pub files: u64,
    /// Lines that came.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
    /// Whether it goes on.
    pub running: bool,
}

/// Params of `bb/turn/changes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct TurnChangesParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which turn; without, the newest that changed something.
    pub turn: Option<u64>,
    /// Only this file, relative to its folder.
    pub file_path: Option<String>,
    /// Name of the folder, where several are open.
    pub root: Option<String>,
}

/// Result of `bb/turn/changes`. It comes once the end of the turn was looked at; of a turn that runs it tells what is known so far.
/// How a file stands is read from the file at this moment: from the buffer where it is open, else from the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnChangesResult {
    /// Names the turn.
    pub turn: u64,
    /// Whether a turn or a revert.
    pub kind: ChangesKind,
    /// The turn that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Whether it goes on.
    pub running: bool,
    /// The files, in order of folder and path.
    pub files: Vec<TurnFile>,
    /// What cannot be taken back.
    pub uncovered: Vec<UncoveredFile>,
    /// What is kept for taking back, in all.
    pub storage: TurnStorage,
}

/// A file that a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFile {
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
    /// What the turn changed, as a unified diff. Absent of what is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The diff was too long, or cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// It is no text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Who did it.
    pub by: ChangedBy,
    /// How what was there before is known.
    pub source: BeforeSource,
    /// How it stands.
    pub state: FileState,
    /// What was marked: the least mark of its hunks.
    pub review: ReviewMark,
    /// Whether `bb/turn/revert` would take something of it back.
    pub can_revert: bool,
    /// Why not, or what else there is to know, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// In the order of the file; none of what is no text.
    pub hunks: Vec<TurnHunk>,
}

/// A hunk of what a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnHunk {
    /// Made of what it changes; the same as that of the hunk in `bb/patch/get`, where it was proposed so.
    pub id: String,
    /// First line before, from 1; 0 of a new file.
    pub old_start: u64,
    /// Lines before.
    pub old_lines: u64,
    /// First line after the turn, from 1.
    pub new_start: u64,
    /// Lines after.
    pub new_lines: u64,
    /// Its lines with their ` `, `-` or `+`; what would not be seen in them is written out.
    pub content: String,
    /// How it stands.
    pub state: HunkStanding,
    /// What was marked.
    pub review: ReviewMark,
    /// Where its new lines are now, without those around them. Absent unless they stand as they were left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<TurnHunkPlace>,
}

/// Lines of a file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnHunkPlace {
    /// First line, from 1.
    pub start_line: u64,
    /// Last line, inclusive. One less than `startLine` where lines were only taken out: the place before that line.
    pub end_line: u64,
}

/// What is kept on disk so that turns can be taken back, of all sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStorage {
    /// Bytes in use.
    pub bytes: u64,
    /// Most bytes that are kept; the oldest go first.
    pub budget_bytes: u64,
    /// How long they are kept, in milliseconds.
    pub max_age_ms: u64,
}

/// Params of `bb/turn/revert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct TurnRevertParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which turn, or which revert.
    pub turn: u64,
    /// Only this file.
    pub file_path: Option<String>,
    /// Name of its folder, where several are open.
    pub root: Option<String>,
    /// Only these hunks.
    pub hunks: Option<Vec<String>>,
    /// Only tell what it would do. Needs no trust.
    #[serde(default)]
    pub preview: bool,
}

/// Result of `bb/turn/revert`. It comes once everything is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRevertResult {
    /// The turn.
    pub turn: u64,
    /// Whether it only tells what would be done.
    pub preview: bool,
    /// Names the changes of this revert: given as `turn`, it takes them back. Absent where nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<u64>,
    /// The files.
    pub files: Vec<TurnRevertFile>,
}

/// What became of a file that was to be taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRevertFile {
    /// Relative to its folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The path that it gets back, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What became of it.
    pub outcome: RevertOutcome,
    /// What the revert does to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeKind>,
    /// Lines that come.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
    /// From how it is now to how it will be, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// It is open in an editor and changed there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Hunks that are left alone because they are marked as kept.
    #[serde(default, skip_serializing_if = "is_none")]
    pub kept: u64,
    /// Why it is a conflict, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The hunks that somebody changed since, with both sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<RevertConflict>,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// What became of a file that was to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RevertOutcome {
    /// It was taken back, or of a preview would be.
    Reverted,
    /// It went on since, so nothing of it was changed.
    Conflict,
    /// There was nothing to take back: that was done before, or it is kept.
    Unchanged,
}

/// A hunk that cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevertConflict {
    /// The hunk.
    pub id: String,
    /// First line in the file as it is now, from 1.
    pub line: u64,
    /// What stands there.
    pub yours: String,
    /// What would stand there.
    pub theirs: String,
}

/// Params of `bb/turn/review`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct TurnReviewParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which turn, or which revert.
    pub turn: u64,
    /// Only this file.
    pub file_path: Option<String>,
    /// Name of its folder, where several are open.
    pub root: Option<String>,
    /// Only these hunks.
    pub hunks: Option<Vec<String>>,
    /// What is marked.
    pub mark: ReviewMark,
}

/// Result of `bb/turn/review`: the files as they are marked now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnReviewResult {
    /// The turn.
    pub turn: u64,
    /// The files that were named.
    pub files: Vec<ReviewedFile>,
}

/// How a file is marked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedFile {
    /// Relative to its folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The least mark of its hunks.
    pub review: ReviewMark,
    /// Its hunks.
    pub hunks: Vec<ReviewedHunk>,
}

/// How a hunk is marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedHunk {
    /// The hunk.
    pub id: String,
    /// What was marked.
    pub review: ReviewMark,
}
