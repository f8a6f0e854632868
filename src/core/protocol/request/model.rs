//! Models, and the tokens of those who offer them.
//!
//! Owns what a token is for. Never prints one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::settings::ModelPrice;

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
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    /// Id for `bb/models/set`.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Tokens that it reads at once, by the settings or by its name. Of models of the embedded engine only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Whether it sees images, by the settings or by its name. Of models of the embedded engine only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// What it costs, where the settings say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

impl ModelEntry {
    /// One of which no more is known than what it is called.
    pub fn named(id: String, name: String, provider: Option<String>) -> Self {
        Self { id, name, provider, context_window: None, images: None, price: None }
    }
}

/// Result of `bb/models/providers`: what a set-up dialog needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProvidersResult {
    /// Those that the embedded engine can talk to.
    pub providers: Vec<ModelProvider>,
}

/// Whoever offers models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProvider {
    /// The word in settings.
    pub provider: String,
    /// What a person calls it.
    pub label: String,
    /// Whether its own endpoint answers nobody without a key.
    pub needs_key: bool,
    /// The variable of the environment that its key is read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Whether that variable is set; what is in it is never told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_is_set: bool,
    /// Base URL of its own endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_url: Option<String>,
}

/// Params of `bb/models/check`.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsCheckParams {
    /// Whose protocol the endpoint speaks, as in the settings.
    pub provider: String,
    /// The model that is to be there; without one only its models are asked for.
    pub name: Option<String>,
    /// Base URL; without one the provider's own.
    pub url: Option<String>,
    /// The key that goes with the question and is kept nowhere; without one the key of the environment, where it has one for this
    /// address.
    pub token: Option<String>,
}

impl std::fmt::Debug for ModelsCheckParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provider, name, url, token: _ } = self;
        f.debug_struct("ModelsCheckParams")
            .field("provider", provider)
            .field("name", name)
            .field("url", url)
            .finish_non_exhaustive()
    }
}

/// Result of `bb/models/check`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsCheckResult {
    /// Whether the endpoint answered as it is to, and has the model that was named.
    pub ok: bool,
    /// Names of its models, where it told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>>,
    /// What is wrong and what to do about it, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
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
