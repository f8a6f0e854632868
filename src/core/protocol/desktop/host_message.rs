//! What a desktop host says to its clients over the socket (R002-54 to R002-77).
//!
//! Owns the shapes. Additive to the seed, beside what `domain::dialect::desktop::message` names: `session.snapshot`,
//! `session.user_message`, `approval.settled`, `server.notice` and `server.pong`, and the fields that say so.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::HistoryEntry;
use super::refusal::DesktopRefusal;
use crate::domain::approval::{NamedClient, PermissionStatus};
use crate::domain::dialect::desktop::message::{
    FinalMetadata, PatchProposed, PlanStep, RetrieveStage, RiskLevel, ServerInfo, ThinkingPhase, ToolStatus,
};
use crate::domain::fact::NoticeLevel;
use crate::protocol::request::Resume;

/// A message from the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum HostMessage {
    /// First message of every connection.
    #[serde(rename = "server.hello")]
    Hello {
        /// Who speaks.
        server_info: ServerInfo,
        /// The version of the protocol (additive).
        #[serde(default)]
        protocol_version: String,
    },
    /// What the agent is busy with, and pieces of its reasoning.
    #[serde(rename = "assistant.thinking")]
    Thinking {
        /// The phase.
        phase: ThinkingPhase,
        /// One line for the user, or a piece of reasoning text.
        message: String,
    },
    /// A plan; a later one replaces an earlier one of the same turn.
    #[serde(rename = "agent.plan")]
    Plan {
        /// Steps in order.
        steps: Vec<PlanStep>,
        /// Why these steps; empty where the engine does not say.
        rationale: String,
    },
    /// How a search goes.
    #[serde(rename = "agent.retrieve.status")]
    RetrieveStatus {
        /// Which search.
        stage: RetrieveStage,
        /// Results so far.
        results_count: u64,
        /// One line for the user.
        message: String,
    },
    /// A tool began or ended; `call_id` pairs the two (additive).
    #[serde(rename = "tool.execute")]
    ToolExecute {
        /// Pairs an end with its start.
        #[serde(default)]
        call_id: String,
        /// Name of the tool, in its engine's words.
        tool_name: String,
        /// Its arguments.
        args: Map<String, Value>,
        /// Began, or how it ended.
        status: ToolStatus,
        /// The compact result; `null` while it runs.
        result: Value,
    },
    /// A change that waits for a decision. It is answered by the `request_id` of the `tool.request_approval` behind it.
    #[serde(rename = "patch.proposed")]
    PatchProposed(PatchProposed),
    /// Something other than a command waits for an approval.
    #[serde(rename = "tool.request_approval")]
    ToolRequestApproval {
        /// Names the request, for ever.
        request_id: String,
        /// `write_file` or `delete_file` of files, else the engine's own word.
        tool_name: String,
        /// `file_path` and `reason` of files, with the `patch_id` of their patch; else the arguments of the tool.
        args: Map<String, Value>,
        /// How risky.
        risk_level: RiskLevel,
        /// An answer may carry it back, so that it is an answer to what was shown (additive).
        #[serde(default)]
        digest: String,
    },
    /// A command waits for an approval.
    #[serde(rename = "command.request_approval")]
    CommandRequestApproval {
        /// Names the request, for ever (ruling 9).
        #[serde(default)]
        request_id: String,
        /// The same.
        command_id: String,
        /// The exact command line.
        command: String,
        /// Relative to the workspace root, `.` for the root; absolute outside of it.
        working_directory: String,
        /// Variables that are set for it.
        environment: BTreeMap<String, String>,
        /// Always true.
        requires_approval: bool,
        /// Why, where the engine says.
        reason: String,
        /// As in `tool.request_approval` (additive).
        #[serde(default)]
        digest: String,
    },
    /// A request for approval is settled: every client of the session hears it (additive).
    #[serde(rename = "approval.settled")]
    ApprovalSettled {
        /// The request.
        request_id: String,
        /// How.
        status: PermissionStatus,
        /// The client that answered; absent where a rule, a setting, the end of the turn or somebody outside this host did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<NamedClient>,
    },
    /// A piece of the answer.
    #[serde(rename = "assistant.token")]
    Token {
        /// The piece.
        token: String,
        /// All pieces of this turn so far. Absent where the client said `token_pieces` in its handshake, and of a turn that says more
        /// than a mebibyte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cumulative_text: Option<String>,
    },
    /// The end of a turn, exactly one; what made it fail comes before it as `server.error`.
    #[serde(rename = "assistant.message_final")]
    MessageFinal {
        /// The whole answer. Where it differs from the tokens, it counts.
        message: String,
        /// What the turn did.
        metadata: FinalMetadata,
    },
    /// Something failed. The socket lives on.
    #[serde(rename = "server.error")]
    Error {
        /// What.
        error: DesktopRefusal,
    },
    /// The state of the session, whenever it changes.
    #[serde(rename = "session.state")]
    State {
        /// The state.
        state: HostedState,
    },
    /// A prompt of any client of the session (additive).
    #[serde(rename = "session.user_message")]
    UserPrompt {
        /// What was asked.
        message: String,
        /// Id of the prompt, where its client gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The newest page of the transcript: after the handshake, and instead of what a slow client missed (additive).
    #[serde(rename = "session.snapshot")]
    Snapshot {
        /// Why it comes.
        reason: SnapshotReason,
        /// What it holds everything up to.
        cursor: SessionCursor,
        /// The entries, oldest first: the newest that fit in half a mebibyte.
        messages: Vec<HistoryEntry>,
        /// Whether the history has older ones.
        has_more: bool,
        /// The tokens of the turn that runs, put together; empty where they are more than a mebibyte.
        cumulative_text: String,
    },
    /// A sentence for the user (additive).
    #[serde(rename = "server.notice")]
    Notice {
        /// How loud.
        level: NoticeLevel,
        /// The sentence.
        message: String,
        /// Names what a program may act on: `slow_client`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// The answer to `client.ping` (additive).
    #[serde(rename = "server.pong")]
    Pong {
        /// ISO-8601, UTC.
        timestamp: String,
    },
}

/// A message of the transcript for a client that asked for `replay`: with where the session then stands (additive).
///
/// Whoever has a message with its `position`, and all before it, has everything up to there. Of the messages that belong
/// together the last has it, and the others say that more follows.
#[derive(Debug, Serialize)]
pub struct PlacedMessage<'a> {
    /// The message.
    #[serde(flatten)]
    pub message: &'a HostMessage,
    /// Where.
    #[serde(flatten)]
    pub place: MessagePlace<'a>,
}

/// Where a message stands.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum MessagePlace<'a> {
    /// Others follow that belong to it.
    Within {
        /// Always true.
        more: bool,
    },
    /// It is the last.
    At {
        /// The `last_seen` of a client that has it.
        position: &'a SessionCursor,
    },
}

/// `state` of `session.state` (R002-77).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostedState {
    /// Patches that wait.
    pub pending_patches: Vec<String>,
    /// Patches that were applied.
    pub applied_patches: Vec<String>,
    /// Requests for approval that wait.
    pub pending_approvals: Vec<String>,
    /// Step of the plan that runs, from 1; 0 without a plan.
    pub current_step: u64,
    /// Steps of the plan.
    pub total_steps: u64,
    /// Whether a turn runs (additive).
    #[serde(default)]
    pub running: bool,
    /// How far this client has been told (additive): the `last_seen` of its next `client.hello`.
    #[serde(default)]
    pub cursor: SessionCursor,
    /// Who is connected to the session (additive).
    #[serde(default)]
    pub clients: Vec<NamedClient>,
    /// After a handshake with `last_seen`: what became of what this client has (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// How far a client has been told of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCursor {
    /// Opaque name of the numbers; another one after they were lost.
    pub epoch: String,
    /// Number of the last event.
    pub seq: u64,
}

/// Why a snapshot comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotReason {
    /// The handshake.
    Connected,
    /// The client did not read fast enough, and what it missed is replaced.
    Behind,
}
