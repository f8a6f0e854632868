//! `bb/init`: what a client wants to hear and has seen, and what there is. And the trust that it states.
//!
//! Owns how the server and its engine introduce themselves. Never tells an event: what was missed follows as notifications.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resume::Resume;
use super::session::SessionSummary;
use crate::protocol::settings::EngineKind;

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
pub struct InitResult {
    /// Version of the wire: 1.
    #[schemars(range(min = 1, max = 1))]
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
    /// For each session of `lastSeen`: what its replay is worth. The events themselves come as notifications. With `lost`,
    /// `events` still counts what is replayed. While the stream of an engine is being opened, `reason` says that this is what
    /// was kept here; the verdict on the rest comes on `bb/connection`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resume: BTreeMap<String, Resume>,
}

/// Name and version of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerIdentity {
    /// `breadboard-ls`.
    pub name: String,
    /// Its version; for information, never to decide what works.
    pub version: String,
}

/// The engine as `bb/init` tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineStatus {
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
pub enum ConnectionStatus {
    /// On its way.
    Connecting,
    /// Up.
    Connected,
    /// Down; `lastError` says why.
    Error,
}

/// Params of the notification `bb/workspaceTrust`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkspaceTrustParams {
    /// Whether the user trusts the workspace.
    pub trusted: bool,
}
