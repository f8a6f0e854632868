//! Servers of the Model Context Protocol on the wire: the setting, and how each stands.
//!
//! Owns these shapes, and how a setting becomes a definition. Never tells the value of a variable or of a header.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::dialect::acp::state::AgentCommand;
use crate::domain::mcp::{McpDefinition, McpTransport, is_server_name};

/// One server of tools: a program (`command`) or an address (`url`), in the shape that other clients take too.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpServerSetting {
    /// Program of a server on standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Its extra environment. `${NAME}` in a value stands for a variable of ours, which then is a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Address of a server over streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of each request to it; `${NAME}` as in `env`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// `stdio` or `http`, for those who write it; what is there says it as well.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// True: it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// Without the values of its variables and headers.
impl std::fmt::Debug for McpServerSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServerSetting").field("definition", &self.definition("_")).finish()
    }
}

impl McpServerSetting {
    /// The definition under this name.
    ///
    /// # Errors
    /// One sentence, when it is none.
    pub fn definition(&self, name: &str) -> Result<McpDefinition, String> {
        if !is_server_name(name) {
            return Err(format!(
                "A tool server cannot be called `{name}`; give it a name of letters, digits, `.`, `_` and `-`."
            ));
        }
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        if self.transport.as_deref() == Some("sse") {
            return Err(format!(
                "The tool server `{name}` is set to the older transport over server-sent events, which is not spoken here; give its \
                 address for streamable HTTP."
            ));
        }
        let transport = match (filled(&self.command), filled(&self.url)) {
            (Some(command), None) => McpTransport::Stdio {
                command,
                args: self.args.clone().unwrap_or_default(),
                env: self.env.clone().unwrap_or_default(),
            },
            (None, Some(url)) => {
                McpTransport::Http { url, headers: self.headers.clone().unwrap_or_default() }
            }
            (Some(_), Some(_)) => {
                return Err(format!(
                    "The tool server `{name}` has both a program and an address; leave one of them out."
                ));
            }
            (None, None) => {
                return Err(format!(
                    "The tool server `{name}` has neither a program nor an address; give it one of them."
                ));
            }
        };
        Ok(McpDefinition { name: name.to_owned(), transport })
    }
}

/// Servers by name, each with its definition or a sentence about what is wrong with it; those that are switched off are not there.
pub type McpDefinitions = Vec<(String, Result<McpDefinition, String>)>;

/// The definitions of these settings.
pub fn definitions(settings: &BTreeMap<String, McpServerSetting>) -> McpDefinitions {
    let used = settings.iter().filter(|(_, setting)| setting.disabled != Some(true));
    used.map(|(name, setting)| (name.clone(), setting.definition(name))).collect()
}

/// Params of `bb/mcp/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpListParams {
    /// With the servers of this session besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Result of `bb/mcp/list` and `bb/mcp/set`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpListResult {
    /// The servers, by name.
    pub servers: Vec<McpServerState>,
}

/// A server, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerState {
    /// Its name.
    pub name: String,
    /// Who named it.
    pub source: McpSource,
    /// `stdio` or `http`; absent where it is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// How it is reached, in one line without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// How it stands.
    pub status: McpStatus,
    /// Why, and what to do next, in sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The tools that it offers, once it is ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<McpToolShown>,
    /// Its prompts, as commands that a prompt may begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<AgentCommand>,
    /// Its resources, as mentions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<McpResourceShown>,
    /// Of a server that a file of the workspace names: what is to be allowed, or was, with `bb/mcp/allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Who named a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpSource {
    /// The user's settings, or the command line.
    Settings,
    /// The client, for one session.
    Session,
    /// A file of the workspace.
    Workspace,
}

/// How a server stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpStatus {
    /// A file of the workspace names it, and the user has not allowed that.
    Unasked,
    /// It does not run: the workspace is not trusted.
    Stopped,
    /// It was started, and has not said what it offers.
    Starting,
    /// It is used.
    Ready,
    /// It could not be started, or ended.
    Failed,
}

/// A tool, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolShown {
    /// Its name at the server.
    pub name: String,
    /// What a person reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, as the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A resource, as a person names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResourceShown {
    /// What is written in a prompt, without the `@`.
    pub mention: String,
    /// What a person reads.
    pub name: String,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Params of `bb/mcp/restart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRestartParams {
    /// Name of the server.
    pub server: String,
    /// The session that it belongs to, where it is one of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Params of `bb/mcp/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSetParams {
    /// The session.
    pub session_id: String,
    /// Its servers by name, in place of those that it had. They are kept in memory only.
    pub mcp_servers: BTreeMap<String, McpServerSetting>,
}

/// Params of `bb/mcp/allow`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpAllowParams {
    /// Name of a server that a file of the workspace names.
    pub server: String,
    /// The digest of the definition that was shown.
    pub digest: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(setting: Value) -> Result<String, String> {
        let setting: McpServerSetting = serde_json::from_value(setting).expect("a setting");
        setting
            .definition("docs")
            .map(|definition| format!("{}: {}", definition.transport.as_str(), definition.transport.shown()))
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        assert_eq!(read(json!({ "command": "docs", "args": ["-x"] })), Ok("stdio: docs -x".to_owned()));
        assert_eq!(
            read(json!({ "type": "http", "url": "https://h/mcp" })),
            Ok("http: https://h/mcp".to_owned())
        );
        for (setting, sentence) in [
            (json!({}), "The tool server `docs` has neither a program nor an address; give it one of them."),
            (
                json!({ "command": "a", "url": "b" }),
                "The tool server `docs` has both a program and an address; leave one of them out.",
            ),
            (
                json!({ "type": "sse", "url": "b" }),
                "The tool server `docs` is set to the older transport over server-sent events, which is not spoken here; give \
                 its address for streamable HTTP.",
            ),
        ] {
            assert_eq!(read(setting), Err(sentence.to_owned()));
        }
        assert!(McpServerSetting::default().definition("my docs").is_err());
    }

    #[test]
    fn a_server_that_is_switched_off_is_not_there_and_debug_shows_no_value() {
        let setting = |value: Value| serde_json::from_value::<McpServerSetting>(value).expect("a setting");
        let off = setting(json!({ "command": "a", "disabled": true }));
        let on = setting(json!({ "command": "a", "env": { "KEY": "canary" } }));
        assert!(!format!("{on:?}").contains("canary"));
        let both = BTreeMap::from([("off".to_owned(), off), ("on".to_owned(), on)]);
        let names: Vec<String> = definitions(&both).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["on"]);
    }
}
