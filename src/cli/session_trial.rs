//! One session for `doctor`: whether the engine makes one, and whether it stands.
//!
//! Owns the trial and what is known after it. Never sends a prompt, which could cost money.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::Check;
use super::client::{Client, ClientError, Incoming};
use super::console::Console;
use super::handshake::ANSWER;
use super::terminal::{Terminal, width};
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::SessionEvent;
use crate::domain::fact::Fact;
use crate::domain::sentence::sentence;
use crate::protocol::notification::{ConnectionParams, EventsParams};
use crate::protocol::request::{ConnectionStatus, InitResult};
use crate::protocol::settings::EngineKind;

/// Longest wait for a session; an agent may have to be unpacked first.
const SESSION: Duration = Duration::from_secs(120);

/// How long a session that was made may fail by itself. BreadBoard takes any configuration and says later that one cannot start.
const SETTLING: Duration = Duration::from_secs(2);

/// What became of asking the engine for a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionTrial {
    /// It was not asked.
    Untried,
    /// It made one, which did not fail by itself.
    Starts,
    /// There is none, or no connection; why, in the server's words.
    Failed(String),
}

impl SessionTrial {
    /// Why there is no session or no connection.
    pub(super) fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(why) => Some(why),
            Self::Untried | Self::Starts => None,
        }
    }
}

/// Whether the engine makes a session for `ask`, with the configuration that `ask` would use. One that it makes is deleted;
/// nothing is asked in it. An agent is a program, so none is started without trust.
pub(super) fn trial(client: &mut Client, hello: &InitResult, terminal: Terminal) -> SessionTrial {
    let tried = match hello.engine.kind {
        EngineKind::Acp => hello.workspace_trusted,
        EngineKind::Breadboard | EngineKind::Desktop => hello.engine.status != ConnectionStatus::Connecting,
        EngineKind::Embedded => hello.engine.status == ConnectionStatus::Error,
    };
    if !tried {
        return SessionTrial::Untried;
    }
    let width = terminal.progress().then_some(width as fn() -> usize);
    let mut console = Console::new(std::io::stdout(), std::io::stderr(), width);
    let most = SESSION.as_secs();
    let waits = &mut || console.wait(&format!("Waiting up to {most} s for a session"));
    let made = client.request_saying("bb/createSession", json!({}), SESSION, waits);
    console.done();
    match made {
        Ok(made) => {
            let id = made.get("sessionId").and_then(Value::as_str).unwrap_or_default();
            let failure = match hello.engine.kind {
                EngineKind::Breadboard => failure_by_itself(client, id, hello.engine.kind.dialect()),
                EngineKind::Acp | EngineKind::Embedded | EngineKind::Desktop => None,
            };
            // What is left of it does not change what was found.
            let _ = client.request("bb/deleteSession", made, ANSWER);
            failure.map_or(SessionTrial::Starts, SessionTrial::Failed)
        }
        Err(ClientError::Silent(_)) => SessionTrial::Failed(format!("There was no session within {most} s.")),
        Err(ClientError::Interrupted) => SessionTrial::Untried,
        Err(error) => SessionTrial::Failed(error.to_string()),
    }
}

/// Why a session that nobody prompts ended soon after it was made: what its engine said of that, and that it is over.
fn failure_by_itself(client: &mut Client, session_id: &str, dialect: Dialect) -> Option<String> {
    let until = Instant::now() + SETTLING;
    let mut said = None;
    while let Some(incoming) = client.next(Some(until)) {
        match incoming {
            Incoming::Notification { method, raw } if method == "bb/events" => {
                let batch: Option<EventsParams> = params(&raw);
                for event in batch.into_iter().filter(|batch| batch.session_id == session_id) {
                    said = said.or_else(|| event.events.iter().find_map(|event| failure(dialect, event)));
                }
            }
            Incoming::Notification { method, raw } if method == "bb/connection" => {
                let of_it: Option<ConnectionParams> = params(&raw);
                let of_it = of_it.filter(|news| news.session_id.as_deref() == Some(session_id));
                if let Some(over) = of_it.filter(|news| news.status == ConnectionStatus::Error) {
                    return Some([said, over.last_error].into_iter().flatten().collect::<Vec<_>>().join(" "));
                }
            }
            Incoming::Gone(_) | Incoming::Interrupt => return None,
            Incoming::Notification { .. } | Incoming::Answer { .. } | Incoming::Line { .. } => {}
        }
    }
    None
}

fn params<P: serde::de::DeserializeOwned>(raw: &str) -> Option<P> {
    let mut message: Value = serde_json::from_str(raw).ok()?;
    serde_json::from_value(message.get_mut("params")?.take()).ok()
}

fn failure(dialect: Dialect, event: &SessionEvent) -> Option<String> {
    match fact(dialect, event) {
        Fact::Failure(notice) => Some(sentence(&notice.text)),
        _ => None,
    }
}

/// What is known of a session once there was one. What would be asked in it is not, and could cost money.
pub(super) fn session(trial: &SessionTrial) -> Option<Check> {
    let found =
        "one starts and was deleted again; no prompt was sent in it, so whether one is answered is not known";
    (*trial == SessionTrial::Starts).then(|| Check::ok("session", found))
}
