//! Params and results of every `bb/*` request (wire.md section 2). One pair a method, named after it.
//!
//! Extra fields are accepted and ignored; a missing or wrongly typed field is `invalid_params`; `null` on an optional
//! field means absent. Owns what belongs to no resource; each of those has a file. Never has state.

mod approval;
mod artifact;
mod diff;
mod file;
mod history;
mod init;
mod model;
mod prompt;
mod resume;
mod session;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::approval::{ApprovalOutcome, ApprovePermissionParams, ApprovePermissionResult, RuleUpdate};
pub use self::artifact::{
    AttachmentPutParams, AttachmentPutResult, DownloadArtifactParams, DownloadArtifactResult,
};
pub use self::diff::{DiffSideUri, OpenDiffParams, OpenDiffResult, TextDocumentParams, TextDocumentResult};
pub use self::file::{
    FileEntry, FileKind, ListFilesParams, ListFilesResult, ReadFileSnippetParams, ReadFileSnippetResult,
    SnippetSource,
};
pub use self::history::{
    EventBodyParams, EventBodyResult, EventsReadParams, EventsReadResult, ViewPageParams, ViewPageResult,
};
pub use self::init::{
    ConnectionStatus, EngineStatus, InitParams, InitResult, LastSeen, ServerIdentity, Subscribe,
    WorkspaceTrustParams,
};
pub use self::model::{CredentialScope, ModelEntry, ModelsResult, SetCredentialsParams};
pub use self::prompt::{
    Disposition, QueueItem, QueueParams, QueueResult, SendMessageParams, SendMessageResult, StopResult,
};
pub use self::resume::{RebuildResult, Resume, ResumeVerdict};
pub use self::session::{
    CommandParams, CommandResult, CreateSessionParams, DeleteSessionResult, HeldBy, ListSessionsResult,
    SelectSessionResult, SessionParams, SessionResult, SessionSummary,
};
pub use crate::domain::edits::lines::LineRange;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// An empty answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// What a schema says of params that name a session by its id or by its tab: one of the two is there.
pub(super) fn session_or_tab() -> Value {
    let with =
        |name: &str| json!({ "required": [name], "not": { "properties": { name: { "type": "null" } } } });
    json!([with("sessionId"), with("tabId")])
}

/// A free map, for what belongs to an engine.
pub type Free = Map<String, Value>;
