//! `App`: all mutable state of the server, in one place, with one owner.
//!
//! Owns construction and the small questions every handler asks. What happens on an event is in `on_*`; how events leave
//! is in `deliver`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::editor_asks::PendingAsk;
use super::inbox::{EditorAbilities, Folder};
use super::leases::Leases;
use super::live::Live;
use super::ports::{AgentProcess, Ambient, Commit, Engine, Files, Journal, OpenJournal, Outbox, Reach};
use super::record::Record;
use super::retention::Retention;
use super::tabs::Tabs;
use super::tell::Unsaid;
use crate::domain::approval::RootedRule;
use crate::domain::edits::overlay::{Overlay, PositionEncoding};
use crate::domain::policy::redact::Redactor;
use crate::domain::spec::Spec;
use crate::protocol::WireError;
use crate::protocol::notification::ConnectionParams;
use crate::protocol::settings::{Delivery, InitializationOptions, ModelSetting, Overrides, Settings};

/// Makes the engine once the settings are known.
pub type OpenEngine = Box<dyn FnOnce(&Settings) -> Result<Box<dyn Engine>, WireError> + Send>;

/// Makes the agents that stand beside an engine of another kind; called only then. They start no process until they are used.
pub type OpenAgents = Box<dyn FnOnce(&Settings) -> Box<dyn Engine> + Send>;

/// What the wiring hands to the loop.
pub struct Ports {
    /// The one writer.
    pub outbox: Arc<dyn Outbox>,
    /// Opens the journal.
    pub open_journal: OpenJournal,
    /// Makes the engine.
    pub open_engine: OpenEngine,
    /// Makes the agents beside it; without, a session names no agent.
    pub open_agents: Option<OpenAgents>,
    /// The workspace edge.
    pub files: Box<dyn Files>,
    /// Clock and ids.
    pub ambient: Box<dyn Ambient>,
    /// Publishes the overlay to the embedded agent.
    pub overlay: watch::Sender<Arc<Overlay>>,
    /// Secrets known from the environment, to be kept out of everything.
    pub redactor: Redactor,
}

/// One session: its record always, the rest while it is in use.
pub struct Session {
    /// What is remembered.
    pub record: Record,
    /// What is in memory.
    pub live: Option<Box<Live>>,
    /// What tells the record in the journal that was read or written last from another one; `None` while it has none.
    pub saved: Option<u64>,
}

impl Session {
    /// One that the journal does not have.
    pub fn new(record: Record) -> Self {
        Self { record, live: None, saved: None }
    }
}

/// What the client asked to hear.
#[derive(Debug, Clone, Copy)]
pub struct Hears {
    /// `bb/events`.
    pub events: bool,
    /// `bb/view`.
    pub view: bool,
    /// `bb/tab`.
    pub tabs: bool,
}

/// All mutable state.
pub struct App {
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) files: Box<dyn Files>,
    pub(super) ambient: Box<dyn Ambient>,
    pub(super) overlay_out: watch::Sender<Arc<Overlay>>,
    pub(super) open_journal: Option<OpenJournal>,
    pub(super) open_engine: Option<OpenEngine>,
    pub(super) open_agents: Option<OpenAgents>,
    pub(super) journal: Option<Box<dyn Journal>>,
    pub(super) engine: Result<Box<dyn Engine>, WireError>,
    /// Agents beside an engine of another kind.
    pub(super) agents: Option<Box<dyn Engine>>,
    /// The agents that were used since the start, by name: one process each.
    pub(super) agent_processes: BTreeMap<String, AgentProcess>,
    /// Whether the engine answers; `None` for one that needs no connection.
    pub(super) reach: Option<Reach>,
    /// What this window knows of leases.
    pub(super) leases: Leases,
    pub(super) settings: Settings,
    /// The model that `bb/models/set` chose since the start; it stands above the setting.
    pub(super) chosen_model: Option<ModelSetting>,
    pub(super) delivery: Delivery,
    /// `maxLatencyMs` of `bb/init`: what the client said itself stands above every setting.
    pub(super) latency_wish: Option<u64>,
    pub(super) trusted: bool,
    pub(super) folders: Vec<Folder>,
    pub(super) workspace: String,
    pub(super) encoding: PositionEncoding,
    pub(super) abilities: EditorAbilities,
    pub(super) overlay: Arc<Overlay>,
    /// Whether the embedded agent has not seen it as it is.
    pub(super) overlay_changed: bool,
    pub(super) sessions: BTreeMap<String, Session>,
    /// Sessions that are in memory. With thousands in the list and a few in use, every event looks at the few only.
    pub(super) loaded: BTreeSet<String>,
    pub(super) active: Option<String>,
    pub(super) tabs: Tabs,
    pub(super) hears: Hears,
    /// Whether a client of the `bb/*` surface is there; a plain LSP editor is not sent `bb/state`.
    pub(super) greeted: bool,
    pub(super) state_changed: bool,
    /// Connection news that did not fit into the outbox, at most one a session and kind.
    pub(super) connection_news: VecDeque<ConnectionParams>,
    pub(super) asks: HashMap<String, PendingAsk>,
    pub(super) last_ask: u64,
    pub(super) redactor: Redactor,
    /// Commits that the journal did not take; written first when it takes again.
    pub(super) unwritten: VecDeque<Commit>,
    pub(super) unwritten_bytes: usize,
    pub(super) disk_said: bool,
    /// Whether it was said that the journal could not be read.
    pub(super) unread_said: bool,
    /// Why events of a session may be missing since its journal was damaged; found at the start, so not more than sessions.
    pub(super) damaged: BTreeMap<String, String>,
    /// Buffers whose unsaved text is not known, and that the user was told so; see `on_document`.
    pub(super) unknown_buffers: BTreeSet<String>,
    /// Sentences for the user that did not fit into the outbox.
    pub(super) unsaid: Unsaid,
    /// The turn of each session that was stopped because the disk takes nothing; at most one a session.
    pub(super) disk_stopped: BTreeMap<String, u64>,
    pub(super) retention: Retention,
    pub(super) started: Instant,
    pub(super) closing: bool,
    /// Rules that hold in this workspace.
    pub(super) rules: Vec<RootedRule>,
    /// The spec that is written in this workspace.
    pub(super) spec: Spec,
    /// What tells the spec that was read or written here last from one that another window wrote; `None` without one.
    pub(super) spec_saved: Option<u64>,
    /// Images whose files are read for it, by pick; what is held elsewhere is still on its way.
    pub(super) images_coming: Vec<Weak<usize>>,
    /// Tokens of downloads whose progress was begun.
    pub(super) downloads: Vec<Value>,
}

impl App {
    /// A loop that waits for `initialize`.
    pub fn new(ports: Ports) -> Self {
        let settings = Settings::layered(InitializationOptions::default(), &Overrides::default());
        Self {
            outbox: ports.outbox,
            files: ports.files,
            ambient: ports.ambient,
            overlay_out: ports.overlay,
            open_journal: Some(ports.open_journal),
            open_engine: Some(ports.open_engine),
            open_agents: ports.open_agents,
            journal: None,
            engine: Err(WireError::internal()),
            agents: None,
            agent_processes: BTreeMap::new(),
            reach: None,
            leases: Leases::default(),
            delivery: settings.delivery,
            latency_wish: None,
            settings,
            chosen_model: None,
            trusted: false,
            folders: Vec::new(),
            workspace: String::new(),
            encoding: PositionEncoding::default(),
            abilities: EditorAbilities::default(),
            overlay: Arc::new(Overlay::new()),
            overlay_changed: false,
            sessions: BTreeMap::new(),
            loaded: BTreeSet::new(),
            active: None,
            tabs: Tabs::default(),
            hears: Hears { events: true, view: true, tabs: true },
            greeted: false,
            state_changed: false,
            connection_news: VecDeque::new(),
            asks: HashMap::new(),
            last_ask: 0,
            redactor: ports.redactor,
            unwritten: VecDeque::new(),
            unwritten_bytes: 0,
            disk_said: false,
            unread_said: false,
            damaged: BTreeMap::new(),
            unknown_buffers: BTreeSet::new(),
            unsaid: Unsaid::default(),
            disk_stopped: BTreeMap::new(),
            retention: Retention::default(),
            started: Instant::now(),
            closing: false,
            rules: Vec::new(),
            spec: Spec::default(),
            spec_saved: None,
            images_coming: Vec::new(),
            downloads: Vec::new(),
        }
    }

    /// Microseconds since the loop began: the clock of the batchers.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The session, or the refusal that names it.
    pub(super) fn known(&self, session_id: &str) -> Result<&Session, WireError> {
        self.sessions.get(session_id).ok_or_else(|| WireError::unknown_session(session_id))
    }

    /// The session's record, for changes; they are written with its next commit.
    pub(super) fn record_mut(&mut self, session_id: &str) -> Result<&mut Record, WireError> {
        let session =
            self.sessions.get_mut(session_id).ok_or_else(|| WireError::unknown_session(session_id))?;
        if let Some(live) = session.live.as_mut() {
            live.record_changed = true;
        }
        Ok(&mut session.record)
    }

    /// The loaded part of a session.
    pub(super) fn live_mut(&mut self, session_id: &str) -> Option<&mut Live> {
        self.sessions.get_mut(session_id)?.live.as_deref_mut()
    }

    /// The journal. It is there from `initialize` on.
    pub(super) fn journal(&mut self) -> Result<&mut dyn Journal, WireError> {
        match self.journal.as_mut() {
            Some(journal) => Ok(journal.as_mut()),
            None => Err(WireError::internal()),
        }
    }

    /// Uri of a workspace path, as an editor spells it.
    pub(super) fn root_named(&self, root: Option<&str>) -> Option<&Folder> {
        match root {
            Some(name) => self.folders.iter().find(|folder| folder.name == name),
            None => self.folders.first(),
        }
    }
}
