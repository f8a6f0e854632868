//! Models, and the tokens of those who offer them.
//!
//! Owns what a token is for. Never prints one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
