//! The bodies of the HTTP routes of a desktop host.
//!
//! Owns the shapes. Times are ISO-8601, UTC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthBody {
    /// Always `healthy`: what cannot answer says nothing.
    pub status: String,
    /// Version of the server.
    pub version: String,
    /// Version of the protocol.
    pub protocol_version: String,
}

/// `POST /v1/pair`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairBody {
    /// The code in the host's terminal.
    pub code: String,
}

/// What it is traded for.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairedBody {
    /// The token of the host.
    pub token: String,
}

/// A workspace of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceBody {
    /// Its id: the same after a restart.
    pub id: String,
    /// Its folder on the host.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Whether files may be written and commands run in it.
    pub trusted: bool,
    /// How its index stands.
    #[serde(flatten)]
    pub index: IndexStatusBody,
}

/// How an index stands. A search reads what the index lacks, so that it finds as much without one, only later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexStatusBody {
    /// How.
    pub index_status: IndexState,
    /// One sentence about it.
    pub index_message: String,
    /// What of the present work is done, 0 to 1; 1 after it.
    pub index_progress: f64,
    /// Files of the workspace that a search looks at, as far as they were counted.
    pub total_files: u64,
    /// Files that the index knows.
    pub indexed_files: u64,
    /// When every file was compared last: ISO-8601, UTC.
    pub last_indexed_at: Option<String>,
    /// Whether a search finds everything, however the index stands: true of this host.
    pub searches_are_complete: bool,
}

/// States of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IndexState {
    /// Nothing was read yet.
    Pending,
    /// Files are read.
    Indexing,
    /// Every file was read.
    Complete,
    /// The workspace has more files than a search looks at; those it looks at were read.
    Partial,
    /// The last attempt failed; it is made again at the next change.
    Failed,
}

/// `POST /v1/workspaces/register`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegisterBody {
    /// A folder that the host was started with.
    pub path: String,
    /// Not needed; a workspace has the name of its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The policy of a workspace: the ten keys of the public source, and what they lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyBody {
    /// Files that may be read. `*` and `?` stand within a name, `**` for any folders; a pattern begins at the workspace folder.
    pub allowed_read_globs: Vec<String>,
    /// Files that may be changed, after an approval.
    pub allowed_write_globs: Vec<String>,
    /// Files that are never touched, whatever the others say: in any case of letters, at any depth unless the pattern begins with `/`,
    /// and with everything beneath.
    pub blocked_globs: Vec<String>,
    /// When a command is asked about.
    pub command_approval: CommandApproval,
    /// Commands that need no question in a trusted workspace: words of a command, a last `*` for any further ones.
    pub allowed_commands: Vec<String>,
    /// Commands that are refused. They win over everything.
    pub blocked_commands: Vec<String>,
    /// False: commands that speak with other machines are refused.
    pub network_enabled: bool,
    /// Changes of files in the workspace need no question, in a trusted workspace.
    pub auto_approve_simple_changes: bool,
    /// Commands that build or test need no question, in a trusted workspace.
    pub auto_approve_tests: bool,
    /// Tools that need no question, in a trusted workspace.
    pub auto_approve_tools: Vec<String>,
    /// Tools that are refused (additive). They win over everything.
    #[serde(default)]
    pub blocked_tools: Vec<String>,
}

/// When a command is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandApproval {
    /// Each time, whatever the lists say.
    Always,
    /// Never; this host refuses it: what the lists do not name is asked about.
    Never,
    /// Where the lists do not say otherwise.
    Prompt,
}

/// `PUT .../policy`: what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyChange {
    /// See `PolicyBody`; so are all of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_read_globs: Option<Vec<String>>,
    /// Files that may be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_write_globs: Option<Vec<String>>,
    /// Files that may never be touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_globs: Option<Vec<String>>,
    /// When a command is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_approval: Option<CommandApproval>,
    /// Commands that need no question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    /// Commands that are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_commands: Option<Vec<String>>,
    /// Whether commands may speak with other machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_enabled: Option<bool>,
    /// Whether changes of files need no question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve_simple_changes: Option<bool>,
    /// Whether builds and tests need no question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve_tests: Option<bool>,
    /// Tools that need no question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve_tools: Option<Vec<String>>,
    /// Tools that are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_tools: Option<Vec<String>>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionBody {
    /// Its id.
    pub id: String,
    /// Its workspace.
    pub workspace_id: String,
    /// Its title: the start of its first prompt.
    pub title: Option<String>,
    /// How it stands, in a word.
    pub status: String,
    /// When something happened in it last.
    pub updated_at: Option<String>,
    /// The kind of its engine.
    pub engine: Option<String>,
    /// The agent that works in it, where it is one by name.
    pub agent_id: Option<String>,
    /// Requests for approval that wait, where it is in memory.
    pub pending_approvals: Option<u64>,
}

/// `POST /v1/sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewSessionBody {
    /// The workspace.
    pub workspace_id: String,
    /// An agent by name, where the engine has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The model, by the provider's name of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
}

/// `DELETE /v1/sessions/{session_id}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedBody {
    /// Always true: what could not be deleted is a refusal.
    pub success: bool,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// Names it in its session.
    pub id: String,
    /// Who.
    pub role: HistoryRole,
    /// What, as text for a person.
    pub content: String,
    /// Number of the event that made it.
    pub seq: u64,
    /// Whether more of it may come.
    pub streaming: bool,
    /// True in a snapshot where the text goes on: the history has it whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// Whose an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HistoryRole {
    /// A prompt.
    User,
    /// The answer.
    Assistant,
    /// The reasoning behind it.
    Reasoning,
    /// A tool, a command, a change.
    Tool,
    /// A request for approval.
    Approval,
    /// Anything else.
    Notice,
}

/// `GET /v1/sessions/{session_id}/messages` (additive).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryBody {
    /// Oldest first.
    pub messages: Vec<HistoryEntry>,
    /// Whether there are older ones: ask again with `before` set to the id of the first.
    pub has_more: bool,
}

/// `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsBody {
    /// What the engine offers.
    pub models: Vec<ModelBody>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelBody {
    /// Names it.
    pub id: String,
    /// Its provider, where that is known.
    pub provider: Option<String>,
    /// For a person.
    pub display_name: String,
}

/// `GET /v1/models/current`, and the answer to `PUT`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentModelBody {
    /// Its provider, where that is known.
    pub provider: Option<String>,
    /// Its name; `null` where none is chosen.
    pub model_name: Option<String>,
    /// The kind of engine that uses it.
    pub engine: String,
}

/// `PUT /v1/models/current`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChoiceBody {
    /// Its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Its name.
    #[schemars(length(min = 1))]
    pub model_name: String,
    /// Base URL of its endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// `POST .../search` (additive).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchBody {
    /// The question, in words.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
    /// Most places; 1 to 50, 10 without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResultBody {
    /// Best first.
    pub places: Vec<SearchPlace>,
    /// Files that were read.
    pub files_searched: u64,
    /// Whether the workspace has more files than one search reads.
    pub truncated: bool,
}

/// A place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchPlace {
    /// Relative to the workspace root.
    pub file_path: String,
    /// First line, from 1.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// Those lines.
    pub snippet: String,
    /// Higher is better, within one answer.
    pub score: f64,
}

/// Query of `GET /v1/sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SessionsQuery {
    /// Only those of this workspace.
    pub workspace_id: Option<String>,
}

/// Query of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct HistoryQuery {
    /// Id of an entry: what is older than it.
    pub before: Option<String>,
    /// Most entries; 1 to 200, 50 without.
    pub limit: Option<u64>,
}

/// Query of the routes of models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ModelsQuery {
    /// The workspace; the first one without.
    pub workspace_id: Option<String>,
}
