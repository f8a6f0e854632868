//! The BreadBoard engine's wire, HTTP and SSE, with its quirks, on loopback.
//!
//! Made from observed behaviour alone; no code of the engine is in it. The quirks are the point: a client that works
//! here has met the error answers outside the envelope, the stream that hangs after the end, the 409 that loses nothing.
//! `docs/simulate.md` describes scripts and faults.
//!
//! | file | owns |
//! |---|---|
//! | `server` | sockets, authorisation, the log of requests |
//! | `routes` | which path means what |
//! | `engine`, `session`, `log` | the state |
//! | `runner`, `talk`, `script` | what the agent does |
//! | `stream`, `faults` | server-sent events and what breaks them |
//! | `command`, `configuration`, `permission`, `files`, `attachment`, `listing` | one part of the surface each |
//! | `control` | the side that tests hold |

mod answer;
mod attachment;
mod chance;
mod clock;
mod command;
mod configuration;
mod control;
mod engine;
mod faults;
mod files;
mod input;
mod listing;
mod log;
mod permission;
mod python_json;
mod routes;
mod runner;
mod script;
mod server;
mod session;
mod stream;
mod talk;

use std::time::Duration;

pub use self::control::{HoldPoint, SeenRequest, SentEvent, Simulator};
pub use self::faults::Faults;
pub use self::script::Script;

/// How the simulator is started.
#[derive(Clone)]
pub struct SimulatorOptions {
    /// Port on 127.0.0.1; 0: any free one.
    pub port: u16,
    /// Every path needs it as a bearer token; nothing: no authorisation at all.
    pub token: Option<String>,
    /// What the agent does; nothing: a small conversation that echoes the prompt.
    pub script: Option<Script>,
    /// What goes wrong on streams.
    pub faults: Faults,
    /// Same seed and same requests: same faults.
    pub seed: u64,
    /// The wire of the engine's pull request 40.
    pub pr40: bool,
    /// How much later every answer and every event arrives.
    pub latency: Duration,
    /// Events that a session's log keeps.
    pub log_events: usize,
    /// An idle connection is closed after this.
    pub idle_close: Duration,
    /// Every event is remembered for `Simulator::history`, evicted or of a session that was forgotten. For tests: memory
    /// grows with it.
    pub remember: bool,
    /// Workspaces get a todo store; a stream without parameters then begins with a snapshot of it.
    pub todo_store: bool,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            port: 0,
            token: None,
            script: None,
            faults: Faults::default(),
            seed: 0,
            pr40: false,
            latency: Duration::ZERO,
            log_events: 1_000,
            idle_close: Duration::from_secs(5),
            remember: false,
            todo_store: true,
        }
    }
}
