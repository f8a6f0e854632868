//! The BreadBoard engine: sessions that live behind HTTP, whose events come as a stream.
//!
//! Owns what this process knows of the engine: whether it answers, what it has, the prompts it was given. Nothing is opened
//! before the loop chose this engine, and each call is a task of its own, bounded in number and in time. Never sends a
//! prompt twice and never decides anything: what a call means for the user is the loop's.

pub(crate) mod client;
mod commands;
mod download;
pub(crate) mod engine_error;
mod failed_session;
mod files;
pub(crate) mod link;
mod models;
mod reach;
mod rebuild;
mod sessions;
mod turn;
mod upload;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use self::client::{Client, EngineTimeouts};
use self::link::{LinkTiming, Links};
use self::turn::SessionTurns;
use crate::app::inbox::{Folder, Reply};
use crate::app::ports::{
    DownloadFor, Engine, EngineCall, EngineDecision, EngineReport, EngineTraits, NewSession, Secret,
    SessionHome, SessionReply, Settlement, StreamCall, StreamReport, StreamResume, TurnBegun, TurnEnd,
};
use crate::domain::approval::RuleHolder;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::http::{BaseUrl, NoBaseUrl};
use crate::protocol::request::{ApprovePermissionResult, CredentialScope};
use crate::protocol::settings::{EngineKind, EngineSetting};

/// Calls under way at the same time: each holds a socket at the engine, which answers one after the other anyway. One more
/// is refused as overloaded.
const CALLS: usize = 32;

/// Downloads and deletions under way at the same time, which may take long.
const LONG_CALLS: usize = 8;

/// The configuration that the engine's own terminal client starts with; the engine itself has no default.
pub(crate) const DEFAULT_CONFIG: &str = "agent_configs/codex_0-107-0_e4_3-6-2026.yaml";

/// What is set for this engine.
pub struct Setup {
    /// Where it is.
    pub base_url: BaseUrl,
    /// Configuration of new sessions.
    pub config_path: Option<String>,
    /// Certificates of authorities beside the system's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Its token.
    pub token: Option<Secret>,
    /// How long we wait for it.
    pub timeouts: EngineTimeouts,
    /// How long its streams wait for what.
    pub pace: LinkTiming,
}

impl Setup {
    /// Reads the settings. `token` was given for `token_place`, the URL of the environment, or for whatever is chosen where
    /// there is none; it goes nowhere else.
    pub fn read(
        setting: &EngineSetting,
        token: Option<Secret>,
        token_place: Option<&str>,
    ) -> Result<Self, CodedError> {
        let Some(url) = setting.url.as_deref().filter(|url| !url.trim().is_empty()) else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "The `breadboard` engine has no address; give it in the settings or in BREADBOARD_API_URL, for instance \
                 http://127.0.0.1:9099.",
            ));
        };
        // Not repeated: it may hold a password.
        let base_url = BaseUrl::parse(url).map_err(|NoBaseUrl| {
            CodedError::new(
                ErrorCode::InvalidParams,
                "The engine's URL must be an http or https URL without a user name or a query, such as http://127.0.0.1:9099.",
            )
        })?;
        let elsewhere = base_url.is_elsewhere_than(token_place);
        Ok(Self {
            base_url,
            config_path: setting.config_path.clone().filter(|path| !path.trim().is_empty()),
            ca_file: setting.ca_file.as_ref().filter(|path| !path.trim().is_empty()).map(PathBuf::from),
            token: token.filter(|_| !elsewhere),
            timeouts: EngineTimeouts::default(),
            pace: LinkTiming::default(),
        })
    }
}

/// The engine behind HTTP.
pub struct BreadboardEngine {
    shared: Arc<EngineParts>,
    /// Dropping it ends the task that looks whether the engine answers.
    _alive: watch::Sender<()>,
}

struct EngineParts {
    reports: mpsc::Sender<EngineReport>,
    runtime: Handle,
    client: Client,
    links: Links<Client>,
    config_path: String,
    /// What the engine was found to have; empty until it answered.
    has: watch::Sender<reach::Has>,
    calls: Arc<Semaphore>,
    long_calls: Arc<Semaphore>,
    state: Mutex<EngineTasks>,
}

#[derive(Default)]
struct EngineTasks {
    folders: Vec<Folder>,
    sessions: HashMap<String, SessionTurns>,
}

impl BreadboardEngine {
    /// An engine that reports into `reports` and works on `runtime`. It begins to look for the engine at once.
    /// `now_ms` gives milliseconds since the Unix epoch.
    pub fn new(
        reports: mpsc::Sender<EngineReport>,
        runtime: Handle,
        setup: Setup,
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        let Setup { base_url, config_path, ca_file, token, timeouts, pace } = setup;
        let client = Client::new(base_url, token, ca_file, timeouts);
        let chance = uuid::Uuid::new_v4().as_u64_pair().0;
        let source = Arc::new(client.clone());
        let shared = Arc::new(EngineParts {
            links: Links::new(source, reports.clone(), runtime.clone(), Arc::new(now_ms), pace, chance),
            reports,
            client,
            config_path: config_path.unwrap_or_else(|| DEFAULT_CONFIG.to_owned()),
            has: watch::Sender::new(reach::Has::default()),
            calls: Arc::new(Semaphore::new(CALLS)),
            long_calls: Arc::new(Semaphore::new(LONG_CALLS)),
            state: Mutex::default(),
            runtime,
        });
        let (alive, dropped) = watch::channel(());
        shared.runtime.spawn(reach::watch(Arc::clone(&shared), dropped));
        Self { shared, _alive: alive }
    }
}

impl Engine for BreadboardEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Breadboard
    }

    fn capabilities(&self) -> Vec<String> {
        self.shared.has.borrow().words()
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits {
            sessions: SessionHome::Engine,
            resume: StreamResume::Cursor,
            turn_end: TurnEnd::Event,
            settlement: Settlement::Event,
            rules: RuleHolder::Engine,
            needs_trust: true,
        }
    }

    fn call(&self, call: EngineCall) {
        let shared = &self.shared;
        match call {
            EngineCall::SetFolders(folders) => shared.state().folders = folders,
            // The loop judges trust before it calls, and the engine knows no such word.
            EngineCall::SetTrust { .. } => {}
            // This engine calls the models, and each turn names its own.
            EngineCall::SetModel(_) => {}
            EngineCall::SetToken { scope: CredentialScope::Engine, token } => {
                shared.client.set_token(token);
                shared.links.nudge();
            }
            EngineCall::SetToken { scope: CredentialScope::Model, .. } => {}
            EngineCall::StartTurn { session_id, turn, prompt, model, history, memory, looked_at } => {
                let begun = TurnBegun { turn, prompt, model, history, memory };
                turn::start(shared, session_id, begun, looked_at);
            }
            // Its turns go on at the engine.
            EngineCall::ContinueTurn { .. } | EngineCall::StopCommand { .. } => {}
            EngineCall::Stop { session_id } => turn::stop(shared, session_id),
            EngineCall::Forget { session_id } => {
                shared.links.detach(&session_id);
                shared.state().sessions.remove(&session_id);
            }
            EngineCall::MakeSession { wish, reply, .. } => self.make_session(wish, reply),
            EngineCall::ListSessions { reply } => sessions::list(shared, reply),
            EngineCall::DeleteSession { session_id, asks, reply } => {
                if let Some((place, reply)) = shared.place_for(&shared.long_calls, reply) {
                    shared.spawn(place, sessions::delete(Arc::clone(shared), session_id, asks, reply));
                }
            }
            EngineCall::Decide { session_id, engine_request_id, decision, request_id, reply } => {
                let of = AskAtEngine { session_id, engine_request_id, request_id };
                self.decide(of, decision, reply);
            }
            EngineCall::Command { session_id, command, args, reply } => {
                if let Some((place, reply)) = shared.place_for(&shared.calls, reply) {
                    let own = Arc::clone(shared);
                    shared.spawn(place, async move {
                        let words = commands::words(&command, &args);
                        let outcome = commands::run(&own, &session_id, &command, args).await;
                        let told = StreamReport::Commanded { session_id, command: words, outcome, reply };
                        own.report(EngineReport::Stream(told)).await;
                    });
                }
            }
            // Its own machine has its own files.
            EngineCall::FilesChanged(_) => {}
            EngineCall::ListModels { chosen, reply } => {
                shared.answer(reply, |own| async move { models::list(&own, chosen).await });
            }
            EngineCall::Stream(call) => self.stream_call(call),
            EngineCall::Agent(call) => call.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "The engine in use is no agent process, so there is nothing of that kind; choose an agent.",
            )),
        }
    }
}

/// An ask of a session, by its id at the engine and by ours.
struct AskAtEngine {
    session_id: String,
    engine_request_id: String,
    request_id: String,
}

impl BreadboardEngine {
    fn make_session(&self, wish: NewSession, reply: SessionReply) {
        let shared = &self.shared;
        match Arc::clone(&shared.calls).try_acquire_owned() {
            Ok(place) => shared.spawn(place, sessions::make(Arc::clone(shared), wish, reply)),
            // To the loop, not to the reply alone: a tab hears of it by what the loop makes of it.
            Err(_) => {
                let own = Arc::clone(shared);
                let report = EngineReport::SessionMade { wish, outcome: Err(busy()), reply };
                shared.runtime.spawn(async move { own.report(report).await });
            }
        }
    }

    /// Not counted: one ask has one decision, and a stop must never wait for a place.
    fn decide(
        &self,
        ask: AskAtEngine,
        decision: EngineDecision,
        reply: Option<Reply<ApprovePermissionResult>>,
    ) {
        let own = Arc::clone(&self.shared);
        self.shared.runtime.spawn(async move {
            let AskAtEngine { session_id, engine_request_id, request_id } = ask;
            let note = decision.part.map(|part| part.note);
            let outcome =
                commands::decide(&own, &session_id, &engine_request_id, &decision.ruling, note).await;
            own.report(EngineReport::Stream(StreamReport::Answered {
                session_id,
                request_id,
                outcome,
                reply,
            }))
            .await;
        });
    }

    /// A call that only engines have whose sessions are streams.
    fn stream_call(&self, call: StreamCall) {
        let shared = &self.shared;
        match call {
            StreamCall::Attach { session_id, cursor, open_turn: _ } => {
                shared.links.attach(&session_id, cursor)
            }
            StreamCall::ListFiles { params, reply } => {
                shared.answer(reply, |own| async move { files::list(&own, &params).await });
            }
            StreamCall::ReadFile { params, reply } => {
                shared.answer(reply, |own| async move { files::read(&own, &params).await });
            }
            StreamCall::Download { session_id, artifact_path, to, purpose } => {
                match Arc::clone(&shared.long_calls).try_acquire_owned() {
                    Ok(place) => {
                        let work = download::run(Arc::clone(shared), session_id, artifact_path, to, purpose);
                        shared.spawn(place, work);
                    }
                    Err(_) => StreamCall::Download { session_id, artifact_path, to, purpose }.refuse(busy()),
                }
            }
            StreamCall::Rebuild { session_id, missing, reply } => {
                if let Some((place, reply)) = shared.place_for(&shared.long_calls, reply) {
                    shared.spawn(place, rebuild::run(Arc::clone(shared), session_id, missing, reply));
                }
            }
        }
    }
}

impl EngineParts {
    /// The state. No code panics while it holds the lock, and a poisoned one still holds whole values.
    fn state(&self) -> MutexGuard<'_, EngineTasks> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among `calls`, or the refusal of `reply`.
    fn place_for<T>(
        &self,
        calls: &Arc<Semaphore>,
        reply: Reply<T>,
    ) -> Option<(OwnedSemaphorePermit, Reply<T>)> {
        match Arc::clone(calls).try_acquire_owned() {
            Ok(place) => Some((place, reply)),
            Err(_) => {
                reply.refuse(busy());
                None
            }
        }
    }

    /// Answers with what comes of `work`, in a place among the calls.
    fn answer<T, W>(self: &Arc<Self>, reply: Reply<T>, work: impl FnOnce(Arc<Self>) -> W)
    where
        T: Send + 'static,
        W: Future<Output = Result<T, CodedError>> + Send + 'static,
    {
        if let Some((place, reply)) = self.place_for(&self.calls, reply) {
            let work = work(Arc::clone(self));
            self.spawn(place, async move { reply.settle(work.await) });
        }
    }

    /// Runs `work`, which keeps `place` until its end.
    fn spawn(&self, place: OwnedSemaphorePermit, work: impl Future<Output = ()> + Send + 'static) {
        let work = async move {
            let _place = place;
            work.await;
        };
        // Boxed, so that the runtime's own code is built once and not twice for each kind of work.
        self.runtime.spawn(work.boxed());
    }

    async fn report(&self, report: EngineReport) {
        // A closed channel means that the loop is gone, and nobody is left to hear.
        let _ = self.reports.send(report).await;
    }

    /// The refusal for a trouble with this engine.
    fn told(&self, trouble: &engine_error::EngineError) -> CodedError {
        trouble.told(self.client.base_url().origin())
    }
}

fn busy() -> CodedError {
    CodedError::new(
        ErrorCode::Overloaded,
        "Too many requests to the engine are under way; wait for an answer and try again.",
    )
}

/// Whether whoever asked for a download still waits for it.
fn is_wanted(purpose: &DownloadFor) -> bool {
    match purpose {
        DownloadFor::Client { reply, .. } => !reply.is_abandoned(),
        DownloadFor::Diff(job) => !job.is_abandoned(),
    }
}
