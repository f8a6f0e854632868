//! What was: events again, one event whole, older pages of the view.
//!
//! Owns the limits of a page, as they are told. Never tells what is new: notifications do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_or_tab;
use crate::domain::event::SessionEvent;
use crate::domain::view::{Block, Lane};

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
pub struct EventsReadResult {
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
pub struct EventBodyResult {
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
pub struct ViewPageResult {
    /// Blocks, oldest first.
    pub blocks: Vec<Block>,
    /// Whether there are older ones.
    pub has_more: bool,
}
