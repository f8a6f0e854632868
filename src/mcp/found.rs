//! Servers that files of the workspace name: `.mcp.json` and `.vscode/mcp.json`.
//!
//! Owns which files these are, how much of them is read, and what tells one content from another. Never starts one: each waits for
//! the user's word for exactly this content.

use std::collections::BTreeMap;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::{Map, Value, json};

use crate::confined::{Links, open_regular, read_bounded};
use crate::domain::edits::text::content_hash;
use crate::domain::mcp::{McpDefinition, McpTransport};
use crate::protocol::mcp::McpServerSetting;

/// The files, and the key under which each has its servers.
const FILES: [(&str, &str); 2] = [(".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")];

/// Bytes of such a file.
const FILE: u64 = 256 * 1024;

/// Servers of a workspace.
const SERVERS: usize = 32;

/// A server that a file names.
#[derive(Clone)]
pub(super) struct FoundServer {
    /// Its name.
    pub(super) name: String,
    /// The file.
    pub(super) file: &'static str,
    /// What tells this content from another: all of it, the values too.
    pub(super) digest: String,
    /// How it would be reached, with what it would take from our environment.
    pub(super) shown: String,
    /// The definition, or a sentence about what is wrong with it.
    pub(super) definition: Result<McpDefinition, String>,
}

/// The servers that the files of this folder name, each name once. Blocking.
pub(super) fn look(folder: &Path) -> Vec<FoundServer> {
    let Ok(dir) = Dir::open_ambient_dir(folder, ambient_authority()) else { return Vec::new() };
    let mut found: BTreeMap<String, FoundServer> = BTreeMap::new();
    for (file, key) in FILES {
        for (name, setting) in servers_of(&dir, file, key) {
            if found.len() < SERVERS && !found.contains_key(&name) {
                found.insert(name.clone(), server(name, file, &setting));
            }
        }
    }
    found.into_values().collect()
}

fn servers_of(dir: &Dir, file: &'static str, key: &str) -> Vec<(String, Value)> {
    let Ok((opened, _)) = open_regular(dir, Path::new(file), Links::Refused) else { return Vec::new() };
    let Ok(bytes) = read_bounded(opened, FILE, &|| false) else { return Vec::new() };
    let text = without_comments(&String::from_utf8_lossy(&bytes));
    let Ok(Value::Object(mut whole)) = serde_json::from_str::<Value>(&text) else {
        tracing::warn!(file, "a file of the workspace that names tool servers cannot be read");
        return Vec::new();
    };
    match whole.remove(key) {
        Some(Value::Object(servers)) => servers.into_iter().collect(),
        Some(_) | None => Vec::new(),
    }
}

fn server(name: String, file: &'static str, setting: &Value) -> FoundServer {
    let digest = content_hash(json!([name, sorted(setting)]).to_string().as_bytes());
    let definition = serde_json::from_value::<McpServerSetting>(setting.clone())
        .map_err(|_| format!("The tool server `{name}` in `{file}` is not written as one; correct the file."))
        .and_then(|setting| setting.definition(&name));
    let shown = definition.as_ref().map(shown_whole).unwrap_or_default();
    FoundServer { name, file, digest, shown, definition }
}

/// How it would be reached; a file of the workspace hides nothing, so the values are shown as they stand in it.
fn shown_whole(definition: &McpDefinition) -> String {
    let (what, values) = match &definition.transport {
        McpTransport::Stdio { env, .. } => ("with", env),
        McpTransport::Http { headers, .. } => ("sending", headers),
    };
    let pairs: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut line = definition.transport.shown();
    if !pairs.is_empty() {
        line.push_str(&format!(" {what} {}", pairs.join(" ")));
    }
    line
}

/// The same with its names in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields = ordered.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// JSON without the comments that editors allow in it.
fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            ('\\', Some(_)) if in_text => {
                clean.push(letter);
                clean.extend(rest.next());
            }
            ('"', _) => {
                in_text = !in_text;
                clean.push(letter);
            }
            ('/', Some('/')) if !in_text => {
                while rest.peek().is_some_and(|next| *next != '\n') {
                    rest.next();
                }
            }
            ('/', Some('*')) if !in_text => {
                rest.next();
                let mut before = ' ';
                for next in rest.by_ref() {
                    if (before, next) == ('*', '/') {
                        break;
                    }
                    before = next;
                }
            }
            _ => clean.push(letter),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder(files: &[(&str, &str)]) -> Vec<FoundServer> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        look(folder.path())
    }

    #[test]
    fn both_files_name_servers_and_the_content_tells_them_apart() {
        let of = |env: &str| {
            let one = format!(
                r#"{{ "mcpServers": {{ "docs": {{ "command": "docs", "env": {{ "KEY": "{env}" }} }} }} }}"#
            );
            let other =
                "{ // comment\n \"servers\": { \"web\": { \"url\": \"https://h/mcp\" /* or http:// */ } } }";
            in_folder(&[(".mcp.json", &one), (".vscode/mcp.json", other)])
        };
        let found = of("${TOKEN}");
        let told: Vec<(&str, &str)> =
            found.iter().map(|server| (server.name.as_str(), server.shown.as_str())).collect();
        assert_eq!(told, [("docs", "docs (variables: KEY) with KEY=${TOKEN}"), ("web", "https://h/mcp")]);
        assert_ne!(found[0].digest, of("other")[0].digest);
        assert_eq!(found[0].digest, of("${TOKEN}")[0].digest);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_a_large_file_and_nonsense_name_nothing() {
        assert!(in_folder(&[(".mcp.json", "{"), (".vscode/mcp.json", "[]")]).is_empty());
        let large =
            format!("{{ \"mcpServers\": {{ \"a\": {{ \"command\": \"{}\" }} }} }}", "x".repeat(300_000));
        assert!(in_folder(&[(".mcp.json", &large)]).is_empty());
        let folder = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(elsewhere.path(), r#"{ "mcpServers": { "a": { "command": "a" } } }"#).expect("a file");
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".mcp.json")).expect("a link");
        assert!(look(folder.path()).is_empty());
    }
}
