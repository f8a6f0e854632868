//! What a client says to a desktop host over the socket (R002-28 to R002-53).
//!
//! Owns the shapes: what the seed names is required, of its type and of its words; what a client says besides is left alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::host_message::SessionCursor;
use crate::domain::context::shape::UserContext;
use crate::protocol::patch::{HunkDecision, PatchScope};

/// A message from a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum ClientMessage {
    /// The handshake, first of all.
    #[serde(rename = "client.hello")]
    Hello {
        /// Who speaks.
        client_info: ClientInfo,
        /// The version of the protocol that it speaks; the same first number is needed (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol_version: Option<String>,
        /// What it has of this session, from an earlier connection: `session.state` tells what became of it (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seen: Option<SessionCursor>,
        /// Whether this client wants to be told, message by message and each with its place, everything that followed
        /// `last_seen`, in place of the snapshot (additive). A `last_seen` with an empty epoch and number 0 has nothing yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replay: bool,
    },
    /// A prompt. While a turn runs it waits in the queue of the session.
    #[serde(rename = "client.user_message")]
    UserMessage {
        /// What is asked.
        message: String,
        /// What is in front of the user; `{}` where nothing is known.
        context: Box<UserContext>,
        /// The client's own id of it: the same id again does nothing (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// What changed in front of the user. It goes along with the next prompt of this client.
    #[serde(rename = "client.context_update")]
    ContextUpdate {
        /// The parts that changed, each whole.
        updates: Map<String, Value>,
    },
    /// The answer to a request for approval.
    #[serde(rename = "client.approval_response")]
    ApprovalResponse {
        /// Of the request; for a command its `command_id` says the same.
        request_id: String,
        /// Whether it may be done.
        approved: bool,
        /// What is decided: everything, one file, or hunks of one file.
        scope: PatchScope,
        /// The file, of scope `file` and `hunk`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_path: Option<String>,
        /// The hunks, of scope `hunk`; without them the only hunk of the file (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<HunkDecision>>,
        /// The `digest` of the request that was shown; another one is refused (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// What was filled in, where the request is a question (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    /// What became of a patch at the client.
    #[serde(rename = "client.patch_apply_result")]
    PatchApplyResult {
        /// The patch.
        patch_id: String,
        /// Its file.
        file_path: String,
        /// Whether it was applied.
        success: bool,
        /// Why not.
        error: Option<PatchApplyError>,
        /// `sha256:<hex>` of the file afterwards.
        applied_hash: Option<String>,
    },
    /// How a command ended that the client ran in its terminal.
    #[serde(rename = "client.command_result")]
    CommandResult {
        /// The command.
        command_id: String,
        /// Its line.
        command: String,
        /// Its exit code.
        exit_code: i64,
        /// What it printed.
        stdout: String,
        /// What it printed as errors.
        stderr: String,
        /// How long it ran.
        duration_ms: u64,
    },
    /// Ends the turn that runs, or takes back a prompt that waits.
    #[serde(rename = "client.cancel")]
    Cancel {
        /// For instance `user_cancelled`.
        reason: String,
        /// Takes back this prompt alone, where it waits behind another turn; one that has begun, or is not known, stays as it is
        /// (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// Files that changed.
    #[serde(rename = "client.file_changes")]
    FileChanges {
        /// Each file.
        changes: Vec<WatchedChange>,
    },
    /// Asks for `server.pong` (additive).
    #[serde(rename = "client.ping")]
    Ping {},
}

/// `client_info` of `client.hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientInfo {
    /// Its name; others are told it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it can do: `diff_preview`, `terminal_exec`, `git_integration`, or words of its own. `token_pieces`: it puts the pieces of an
    /// answer together itself, and so hears each at once and without everything so far (additive).
    pub capabilities: Vec<String>,
}

/// Why a patch was not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchApplyError {
    /// One sentence.
    pub message: String,
    /// For instance `conflict`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// `POST .../index/incremental`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChangesBody {
    /// Each file, as in `client.file_changes`.
    pub changes: Vec<WatchedChange>,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedChange {
    /// How.
    #[serde(rename = "type")]
    pub kind: WatchedKind,
    /// Relative to the workspace root.
    pub file_path: String,
    /// `sha256:<hex>` of it now, where there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// When: ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// How a file changed (R002-53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchedKind {
    /// It is new.
    Created,
    /// Its text changed.
    Modified,
    /// It is gone.
    Deleted,
}
