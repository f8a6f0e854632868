//! What a reconnect could restore, and `bb/rebuild`.
//!
//! Owns the verdicts. Never carries the events themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of `bb/rebuild`: what could be read again of the events that were missing. They follow as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildResult {
    /// `complete` (nothing was missing), `resynced` (all of it came back) or `lost` (what is still missing).
    pub resume: Resume,
}

/// What a reconnect could restore. On `bb/connection` and `bb/rebuild`, and for a session that lives at an engine, the numbers
/// are the engine's own; in the answer of `bb/init` they are our `seq`, but for those of `lost`: what is lost, the engine lost.
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
    /// Nothing is missing. The engine no longer knew the place from which it was asked to go on, so its whole history was read,
    /// and what was new of it came as events; on `bb/rebuild`: all that was missing came back.
    Resynced,
    /// Events are lost, or we cannot know that they are not.
    Lost,
}
