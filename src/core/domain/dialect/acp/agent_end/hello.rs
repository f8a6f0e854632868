//! `initialize`: what the client can do, and what we say of ourselves.
//!
//! Owns both shapes. What a client does not announce it cannot do.

use serde_json::{Map, Value, json};

use super::super::encode::PROTOCOL_VERSION;

/// What the client can do for us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcpClientAbilities {
    /// It reads files as its editor has them.
    pub reads_files: bool,
    /// It writes files through its editor.
    pub writes_files: bool,
    /// It shows notices.
    pub notices: bool,
    /// It shows options that are switches.
    pub switches: bool,
}

impl AcpClientAbilities {
    /// From the params of `initialize`.
    pub fn read(params: &Map<String, Value>) -> Self {
        let client = params.get("clientCapabilities");
        let able = |path: &str| client.and_then(|client| client.pointer(path));
        let yes = |path: &str| able(path).and_then(Value::as_bool).unwrap_or(false);
        let there = |path: &str| able(path).is_some_and(|value| !value.is_null());
        Self {
            reads_files: yes("/fs/readTextFile"),
            writes_files: yes("/fs/writeTextFile"),
            notices: there("/session/notices"),
            switches: there("/session/configOptions/boolean"),
        }
    }
}

/// The answer: whether pictures are looked at, and tool servers at an address used. We speak one version and say so, whatever the client asked for; it then goes on or leaves.
pub fn introduction(name: &str, version: &str, pictures: bool, tool_servers: bool) -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": pictures, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": tool_servers, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
        },
        "authMethods": [],
        "agentInfo": { "name": name, "title": "BreadBoard", "version": version },
    })
}
