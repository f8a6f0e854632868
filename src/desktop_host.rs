//! The wiring of the desktop host: a loop for each workspace, and the front that several clients share.
//!
//! Owns the start, the words on stderr, and the end: on TERM or INT the sockets are closed, the journals written, and the process
//! is gone within five seconds. Decides nothing.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};

use crate::app::inbox::{ENGINE_BOUND, Event, Inbox, Reply};
use crate::cli::desktop_options::DesktopOptions;
use crate::domain::policy::redact::Redactor;
use crate::front::desktop::{
    DesktopHost, Gate, HostToken, HostedFolder, ListenOptions, PairingDesk, open_listener, read_or_make,
    restore_policies, serve_until,
};
use crate::host::index::Indexes;
use crate::host::retrieval::new_indexes;
use crate::process;
use crate::protocol::settings::{EngineKind, EngineSetting, Overrides};
use crate::serve::{
    environment_secrets, index_directory, say_only_where_it_failed, survive_file_limits, the_loop,
};
use crate::store::resolve_state_dir;

/// Threads of the loops, the sockets and whatever speaks with engines.
const THREADS: usize = 4;

/// Threads for what blocks, of all workspaces.
const BLOCKING: usize = 64;

/// Workspaces of one host. Each has a loop and a journal, and every command that is started holds the locks of all of them, so that
/// no other process takes a journal up while something of this host still runs.
const WORKSPACES: usize = process::LOOPS;

/// How long all journals together may take to be written at the end.
const FLUSH: Duration = Duration::from_millis(1_500);

/// How long processes that no guardian ends may take.
#[cfg(unix)]
const LAST_LOOK: Duration = Duration::from_millis(200);

/// The directory of the host inside the user's state directory: its sessions are not those of an editor's own server.
const STATE: &str = "host";

/// The token file in there.
const TOKEN: &str = "token";

/// Serves until the process is told to end.
pub(crate) fn serve_desktop(options: DesktopOptions, overrides: Overrides) -> ExitCode {
    say_only_where_it_failed();
    let Ok(runtime) = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(BLOCKING)
        .thread_name("host")
        .enable_all()
        .build()
    else {
        return refuse("The host cannot start its threads; free some memory and try again.");
    };
    survive_file_limits(&runtime);
    #[cfg(unix)]
    process::adopt_orphans();
    match start(&runtime, options, overrides) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => refuse(&sentence),
    }
}

fn refuse(sentence: &str) -> ExitCode {
    say(sentence);
    ExitCode::from(2)
}

/// For whoever started the host. Nobody may read it.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "breadboard-ls: {sentence}");
}

fn start(runtime: &Runtime, options: DesktopOptions, mut overrides: Overrides) -> Result<(), String> {
    let state_dir = state_dir(overrides.state_dir.as_deref())?;
    let token_file = options.token_file.clone().unwrap_or_else(|| state_dir.join(TOKEN));
    let folders = folders(&options.workspaces)?;
    let listen = ListenOptions { address: options.listen, tls: options.tls.clone() };
    // Before anything is made: an address that may not be used leaves nothing behind.
    let opened = runtime.block_on(open_listener(&listen))?;
    let token = read_or_make(&token_file)?;
    overrides.state_dir = Some(state_dir.to_string_lossy().into_owned());
    let mut redactor = Redactor::default();
    environment_secrets().iter().for_each(|secret| redactor.add(secret));
    redactor.add(&token);
    let indexes = new_indexes();
    indexes.keep_in(index_directory(&state_dir));
    let mut inboxes = Vec::new();
    let hosted = folders.into_iter().map(|(path, uri)| {
        let inbox = begin_loop(runtime, &redactor, &indexes);
        inboxes.push(inbox.clone());
        HostedFolder { path, uri, inbox, overrides: overrides.clone(), indexes: indexes.clone() }
    });
    let hosted: Vec<HostedFolder> = hosted.collect();
    let (stop, stopped) = watch::channel(false);
    let gate = Gate::new(HostToken::of(&token), &options.names);
    let pairing = Arc::new(PairingDesk::of(&token));
    drop(token);
    let host = {
        let _entered = runtime.enter();
        DesktopHost::new(hosted, &state_dir, gate, Arc::clone(&pairing), stopped.clone())?
    };
    runtime.block_on(restore_policies(&host))?;
    announce(&opened.url, &token_file, &options, &overrides);
    if options.pair || std::io::stderr().is_terminal() {
        show_codes(pairing);
    }
    runtime.block_on(async {
        let serving = tokio::spawn(serve_until(opened, host, stopped));
        told_to_end().await;
        // Everybody hears it, the listener and every socket.
        let _ = stop.send(true);
        let _ = serving.await;
        flush(inboxes).await;
    });
    #[cfg(unix)]
    process::end_the_unguarded(LAST_LOOK);
    // Threads that wait for a disk or a search do not hold the end up.
    std::process::exit(0);
}

fn announce(url: &str, token_file: &Path, options: &DesktopOptions, overrides: &Overrides) {
    say(&format!("Listening on {url}; the token is in {}.", token_file.display()));
    if !options.listen.ip().is_loopback() {
        say(
            "Other machines can reach this address: whoever has the token can prompt the agent and answer for you.",
        );
        say(&format!(
            "{} is open to every network that this machine is in; end the host and listen on 127.0.0.1 where that is not meant.",
            options.listen
        ));
    }
    say(match overrides.workspace_trusted {
        Some(true) => {
            "Every workspace is trusted: clients with the token may let the agent write files and run commands."
        }
        Some(false) | None => {
            "No workspace is trusted: the agent reads and searches, and writes and runs nothing; start the host with --trust where it may ask to."
        }
    });
    if answers_by_searching(overrides) {
        say(
            "No model is chosen: prompts are answered by what a search finds; choose one with --model, or for all with `breadboard-ls setup`.",
        );
    }
}

/// Whether the built-in agent answers, without a model. What the user's own file names counts where nothing else names an engine or a
/// model.
fn answers_by_searching(overrides: &Overrides) -> bool {
    let is_built_in = |engine: &Option<EngineSetting>| {
        engine.as_ref().is_none_or(|engine| engine.kind == EngineKind::Embedded)
    };
    let user = &overrides.user;
    let is_named = overrides.engine.is_some() || overrides.model.is_some();
    match is_named {
        true => is_built_in(&overrides.engine) && overrides.model.is_none(),
        false => is_built_in(&user.engine) && user.model.is_none(),
    }
}

/// Shows a pairing code, and another whenever somebody presses Enter.
fn show_codes(pairing: Arc<PairingDesk>) {
    pairing.when_used(|| say("A client typed the pairing code and has the token now."));
    let show = move || {
        say(&match pairing.open() {
            Ok(code) => format!(
                "Pairing code: {code} (once, for ten minutes). Type it where an editor asks for it; Enter shows another."
            ),
            Err(sentence) => sentence,
        });
    };
    show();
    if std::io::stdin().is_terminal() {
        // It waits for a person, and is not waited for.
        std::thread::spawn(move || std::io::stdin().lines().map_while(Result::ok).for_each(|_| show()));
    }
}

fn state_dir(given: Option<&str>) -> Result<PathBuf, String> {
    let user = resolve_state_dir(given)
        .ok_or("The state directory is not known; name one with --state-dir.".to_owned())?;
    Ok(user.join(STATE))
}

/// The folders as they are named, without links, and their URIs.
fn folders(named: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, String> {
    let mut folders: Vec<(PathBuf, String)> = Vec::new();
    for path in named {
        let real = std::fs::canonicalize(path).map_err(|error| {
            format!(
                "The workspace {} cannot be opened ({error}); name a folder that is there with --workspace.",
                path.display()
            )
        })?;
        let uri = url::Url::from_file_path(&real).ok().filter(|_| real.is_dir());
        let uri = uri.ok_or_else(|| format!("The workspace {} is no folder; name one.", path.display()))?;
        if folders.iter().all(|(known, _)| *known != real) {
            folders.push((real, uri.to_string()));
        }
    }
    if folders.len() > WORKSPACES {
        return Err(format!(
            "{} workspaces are named, and one host serves at most {WORKSPACES}; start another host for the others, with a \
             --state-dir of its own.",
            folders.len()
        ));
    }
    Ok(folders)
}

/// A loop for one workspace, as an editor's server has one.
fn begin_loop(runtime: &Runtime, redactor: &Redactor, indexes: &Indexes) -> Inbox {
    let (inbox, events) = Inbox::new();
    let (engine_reports, reports) = mpsc::channel(ENGINE_BOUND);
    let app = the_loop(&inbox, runtime.handle(), engine_reports, redactor.clone(), indexes.clone());
    runtime.spawn(crate::app::run(app, events, reports, |step| tokio::task::block_in_place(step)));
    inbox
}

async fn flush(inboxes: Vec<Inbox>) {
    let answers: Vec<_> = inboxes
        .iter()
        .filter_map(|inbox| {
            let (reply, answer) = Reply::new();
            inbox.send(Event::Exit { reply }).ok().map(|()| answer)
        })
        .collect();
    let all = async {
        for answer in answers {
            // Dropped or answered, it is over.
            let _ = answer.await;
        }
    };
    let _ = tokio::time::timeout(FLUSH, all).await;
}

/// Until TERM or INT.
#[cfg(unix)]
async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Until Ctrl-C.
#[cfg(not(unix))]
async fn told_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
