//! The wiring: the rooms put together to serve one editor on stdin and stdout.
//!
//! Owns the threads: this one reads frames, one writes them, one runs the loop, writes the journal and reads engines, and
//! there are some for what blocks. Decides nothing.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, watch};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::app::inbox::{ENGINE_BOUND, Event, Inbox, Reply};
use crate::app::ports::{Ambient, Engine, EngineReport, Journal, Outbox, Secret, TurnScopes};
use crate::app::{App, ClientId, Ports};
use crate::cli::args::ServeOptions;
use crate::cli::variables::{
    ENV_ANTHROPIC_KEY, ENV_API_TOKEN, ENV_API_URL, ENV_EMBEDDING_TOKEN, ENV_GEMINI_KEY, ENV_MODEL_TOKEN,
    ENV_OPENAI_KEY, ENV_RERANKER_TOKEN, TOKEN_VARIABLES,
};
use crate::domain::coded_error::CodedError;
use crate::domain::policy::environment::AGENT_MARK;
use crate::domain::policy::redact::Redactor;
use crate::editor::{
    Edge, EndCause, FrameOutbox, Lifecycle, LogGate, LogLayer, open_stdout, serve as serve_editor,
    watch_stdout,
};
use crate::engine::acp::{self, AcpEngine, presets};
use crate::engine::breadboard::{self, BreadboardEngine};
use crate::engine::desktop::{DesktopEngine, DesktopSetup};
use crate::engine::embedded::{EmbeddedEngine, Endpoints};
use crate::front;
use crate::front::acp::AcpServing;
use crate::host::index::Indexes;
use crate::host::models::{HostTokens, Provider, Token};
use crate::host::retrieval::{Retrieval, new_indexes};
use crate::mcp::{self, McpPool, PoolHandle};
use crate::process;
use crate::protocol::mcp::definitions;
use crate::protocol::settings::{EngineKind, Settings};
use crate::store::{SqliteJournal, resolve_state_dir};
use crate::workspace::WorkspaceFiles;

/// Threads of the loop and of whatever speaks with engines. An event goes from the engine's socket into the editor's pipe
/// without waking another thread, which takes longer than everything else that is done with it. With two, a connection, the
/// task that reads it and the loop would wake each other for every chunk. Searching and all else that blocks has
/// threads of its own.
const LOOP_THREADS: usize = 1;

/// Blocking threads of that runtime: searches, file jobs. Idle ones end.
const BLOCKING_THREADS: usize = 16;

/// How long the end of processes whose guardians cannot see to it may take of the time that the end of the server has.
#[cfg(unix)]
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Wall clock and UUIDs.
#[derive(Debug, Clone, Copy)]
struct System;

impl Ambient for System {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn fresh_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// Serves one client of the Agent Client Protocol until its input ends. Each folder of its has a loop of its own.
pub(crate) fn serve_agent_client(options: ServeOptions) -> ExitCode {
    say_only_where_it_failed();
    let Ok(stdout) = open_stdout() else { return ExitCode::FAILURE };
    if std::env::var_os(AGENT_MARK).is_some() {
        return front::acp::refuse_inside_itself(stdout);
    }
    let Some(loop_runtime) = loop_runtime() else { return ExitCode::FAILURE };
    survive_file_limits(&loop_runtime);
    #[cfg(unix)]
    process::adopt_orphans();
    let hidden = secrets_of_environment();
    let (runtime, redactor) = (loop_runtime.handle().clone(), hidden.clone());
    let start_loop = move || {
        let (inbox, editor_events) = Inbox::new();
        let (engine_reports, reports) = mpsc::channel(ENGINE_BOUND);
        let app = the_loop(&inbox, &runtime, engine_reports, redactor.clone(), new_indexes());
        runtime.spawn(crate::app::run(app, editor_events, reports, |step| tokio::task::block_in_place(step)));
        inbox
    };
    let serving = AcpServing { start_loop: Box::new(start_loop), overrides: options.overrides, hidden };
    let code = front::acp::serve(serving, stdout);
    #[cfg(unix)]
    process::end_the_unguarded(LAST_LOOK);
    // Threads that block are not waited for.
    loop_runtime.shutdown_background();
    code
}

/// Serves one editor until the process ends. Returns only when it could not begin.
pub(crate) fn serve(options: ServeOptions) -> ExitCode {
    say_only_where_it_failed();
    let Some(loop_runtime) = loop_runtime() else { return ExitCode::FAILURE };
    survive_file_limits(&loop_runtime);
    #[cfg(unix)]
    process::adopt_orphans();
    let Ok(stdout) = open_stdout() else { return ExitCode::FAILURE };
    let (inbox, editor_events) = Inbox::new();
    let client = inbox.name_client();
    let lifecycle = ends_with_a_flush(&inbox);
    let outbox = writer_of(stdout, client, &inbox, &lifecycle);
    {
        let lifecycle = Arc::clone(&lifecycle);
        watch_stdout(move || lifecycle.end(EndCause::StdoutDead));
    }
    let gate = log_to(&outbox);
    let redactor = hide_tokens(&outbox);
    let (engine_reports, reports) = mpsc::channel(ENGINE_BOUND);
    let app = the_loop(&inbox, loop_runtime.handle(), engine_reports, redactor, new_indexes());
    // The first event of all: the inbox is empty.
    if inbox.send(Event::ClientConnected { client, outbox: outbox.clone() }).is_err() {
        return ExitCode::FAILURE;
    }
    loop_runtime
        .spawn(crate::app::run(app, editor_events, reports, |step| tokio::task::block_in_place(step)));
    serve_editor(
        std::io::stdin(),
        Edge { outbox, inbox, client, overrides: options.overrides, lifecycle, gate },
    )
}

fn loop_runtime() -> Option<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(LOOP_THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("loop")
        .enable_all()
        .build()
        .ok()
}

/// The end of this process: what no guardian ends is ended first, then the journal is written.
fn ends_with_a_flush(inbox: &Inbox) -> Arc<Lifecycle> {
    let inbox = inbox.clone();
    Lifecycle::new(move || {
        #[cfg(unix)]
        process::end_the_unguarded(LAST_LOOK);
        flush_journal(&inbox);
    })
}

/// The one writer of stdout.
fn writer_of(stdout: File, client: ClientId, inbox: &Inbox, lifecycle: &Arc<Lifecycle>) -> Arc<FrameOutbox> {
    #[cfg(unix)]
    let direct = stdout.try_clone().ok();
    let (inbox, lifecycle) = (inbox.clone(), Arc::clone(lifecycle));
    let outbox = FrameOutbox::start(
        stdout,
        move || inbox.send(Event::OutboxDrained { client }).is_ok(),
        move || lifecycle.end(EndCause::StdoutDead),
    );
    #[cfg(unix)]
    if let Some(pipe) = direct {
        outbox.write_directly(pipe);
    }
    outbox
}

/// From here on what is logged goes to the editor, as far as the gate lets it.
fn log_to(outbox: &Arc<FrameOutbox>) -> Arc<LogGate> {
    let gate = Arc::new(LogGate::default());
    let log = LogLayer::new(Arc::clone(outbox), Arc::clone(&gate));
    // A second subscriber in one process is refused, and then the first one stays.
    let _ = tracing_subscriber::registry().with(log.boxed()).try_init();
    gate
}

/// Tokens of the environment are hidden in all that is written and sent.
fn hide_tokens(outbox: &FrameOutbox) -> Redactor {
    let redactor = secrets_of_environment();
    outbox.hide_all(&redactor);
    redactor
}

fn secrets_of_environment() -> Redactor {
    let mut redactor = Redactor::default();
    environment_secrets().iter().for_each(|token| redactor.add(token));
    redactor
}

/// Tokens of the environment: ours, and those that agents read.
pub(crate) fn environment_secrets() -> Vec<String> {
    let names = TOKEN_VARIABLES.iter().copied().chain(presets::keys_of_all());
    names.filter_map(said).collect()
}

/// The loop with its ports.
pub(crate) fn the_loop(
    inbox: &Inbox,
    runtime: &Handle,
    engine_reports: mpsc::Sender<EngineReport>,
    redactor: Redactor,
    indexes: Indexes,
) -> App {
    let (scopes, scopes_seen) = watch::channel(Arc::new(TurnScopes::default()));
    let runtime = runtime.clone();
    let (agent_reports, agent_runtime) = (engine_reports.clone(), runtime.clone());
    let (hide, agents_hide) = (redactor.clone(), redactor.clone());
    let to_the_loop = inbox.clone();
    let hide_taken = move |secrets| to_the_loop.send(Event::SecretsTaken(secrets)).is_ok();
    let pool = McpPool::new(runtime.clone(), process::this_program(), said, hide_taken);
    let tool_servers = Arc::clone(&pool);
    let app = App::new(Ports {
        open_journal: Box::new(open_journal),
        files: Box::new(workspace_files(inbox, &runtime)),
        models: Box::new(Endpoints::new(runtime.clone(), tokens(), key_variables())),
        open_engine: Box::new(move |settings| {
            open_engine(settings, engine_reports, scopes_seen, runtime, (hide, tool_servers, indexes))
        }),
        open_agents: Some(Box::new(move |settings| {
            Box::new(agents(settings, (agent_reports, agent_runtime), agents_hide))
        })),
        ambient: Box::new(System),
        scopes,
        redactor,
    });
    app.with_mcp(Box::new(PoolHandle(pool)))
}

fn workspace_files(inbox: &Inbox, runtime: &Handle) -> WorkspaceFiles {
    let inbox = inbox.clone();
    WorkspaceFiles::new(runtime.clone(), process::this_program(), move |done| {
        if inbox.send(Event::FileJobDone(done)).is_err() {
            // Its reply was dropped with it, and so answered `internal`.
            tracing::error!("the loop took no more file jobs");
        }
    })
    .searching(Arc::new(Retrieval))
}

/// The journal. Whatever this process starts holds the lock of its window too, so that no other window works on its sessions
/// before all of it is gone.
fn open_journal(state_dir: Option<&str>) -> Box<dyn Journal> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut journal = SqliteJournal::open(resolve_state_dir(state_dir).as_deref());
    #[cfg(unix)]
    if let Some(lock) = journal.share_lock() {
        process::share_lock(lock.into());
    }
    Box::new(journal)
}

/// A file-size limit then fails the write, and the journal says `Full`; by default the signal ends the process.
#[cfg(unix)]
pub(crate) fn survive_file_limits(runtime: &Runtime) {
    use tokio::signal::unix::{SignalKind, signal};
    /// `SIGXFSZ` on Linux and macOS (POSIX gives the name only).
    const SIGXFSZ: i32 = 25;
    let _entered = runtime.enter();
    if let Err(error) = signal(SignalKind::from_raw(SIGXFSZ)) {
        tracing::warn!(%error, "a file-size limit will end the process");
    }
}

/// There are no such limits.
#[cfg(not(unix))]
pub(crate) fn survive_file_limits(_: &Runtime) {}

/// The message of a panic may hold pieces of what was handled, a prompt or a token, and editors keep our stderr in a log.
/// So only the place is said there. Not by the log: whoever panics may hold its lock.
pub(crate) fn say_only_where_it_failed() {
    std::panic::set_hook(Box::new(|failure| {
        let place = failure.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let text = format!("breadboard-ls failed inside{}; please report it.\n", place.unwrap_or_default());
        // Nobody may read it.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }));
}

/// The engine that the settings name. One that cannot be used is refused in one sentence, and everything that needs no engine
/// works on.
fn open_engine(
    settings: &Settings,
    reports: mpsc::Sender<EngineReport>,
    scopes: watch::Receiver<Arc<TurnScopes>>,
    runtime: Handle,
    (hide, tool_servers, indexes): (Redactor, Arc<McpPool>, Indexes),
) -> Result<Box<dyn Engine>, CodedError> {
    match settings.engine.kind {
        EngineKind::Embedded => {
            if let Some(state_dir) = resolve_state_dir(settings.state_dir.as_deref()) {
                indexes.keep_in(index_directory(&state_dir));
            }
            let (fresh_id, now_ms) = (|| System.fresh_id(), || System.now_ms());
            let engine = EmbeddedEngine::new(reports, scopes, runtime, tokens(), fresh_id, now_ms);
            let engine = engine.with_budget(&settings.budget).with_tool_servers(tool_servers);
            let engine = engine.searching(indexes);
            let token = said(ENV_EMBEDDING_TOKEN).map(Token);
            let engine = engine.with_embeddings(settings.embeddings.as_ref(), token);
            let token = said(ENV_RERANKER_TOKEN).map(Token);
            Ok(Box::new(engine.with_reranker(settings.reranker.as_ref(), token)))
        }
        EngineKind::Breadboard => {
            let token = said(ENV_API_TOKEN).map(Secret);
            let setup = breadboard::Setup::read(&settings.engine, token, said(ENV_API_URL).as_deref())?;
            Ok(Box::new(BreadboardEngine::new(reports, runtime, setup, || System.now_ms())))
        }
        EngineKind::Acp => Ok(Box::new(agents(settings, (reports, runtime), hide))),
        EngineKind::Desktop => {
            let token = said(ENV_API_TOKEN).map(Secret);
            let setup = DesktopSetup::read(settings, token, said(ENV_API_URL).as_deref())?;
            Ok(Box::new(DesktopEngine::new(reports, runtime, setup, || System.now_ms())))
        }
    }
}

/// The agents, with the user's tool servers, which they start themselves.
fn agents(
    settings: &Settings,
    (reports, runtime): (mpsc::Sender<EngineReport>, Handle),
    mut hide: Redactor,
) -> AcpEngine {
    let (servers, secrets) = mcp::for_agents(definitions(&settings.mcp_servers), &said);
    secrets.iter().for_each(|secret| hide.add(secret));
    AcpEngine::new(reports, runtime, settings, agents_setup(settings, hide)).with_tool_servers(servers)
}

/// Where the indexes of folders lie in a state directory.
pub(crate) fn index_directory(state_dir: &Path) -> PathBuf {
    state_dir.join("index")
}

/// What agents need beside the settings: their logs lie in the state directory.
fn agents_setup(settings: &Settings, mut hide: Redactor) -> acp::Setup {
    settings.secrets.iter().for_each(|secret| hide.add(secret));
    let logs = crate::store::resolve_state_dir(settings.state_dir.as_deref());
    acp::Setup {
        logs: logs.map(|directory| directory.join("agents")),
        keys: presets::keys_of_all().filter_map(|name| Some((name.to_owned(), said(name)?))).collect(),
        hide: hide.into(),
        guard: process::this_program(),
        timeouts: acp::AgentTimeouts::default(),
    }
}

/// A variable of the environment that says something, without the blanks and line ends around it, which a file that it was
/// read from often has.
fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Model tokens of the environment, each for its own origin.
fn tokens() -> HostTokens {
    let token = |name| said(name).map(Token);
    HostTokens {
        openai: token(ENV_OPENAI_KEY),
        anthropic: token(ENV_ANTHROPIC_KEY),
        gemini: token(ENV_GEMINI_KEY),
        model: token(ENV_MODEL_TOKEN),
    }
}

/// The variables that the providers' keys are read from.
fn key_variables() -> Vec<(Provider, &'static str)> {
    vec![
        (Provider::OpenAi, ENV_OPENAI_KEY),
        (Provider::Anthropic, ENV_ANTHROPIC_KEY),
        (Provider::Gemini, ENV_GEMINI_KEY),
    ]
}

/// At the end of the process: the loop writes what waits and answers. The caller bounds the time.
fn flush_journal(inbox: &Inbox) {
    let (reply, answer) = Reply::new();
    if inbox.send(Event::Exit { reply }).is_ok() {
        // Dropped or answered, it is over.
        let _ = answer.blocking_recv();
    }
}
