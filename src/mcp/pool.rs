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

use super::found::{self, FoundServer};
use super::prompt::fetch;
use super::server::{McpServer, ServerStanding, StartMeans};
use super::variables::filled_in;
use crate::app::inbox::{Answer, Folder, Reply};
use crate::app::ports::{McpFetched, McpServers, McpWanted, Secret};
use crate::domain::dialect::acp::state::AgentCommand;
use crate::domain::edits::text::content_hash;
use crate::domain::mcp::{McpDefinition, McpOffer, McpPrompt, tool_name};
use crate::host::ports::{PortError, PortFuture, ServedAnswer, ServedTool, ServedTools, SharedToolServers};
use crate::protocol::mcp::{
    McpDefinitions, McpListResult, McpResourceShown, McpServerState, McpSource, McpStatus, McpToolShown,
};

/// How long a turn waits for servers that start. Later they are there for the next one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Servers of the settings, and of one session. Each is a process, and nobody uses more.
const SERVERS: usize = 32;

/// Sentences about servers that one session was told.
const TOLD: usize = 64;

/// Reads a variable of the environment, for what the definition of a server takes from there.
type ReadVariable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// See the module.
pub(crate) struct McpPool {
    means: StartMeans,
    variable: ReadVariable,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    may_run: bool,
    folder: Option<PathBuf>,
    general: Vec<PoolEntry>,
    /// Those that files of the workspace name.
    found: Vec<PoolEntry>,
    /// Digests of the contents of these that the user allowed.
    allowed: BTreeSet<String>,
    sessions: HashMap<String, Vec<PoolEntry>>,
    told: HashMap<String, BTreeSet<String>>,
}

/// A server, or why there is none.
#[derive(Clone)]
struct PoolEntry {
    name: String,
    source: McpSource,
    server: Result<Arc<McpServer>, NoServer>,
    /// Of one that a file names: its digest, and how it would be reached.
    found: Option<(String, String)>,
}

/// Why there is no server.
#[derive(Clone)]
enum NoServer {
    /// Its definition cannot be used; one sentence.
    Broken(String),
    /// The user has not allowed it; one sentence.
    Unasked(String),
}

impl NoServer {
    fn sentence(&self) -> &str {
        match self {
            Self::Broken(sentence) | Self::Unasked(sentence) => sentence,
        }
    }
}

impl McpPool {
    /// No servers yet. `variable` reads our environment by name.
    pub(crate) fn new(
        runtime: Handle,
        guard: PathBuf,
        variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let means = StartMeans { runtime, guard };
        Arc::new(Self { means, variable: Box::new(variable), state: Mutex::default() })
    }

    /// The state. No code panics while it holds the lock, and a poisoned one still holds whole values.
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers of a session: its own, and of the general ones those whose names are free.
    fn entries(&self, session_id: Option<&str>) -> Vec<PoolEntry> {
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

    fn server(&self, session_id: Option<&str>, name: &str) -> Option<Arc<McpServer>> {
        let entries = self.entries(session_id);
        entries.into_iter().find(|entry| entry.name == name)?.server.ok()
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
    fn kept_or_new(
        &self,
        before: &[PoolEntry],
        filled: McpDefinition,
        digest: String,
        folder: &Path,
    ) -> Arc<McpServer> {
        let servers = before.iter().filter_map(|entry| entry.server.as_ref().ok());
        let known = servers.into_iter().find(|server| server.definition == filled && server.digest == digest);
        known
            .cloned()
            .unwrap_or_else(|| McpServer::new(filled, digest, folder.to_owned(), self.means.clone()))
    }

    /// Looks at the files of the workspace. One whose content changed is another one, which the user has not allowed.
    async fn look_at_files(&self) {
        let folder = {
            let state = self.state();
            state.folder.clone().filter(|_| state.may_run)
        };
        let Some(folder) = folder else { return };
        let place = folder.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || found::look(&place)).await else { return };
        let mut state = self.state();
        if state.folder.as_ref() != Some(&folder) || !state.may_run {
            return;
        }
        let before = std::mem::take(&mut state.found);
        let entries: Vec<PoolEntry> = found
            .into_iter()
            .map(|found| self.found_entry(&before, found, &state.allowed, &folder))
            .collect();
        stop_others(&before, &entries);
        entries.iter().filter_map(|entry| entry.server.as_ref().ok()).for_each(McpServer::ensure);
        state.found = entries;
    }

    fn found_entry(
        &self,
        before: &[PoolEntry],
        found: FoundServer,
        allowed: &BTreeSet<String>,
        folder: &Path,
    ) -> PoolEntry {
        let FoundServer { name, file, digest, shown, definition } = found;
        let server = definition.map_err(NoServer::Broken).and_then(|definition| {
            if !allowed.contains(&digest) {
                return Err(NoServer::Unasked(format!(
                    "The file `{file}` of this workspace names the tool server `{name}` ({shown}), which was not started; allow it \
                     in the list of tool servers if you trust it."
                )));
            }
            let (filled, _) = filled_in(definition, &self.variable).map_err(NoServer::Broken)?;
            Ok(self.kept_or_new(before, filled, digest.clone(), folder))
        });
        PoolEntry { name, source: McpSource::Workspace, server, found: Some((digest, shown)) }
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

/// Ends the servers that are not among the entries any more.
fn stop_others(before: &[PoolEntry], entries: &[PoolEntry]) {
    for old in before.iter().filter_map(|entry| entry.server.as_ref().ok()) {
        let is_kept = |entry: &PoolEntry| entry.server.as_ref().is_ok_and(|server| Arc::ptr_eq(server, old));
        if !entries.iter().any(is_kept) {
            old.stop();
        }
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

/// The pool, as the loop has it.
pub(crate) struct PoolHandle(pub(crate) Arc<McpPool>);

impl PoolHandle {
    fn look_soon(&self) {
        let pool = Arc::clone(&self.0);
        self.0.means.runtime.spawn(async move { pool.look_at_files().await });
    }
}

impl McpServers for PoolHandle {
    fn set(&self, session_id: Option<&str>, servers: McpDefinitions) -> Vec<Secret> {
        let pool = &self.0;
        let (before, folder, may_run) = {
            let state = pool.state();
            let before = match session_id {
                Some(id) => state.sessions.get(id).cloned().unwrap_or_default(),
                None => state.general.clone(),
            };
            (before, state.folder.clone(), state.may_run)
        };
        let source = if session_id.is_some() { McpSource::Session } else { McpSource::Settings };
        let folder = folder.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
        let (entries, secrets) = pool.entries_of(&before, servers, source, &folder);
        stop_others(&before, &entries);
        if may_run {
            entries.iter().filter_map(|entry| entry.server.as_ref().ok()).for_each(McpServer::ensure);
        }
        let mut state = pool.state();
        match session_id {
            Some(id) if entries.is_empty() => drop(state.sessions.remove(id)),
            Some(id) => drop(state.sessions.insert(id.to_owned(), entries)),
            None => state.general = entries,
        }
        secrets
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
        self.0.entries(session_id).iter().map(|entry| state_of(entry, may_run)).collect()
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
                let server = self.0.server(Some(session_id), super::prompt::server_of(&wanted));
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

fn state_of(entry: &PoolEntry, may_run: bool) -> McpServerState {
    let mut state = McpServerState {
        name: entry.name.clone(),
        source: entry.source,
        transport: None,
        definition: None,
        status: McpStatus::Failed,
        message: None,
        tools: Vec::new(),
        commands: Vec::new(),
        resources: Vec::new(),
        digest: None,
    };
    if let Some((digest, shown)) = &entry.found {
        state.digest = Some(digest.clone());
        state.definition = Some(shown.clone());
    }
    let server = match &entry.server {
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
                    entry.name
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
