//! `breadboard-ls doctor`: is everything there for a first answer, and if not, what to do.
//!
//! Owns the list of checks. Never changes anything, starts no turn, and shows no token.

use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::args::{DoctorArgs, ENV_API_TOKEN, overrides};
use super::check::{Check, Mark};
use super::client::{Client, ClientError};
use super::exit::Exit;
use super::handshake::{END, hello, initialize, start};
use super::proxy::{Proxies, masked};
use super::state_check::{StateDir, look, taken};
use super::terminal::{Terminal, clean};
use crate::protocol::request::{ConnectionStatus, InitResult};
use crate::protocol::settings::{EngineKind, ModelSetting, Overrides};
use crate::protocol::version::{SERVER_VERSION, WIRE_VERSION};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// A start that takes longer is worth a word.
const SLOW_START: Duration = Duration::from_secs(1);
/// Token of the model that is configured at start.
const ENV_MODEL_TOKEN: &str = "BREADBOARD_MODEL_TOKEN";
/// Keys of the providers; each goes to its provider's own origin only.
const PROVIDER_KEYS: [(&str, &str); 3] = [
    ("https://api.openai.com", "OPENAI_API_KEY"),
    ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
];

/// What the doctor asks of the rooms that know. Functions, so that its tests need none of them.
#[derive(Debug, Clone, Copy)]
pub struct Knowledge {
    /// The state directory that holds for a given `--state-dir`.
    pub state_dir: fn(Option<&str>) -> Option<PathBuf>,
    /// The base URL to which a model setting leads, or why it leads nowhere.
    pub model_base: fn(&ModelSetting) -> Result<Url, String>,
}

/// Runs every check and prints the list.
pub fn doctor(args: &DoctorArgs, knowledge: Knowledge) -> Exit {
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
            0 => "Nothing failed. Try: breadboard-ls ask \"What does this project do?\"\n".to_owned(),
            1 => "1 check failed.\n".to_owned(),
            many => format!("{many} checks failed.\n"),
        });
        text
    };
    // A reader that has gone away has what it wanted.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if failed == 0 { Exit::Done } else { Exit::Failed }
}

fn examine(
    args: &DoctorArgs,
    knowledge: Knowledge,
    env: &impl Fn(&str) -> Option<String>,
    terminal: Terminal,
) -> Vec<Check> {
    let overrides = overrides(&args.server, env);
    let proxies = Proxies::read(env);
    let state_dir = (knowledge.state_dir)(overrides.state_dir.as_deref());
    let before = state_dir.as_deref().map(look).unwrap_or_default();
    let mut checks =
        vec![Check::ok("version", format!("breadboard-ls {SERVER_VERSION}, wire version {WIRE_VERSION}"))];
    let folder = readable(&args.workspace);
    let workspace = folder.as_ref().ok().cloned();
    let visit = visit(args, workspace.as_deref());
    let after = state_dir.as_deref().map(look).unwrap_or_default();
    match &visit.met {
        Ok(met) => {
            checks.push(server(met.took));
            checks.push(engine(&met.hello));
        }
        Err(refusal) => checks.push(refusal.clone()),
    }
    checks.extend(engine_origin(&overrides, &proxies, env));
    checks.extend(model(&overrides, &proxies, knowledge, env));
    if let Ok(met) = &visit.met {
        checks.push(trust(met.hello.workspace_trusted));
    }
    checks.push(match folder {
        Ok(path) => Check::ok("workspace", path.display().to_string()),
        Err(why) => Check::fail("workspace", why, "give a folder that you may read with --workspace"),
    });
    checks.extend(state(state_dir.as_deref(), &before, &after, visit.met.is_ok()));
    checks.extend(
        visit
            .warnings
            .into_iter()
            .map(|text| Check::warn("journal", text, "see the text; nothing else is needed now")),
    );
    checks.push(proxy(&proxies));
    checks.push(Check::ok("terminal", seen(terminal)));
    visit.client.into_iter().for_each(|client| client.finish(END));
    checks
}

struct Met {
    took: Duration,
    hello: InitResult,
}

/// What a visit to the server gave. The client lives until the slots were looked at.
struct Visit {
    met: Result<Met, Check>,
    warnings: Vec<String>,
    client: Option<Client>,
}

fn visit(args: &DoctorArgs, workspace: Option<&Path>) -> Visit {
    let began = Instant::now();
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return Visit { met: Err(no_server(&error, &[])), warnings: Vec::new(), client: None },
    };
    // Without a readable folder the server can still be visited, in the root.
    let folder = workspace.unwrap_or(Path::new("/"));
    let first = initialize(&mut client, folder, args.server.trust);
    let took = began.elapsed();
    match first.and_then(|_| hello(&mut client)) {
        Ok(hello) => {
            let warnings = client.drain().iter().filter_map(|raw| warning(raw)).collect();
            Visit { met: Ok(Met { took, hello }), warnings, client: Some(client) }
        }
        Err(error) => {
            let last = client.abandon(END);
            Visit { met: Err(no_server(&error, &last)), warnings: Vec::new(), client: None }
        }
    }
}

fn no_server(error: &ClientError, last: &[String]) -> Check {
    let advice = match last.last() {
        Some(line) => format!("its last words: {}", clean(line)),
        None => "reinstall breadboard-ls, or report this with the output of `doctor --json`".to_owned(),
    };
    Check::fail("server", error.to_string(), advice)
}

/// The text of a warning or an error that the server shows or logs.
fn warning(raw: &str) -> Option<String> {
    let message: Value = serde_json::from_str(raw).ok()?;
    let method = message.get("method")?.as_str()?;
    if !matches!(method, "window/showMessage" | "window/logMessage") {
        return None;
    }
    let level = message.pointer("/params/type")?.as_u64()?;
    (level <= 2).then(|| message.pointer("/params/message").and_then(Value::as_str).map(str::to_owned))?
}

fn server(took: Duration) -> Check {
    let found = format!("starts and answers `initialize` in {} ms", took.as_millis());
    if took <= SLOW_START {
        Check::ok("server", found)
    } else {
        Check::warn("server", found, "a cold disk or a busy machine does this; run it again")
    }
}

fn engine(hello: &InitResult) -> Check {
    let engine = &hello.engine;
    let can = if engine.capabilities.is_empty() {
        "nothing named".to_owned()
    } else {
        engine.capabilities.join(", ")
    };
    let kind = engine.kind.as_str();
    match engine.status {
        ConnectionStatus::Connected => Check::ok("engine", format!("{kind} is connected; it can: {can}")),
        ConnectionStatus::Connecting => {
            Check::warn("engine", format!("{kind} is connecting"), "run `doctor` again in a moment")
        }
        ConnectionStatus::Error => Check::fail(
            "engine",
            format!("{kind} does not answer"),
            "start it, or correct --engine and --engine-url; `--engine embedded` needs nothing",
        ),
    }
}

fn engine_origin(
    overrides: &Overrides,
    proxies: &Proxies,
    env: &impl Fn(&str) -> Option<String>,
) -> Vec<Check> {
    let has_token = present(env, ENV_API_TOKEN);
    let url = overrides
        .engine
        .as_ref()
        .filter(|engine| engine.kind != EngineKind::Embedded)
        .and_then(|engine| engine.url.as_deref());
    let Some(text) = url else {
        let unused = Check::warn(
            "token",
            format!("{ENV_API_TOKEN} is set, but no engine url is: it goes nowhere"),
            "set BREADBOARD_API_URL or --engine-url, or remove the token",
        );
        return if has_token { vec![unused] } else { Vec::new() };
    };
    let Some(url) =
        Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    else {
        let found = format!("{} is no http or https URL", masked(text));
        return vec![Check::fail("engine-url", found, "correct --engine-url or BREADBOARD_API_URL")];
    };
    vec![reach("engine-url", &url, proxies), token(&url, has_token.then_some(ENV_API_TOKEN), "engine")]
}

fn model(
    overrides: &Overrides,
    proxies: &Proxies,
    knowledge: Knowledge,
    env: &impl Fn(&str) -> Option<String>,
) -> Vec<Check> {
    let embedded = overrides.engine.as_ref().is_none_or(|engine| engine.kind == EngineKind::Embedded);
    if !embedded {
        return vec![Check::ok("model", "chosen by the engine")];
    }
    let Some(setting) = &overrides.model else {
        return vec![Check::warn(
            "model",
            "none is configured: questions are answered by searching the workspace",
            "for a conversation give --model NAME, and --model-url URL for an endpoint of your own",
        )];
    };
    let base = match (knowledge.model_base)(setting) {
        Ok(base) => base,
        Err(why) => {
            return vec![Check::fail("model", why, "correct --model, --model-provider and --model-url")];
        }
    };
    let origin = base.origin().ascii_serialization();
    let provider_key = PROVIDER_KEYS.iter().find(|(own, _)| *own == origin).map(|(_, name)| *name);
    let variable =
        [Some(ENV_MODEL_TOKEN), provider_key].into_iter().flatten().find(|name| present(env, name));
    vec![
        Check::ok("model", format!("{} at {origin}", setting.name)),
        reach("model-url", &base, proxies),
        token(&base, variable, "model"),
    ]
}

fn present(env: &impl Fn(&str) -> Option<String>, name: &str) -> bool {
    env(name).is_some_and(|value| !value.trim().is_empty())
}

/// Whether there is a token for this origin and whether it may travel there; never the token.
fn token(url: &Url, variable: Option<&str>, scope: &str) -> Check {
    let origin = url.origin().ascii_serialization();
    match variable {
        None if is_loopback(url) => Check::ok("token", format!("none for {origin}")),
        None => Check::warn(
            "token",
            format!("none for {origin}"),
            match scope {
                "engine" => format!("if the engine needs one, set {ENV_API_TOKEN}"),
                _ => format!("if the model needs one, set {ENV_MODEL_TOKEN} or the provider's own variable"),
            },
        ),
        Some(name) if url.scheme() == "https" || is_loopback(url) => {
            Check::ok("token", format!("from {name}, for {origin} only"))
        }
        Some(name) => Check::fail(
            "token",
            format!(
                "{name} is set, but it is never sent to {origin}: plain http would show it to the network"
            ),
            "use https, or remove the token",
        ),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether something takes connections there: the origin itself, or the proxy that stands before it.
fn reach(id: &'static str, url: &Url, proxies: &Proxies) -> Check {
    let origin = url.origin().ascii_serialization();
    let proxy = if is_loopback(url) { None } else { proxies.for_url(url) };
    let (target, shown) = match &proxy {
        Some(proxy) => (proxy, format!("{origin} through the proxy {}", masked(proxy.as_str()))),
        None => (url, origin),
    };
    match connect(target) {
        Ok(took) => Check::ok(id, format!("{shown} takes connections ({} ms)", took.as_millis())),
        Err(why) => Check::fail(
            id,
            format!("{shown} does not take connections: {why}"),
            match proxy {
                Some(_) => "check the proxy, or except the host in NO_PROXY",
                None => "check that it runs, the URL, the network, and whether a proxy is needed",
            },
        ),
    }
}

fn connect(url: &Url) -> Result<Duration, String> {
    let host = url
        .host_str()
        .ok_or("there is no host in it")?
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let port = url.port_or_known_default().unwrap_or(1080);
    let began = Instant::now();
    // The system's resolver has no timeout of its own to set, so it runs beside us and is left behind if it is late.
    let (sender, found) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let _ = sender.send(addresses);
    });
    let addresses = found
        .recv_timeout(CONNECT)
        .map_err(|_| "its name was not resolved in time".to_owned())?
        .map_err(|error| error.to_string())?;
    let mut why = "its name has no address".to_owned();
    for address in addresses {
        let left = CONNECT.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err("no answer in time".to_owned());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(_) => return Ok(began.elapsed()),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

fn trust(trusted: bool) -> Check {
    if trusted {
        Check::ok("trust", "given: writes and commands may be asked for, each one is")
    } else {
        Check::ok(
            "trust",
            "not given: reading and searching work; --trust, or the question of `ask`, gives it",
        )
    }
}

fn readable(path: &Path) -> Result<PathBuf, String> {
    let whole =
        path.canonicalize().map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    std::fs::read_dir(&whole).map_err(|error| format!("{} cannot be read: {error}", whole.display()))?;
    Ok(whole)
}

fn state(directory: Option<&Path>, before: &StateDir, after: &StateDir, met: bool) -> Vec<Check> {
    let Some(directory) = directory else {
        return vec![Check::warn(
            "state",
            "no place for state is known: sessions live in memory only",
            "set HOME, or give --state-dir",
        )];
    };
    let shown = directory.display();
    if !after.exists {
        return vec![if met {
            Check::fail("state", format!("{shown} could not be made"), "give another --state-dir")
        } else {
            Check::ok("state", format!("{shown} is not there yet; the first start makes it"))
        }];
    }
    let mut checks = vec![match (after.mode, after.writable) {
        (_, false) => Check::fail(
            "state",
            format!("{shown} is not writable"),
            "make it yours, or give another --state-dir",
        ),
        (Some(mode), true) if mode & 0o077 != 0 => Check::warn(
            "state",
            format!("{shown} has mode {mode:04o}"),
            format!("close it to others: chmod 700 {shown}"),
        ),
        (Some(mode), true) => Check::ok("state", format!("{shown}, mode {mode:04o}")),
        (None, true) => Check::ok("state", format!("{shown}")),
    }];
    let held = after.slots.iter().filter(|(_, held)| *held).count();
    let ours = taken(before, after);
    let others = held - usize::from(ours.is_some());
    let files = after.slots.len();
    let found = |own: &str| format!("{own}; {others} held by other windows; {files} in all");
    checks.push(match ours {
        Some(number) => Check::ok("slot", found(&format!("slot {number} was taken by this visit"))),
        None if met => Check::warn(
            "slot",
            found("this visit took none"),
            "its sessions lived in memory only; see the state directory and its warnings",
        ),
        None => Check::ok("slot", found("none was taken")),
    });
    if !after.set_aside.is_empty() {
        checks.push(Check::warn(
            "journal",
            format!("set aside earlier: {}", after.set_aside.join(", ")),
            "older sessions are in there; delete the files when you do not need them",
        ));
    }
    checks
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
mod tests {
    use super::*;

    fn knowledge() -> Knowledge {
        Knowledge {
            state_dir: |given| given.map(PathBuf::from),
            model_base: |setting| {
                Url::parse(setting.url.as_deref().unwrap_or("https://api.openai.com/v1/"))
                    .map_err(|error| error.to_string())
            },
        }
    }

    fn with_model(url: &str) -> Overrides {
        let model = ModelSetting { provider: None, name: "m".into(), url: Some(url.into()) };
        Overrides { model: Some(model), ..Overrides::default() }
    }

    fn marks(checks: &[Check]) -> Vec<(&'static str, Mark)> {
        checks.iter().map(|check| (check.id, check.mark)).collect()
    }

    #[test]
    fn a_model_endpoint_is_reached_or_not_and_its_token_is_never_shown() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1/", listener.local_addr().expect("has an address"));
        let env = |name: &str| (name == ENV_MODEL_TOKEN).then(|| "s3cret".to_owned());
        let up = model(&with_model(&url), &Proxies::default(), knowledge(), &env);
        assert_eq!(marks(&up), [("model", Mark::Ok), ("model-url", Mark::Ok), ("token", Mark::Ok)]);
        drop(listener);
        let down = model(&with_model(&url), &Proxies::default(), knowledge(), &env);
        assert_eq!(marks(&down), [("model", Mark::Ok), ("model-url", Mark::Fail), ("token", Mark::Ok)]);
        assert!(!format!("{up:?}{down:?}").contains("s3cret"));
    }

    #[test]
    fn a_token_is_told_with_its_origin_and_refused_in_the_clear() {
        let told = |url: &str, name| token(&Url::parse(url).expect("is a URL"), name, "engine").mark;
        assert_eq!(told("https://e.example", Some("T")), Mark::Ok);
        assert_eq!(told("http://127.0.0.1:9", Some("T")), Mark::Ok);
        assert_eq!(told("http://e.example", Some("T")), Mark::Fail);
        assert_eq!(told("https://e.example", None), Mark::Warn);
        assert_eq!(told("http://localhost:9", None), Mark::Ok);
    }

    #[test]
    fn no_model_is_a_warning_and_a_token_without_engine_too() {
        let none = |_: &str| None;
        let some = |name: &str| (name == ENV_API_TOKEN).then(|| "t".to_owned());
        let overrides = Overrides::default();
        assert_eq!(
            marks(&model(&overrides, &Proxies::default(), knowledge(), &none)),
            [("model", Mark::Warn)]
        );
        assert_eq!(marks(&engine_origin(&overrides, &Proxies::default(), &none)), []);
        assert_eq!(marks(&engine_origin(&overrides, &Proxies::default(), &some)), [("token", Mark::Warn)]);
    }

    #[test]
    fn the_state_directory_is_judged_by_mode_slot_and_what_was_set_aside() {
        let place = Path::new("/s");
        let free = StateDir {
            exists: true,
            mode: Some(0o700),
            writable: true,
            slots: vec![(0, true)],
            set_aside: vec![],
        };
        let ours = StateDir { slots: vec![(0, true), (1, true)], ..free.clone() };
        assert_eq!(marks(&state(Some(place), &free, &ours, true)), [("state", Mark::Ok), ("slot", Mark::Ok)]);
        assert_eq!(
            marks(&state(Some(place), &free, &free, true)),
            [("state", Mark::Ok), ("slot", Mark::Warn)]
        );
        let odd = StateDir { mode: Some(0o755), set_aside: vec!["x".into()], ..ours.clone() };
        assert_eq!(
            marks(&state(Some(place), &free, &odd, true)),
            [("state", Mark::Warn), ("slot", Mark::Ok), ("journal", Mark::Warn)]
        );
        let shut = StateDir { writable: false, ..ours };
        assert_eq!(marks(&state(Some(place), &free, &shut, true))[0], ("state", Mark::Fail));
        assert_eq!(marks(&state(None, &free, &free, true)), [("state", Mark::Warn)]);
    }

    #[test]
    fn only_warnings_of_the_server_are_listed() {
        let raw = |method: &str, level: u64| {
            json!({"method": method, "params": {"type": level, "message": "m"}}).to_string()
        };
        assert_eq!(warning(&raw("window/showMessage", 2)).as_deref(), Some("m"));
        assert_eq!(warning(&raw("window/logMessage", 1)).as_deref(), Some("m"));
        assert_eq!(warning(&raw("window/logMessage", 3)), None);
        assert_eq!(warning(&raw("bb/state", 1)), None);
    }
}
