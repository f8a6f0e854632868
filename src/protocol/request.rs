//! Params and results of every `bb/*` request (wire.md section 2). One pair a method, named after it.
//!
//! Extra fields are accepted and ignored; a missing or wrongly typed field is `invalid_params`; `null` on an optional
//! field means absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::settings::EngineKind;
use crate::domain::approval::{Decision, PermissionStatus, RuleScope};
pub(crate) use crate::domain::edits::lines::LineRange;
use crate::domain::event::SessionEvent;
use crate::domain::view::{Block, Lane, View};

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

/// Params of `bb/init`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitParams {
    /// Which notifications are wanted. Default: all of them.
    pub subscribe: Option<Subscribe>,
    /// What the client has seen, to be replayed from there.
    pub last_seen: Option<LastSeen>,
}

/// What a client wants to hear.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscribe {
    /// `bb/events`. Default true.
    pub events: Option<bool>,
    /// `bb/view`. Default true.
    pub view: Option<bool>,
    /// `bb/tab`. Default true.
    pub tabs: Option<bool>,
    /// Longest wait of an event in milliseconds.
    pub max_latency_ms: Option<u64>,
}

/// The last `seq` that a client holds of each session, and the epochs under which they count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastSeen {
    /// The epoch under which the numbers were seen, but for those of `epochs`.
    pub epoch: String,
    /// `sessionId` to its epoch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub epochs: BTreeMap<String, String>,
    /// `sessionId` to `seq`.
    #[serde(default)]
    pub sessions: Option<BTreeMap<String, u64>>,
}

/// Result of `bb/init`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitResult {
    /// Version of the wire: 1.
    pub v: u8,
    /// Who answers.
    pub server: ServerIdentity,
    /// Opaque name of the journal. The numbers of each session have an epoch of their own, which its view and events tell.
    pub epoch: String,
    /// The engine.
    pub engine: EngineStatus,
    /// Sessions of this workspace, newest first.
    pub sessions: Vec<SessionSummary>,
    /// The session in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_session_id: Option<String>,
    /// Whether the workspace is trusted.
    pub workspace_trusted: bool,
    /// For each session of `lastSeen`: what its replay is worth. The events themselves come as notifications.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resume: BTreeMap<String, Resume>,
}

/// Name and version of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ServerIdentity {
    /// `breadboard-ls`.
    pub name: String,
    /// Its version; for information, never to decide what works.
    pub version: String,
}

/// The engine as `bb/init` tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EngineStatus {
    /// Which kind.
    pub kind: EngineKind,
    /// Whether it answers.
    pub status: ConnectionStatus,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// The model in use, where the engine has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// State of a connection (R000-37).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConnectionStatus {
    /// On its way.
    Connecting,
    /// Up.
    Connected,
    /// Down; `lastError` says why.
    Error,
}

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
    /// Name of the agent that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Permissions of this session that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_permission_count: Option<u64>,
    /// Who works on it, when that is not this window: it can be read here and stopped, but not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
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

/// Result of `bb/listSessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListSessionsResult {
    /// Sessions of this workspace, newest first.
    pub sessions: Vec<SessionSummary>,
}

/// Result of `bb/selectSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectSessionResult {
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

/// Result of `bb/rebuild`: what could be read again of the events that were missing. They follow as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildResult {
    /// `complete` (nothing was missing), `resynced` (all of it came back) or `lost` (what is still missing).
    pub resume: Resume,
}

/// What a reconnect could restore. On `bb/connection` and `bb/rebuild`, and for a session that lives at an engine, the numbers
/// are the engine's own; in the answer of `bb/init` they are our `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resume {
    /// The verdict.
    pub verdict: ResumeVerdict,
    /// How many events were replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// First event concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Last event concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The four verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResumeVerdict {
    /// Nothing was missed.
    Complete,
    /// What was missed follows.
    Replayed,
    /// The state was read anew; single events are not there.
    Resynced,
    /// Events are lost, or we cannot know that they are not.
    Lost,
}

/// Result of `bb/deleteSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionResult {
    /// Id of the session.
    pub session_id: String,
    /// Always true.
    pub deleted: bool,
}

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
pub(crate) struct StopResult {
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
pub(crate) struct QueueResult {
    /// Prompts that wait, in order.
    pub items: Vec<QueueItem>,
    /// True after `bb/stop`, until `bb/queue/resume` or the next prompt sent.
    pub paused: bool,
}

/// One prompt that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueItem {
    /// Id of the prompt.
    pub message_id: String,
    /// Its text.
    pub text: String,
    /// Its attachments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment_ids: Option<Vec<String>>,
}

/// Params of `bb/approvePermission` (R000-28, R000-29).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovePermissionParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Id of the request.
    pub request_id: String,
    /// The decision.
    pub decision: Decision,
    /// The very option; wins over `decision`.
    pub option_id: Option<String>,
    /// The digest that was shown; an answer to something else is refused with `conflict`.
    pub digest: Option<String>,
    /// How the rule is narrowed before it is saved.
    pub rule_update: Option<RuleUpdate>,
    /// What was filled in, where the request has an `input`.
    pub content: Option<serde_json::Map<String, serde_json::Value>>,
}

/// How a rule is narrowed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleUpdate {
    /// The pattern to save instead.
    pub pattern: Option<String>,
    /// The scope to save instead.
    pub scope: Option<RuleScope>,
}

/// Result of `bb/approvePermission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovePermissionResult {
    /// Id of the request.
    pub request_id: String,
    /// Whether this answer counted.
    pub outcome: ApprovalOutcome,
    /// How it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<PermissionStatus>,
    /// By whom: `user`, `rule`, `stop`, `turn_end`, `restart`, `delete`, `engine`, `exit`, `expiry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
}

/// Whether an answer counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalOutcome {
    /// It was the first.
    Recorded,
    /// Another one was.
    AlreadyResolved,
}

/// Params of `bb/listFiles` (R000-30).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct ListFilesParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Directory relative to the workspace root; `""` or `.` is the root itself.
    pub path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Leave out what git ignores and what `.ignore` files name. Default false.
    pub gitignore: Option<bool>,
}

/// Result of `bb/listFiles`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListFilesResult {
    /// The directory, normalised.
    pub path: String,
    /// Its entries: directories first, then by name.
    pub entries: Vec<FileEntry>,
    /// True when there are more than 10,000.
    pub truncated: bool,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Relative to the workspace root.
    pub path: String,
    /// Last part of the path.
    pub name: String,
    /// What it is; links are not followed.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Bytes, for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symbolic link.
    Symlink,
}

/// Params of `bb/readFileSnippet` (R000-31, R000-34). Without `headLines` and `tailLines`: from the start, up to
/// `maxBytes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct ReadFileSnippetParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// File relative to the workspace root.
    pub path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Most bytes of content. Default 65536, at most 1048576.
    pub max_bytes: Option<u64>,
    /// Lines from the start.
    pub head_lines: Option<u64>,
    /// Lines from the end.
    pub tail_lines: Option<u64>,
}

/// Result of `bb/readFileSnippet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileSnippetResult {
    /// The file, normalised.
    pub path: String,
    /// UTF-8; two ranges are joined by one line `⋯`.
    pub content: String,
    /// Size of the whole file in bytes.
    pub total_bytes: u64,
    /// True when `content` is not all.
    pub truncated: bool,
    /// Lines in `content`. A tail whose line numbers would need the whole of a huge file read has no range.
    pub ranges: Vec<LineRange>,
    /// Where it comes from.
    pub source: SnippetSource,
    /// The encoding the bytes were read in, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// Params of `bb/openDiff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct OpenDiffParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// File relative to the workspace root; in a session of an engine that works in a folder of its own, to that folder.
    pub file_path: String,
    /// Name of the workspace folder, where several are open.
    pub root: Option<String>,
    /// Before: `disk`, `buffer`, `git:<rev>`, `checkpoint:<id>`, `artifact:<path>` or `patch:<id>`. Default `git:HEAD`.
    pub before_ref: Option<String>,
    /// After, in the same words. Default `buffer`: the open buffer, or the disk where the file is not open.
    pub after_ref: Option<String>,
}

/// Result of `bb/openDiff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenDiffResult {
    /// One line for a heading.
    pub title: String,
    /// Before.
    pub left: DiffSideUri,
    /// After.
    pub right: DiffSideUri,
    /// Unified diff, git style; empty when both sides are equal. One that is cut still fits its headers.
    pub unified: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// True when a side is larger than 4 MiB, of which the start was compared, or `unified` than 1 MiB.
    pub truncated: bool,
}

/// One side of a diff as a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffSideUri {
    /// `file:` where the editor's own document is the side, else `bb-diff:`, for `bb/textDocument` or
    /// `workspace/textDocumentContent`.
    pub uri: String,
}

/// Params of `bb/textDocument`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextDocumentParams {
    /// A `bb-diff:` URI that `bb/openDiff` gave.
    pub uri: String,
}

/// Result of `bb/textDocument`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextDocumentResult {
    /// Its text; empty where the side has no such file.
    pub text: String,
    /// Language of the open buffer of the same file, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_id: Option<String>,
    /// Present, and true, when the text is larger than 4 MiB and only its start is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// Params of `bb/downloadArtifact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadArtifactParams {
    /// Id of the session.
    pub session_id: String,
    /// Path of the artifact, in the engine's words.
    pub artifact_path: String,
    /// A string or a number: `$/progress` is told under it while bytes come. To cancel, cancel the request.
    pub work_done_token: Option<Value>,
}

/// Result of `bb/downloadArtifact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadArtifactResult {
    /// As it was asked for.
    pub artifact_path: String,
    /// `file:` URI of the bytes; they stay until the session is deleted or the artifact is downloaded again.
    pub uri: String,
    /// How many.
    pub bytes: u64,
    /// SHA-256 of them, in hex.
    pub sha256: String,
}

/// Where a snippet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SnippetSource {
    /// An open buffer of the editor.
    Buffer,
    /// The file.
    Disk,
    /// The engine's copy.
    Engine,
}

/// Params of `bb/events/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsReadParams {
    /// Id of the session.
    pub session_id: String,
    /// First `seq` wanted.
    pub from_seq: u64,
    /// Most events. Default 500, at most 5000; a page also ends at 4 MiB.
    pub limit: Option<u64>,
}

/// Result of `bb/events/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventsReadResult {
    /// Events in order.
    pub events: Vec<SessionEvent>,
    /// Whether there are more.
    pub has_more: bool,
}

/// Params of `bb/eventBody`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct EventBodyParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which event.
    pub seq: u64,
}

/// Result of `bb/eventBody`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EventBodyResult {
    /// The event, untruncated.
    pub event: SessionEvent,
}

/// Params of `bb/view/page`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct ViewPageParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Which lane.
    pub lane: Lane,
    /// Id of the oldest block the client has; absent for the newest page.
    pub before: Option<String>,
    /// Most blocks. Default 50, at most 500.
    pub limit: Option<u64>,
}

/// Result of `bb/view/page`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ViewPageResult {
    /// Blocks, oldest first.
    pub blocks: Vec<Block>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// Params of `bb/attachment/put`: `uri` (a file of the editor's) or `base64`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
pub struct AttachmentPutParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Name of the file.
    pub name: String,
    /// `file:` URI.
    pub uri: Option<String>,
    /// The bytes.
    pub base64: Option<String>,
    /// MIME type; decided by content where it is not given.
    pub mime: Option<String>,
}

/// Result of `bb/attachment/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentPutResult {
    /// Id for `attachmentIds`.
    pub attachment_id: String,
    /// Size.
    pub bytes: u64,
    /// Type.
    pub mime: String,
}

/// Result of `bb/models/list` and `bb/models/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsResult {
    /// What the provider offers; empty when none is configured or it does not say.
    pub models: Vec<ModelEntry>,
    /// The one in use, as `provider/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// Id for `bb/models/set`.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// Params of `bb/setCredentials`.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetCredentialsParams {
    /// What the token is for.
    pub scope: CredentialScope,
    /// The token; `null` forgets it. Bound to the origin configured at this moment.
    #[serde(default)]
    pub token: Option<String>,
}

impl std::fmt::Debug for SetCredentialsParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetCredentialsParams").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CredentialScope {
    /// The engine.
    Engine,
    /// The model of the embedded engine.
    Model,
}

/// Params of the notification `bb/workspaceTrust`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkspaceTrustParams {
    /// Whether the user trusts the workspace.
    pub trusted: bool,
}
