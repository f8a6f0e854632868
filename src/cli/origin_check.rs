//! The doctor's checks of origins: is there one, does it take connections, and may a token travel there.
//!
//! Owns which token belongs to which origin. Never sends anything and never shows a token.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use url::Url;

use super::check::Check;
use super::knowledge::Knowledge;
use super::proxy::{Proxies, masked};
use super::variables::{ENV_ANTHROPIC_KEY, ENV_API_TOKEN, ENV_GEMINI_KEY, ENV_MODEL_TOKEN, ENV_OPENAI_KEY};
use crate::domain::policy::token::{NoToken, token_in};
use crate::protocol::settings::{EngineKind, Overrides};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Keys of the providers; each goes to its provider's own origin only.
const PROVIDER_KEYS: [(&str, &str); 3] = [
    ("https://api.openai.com", ENV_OPENAI_KEY),
    ("https://api.anthropic.com", ENV_ANTHROPIC_KEY),
    ("https://generativelanguage.googleapis.com", ENV_GEMINI_KEY),
];

/// The engine's url and its token, where one is set.
pub(super) fn engine_origin(
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
            format!("{ENV_API_TOKEN} is set, but no engine URL is, so it is sent nowhere"),
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
    let token = unusable(env, has_token.then_some(ENV_API_TOKEN))
        .unwrap_or_else(|| token(&url, has_token.then_some(ENV_API_TOKEN), "engine"));
    vec![reach("engine-url", &url, proxies), token]
}

/// The model of the embedded engine: its endpoint and its token.
pub(super) fn model(
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
            "none is configured, so answers are what searching the workspace finds",
            "run `breadboard-ls setup`, or give --model NAME (and --model-url URL for an endpoint of your own)",
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
        unusable(env, variable).unwrap_or_else(|| token(&base, variable, "model")),
    ]
}

fn present(env: &impl Fn(&str) -> Option<String>, name: &str) -> bool {
    env(name).is_some_and(|value| !value.trim().is_empty())
}

/// What is wrong with a token that no header can carry.
fn unusable(env: &impl Fn(&str) -> Option<String>, variable: Option<&str>) -> Option<Check> {
    let name = variable?;
    let NoToken = token_in(&env(name)?).err()?;
    let found =
        format!("{name} has a line end or another control character in its middle, so it is never sent");
    Some(Check::fail("token", found, "set it again, as one line"))
}

/// Whether there is a token for this origin and whether it may travel there; never the token.
pub(super) fn token(url: &Url, variable: Option<&str>, scope: &str) -> Check {
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
        Ok(took) => Check::ok(id, format!("{shown} can be reached ({} ms)", took.as_millis())),
        Err(why) => Check::fail(
            id,
            format!("{shown} cannot be reached: {why}"),
            match proxy {
                Some(_) => "check the proxy, or name the host in NO_PROXY",
                None => "check that it is running, the URL, the network, and whether you need a proxy",
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
