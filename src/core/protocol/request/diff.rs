//! `bb/openDiff`, and the documents that its sides are.
//!
//! Owns how its sides are named. Never compares: `domain::edits` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_or_tab;

/// Params of `bb/openDiff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct OpenDiffParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// File relative to the workspace root; in a session of an engine that works in a folder of its own, to that folder.
    pub file_path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Before: `disk`, `buffer`, `git:<rev>`, `checkpoint:<id>`, `artifact:<path>` or `patch:<id>`. Default `git:HEAD`.
    pub before_ref: Option<String>,
    /// After, in the same words. Default `buffer`: the open buffer, or the disk where the file is not open.
    pub after_ref: Option<String>,
}

/// Result of `bb/openDiff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenDiffResult {
    /// One line for a heading.
    pub title: String,
    /// Before.
    pub left: DiffSideUri,
    /// After.
    pub right: DiffSideUri,
    /// Unified diff, git style; empty when both sides are equal. One that is cut still fits its headers.
    pub unified: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// True when a side is larger than 4 MiB, of which the start was compared, or `unified` than 1 MiB.
    pub truncated: bool,
}

/// One side of a diff as a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffSideUri {
    /// `file:` where the editor's own document is the side, else `bb-diff:`, for `bb/textDocument` or
    /// `workspace/textDocumentContent`.
    pub uri: String,
}

/// Params of `bb/textDocument`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextDocumentParams {
    /// A `bb-diff:` URI that `bb/openDiff` gave.
    pub uri: String,
}

/// Result of `bb/textDocument`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextDocumentResult {
    /// Its text; empty where the side has no such file.
    pub text: String,
    /// Language of the open buffer of the same file, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_id: Option<String>,
    /// Present, and true, when the text is larger than 4 MiB and only its start is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}
