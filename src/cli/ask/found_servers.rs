//! Servers of tools that a file of the workspace names: whether each may run, asked before the prompt goes out.
//!
//! Owns the question. What is allowed is exactly the content that is shown; that it is what stands in the file is the server's to check
//! (decision 0037). Never asks where nobody can answer, and never without trust.

use std::io::Write;

use serde_json::json;

use super::super::client::{Client, ClientError};
use super::super::handshake::ANSWER;
use super::super::terminal::{marked, visible_code};
use super::keyboard::Keyboard;
use crate::protocol::mcp::{McpListResult, McpStatus};

/// Asks about each server that nobody allowed yet.
///
/// # Errors
/// When the server is gone, or refuses the answer.
pub(super) fn ask_about(
    client: &mut Client,
    session_id: &str,
    keyboard: &Keyboard,
) -> Result<(), ClientError> {
    let params = json!({ "sessionId": session_id });
    // A server that has none cannot list them; then there is nothing to ask.
    let Ok(listed) = client.request("bb/mcp/list", params, ANSWER) else { return Ok(()) };
    let Ok(McpListResult { servers }) = serde_json::from_value(listed) else { return Ok(()) };
    let mut err = std::io::stderr();
    for server in servers.into_iter().filter(|server| server.status == McpStatus::Unasked) {
        let (Some(definition), Some(digest)) = (server.definition, server.digest) else { continue };
        let (name, shown) = (visible_code(&server.name), marked(&definition));
        if !keyboard.is_there() {
            let _ = writeln!(
                err,
                "breadboard-ls: A file of this workspace names the tool server {name} ({shown}). Nobody can be asked here, so it was \
                 not started; pass it with --mcp if you want it."
            );
            continue;
        }
        let _ = write!(
            err,
            "A file of this workspace names the tool server {name}:\n  {shown}\nAllow it in this workspace, as long as it stands there so? \
             [y/N] "
        );
        if matches!(keyboard.line().as_deref(), Some("y" | "yes")) {
            client.request("bb/mcp/allow", json!({ "server": server.name, "digest": digest }), ANSWER)?;
        }
    }
    Ok(())
}
