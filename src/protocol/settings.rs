//! Settings: what `initializationOptions` may hold and what a workspace may not (wire.md section 1).
//!
//! Owns the shapes and the layering rule. Never reads the environment or a file: the layers come in as values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `initialize.initializationOptions`. Every key is optional; unknown keys are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializationOptions {
    /// Which engine runs the turns. Default: embedded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSetting>,
    /// Agents by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<BTreeMap<String, AgentSetting>>,
    /// The model of the embedded engine. Default: none, which answers by retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSetting>,
    /// Whether the editor trusts the workspace. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_trusted: Option<bool>,
    /// Directory of the journal. Default: `breadboard-ls` in the user's state directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
    /// How events are batched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliverySetting>,
}

/// The engine setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineSetting {
    /// Which kind.
    pub kind: EngineKind,
    /// Base URL of an HTTP engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Program of an agent engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Its extra environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Configuration file of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_path: Option<String>,
    /// Name of one of `agents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The four engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// In process; needs nothing else.
    Embedded,
    /// HTTP and SSE.
    Breadboard,
    /// HTTP and WebSocket.
    Desktop,
    /// An agent process on stdio.
    Acp,
}

impl EngineKind {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Breadboard => "breadboard",
            Self::Desktop => "desktop",
            Self::Acp => "acp",
        }
    }
}

/// One agent by command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSetting {
    /// Program.
    pub command: String,
    /// Arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Extra environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
}

/// The model setting; also the params of `bb/models/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSetting {
    /// `openai` (and anything compatible), `anthropic`, `gemini` or `ollama`. Default: `openai` when `url` is given,
    /// else guessed from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// Base URL. Default: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// How events are batched on their way to the editor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliverySetting {
    /// Longest wait of an event in milliseconds; 0 means none. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_latency_ms: Option<u64>,
    /// Most events in one notification. Default 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_events: Option<u64>,
    /// Most bytes of events in one notification. Default 262144; one larger event still goes, alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// What `workspace/configuration` (section `breadboard`) may change. Everything else in it is ignored, because in most
/// editors it includes files of the repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceConfiguration {
    /// How events are batched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliverySetting>,
}

/// The layers merged: what the server runs with. Environment and flags win over `initializationOptions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The engine.
    pub engine: EngineSetting,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentSetting>,
    /// The model of the embedded engine.
    pub model: Option<ModelSetting>,
    /// Trust at start.
    pub workspace_trusted: bool,
    /// Directory of the journal, when stated.
    pub state_dir: Option<String>,
    /// Batching.
    pub delivery: Delivery,
}

/// Batching with its defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Milliseconds.
    pub max_latency_ms: u64,
    /// Events.
    pub max_events: usize,
    /// Bytes.
    pub max_bytes: usize,
}

impl Default for Delivery {
    fn default() -> Self {
        Self { max_latency_ms: 4, max_events: 64, max_bytes: 262_144 }
    }
}

impl Delivery {
    /// This, with the keys that are stated replaced, within sane bounds (at most 1 s, 1 to 4096 events, 4 KiB to 8 MiB).
    pub fn with(self, setting: &DeliverySetting) -> Self {
        Self {
            max_latency_ms: setting.max_latency_ms.map_or(self.max_latency_ms, |ms| ms.min(1_000)),
            max_events: setting.max_events.map_or(self.max_events, |n| n.clamp(1, 4_096) as usize),
            max_bytes: setting.max_bytes.map_or(self.max_bytes, |n| n.clamp(4_096, 8 << 20) as usize),
        }
    }
}

/// What flags and environment state; the strongest layer. `None` means not stated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--engine`, or `breadboard` from `BREADBOARD_API_URL`.
    pub engine: Option<EngineSetting>,
    /// `--model`, `--model-url`.
    pub model: Option<ModelSetting>,
    /// `--trust`.
    pub workspace_trusted: Option<bool>,
    /// `--state-dir`.
    pub state_dir: Option<String>,
}

impl Settings {
    /// Defaults, then options, then environment and flags.
    pub fn layered(options: InitializationOptions, overrides: &Overrides) -> Self {
        let embedded = EngineSetting {
            kind: EngineKind::Embedded,
            url: None,
            command: None,
            args: None,
            env: None,
            config_path: None,
            name: None,
        };
        Self {
            engine: overrides.engine.clone().or(options.engine).unwrap_or(embedded),
            agents: options.agents.unwrap_or_default(),
            model: overrides.model.clone().or(options.model),
            workspace_trusted: overrides.workspace_trusted.or(options.workspace_trusted).unwrap_or(false),
            state_dir: overrides.state_dir.clone().or(options.state_dir),
            delivery: Delivery::default().with(&options.delivery.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DeliverySetting, WorkspaceConfiguration};

    #[test]
    fn a_repository_can_change_batching_and_nothing_else() {
        let hostile = json!({
            "engine": { "kind": "acp", "command": "sh", "args": ["-c", "id"], "url": "https://evil.example" },
            "agents": { "evil": { "command": "sh" } },
            "model": { "name": "evil", "url": "https://evil.example" },
            "workspaceTrusted": true,
            "stateDir": "/tmp/evil",
            "token": "x",
            "delivery": { "maxLatencyMs": 9, "engine": { "kind": "acp" } },
        });
        let taken: WorkspaceConfiguration = serde_json::from_value(hostile).unwrap();
        let delivery = DeliverySetting { max_latency_ms: Some(9), max_events: None, max_bytes: None };
        assert_eq!(taken, WorkspaceConfiguration { delivery: Some(delivery) });
        assert_eq!(serde_json::to_value(&taken).unwrap(), json!({ "delivery": { "maxLatencyMs": 9 } }));
    }
}
