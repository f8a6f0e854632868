//! The ledger of permissions on the wire: what waits, which rules were saved, and how one is taken back.
//!
//! Owns shapes only. Additive to wire.md: an "always" that cannot be seen or taken back is no permission.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::standing::ApprovalsState;
use crate::domain::approval::{NamedClient, Permission, PermissionStatus, RuleHolder, RuleScope};

/// Params of `bb/permission/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionListParams {
    /// Only of this session; without it, of every session of the workspace.
    pub session_id: Option<String>,
    /// Only of the session of this tab.
    pub tab_id: Option<String>,
}

/// Result of `bb/permission/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionListResult {
    /// What waits for an answer, oldest first per session.
    pub pending: Vec<PendingPermission>,
    /// Rules that hold, those of the workspace first.
    pub rules: Vec<SavedRule>,
    /// What is done, or refused, without asking, and where commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalsState>,
}

/// One ask that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingPermission {
    /// Session that asks.
    pub session_id: String,
    /// What is asked.
    pub permission: Permission,
    /// Who asks: the kind of the engine, or the name of the agent.
    pub source: String,
    /// Number of the agent's process that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Milliseconds since the Unix epoch.
    pub asked_at: i64,
}

/// One saved rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedRule {
    /// Names it for `bb/permission/revoke`.
    pub rule_id: String,
    /// What it covers, as it was shown.
    pub pattern: String,
    /// Where it holds; absent where only its holder knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Who keeps it.
    pub holder: RuleHolder,
    /// Name of the agent, or kind of the engine, that keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// Path of the file in the workspace in which its holder keeps it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
    /// Whether `bb/permission/revoke` takes it back. What an engine or an agent keeps is taken back there.
    pub revocable: bool,
    /// Path of the folder that it was given for; it holds in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The session, for a rule of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Params of `bb/permission/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct PermissionGetParams {
    /// Id of the session; this or `tabId`.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// Id of the request.
    pub request_id: String,
}

/// Result of `bb/permission/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionGetResult {
    /// The request, with nothing of its subject cut.
    pub permission: Permission,
    /// How it stands.
    pub status: PermissionStatus,
    /// Who settled it, as in `bb/approvePermission`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// The client at which the user answered, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<NamedClient>,
}

/// Params of `bb/permission/revoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRevokeParams {
    /// The rule.
    pub rule_id: String,
}

/// Result of `bb/permission/revoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRevokeResult {
    /// The rule.
    pub rule_id: String,
    /// Always true; one that is not there is refused with `not_found`.
    pub revoked: bool,
}
