//! The user's servers, as agents are given them: agents start servers themselves.
//!
//! Owns the look for a program on `PATH`, since an agent is to be given an absolute path. Never starts anything.

use std::path::{Path, PathBuf};

use super::variables::filled_in;
use crate::domain::mcp::{McpDefinition, McpTransport};
use crate::protocol::mcp::McpDefinitions;

/// The definitions that can be used, with variables filled in; and what was taken from our environment for them.
pub(crate) fn for_agents(
    servers: McpDefinitions,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (Vec<McpDefinition>, Vec<String>) {
    let mut secrets = Vec::new();
    let path = variable("PATH").unwrap_or_default();
    let usable = servers.into_iter().filter_map(|(_, definition)| {
        let (McpDefinition { name, transport }, taken) = filled_in(definition.ok()?, variable).ok()?;
        secrets.extend(taken);
        let transport = match transport {
            McpTransport::Stdio { command, args, env } => {
                McpTransport::Stdio { command: absolute(&command, &path), args, env }
            }
            http @ McpTransport::Http { .. } => http,
        };
        Some(McpDefinition { name, transport })
    });
    (usable.collect(), secrets)
}

/// The program's whole path, where it is found; else its name, and the agent may look for it.
fn absolute(command: &str, path: &str) -> String {
    if Path::new(command).components().count() != 1 {
        return command.to_owned();
    }
    let found: Option<PathBuf> =
        std::env::split_paths(path).map(|folder| folder.join(command)).find(|whole| whole.is_file());
    found.map_or_else(|| command.to_owned(), |whole| whole.to_string_lossy().into_owned())
}
