//! Prompts: send, stop, and the queue of those that wait.
//!
//! Owns what can become of a prompt when it is sent. Never carries an attachment, only its id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_or_tab;
use crate::domain::context::choice::ContextChoice;

/// Params of `bb/sendMessage` (R000-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageParams {
    /// Id of the session.
    pub session_id: String,
    /// What the user typed; not blank.
    pub text: String,
    /// Attachments by id.
    pub attachment_ids: Option<Vec<String>>,
    /// Id of the prompt, the client's; the same one again gives the same answer and does nothing.
    pub message_id: Option<String>,
    /// What is taken away from its context and added to it. An empty one asks for what goes by itself also where the editor
    /// tells nothing of what is in front of the user.
    pub context: Option<ContextChoice>,
}

/// Result of `bb/sendMessage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageResult {
    /// Id of the session.
    pub session_id: String,
    /// Id of the prompt.
    pub message_id: String,
    /// What became of it.
    pub disposition: Disposition,
}

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// Its turn began.
    Started,
    /// It waits in the queue.
    Queued,
}

/// Result of `bb/stop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopResult {
    /// Id of the session.
    pub session_id: String,
    /// Whether a turn was running and is now told to stop.
    pub stopping: bool,
}

/// Params of the `bb/queue/*` methods. `edit` needs `messageId` and `text`; `move` needs `messageId`, and puts it before
/// `before` or at the end; `remove` needs `messageId`; `list` and `resume` need neither.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct QueueParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which prompt.
    pub message_id: Option<String>,
    /// Its new text.
    pub text: Option<String>,
    /// The prompt before which it goes.
    pub before: Option<String>,
}

/// Result of every `bb/queue/*` method: the queue as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueResult {
    /// Prompts that wait, in order.
    pub items: Vec<QueueItem>,
    /// True after `bb/stop`, until `bb/queue/resume` or the next prompt sent.
    pub paused: bool,
}

/// One prompt that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Id of the prompt.
    pub message_id: String,
    /// Its text.
    pub text: String,
    /// Its attachments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment_ids: Option<Vec<String>>,
}
