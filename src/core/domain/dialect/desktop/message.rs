//! The desktop dialect: the messages of seed 002, server to client, as our own engine speaks them.
//!
//! Owns names and shapes. Additive to the seed: `call_id` on `tool.execute` and on what asks (the seed cannot pair
//! either with its call), `base_hash` on `patch.proposed` (ruling 12), `request_id` on `command.request_approval` (ruling 9), and
//! `tool_name` values beyond the seed's. Inside the process `assistant.token` leaves `cumulative_text` out, because
//! repeating the whole message for each token would make a long answer cost the square of its length; the HTTP and
//! WebSocket front adds it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::background::Background;
use crate::domain::event::EngineEvent;

/// A message from the desktop host to its client (R002-54 to R002-77).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum ServerMessage {
    /// First message of a session.
    #[serde(rename = "server.hello")]
    Hello {
        /// Who speaks.
        server_info: ServerInfo,
    },
    /// What the agent is busy with; zero or more a turn.
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
        /// Why these steps.
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
    /// A tool began or ended; `call_id` pairs the two.
    #[serde(rename = "tool.execute")]
    ToolExecute {
        /// Pairs an end with its start (additive).
        call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// Its arguments.
        args: Map<String, Value>,
        /// Began, or how it ended.
        status: ToolStatus,
        /// The result; `null` while it runs. `{ error }` when it failed.
        result: Value,
        /// It is a command that runs in the background, for so long; the agent goes on meanwhile (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Background>,
    },
    /// A change that waits for a decision.
    #[serde(rename = "patch.proposed")]
    PatchProposed(PatchProposed),
    /// A tool that writes asks first.
    #[serde(rename = "tool.request_approval")]
    ToolRequestApproval {
        /// Id of the ask, the engine's own.
        request_id: String,
        /// `write_file`, `execute_command` or `delete_file`.
        tool_name: String,
        /// For `write_file`: `{ file_path, reason, patch_id, diff }`, and `warnings` where the diff was repaired.
        args: Map<String, Value>,
        /// How risky.
        risk_level: RiskLevel,
        /// The call that asks, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The server whose tool it is, where it is one of a tool server (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        served_by: Option<ServedBy>,
    },
    /// A command asks first.
    #[serde(rename = "command.request_approval")]
    CommandRequestApproval {
        /// Id of the ask (ruling 9).
        request_id: String,
        /// Id of the command.
        command_id: String,
        /// The exact command line.
        command: String,
        /// Relative to the workspace root, `.` for the root.
        working_directory: String,
        /// Extra environment.
        environment: BTreeMap<String, String>,
        /// Always true.
        requires_approval: bool,
        /// Why.
        reason: String,
        /// The call that asks, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// It would run in the background, for so long (additive).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Background>,
    },
    /// A piece of the answer.
    #[serde(rename = "assistant.token")]
    Token {
        /// The piece.
        token: String,
        /// All pieces so far; only on the HTTP and WebSocket front.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cumulative_text: Option<String>,
    },
    /// The end of a turn. Exactly one a turn, unless `server.error` ended it.
    #[serde(rename = "assistant.message_final")]
    MessageFinal {
        /// The whole answer, equal to the tokens put together.
        message: String,
        /// What the turn did.
        metadata: FinalMetadata,
    },
    /// Something failed.
    #[serde(rename = "server.error")]
    Error {
        /// What.
        error: ServerError,
    },
    /// The state of the session.
    #[serde(rename = "session.state")]
    SessionState {
        /// The state.
        state: SessionState,
    },
}

/// `server_info` of `server.hello`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// Version of the server.
    pub version: String,
    /// The model; `provider: "none"` when none is configured.
    pub model: ModelInfo,
    /// What the server can do.
    pub capabilities: Vec<String>,
}

/// `model` of `server.hello`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelInfo {
    /// Provider.
    pub provider: String,
    /// Name.
    pub model_name: String,
    /// For instance `chat`.
    pub capabilities: Vec<String>,
}

/// Phases of `assistant.thinking` (R002-57).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingPhase {
    /// Reading the question.
    Analyzing,
    /// Deciding what to do; model reasoning text comes under this phase.
    Planning,
    /// Searching.
    Retrieving,
    /// Doing.
    Executing,
}

/// One step of a plan (R002-58).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// From 1.
    pub step_number: u64,
    /// What.
    pub description: String,
    /// Where.
    pub files_involved: Vec<String>,
    /// How far it is, where that is told (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PlanStepStatus>,
}

/// How far a step of a plan is (additive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// It comes later.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl PlanStepStatus {
    /// The status that a word of another engine stands for.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "pending" | "open" => Some(Self::Pending),
            "in_progress" | "running" => Some(Self::InProgress),
            "completed" | "done" => Some(Self::Completed),
            _ => None,
        }
    }
}

/// Who puts places in order where no model of the user's has a part in it, as the end of the sentence of `Reranking`.
pub const BY_WORDS: &str = "words";

/// Stages of `agent.retrieve.status` (R002-60).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrieveStage {
    /// Names of definitions.
    SymbolSearch,
    /// Text.
    TextSearch,
    /// Meanings, where the user has an embedding model.
    VectorSearch,
    /// Merging and ranking.
    Reranking,
}

/// Status of `tool.execute` (R002-63).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// Began.
    Started,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
}

/// The tool server that a tool belongs to (additive).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedBy {
    /// Its name.
    pub server: String,
    /// What tells the tool and its server from others of the same names.
    pub digest: String,
}

/// Risk of an ask (R002-69).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// Easily undone.
    Low,
    /// A file changes.
    Medium,
    /// A program runs.
    High,
}

/// A proposed change of one file (R002-64, R002-65, rulings 10 and 12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchProposed {
    /// Id of the patch.
    pub patch_id: String,
    /// Relative to the workspace root.
    pub file_path: String,
    /// Unified diff, git style, UTF-8.
    pub diff: String,
    /// Why.
    pub rationale: String,
    /// How to check.
    pub acceptance_criteria: Vec<String>,
    /// Always true.
    pub requires_approval: bool,
    /// The hunks of `diff`.
    pub hunks: Vec<PatchHunk>,
    /// `sha256:<hex>` of the bytes before (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hash: Option<String>,
    /// What had to be repaired in the diff that the model wrote, one sentence each (additive).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One hunk (R002-65).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchHunk {
    /// First line before, from 1.
    pub old_start: u64,
    /// Lines before.
    pub old_lines: u64,
    /// First line after, from 1.
    pub new_start: u64,
    /// Lines after.
    pub new_lines: u64,
    /// Body lines with their ` `, `-` or `+`.
    pub content: String,
}

/// `metadata` of `assistant.message_final` (R002-73).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FinalMetadata {
    /// Tokens in and out as the provider counted them; 0 without a model.
    pub tokens_used: u64,
    /// Files changed.
    pub files_modified: u64,
    /// Names of the tools used.
    pub tools_used: Vec<String>,
    /// False when stopped or failed.
    pub success: bool,
    /// True when the user stopped the turn (additive).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

/// `error` of `server.error` (R002-74, R002-75).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerError {
    /// Stable code.
    pub code: ServerErrorCode,
    /// What happened and what to do next.
    pub message: String,
    /// More, or an empty object.
    pub details: Map<String, Value>,
    /// Whether asking again can work.
    pub recoverable: bool,
}

/// Codes of `server.error` (R002-75).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ServerErrorCode {
    /// The search failed.
    RetrievalFailed,
    /// The model failed.
    ModelError,
    /// Policy forbids.
    PolicyViolation,
}

/// `state` of `session.state` (R002-77).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionState {
    /// Patches that wait.
    pub pending_patches: Vec<String>,
    /// Patches that were applied.
    pub applied_patches: Vec<String>,
    /// Asks that wait.
    pub pending_approvals: Vec<String>,
    /// Step of the loop.
    pub current_step: u64,
    /// Limit of steps.
    pub total_steps: u64,
    /// Tokens in and out of the turn so far, as the provider counted them (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Tokens that the model reads again with the next question (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens that it can read at once (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What the turn cost so far, where that is known, in the currency of the prices (additive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl ServerMessage {
    /// The message as an engine event: `type` becomes the kind, the rest the payload.
    pub fn into_event(self, turn: Option<u64>, ts: i64) -> EngineEvent {
        let mut payload = match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            Ok(_) | Err(_) => Map::new(),
        };
        let kind = match payload.shift_remove("type") {
            Some(Value::String(kind)) => kind,
            Some(_) | None => "unknown".to_owned(),
        };
        EngineEvent { id: String::new(), kind, turn, ts: Some(ts), payload: payload.into(), repaired: false }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
