//! Sessions: create, list, select, delete, and the commands of their engine.
//!
//! Owns how a session is listed. Never says what it is asked next: prompts and permissions have files of their own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::resume::Resume;
use crate::domain::branch::BranchKnows;
use crate::domain::view::View;
use crate::protocol::settings::EngineKind;

/// One session in a list (R000-42).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Id of the session.
    pub session_id: String,
    /// First line of the first prompt, or what the engine calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `idle`, `running` or `waiting` (a permission is pending), or the engine's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Last `seq` of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The engine that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// Name of the agent that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Permissions of this session that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_permission_count: Option<u64>,
    /// Who works on it, when that is not this window: it can be read here and stopped, but not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
    /// Whether the user pinned it: such sessions stand first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The session whose conversation it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchedFrom>,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchedFrom {
    /// Id of the other session, which may have been deleted since.
    pub session_id: String,
    /// What that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Block of the prompt there before which it was left. Absent: all of it is carried on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// Who works on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// Another window of the same user.
    OtherWindow,
}

/// Params of `bb/createSession` (R000-21).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionParams {
    /// Configuration file of the engine.
    pub config_path: Option<String>,
    /// A first prompt.
    pub task: Option<String>,
    /// A model for this session.
    pub model: Option<String>,
    /// The engine's word for how it asks.
    pub permission_mode: Option<String>,
    /// Name of an agent, to use it beside the engine of the settings.
    pub agent: Option<String>,
}

/// Params of every method that names only a session (R000-23, -24, -26).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Id of the session.
    pub session_id: String,
}

/// Result that names only a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResult {
    /// Id of the session.
    pub session_id: String,
}

/// Params of `bb/session/rename`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenameParams {
    /// Id of the session.
    pub session_id: String,
    /// What it is called from now on; not blank, and cut at 200 characters.
    pub title: String,
}

/// Result of `bb/session/rename`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenameResult {
    /// Id of the session.
    pub session_id: String,
    /// What it is called.
    pub title: String,
}

/// Params of `bb/session/branch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBranchParams {
    /// Id of the session whose conversation the new one begins with. It stays as it is.
    pub session_id: String,
    /// Block of the prompt before which it is left, as when that prompt is changed and sent anew. Absent: all of it is carried on, which
    /// no turn of it may change meanwhile.
    pub before: Option<String>,
    /// Who goes on [default: `own`].
    pub engine: Option<BranchEngine>,
    /// Name of an agent that goes on, beside the engine of the settings; it wins over `engine`.
    pub agent: Option<String>,
}

/// Who goes on with a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BranchEngine {
    /// The engine, or the agent, of the session that it comes from.
    #[default]
    Own,
    /// The engine of the settings.
    Current,
}

/// Result of `bb/session/branch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBranchResult {
    /// Id of the new session, which is attached.
    pub session_id: String,
    /// What its engine knows of the conversation.
    pub knows: BranchKnows,
    /// The same in sentences for the user, which stand in the chat too.
    pub text: String,
}

/// Params of `bb/session/pin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPinParams {
    /// Id of the session.
    pub session_id: String,
    /// Whether it is to stand before those that are not pinned.
    pub pinned: bool,
}

/// Result of `bb/session/pin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPinResult {
    /// Id of the session.
    pub session_id: String,
    /// Whether it is pinned.
    pub pinned: bool,
}

/// Params of `bb/listSessions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListSessionsParams {
    /// Only sessions whose title, agent, or one of whose prompts or answers has all of these words; the beginning of a word will do.
    /// Absent or blank: all of them.
    pub query: Option<String>,
}

/// Result of `bb/listSessions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListSessionsResult {
    /// Sessions of this workspace: those that are pinned, then the others, each newest first.
    pub sessions: Vec<SessionSummary>,
    /// With a `query`: where its words stand, by session, the newest first and at most three a session. A session that was found by
    /// its title alone has none. What was said in a turn is found once that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<BTreeMap<String, Vec<FoundPassage>>>,
    /// With a `query`: how many of the oldest sessions were not searched but by their titles, because there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsearched: Option<u64>,
}

/// A prompt or an answer that has the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundPassage {
    /// Its block in the chat.
    pub block_id: String,
    /// Who said it.
    pub by: FoundIn,
    /// The piece around the first word, on one line.
    pub text: String,
}

/// Whose words were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FoundIn {
    /// In a prompt.
    Prompt,
    /// In an answer.
    Answer,
}

/// Result of `bb/selectSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectSessionResult {
    /// Id of the session.
    pub session_id: String,
    /// The view holds every event up to this one; what follows comes as notifications.
    pub seq: u64,
    /// The newest page of each lane.
    pub view: View,
    /// What the history is worth.
    pub resume: Resume,
}

/// Params of `bb/command` (R000-27).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandParams {
    /// Id of the session.
    pub session_id: String,
    /// A command of the engine's table.
    pub command: String,
    /// Its payload, in the engine's words.
    pub args: Option<Map<String, Value>>,
}

/// Result of `bb/command`: the engine took it. What it does comes as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// Id of the session.
    pub session_id: String,
    /// `accepted`, or the engine's own word.
    pub status: String,
    /// What the engine says of it, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// Result of `bb/deleteSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionResult {
    /// Id of the session.
    pub session_id: String,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}
