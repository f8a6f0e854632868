//! `App`: all mutable state of the server, in one place, with one owner.
//!
//! Owns construction and the small questions every handler asks. What happens on an event is in `on_*`; how events leave
//! is in `deliver`.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio::time::Instant;

use super::client::{ClientId, Clients};
use super::engines::Engines;
use super::inbox::Folder;
use super::journalling::Backlog;
use super::leases::Leases;
use super::live::Live;
use super::plain::KnownPaths;
use super::ports::{Ambient, Engine, Files, Journal, McpServers, ModelEndpoints, OpenJournal, TurnScopes};
use super::record::Record;
use super::retention::Retention;
use super::saves::Unsaved;
use super::sessions::{Session, Sessions};
use super::tabs::Tabs;
use crate::domain::approval::RootedRule;
use crate::domain::coded_error::CodedError;
use crate::domain::policy::redact::Redactor;
use crate::domain::spec::Spec;
use crate::protocol::settings::{Delivery, InitializationOptions, ModelSetting, Overrides, Settings};

/// Makes the engine once the settings are known.
pub(super) type OpenEngine = Box<dyn FnOnce(&Settings) -> Result<Box<dyn Engine>, CodedError> + Send>;

/// Makes the agents that stand beside an engine of another kind; called only then. They start no process until they are used.
pub(super) type OpenAgents = Box<dyn FnOnce(&Settings) -> Box<dyn Engine> + Send>;

/// What the wiring hands to the loop.
pub struct Ports {
    /// Opens the journal.
    pub open_journal: OpenJournal,
    /// Makes the engine.
    pub open_engine: OpenEngine,
    /// Makes the agents beside it; without, a session names no agent.
    pub open_agents: Option<OpenAgents>,
    /// The workspace edge.
    pub files: Box<dyn Files>,
    /// The endpoints of models.
    pub models: Box<dyn ModelEndpoints>,
    /// Clock and ids.
    pub ambient: Box<dyn Ambient>,
    /// Publishes to the embedded agent what its turns see of the clients' windows.
    pub scopes: watch::Sender<Arc<TurnScopes>>,
    /// Secrets known from the environment, to be kept out of everything.
    pub redactor: Redactor,
}

/// What can be made only once the settings are known.
pub(super) struct Unopened {
    pub(super) journal: OpenJournal,
    pub(super) engine: OpenEngine,
    pub(super) agents: Option<OpenAgents>,
}

/// The workspace that is worked on: that of the client which opened it. Others join it.
#[derive(Default)]
pub(super) struct Workspace {
    /// Names it in the journal.
    pub(super) key: String,
    /// Its folders, in order.
    pub(super) folders: Vec<Folder>,
    /// The client whose folders they are.
    pub(super) opener: Option<ClientId>,
}

/// How events are batched.
pub(super) struct Batching {
    /// By the settings.
    pub(super) set: Delivery,
    /// And by what clients asked for in `bb/init`, which stands above them.
    pub(super) in_force: Delivery,
}

/// The spec that is written in this workspace.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) spec: Spec,
    /// What tells the spec that was read or written here last from one that another window wrote; `None` without one.
    pub(super) saved: Option<u64>,
    /// Images whose files are read for it, by pick; what is held elsewhere is still on its way.
    pub(super) images_coming: Vec<Weak<usize>>,
}

/// All mutable state.
pub struct App {
    pub(super) files: Box<dyn Files>,
    pub(super) models: Box<dyn ModelEndpoints>,
    pub(super) ambient: Box<dyn Ambient>,
    pub(super) scopes: watch::Sender<Arc<TurnScopes>>,
    /// What makes journal and engines; `None` once the first client opened the workspace.
    pub(super) unopened: Option<Unopened>,
    pub(super) journal: Option<Box<dyn Journal>>,
    pub(super) engines: Engines,
    /// Servers of tools, where there can be any.
    pub(super) mcp: Option<Box<dyn McpServers>>,
    /// What this window knows of leases.
    pub(super) leases: Leases,
    pub(super) settings: Settings,
    /// The model that `bb/models/set` chose since the start; it stands above the setting.
    pub(super) chosen_model: Option<ModelSetting>,
    pub(super) batching: Batching,
    pub(super) workspace: Workspace,
    /// Who is connected.
    pub(super) clients: Clients,
    pub(super) sessions: Sessions,
    pub(super) tabs: Tabs,
    /// Whether `bb/state` changed, for every client, since the last event was settled.
    pub(super) state_changed: bool,
    pub(super) redactor: Redactor,
    /// What the disk did not take.
    pub(super) backlog: Backlog,
    pub(super) retention: Retention,
    pub(super) started: Instant,
    pub(super) closing: bool,
    /// Rules that hold in this workspace.
    pub(super) rules: Vec<RootedRule>,
    pub(super) draft: Draft,
    /// What edits left unsaved in editors.
    pub(super) unsaved: Unsaved,
    /// Turns that wait for the context of their prompt, by session.
    pub(super) gathering: BTreeMap<String, u64>,
    /// The files of the workspace, for whoever types a part of a path.
    pub(super) paths: KnownPaths,
}

impl App {
    /// A loop that waits for its first client, and for `initialize`.
    pub fn new(ports: Ports) -> Self {
        let settings = Settings::layered(InitializationOptions::default(), &Overrides::default());
        Self {
            files: ports.files,
            models: ports.models,
            ambient: ports.ambient,
            scopes: ports.scopes,
            unopened: Some(Unopened {
                journal: ports.open_journal,
                engine: ports.open_engine,
                agents: ports.open_agents,
            }),
            journal: None,
            engines: Engines::default(),
            mcp: None,
            leases: Leases::default(),
            batching: Batching { set: settings.delivery, in_force: settings.delivery },
            settings,
            chosen_model: None,
            workspace: Workspace::default(),
            clients: Clients::default(),
            sessions: Sessions::default(),
            tabs: Tabs::default(),
            state_changed: false,
            redactor: ports.redactor,
            backlog: Backlog::default(),
            retention: Retention::default(),
            started: Instant::now(),
            closing: false,
            rules: Vec::new(),
            draft: Draft::default(),
            unsaved: Unsaved::default(),
            gathering: BTreeMap::new(),
            paths: KnownPaths::default(),
        }
    }

    /// The same loop, with servers of tools.
    pub(crate) fn with_mcp(mut self, servers: Box<dyn McpServers>) -> Self {
        self.mcp = Some(servers);
        self
    }

    /// Microseconds since the loop began: the clock of the batchers.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The session, or the refusal that names it.
    pub(super) fn known(&self, session_id: &str) -> Result<&Session, CodedError> {
        self.sessions.get(session_id).ok_or_else(|| CodedError::unknown_session(session_id))
    }

    /// The session's record, for changes; they are written with its next commit.
    pub(super) fn record_mut(&mut self, session_id: &str) -> Result<&mut Record, CodedError> {
        let session =
            self.sessions.get_mut(session_id).ok_or_else(|| CodedError::unknown_session(session_id))?;
        if let Some(live) = session.live.as_mut() {
            live.pending.record_changed = true;
        }
        Ok(&mut session.record)
    }

    /// The loaded part of a session.
    pub(super) fn live_mut(&mut self, session_id: &str) -> Option<&mut Live> {
        self.sessions.get_mut(session_id)?.live.as_deref_mut()
    }

    /// The journal. It is there from `initialize` on.
    pub(super) fn journal(&mut self) -> Result<&mut dyn Journal, CodedError> {
        match self.journal.as_mut() {
            Some(journal) => Ok(journal.as_mut()),
            None => Err(CodedError::internal()),
        }
    }

    /// Uri of a workspace path, as an editor spells it.
    pub(super) fn root_named(&self, root: Option<&str>) -> Option<&Folder> {
        match root {
            Some(name) => self.workspace.folders.iter().find(|folder| folder.name == name),
            None => self.workspace.folders.first(),
        }
    }
}
