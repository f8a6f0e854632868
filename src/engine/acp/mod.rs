//! Agent processes that speak the Agent Client Protocol on stdio: any number of them, by name, behind one port.
//!
//! Owns the way from a call to the task of the agent that it is for; an agent's task is made when it is first used, and its
//! process when a session or a prompt needs it. Dropped, every process ends. Never decides whether something may run: the
//! loop judged trust before it called, and asks go to the user; that an untrusted workspace starts none is looked at twice.

mod agent;
pub(crate) mod agents;
mod ask;
mod asks;
mod client_request;
pub(crate) mod client_side;
mod closing;
mod command;
mod commands;
pub(crate) mod framing;
mod incoming;
pub(crate) mod installed;
mod life;
mod listing;
mod login;
mod models;
mod modes;
mod outgoing;
mod own_request;
mod permission;
pub(crate) mod presets;
pub(crate) mod process;
mod process_state;
mod routes;
mod rpc;
mod running;
mod sentence;
mod session;
mod session_table;
mod sessions;
mod start_mode;
mod task;
mod turn;
mod turns;
mod unplaced;
mod wanted;
mod writes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::agent::Agent;
use self::agents::Agents;
use self::presets::preset_of;
use self::process::{Cwd, Secrets};
use self::routes::Routes;
use self::task::{Message, Surroundings};
pub(crate) use self::turns::UNHEARD;
use crate::app::inbox::Reply;
use crate::app::ports::{
    AgentCall, Connectivity, Engine, EngineCall, EngineReport, EngineTraits, ListedSessions, SessionHome,
    Settlement, StreamResume, TurnEnd,
};
use crate::domain::approval::RuleHolder;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::mcp::McpDefinition;
use crate::domain::remedy::{Retry, RetryWhen};
use crate::protocol::request::{ListSessionsResult, ModelsResult};
use crate::protocol::settings::{EngineKind, Settings};
use crate::protocol::standing::CommandBounds;
use crate::protocol::tab::AgentRestartResult;

/// Calls that wait for one agent's task. It takes them at once whatever the agent does, so thousands waiting mean that the
/// machine stands still; one more is refused.
const CALLS: usize = 4_096;

/// How long the agents may take together to list their sessions.
const LIST: Duration = Duration::from_secs(15);

/// What the agents of a server need beside the settings.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Directory for what they write on stderr; without, only their last words are kept.
    pub logs: Option<PathBuf>,
    /// Variables with keys that agents may be given, by name: each known agent gets those that are meant for it.
    pub keys: BTreeMap<String, String>,
    /// Secrets that never stand in there; those that are set later are added.
    pub hide: Secrets,
    /// The executable of `breadboard-ls`, which guards them.
    pub guard: PathBuf,
    /// How long they may take for what.
    pub timeouts: AgentTimeouts,
}

/// How long an agent may take for what a user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTimeouts {
    /// To say hello; a package runner may have to unpack it first.
    pub start: Duration,
    /// To open a session; some start servers of tools first.
    pub open: Duration,
    /// To end a turn that was stopped.
    pub stop: Duration,
}

impl Default for AgentTimeouts {
    fn default() -> Self {
        Self { start: Duration::from_secs(60), open: Duration::from_secs(120), stop: Duration::from_secs(30) }
    }
}

/// The agents of one server.
pub struct AcpEngine {
    reports: mpsc::Sender<EngineReport>,
    runtime: Handle,
    agents: Agents,
    setup: Setup,
    /// Tool servers of the user's, which each agent is given.
    tool_servers: Arc<[McpDefinition]>,
    /// Of the commands in terminals of agents.
    commands: CommandBounds,
    routes: Routes,
    state: Arc<Mutex<AgentTasks>>,
}

#[derive(Default)]
struct AgentTasks {
    trusted: bool,
    folder: Option<Cwd>,
    tasks: BTreeMap<String, mpsc::Sender<Message>>,
    /// The agent that was used last.
    latest: Option<String>,
}

impl AcpEngine {
    /// Agents as the settings name them; nothing is started.
    pub fn new(
        reports: mpsc::Sender<EngineReport>,
        runtime: Handle,
        settings: &Settings,
        setup: Setup,
    ) -> Self {
        let agents = Agents::read(settings);
        if settings.engine.kind == EngineKind::Acp {
            // An agent is started for its first session; until then there is nothing to wait for.
            let reach = match agents.named(None) {
                Ok(_) => Connectivity::Connected { capabilities: capabilities() },
                Err(error) => Connectivity::Failed { retry: 0, error },
            };
            let reports = reports.clone();
            runtime.spawn(async move {
                // The loop may be gone.
                let _ = reports.send(EngineReport::Connectivity(reach)).await;
            });
        }
        let commands = settings.commands.clone();
        let (routes, state, tool_servers) = (Routes::default(), Arc::default(), Arc::default());
        Self { reports, runtime, agents, setup, tool_servers, commands, routes, state }
    }

    /// The same, with tool servers of the user's that each agent is given.
    pub(crate) fn with_tool_servers(mut self, servers: Vec<McpDefinition>) -> Self {
        self.tool_servers = servers.into();
        self
    }

    fn state(&self) -> MutexGuard<'_, AgentTasks> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task of an agent, made now where there is none.
    fn task(&self, name: Option<&str>) -> Result<(String, mpsc::Sender<Message>), CodedError> {
        let line = self.agents.named(name)?;
        let mut state = self.state();
        state.latest = Some(line.name.clone());
        if let Some(task) = state.tasks.get(&line.name) {
            return Ok((line.name.clone(), task.clone()));
        }
        let (sender, calls) = mpsc::channel(CALLS);
        let now = Instant::now();
        let mut agent = Agent::new(line.clone(), &self.setup, self.routes.clone(), now);
        agent.tool_servers = Arc::clone(&self.tool_servers);
        agent.set_trust(state.trusted);
        agent.set_folder(state.folder.clone());
        let given = preset_of(&agent.line.program).map_or(&[][..], |preset| preset.keys).iter().copied();
        let given = given.filter_map(|name| self.setup.keys.get_key_value(name));
        let place = Surroundings {
            keys: given.map(|(name, key)| (name.clone(), key.clone())).collect(),
            hide: self.setup.hide.clone(),
            guard: self.setup.guard.clone(),
            commands: self.commands.clone(),
        };
        self.runtime.spawn(task::run(agent, calls, self.reports.clone(), place));
        state.tasks.insert(line.name.clone(), sender.clone());
        Ok((line.name.clone(), sender))
    }

    /// Hands a call to the agent with this name.
    fn give(&self, name: Option<&str>, call: EngineCall) {
        match self.task(name) {
            Ok((_, task)) => match task.try_send(Message::Call(Box::new(call))) {
                Ok(()) => {}
                Err(TrySendError::Full(Message::Call(call)) | TrySendError::Closed(Message::Call(call))) => {
                    self.refuse(*call, overloaded());
                }
                Err(_) => {}
            },
            Err(error) => self.refuse(call, error),
        }
    }

    /// Hands a call to the agent of a session.
    fn give_of(&self, session_id: &str, call: EngineCall) {
        match self.routes.get(session_id) {
            Some(name) => self.give(Some(&name), call),
            None => self.refuse(call, not_known()),
        }
    }

    /// A refused call is answered; a turn that does not begin ends.
    fn refuse(&self, call: EngineCall, error: CodedError) {
        let report = match call {
            EngineCall::StartTurn { session_id, turn, .. } => {
                // Nothing of it was sent.
                let when =
                    if error.code == ErrorCode::Overloaded { RetryWhen::Later } else { RetryWhen::Changed };
                let failure = Some(error.with_remedy(Retry::not_taken(when)).into());
                EngineReport::TurnEnded { session_id, turn, failure, cancelled: false }
            }
            EngineCall::MakeSession { wish, reply, .. } => {
                EngineReport::SessionMade { wish, outcome: Err(error), reply }
            }
            // An agent that is not known has nothing to delete.
            EngineCall::DeleteSession { session_id, reply, .. } if error.code != ErrorCode::Overloaded => {
                EngineReport::SessionDeleted { session_id, outcome: Ok(()), reply }
            }
            call => return call.refuse(error),
        };
        let reports = self.reports.clone();
        self.runtime.spawn(async move {
            // The loop may be gone.
            let _ = reports.send(report).await;
        });
    }

    /// Tells every agent something small.
    fn tell_all(&self, told: impl Fn() -> Message) {
        for (name, task) in &self.state().tasks {
            if task.try_send(told()).is_err() {
                tracing::warn!(agent = name, "an agent's task takes nothing any more");
            }
        }
    }

    fn settings_changed(&self) {
        let (trusted, folder) = {
            let state = self.state();
            (state.trusted, state.folder.clone())
        };
        self.tell_all(|| Message::Settings { trusted, folder: folder.clone() });
    }

    /// Asks the agents that run; none is started to be asked.
    fn list(&self, reply: Option<Reply<ListSessionsResult>>) {
        let asked: Vec<_> = self
            .state()
            .tasks
            .values()
            .filter_map(|task| {
                let (give, listed) = oneshot::channel();
                task.try_send(Message::List(give)).ok().map(|()| listed)
            })
            .collect();
        let reports = self.reports.clone();
        self.runtime.spawn(async move {
            let mut sessions = Vec::new();
            let until = Instant::now() + LIST;
            for listed in asked {
                if let Ok(Ok(listed)) = tokio::time::timeout_at(until, listed).await {
                    sessions.extend(listed);
                }
            }
            let outcome = Ok(ListedSessions { sessions, whole: false });
            // The loop may be gone.
            let _ = reports.send(EngineReport::SessionsListed { outcome, reply }).await;
        });
    }

    fn restart(&self, agent: Option<String>, reply: Reply<AgentRestartResult>) {
        let name = agent.or_else(|| {
            let state = self.state();
            let only = state.tasks.keys().next().filter(|_| state.tasks.len() == 1);
            self.agents.chosen().map(str::to_owned).or_else(|| only.cloned())
        });
        let Some(name) = name else {
            return reply.refuse(CodedError::new(
                ErrorCode::InvalidParams,
                "It is not clear which agent is meant; name one in `agent`.",
            ));
        };
        self.give(Some(&name), EngineCall::Agent(AgentCall::Restart { agent: Some(name.clone()), reply }));
    }

    fn models(&self, reply: Reply<ModelsResult>) {
        let task = {
            let state = self.state();
            state.latest.as_ref().and_then(|name| state.tasks.get(name)).cloned()
        };
        match task {
            Some(task) => {
                // Dropped, the reply answers by itself.
                let _ = task.try_send(Message::Models(reply));
            }
            None => reply.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "An agent names its models once it has a session; create one first.",
            )),
        }
    }
}

impl Engine for AcpEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Acp
    }

    fn capabilities(&self) -> Vec<String> {
        capabilities()
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits {
            sessions: SessionHome::Agent,
            resume: StreamResume::NoStream,
            turn_end: TurnEnd::Report,
            settlement: Settlement::Answer,
            rules: RuleHolder::Agent,
            needs_trust: true,
        }
    }

    fn call(&self, call: EngineCall) {
        match call {
            EngineCall::SetFolders(folders) => {
                let path = folders.into_iter().find_map(|folder| folder.path);
                let mut state = self.state();
                // The same folder said again stays the directory that was opened first.
                if state.folder.as_ref().map(Cwd::path) != path.as_deref() {
                    state.folder = path.map(Cwd::open);
                }
                drop(state);
                self.settings_changed();
            }
            EngineCall::SetTrust { trusted } => {
                self.state().trusted = trusted;
                self.settings_changed();
            }
            // Agents call the models, and each turn names its own.
            EngineCall::SetModel(_) => {}
            // Agents have their own logins; these only must not stand in their logs.
            EngineCall::SetToken { token, .. } => {
                if let Some(token) = token {
                    self.setup.hide.add(&token.0);
                }
            }
            EngineCall::MakeSession { session_id, wish, reply } => {
                let name = wish.agent.clone();
                match self.agents.named(name.as_deref()) {
                    Ok(line) => self.routes.set(&session_id, &line.name),
                    Err(error) => return self.refuse(EngineCall::MakeSession { session_id, wish, reply }, error),
                }
                self.give(name.as_deref(), EngineCall::MakeSession { session_id, wish, reply });
            }
            EngineCall::Agent(AgentCall::Remember(session)) => {
                self.routes.set(&session.session_id, &session.agent);
                let name = session.agent.clone();
                self.give(Some(&name), EngineCall::Agent(AgentCall::Remember(session)));
            }
            EngineCall::Agent(AgentCall::Restart { agent, reply }) => self.restart(agent, reply),
            EngineCall::ListSessions { reply } => self.list(reply),
            EngineCall::ListModels { reply, .. } => self.models(reply),
            EngineCall::Stream(call) => call.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "Agents have no files, artifacts or streams of their own; use the `breadboard` engine for it.",
            )),
            // Agents read the files themselves.
            EngineCall::FilesChanged(_) => {}
            // Its turns end with the agent's process.
            EngineCall::ContinueTurn { .. } | EngineCall::StopCommand { .. } => {}
            EngineCall::StartTurn { ref session_id, .. }
            | EngineCall::Stop { ref session_id }
            | EngineCall::Decide { ref session_id, .. }
            | EngineCall::Agent(AgentCall::CloseSession { ref session_id })
            | EngineCall::Forget { ref session_id }
            | EngineCall::DeleteSession { ref session_id, .. }
            | EngineCall::Command { ref session_id, .. } => {
                let session_id = session_id.clone();
                self.give_of(&session_id, call);
            }
        }
    }
}

/// What every agent can do.
fn capabilities() -> Vec<String> {
    ["chat", "permissions", "sessions", "commands"].map(str::to_owned).to_vec()
}

fn overloaded() -> CodedError {
    CodedError::new(
        ErrorCode::Overloaded,
        "The agent's part of breadboard-ls is busy and took no more; wait for an answer and try again.",
    )
}

fn not_known() -> CodedError {
    CodedError::new(ErrorCode::Conflict, "This session is not open at its agent; send it a prompt first.")
}
