//! Settings: what `initializationOptions` may hold and what a workspace may not (wire.md section 1).
//!
//! Owns the shapes and the layering rule. Never reads the environment or a file: the layers come in as values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mcp::McpServerSetting;
pub use super::model_setting::{
    Effort, EmbeddingsSetting, ModelPrice, ModelSetting, RerankerProtocol, RerankerSetting,
};
use super::standing::{ApprovalsSetting, CommandBounds, CommandsSetting, StandingOverrides};
use crate::domain::dialect::Dialect;
use crate::domain::policy::settings_secrets::SecretValues;
use crate::domain::policy::standing::StandingPolicy;

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
    /// Servers of tools, resources and prompts (Model Context Protocol) by name; used by the embedded engine, and given to agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<BTreeMap<String, McpServerSetting>>,
    /// The model of the embedded engine. Default: none, which answers by retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSetting>,
    /// The embedding model by which the embedded engine's searches compare meanings too. Text of a trusted workspace goes to it.
    /// Default: none; words are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<EmbeddingsSetting>,
    /// A model that reads the best passages of each search of the embedded engine together with the question, and puts them in order.
    /// Text of a trusted workspace goes to it. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reranker: Option<RerankerSetting>,
    /// How far a turn of the embedded engine goes before it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSetting>,
    /// Whether the editor trusts the workspace. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_trusted: Option<bool>,
    /// Directory of the journal. Default: `breadboard-ls` in the user's state directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
    /// How events are batched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliverySetting>,
    /// How much is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionSetting>,
    /// What is done without asking, and how long permissions wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalsSetting>,
    /// Where commands run, and within which bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandsSetting>,
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
    /// PEM file with certificates of authorities that are believed for an HTTP engine, beside those of the system (on Linux:
    /// of `SSL_CERT_FILE`, where that is set).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Name of one of `agents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl EngineSetting {
    /// This, with what it does not state taken from `weaker` where that is about the same kind: who names an address in the
    /// environment keeps the configuration that the editor names. A certificate belongs to the address it was named with.
    fn over(self, weaker: Self) -> Self {
        if self.kind != weaker.kind {
            return self;
        }
        Self {
            kind: self.kind,
            ca_file: self.ca_file.or(if self.url.is_none() || self.url == weaker.url {
                weaker.ca_file
            } else {
                None
            }),
            url: self.url.or(weaker.url),
            command: self.command.or(weaker.command),
            args: self.args.or(weaker.args),
            env: self.env.or(weaker.env),
            config_path: self.config_path.or(weaker.config_path),
            name: self.name.or(weaker.name),
        }
    }
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

    /// The dialect that an engine of this kind speaks.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Embedded | Self::Desktop => Dialect::Desktop,
            Self::Breadboard => Dialect::Breadboard,
            Self::Acp => Dialect::Acp,
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
    /// Seconds without a word in a turn after which the user hears of it. Default 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_seconds: Option<u64>,
    /// Whether the agent may read and write files of the workspace through the editor; each write is asked. Default: false,
    /// since agents that have their own file access use it anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<bool>,
    /// Whether the agent may run commands in terminals of the server; each is asked. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminals: Option<bool>,
    /// The mode that the agent's sessions begin in. `ask` (default): the one in which it asks before each edit and each
    /// command, where the agent is known and has one; what it does otherwise is said in the session. `agent`: whichever it
    /// begins in. Anything else is the id of one of its modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// How far a turn of the embedded engine goes before it asks whether to go on. Each answer that it may adds the same again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSetting {
    /// Replies of the model. Default 100; 0 means no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tokens in and out, as the provider counts them. Default 5000000; 0 means no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What it costs, where that is known. Default: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
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

/// How much of earlier sessions is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetentionSetting {
    /// Bytes that the journal may take; at least 1 MiB. Past it the raw events of the oldest sessions are removed, and, if that
    /// is not enough, the oldest sessions. Default 1073741824.
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
    /// Servers of tools by name.
    pub mcp_servers: BTreeMap<String, McpServerSetting>,
    /// The model of the embedded engine.
    pub model: Option<ModelSetting>,
    /// The embedding model of its searches.
    pub embeddings: Option<EmbeddingsSetting>,
    /// The reranker of its searches.
    pub reranker: Option<RerankerSetting>,
    /// How far its turns go.
    pub budget: BudgetSetting,
    /// Trust at start.
    pub workspace_trusted: bool,
    /// Directory of the journal, when stated.
    pub state_dir: Option<String>,
    /// Batching.
    pub delivery: Delivery,
    /// Bytes that the journal may take.
    pub journal_bytes: u64,
    /// Milliseconds that a permission waits; `None`: for ever.
    pub ask_expiry_ms: Option<i64>,
    /// What is done, or refused, without asking.
    pub standing: StandingPolicy,
    /// Where commands run.
    pub commands: CommandBounds,
    /// Values of the options that are hidden as tokens are.
    pub secrets: SecretValues,
    /// What the editor calls itself, for engines that tell their clients of one another.
    pub editor_name: Option<String>,
}

/// A gibibyte holds some million events; a disk that cannot spare it is full anyway.
const JOURNAL_BYTES: u64 = 1 << 30;

/// Over night, and not for ever: what was asked yesterday may mean something else today.
const ASK_EXPIRY_SECONDS: u64 = 86_400;

/// Below this a single answer might not fit.
const LEAST_JOURNAL_BYTES: u64 = 1 << 20;

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
    /// `--mcp`, `--mcp-config`: beside those of the options, and in place of one of the same name.
    pub mcp_servers: BTreeMap<String, McpServerSetting>,
    /// `--model`, `--model-url`.
    pub model: Option<ModelSetting>,
    /// `--embedding-model`, `--embedding-url`.
    pub embeddings: Option<EmbeddingsSetting>,
    /// `--reranker-model`, `--reranker-url`.
    pub reranker: Option<RerankerSetting>,
    /// `--trust`.
    pub workspace_trusted: Option<bool>,
    /// `--state-dir`.
    pub state_dir: Option<String>,
    /// `--allow`, `--deny`, `--run-commands`, and their variable.
    pub standing: StandingOverrides,
    /// The weakest layer: what the user's own settings file says.
    pub user: UserChoice,
}

/// Who answers where neither the editor nor flags or environment name an engine or a model: both together, or none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct UserChoice {
    /// Which engine runs the turns.
    pub engine: Option<EngineSetting>,
    /// The model of the embedded engine.
    pub model: Option<ModelSetting>,
    /// The embedding model; it counts by itself.
    pub embeddings: Option<EmbeddingsSetting>,
    /// The reranker; it counts by itself.
    pub reranker: Option<RerankerSetting>,
    /// What is wrong with the file, in a sentence; nothing of it counts then.
    #[serde(skip)]
    pub problem: Option<String>,
}

impl Settings {
    /// Defaults, then the user's file, then options, then environment and flags.
    pub fn layered(mut options: InitializationOptions, overrides: &Overrides) -> Self {
        let chosen = [overrides.engine.is_some(), overrides.model.is_some()];
        if ![options.engine.is_some(), options.model.is_some()].into_iter().chain(chosen).any(|named| named) {
            options.engine = overrides.user.engine.clone();
            options.model = overrides.user.model.clone();
        }
        let embedded = EngineSetting {
            kind: EngineKind::Embedded,
            url: None,
            command: None,
            args: None,
            env: None,
            config_path: None,
            ca_file: None,
            name: None,
        };
        let mut commands = CommandBounds::of(options.commands.as_ref());
        commands.runner = overrides.standing.runner.unwrap_or(commands.runner);
        commands.confinement = overrides.standing.confinement.unwrap_or(commands.confinement);
        Self {
            standing: overrides.standing.over(options.approvals.as_ref()),
            commands,
            engine: match (overrides.engine.clone(), options.engine) {
                (Some(strong), Some(weak)) => strong.over(weak),
                (strong, weak) => strong.or(weak).unwrap_or(embedded),
            },
            agents: options.agents.unwrap_or_default(),
            mcp_servers: {
                let mut servers = options.mcp_servers.unwrap_or_default();
                servers.extend(overrides.mcp_servers.clone());
                servers
            },
            model: overrides.model.clone().or(options.model),
            embeddings: overrides
                .embeddings
                .clone()
                .or(options.embeddings)
                .or_else(|| overrides.user.embeddings.clone()),
            reranker: overrides
                .reranker
                .clone()
                .or(options.reranker)
                .or_else(|| overrides.user.reranker.clone()),
            budget: options.budget.unwrap_or_default(),
            workspace_trusted: overrides.workspace_trusted.or(options.workspace_trusted).unwrap_or(false),
            state_dir: overrides.state_dir.clone().or(options.state_dir),
            delivery: Delivery::default().with(&options.delivery.unwrap_or_default()),
            journal_bytes: options
                .retention
                .and_then(|retention| retention.max_bytes)
                .map_or(JOURNAL_BYTES, |bytes| bytes.max(LEAST_JOURNAL_BYTES)),
            ask_expiry_ms: {
                let seconds = options.approvals.and_then(|approvals| approvals.expire_after_seconds);
                let seconds = i64::try_from(seconds.unwrap_or(ASK_EXPIRY_SECONDS)).unwrap_or(i64::MAX);
                (seconds > 0).then(|| seconds.saturating_mul(1_000))
            },
            secrets: SecretValues::default(),
            editor_name: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        DeliverySetting, EmbeddingsSetting, EngineSetting, InitializationOptions, ModelSetting, Overrides,
        RerankerSetting, Settings, UserChoice, WorkspaceConfiguration,
    };

    #[test]
    fn the_users_file_counts_where_nobody_names_an_engine_or_a_model() {
        let model = |name: &str| Some(ModelSetting { name: name.into(), ..ModelSetting::default() });
        let embedded = serde_json::from_value::<EngineSetting>(json!({ "kind": "embedded" })).unwrap();
        let agent = serde_json::from_value::<EngineSetting>(json!({ "kind": "acp", "name": "a" })).unwrap();
        let user = UserChoice { engine: Some(agent), model: model("file"), ..UserChoice::default() };
        let used = |engine: Option<EngineSetting>,
                    option: Option<ModelSetting>,
                    flag: Option<ModelSetting>| {
            let options = InitializationOptions { engine, model: option, ..InitializationOptions::default() };
            let overrides = Overrides { user: user.clone(), model: flag, ..Overrides::default() };
            let settings = Settings::layered(options, &overrides);
            (settings.engine.kind.as_str(), settings.model.map(|model| model.name))
        };
        assert_eq!(used(None, None, None), ("acp", Some("file".to_owned())));
        assert_eq!(used(Some(embedded), None, None), ("embedded", None), "an editor that names one means it");
        assert_eq!(used(None, model("editor"), None), ("embedded", Some("editor".to_owned())));
        assert_eq!(used(None, None, model("flag")), ("embedded", Some("flag".to_owned())));
    }

    #[test]
    fn an_embedding_model_is_the_nearest_that_the_user_names_whoever_answers() {
        let model =
            |name: &str| Some(EmbeddingsSetting { name: name.into(), ..EmbeddingsSetting::default() });
        let used = |flag: Option<&str>, option: Option<&str>, file: Option<&str>| {
            let options = InitializationOptions {
                embeddings: option.and_then(model),
                engine: serde_json::from_value(json!({ "kind": "embedded" })).ok(),
                ..InitializationOptions::default()
            };
            let user = UserChoice { embeddings: file.and_then(model), ..UserChoice::default() };
            let overrides = Overrides { embeddings: flag.and_then(model), user, ..Overrides::default() };
            Settings::layered(options, &overrides).embeddings.map(|model| model.name)
        };
        assert_eq!(used(None, None, None), None);
        assert_eq!(used(None, None, Some("file")).as_deref(), Some("file"));
        assert_eq!(used(None, Some("editor"), Some("file")).as_deref(), Some("editor"));
        assert_eq!(used(Some("flag"), Some("editor"), Some("file")).as_deref(), Some("flag"));
    }

    #[test]
    fn a_reranker_is_the_nearest_that_the_user_names_whoever_answers() {
        let model = |name: &str| Some(RerankerSetting { name: name.into(), ..RerankerSetting::default() });
        let used = |flag: Option<&str>, option: Option<&str>, file: Option<&str>| {
            let options = InitializationOptions {
                reranker: option.and_then(model),
                engine: serde_json::from_value(json!({ "kind": "embedded" })).ok(),
                ..InitializationOptions::default()
            };
            let user = UserChoice { reranker: file.and_then(model), ..UserChoice::default() };
            let overrides = Overrides { reranker: flag.and_then(model), user, ..Overrides::default() };
            Settings::layered(options, &overrides).reranker.map(|model| model.name)
        };
        assert_eq!(used(None, None, None), None);
        assert_eq!(used(None, None, Some("file")).as_deref(), Some("file"));
        assert_eq!(used(None, Some("editor"), Some("file")).as_deref(), Some("editor"));
        assert_eq!(used(Some("flag"), Some("editor"), Some("file")).as_deref(), Some("flag"));
    }

    #[test]
    fn an_address_of_the_environment_keeps_what_the_editor_says_of_the_same_engine() {
        let layered = |strong: &str, weak: &str| {
            let setting = |text: &str| serde_json::from_str::<EngineSetting>(text).ok();
            let options = InitializationOptions { engine: setting(weak), ..InitializationOptions::default() };
            let overrides = Overrides { engine: setting(strong), ..Overrides::default() };
            serde_json::to_value(Settings::layered(options, &overrides).engine).unwrap()
        };
        let env = r#"{ "kind": "breadboard", "url": "http://e" }"#;
        for (strong, weak, wanted) in [
            ("", "", json!({ "kind": "embedded" })),
            (env, "", json!({ "kind": "breadboard", "url": "http://e" })),
            (env, r#"{ "kind": "embedded" }"#, json!({ "kind": "breadboard", "url": "http://e" })),
            (env, r#"{ "kind": "acp", "command": "x" }"#, json!({ "kind": "breadboard", "url": "http://e" })),
            (
                env,
                r#"{ "kind": "breadboard", "url": "http://o", "configPath": "c", "caFile": "f" }"#,
                json!({ "kind": "breadboard", "url": "http://e", "configPath": "c" }),
            ),
            (
                r#"{ "kind": "breadboard" }"#,
                r#"{ "kind": "breadboard", "url": "http://o", "caFile": "f" }"#,
                json!({ "kind": "breadboard", "url": "http://o", "caFile": "f" }),
            ),
            (
                "",
                r#"{ "kind": "breadboard", "url": "http://o" }"#,
                json!({ "kind": "breadboard", "url": "http://o" }),
            ),
        ] {
            assert_eq!(layered(strong, weak), wanted, "{strong} over {weak}");
        }
    }

    #[test]
    fn a_repository_can_change_batching_and_nothing_else() {
        let hostile = json!({
            "engine": { "kind": "acp", "command": "sh", "args": ["-c", "id"], "url": "https://evil.example" },
            "agents": { "evil": { "command": "sh" } },
            "mcpServers": { "evil": { "command": "sh" } },
            "model": { "name": "evil", "url": "https://evil.example" },
            "embeddings": { "name": "evil", "url": "https://evil.example" },
            "reranker": { "name": "evil", "url": "https://evil.example" },
            "workspaceTrusted": true,
            "stateDir": "/tmp/evil",
            "token": "x",
            "approvals": { "mode": "edits", "patterns": [{ "pattern": "sh *", "answer": "always" }] },
            "commands": { "runner": "server_runner" },
            "delivery": { "maxLatencyMs": 9, "engine": { "kind": "acp" } },
        });
        let taken: WorkspaceConfiguration = serde_json::from_value(hostile).unwrap();
        let delivery = DeliverySetting { max_latency_ms: Some(9), max_events: None, max_bytes: None };
        assert_eq!(taken, WorkspaceConfiguration { delivery: Some(delivery) });
        assert_eq!(serde_json::to_value(&taken).unwrap(), json!({ "delivery": { "maxLatencyMs": 9 } }));
    }
}
