//! Tabs: params and results of `bb/tab/*` and `bb/agent/restart`, and the notification `bb/tab` (wire.md sections 2 and 3).
//!
//! Owns the shapes that a tab client speaks, who never needs a session id. Never knows what a tab holds: `domain/tabs` and
//! `app/tabs` do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Disposition, QueueItem};
use crate::domain::approval::{ChosenOption, NamedClient, Permission, PermissionStatus};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::context::choice::ContextChoice;
use crate::domain::shown::{Kind, show};
use crate::domain::tabs::is_uuid_v4;
use crate::domain::view::{Block, View};

/// Params of `bb/tab/open`. Opened again, a tab stays what it is; one whose session could not be made tries again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabOpenParams {
    /// Id of the tab, the client's: a UUID v4.
    pub tab_id: String,
    /// Name of an agent; absent for the engine of the settings.
    pub agent: Option<String>,
    /// A session to show, instead of a new one.
    pub session_id: Option<String>,
}

/// Result of `bb/tab/open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabOpenResult {
    /// Id of the tab.
    pub tab_id: String,
    /// Opaque; with another epoch all indices begin anew.
    pub epoch: String,
    /// Index of the last message before this request: what follows has higher ones.
    pub index: u64,
}

/// Params of `bb/tab/prompt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabPromptParams {
    /// Id of the tab.
    pub tab_id: String,
    /// Id of the prompt, the client's: a UUID v4. The same one again gives the same answer and does nothing.
    pub message_id: String,
    /// What the user typed; not blank.
    pub text: String,
    /// Attachments by id.
    pub attachment_ids: Option<Vec<String>>,
    /// What is taken away from its context and added to it, as in `bb/sendMessage`.
    pub context: Option<ContextChoice>,
}

/// Result of `bb/tab/prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabPromptResult {
    /// Id of the tab.
    pub tab_id: String,
    /// Id of the prompt.
    pub message_id: String,
    /// What became of it.
    pub disposition: Disposition,
}

/// Params of `bb/tab/stop` and `bb/tab/close`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabIdParams {
    /// Id of the tab.
    pub tab_id: String,
}

/// Result of `bb/tab/stop` and `bb/tab/close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabIdResult {
    /// Id of the tab.
    pub tab_id: String,
}

/// Params of `bb/tab/visibility`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabVisibilityParams {
    /// Id of the tab.
    pub tab_id: String,
    /// Whether the user can see it. Hidden, it gets no `bb/tab`, and its session no `bb/events` and `bb/view`.
    pub visible: bool,
}

/// Result of `bb/tab/visibility`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabVisibilityResult {
    /// Id of the tab.
    pub tab_id: String,
    /// Index of the last message that there is. Shown again, what is missing up to it comes by notifications.
    pub index: u64,
}

/// Params of `bb/tab/detach`: the view is gone. Buffers are freed, sessions live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabDetachParams {
    /// Ids of tabs; unknown ones do not matter.
    pub tab_ids: Vec<String>,
}

/// Params of `bb/tab/attach`: a view is there again, and visible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TabAttachParams {
    /// What the view has of each tab.
    pub tabs: Vec<TabSeen>,
}

/// What a view has of a tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabSeen {
    /// Id of the tab.
    pub tab_id: String,
    /// The epoch under which the index was seen.
    pub epoch: Option<String>,
    /// Index of the last message that it saw.
    pub last_seen_index: Option<u64>,
}

/// Result of `bb/tab/attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabAttachResult {
    /// One for each tab of the params, in their order.
    pub tabs: Vec<TabAttached>,
}

/// How a tab comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabAttached {
    /// Id of the tab.
    pub tab_id: String,
    /// Index of the last message that there is, those included that follow this answer; 0 for an unknown tab.
    pub index: u64,
    /// How.
    pub mode: TabAttachMode,
    /// The epoch of the indices from now on; absent for an unknown tab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
}

/// How a tab comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TabAttachMode {
    /// The messages that were missed follow, in order.
    Replayed,
    /// One `snapshot` follows.
    Snapshot,
    /// There is no such tab.
    Unknown,
}

/// Params of `bb/tab/ack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabAckParams {
    /// Id of the tab.
    pub tab_id: String,
    /// Every message up to this index was taken in.
    pub index: u64,
}

/// Params of `bb/agent/restart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRestartParams {
    /// Name of the agent; absent for the agent of the settings, or the only one that was started.
    pub agent: Option<String>,
}

/// Result of `bb/agent/restart`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRestartResult {
    /// Number of the agent's process, counted from 1.
    pub generation: u64,
}

/// `bb/tab`: one message of a tab. A client ignores those whose `index` is not above the last one that it saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabParams {
    /// Id of the tab.
    pub tab_id: String,
    /// Number of the message in the tab, from 1, without holes. For nothing but to see what is double.
    pub index: u64,
    /// Opaque, a new one for each server process: indices of different epochs do not compare.
    pub epoch: String,
    /// The prompt that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Kind and fields.
    #[serde(flatten)]
    pub message: TabMessage,
}

/// The kinds of tab messages and their fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TabMessage {
    /// The tab has a session: the first message of a tab, and again when its agent came back after an exit.
    SessionCreated {},
    /// A piece of the answer: `text`, or `blocks` for what is not text.
    ResponseChunk {
        /// Markdown to add to the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The block of the view that `text` goes to, for clients that tell several texts of one answer apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block_id: Option<String>,
        /// Blocks to insert at the end or to replace by `id`: the prompt as a `user` block, reasoning, plans, patches, notices,
        /// and a text that turned out to be another than what was streamed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocks: Option<Vec<Block>>,
        /// With `blocks`, true when their `text` is to be added to that of the block with the same `id`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        append: bool,
    },
    /// The answer is over; nothing of it follows, unless its engine speaks late.
    ResponseComplete {
        /// Why: the engine's own word where it has one (ACP: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal`), else
        /// `end_turn`, `cancelled`, `failed` (also when its agent ended) or `interrupted` (when breadboard-ls did).
        stop_reason: String,
    },
    /// A tool call began or changed; blocks replace by `id`.
    Tool {
        /// The call.
        block: Block,
    },
    /// The agent asks, or an ask was settled. Answered by `bb/approvePermission` with the `tabId`. One that is settled and that
    /// the client does not show stands on an older page.
    Permission {
        /// What is asked.
        permission: Box<Permission>,
        /// How it stands.
        status: PermissionStatus,
        /// The option that the user chose, and the rule that was saved with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<ChosenOption>,
        /// The client at which the user answered, where it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<NamedClient>,
        /// Why it waits again after it was answered: one sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The prompts that wait changed.
    Queue {
        /// Prompts that wait, in order.
        items: Vec<QueueItem>,
        /// True after `bb/tab/stop`, until `bb/queue/resume` or the next prompt sent.
        paused: bool,
    },
    /// Something failed: the session could not be made, is gone, or did not take a prompt that waited for it.
    Error {
        /// Stable code.
        code: ErrorCode,
        /// What happened and what to do next.
        message: String,
    },
    /// The agent's process ended. `bb/agent/restart` or the next prompt starts it anew.
    AgentExited {
        /// Number of the process, counted from 1.
        generation: u64,
        /// Its exit code, where it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    },
    /// The tab as it stands, replacing all that the client had of it.
    Snapshot {
        /// The newest page of each lane; `bb/view/page` with the `tabId` has older ones.
        view: View,
        /// The prompts whose answers are not complete, and those last completed. One that is not here is complete.
        messages: Vec<TabPrompt>,
        /// Prompts that wait, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        queue: Vec<QueueItem>,
        /// Whether they wait for `bb/queue/resume`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        paused: bool,
        /// Asks that wait, also where the page does not reach back to them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        permissions: Vec<Permission>,
        /// Why the tab has no session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TabError>,
    },
}

/// A prompt of a tab, in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabPrompt {
    /// Id of the prompt.
    pub message_id: String,
    /// Its turn, as the server counts them, once it began. Blocks of the view may carry the engine's own count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Its blocks in the chat of this view, oldest first: what was asked, and what is its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_ids: Option<Vec<String>>,
    /// How it stands.
    pub status: TabPromptStatus,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// How a prompt of a tab stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TabPromptStatus {
    /// It waits in the queue, or for its session.
    Waiting,
    /// It is being answered.
    Running,
    /// Its answer is complete.
    Complete,
}

/// Why a tab has no session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabError {
    /// Stable code.
    pub code: ErrorCode,
    /// What happened and what to do next.
    pub message: String,
}

impl TabError {
    /// The refusal, safe to show.
    pub fn of(error: &CodedError) -> Self {
        Self { code: error.code, message: show(&error.message, Kind::Lines).into_owned() }
    }
}

/// No tab has this id.
pub fn unknown_tab(tab_id: &str) -> CodedError {
    let short: String = tab_id.chars().take(80).collect();
    CodedError::new(ErrorCode::UnknownTab, format!("There is no tab `{short}`; open it first."))
}

/// Checks an id that the client makes.
pub fn check_uuid(field: &str, id: &str) -> Result<(), CodedError> {
    if is_uuid_v4(id) {
        return Ok(());
    }
    Err(CodedError::new(ErrorCode::InvalidParams, format!("`{field}` has to be a UUID v4; make a new one.")))
}

/// Params that name a session, or a tab whose session is meant.
macro_rules! session_or_tab {
    ($($params:ty),*) => {
        $(impl $params {
            /// The session: the loop puts it there where a tab was named. Empty, and so unknown, where nothing was.
            pub fn session(&self) -> &str {
                self.session_id.as_deref().unwrap_or_default()
            }
        })*
    };
}

session_or_tab!(
    super::agent::SessionInfoParams,
    super::permission::PermissionGetParams,
    super::request::QueueParams,
    super::request::ApprovePermissionParams,
    super::request::ListFilesParams,
    super::request::ReadFileSnippetParams,
    super::request::OpenDiffParams,
    super::request::EventBodyParams,
    super::request::ViewPageParams,
    super::request::AttachmentPutParams
);
