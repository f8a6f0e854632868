//! What a client learns about the agent of a session: params and result of `bb/session/info`.
//!
//! Never holds the agent's own id of a session: that is no identity outside of its process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::dialect::acp::results::{
    AgentCapabilities, AuthMethod, ConfigOption, SessionModels, SessionModes,
};
use crate::domain::dialect::acp::state::{AgentCommand, AgentState, AgentUsage};

/// Params of `bb/session/info`: a session, by its id or by a tab that shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = super::request::session_or_tab()))]
pub struct SessionInfoParams {
    /// Id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Id of a tab; read when there is no `sessionId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<String>,
}

/// Result of `bb/session/info`. What is absent the agent does not have, or nobody knows yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfoResult {
    /// The agent; absent for a session that no agent holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentInfo>,
    /// Modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<SessionModes>,
    /// Options; also how newer agents offer their models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_options: Option<Vec<ConfigOption>>,
    /// Models, as older agents name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<SessionModels>,
    /// Commands that a prompt may begin with: the agent's, or, in a session of our own engine, the prompts of tool servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<AgentCommand>>,
    /// What was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<AgentUsage>,
    /// What the agent can do, once it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<AgentCapabilities>,
}

/// An agent and how its process stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name here: of the settings, or a preset.
    pub name: String,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Number of its process, from 1; 0 before the first.
    pub generation: u64,
    /// How the process stands.
    pub status: AgentStatus,
    /// How one logs in there, where it said so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auth_methods: Vec<AuthMethod>,
}

/// How the process of an agent stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// It was not started, or we ended it: the next prompt starts it.
    #[default]
    Stopped,
    /// It was started and has not greeted yet.
    Starting,
    /// It runs.
    Running,
    /// It ended by itself: the next prompt, or `bb/agent/restart`, starts it.
    Exited,
}

impl SessionInfoResult {
    /// The answer from what is known of the agent and of its session.
    pub fn of(agent: AgentInfo, capabilities: Option<AgentCapabilities>, state: AgentState) -> Self {
        Self {
            agent: Some(agent),
            modes: state.modes,
            config_options: state.config_options,
            models: state.models,
            commands: state.commands,
            usage: state.usage,
            capabilities,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_leaves_out_what_nobody_knows() {
        assert_eq!(serde_json::to_value(SessionInfoResult::default()).unwrap(), json!({}));
        let agent = AgentInfo {
            name: "opencode".to_owned(),
            title: Some("OpenCode".to_owned()),
            version: None,
            generation: 2,
            status: AgentStatus::Running,
            auth_methods: Vec::new(),
        };
        let mut state = AgentState::default();
        state.mode_set("code");
        assert_eq!(
            serde_json::to_value(SessionInfoResult::of(agent, None, state)).unwrap(),
            json!({
                "agent": {"name": "opencode", "title": "OpenCode", "generation": 2, "status": "running"},
                "modes": {"currentModeId": "code", "availableModes": []},
            })
        );
    }
}
