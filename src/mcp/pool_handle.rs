//! The pool of tool servers, as the loop has it.
//!
//! Owns which call of the loop becomes what in the pool. What takes time is done beside the loop, and answered from there.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;

use super::pool::McpPool;
use super::prompt::{fetch, server_of};
use super::server::McpServer;
use crate::app::inbox::{Answer, Folder, Reply};
use crate::app::ports::{McpFetched, McpServers, McpWanted, Secret};
use crate::domain::mcp::McpPrompt;
use crate::protocol::mcp::{McpDefinitions, McpListResult, McpServerState};

/// See the module.
pub(crate) struct PoolHandle(pub(crate) Arc<McpPool>);

impl PoolHandle {
    fn look_soon(&self) {
        let pool = Arc::clone(&self.0);
        self.0.means.runtime.spawn(async move { pool.look_at_files().await });
    }
}

impl McpServers for PoolHandle {
    fn set(&self, session_id: Option<&str>, servers: McpDefinitions) -> Vec<Secret> {
        self.0.set(session_id, servers)
    }

    fn set_folders(&self, folders: &[Folder]) {
        self.0.state().folder = folders.iter().find_map(|folder| folder.path.clone());
    }

    fn allow(&self, may_run: bool) {
        let servers: Vec<Arc<McpServer>> = {
            let mut state = self.0.state();
            if state.may_run == may_run {
                return;
            }
            state.may_run = may_run;
            let all = state.general.iter().chain(&state.found).chain(state.sessions.values().flatten());
            all.filter_map(|entry| entry.server.clone().ok()).collect()
        };
        for server in servers {
            if may_run { server.ensure() } else { server.stop() }
        }
        self.look_soon();
    }

    fn allow_found(&self, digests: BTreeSet<String>) {
        self.0.state().allowed = digests;
        self.look_soon();
    }

    fn forget(&self, session_id: &str) {
        let entries = {
            let mut state = self.0.state();
            state.told.remove(session_id);
            state.sessions.remove(session_id)
        };
        entries.into_iter().flatten().filter_map(|entry| entry.server.ok()).for_each(|server| server.stop());
    }

    fn standing(&self, session_id: Option<&str>) -> Vec<McpServerState> {
        let may_run = self.0.state().may_run;
        self.0.entries(session_id).iter().map(|entry| entry.shown(may_run)).collect()
    }

    fn list(&self, session_id: Option<&str>, reply: Reply<McpListResult>) {
        let (pool, session_id) = (Arc::clone(&self.0), session_id.map(str::to_owned));
        self.0.means.runtime.spawn(async move {
            pool.look_at_files().await;
            let servers = PoolHandle(pool).standing(session_id.as_deref());
            reply.answer(McpListResult { servers });
        });
    }

    fn restart(&self, session_id: Option<&str>, server: &str) -> bool {
        match self.0.server(session_id, server) {
            Some(server) if self.0.state().may_run => {
                server.restart();
                true
            }
            found => found.is_some(),
        }
    }

    fn prompt(&self, session_id: Option<&str>, server: &str, prompt: &str) -> Option<McpPrompt> {
        let server = self.0.server(session_id, server)?;
        server.offer().prompts.iter().find(|known| known.name == prompt).cloned()
    }

    fn fetch(&self, session_id: &str, wanted: Vec<McpWanted>) -> Answer<Vec<McpFetched>> {
        let (reply, answer) = Reply::new();
        let may_run = self.0.state().may_run;
        let asked: Vec<(McpWanted, Option<Arc<McpServer>>)> = wanted
            .into_iter()
            .map(|wanted| {
                let server = self.0.server(Some(session_id), server_of(&wanted));
                (wanted, server.filter(|_| may_run))
            })
            .collect();
        self.0.means.runtime.spawn(async move {
            let fetched = join_all(asked.into_iter().map(|(wanted, server)| fetch(wanted, server))).await;
            reply.answer(fetched);
        });
        answer
    }
}
