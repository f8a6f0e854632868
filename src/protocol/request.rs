//! Params and results of every `bb/*` request (wire.md section 2). One pair a method, named after it.
//!
//! Extra fields are accepted and have no effect; a missing or wrongly typed field is `invalid_params`; `null` on an optional
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
use serde_json::{Value, json};

pub(crate) use self::approval::{
    ApprovalOutcome, ApprovePermissionParams, ApprovePermissionResult, RuleUpdate,
};
pub(crate) use self::artifact::{
    AttachmentPutParams, AttachmentPutResult, DownloadArtifactParams, DownloadArtifactResult,
};
pub(crate) use self::diff::{
    DiffSideUri, OpenDiffParams, OpenDiffResult, TextDocumentParams, TextDocumentResult,
};
pub(crate) use self::file::{
    FileEntry, FileKind, FindFilesResult, ListFilesResult, ReadFileSnippetResult, SnippetSource,
};
pub use self::file::{FindFilesParams, ListFilesParams, ReadFileSnippetParams};
pub(crate) use self::history::{
    EventBodyParams, EventBodyResult, EventsReadParams, EventsReadResult, ViewPageParams, ViewPageResult,
};
pub(crate) use self::init::{
    ConnectionStatus, EngineStatus, InitParams, InitResult, LastSeen, ServerIdentity, Subscribe,
    WorkspaceTrustParams,
};
pub use self::model::{CredentialScope, ModelProvider, ModelsCheckParams, ModelsCheckResult};
pub(crate) use self::model::{ModelEntry, ModelsResult, ProvidersResult, SetCredentialsParams};
pub(crate) use self::prompt::{
    Disposition, QueueItem, QueueParams, QueueResult, SendMessageParams, SendMessageResult, StopResult,
};
pub(crate) use self::resume::{RebuildResult, Resume, ResumeVerdict};
pub use self::session::CommandResult;
pub(crate) use self::session::{
    BranchEngine, BranchedFrom, CommandParams, CreateSessionParams, DeleteSessionResult, FoundIn,
    FoundPassage, HeldBy, ListSessionsParams, ListSessionsResult, SelectSessionResult, SessionBranchParams,
    SessionBranchResult, SessionParams, SessionPinParams, SessionPinResult, SessionRenameParams,
    SessionRenameResult, SessionResult, SessionSummary,
};

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// An empty answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Empty {}

/// What a schema says of params that name a session by its id or by its tab: one of the two is there.
pub(super) fn session_or_tab() -> Value {
    let with =
        |name: &str| json!({ "required": [name], "not": { "properties": { name: { "type": "null" } } } });
    json!([with("sessionId"), with("tabId")])
}
