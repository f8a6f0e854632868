//! `bb/approvePermission`: an answer, and whether it counted.
//!
//! Owns how an answer narrows the rule that is saved with it. Never repeats what was asked but by its digest. Lists of
//! permissions and rules: `protocol::permission`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_or_tab;
use crate::domain::approval::{Decision, NamedClient, PermissionStatus, RuleScope};

/// Params of `bb/approvePermission` (R000-28, R000-29).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = session_or_tab()))]
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
    /// How it was settled; absent where the answer is on its way: to the engine, or behind files that are saved first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<PermissionStatus>,
    /// By whom: `user`, `client` (one that may answer without a person), `rule`, `stop`, `turn_end`, `restart`, `delete`, `engine`, `exit`, `expiry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// The client at which the user answered, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<NamedClient>,
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
