//! Notifications from server to editor (wire.md section 3).
//!
//! Owns their shapes. Never sends anything: the outbox does, in the order in which the loop made them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{ConnectionStatus, Resume, SessionSummary};
use crate::domain::event::SessionEvent;
use crate::domain::view::{Change, View};

/// `bb/connection`: sent when the state of an engine connection changes, and after a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionParams {
    /// How it stands.
    pub status: ConnectionStatus,
    /// The session concerned; absent when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Attempts so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u64>,
    /// One sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Why it is down, where there is more to say than that the engine does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ConnectionCause>,
    /// True when events are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_detected: Option<bool>,
    /// What a reconnect could restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// Why a connection is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionCause {
    /// The engine answered, and ended the session itself.
    SessionEnded,
}

/// `bb/state`: sent when the list of sessions or the state of one changes; coalesced, the latest wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateParams {
    /// Sessions of this workspace, newest first.
    pub sessions: Vec<SessionSummary>,
    /// The session in front: the last created or selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_session_id: Option<String>,
    /// Whether the active session has a turn running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Permissions of the active session that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_permission_count: Option<u64>,
}

/// `bb/events`: batches of events of an attached session, in order, without holes between `fromSeq` and `toSeq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsParams {
    /// Id of the session.
    pub session_id: String,
    /// Opaque name of the journal.
    pub epoch: String,
    /// `seq` of the first event.
    pub from_seq: u64,
    /// `seq` of the last event.
    pub to_seq: u64,
    /// The events.
    pub events: Vec<SessionEvent>,
}

/// `bb/view`: changes that the events `fromSeq` to `toSeq` made. After a stall of the editor it may carry a `snapshot`
/// instead: the view as it stands at `toSeq`, replacing what the client had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewParams {
    /// Id of the session.
    pub session_id: String,
    /// Opaque name of the journal.
    pub epoch: String,
    /// First event covered.
    pub from_seq: u64,
    /// Last event covered; a client whose view is at this `seq` or beyond ignores the message.
    pub to_seq: u64,
    /// Changes in order; empty beside a snapshot.
    pub changes: Vec<Change>,
    /// The whole view, newest page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<View>,
}
