//! Edits of engines hunk by hunk on the wire: what was proposed, what was decided of it, and what became of that.
//!
//! Owns shapes only (wire.md section 2, seed 002 with rulings 8 to 12 and 20).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::approval::{ChangeKind, ConflictSides, FileOutcome, HunkPart, HunkState};

/// Params of `bb/patch/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct PatchListParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
}

/// Result of `bb/patch/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchListResult {
    /// In the order in which they were proposed.
    pub patches: Vec<PatchSummary>,
}

/// A patch in few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchSummary {
    /// Names it.
    pub patch_id: String,
    /// The request for permission that it belongs to.
    pub request_id: String,
    /// How it stands as a whole.
    pub status: FileOutcome,
    /// Its files.
    pub files: Vec<ListedPatchFile>,
}

impl PatchSummary {
    /// Whether something of it stands in the files.
    pub fn is_applied(&self) -> bool {
        matches!(self.status, FileOutcome::Applied | FileOutcome::Partly)
    }
}

/// A file of a patch in few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedPatchFile {
    /// Relative to the workspace folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Lines that the patch adds.
    pub added: u64,
    /// Lines that it removes.
    pub removed: u64,
    /// What became of it.
    pub outcome: FileOutcome,
}

/// Params of `bb/patch/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchGetParams {
    /// The patch.
    pub patch_id: String,
    /// Id of its session, where it is known.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
}

/// Result of `bb/patch/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchGetResult {
    /// The patch, whole.
    pub patch: ProposedPatch,
}

/// A patch with its hunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedPatch {
    /// Names it.
    pub patch_id: String,
    /// Its session.
    pub session_id: String,
    /// The request for permission that it belongs to.
    pub request_id: String,
    /// That of the request: `bb/patch/decide` may carry it back.
    pub digest: String,
    /// How it stands as a whole.
    pub status: FileOutcome,
    /// Why the engine wants it, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// How it can be checked, in the engine's words, where it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// Its files.
    pub files: Vec<PatchFile>,
}

/// A file of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchFile {
    /// Relative to the workspace folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What happens to it.
    pub change: ChangeKind,
    /// Where it is now, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// `sha256:<hex>` of what it held when the edit was proposed: its bytes, or its text in the editor where it was open there.
    /// Absent of a file that was not there, and until it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hash: Option<String>,
    /// What became of it.
    pub outcome: FileOutcome,
    /// `sha256:<hex>` of the file's bytes after it was written by this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_hash: Option<String>,
    /// Why it could not be written, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is there and what was wanted, where that is why. Neither is lost: the file is as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictSides>,
    /// What happens to the file as a whole, then its lines in their order.
    pub hunks: Vec<PatchHunkState>,
}

/// A hunk, and what was decided of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchHunkState {
    /// Made of what it changes: it stays while its neighbours come and go.
    pub id: String,
    /// What it changes. Of what is no change of lines the numbers are 0, and `content` is the text of a file that goes, or empty.
    #[serde(default)]
    pub part: HunkPart,
    /// What it does, in words, where it is no change of lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// First line before, from 1; 0 of a new file.
    pub old_start: u64,
    /// Lines before.
    pub old_lines: u64,
    /// First line after, from 1, where all of the patch is applied.
    pub new_start: u64,
    /// Lines after.
    pub new_lines: u64,
    /// Its lines with their ` `, `-` or `+`; what would not be seen in them is written out.
    pub content: String,
    /// What was decided.
    pub state: HunkState,
    /// Why, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True where the user changed it first; `content` is what the user made of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

/// What a decision is on (R002-45).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchScope {
    /// Everything that is not decided yet.
    All,
    /// What is not decided yet of one file.
    File,
    /// The hunks that are named; without names the only hunk of the file.
    Hunk,
}

/// A decision on one hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkDecision {
    /// The hunk.
    pub id: String,
    /// Whether it is to be made.
    pub accepted: bool,
    /// Why, for the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is to be made in its place, of one that is accepted: its lines with their ` `, `-` or `+`, written as in `content` of the
    /// hunk. Those with ` ` and `-` must together be those of the hunk, since they say where it belongs; a `-` may become a ` `.
    /// Anything else is `invalid_params`. The engine is told what was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// Params of `bb/patch/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchDecideParams {
    /// The patch.
    pub patch_id: String,
    /// Id of its session, where it is known.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// What is decided.
    pub scope: PatchScope,
    /// Whether it is to be made, of scope `all` and `file`.
    #[serde(default = "yes")]
    pub accepted: bool,
    /// The file, of scope `file`, and of scope `hunk` without names.
    pub file_path: Option<String>,
    /// Name of its folder, where several are open.
    pub root: Option<String>,
    /// The hunks, of scope `hunk`.
    pub hunks: Option<Vec<HunkDecision>>,
    /// The digest that was shown with the patch; another one is refused with `conflict`.
    pub digest: Option<String>,
}

fn yes() -> bool {
    true
}

/// Params of `bb/patch/revert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchRevertParams {
    /// The patch.
    pub patch_id: String,
    /// Id of its session, where it is known.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Only this file.
    pub file_path: Option<String>,
    /// Name of its folder, where several are open.
    pub root: Option<String>,
}

/// Result of `bb/patch/decide` and `bb/patch/revert`: how each file stands. It comes once everything that was decided is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchFilesResult {
    /// The patch.
    pub patch_id: String,
    /// Its files.
    pub files: Vec<PatchFileOutcome>,
}

/// What became of a file of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchFileOutcome {
    /// Relative to the workspace folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What became of it; `pending` while a hunk of the patch waits for its decision.
    pub outcome: FileOutcome,
    /// `sha256:<hex>` of the file's bytes after it was written by this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_hash: Option<String>,
    /// Why it was not written, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is there and what was wanted, where that is why. Neither is lost: the file is as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictSides>,
}
