//! `--mcp` and `--mcp-config`: servers of tools on the command line.
//!
//! Owns how their words, and the file that one of them names, are read. A file is read as the command line is, so that what is wrong
//! with it is said there. Whatever is named here is the user's own word.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::command_line::words;
use crate::platform::real_path;
use crate::protocol::mcp::McpServerSetting;

/// Bytes of a file of servers.
const FILE: u64 = 1 << 20;

/// Heading of the options about servers of tools.
const TOOLS: &str = "Tools";

/// Servers of tools, resources and prompts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct McpArgs {
    /// Tool server (Model Context Protocol) for the built-in engine or the agent: a name and a command line or URL, as in
    /// --mcp "docs=npx -y docs-server" or --mcp docs=https://docs.example/mcp. Repeatable.
    #[arg(long, value_name = "NAME=SERVER", value_parser = McpArg::read, help_heading = TOOLS)]
    pub mcp: Vec<McpArg>,
    /// JSON file with such servers, in the form that other clients use ({"mcpServers": {…}}). ${NAME} in env and headers is replaced
    /// by that environment variable.
    #[arg(long, value_name = "FILE", value_parser = McpConfig::read, help_heading = TOOLS, hide_short_help = true)]
    pub mcp_config: Option<McpConfig>,
}

/// One server, as it was typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpArg {
    typed: String,
    name: String,
    setting: McpServerSetting,
}

/// The servers of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpConfig {
    path: String,
    servers: BTreeMap<String, McpServerSetting>,
}

impl McpArg {
    fn read(text: &str) -> Result<Self, String> {
        let (name, server) =
            text.split_once('=').ok_or("give a name and a server, as in docs=https://docs.example/mcp")?;
        let is_address = ["http://", "https://"].iter().any(|scheme| server.starts_with(scheme));
        let setting = if is_address {
            McpServerSetting { url: Some(server.to_owned()), ..McpServerSetting::default() }
        } else {
            let mut words = words(server)?.into_iter();
            McpServerSetting {
                command: words.next(),
                args: Some(words.collect()),
                ..McpServerSetting::default()
            }
        };
        setting.definition(name)?;
        Ok(Self { typed: text.to_owned(), name: name.to_owned(), setting })
    }
}

impl McpConfig {
    fn read(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        let size = std::fs::metadata(path).map_err(|error| format!("it cannot be read: {error}"))?.len();
        if size > FILE {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let whole = std::fs::read_to_string(path).map_err(|error| format!("it cannot be read: {error}"))?;
        let mut whole: Value =
            serde_json::from_str(&whole).map_err(|error| format!("it is not JSON: {error}"))?;
        let servers = whole.get_mut("mcpServers").map(Value::take).ok_or("it has no `mcpServers`")?;
        let servers: BTreeMap<String, McpServerSetting> = serde_json::from_value(servers)
            .map_err(|error| format!("its `mcpServers` are not written as such: {error}"))?;
        for (name, setting) in &servers {
            setting.definition(name)?;
        }
        // The child that serves may work in another folder.
        let path = real_path(path).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok(Self { path: path.to_string_lossy().into_owned(), servers })
    }
}

impl McpArgs {
    /// The layer that they make; a server of its own flag wins over one of the file.
    pub(crate) fn servers(&self) -> BTreeMap<String, McpServerSetting> {
        let mut servers = self.mcp_config.as_ref().map(|config| config.servers.clone()).unwrap_or_default();
        servers.extend(self.mcp.iter().map(|server| (server.name.clone(), server.setting.clone())));
        servers
    }

    /// The flags that make a child server have the same.
    pub(crate) fn forwarded(&self) -> impl Iterator<Item = String> {
        let file = self.mcp_config.as_ref().map(|config| format!("--mcp-config={}", config.path));
        self.mcp.iter().map(|server| format!("--mcp={}", server.typed)).chain(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_name_with_a_command_line_or_an_address() {
        let shown =
            |text: &str| McpArg::read(text).map(|server| format!("{}: {:?}", server.name, server.setting));
        let program = shown("docs=npx -y 'a b'").expect("is one");
        assert!(program.starts_with("docs: ") && program.contains("npx -y"), "{program}");
        assert!(shown("docs=https://h/mcp").expect("is one").contains("https://h/mcp"));
        for wrong in ["docs", "docs=", "my docs=a", "docs='a"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_has_the_servers_that_other_clients_have_and_a_flag_wins() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.json");
        let path = path.to_str().expect("a path");
        let written = r#"{ "mcpServers": { "a": { "command": "x" }, "b": { "url": "https://h" } } }"#;
        std::fs::write(path, written).expect("a file");
        let flag = McpArg::read("a=y").expect("is one");
        let args = McpArgs { mcp: vec![flag], mcp_config: Some(McpConfig::read(path).expect("is one")) };
        let commands: Vec<Option<String>> =
            args.servers().into_values().map(|server| server.command).collect();
        assert_eq!(commands, [Some("y".to_owned()), None]);
        let forwarded: Vec<String> = args.forwarded().collect();
        assert_eq!(forwarded.len(), 2);
        for wrong in ["{", "{}", r#"{ "mcpServers": { "a": {} } }"#] {
            std::fs::write(path, wrong).expect("a file");
            assert!(McpConfig::read(path).is_err(), "{wrong}");
        }
    }
}
