//! What an agent answers: the results of the Agent Client Protocol, read leniently.
//!
//! Owns their shapes as far as we use them. A field that is missing or has another shape is its default, an item of a list
//! that does not fit is left out: no answer is refused for a detail. Never judges a value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::domain::dialect::loose::{each, fitting, lenient, maybe_each};
use crate::domain::payload::Payload;

/// Reads a result; every type of this file reads from any object.
pub fn read<T: DeserializeOwned + Default>(payload: &Payload) -> T {
    payload.read().unwrap_or_default()
}

/// Result of `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeResult {
    /// The version that the agent speaks; `None` when it does not say.
    #[serde(deserialize_with = "lenient")]
    pub protocol_version: Option<u64>,
    /// What it can do.
    #[serde(deserialize_with = "lenient")]
    pub agent_capabilities: AgentCapabilities,
    /// How one logs in there.
    #[serde(deserialize_with = "each")]
    pub auth_methods: Vec<AuthMethod>,
    /// Who it is.
    #[serde(deserialize_with = "lenient")]
    pub agent_info: Option<Implementation>,
}

/// Name and version of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Implementation {
    /// Its name.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// The name to show, where it has another.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A way to log in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthMethod {
    /// Its id, for `authenticate`.
    pub id: String,
    /// What to call it.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `terminal` when a command has to be run by the user; without, the agent does it.
    #[serde(rename = "type", default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What an agent can do. What it does not name it cannot do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// `session/load`.
    #[serde(deserialize_with = "supported")]
    pub load_session: bool,
    /// What a prompt may hold.
    #[serde(deserialize_with = "lenient")]
    pub prompt_capabilities: PromptCapabilities,
    /// What can be done with a session.
    #[serde(deserialize_with = "lenient")]
    pub session_capabilities: SessionCapabilities,
    /// Which tool servers it takes beside those that are programs.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "McpCapabilities::is_none")]
    pub mcp_capabilities: McpCapabilities,
}

/// Which tool servers an agent takes beside those that are programs, which every agent takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpCapabilities {
    /// Those at an address, over streamable HTTP.
    #[serde(deserialize_with = "supported")]
    pub http: bool,
}

impl McpCapabilities {
    /// Whether it names none.
    fn is_none(&self) -> bool {
        !self.http
    }
}

/// What a prompt may hold beside text and links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptCapabilities {
    /// Images.
    #[serde(deserialize_with = "supported")]
    pub image: bool,
    /// Sound.
    #[serde(deserialize_with = "supported")]
    pub audio: bool,
    /// Files with their content.
    #[serde(deserialize_with = "supported")]
    pub embedded_context: bool,
}

/// What can be done with a session; an empty object counts as yes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionCapabilities {
    /// `session/list`.
    #[serde(deserialize_with = "supported")]
    pub list: bool,
    /// `session/delete`.
    #[serde(deserialize_with = "supported")]
    pub delete: bool,
    /// `session/resume`.
    #[serde(deserialize_with = "supported")]
    pub resume: bool,
    /// `session/close`.
    #[serde(deserialize_with = "supported")]
    pub close: bool,
    /// `session/fork` (unstable).
    #[serde(deserialize_with = "supported")]
    pub fork: bool,
}

/// Result of `session/new`, `session/load`, `session/resume` and `session/fork`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionResult {
    /// The agent's id of the session; some name it after a load too.
    #[serde(deserialize_with = "lenient")]
    pub session_id: Option<String>,
    /// Modes.
    #[serde(deserialize_with = "lenient")]
    pub modes: Option<SessionModes>,
    /// Options; the way to choose a model in newer agents.
    #[serde(deserialize_with = "maybe_each")]
    pub config_options: Option<Vec<ConfigOption>>,
    /// Models, as older agents name them.
    #[serde(deserialize_with = "lenient")]
    pub models: Option<SessionModels>,
}

/// Result of `session/set_config_option`, and the update `config_option_update`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigOptions {
    /// All options.
    #[serde(deserialize_with = "maybe_each")]
    pub config_options: Option<Vec<ConfigOption>>,
}

/// The modes of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionModes {
    /// The one in use.
    #[serde(deserialize_with = "lenient")]
    pub current_mode_id: String,
    /// All there are.
    #[serde(deserialize_with = "each")]
    pub available_modes: Vec<SessionMode>,
}

/// A mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMode {
    /// Its id.
    pub id: String,
    /// What to call it.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// What it means.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The models of a session, as older agents name them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionModels {
    /// The one in use.
    #[serde(deserialize_with = "lenient")]
    pub current_model_id: String,
    /// All there are.
    #[serde(deserialize_with = "each")]
    pub available_models: Vec<SessionModel>,
}

/// A model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionModel {
    /// Its id.
    pub model_id: String,
    /// What to call it.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// What it is for.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// An option of a session: a choice or a switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// What to call it.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `mode`, `model`, `model_config`, `thought_level`, or another word.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// `select`, `boolean`, or another word.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub kind: String,
    /// The value in use: the id of a choice, or whether the switch is on.
    #[serde(default)]
    pub current_value: Value,
    /// What can be chosen, groups laid out flat.
    #[serde(default, deserialize_with = "choices", skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ConfigChoice>,
}

impl ConfigOption {
    /// Whether it chooses the mode of the session.
    pub(crate) fn is_for_the_mode(&self) -> bool {
        self.category.as_deref() == Some("mode") && !self.options.is_empty()
    }

    /// Whether it has this choice.
    pub fn offers(&self, value: &str) -> bool {
        self.options.iter().any(|choice| choice.value == value)
    }
}

/// One choice of an option.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChoice {
    /// Its id.
    pub value: String,
    /// What to call it.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// What it means.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of its group.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Result of `session/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListResult {
    /// Sessions of this page.
    #[serde(deserialize_with = "each")]
    pub sessions: Vec<ListedSession>,
    /// Where the next page begins.
    #[serde(deserialize_with = "lenient")]
    pub next_cursor: Option<String>,
}

/// A session as an agent lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    /// The agent's id of it.
    pub session_id: String,
    /// Where it works.
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: Option<String>,
    /// One line.
    #[serde(default, deserialize_with = "lenient")]
    pub title: Option<String>,
    /// RFC 3339.
    #[serde(default, deserialize_with = "lenient")]
    pub updated_at: Option<String>,
}

/// `true` or an object; absent, `null` and `false` are no.
fn supported<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(Value::deserialize(deserializer)?, Value::Bool(true) | Value::Object(_)))
}

/// Choices, or groups of choices.
fn choices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ConfigChoice>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    let mut choices = Vec::with_capacity(items.len());
    for mut item in items {
        match item.get_mut("options").map(Value::take) {
            Some(Value::Array(inner)) => {
                let name = item.get("name").or_else(|| item.get("group")).and_then(Value::as_str);
                choices.extend(fitting::<ConfigChoice>(inner).into_iter().map(|choice| ConfigChoice {
                    group: choice.group.or_else(|| name.map(str::to_owned)),
                    ..choice
                }));
            }
            _ => choices.extend(serde_json::from_value(item).ok()),
        }
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn payload(value: Value) -> Payload {
        value.as_object().cloned().unwrap().into()
    }

    #[test]
    fn an_empty_object_is_support_and_null_is_none() {
        let read: InitializeResult = read(&payload(json!({
            "protocolVersion": 1,
            "agentCapabilities": {"loadSession": true, "promptCapabilities": {"image": true, "audio": null},
                "sessionCapabilities": {"close": {}, "list": null, "fork": {"x": 1}, "resume": false},
                "mcpCapabilities": {"http": true, "sse": true}},
            "agentInfo": {"name": "OpenCode", "version": "1.18.33"},
            "authMethods": [{"id": "a", "name": "A", "type": "terminal"}, {"name": "no id"}, 7],
        })));
        assert_eq!(
            read,
            InitializeResult {
                protocol_version: Some(1),
                agent_capabilities: AgentCapabilities {
                    load_session: true,
                    prompt_capabilities: PromptCapabilities { image: true, ..Default::default() },
                    session_capabilities: SessionCapabilities {
                        close: true,
                        fork: true,
                        ..Default::default()
                    },
                    mcp_capabilities: McpCapabilities { http: true },
                },
                auth_methods: vec![AuthMethod {
                    id: "a".to_owned(),
                    name: "A".to_owned(),
                    description: None,
                    kind: Some("terminal".to_owned()),
                }],
                agent_info: Some(Implementation {
                    name: "OpenCode".to_owned(),
                    title: None,
                    version: Some("1.18.33".to_owned()),
                }),
            }
        );
    }

    #[test]
    fn a_field_of_another_shape_costs_only_itself() {
        let initialized: InitializeResult = read(&payload(
            json!({"protocolVersion": "two", "agentCapabilities": 7, "agentInfo": {"name": 1}}),
        ));
        assert_eq!(initialized.agent_info, Some(Implementation::default()));
        assert_eq!(initialized.protocol_version, None);
        let session: SessionResult = read(&payload(json!({
            "sessionId": "s", "modes": [], "models": {"currentModelId": "m", "availableModels": [{"modelId": "m"}, {}]},
            "configOptions": [{"id": "model", "type": "select", "currentValue": "a",
                "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]}, {"value": "b"}, 1]}],
        })));
        let choice = |value: &str, name: &str, group: Option<&str>| ConfigChoice {
            value: value.to_owned(),
            name: name.to_owned(),
            description: None,
            group: group.map(str::to_owned),
        };
        assert_eq!(
            session,
            SessionResult {
                session_id: Some("s".to_owned()),
                modes: None,
                config_options: Some(vec![ConfigOption {
                    id: "model".to_owned(),
                    kind: "select".to_owned(),
                    current_value: json!("a"),
                    options: vec![choice("a", "A", Some("G")), choice("b", "", None)],
                    ..ConfigOption::default()
                }]),
                models: Some(SessionModels {
                    current_model_id: "m".to_owned(),
                    available_models: vec![SessionModel {
                        model_id: "m".to_owned(),
                        ..SessionModel::default()
                    }],
                }),
            }
        );
    }

    #[test]
    fn lists_are_read_as_they_are() {
        let list: ListResult = read(&payload(json!({
            "sessions": [{"sessionId": "a", "cwd": "/w", "title": null}, {"cwd": "/x"}], "nextCursor": "c"})));
        assert_eq!(list.sessions.len(), 1);
        assert_eq!(list.next_cursor.as_deref(), Some("c"));
    }
}
