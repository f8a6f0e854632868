//! The embedded engine: one task a turn, on the runtime it was given.
//!
//! Owns the turns that run, the asks that wait, the model and its tokens. Every turn ends with `TurnEnded`, a panic
//! included. Never writes a file or runs a program: it asks the loop to.

mod asks;
mod attachments;
mod background;
mod embeddings;
mod endpoints;
mod model_list;
mod port;
mod reranker;
mod tuned;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};
use url::Url;

use crate::app::inbox::{Folder, Reply};
use crate::app::ports::{
    Attachment, EarlierTurn, Engine, EngineCall, EngineDecision, EngineReport, EngineTraits, FileWatch,
    Prompt, Ruling, TurnBegun, TurnFailure, TurnScopes,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::message::{ModelInfo, ServerInfo, ServerMessage};
use crate::domain::edits::watched_file::WatchedFile;
use crate::host::budget::TurnBudget;
use crate::host::index::reranker::Reranker;
use crate::host::index::vectors::Embedder;
use crate::host::index::{IndexTask, Indexes};
use crate::host::models::{
    HostTokens, Limits, ModelChoice, ModelClient, ModelError, Target, Token, TokenStore, Tuning,
};
use crate::host::ports::{Answer, Root, SharedToolServers, TurnPort};
use crate::host::request::{Attached, GoesOn, ModelInUse, NoModel, PastModel, PastTurn, TurnRequest};
use crate::host::turn;
use crate::protocol::request::{CredentialScope, ModelsResult};
use crate::protocol::settings::{
    BudgetSetting, EmbeddingsSetting, EngineKind, ModelSetting, RerankerSetting,
};
use asks::EmbeddedAsks;
use background::BackgroundCommands;
pub use embeddings::embed_by;
use embeddings::{EndpointAccess, EndpointEmbedder};
pub(crate) use endpoints::Endpoints;
use port::SessionPort;
use reranker::EndpointReranker;
pub use reranker::rerank_by;

/// Turns at the same time. Each holds a socket and a conversation; a person drives a few. One more is refused in a
/// sentence and can be asked again.
const TURNS: usize = 32;

/// Lists of models at the same time; one more is refused as overloaded.
const LISTS: usize = 4;

/// Makes ids.
pub(crate) type FreshId = Arc<dyn Fn() -> String + Send + Sync>;

/// Milliseconds since the Unix epoch.
pub(crate) type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The engine in process.
pub(crate) struct EmbeddedEngine {
    shared: Arc<EmbeddedParts>,
}

struct EmbeddedParts {
    reports: mpsc::Sender<EngineReport>,
    scopes: watch::Receiver<Arc<TurnScopes>>,
    runtime: Handle,
    fresh_id: FreshId,
    now_ms: Clock,
    limits: Limits,
    /// The user's servers of tools, where there can be any.
    tool_servers: Option<Arc<dyn SharedToolServers>>,
    /// Built at first use: most starts need no TLS.
    client: OnceLock<Result<ModelClient, ModelError>>,
    turns: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    /// What is known of the files of the workspace; `None`: each search reads them.
    indexes: Option<Indexes>,
    background: BackgroundCommands,
    state: Mutex<EmbeddedState>,
}

#[derive(Default)]
struct EmbeddedState {
    roots: Vec<Root>,
    model: Option<Result<ChosenModel, ModelError>>,
    tokens: TokenStore,
    budget: TurnBudget,
    sessions: HashMap<String, EmbeddedSession>,
}

/// A model that was chosen: where it is, and what is set of it.
#[derive(Clone)]
struct ChosenModel {
    target: Target,
    tuning: Tuning,
}

#[derive(Default)]
struct EmbeddedSession {
    greeted: bool,
    no_model: NoModel,
    /// Sentences that are said once.
    told: BTreeSet<String>,
    running: Option<RunningTurn>,
}

/// A turn that runs. Dropping it stops the turn.
struct RunningTurn {
    turn: u64,
    stop: watch::Sender<bool>,
    asks: Arc<EmbeddedAsks>,
}

impl EmbeddedEngine {
    /// An engine that reports into `reports` and runs its turns on `runtime`. `tokens` are those of the environment.
    pub(crate) fn new(
        reports: mpsc::Sender<EngineReport>,
        scopes: watch::Receiver<Arc<TurnScopes>>,
        runtime: Handle,
        tokens: HostTokens,
        fresh_id: impl Fn() -> String + Send + Sync + 'static,
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        Self::with_limits(reports, scopes, runtime, tokens, Limits::default(), fresh_id, now_ms)
    }

    /// The same, whose turns go as far as this before they ask.
    pub(crate) fn with_budget(self, budget: &BudgetSetting) -> Self {
        self.shared.state().budget = tuned::budget(budget);
        self
    }

    /// The same with other timeouts for model endpoints.
    pub(crate) fn with_limits(
        reports: mpsc::Sender<EngineReport>,
        scopes: watch::Receiver<Arc<TurnScopes>>,
        runtime: Handle,
        tokens: HostTokens,
        limits: Limits,
        fresh_id: impl Fn() -> String + Send + Sync + 'static,
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        let state = EmbeddedState { tokens: TokenStore::new(tokens), ..EmbeddedState::default() };
        Self {
            shared: Arc::new(EmbeddedParts {
                reports,
                scopes,
                runtime,
                fresh_id: Arc::new(fresh_id),
                now_ms: Arc::new(now_ms),
                limits,
                tool_servers: None,
                client: OnceLock::new(),
                turns: Arc::new(Semaphore::new(TURNS)),
                lists: Arc::new(Semaphore::new(LISTS)),
                indexes: None,
                background: BackgroundCommands::default(),
                state: Mutex::new(state),
            }),
        }
    }
}

impl EmbeddedEngine {
    /// The same with the user's servers of tools. Only before the first turn.
    pub(crate) fn with_tool_servers(mut self, servers: Arc<dyn SharedToolServers>) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.shared) {
            parts.tool_servers = Some(servers);
        }
        self
    }

    /// The same with indexes, which make its searches faster. Only before the first turn.
    pub(crate) fn searching(mut self, indexes: Indexes) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.shared) {
            parts.indexes = Some(indexes);
        }
        self
    }

    /// The same whose searches compare meanings too, by this model of the user's. `token`: for its address only. Behind `searching`.
    pub(crate) fn with_embeddings(self, setting: Option<&EmbeddingsSetting>, token: Option<Token>) -> Self {
        let Some(indexes) = &self.shared.indexes else { return self };
        let access = self.access();
        let runtime = self.shared.runtime.clone();
        let made = setting.map(|setting| EndpointEmbedder::new(runtime, access, setting.clone()));
        let embedder = match made {
            Some(Ok(embedder)) => {
                self.shared.state().tokens.bind(embedder.target(), token);
                Some(Arc::new(embedder) as Arc<dyn Embedder>)
            }
            Some(Err(error)) => {
                tracing::warn!("The embedding model cannot be used: {}", error.message);
                None
            }
            None => None,
        };
        indexes.vectors().make_with(embedder);
        self
    }

    /// The same whose searches have this model of the user's read the best passages. `token`: for its address only. Behind `searching`.
    pub(crate) fn with_reranker(self, setting: Option<&RerankerSetting>, token: Option<Token>) -> Self {
        let Some(indexes) = &self.shared.indexes else { return self };
        let runtime = self.shared.runtime.clone();
        let reranker = match setting.map(|setting| EndpointReranker::new(runtime, self.access(), setting)) {
            Some(Ok(reranker)) => {
                self.shared.state().tokens.bind(reranker.target(), token);
                Some(Arc::new(reranker) as Arc<dyn Reranker>)
            }
            Some(Err(error)) => {
                tracing::warn!("The reranker cannot be used: {}", error.message);
                None
            }
            None => None,
        };
        indexes.reranker().read_by(reranker);
        self
    }

    /// How the user's other models are reached, as long as this engine is there.
    fn access(&self) -> EndpointAccess {
        let parts = Arc::downgrade(&self.shared);
        Box::new(move |target: &Target| {
            let ended = || ModelError::passing("The engine has ended; ask again.".to_owned());
            let parts = parts.upgrade().ok_or_else(ended)?;
            let token = parts.state().tokens.for_target(target)?;
            Ok((parts.client()?, token))
        })
    }
}

impl Engine for EmbeddedEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Embedded
    }

    fn capabilities(&self) -> Vec<String> {
        capabilities()
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits::default()
    }

    fn file_watch(&self) -> FileWatch {
        // Each search looks at the files itself; what is told makes it sooner.
        FileWatch::AsTold
    }

    fn call(&self, call: EngineCall) {
        let shared = &self.shared;
        match call {
            EngineCall::SetFolders(folders) => {
                shared.state().roots = folders.into_iter().filter_map(root).collect();
            }
            // Each turn has its own: that of the client which prompted it. What runs on without one needs somebody's.
            EngineCall::SetTrust { trusted: true } => {}
            EngineCall::SetTrust { trusted: false } => {
                shared.background.stop_all(background::BY_TRUST);
                if let Some(indexes) = &shared.indexes {
                    indexes.vectors().stop();
                }
            }
            EngineCall::SetModel(setting) => {
                let model = shared.target_of(setting);
                shared.state().model = model;
            }
            EngineCall::SetToken { scope: CredentialScope::Model, token } => {
                let mut state = shared.state();
                let model = state.model.as_ref().and_then(|model| model.as_ref().ok());
                let target = model.map(|model| model.target.clone());
                let wanted = token.is_some();
                let kept = state.tokens.give(token.map(|secret| Token(secret.0)), target.as_ref());
                if wanted && !kept {
                    tracing::warn!(
                        "A model token came before a model was chosen, so it belongs nowhere and was not kept."
                    );
                }
            }
            EngineCall::SetToken { scope: CredentialScope::Engine, .. } => {}
            EngineCall::StartTurn { session_id, turn, prompt, model, history, memory, looked_at: _ } => {
                shared.start(session_id, TurnBegun { turn, prompt, model, history, memory }, None);
            }
            EngineCall::ContinueTurn { session_id, begun, from, ruling } => {
                let answer = answer_of(&ruling);
                shared.start(session_id, *begun, Some(GoesOn { from: *from, answer }));
            }
            EngineCall::Stop { session_id } => {
                if let Some(running) = shared.state().running(&session_id) {
                    running.stop.send_replace(true);
                }
            }
            EngineCall::Decide { session_id, engine_request_id, decision, .. } => {
                if let Some(running) = shared.state().running(&session_id) {
                    running.asks.resolve(&engine_request_id, given(decision));
                }
            }
            EngineCall::StopCommand { session_id, call_id } => {
                shared.background.stop_call(&session_id, &call_id);
            }
            EngineCall::Forget { session_id } => {
                shared.background.forget(&session_id);
                // The turn that may run hears its stop channel close.
                shared.state().sessions.remove(&session_id);
            }
            EngineCall::ListModels { reply, .. } => shared.list_models(reply),
            EngineCall::FilesChanged(changes) => shared.files_changed(&changes),
            call @ (EngineCall::MakeSession { .. }
            | EngineCall::ListSessions { .. }
            | EngineCall::DeleteSession { .. }
            | EngineCall::Command { .. }
            | EngineCall::Stream(_)
            | EngineCall::Agent(_)) => call.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "The embedded engine cannot do this; choose the `breadboard` engine for it.",
            )),
        }
    }
}

impl EmbeddedState {
    fn running(&mut self, session_id: &str) -> Option<&mut RunningTurn> {
        self.sessions.get_mut(session_id)?.running.as_mut()
    }

    /// This turn runs no longer; a later one may.
    fn turn_over(&mut self, session_id: &str, turn: u64) {
        if let Some(session) = self.sessions.get_mut(session_id)
            && session.running.as_ref().is_some_and(|running| running.turn == turn)
        {
            session.running = None;
        }
    }
}

impl EmbeddedParts {
    /// The state. No code panics while it holds the lock, and a poisoned one still holds whole values.
    fn state(&self) -> MutexGuard<'_, EmbeddedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> Result<ModelClient, ModelError> {
        self.client.get_or_init(|| ModelClient::new(self.limits)).clone()
    }

    /// Files changed: an index that there is takes them in.
    fn files_changed(&self, changes: &[WatchedFile]) {
        let Some(indexes) = &self.indexes else { return };
        let roots: Vec<PathBuf> = self.state().roots.iter().map(|root| root.path.clone()).collect();
        for root in roots {
            let inside = changes.iter().filter_map(|change| {
                let path = Url::parse(&change.uri).ok()?.to_file_path().ok()?;
                Some(path.strip_prefix(&root).ok()?.to_str()?.replace('\\', "/"))
            });
            indexes.hear(&root, IndexTask::files(inside));
        }
    }

    /// Where a model is. The first that there is gets the token of the environment.
    fn target_of(&self, setting: Option<ModelSetting>) -> Option<Result<ChosenModel, ModelError>> {
        let setting = setting?;
        let ModelSetting { provider, name, url, .. } = setting.clone();
        let target = Target::resolve(&ModelChoice { provider, name, url });
        if let Ok(target) = &target {
            self.state().tokens.model_configured(target);
        }
        Some(target.map(|target| ChosenModel { tuning: tuned::tuning(&target, &setting), target }))
    }

    /// A model with its token of this moment; building the client reads certificates, so this blocks.
    fn in_use(&self, model: Result<ChosenModel, ModelError>) -> Result<ModelInUse, ModelError> {
        let ChosenModel { target, tuning } = model?;
        let token = self.state().tokens.for_target(&target)?;
        Ok(ModelInUse { client: self.client()?, target, token, tuning })
    }

    fn start(self: &Arc<Self>, session_id: String, begun: TurnBegun, goes_on: Option<GoesOn>) {
        let TurnBegun { turn, prompt, model, memory, .. } = begun;
        let setting = model.clone();
        let place = Arc::clone(&self.turns).try_acquire_owned();
        let model = self.target_of(model);
        let begun = {
            let mut state = self.state();
            let session = state.sessions.entry(session_id.clone()).or_default();
            match (&session.running, place) {
                (Some(_), _) => Err("A turn already runs in this session; wait for its end or stop it."),
                (None, Err(_)) => Err("Too many turns run at once; wait for one to end and ask again."),
                (None, Ok(place)) => {
                    let (stop, stopped) = watch::channel(false);
                    let asks = Arc::new(EmbeddedAsks::default());
                    session.running = Some(RunningTurn { turn, stop, asks: Arc::clone(&asks) });
                    let greeting = !std::mem::replace(&mut session.greeted, true);
                    let then = if model.is_some() { NoModel::Unsaid } else { NoModel::Said };
                    let no_model = std::mem::replace(&mut session.no_model, then);
                    Ok((place, stopped, asks, greeting, no_model))
                }
            }
        };
        let shared = Arc::clone(self);
        let (place, stopped, asks, greeting, no_model) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                self.runtime.spawn(async move { shared.ended(session_id, turn, Some(why.into())).await });
                return;
            }
        };
        self.runtime.spawn(async move {
            let _place = place;
            let port = SessionPort::new(Arc::clone(&shared), session_id.clone(), turn, stopped, asks);
            let own = Arc::clone(&shared);
            // A task of its own, so that a panic in a turn ends this turn and nothing else.
            let work = shared.runtime.spawn(async move {
                if greeting {
                    port.say(hello(model.as_ref())).await;
                }
                let request = own.request(prompt, (memory, setting), model).await;
                turn::run(&port, TurnRequest { no_model, goes_on, ..request }).await;
            });
            let failure = work.await.err();
            // It did that itself, unless it failed inside.
            shared.background.end_turn(&session_id, turn).await;
            let failure = failure.map(|_| {
                TurnFailure::from(
                    "The embedded agent failed inside during this turn; nothing else is affected, ask again.",
                )
            });
            shared.state().turn_over(&session_id, turn);
            shared.ended(session_id, turn, failure).await;
        });
    }

    async fn ended(&self, session_id: String, turn: u64, failure: Option<TurnFailure>) {
        // A closed channel means that the loop is gone, and nobody is left to hear.
        let _ =
            self.reports.send(EngineReport::TurnEnded { session_id, turn, failure, cancelled: false }).await;
    }

    async fn request(
        self: &Arc<Self>,
        prompt: Prompt,
        (memory, setting): (Vec<EarlierTurn>, Option<ModelSetting>),
        model: Option<Result<ChosenModel, ModelError>>,
    ) -> TurnRequest {
        let Prompt { text, attachments, context, mode, .. } = prompt;
        let shared = Arc::clone(self);
        let prepared = tokio::task::spawn_blocking(move || {
            let model = model.map(|target| shared.in_use(target));
            // Without a model nobody reads them.
            let reads = model.is_some();
            let read = |attachments: &[_]| if reads { attachments::read(attachments) } else { Vec::new() };
            let past = |turn| past_turn(turn, setting.as_ref(), read);
            let earlier = memory.into_iter().map(past).collect();
            (model, read(&attachments), earlier)
        })
        .await;
        let (model, attachments, earlier) = prepared.unwrap_or_else(|_| {
            let error = ModelError::passing("The model could not be prepared; ask again.".to_owned());
            (Some(Err(error)), Vec::new(), Vec::new())
        });
        let text = match model {
            // Nothing but search answers, and it looks for what is named.
            None => context.question_of(&text).unwrap_or(text),
            Some(_) => text,
        };
        let no_model = NoModel::default();
        let (budget, context) = (self.state().budget, *context);
        TurnRequest { text, earlier, attachments, context, model, no_model, goes_on: None, budget, mode }
    }

    fn list_models(self: &Arc<Self>, reply: Reply<ModelsResult>) {
        let Ok(place) = Arc::clone(&self.lists).try_acquire_owned() else {
            reply.refuse(CodedError::new(
                ErrorCode::Overloaded,
                "Models are being listed several times already; wait for an answer and try again.",
            ));
            return;
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let _place = place;
            let own = Arc::clone(&shared);
            let model = tokio::task::spawn_blocking(move || {
                let target = own.state().model.clone();
                target.map(|target| own.in_use(target))
            })
            .await
            .unwrap_or(None);
            let listed = match model {
                None => Ok(ModelsResult { models: Vec::new(), current: None }),
                Some(Err(error)) => Err(error),
                Some(Ok(model)) => model_list::list(&model).await,
            };
            let told = |error: ModelError| {
                CodedError::new(ErrorCode::EngineUnreachable, error.message).with_remedy(error.retry)
            };
            reply.settle(listed.map_err(told));
        });
    }
}

/// A turn that is over, with what was attached as it is now. Blocking.
fn past_turn(
    turn: EarlierTurn,
    setting: Option<&ModelSetting>,
    read: impl Fn(&[Attachment]) -> Vec<Attached>,
) -> PastTurn {
    let EarlierTurn { prompt: Prompt { text, attachments, context, .. }, model, past } = turn;
    let is_same = |model: &ModelSetting| {
        setting.is_some_and(|now| {
            (&now.provider, &now.name, &now.url) == (&model.provider, &model.name, &model.url)
        })
    };
    let model = if model.as_ref().is_some_and(is_same) { PastModel::Same } else { PastModel::Other };
    PastTurn { text, attachments: read(&attachments), context: *context, past, model }
}

fn given(decision: EngineDecision) -> Answer {
    match decision.part {
        Some(part) => Answer::InPart { note: part.note, is_written: part.is_written },
        None => answer_of(&decision.ruling),
    }
}

fn answer_of(ruling: &Ruling) -> Answer {
    if ruling.allows() { Answer::Allowed } else { Answer::Denied }
}

fn root(folder: Folder) -> Option<Root> {
    let Folder { uri, name, path } = folder;
    Some(Root { name, uri, path: path? })
}

fn hello(model: Option<&Result<ChosenModel, ModelError>>) -> ServerMessage {
    let model = match model {
        Some(Ok(ChosenModel { target, .. })) => ModelInfo {
            provider: target.provider.as_str().to_owned(),
            model_name: target.name.clone(),
            capabilities: vec!["chat".to_owned(), "tools".to_owned()],
        },
        Some(Err(_)) | None => {
            ModelInfo { provider: "none".to_owned(), model_name: String::new(), capabilities: Vec::new() }
        }
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    ServerMessage::Hello { server_info: ServerInfo { version, model, capabilities: capabilities() } }
}

fn capabilities() -> Vec<String> {
    ["chat", "retrieval", "tools", "patches", "commands", "models", "stop"].map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests;
