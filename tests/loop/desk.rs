//! The bench of these tests: an `App` with a real journal in a temporary directory and ports that write down what they
//! were told.

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use breadboard_ls::app::inbox::{EditorAbilities, Folder, Inbox, Reply, StartUp};
use breadboard_ls::app::ports::*;
use breadboard_ls::app::{App, EditorEvent, Event, Ports};
use breadboard_ls::domain::edits::overlay::Overlay;
use breadboard_ls::domain::policy::redact::Redactor;
use breadboard_ls::domain::wire::desktop::{FinalMetadata, ServerMessage};
use breadboard_ls::protocol::request::CredentialScope;
use breadboard_ls::protocol::settings::{EngineKind, InitializationOptions, Overrides};
use breadboard_ls::protocol::{ErrorCode, Request, WireError};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

/// Everything the loop pushed, and how much more it may push.
#[derive(Default)]
pub struct Paper {
    pub messages: Mutex<Vec<Value>>,
    pub room: AtomicUsize,
}

impl Outbox for Paper {
    fn push(&self, message: Vec<u8>) -> bool {
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
}

/// Every call of the engine.
#[derive(Default)]
pub struct Calls(pub Mutex<Vec<EngineCall>>);

struct DeskEngine(Arc<Calls>);

impl Engine for DeskEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Embedded
    }

    fn capabilities(&self) -> Vec<String> {
        vec!["chat".to_owned()]
    }

    fn call(&self, call: EngineCall) {
        self.0.0.lock().unwrap().push(call);
    }
}

/// No story here needs a file; a reply that is dropped answers `internal`.
struct DeskFiles;

impl Files for DeskFiles {
    fn set_folders(&self, _: &[Folder]) {}

    fn set_state_dir(&self, _: std::path::PathBuf) {}

    fn submit(&self, _: FileJob, _: Arc<Overlay>) {}
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

/// A running loop.
pub struct Desk {
    pub paper: Arc<Paper>,
    pub calls: Arc<Calls>,
    pub inbox: Inbox,
    pub engine: mpsc::Sender<EngineReport>,
    loop_task: tokio::task::JoinHandle<()>,
}

/// How a loop is started.
#[derive(Clone, Copy)]
pub struct Setup {
    pub trusted: bool,
    pub abilities: EditorAbilities,
    pub first_id: i64,
    /// Whether there is an engine; else it is refused as one that is not built in is.
    pub engine: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { trusted: true, abilities: EditorAbilities::default(), first_id: 1, engine: true }
    }
}

impl Desk {
    pub fn at(state_dir: &Path, setup: Setup) -> Self {
        let dir = state_dir.to_string_lossy().into_owned();
        Self::with_journal(Box::new(move |_| breadboard_ls::store::open(Some(&dir))), setup)
    }

    pub fn with_journal(open_journal: OpenJournal, setup: Setup) -> Self {
        let paper = Arc::new(Paper { room: AtomicUsize::new(usize::MAX), ..Paper::default() });
        let calls = Arc::new(Calls::default());
        let (overlay, _) = watch::channel(Arc::new(Overlay::new()));
        let engine_calls = calls.clone();
        let app = App::new(Ports {
            outbox: paper.clone(),
            open_journal,
            open_engine: Box::new(move |_| match setup.engine {
                true => Ok(Box::new(DeskEngine(engine_calls)) as Box<dyn Engine>),
                false => Err(WireError::new(ErrorCode::Unsupported, "There is no such engine.")),
            }),
            files: Box::new(DeskFiles),
            ambient: Box::new(DeskClock { now: AtomicI64::new(1_000), ids: AtomicI64::new(setup.first_id) }),
            overlay,
            redactor: Redactor::default(),
        });
        let (inbox, editor) = Inbox::new();
        let (engine, reports) = mpsc::channel(64);
        let loop_task = tokio::spawn(breadboard_ls::app::run(app, editor, reports));
        let desk = Self { paper, calls, inbox, engine, loop_task };
        let start = StartUp {
            options: InitializationOptions { workspace_trusted: Some(setup.trusted), ..Default::default() },
            overrides: Overrides::default(),
            folders: vec![Folder { uri: "file:///w".into(), name: "w".into(), path: Some("/w".into()) }],
            editor: setup.abilities,
            ..StartUp::default()
        };
        desk.tell(EditorEvent::Initialize(Box::new(start)));
        desk
    }

    pub fn tell(&self, event: EditorEvent) {
        self.inbox.send(Event::Editor(event)).unwrap();
    }

    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, WireError> {
        let request = Request::parse(method, params)?;
        let (reply, answer) = Reply::new();
        self.inbox.send(Event::Request { request, reply }).unwrap();
        answer.await.unwrap()
    }

    pub async fn session(&self) -> String {
        let created = self.ask("bb/createSession", json!({})).await.unwrap();
        created["sessionId"].as_str().unwrap().to_owned()
    }

    pub async fn prompt(&self, session_id: &str, text: &str) -> Value {
        self.ask("bb/sendMessage", json!({"sessionId": session_id, "text": text, "messageId": text}))
            .await
            .unwrap()
    }

    pub async fn say(&self, session_id: &str, message: ServerMessage) {
        let event = message.into_event(Some(1), 5_000);
        self.engine.send(EngineReport::Said { session_id: session_id.to_owned(), event }).await.unwrap();
    }

    pub async fn token(&self, session_id: &str, token: &str) {
        self.say(session_id, ServerMessage::Token { token: token.to_owned(), cumulative_text: None }).await;
    }

    pub async fn finish(&self, session_id: &str, turn: u64, text: &str) {
        self.conclude(session_id, text).await;
        self.end(session_id, turn).await;
    }

    /// The final message, without the engine's word that the turn is over.
    pub async fn conclude(&self, session_id: &str, text: &str) {
        let metadata = FinalMetadata {
            tokens_used: 1,
            files_modified: 0,
            tools_used: vec![],
            success: true,
            cancelled: false,
        };
        self.say(session_id, ServerMessage::MessageFinal { message: text.to_owned(), metadata }).await;
    }

    pub async fn end(&self, session_id: &str, turn: u64) {
        let ended = EngineReport::TurnEnded { session_id: session_id.to_owned(), turn, failure: None };
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
            },
        )
        .await;
    }

    /// Everything in the journal of a session, once the loop has taken in all that was said before.
    pub async fn events(&self, session_id: &str) -> Vec<Value> {
        self.caught_up().await;
        let mut events = Vec::new();
        loop {
            let page = self
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
        while self.engine.capacity() < self.engine.max_capacity() {
            tokio::task::yield_now().await;
        }
        // One more turn of the loop: reports taken from the channel are handled before the next event is.
        self.ask("bb/listSessions", json!({})).await.unwrap();
    }

    /// Notifications of one method, in order.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        let messages = self.paper.messages.lock().unwrap();
        messages.iter().filter(|message| message["method"] == method).map(|m| m["params"].clone()).collect()
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

    /// Calls that the engine got, as short words.
    pub fn engine_heard(&self) -> Vec<String> {
        let calls = self.calls.0.lock().unwrap();
        calls
            .iter()
            .filter_map(|call| match call {
                EngineCall::StartTurn { turn, prompt, .. } => Some(format!("start {turn} {}", prompt.text)),
                EngineCall::Stop { .. } => Some("stop".to_owned()),
                EngineCall::Answer { engine_request_id, allowed, .. } => {
                    Some(format!("answer {engine_request_id} {allowed}"))
                }
                EngineCall::Forget { .. } => Some("forget".to_owned()),
                EngineCall::SetToken { scope: CredentialScope::Model | CredentialScope::Engine, .. }
                | EngineCall::SetFolders(_)
                | EngineCall::SetTrust { .. }
                | EngineCall::SetModel(_)
                | EngineCall::ListModels { .. } => None,
            })
            .collect()
    }

    /// Ends the loop as a closed editor does.
    pub async fn close(self) {
        let Self { inbox, engine, loop_task, .. } = self;
        drop((inbox, engine));
        loop_task.await.unwrap();
    }
}

/// The type and a word of each event, for whole-sequence assertions.
pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
