//! One server of the pool: where it is named, how it is reached, or why it is not there.
//!
//! Owns how it is shown to a client. Never starts one of its own accord: the pool says when it may run.

use std::sync::Arc;

use super::server::{McpServer, ServerStanding};
use crate::domain::dialect::acp::state::AgentCommand;
use crate::domain::mcp::McpOffer;
use crate::protocol::mcp::{McpResourceShown, McpServerState, McpSource, McpStatus, McpToolShown};

/// A server, or why there is none.
#[derive(Clone)]
pub(super) struct PoolEntry {
    pub(super) name: String,
    pub(super) source: McpSource,
    pub(super) server: Result<Arc<McpServer>, NoServer>,
    /// Of one that a file names: its digest, and how it would be reached.
    pub(super) found: Option<(String, String)>,
}

/// Why there is no server.
#[derive(Clone)]
pub(super) enum NoServer {
    /// Its definition cannot be used; one sentence.
    Broken(String),
    /// The user has not allowed it; one sentence.
    Unasked(String),
}

impl NoServer {
    pub(super) fn sentence(&self) -> &str {
        match self {
            Self::Broken(sentence) | Self::Unasked(sentence) => sentence,
        }
    }
}

impl PoolEntry {
    /// The server, where there is one.
    pub(super) fn usable(&self) -> Option<&Arc<McpServer>> {
        self.server.as_ref().ok()
    }

    /// As a client is shown it.
    pub(super) fn shown(&self, may_run: bool) -> McpServerState {
        let mut state = McpServerState {
            name: self.name.clone(),
            source: self.source,
            transport: None,
            definition: None,
            status: McpStatus::Failed,
            message: None,
            tools: Vec::new(),
            commands: Vec::new(),
            resources: Vec::new(),
            digest: None,
        };
        if let Some((digest, shown)) = &self.found {
            state.digest = Some(digest.clone());
            state.definition = Some(shown.clone());
        }
        let server = match &self.server {
            Ok(server) => server,
            Err(why) => {
                if matches!(why, NoServer::Unasked(_)) {
                    state.status = McpStatus::Unasked;
                }
                return McpServerState { message: Some(why.sentence().to_owned()), ..state };
            }
        };
        state.transport = Some(server.definition.transport.as_str().to_owned());
        state.definition.get_or_insert_with(|| server.definition.transport.shown());
        match server.standing() {
            ServerStanding::Stopped => {
                state.status = McpStatus::Stopped;
                state.message = (!may_run).then(|| {
                    format!(
                        "The tool server `{}` was not started: the workspace is not trusted, or an agent works here that starts it itself.",
                        self.name
                    )
                });
            }
            ServerStanding::Starting => state.status = McpStatus::Starting,
            ServerStanding::Failed(why) => state.message = Some(why),
            ServerStanding::Ready(connection) => {
                state.status = McpStatus::Ready;
                show_offer(&mut state, &connection.offer());
            }
        }
        state
    }
}

/// Puts entries in the place of others: servers that are in none of them any more end, and those that may run are started.
pub(super) fn replace(before: &[PoolEntry], entries: &[PoolEntry], may_run: bool) {
    for old in before.iter().filter_map(PoolEntry::usable) {
        let is_kept = |entry: &PoolEntry| entry.usable().is_some_and(|server| Arc::ptr_eq(server, old));
        if !entries.iter().any(is_kept) {
            old.stop();
        }
    }
    if may_run {
        entries.iter().filter_map(PoolEntry::usable).for_each(McpServer::ensure);
    }
}

fn show_offer(state: &mut McpServerState, offer: &McpOffer) {
    state.message = (!offer.left_out.is_empty()).then(|| offer.left_out.join(" "));
    state.tools = offer
        .tools
        .iter()
        .map(|tool| McpToolShown {
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: Some(tool.description.clone()).filter(|text| !text.is_empty()),
        })
        .collect();
    state.commands = offer
        .prompts
        .iter()
        .map(|prompt| AgentCommand {
            name: format!("{}:{}", state.name, prompt.name),
            description: prompt.description.clone(),
            hint: prompt.hint(),
        })
        .collect();
    state.resources = offer
        .resources
        .iter()
        .map(|resource| McpResourceShown {
            mention: format!("{}:{}", state.name, resource.uri),
            name: resource.name.clone(),
            description: resource.description.clone(),
            mime_type: resource.mime.clone(),
        })
        .collect();
}
