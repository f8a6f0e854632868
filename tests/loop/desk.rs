//! The bench of these tests: an `App` with a real journal in a temporary directory and ports that write down what they
//! were told.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use breadboard_ls::testing::app::inbox::{EditorAbilities, EditorReply, Folder, Inbox, Reply, StartUp};
use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::app::{App, ClientId, EditorEvent, Event, Ports};
use breadboard_ls::testing::domain::approval::{FolderIdentity, RuleHolder};
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::dialect::desktop::message::{FinalMetadata, ServerMessage};
use breadboard_ls::testing::domain::edits::overlay::Overlay;
use breadboard_ls::testing::domain::policy::judgement::PlaceKind;
use breadboard_ls::testing::domain::policy::redact::Redactor;
use breadboard_ls::testing::protocol::Request;
use breadboard_ls::testing::protocol::request::{CredentialScope, ModelProvider, ModelsCheckResult};
use breadboard_ls::testing::protocol::settings::{
    EngineKind, EngineSetting, InitializationOptions, ModelSetting, Overrides, RetentionSetting,
};
use breadboard_ls::testing::protocol::standing::ApprovalsSetting;
use breadboard_ls::testing::store::SqliteJournal;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

/// Everything the loop pushed, and how much more it may push.
#[derive(Default)]
pub struct Paper {
    pub messages: Mutex<Vec<Value>>,
    /// What it was told to hide when it came.
    pub hidden: Mutex<Redactor>,
    pub room: AtomicUsize,
}

impl Outbox for Paper {
    fn push(&self, message: Cow<'_, [u8]>) -> bool {
        let room = self.room.load(Ordering::SeqCst);
        if room == 0 {
            return false;
        }
        if room != usize::MAX {
            self.room.store(room - 1, Ordering::SeqCst);
        }
        self.messages.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
        true
    }

    fn hide(&self, _: &Secret) {}

    fn hide_all(&self, known: &Redactor) {
        *self.hidden.lock().unwrap() = known.clone();
    }
}

/// Every call of the engine.
#[derive(Default)]
pub struct Calls(pub Mutex<Vec<EngineCall>>);

struct DeskEngine {
    calls: Arc<Calls>,
    /// Whether it plays an engine that holds sessions.
    holds: bool,
}

impl Engine for DeskEngine {
    fn kind(&self) -> EngineKind {
        if self.holds { EngineKind::Breadboard } else { EngineKind::Embedded }
    }

    fn traits(&self) -> EngineTraits {
        if !self.holds {
            return EngineTraits::default();
        }
        EngineTraits {
            sessions: SessionHome::Engine,
            resume: StreamResume::Cursor,
            turn_end: TurnEnd::Event,
            settlement: Settlement::Event,
            rules: RuleHolder::Engine,
            needs_trust: true,
        }
    }

    fn capabilities(&self) -> Vec<String> {
        vec!["chat".to_owned()]
    }

    fn call(&self, call: EngineCall) {
        self.calls.0.lock().unwrap().push(call);
    }
}

/// Endpoints that were asked about; each answers that it has nothing.
struct DeskModels(Arc<Mutex<Vec<ModelEndpoint>>>);

impl ModelEndpoints for DeskModels {
    fn providers(&self) -> Vec<ModelProvider> {
        Vec::new()
    }

    fn check(&self, endpoint: ModelEndpoint, reply: Reply<ModelsCheckResult>) {
        self.0.lock().unwrap().push(endpoint);
        reply.answer(ModelsCheckResult::default());
    }
}

/// The agents beside the engine; their calls stand among the engine's.
struct DeskAgents {
    calls: Arc<Calls>,
}

impl Engine for DeskAgents {
    fn kind(&self) -> EngineKind {
        EngineKind::Acp
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits {
            sessions: SessionHome::Agent,
            rules: RuleHolder::Agent,
            needs_trust: true,
            ..EngineTraits::default()
        }
    }

    fn capabilities(&self) -> Vec<String> {
        Vec::new()
    }

    fn call(&self, call: EngineCall) {
        // What is sent to every engine stands there once.
        if !matches!(call, EngineCall::SetFolders(_) | EngineCall::SetTrust { .. } | EngineCall::SetModel(_))
        {
            self.calls.0.lock().unwrap().push(call);
        }
    }
}

/// Jobs of diffs, artifacts, agents and specs are remembered; no other story here needs a file, and a reply that is dropped
/// answers `internal`.
#[derive(Default)]
pub struct Jobs(pub Mutex<Vec<FileJob>>);

/// The buffers that went with each of those jobs.
#[derive(Default)]
pub struct Buffers(pub Mutex<Vec<Arc<Overlay>>>);

/// Where the look before a command is said to be done; taken out, since the loop ends with the last of its inboxes.
type LookDone = Arc<Mutex<Option<Inbox>>>;

struct DeskFiles(Arc<Jobs>, Arc<Buffers>, LookDone);

impl Files for DeskFiles {
    fn set_folders(&self, _: &[Folder]) {}

    fn identity(&self, folder: &Path) -> Option<FolderIdentity> {
        // Every folder is there, and stays the same one.
        Some(FolderIdentity { path: folder.to_string_lossy().into_owned(), mark: String::new() })
    }

    fn real_place(&self, path: &Path) -> Option<RealPlace> {
        // Every path leads where it says, and a file is there.
        Some(RealPlace { path: path.to_owned(), kind: PlaceKind::File })
    }

    fn set_state_dir(&self, _: std::path::PathBuf) {}

    fn submit(&self, job: FileJob, buffers: Arc<Overlay>) {
        // No file is looked at before a command.
        if let FileJob::Turn(TurnJob::BeforeCommand { session_id, held }) = job {
            let done = FileJobDone::Turn(TurnJobDone::MayRun { session_id, held });
            if let Some(inbox) = &*self.2.lock().unwrap() {
                inbox.send(Event::FileJobDone(done)).unwrap();
            }
            return;
        }
        if matches!(
            job,
            FileJob::Diff(_)
                | FileJob::DropArtifacts { .. }
                | FileJob::Read { .. }
                | FileJob::ReadText { .. }
                | FileJob::Run { .. }
                | FileJob::Write { .. }
                | FileJob::Spec(_)
        ) {
            self.0.0.lock().unwrap().push(job);
            self.1.0.lock().unwrap().push(buffers);
        }
    }
}

struct DeskClock {
    now: AtomicI64,
    ids: AtomicI64,
}

impl Ambient for DeskClock {
    fn now_ms(&self) -> i64 {
        self.now.fetch_add(1, Ordering::SeqCst)
    }

    fn fresh_id(&self) -> String {
        format!("id-{}", self.ids.fetch_add(1, Ordering::SeqCst))
    }
}

/// One client of a loop.
#[derive(Clone)]
pub struct Window {
    pub client: ClientId,
    pub paper: Arc<Paper>,
    inbox: Inbox,
}

impl Window {
    fn connect(inbox: &Inbox) -> Self {
        let paper = Arc::new(Paper { room: AtomicUsize::new(usize::MAX), ..Paper::default() });
        let client = inbox.name_client();
        inbox.send(Event::ClientConnected { client, outbox: paper.clone() }).unwrap();
        Self { client, paper, inbox: inbox.clone() }
    }

    /// Ends as a closed window does.
    pub fn leave(self) {
        self.inbox.send(Event::ClientGone { client: self.client }).unwrap();
    }

    pub fn tell(&self, event: EditorEvent) {
        self.inbox.send(Event::Editor { client: self.client, event }).unwrap();
    }

    /// Takes no more than so many messages.
    pub fn takes(&self, room: usize) {
        self.paper.room.store(room, Ordering::SeqCst);
    }

    /// Reads again.
    pub fn drain(&self) {
        self.takes(usize::MAX);
        self.inbox.send(Event::OutboxDrained { client: self.client }).unwrap();
    }

    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, CodedError> {
        let request = Request::parse(method, params)?;
        let (reply, answer) = EditorReply::new();
        self.inbox.send(Event::Request { client: self.client, request, reply }).unwrap();
        answer.await.unwrap()
    }

    pub async fn prompt(&self, session_id: &str, text: &str) -> Value {
        self.ask("bb/sendMessage", json!({"sessionId": session_id, "text": text, "messageId": text}))
            .await
            .unwrap()
    }

    /// Notifications, or our requests, of one method, in order.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        let messages = self.paper.messages.lock().unwrap();
        messages.iter().filter(|message| message["method"] == method).map(|m| m["params"].clone()).collect()
    }

    /// The requests of one method that this window was asked, each with its id.
    pub fn asked(&self, method: &str) -> Vec<(String, Value)> {
        let messages = self.paper.messages.lock().unwrap();
        let asked = messages.iter().filter(|message| message["method"] == method);
        asked.map(|message| (message["id"].as_str().unwrap().to_owned(), message["params"].clone())).collect()
    }

    /// Events of a session in the order in which they were sent, with their numbers checked to be without holes.
    pub fn heard_events(&self, session_id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        for batch in self.heard("bb/events").iter().filter(|batch| batch["sessionId"] == session_id) {
            let of_batch = batch["events"].as_array().unwrap();
            assert_eq!(batch["fromSeq"], of_batch.first().unwrap()["seq"], "{batch}");
            assert_eq!(batch["toSeq"], of_batch.last().unwrap()["seq"], "{batch}");
            events.extend(of_batch.iter().cloned());
        }
        let first = events.first().map_or(1, |event| event["seq"].as_u64().unwrap());
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], json!(first + at as u64), "a hole or a double: {events:?}");
        }
        events
    }
}

/// A running loop, and its first client.
pub struct Desk {
    pub window: Window,
    pub paper: Arc<Paper>,
    pub calls: Arc<Calls>,
    pub jobs: Arc<Jobs>,
    pub buffers: Arc<Buffers>,
    /// Endpoints of models that were asked about.
    pub asked: Arc<Mutex<Vec<ModelEndpoint>>>,
    pub inbox: Inbox,
    pub client: ClientId,
    pub engine: mpsc::Sender<EngineReport>,
    look_done: LookDone,
    loop_task: tokio::task::JoinHandle<()>,
}

/// How a loop is started.
#[derive(Clone, Copy)]
pub struct Setup {
    pub trusted: bool,
    pub abilities: EditorAbilities,
    pub first_id: i64,
    /// Whether the engine holds the sessions.
    pub holds: bool,
    /// Whether there is an engine; else it is refused as one that is not built in is.
    pub engine: bool,
    /// `retention.maxBytes`.
    pub journal_bytes: Option<u64>,
    /// `approvals.expireAfterSeconds`.
    pub expire_after_seconds: Option<u64>,
    /// Uri of the one folder of the workspace.
    pub folder: &'static str,
    /// Address of an engine that holds sessions.
    pub url: &'static str,
    /// Name of the model of the settings.
    pub model: Option<&'static str>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            trusted: true,
            abilities: EditorAbilities::default(),
            first_id: 1,
            holds: false,
            engine: true,
            journal_bytes: None,
            expire_after_seconds: None,
            folder: "file:///w",
            url: "http://127.0.0.1:9099",
            model: None,
        }
    }
}

impl Desk {
    pub fn at(state_dir: &Path, setup: Setup) -> Self {
        let dir = state_dir.to_owned();
        Self::with_journal(Box::new(move |_| Box::new(SqliteJournal::open(Some(&dir)))), setup)
    }

    pub fn with_journal(open_journal: OpenJournal, setup: Setup) -> Self {
        let calls = Arc::new(Calls::default());
        let jobs = Arc::new(Jobs::default());
        let buffers = Arc::new(Buffers::default());
        let asked: Arc<Mutex<Vec<ModelEndpoint>>> = Arc::default();
        let (scopes, _) = watch::channel(Arc::new(TurnScopes::default()));
        let (engine_calls, agent_calls) = (calls.clone(), calls.clone());
        let (inbox, editor) = Inbox::new();
        let look_done: LookDone = Arc::new(Mutex::new(Some(inbox.clone())));
        let app = App::new(Ports {
            open_journal,
            open_engine: Box::new(move |_| match setup.engine {
                true => {
                    Ok(Box::new(DeskEngine { calls: engine_calls, holds: setup.holds }) as Box<dyn Engine>)
                }
                false => Err(CodedError::new(ErrorCode::Unsupported, "There is no such engine.")),
            }),
            open_agents: Some(Box::new(move |_| Box::new(DeskAgents { calls: agent_calls }))),
            files: Box::new(DeskFiles(jobs.clone(), buffers.clone(), look_done.clone())),
            models: Box::new(DeskModels(asked.clone())),
            ambient: Box::new(DeskClock { now: AtomicI64::new(1_000), ids: AtomicI64::new(setup.first_id) }),
            scopes,
            redactor: Redactor::default(),
        });
        let window = Window::connect(&inbox);
        let (engine, reports) = mpsc::channel(64);
        let loop_task = tokio::spawn(breadboard_ls::testing::app::run(app, editor, reports, |step| step()));
        let (paper, client) = (window.paper.clone(), window.client);
        let desk =
            Self { window, paper, calls, jobs, buffers, asked, inbox, client, engine, look_done, loop_task };
        let start = StartUp {
            options: InitializationOptions {
                workspace_trusted: Some(setup.trusted),
                model: setup.model.map(|name| ModelSetting {
                    provider: None,
                    name: name.to_owned(),
                    ..ModelSetting::default()
                }),
                approvals: Some(ApprovalsSetting {
                    expire_after_seconds: setup.expire_after_seconds,
                    ..ApprovalsSetting::default()
                }),
                retention: Some(RetentionSetting { max_bytes: setup.journal_bytes }),
                engine: setup.holds.then(|| EngineSetting {
                    kind: EngineKind::Breadboard,
                    url: Some(setup.url.to_owned()),
                    command: None,
                    args: None,
                    env: None,
                    config_path: None,
                    ca_file: None,
                    name: None,
                }),
                ..Default::default()
            },
            overrides: Overrides::default(),
            folders: vec![Folder { uri: setup.folder.into(), name: "w".into(), path: Some("/w".into()) }],
            editor: setup.abilities,
            ..StartUp::default()
        };
        desk.tell(EditorEvent::Initialize(Box::new(start)));
        desk
    }

    /// Another client connects.
    pub fn connect(&self, trusted: bool, start: StartUp) -> Window {
        let window = Window::connect(&self.inbox);
        let options = InitializationOptions { workspace_trusted: Some(trusted), ..start.options };
        window.tell(EditorEvent::Initialize(Box::new(StartUp { options, ..start })));
        window
    }

    pub fn tell(&self, event: EditorEvent) {
        self.window.tell(event);
    }

    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, CodedError> {
        self.window.ask(method, params).await
    }

    pub async fn session(&self) -> String {
        let created = self.ask("bb/createSession", json!({})).await.unwrap();
        created["sessionId"].as_str().unwrap().to_owned()
    }

    pub async fn prompt(&self, session_id: &str, text: &str) -> Value {
        self.window.prompt(session_id, text).await
    }

    pub async fn say(&self, session_id: &str, message: ServerMessage) {
        self.say_in(session_id, 1, message).await;
    }

    async fn say_in(&self, session_id: &str, turn: u64, message: ServerMessage) {
        let event = message.into_event(Some(turn), 5_000);
        self.engine
            .send(EngineReport::Said { session_id: session_id.to_owned(), event, cursor: None })
            .await
            .unwrap();
    }

    pub async fn token(&self, session_id: &str, token: &str) {
        self.say(session_id, ServerMessage::Token { token: token.to_owned(), cumulative_text: None }).await;
    }

    pub async fn finish(&self, session_id: &str, turn: u64, text: &str) {
        self.conclude_in(session_id, turn, text).await;
        self.end(session_id, turn).await;
    }

    /// The final message, without the engine's word that the turn is over.
    pub async fn conclude(&self, session_id: &str, text: &str) {
        self.conclude_in(session_id, 1, text).await;
    }

    async fn conclude_in(&self, session_id: &str, turn: u64, text: &str) {
        let metadata = FinalMetadata {
            tokens_used: 1,
            files_modified: 0,
            tools_used: vec![],
            success: true,
            cancelled: false,
        };
        self.say_in(session_id, turn, ServerMessage::MessageFinal { message: text.to_owned(), metadata })
            .await;
    }

    pub async fn end(&self, session_id: &str, turn: u64) {
        let session_id = session_id.to_owned();
        let ended = EngineReport::TurnEnded { session_id, turn, failure: None, cancelled: false };
        self.engine.send(ended).await.unwrap();
    }

    pub async fn ask_to_run(&self, session_id: &str, request_id: &str, command: &str) {
        self.say(
            session_id,
            ServerMessage::CommandRequestApproval {
                request_id: request_id.to_owned(),
                command_id: request_id.to_owned(),
                command: command.to_owned(),
                working_directory: ".".to_owned(),
                environment: Default::default(),
                requires_approval: true,
                reason: "because".to_owned(),
                call_id: None,
                background: None,
            },
        )
        .await;
    }

    /// Everything in the journal of a session, once the loop has taken in all that was said before.
    pub async fn events(&self, session_id: &str) -> Vec<Value> {
        self.events_by(&self.window, session_id).await
    }

    /// The same, asked for by another client.
    pub async fn events_by(&self, window: &Window, session_id: &str) -> Vec<Value> {
        self.caught_up_by(window).await;
        let mut events = Vec::new();
        loop {
            let page = window
                .ask(
                    "bb/events/read",
                    json!({"sessionId": session_id, "fromSeq": events.len() + 1, "limit": 5000}),
                )
                .await
                .unwrap();
            events.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["hasMore"] == json!(false) {
                return events;
            }
        }
    }

    /// Engine reports come by another channel than requests: waits until that one is empty and handled.
    pub async fn caught_up(&self) {
        self.caught_up_by(&self.window).await;
    }

    /// The same where the first client has left.
    pub async fn caught_up_by(&self, window: &Window) {
        while self.engine.capacity() < self.engine.max_capacity() {
            tokio::task::yield_now().await;
        }
        // One more turn of the loop: reports taken from the channel are handled before the next event is.
        let nobody = window.ask("bb/queue/list", json!({"sessionId": "nobody"})).await;
        assert_eq!(nobody.unwrap_err().code, ErrorCode::UnknownSession);
    }

    /// Notifications of one method, in order.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        self.window.heard(method)
    }

    /// Events of a session that the first client heard.
    pub fn heard_events(&self, session_id: &str) -> Vec<Value> {
        self.window.heard_events(session_id)
    }

    /// Calls that the engine got, as short words.
    pub fn engine_heard(&self) -> Vec<String> {
        let calls = self.calls.0.lock().unwrap();
        calls
            .iter()
            .filter_map(|call| match call {
                EngineCall::StartTurn { turn, prompt, .. } => Some(format!("start {turn} {}", prompt.text)),
                EngineCall::Stop { .. } => Some("stop".to_owned()),
                EngineCall::Decide { engine_request_id, decision, .. } => {
                    Some(format!("answer {engine_request_id} {}", decision.allows()))
                }
                EngineCall::Forget { .. } => Some("forget".to_owned()),
                EngineCall::SetToken { scope: CredentialScope::Model | CredentialScope::Engine, .. }
                | EngineCall::SetFolders(_)
                | EngineCall::SetTrust { .. }
                | EngineCall::SetModel(_)
                | EngineCall::ListModels { .. } => None,
                EngineCall::Stream(call) => Some(format!("{call:?}")),
                EngineCall::Agent(call) => Some(format!("{call:?}")),
                other => Some(format!("{other:?}")),
            })
            .collect()
    }

    /// Ends the loop as `kill -9` does: nothing more is written.
    pub async fn kill(self) {
        self.loop_task.abort();
        assert!(self.loop_task.await.unwrap_err().is_cancelled());
    }

    /// Ends the loop as a closed editor does.
    pub async fn close(self) {
        let Self { window, inbox, engine, look_done, loop_task, .. } = self;
        look_done.lock().unwrap().take();
        drop((window, inbox, engine));
        loop_task.await.unwrap();
    }
}

/// The type and a word of each event, for whole-sequence assertions.
pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
