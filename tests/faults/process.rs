//! One process of ours: loop, journal and engine adapter on a thread of their own, as `serve` wires them, with a client that
//! writes down what it hears. It can be killed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use breadboard_ls::testing::app::inbox::{ENGINE_BOUND, EditorReply, Folder, Inbox, Reply, StartUp};
use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::app::{App, ClientId, EditorEvent, Event, Ports};
use breadboard_ls::testing::domain::approval::FolderIdentity;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::edits::overlay::Overlay;
use breadboard_ls::testing::domain::policy::judgement::PlaceKind;
use breadboard_ls::testing::domain::policy::redact::Redactor;
use breadboard_ls::testing::engine::breadboard::client::EngineTimeouts;
use breadboard_ls::testing::engine::breadboard::link::LinkTiming;
use breadboard_ls::testing::engine::breadboard::{BreadboardEngine, Setup};
use breadboard_ls::testing::protocol::Request;
use breadboard_ls::testing::protocol::request::{ModelProvider, ModelsCheckResult};
use breadboard_ls::testing::protocol::settings::{DeliverySetting, EngineSetting, InitializationOptions};
use breadboard_ls::testing::store::SqliteJournal;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

/// A process, alive until it is killed or closed.
pub struct Process {
    pub client: Arc<Client>,
    /// Its name in the loop.
    editor: ClientId,
    inbox: Inbox,
    kill: oneshot::Sender<PathBuf>,
    thread: JoinHandle<()>,
}

/// What a client of ours heard.
pub struct Client {
    messages: Mutex<Vec<Value>>,
    /// How many messages there are; changes wake whoever waits.
    pub count: watch::Sender<usize>,
}

impl Client {
    /// Messages from one on, in order.
    pub fn from(&self, at: usize) -> Vec<Value> {
        self.messages.lock().unwrap()[at..].to_vec()
    }
}

impl Outbox for Client {
    fn push(&self, message: Cow<'_, [u8]>) -> bool {
        self.messages.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
        self.count.send_modify(|count| *count += 1);
        true
    }

    fn hide(&self, _: &Secret) {}

    fn hide_all(&self, _: &Redactor) {}
}

struct NoFiles;

/// Nobody is about to choose a model.
struct NoModels;

impl ModelEndpoints for NoModels {
    fn providers(&self) -> Vec<ModelProvider> {
        Vec::new()
    }

    fn check(&self, _: ModelEndpoint, _: Reply<ModelsCheckResult>) {}
}

impl Files for NoFiles {
    fn set_folders(&self, _: &[Folder]) {}
    fn identity(&self, folder: &Path) -> Option<FolderIdentity> {
        // Every folder is there, and stays the same one.
        Some(FolderIdentity { path: folder.to_string_lossy().into_owned(), mark: String::new() })
    }

    fn real_place(&self, path: &Path) -> Option<RealPlace> {
        // Every path leads where it says, and a file is there.
        Some(RealPlace { path: path.to_owned(), kind: PlaceKind::File })
    }

    fn set_state_dir(&self, _: PathBuf) {}
    fn submit(&self, _: FileJob, _: Arc<Overlay>) {}
}

struct System;

impl Ambient for System {
    fn now_ms(&self) -> i64 {
        i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    fn fresh_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// As patient as an engine in this process needs. What decides that nothing more comes stays long, since threads here wait
/// for each other.
fn pace() -> LinkTiming {
    let ms = Duration::from_millis;
    LinkTiming {
        quiet: ms(10),
        first_quiet: ms(20),
        verdict: ms(80),
        doubt: ms(400),
        drained: ms(300),
        probe_silence: ms(150),
        renew_busy: ms(120),
        renew_idle: ms(100),
        renew_idle_most: ms(400),
        retry_base: ms(1),
        retry_cap: ms(10),
        retry_least: ms(1),
        ..LinkTiming::default()
    }
}

/// What a process is started with.
#[derive(Clone)]
pub struct Start {
    /// Where the engine is.
    pub url: String,
    pub workspace: PathBuf,
    pub latency_ms: u64,
}

impl Process {
    pub fn start(state_dir: &Path, start: &Start) -> Self {
        let client = Arc::new(Client { messages: Mutex::default(), count: watch::Sender::new(0) });
        let (inbox, events) = Inbox::new();
        let editor = inbox.name_client();
        let (kill, killed) = oneshot::channel::<PathBuf>();
        let state_dir = state_dir.to_owned();
        inbox.send(Event::ClientConnected { client: editor, outbox: client.clone() }).unwrap();
        let url = start.url.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let handle = runtime.handle().clone();
            let (reports, heard) = mpsc::channel(ENGINE_BOUND);
            let (scopes, _) = watch::channel(Arc::new(TurnScopes::default()));
            let dir = state_dir.to_owned();
            let app = App::new(Ports {
                open_journal: Box::new(move |_| Box::new(SqliteJournal::open(Some(&dir)))),
                open_engine: Box::new(move |_| Ok(engine(&url, reports, handle))),
                open_agents: None,
                files: Box::new(NoFiles),
                models: Box::new(NoModels),
                ambient: Box::new(System),
                scopes,
                redactor: Redactor::default(),
            });
            runtime.block_on(async move {
                let mut app = pin!(breadboard_ls::testing::app::run(app, events, heard, |step| step()));
                tokio::select! {
                    () = &mut app => {}
                    Ok(to) = killed => {
                        // Nothing of this process runs now, and its journal is open: these files are what a kill leaves.
                        copy(&state_dir, &to);
                    }
                }
            });
            // Tasks and sockets end here, wherever they stood.
            runtime.shutdown_background();
        });
        let process = Self { client, editor, inbox, kill, thread };
        let folder = Folder {
            uri: format!("file://{}", start.workspace.display()),
            name: "ws".to_owned(),
            path: Some(start.workspace.clone()),
        };
        let start = StartUp {
            options: InitializationOptions {
                workspace_trusted: Some(true),
                engine: Some(setting(&start.url)),
                delivery: Some(DeliverySetting {
                    max_latency_ms: Some(start.latency_ms),
                    ..DeliverySetting::default()
                }),
                ..InitializationOptions::default()
            },
            folders: vec![folder],
            ..StartUp::default()
        };
        process
            .inbox
            .send(Event::Editor { client: editor, event: EditorEvent::Initialize(Box::new(start)) })
            .unwrap();
        process
    }

    /// A request of the client.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, CodedError> {
        let request = Request::parse(method, params)?;
        let (reply, answer) = EditorReply::new();
        self.inbox.send(Event::Request { client: self.editor, request, reply }).unwrap();
        answer.await.unwrap_or_else(|_| Err(CodedError::new(ErrorCode::Internal, "The reply was dropped.")))
    }

    /// Ends it where it stands and leaves its files in `to`.
    pub async fn kill(self, to: &Path) -> Arc<Client> {
        let Self { client, inbox, kill, thread, .. } = self;
        kill.send(to.to_owned()).unwrap();
        joined(thread).await;
        drop(inbox);
        client
    }

    /// Ends it as a closed editor does.
    pub async fn close(self) -> Arc<Client> {
        let Self { client, inbox, kill, thread, .. } = self;
        drop(inbox);
        joined(thread).await;
        drop(kill);
        client
    }
}

async fn joined(thread: JoinHandle<()>) {
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
}

fn setting(url: &str) -> EngineSetting {
    serde_json::from_value(json!({ "kind": "breadboard", "url": url })).unwrap()
}

fn engine(url: &str, reports: mpsc::Sender<EngineReport>, handle: tokio::runtime::Handle) -> Box<dyn Engine> {
    let setup = Setup::read(&setting(url), None, None).unwrap();
    let patience = EngineTimeouts { answer: Duration::from_secs(10), ..EngineTimeouts::default() };
    let setup = Setup { pace: pace(), timeouts: patience, ..setup };
    Box::new(BreadboardEngine::new(reports, handle, setup, || System.now_ms()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
