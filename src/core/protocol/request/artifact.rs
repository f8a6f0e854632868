//! Bytes that belong to a session: attachments that go in, artifacts that come out.
//!
//! Owns how they are named. Never carries the bytes of an artifact: it says in which file they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session_or_tab;

/// Params of `bb/downloadArtifact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadArtifactParams {
    /// Id of the session.
    pub session_id: String,
    /// Path of the artifact, in the engine's words.
    pub artifact_path: String,
    /// A string or a number: `$/progress` is told under it while bytes come. To cancel, cancel the request.
    pub work_done_token: Option<Value>,
}

/// Result of `bb/downloadArtifact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadArtifactResult {
    /// As it was asked for.
    pub artifact_path: String,
    /// `file:` URI of the bytes; they stay until the session is deleted or the artifact is downloaded again.
    pub uri: String,
    /// How many.
    pub bytes: u64,
    /// SHA-256 of them, in hex.
    pub sha256: String,
}

/// Params of `bb/attachment/put`: `uri` (a file of the editor's) or `base64`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct AttachmentPutParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Name of the file.
    pub name: String,
    /// `file:` URI.
    pub uri: Option<String>,
    /// The bytes.
    pub base64: Option<String>,
    /// MIME type; decided by content where it is not given.
    pub mime: Option<String>,
}

/// Result of `bb/attachment/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentPutResult {
    /// Id for `attachmentIds`.
    pub attachment_id: String,
    /// Size.
    pub bytes: u64,
    /// Type.
    pub mime: String,
}
