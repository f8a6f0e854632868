//! Requests from server to editor (wire.md section 4), as far as they are ours and not standard LSP.
//!
//! Owns their shapes. Never sends anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `bb/document/save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveParams {
    /// The document, as the editor spells it where it told of it.
    pub uri: String,
    /// Version of the text that is to be saved: of another one nothing is saved. Null where the editor has not told of the document.
    pub version: Option<i64>,
}

/// Result of `bb/document/save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveResult {
    /// Whether the document is on disk now, with what the editor changes when it saves.
    pub saved: bool,
}
