//! All servers: those of the settings, and those that sessions have besides.
//!
//! Owns which there are, whether they may run, and who was told of what is wrong with one. The loop tells it by `PoolHandle`; turns
//! call tools through `SharedToolServers`. Never asks anybody.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::look_order::LookOrder;
use super::pool_entry::{NoServer, PoolEntry, replace};
use super::server::{McpServer, ServerStanding, StartMeans};
use super::variables::filled_in;
use crate::app::ports::Secret;
use crate::domain::edits::text::content_hash;
use crate::domain::mcp::{McpDefinition, McpOffer, tool_name};
use crate::host::ports::{PortError, PortFuture, ServedAnswer, ServedTool, ServedTools, SharedToolServers};
use crate::protocol::mcp::{McpDefinitions, McpSource};

/// How long a turn waits for servers that start. Later they are there for the next one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Servers of the settings, and of one session. Each is a process, and nobody uses more.
const SERVERS: usize = 32;

/// Sentences about servers that one session was told.
const TOLD: usize = 64;

/// Reads a variable of the environment, for what the definition of a server takes from there.
type ReadVariable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Tells the loop what is to be hidden from here on; false when it takes nothing just now.
type HideSecrets = Box<dyn Fn(Vec<Secret>) -> bool + Send + Sync>;

/// See the module.
pub(crate) struct McpPool {
    pub(super) means: StartMeans,
    pub(super) variable: ReadVariable,
    pub(super) hide: HideSecrets,
    state: Mutex<PoolState>,
}

#[derive(Default)]
pub(super) struct PoolState {
    pub(super) may_run: bool,
    pub(super) folder: Option<PathBuf>,
    pub(super) general: Vec<PoolEntry>,
    /// Those that files of the workspace name.
    pub(super) found: Vec<PoolEntry>,
    /// The looks at these files.
    pub(super) looks: LookOrder,
    /// Digests of the contents of these that the user allowed.
    pub(super) allowed: BTreeSet<String>,
    pub(super) sessions: HashMap<String, Vec<PoolEntry>>,
    pub(super) told: HashMap<String, BTreeSet<String>>,
}

impl McpPool {
    /// No servers yet. `variable` reads our environment by name; `hide` is told what a server that a file names takes from there,
    /// before it is started.
    pub(crate) fn new(
        runtime: Handle,
        guard: PathBuf,
        variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
        hide: impl Fn(Vec<Secret>) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let means = StartMeans { runtime, guard };
        let (variable, hide) = (Box::new(variable), Box::new(hide));
        Arc::new(Self { means, variable, hide, state: Mutex::default() })
    }

    /// The state. No code panics while it holds the lock, and a poisoned one still holds whole values.
    pub(super) fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers of a session: its own, and of the general ones those whose names are free.
    pub(super) fn entries(&self, session_id: Option<&str>) -> Vec<PoolEntry> {
        let state = self.state();
        let mut entries = session_id.and_then(|id| state.sessions.get(id)).cloned().unwrap_or_default();
        for entry in state.general.iter().chain(&state.found) {
            if !entries.iter().any(|own| own.name == entry.name) {
                entries.push(entry.clone());
            }
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        entries
    }

    pub(super) fn server(&self, session_id: Option<&str>, name: &str) -> Option<Arc<McpServer>> {
        let entries = self.entries(session_id);
        entries.into_iter().find(|entry| entry.name == name)?.server.ok()
    }

    /// The servers of the settings, or of one session, from here on. Gives the secrets in what they are started with.
    pub(super) fn set(&self, session_id: Option<&str>, servers: McpDefinitions) -> Vec<Secret> {
        let (before, folder, may_run) = {
            let state = self.state();
            let before = match session_id {
                Some(id) => state.sessions.get(id).cloned().unwrap_or_default(),
                None => state.general.clone(),
            };
            (before, state.folder.clone(), state.may_run)
        };
        let source = if session_id.is_some() { McpSource::Session } else { McpSource::Settings };
        let folder = folder.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
        let (entries, secrets) = self.entries_of(&before, servers, source, &folder);
        replace(&before, &entries, may_run);
        let mut state = self.state();
        match session_id {
            Some(id) if entries.is_empty() => drop(state.sessions.remove(id)),
            Some(id) => drop(state.sessions.insert(id.to_owned(), entries)),
            None => state.general = entries,
        }
        secrets
    }

    /// Entries for these definitions; a server that is there already, the same, stays.
    fn entries_of(
        &self,
        before: &[PoolEntry],
        servers: McpDefinitions,
        source: McpSource,
        folder: &Path,
    ) -> (Vec<PoolEntry>, Vec<Secret>) {
        let mut secrets = Vec::new();
        let entry = |(name, definition): (String, Result<McpDefinition, String>)| {
            let server = definition.and_then(|definition| {
                let digest = definition.digest();
                let (filled, taken) = filled_in(definition, &self.variable)?;
                secrets.extend(taken.into_iter().map(Secret));
                Ok(self.kept_or_new(before, filled, digest, folder))
            });
            PoolEntry { name, source, server: server.map_err(NoServer::Broken), found: None }
        };
        (servers.into_iter().take(SERVERS).map(entry).collect(), secrets)
    }

    /// The server of this definition that is there already, or a new one.
    pub(super) fn kept_or_new(
        &self,
        before: &[PoolEntry],
        filled: McpDefinition,
        digest: String,
        folder: &Path,
    ) -> Arc<McpServer> {
        let servers = before.iter().filter_map(PoolEntry::usable);
        let known = servers.into_iter().find(|server| server.definition == filled && server.digest == digest);
        known
            .cloned()
            .unwrap_or_else(|| McpServer::new(filled, digest, folder.to_owned(), self.means.clone()))
    }

    /// Of these sentences those that the session has not been told.
    fn untold(&self, session_id: &str, notes: Vec<String>) -> Vec<String> {
        let mut state = self.state();
        let told = state.told.entry(session_id.to_owned()).or_default();
        if told.len() > TOLD {
            told.clear();
        }
        notes.into_iter().filter(|note| told.insert(note.clone())).collect()
    }

    async fn tools_of(&self, session_id: &str) -> ServedTools {
        self.look_at_files().await;
        let entries = self.entries(Some(session_id));
        if entries.is_empty() || !self.state().may_run {
            return ServedTools::default();
        }
        let mut notes: Vec<String> = entries
            .iter()
            .filter_map(|entry| Some(entry.server.as_ref().err()?.sentence().to_owned()))
            .collect();
        let servers: Vec<Arc<McpServer>> =
            entries.into_iter().filter_map(|entry| entry.server.ok()).collect();
        servers.iter().for_each(|server| server.ensure());
        let settled = join_all(servers.iter().map(|server| server.settled(PATIENCE))).await;
        let mut tools = Vec::new();
        for (server, standing) in servers.iter().zip(settled) {
            match standing {
                ServerStanding::Ready(_) => {
                    let offer = server.offer();
                    tools.extend(offered(server, &offer));
                    notes.extend(offer.left_out.iter().cloned());
                }
                ServerStanding::Failed(why) => notes.push(why),
                ServerStanding::Starting => notes.push(format!(
                    "The tool server `{}` is still starting, so this turn goes without its tools.",
                    server.definition.name
                )),
                ServerStanding::Stopped => {}
            }
        }
        ServedTools { tools, notes: self.untold(session_id, notes) }
    }

    async fn call_of(
        &self,
        session_id: &str,
        tool: ServedTool,
        arguments: Map<String, Value>,
    ) -> Result<ServedAnswer, PortError> {
        let failed = |code: &str, message: String| PortError { code: code.to_owned(), message };
        let gone = || format!("There is no tool server `{}` any more; go on without it.", tool.server);
        let server =
            self.server(Some(session_id), &tool.server).ok_or_else(|| failed("not_found", gone()))?;
        if !self.state().may_run {
            return Err(failed("untrusted_workspace", "Tool servers may not run here any more.".to_owned()));
        }
        let connection = server.connected().await.map_err(|why| failed("server_failed", why))?;
        // It may be another process than the one whose tool was shown.
        let is_same = offered(&server, &connection.offer()).any(|now| now == tool);
        if !is_same {
            let why = format!(
                "The tool server `{}` offers `{}` in another way than it did, so it was not called; look at the tools again.",
                tool.server, tool.tool
            );
            return Err(failed("conflict", why));
        }
        connection.call(&tool.tool, arguments).await.map_err(|why| failed("server_failed", why))
    }
}

/// The tools of a server, as a turn knows them.
fn offered<'a>(server: &'a McpServer, offer: &'a McpOffer) -> impl Iterator<Item = ServedTool> + 'a {
    let name = &server.definition.name;
    offer.tools.iter().map(move |tool| ServedTool {
        name: tool_name(name, &tool.name),
        server: name.clone(),
        tool: tool.name.clone(),
        description: match &tool.title {
            Some(title) if !tool.description.contains(title.as_str()) => {
                format!("{title}. {}", tool.description)
            }
            _ => tool.description.clone(),
        },
        parameters: Value::Object(tool.parameters.clone()),
        digest: content_hash(format!("{}\n{}", server.digest, tool.digest()).as_bytes()),
    })
}

impl SharedToolServers for McpPool {
    fn tools(&self, session_id: &str) -> PortFuture<'_, ServedTools> {
        let session_id = session_id.to_owned();
        Box::pin(async move { self.tools_of(&session_id).await })
    }

    fn tool(&self, session_id: &str, name: &str) -> Option<ServedTool> {
        let servers = self.entries(Some(session_id)).into_iter().filter_map(|entry| entry.server.ok());
        let mut found = servers.filter_map(|server| {
            let offer = server.offer();
            offered(&server, &offer).find(|tool| tool.name == name)
        });
        found.next()
    }

    fn call(
        &self,
        session_id: &str,
        tool: ServedTool,
        arguments: Map<String, Value>,
    ) -> PortFuture<'_, Result<ServedAnswer, PortError>> {
        let session_id = session_id.to_owned();
        Box::pin(async move { self.call_of(&session_id, tool, arguments).await })
    }
}
