//! What servers give to a prompt: resources that it names, and the prompt that it begins with.
//!
//! Owns the sentence where a server gives none. Never decides what becomes of the prompt.

use std::sync::Arc;

use super::server::McpServer;
use crate::app::ports::{McpFetched, McpWanted};

/// The server that is asked.
pub(super) fn server_of(wanted: &McpWanted) -> &str {
    match wanted {
        McpWanted::Resource { server, .. } => server,
        McpWanted::Prompt(call) => &call.server,
    }
}

/// Asks for one thing.
pub(super) async fn fetch(wanted: McpWanted, server: Option<Arc<McpServer>>) -> McpFetched {
    let outcome = match server {
        Some(server) => ask(&wanted, &server).await,
        None => Err(format!("There is no tool server `{}` that may run here.", server_of(&wanted))),
    };
    (wanted, outcome)
}

async fn ask(wanted: &McpWanted, server: &Arc<McpServer>) -> Result<String, String> {
    match wanted {
        McpWanted::Resource { uri, .. } => server.connected().await?.read(uri).await,
        McpWanted::Prompt(call) => {
            let arguments = call.arguments.clone()?;
            server.connected().await?.prompt(&call.prompt, arguments).await
        }
    }
}
