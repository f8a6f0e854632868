//! The simulated engine: its sessions, its connections, what it was asked.
//!
//! Owns the list of sessions and what a restart forgets. Never reads a request.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::control::{HeldAnswers, Planned, SeenRequest};
use super::session::{Birth, SimulatedSession};
use super::{SimulatorOptions, clock, permission, runner};

/// Requests that are remembered; the oldest go first. Far more than a test makes.
const REQUESTS_REMEMBERED: usize = 10_000;
/// Restarts that faults may cause in one simulator, so that every client comes to an end.
const RESTARTS_BY_FAULT: u32 = 3;

/// Everything behind the port.
pub(super) struct SimulatedEngine {
    pub options: SimulatorOptions,
    /// Where workspaces go that no client placed.
    pub root: PathBuf,
    pub started: Duration,
    /// Steps of scripts that need not wait any more.
    pub released: watch::Sender<BTreeSet<String>>,
    /// Requests that wait.
    pub hold: watch::Sender<Option<HeldAnswers>>,
    handle: Handle,
    world: Mutex<World>,
}

/// What a restart forgets, and the test's side.
struct World {
    sessions: Vec<(Arc<SimulatedSession>, AbortHandle)>,
    /// Sessions that a restart forgot, where everything is remembered.
    forgotten: Vec<Arc<SimulatedSession>>,
    born: u64,
    connections: Vec<AbortHandle>,
    seen: VecDeque<SeenRequest>,
    planned: Vec<Planned>,
    restarts_left: u32,
    /// How often each fault was met.
    met: BTreeMap<&'static str, u64>,
}

/// What a client wants of a new session.
#[derive(Debug, Default)]
pub(super) struct Wish {
    pub config_path: String,
    pub task: String,
    pub workspace: Option<String>,
    pub metadata: Map<String, Value>,
}

impl SimulatedEngine {
    pub(super) fn new(options: SimulatorOptions, root: PathBuf, handle: Handle) -> Self {
        Self {
            options,
            root,
            started: clock::now(),
            released: watch::Sender::new(BTreeSet::new()),
            hold: watch::Sender::new(None),
            handle,
            world: Mutex::new(World {
                sessions: Vec::new(),
                forgotten: Vec::new(),
                born: 0,
                connections: Vec::new(),
                seen: VecDeque::new(),
                planned: Vec::new(),
                restarts_left: RESTARTS_BY_FAULT,
                met: BTreeMap::new(),
            }),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task on the simulator's runtime.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
    }

    /// A session by its id.
    pub(super) fn session(&self, id: &str) -> Option<Arc<SimulatedSession>> {
        self.world()
            .sessions
            .iter()
            .find(|(session, _)| session.id == id)
            .map(|(session, _)| Arc::clone(session))
    }

    /// A session by its id, also one that a restart forgot, where everything is remembered.
    pub(super) fn remembered(&self, id: &str) -> Option<Arc<SimulatedSession>> {
        let forgotten = || self.world().forgotten.iter().find(|session| session.id == id).cloned();
        self.session(id).or_else(forgotten)
    }

    /// All sessions, oldest first.
    pub(super) fn sessions(&self) -> Vec<Arc<SimulatedSession>> {
        self.world().sessions.iter().map(|(session, _)| Arc::clone(session)).collect()
    }

    /// Makes a session and lets it run at once: events may come before anyone can listen.
    pub(super) fn create(self: &Arc<Self>, wish: Wish) -> Arc<SimulatedSession> {
        let ordinal = {
            let mut world = self.world();
            world.born += 1;
            world.born
        };
        // Absolute: as it is. Relative or none: below the engine's own directory. All are created at once.
        let workspace = match wish.workspace.as_deref().map(Path::new) {
            Some(path) if path.is_absolute() => path.to_owned(),
            Some(path) => self.root.join(path.file_name().unwrap_or_default()),
            None => self.root.join(format!("agent_ws_{ordinal}")),
        };
        if self.options.todo_store {
            let folder = workspace.join(".breadboard");
            // Where nothing can be written there is no todo store, and so no snapshot of it.
            let _ = std::fs::create_dir_all(&folder);
            let store = folder.join("todos.json");
            if !store.exists() {
                let _ = std::fs::write(store, json!({"items": [], "revision": 0}).to_string());
            }
        } else {
            let _ = std::fs::create_dir_all(&workspace);
        }
        let session = Arc::new(SimulatedSession::new(Birth {
            id: uuid::Uuid::new_v4().to_string(),
            ordinal,
            workspace,
            config_path: wish.config_path,
            metadata: wish.metadata,
            pr40: self.options.pr40,
            log_events: self.options.log_events,
            fault_budget: self.options.faults.budget,
            remember: self.options.remember,
        }));
        session.state().rules = permission::load_rules(&session.workspace);
        let run = runner::drive(Arc::clone(self), Arc::clone(&session), wish.task);
        let run = self.spawn(run);
        self.world().sessions.push((Arc::clone(&session), run));
        session
    }

    /// Takes a session out of the list and ends its streams. No last event tells them.
    pub(super) fn remove(&self, session: &SimulatedSession) {
        let mut world = self.world();
        let sessions = std::mem::take(&mut world.sessions);
        let (gone, stay) = sessions.into_iter().partition(|(other, _)| other.id == session.id);
        world.sessions = stay;
        // Behind its removal: nobody who asks for it may see it as one that ended and is still there.
        session.end_deleted();
        let gone: Vec<(Arc<SimulatedSession>, _)> = gone;
        for (session, run) in gone {
            run.abort();
            if self.options.remember {
                world.forgotten.push(session);
            }
        }
    }

    /// All sessions are forgotten and every connection breaks, as when the process was killed and started again.
    pub(super) fn restart(&self) {
        let mut world = self.world();
        for (session, run) in std::mem::take(&mut world.sessions) {
            run.abort();
            session.cut_streams();
            if self.options.remember {
                world.forgotten.push(session);
            }
        }
        for connection in world.connections.drain(..) {
            connection.abort();
        }
    }

    /// A restart by a fault; refused when there were enough.
    pub(super) fn restart_by_fault(&self) -> bool {
        let allowed = {
            let mut world = self.world();
            let left = world.restarts_left;
            world.restarts_left = left.saturating_sub(1);
            left > 0
        };
        if allowed {
            self.restart();
        }
        allowed
    }

    /// A stream met a fault.
    pub(super) fn met(&self, fault: &'static str) {
        *self.world().met.entry(fault).or_default() += 1;
    }

    /// How often each fault was met.
    pub(super) fn faults_met(&self) -> BTreeMap<&'static str, u64> {
        self.world().met.clone()
    }

    /// A connection was accepted.
    pub(super) fn connected(&self, connection: AbortHandle) {
        let mut world = self.world();
        world.connections.retain(|connection| !connection.is_finished());
        world.connections.push(connection);
    }

    /// A request came.
    pub(super) fn saw(&self, request: SeenRequest) {
        let mut world = self.world();
        world.seen.push_back(request);
        while world.seen.len() > REQUESTS_REMEMBERED {
            world.seen.pop_front();
        }
    }

    /// What was asked, oldest first.
    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        self.world().seen.iter().cloned().collect()
    }

    /// The next request whose line contains the words gets this answer and has no effect.
    pub(super) fn plan(&self, planned: Planned) {
        self.world().planned.push(planned);
    }

    /// The planned answer for a request line, once.
    pub(super) fn planned(&self, line: &str) -> Option<Planned> {
        let mut world = self.world();
        let at = world.planned.iter().position(|planned| line.contains(&planned.needle))?;
        Some(world.planned.remove(at))
    }
}
