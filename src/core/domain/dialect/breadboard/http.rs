//! The BreadBoard dialect: the bodies of its HTTP routes, as far as an editor needs them.
//!
//! Owns their shapes. Lenient: a field that is missing, or has another shape than expected, is
//! empty; what is unknown is ignored; an entry of a list that cannot be read is left out. `skills` and other bodies
//! without a type here are read as `Value`. Never a route, a status or a retry: that is the engine edge's.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use crate::domain::dialect::loose::fitting;
use crate::domain::dialect::loose::{each, lenient};
use crate::domain::wire::lenient_json::repair;

/// Reads a body; repaired first where it is not strictly JSON. `None` when it is no JSON, or of another kind altogether.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let value =
        serde_json::from_slice::<Value>(body).ok().or_else(|| serde_json::from_str(&repair(body)?).ok())?;
    T::deserialize(value).ok()
}

/// One session, as listed or asked for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct EngineSessionSummary {
    /// The engine's id. A session without one cannot be read.
    #[serde(deserialize_with = "text")]
    pub session_id: String,
    /// `starting`, `running` (also while idle), `completed`, `failed`, `stopped`.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// ISO 8601, UTC.
    #[serde(default, deserialize_with = "lenient")]
    pub created_at: Option<String>,
    /// ISO 8601, UTC.
    #[serde(default, deserialize_with = "lenient")]
    pub last_activity_at: Option<String>,
    /// The model.
    #[serde(default, deserialize_with = "lenient")]
    pub model: Option<String>,
    /// The mode.
    #[serde(default, deserialize_with = "lenient")]
    pub mode: Option<String>,
    /// How the last run ended.
    #[serde(default)]
    pub completion_summary: Value,
    /// Where it logs, relative to the engine's own directory.
    #[serde(default, deserialize_with = "lenient")]
    pub logging_dir: Option<String>,
    /// What the client sent, and `pending_permissions`, `todo_last_update`, `permission_mode`, …
    #[serde(default, deserialize_with = "lenient")]
    pub metadata: Map<String, Value>,
    /// Newer engines only: `idle` or `active`.
    #[serde(default, deserialize_with = "lenient")]
    pub turn_admission: Option<String>,
    /// Newer engines only.
    #[serde(default, deserialize_with = "lenient")]
    pub active_turn_id: Option<String>,
    /// Newer engines only.
    #[serde(default, deserialize_with = "lenient")]
    pub queued_turn_count: Option<u64>,
    /// Newer engines only: number of the last event.
    #[serde(default, rename = "headSequence", deserialize_with = "lenient")]
    pub head_sequence: Option<u64>,
}

/// A text that must be there and not be empty.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(serde::de::Error::custom("an empty id")) } else { Ok(text) }
}

/// Body of `POST /v1/sessions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CreateSession {
    /// Never blank: the engine answers 500 to that.
    pub config_path: String,
    /// First prompt; `""` for an idle session.
    pub task: String,
    /// Settings over those of the config, by dotted name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
    /// Kept with the session; some names have a meaning.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Absolute; the engine creates it and writes `.breadboard/` there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Limit of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// `prompt` makes it ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Whether the model streams; the engine's default is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
}

/// Answer to `POST /v1/sessions`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SessionCreated {
    /// The engine's id.
    #[serde(deserialize_with = "text")]
    pub session_id: String,
    /// `starting`.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// ISO 8601, UTC.
    #[serde(default, deserialize_with = "lenient")]
    pub created_at: Option<String>,
}

/// Body of `POST /v1/sessions/{sid}/input`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EngineInput {
    /// Never blank: the engine answers 500 to that.
    pub content: String,
    /// Ids of attachments; the engine ignores those it does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Newer engines require it and answer a second send without a second run; older ones ignore it.
    pub client_message_id: String,
}

/// Answer to `POST /v1/sessions/{sid}/input`. All but `status` come from newer engines only.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InputReply {
    /// `accepted`.
    #[serde(deserialize_with = "lenient")]
    pub status: String,
    /// As sent.
    #[serde(deserialize_with = "lenient")]
    pub client_message_id: Option<String>,
    /// The engine's id of the input.
    #[serde(deserialize_with = "lenient")]
    pub input_id: Option<String>,
    /// The engine's id of the turn; cancels it.
    #[serde(deserialize_with = "lenient")]
    pub turn_id: Option<String>,
    /// `started`, `queued` or `deduplicated`.
    #[serde(deserialize_with = "lenient")]
    pub disposition: Option<String>,
    /// What it was the first time.
    #[serde(deserialize_with = "lenient")]
    pub original_disposition: Option<String>,
}

/// Body of `POST /v1/sessions/{sid}/command`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Command {
    /// Never blank: the engine answers 500 to that.
    pub command: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub payload: Map<String, Value>,
}

/// Answer to `POST /v1/sessions/{sid}/command`: it is queued, no more.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CommandReply {
    /// `accepted`.
    #[serde(deserialize_with = "lenient")]
    pub status: String,
    /// What the command says of itself.
    #[serde(deserialize_with = "lenient")]
    pub detail: Map<String, Value>,
}

/// Body of `POST /v1/sessions/{sid}/turns/{turn_id}/cancel`, newer engines only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CancelTurn {
    /// Makes a second send harmless.
    pub cancellation_request_key: String,
    /// `user_requested`, `timeout` or `superseded`.
    pub reason: &'static str,
}

/// Answer to `POST /v1/sessions/{sid}/attachments`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Attachments {
    /// One a file, in order.
    #[serde(deserialize_with = "each")]
    pub attachments: Vec<StoredAttachment>,
}

/// A file that the engine stored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StoredAttachment {
    /// Its id, for [`Input`].
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// Name of the file.
    #[serde(default, deserialize_with = "lenient")]
    pub filename: String,
    /// MIME type.
    #[serde(default, deserialize_with = "lenient")]
    pub mime: Option<String>,
    /// Bytes.
    #[serde(default, deserialize_with = "lenient")]
    pub size_bytes: Option<u64>,
}

/// One entry of `GET /v1/sessions/{sid}/files`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EngineFileEntry {
    /// Relative to the session's workspace, with `/`.
    #[serde(deserialize_with = "text")]
    pub path: String,
    /// `file` or `directory`.
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    pub kind: String,
    /// Bytes of a file.
    #[serde(default, deserialize_with = "lenient")]
    pub size: Option<u64>,
}

/// `GET /v1/sessions/{sid}/files/content`. Not faithful: line ends and bytes that are not UTF-8 are changed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FileContent {
    /// As asked for.
    #[serde(default, deserialize_with = "lenient")]
    pub path: String,
    /// The text, or a part of it.
    pub content: String,
    /// Whether it is a part.
    #[serde(default, deserialize_with = "lenient")]
    pub truncated: bool,
    /// Bytes of the file.
    #[serde(default, deserialize_with = "lenient")]
    pub total_bytes: Option<u64>,
}

/// `GET /v1/models`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Models {
    /// Those of the config.
    #[serde(deserialize_with = "each")]
    pub models: Vec<Model>,
    /// Id of the one it takes by itself.
    #[serde(deserialize_with = "lenient")]
    pub default_model: Option<String>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Model {
    /// What `set_model` takes.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// For people.
    #[serde(default, deserialize_with = "lenient")]
    pub name: Option<String>,
    /// Who runs it.
    #[serde(default, deserialize_with = "lenient")]
    pub provider: Option<String>,
    /// Tokens.
    #[serde(default, deserialize_with = "lenient")]
    pub context_length: Option<u64>,
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
