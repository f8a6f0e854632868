//! `doctor`'s look at the servers of tools.
//!
//! Owns how long a server is waited for. Calls no tool.

use std::time::{Duration, Instant};

use serde_json::json;

use super::check::Check;
use super::client::Client;
use super::handshake::ANSWER;
use crate::protocol::mcp::{McpListResult, McpServerState, McpStatus};

/// How long a server may take to start; one that is fetched first takes most of a minute.
const START: Duration = Duration::from_secs(60);

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(100);

/// One line for each server that is named; none where there are none.
pub(super) fn tool_servers(client: &mut Client) -> Vec<Check> {
    let until = Instant::now() + START;
    loop {
        let Some(listed) = list(client) else { return Vec::new() };
        let starts = listed.servers.iter().any(|server| server.status == McpStatus::Starting);
        if !starts || Instant::now() >= until {
            return listed.servers.iter().map(check).collect();
        }
        std::thread::sleep(AGAIN);
    }
}

/// A server without the method has none to tell of.
fn list(client: &mut Client) -> Option<McpListResult> {
    serde_json::from_value(client.request("bb/mcp/list", json!({}), ANSWER).ok()?).ok()
}

fn check(server: &McpServerState) -> Check {
    const ID: &str = "tools";
    let name = &server.name;
    let said = server.message.clone().unwrap_or_default();
    match server.status {
        McpStatus::Ready => {
            let counted = [
                (server.tools.len(), "tools"),
                (server.commands.len(), "prompts"),
                (server.resources.len(), "resources"),
            ];
            let counted: Vec<String> =
                counted.iter().map(|(count, what)| format!("{what}: {count}")).collect();
            Check::ok(ID, format!("the tool server `{name}` is ready; {}", counted.join(", ")))
        }
        McpStatus::Stopped => Check::warn(
            ID,
            format!(
                "the tool server `{name}` was not started, since the folder is not trusted or an agent starts it"
            ),
            "add --trust to try it",
        ),
        McpStatus::Starting => Check::fail(
            ID,
            format!("the tool server `{name}` did not say hello within {} s", START.as_secs()),
            "check its setting",
        ),
        // The server's own sentences say what to do.
        McpStatus::Unasked => Check { advice: None, ..Check::warn(ID, said, "") },
        McpStatus::Failed => Check { advice: None, ..Check::fail(ID, said, "") },
    }
}
