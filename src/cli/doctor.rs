//! `breadboard-ls doctor`: is everything there for a first answer, and if not, what to do.
//!
//! Owns the list of checks. Never changes anything, starts no turn, and shows no token.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::args::{ReportArgs, forwarded};
use super::check::{Check, Mark};
use super::client::{Client, ClientError};
use super::engine_advice::advice;
use super::exit::Exit;
use super::handshake::{END, hello, initialize, start};
use super::knowledge::{Knowledge, KnownAgent, KnownAgents};
use super::mcp_check::tool_servers;
use super::model_check::model_answers;
use super::origin_check::{engine_origin, model};
use super::printed::print;
use super::proxy::Proxies;
use super::session_trial::{SessionTrial, session, trial};
use super::shown_warning::warning;
use super::state_check::{look, state};
use super::terminal::{Terminal, visible};
use super::user_settings::stated;
use crate::platform::real_path;
use crate::process::can_confine;
use crate::protocol::request::{ConnectionStatus, InitResult};
use crate::protocol::settings::{EngineKind, ModelSetting};
use crate::protocol::version::{SERVER_VERSION, WIRE_VERSION};

/// A start that takes longer is worth a word.
const SLOW_START: Duration = Duration::from_secs(1);

/// How long the engine may take to answer or to fail; it needs milliseconds, and a person waits.
const ENGINE: Duration = Duration::from_secs(5);

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(50);

/// Runs every check and prints the list.
pub(super) fn doctor(args: &ReportArgs, knowledge: Knowledge) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let terminal = Terminal::detect(env);
    let checks = examine(args, knowledge, &env, terminal);
    let failed = checks.iter().filter(|check| check.mark == Mark::Fail).count();
    let text = if args.json {
        let report =
            json!({ "version": SERVER_VERSION, "wire": WIRE_VERSION, "failed": failed, "checks": checks });
        format!("{report}\n")
    } else {
        let mut text: String = checks.iter().map(|check| check.line(terminal.out())).collect();
        text.push_str(&match failed {
            0 => format!("Nothing failed. Try: {}\n", suggestion(args)),
            1 => "1 check failed.\n".to_owned(),
            many => format!("{many} checks failed.\n"),
        });
        text
    };
    print(text.as_bytes(), if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// The checks themselves, for whoever reads them another way.
pub(super) fn checks(args: &ReportArgs, knowledge: Knowledge) -> Vec<Check> {
    let env = |name: &str| std::env::var(name).ok();
    examine(args, knowledge, &env, Terminal::detect(env))
}

fn examine(
    args: &ReportArgs,
    knowledge: Knowledge,
    env: &impl Fn(&str) -> Option<String>,
    terminal: Terminal,
) -> Vec<Check> {
    let overrides = stated(&args.server, env);
    let proxies = Proxies::read(env);
    let state_dir = (knowledge.state_dir)(overrides.state_dir.as_deref());
    let before = state_dir.as_deref().map(look).unwrap_or_default();
    let mut checks =
        vec![Check::ok("version", format!("breadboard-ls {SERVER_VERSION}, wire version {WIRE_VERSION}"))];
    let folder = readable(&args.workspace);
    let workspace = folder.as_ref().ok().cloned();
    let agents = (knowledge.agents)(
        &overrides,
        &env("PATH").unwrap_or_default(),
        workspace.as_deref().unwrap_or(Path::new("/")),
    );
    let missing = agents.chosen.as_ref().and_then(missing);
    let mut visit = visit(args, workspace.as_deref(), missing.is_none(), terminal);
    let after = state_dir.as_deref().map(look).unwrap_or_default();
    match &visit.met {
        Ok(met) => {
            checks.push(server(met.took));
            let agent = agents.chosen.as_ref().and_then(|chosen| chosen.as_ref().ok());
            let engine = || engine(&met.hello, visit.trial.failure(), agent);
            checks.push(missing.unwrap_or_else(engine));
            checks.extend(session(&visit.trial));
        }
        Err(refusal) => checks.push(refusal.clone()),
    }
    checks.extend(engine_origin(&overrides, &proxies, env));
    let of_model = model(&overrides, &proxies, knowledge, env);
    let endpoint = endpoint(&of_model, overrides.model.as_ref(), visit.client.as_mut(), env);
    checks.extend(of_model.into_iter().chain(endpoint));
    if let Ok(met) = &visit.met {
        checks.push(trust(met.hello.workspace_trusted, met.hello.engine.kind));
    }
    checks.extend(visit.client.as_mut().map(tool_servers).unwrap_or_default());
    checks.push(match folder {
        Ok(path) => Check::ok("workspace", path.display().to_string()),
        Err(why) => Check::fail("workspace", why, "give a folder that you may read with --workspace"),
    });
    checks.extend(
        state(state_dir.as_deref(), &before, &after, visit.met.is_ok())
            .into_iter()
            .filter(|check| !retold(check, &after.set_aside, &visit.warnings)),
    );
    // The server's own sentences say what to do.
    checks.extend(
        visit.warnings.into_iter().map(|text| Check { advice: None, ..Check::warn("journal", text, "") }),
    );
    checks.push(commands());
    checks.push(on_path(&agents));
    checks.push(proxy(&proxies));
    checks.push(Check::ok("terminal", seen(terminal)));
    visit.client.into_iter().for_each(|client| client.finish(END));
    checks
}

/// Whether the endpoint of the model answers, where one is configured and can be reached.
fn endpoint(
    of_model: &[Check],
    setting: Option<&ModelSetting>,
    client: Option<&mut Client>,
    env: &impl Fn(&str) -> Option<String>,
) -> Option<Check> {
    let is_reached = of_model.iter().any(|check| check.id == "model-url" && check.mark == Mark::Ok);
    if is_reached { Some(model_answers(client?, setting?, env)) } else { None }
}

struct Met {
    took: Duration,
    hello: InitResult,
}

/// What a visit to the server gave. The client lives until the windows were looked at.
struct Visit {
    met: Result<Met, Check>,
    warnings: Vec<String>,
    trial: SessionTrial,
    client: Option<Client>,
}

impl Visit {
    fn failed(check: Check) -> Self {
        Self { met: Err(check), warnings: Vec::new(), trial: SessionTrial::Untried, client: None }
    }
}

/// Whether a check names only files that a warning of this visit names too.
fn retold(check: &Check, set_aside: &[String], warnings: &[String]) -> bool {
    check.id == "journal"
        && set_aside.iter().all(|file| warnings.iter().any(|warning| warning.contains(file.as_str())))
}

/// `try_session`: whether the engine may be asked for one.
fn visit(args: &ReportArgs, workspace: Option<&Path>, try_session: bool, terminal: Terminal) -> Visit {
    let began = Instant::now();
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return Visit::failed(no_server(&error, &[])),
    };
    // Without a readable folder the server can still be visited, in the root.
    let folder = workspace.unwrap_or(Path::new("/"));
    let first = initialize(&mut client, folder, args.server.trust);
    let took = began.elapsed();
    match first.and_then(|_| hello(&mut client)) {
        Ok(hello) => {
            let hello = settled(&mut client, hello);
            let said = client.drain();
            let warnings = said.iter().filter_map(|raw| warning(raw)).collect();
            let trial = match last_error(&said, &hello) {
                Some(why) => SessionTrial::Failed(why),
                None if try_session => trial(&mut client, &hello, terminal),
                None => SessionTrial::Untried,
            };
            Visit { met: Ok(Met { took, hello }), warnings, trial, client: Some(client) }
        }
        Err(error) => {
            let last = client.abandon(END);
            Visit::failed(no_server(&error, &last))
        }
    }
}

fn no_server(error: &ClientError, last: &[String]) -> Check {
    let advice = match last.last() {
        Some(line) => format!("the last thing it printed: {}", visible(line)),
        None => "reinstall breadboard-ls, or report this with the output of `doctor --json`".to_owned(),
    };
    Check::fail("server", error.to_string(), advice)
}

/// The server is there before its engine is: asks again while it says that it connects.
fn settled(client: &mut Client, mut hello: InitResult) -> InitResult {
    let until = Instant::now() + ENGINE;
    while hello.engine.status == ConnectionStatus::Connecting && Instant::now() < until {
        std::thread::sleep(AGAIN);
        match self::hello(client) {
            Ok(next) => hello = next,
            // What was said before stays true enough for a report.
            Err(_) => break,
        }
    }
    hello
}

/// What the server said last of an engine that does not answer.
fn last_error(said: &[String], hello: &InitResult) -> Option<String> {
    if hello.engine.status != ConnectionStatus::Error {
        return None;
    }
    let error = |raw: &String| {
        let message: Value = serde_json::from_str(raw).ok()?;
        let of_engine = message.get("method")? == "bb/connection";
        let error = message.pointer("/params/lastError")?.as_str()?;
        of_engine.then(|| error.to_owned())
    };
    said.iter().rev().find_map(error)
}

/// The question to begin with, with the options that were given.
fn suggestion(args: &ReportArgs) -> String {
    let mut words = vec!["breadboard-ls".to_owned(), "ask".to_owned()];
    words.extend(forwarded(&args.server));
    words.extend(args.server.trust.then(|| "--trust".to_owned()));
    if args.workspace != Path::new(".") {
        words.push(format!("--workspace={}", args.workspace.display()));
    }
    // What cannot be in a command line is no option either.
    let quoted =
        |word: &String| shlex::try_quote(word).map_or_else(|_| word.clone(), |word| word.into_owned());
    format!("{} \"What does this project do?\"", words.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

fn server(took: Duration) -> Check {
    let found = format!("starts and answers `initialize` in {} ms", took.as_millis());
    if took <= SLOW_START {
        Check::ok("server", found)
    } else {
        Check::warn("server", found, "a cold disk or a busy machine can cause this; run it again")
    }
}

fn engine(hello: &InitResult, error: Option<&str>, agent: Option<&KnownAgent>) -> Check {
    let engine = &hello.engine;
    let can = if engine.capabilities.is_empty() {
        "nothing named".to_owned()
    } else {
        engine.capabilities.join(", ")
    };
    let kind = engine.kind.as_str();
    if let Some(error) = error {
        return Check::fail("engine", error.to_owned(), advice(engine.kind, error, agent));
    }
    match engine.status {
        ConnectionStatus::Connected if engine.kind == EngineKind::Acp && !hello.workspace_trusted => {
            let at = agent.and_then(|agent| agent.at.as_ref());
            let at = at.map(|at| format!(" ({})", at.display())).unwrap_or_default();
            Check::warn(
                "engine",
                format!(
                    "the agent{at} was not started, since the folder is not trusted; whether it works is not known"
                ),
                "add --trust to try it",
            )
        }
        ConnectionStatus::Connected => Check::ok("engine", format!("{kind} is connected; it can: {can}")),
        ConnectionStatus::Connecting => Check::fail(
            "engine",
            format!("{kind} does not answer"),
            "check that it runs and what --engine-url names",
        ),
        ConnectionStatus::Error => {
            Check::fail("engine", format!("{kind} is not connected"), advice(engine.kind, "", agent))
        }
    }
}

fn trust(trusted: bool, kind: EngineKind) -> Check {
    let found = match (trusted, kind) {
        (true, EngineKind::Acp) => {
            "given: the agent may be started; whether it asks before it writes or runs depends on its mode"
        }
        (true, EngineKind::Breadboard | EngineKind::Desktop) => {
            "given: files may be written and commands run; whether the engine asks first depends on its configuration"
        }
        (true, EngineKind::Embedded) => {
            "given: files may be written and commands run; the engine asks before each, unless a rule of yours allows it"
        }
        (false, EngineKind::Acp) => {
            "not given: the agent is not started; give --trust, or answer yes when `ask` asks"
        }
        (false, _) => {
            "not given: reading and searching work; writing files and running commands need --trust"
        }
    };
    Check::ok("trust", found)
}

fn readable(path: &Path) -> Result<PathBuf, String> {
    let whole = real_path(path).map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    std::fs::read_dir(&whole).map_err(|error| format!("{} cannot be read: {error}", whole.display()))?;
    Ok(whole)
}

/// The chosen agent cannot be started: there is none of that name, or its program is not there.
fn missing(chosen: &Result<KnownAgent, String>) -> Option<Check> {
    let agent = match chosen {
        Ok(agent) if agent.at.is_some() => return None,
        Ok(agent) => agent,
        Err(sentence) => return Some(Check { advice: None, ..Check::fail("engine", sentence.clone(), "") }),
    };
    let KnownAgent { name, program, .. } = agent;
    let found = if program.contains(std::path::is_separator) {
        format!("the program of the agent `{name}`, {program}, is not there or may not be run")
    } else {
        format!("the program of the agent `{name}`, {program}, is not on PATH")
    };
    let advice = match agent.install {
        Some(install) => format!("install it: {install}"),
        None => "install it, or give another --agent or --engine acp:\"<command line>\"".to_owned(),
    };
    Some(Check::fail("engine", found, advice))
}

/// Whether commands that the server runs can be confined to the workspace.
fn commands() -> Check {
    match can_confine() {
        true => Check::ok(
            "commands",
            "what the server runs can be confined to the workspace, temporary files, caches and toolchains",
        ),
        false => Check::warn(
            "commands",
            "this system cannot confine commands: what the server runs can reach all your files",
            "run commands in the terminal of the editor, or the server in a container; Linux 5.19 and newer can confine them",
        ),
    }
}

/// None is needed, so none is no fault.
fn on_path(agents: &KnownAgents) -> Check {
    let found: Vec<&str> =
        agents.all.iter().filter(|agent| agent.at.is_some()).map(|agent| agent.name.as_str()).collect();
    match found.first() {
        Some(one) => Check::ok("agents", format!("on PATH: {}; try --agent {one}", found.join(", "))),
        None => {
            Check::ok("agents", "no known agent is on PATH; `breadboard-ls agents` says how to install one")
        }
    }
}

fn proxy(proxies: &Proxies) -> Check {
    let shown = proxies.shown();
    Check::ok("proxy", if shown.is_empty() { "none in the environment".to_owned() } else { shown.join(", ") })
}

fn seen(terminal: Terminal) -> String {
    let word = |is: bool| if is { "a terminal" } else { "piped" };
    format!(
        "stdin is {}, stdout is {}, stderr is {}; {}",
        word(terminal.stdin),
        word(terminal.stdout),
        word(terminal.stderr),
        if terminal.out().colour { "coloured" } else { "plain" }
    )
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
