//! Tool servers in the words of the Agent Client Protocol: as an agent is given them, and as a client gives them to us.
//!
//! Owns these shapes. Never reads a setting.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::mcp::{McpDefinition, McpTransport};

/// Servers as `session/new`, `session/load` and `session/resume` carry them, and the names of those that an agent without HTTP does
/// not take.
pub fn for_session(servers: &[McpDefinition], http: bool) -> (Vec<Value>, Vec<&str>) {
    let mut left_out = Vec::new();
    let server = |server: &McpDefinition| match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            json!({ "name": server.name, "command": command, "args": args, "env": pairs(env) })
        }
        McpTransport::Http { url, headers } => {
            json!({ "type": "http", "name": server.name, "url": url, "headers": pairs(headers) })
        }
    };
    let is_taken = |server: &&McpDefinition| http || matches!(server.transport, McpTransport::Stdio { .. });
    left_out.extend(servers.iter().filter(|server| !is_taken(server)).map(|server| server.name.as_str()));
    (servers.iter().filter(is_taken).map(server).collect(), left_out)
}

/// Servers of a client's request, as settings by name: names that cannot stand in a mention are changed. What is no server is left
/// out.
pub fn of_session(params: &Map<String, Value>) -> BTreeMap<String, Value> {
    let listed = params.get("mcpServers").and_then(Value::as_array);
    let mut servers = BTreeMap::new();
    for server in listed.into_iter().flatten().filter_map(Value::as_object) {
        let Some(name) = server.get("name").and_then(Value::as_str) else { continue };
        let mut setting = server.clone();
        setting.remove("name");
        for field in ["env", "headers"] {
            let pairs = setting.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
            let pair =
                |pair: &Value| Some((pair.get("name")?.as_str()?.to_owned(), pair.get("value")?.clone()));
            setting.insert(field.to_owned(), Value::Object(pairs.iter().filter_map(pair).collect()));
        }
        servers.insert(plain(name), Value::Object(setting));
    }
    servers
}

fn pairs(values: &BTreeMap<String, String>) -> Vec<Value> {
    values.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

fn plain(name: &str) -> String {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    name.chars().take(64).map(|each| if letter(each) { each } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_in_the_words_of_the_protocol_and_read_back() {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let program = McpDefinition {
            name: "docs".to_owned(),
            transport: McpTransport::Stdio {
                command: "/bin/docs".to_owned(),
                args: vec!["-x".to_owned()],
                env: map(&[("A", "b")]),
            },
        };
        let address = McpDefinition {
            name: "web".to_owned(),
            transport: McpTransport::Http { url: "https://h".to_owned(), headers: map(&[("X", "y")]) },
        };
        let both = [program, address];
        let (told, left_out) = for_session(&both, true);
        assert_eq!(
            (json!(told), left_out),
            (
                json!([
                    { "name": "docs", "command": "/bin/docs", "args": ["-x"], "env": [{ "name": "A", "value": "b" }] },
                    { "type": "http", "name": "web", "url": "https://h", "headers": [{ "name": "X", "value": "y" }] },
                ]),
                vec![],
            )
        );
        let (stdio, left_out) = for_session(&both, false);
        assert_eq!((stdio.len(), left_out), (1, vec!["web"]));
        let params = json!({ "mcpServers": told });
        let read = of_session(params.as_object().expect("params"));
        assert_eq!(
            json!(read),
            json!({
                "docs": { "command": "/bin/docs", "args": ["-x"], "env": { "A": "b" }, "headers": {} },
                "web": { "type": "http", "url": "https://h", "headers": { "X": "y" }, "env": {} },
            })
        );
        let odd = json!({ "mcpServers": [{ "name": "My Docs:1", "command": "a" }, "none", {}] });
        let read = of_session(odd.as_object().expect("params"));
        assert_eq!(read.keys().collect::<Vec<_>>(), ["My-Docs-1"]);
    }
}
