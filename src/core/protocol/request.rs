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

pub use self::approval::{ApprovalOutcome, ApprovePermissionParams, ApprovePermissionResult, RuleUpdate};
pub use self::artifact::{
    AttachmentPutParams, AttachmentPutResult, DownloadArtifactParams, DownloadArtifactResult,
};
pub use self::diff::{DiffSideUri, OpenDiffParams, OpenDiffResult, TextDocumentParams, TextDocumentResult};
pub use self::file::{
    FileEntry, FileKind, FindFilesResult, ListFilesResult, ReadFileSnippetResult, SnippetSource,
};
pub use self::file::{FindFilesParams, ListFilesParams, ReadFileSnippetParams};
pub use self::history::{
    EventBodyParams, EventBodyResult, EventsReadParams, EventsReadResult, ViewPageParams, ViewPageResult,
};
pub(crate) use self::init::WorkspaceTrustParams;
pub use self::init::{
    ConnectionStatus, EngineStatus, InitParams, InitResult, LastSeen, ServerIdentity, Subscribe,
};
pub use self::model::{CredentialScope, ModelProvider, ModelsCheckParams, ModelsCheckResult};
pub use self::model::{ModelEntry, ModelsResult, ProvidersResult, SetCredentialsParams};
pub use self::prompt::{
    Disposition, QueueItem, QueueParams, QueueResult, SendMessageParams, SendMessageResult, StopResult,
};
pub use self::resume::{RebuildResult, Resume, ResumeVerdict};
pub use self::session::CommandResult;
pub use self::session::{
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
pub struct Empty {}

/// What a schema says of params that name a session by its id or by its tab: one of the two is there.
pub(super) fn session_or_tab() -> Value {
    let with =
        |name: &str| json!({ "required": [name], "not": { "properties": { name: { "type": "null" } } } });
    json!([with("sessionId"), with("tabId")])
}
