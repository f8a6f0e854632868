//! The desktop engine: sessions that live at a host behind HTTP, whose turns go over a WebSocket a session.
//!
//! Owns what this process knows of the host: whether it answers, which of its workspaces is which folder. Nothing is opened before
//! the loop chose this engine, and each call is a task of its own, bounded in number and in time. Never sends a prompt twice, never
//! decides anything: what a call means for the user is the loop's.

mod client;
mod commands;
mod link;
mod models;
mod order;
mod pair;
mod reach;
mod run_here;
mod sessions;
mod trouble;
mod turn;
mod watched;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};

use self::client::HostClient;
use self::link::HostLinks;
use self::order::LinkOrder;
pub(crate) use self::pair::pair;
use self::trouble::HostTrouble;
use self::watched::WatchedFiles;
use crate::app::inbox::{Folder, Reply};
use crate::app::ports::{
    Engine, EngineCall, EngineReport, EngineTraits, FileWatch, Secret, SessionHome, Settlement, StreamCall,
    StreamReport, StreamResume, TurnBegun, TurnEnd,
};
use crate::domain::approval::RuleHolder;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::place::HostPlace;
use crate::http::{BaseUrl, NoBaseUrl};
use crate::protocol::request::CredentialScope;
use crate::protocol::settings::{EngineKind, ModelSetting, Settings};
use crate::protocol::version::SERVER_NAME;

/// Where a host is that nobody named: on this machine, at the port of the protocol (R002-05).
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:3199";

/// Calls under way at the same time; each holds a socket. One more is refused as overloaded.
const CALLS: usize = 32;

/// Characters of an editor's name.
const NAME: usize = 80;

/// Sessions whose workspace is remembered; a list names no more.
const PLACES: usize = 4_096;

/// What is set for this engine.
pub(crate) struct DesktopSetup {
    base_url: BaseUrl,
    ca_file: Option<PathBuf>,
    token: Option<Secret>,
    name: String,
}

impl DesktopSetup {
    /// Reads the settings. `token` was given for `token_place`, the URL of the environment, or for whatever is chosen where there is
    /// none; it goes nowhere else.
    pub(crate) fn read(
        settings: &Settings,
        token: Option<Secret>,
        token_place: Option<&str>,
    ) -> Result<Self, CodedError> {
        let setting = &settings.engine;
        let url = setting.url.as_deref().filter(|url| !url.trim().is_empty()).unwrap_or(DEFAULT_URL);
        // Not repeated: it may hold a password.
        let base_url = base_of(url).map_err(|NoBaseUrl| {
            CodedError::new(
                ErrorCode::InvalidParams,
                "The host's URL must be an http or https URL without a user name or a query, such as http://127.0.0.1:3199.",
            )
        })?;
        let elsewhere = base_url.is_elsewhere_than(token_place);
        Ok(Self {
            base_url,
            ca_file: setting.ca_file.as_ref().filter(|path| !path.trim().is_empty()).map(PathBuf::from),
            token: token.filter(|_| !elsewhere),
            name: own_name(settings.editor_name.as_deref()),
        })
    }
}

/// The engine behind a host.
pub(crate) struct DesktopEngine {
    parts: Arc<DesktopParts>,
    /// Dropping it ends the task that looks whether the host answers.
    _alive: watch::Sender<()>,
}

struct DesktopParts {
    reports: mpsc::Sender<EngineReport>,
    runtime: Handle,
    client: HostClient,
    links: HostLinks,
    /// By which the host's other clients know this one.
    name: String,
    now_ms: Box<dyn Fn() -> i64 + Send + Sync>,
    calls: Arc<Semaphore>,
    state: Mutex<DesktopState>,
}

#[derive(Default)]
struct DesktopState {
    folders: Vec<Folder>,
    capabilities: Vec<String>,
    /// By session: the folder, and the host's id of its workspace.
    places: HashMap<String, (PathBuf, String)>,
    /// Sessions that were made here and have no link yet.
    made: BTreeSet<String>,
    /// The host said that it takes what was decided on each change of an edit.
    takes_hunks: bool,
    /// What the host was told last.
    model: Option<ModelSetting>,
    /// Sessions whose socket stands.
    standing: BTreeSet<String>,
    watched: WatchedFiles,
}

impl DesktopEngine {
    /// An engine that reports into `reports` and works on `runtime`. It begins to look for the host at once.
    /// `now_ms` gives milliseconds since the Unix epoch.
    pub(crate) fn new(
        reports: mpsc::Sender<EngineReport>,
        runtime: Handle,
        setup: DesktopSetup,
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        let DesktopSetup { base_url, ca_file, token, name } = setup;
        let parts = Arc::new(DesktopParts {
            reports,
            client: HostClient::new(base_url, token, ca_file),
            links: HostLinks::default(),
            name,
            now_ms: Box::new(now_ms),
            calls: Arc::new(Semaphore::new(CALLS)),
            state: Mutex::default(),
            runtime,
        });
        let (alive, dropped) = watch::channel(());
        parts.runtime.spawn(reach::watch(Arc::clone(&parts), dropped));
        Self { parts, _alive: alive }
    }
}

impl Engine for DesktopEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Desktop
    }

    fn capabilities(&self) -> Vec<String> {
        self.parts.state().capabilities.clone()
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits {
            sessions: SessionHome::Engine,
            // The protocol has no cursor; ours counts the messages that the journal has, and names the host's place where it has one.
            resume: StreamResume::Cursor,
            turn_end: TurnEnd::Report,
            settlement: Settlement::Answer,
            rules: RuleHolder::Server,
            needs_trust: true,
        }
    }

    fn takes_hunks(&self) -> bool {
        self.parts.state().takes_hunks
    }

    fn file_watch(&self) -> FileWatch {
        FileWatch::Asked
    }

    fn call(&self, call: EngineCall) {
        let parts = &self.parts;
        match call {
            EngineCall::SetFolders(folders) => parts.state().folders = folders,
            // The loop judges trust before it calls, and the protocol knows no such word.
            EngineCall::SetTrust { .. } => {}
            // The host calls the models, and each turn names its own.
            EngineCall::SetModel(_) => {}
            EngineCall::SetToken { scope: CredentialScope::Engine, token } => parts.client.set_token(token),
            EngineCall::SetToken { scope: CredentialScope::Model, .. } => {}
            EngineCall::StartTurn { session_id, turn, prompt, model, history, memory, looked_at } => {
                turn::start(parts, session_id, TurnBegun { turn, prompt, model, history, memory }, looked_at);
            }
            // Its turns go on at the host.
            EngineCall::ContinueTurn { .. } | EngineCall::StopCommand { .. } => {}
            EngineCall::Stop { session_id } => parts.order(&session_id, LinkOrder::Stop),
            EngineCall::Forget { session_id } => parts.links.forget(&session_id),
            EngineCall::MakeSession { wish, reply, .. } => match Arc::clone(&parts.calls).try_acquire_owned() {
                Ok(place) => parts.spawn(place, sessions::make(Arc::clone(parts), wish, reply)),
                // To the loop, not to the reply alone: a tab hears of it by what the loop makes of it.
                Err(_) => parts.tell(EngineReport::SessionMade { wish, outcome: Err(busy()), reply }),
            },
            EngineCall::ListSessions { reply } => match Arc::clone(&parts.calls).try_acquire_owned() {
                Ok(place) => parts.spawn(place, sessions::list(Arc::clone(parts), reply)),
                Err(_) => parts.tell(EngineReport::SessionsListed { outcome: Err(busy()), reply }),
            },
            EngineCall::DeleteSession { session_id, asks: _, reply } => {
                parts.in_a_place(reply, |parts, reply| sessions::delete(parts, session_id, reply));
            }
            EngineCall::Decide { session_id, engine_request_id, decision, .. } => {
                parts.order(&session_id, LinkOrder::Decide { id: engine_request_id, decision });
            }
            EngineCall::Command { session_id, command, args, reply } => {
                parts.in_a_place(reply, |parts, reply| async move {
                    let outcome = commands::run(&parts, &session_id, &command, args).await;
                    let told = StreamReport::Commanded { session_id, command, outcome, reply };
                    parts.report(EngineReport::Stream(told)).await;
                });
            }
            EngineCall::FilesChanged(changes) => watched::changed(parts, &changes),
            EngineCall::ListModels { chosen, reply } => {
                parts.in_a_place(reply, |parts, reply| async move {
                    reply.settle(models::list(&parts, chosen).await);
                });
            }
            EngineCall::Stream(StreamCall::Attach { session_id, cursor, open_turn }) => {
                let place = cursor.as_ref().and_then(|cursor| HostPlace::of_token(&cursor.id));
                let heard = cursor.map(|cursor| cursor.seq).unwrap_or_default();
                parts.order(&session_id, LinkOrder::Attach { heard, place, open_turn });
            }
            EngineCall::Stream(call) => call.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "A desktop host gives no files, artifacts or earlier events; open the folder of the session here and look there.",
            )),
            EngineCall::Agent(call) => call.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "The engine in use is no agent process, so there is nothing of that kind; choose an agent.",
            )),
        }
    }
}

impl DesktopParts {
    /// The state. No code panics while it holds the lock, and a poisoned one still holds whole values.
    fn state(&self) -> MutexGuard<'_, DesktopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an order. One for which there is no room is one of very many, and is logged: what waits for it has a bound of its own.
    fn order(self: &Arc<Self>, session_id: &str, order: LinkOrder) {
        if self.links.order(self, session_id, order).is_err() {
            tracing::warn!(session_id, "a session at the desktop host took no more orders");
        }
    }

    /// Runs `work` in a place among the calls, or refuses `reply`.
    fn in_a_place<T, W>(self: &Arc<Self>, reply: Reply<T>, work: impl FnOnce(Arc<Self>, Reply<T>) -> W)
    where
        T: Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        match Arc::clone(&self.calls).try_acquire_owned() {
            Ok(place) => self.spawn(place, work(Arc::clone(self), reply)),
            Err(_) => reply.refuse(busy()),
        }
    }

    /// Runs `work`, which keeps `place` until its end.
    fn spawn(
        &self,
        place: tokio::sync::OwnedSemaphorePermit,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let work = async move {
            let _place = place;
            work.await;
        };
        // Boxed, so that the runtime's own code is built once and not twice for each kind of work.
        self.runtime.spawn(work.boxed());
    }

    fn tell(self: &Arc<Self>, report: EngineReport) {
        let parts = Arc::clone(self);
        self.runtime.spawn(async move { parts.report(report).await });
    }

    async fn report(&self, report: EngineReport) {
        // A closed channel means that the loop is gone, and nobody is left to hear.
        let _ = self.reports.send(report).await;
    }

    /// The refusal for a trouble with this host.
    fn told(&self, trouble: &HostTrouble) -> CodedError {
        trouble.told(self.client.origin())
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.state().folders.iter().filter_map(|folder| folder.path.clone()).collect()
    }

    fn first_folder(&self) -> Option<PathBuf> {
        self.folders().into_iter().next()
    }

    /// Which folder and workspace a session belongs to.
    fn remembers(&self, session_id: &str, folder: &Path, workspace_id: &str) {
        let mut state = self.state();
        if state.places.len() >= PLACES {
            // They are learnt again with the next list.
            state.places.clear();
        }
        state.places.insert(session_id.to_owned(), (folder.to_owned(), workspace_id.to_owned()));
    }

    fn folder_of(&self, session_id: &str) -> Option<PathBuf> {
        let known = self.state().places.get(session_id).map(|(folder, _)| folder.clone());
        known.or_else(|| self.first_folder())
    }

    fn workspace_of(&self, session_id: &str) -> Option<String> {
        self.state().places.get(session_id).map(|(_, workspace)| workspace.clone())
    }

    /// A session of this folder whose socket stands.
    fn standing_in(&self, folder: &Path) -> Option<String> {
        let standing = self.state().standing.clone();
        standing.into_iter().find(|session_id| self.folder_of(session_id).as_deref() == Some(folder))
    }

    /// A session is gone.
    fn forget(&self, session_id: &str) {
        self.links.forget(session_id);
        self.state().places.remove(session_id);
    }
}

/// The name of the editor, since that is what a person sees of us; ours without.
/// The base URL of a host. People copy it from a route, and `v1` is part of each of them.
fn base_of(url: &str) -> Result<BaseUrl, NoBaseUrl> {
    let url = url.trim().trim_end_matches('/');
    BaseUrl::parse(url.strip_suffix("/v1").unwrap_or(url))
}

fn own_name(editor: Option<&str>) -> String {
    let plain: String =
        editor.unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(NAME).collect();
    if plain.trim().is_empty() { SERVER_NAME.to_owned() } else { plain }
}

fn busy() -> CodedError {
    CodedError::new(
        ErrorCode::Overloaded,
        "Too many requests to the host are under way; wait for an answer and try again.",
    )
}
