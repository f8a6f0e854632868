//! Files of the workspace: directories and pieces of a file.
//!
//! Owns where a piece may come from. Never names a place outside the workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_or_tab;
use crate::domain::edits::lines::LineRange;

/// Params of `bb/listFiles` (R000-30).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct ListFilesParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Directory relative to the workspace root; `""` or `.` is the root itself.
    pub path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Leave out what git ignores and what `.ignore` files name. Default false.
    pub gitignore: Option<bool>,
}

/// Result of `bb/listFiles`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListFilesResult {
    /// The directory, normalised.
    pub path: String,
    /// Its entries: directories first, then by name.
    pub entries: Vec<FileEntry>,
    /// True when there are more than 10,000.
    pub truncated: bool,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Relative to the workspace root.
    pub path: String,
    /// Last part of the path.
    pub name: String,
    /// What it is; links are not followed.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Bytes, for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symbolic link.
    Symlink,
}

/// Params of `bb/findFiles`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindFilesParams {
    /// What was typed of a path: its characters occur in the paths that are found, in this order.
    pub query: String,
    /// Most paths. Default 50, at most 200.
    pub limit: Option<u32>,
}

/// Result of `bb/findFiles`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindFilesResult {
    /// Files and folders, best first; a folder ends in `/`. Where several folders are open, each begins with the name of its own.
    pub paths: Vec<String>,
}

/// Params of `bb/readFileSnippet` (R000-31, R000-34). Without `headLines` and `tailLines`: from the start, up to
/// `maxBytes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct ReadFileSnippetParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// File relative to the workspace root.
    pub path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Most bytes of content. Default 65536, at most 1048576.
    pub max_bytes: Option<u64>,
    /// Lines from the start.
    pub head_lines: Option<u64>,
    /// Lines from the end.
    pub tail_lines: Option<u64>,
}

/// Result of `bb/readFileSnippet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileSnippetResult {
    /// The file, normalised.
    pub path: String,
    /// UTF-8; two ranges are joined by one line `⋯`.
    pub content: String,
    /// Size of the whole file in bytes.
    pub total_bytes: u64,
    /// True when `content` is not all.
    pub truncated: bool,
    /// Lines in `content`. A tail whose line numbers would need the whole of a huge file read has no range.
    pub ranges: Vec<LineRange>,
    /// Where it comes from.
    pub source: SnippetSource,
    /// The encoding the bytes were read in, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// Where a snippet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SnippetSource {
    /// An open buffer of the editor.
    Buffer,
    /// The file.
    Disk,
    /// The engine's copy.
    Engine,
}
