//! A desktop host's wire, HTTP and WebSocket, on loopback, in two dialects: that of seed 002, and that of its public source, which
//! leaves out routes and messages and has other names for some.
//!
//! Made from the seed and from observed behaviour alone. `docs/simulate.md` describes scripts and faults.
//!
//! | file | owns |
//! |---|---|
//! | `routes` | which path means what, authorisation |
//! | `host`, `hosted_session` | the state |
//! | `socket` | one client's connection |
//! | `play`, `plot` | what the agent does, and the format that says so |
//! | `words` | the messages of both dialects |

mod host;
mod hosted_session;
mod play;
mod plot;
mod routes;
mod socket;
mod words;

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use self::host::SimulatedHost;
pub use self::plot::Plot;

/// Which words the host speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostDialect {
    /// Those of seed 002.
    #[default]
    Seed,
    /// Those of its public source.
    Source,
}

/// How the host is started.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Port on 127.0.0.1; 0: any free one.
    pub port: u16,
    /// Every path but `/v1/health` needs it as a bearer token; nothing: no authorisation at all.
    pub token: Option<String>,
    /// What the agent does; nothing: a small conversation that echoes the prompt.
    pub plot: Option<Plot>,
    /// Its words.
    pub dialect: HostDialect,
    /// It waits for the client's greeting before it greets.
    pub waits_for_hello: bool,
    /// Probability, for one message, that the socket breaks in its place.
    pub cut: f64,
    /// Probability, for one message, that one that is no message goes before it.
    pub garbage: f64,
    /// Same seed and same messages: same faults.
    pub seed: u64,
    /// Faults of one session at most.
    pub budget: u32,
}

/// A running host, which ends with this value.
pub struct HostSimulator {
    host: Arc<SimulatedHost>,
    base_url: String,
    serving: JoinHandle<()>,
}

impl HostSimulator {
    /// Opens the port and serves on the runtime of `handle`.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub fn start(options: HostOptions, handle: &Handle) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = {
            let _inside = handle.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let host = Arc::new(SimulatedHost::new(options, handle.clone()));
        let routes = routes::router(Arc::clone(&host));
        let serving = handle.spawn(async move {
            // It ends when it is aborted.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { host, base_url: format!("http://127.0.0.1:{port}"), serving })
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Every request so far, as `METHOD /path`, oldest first.
    pub fn requests(&self) -> Vec<String> {
        self.host.requests()
    }

    /// Every message that clients sent in any session, oldest first.
    pub fn heard(&self) -> Vec<Value> {
        self.host.heard()
    }

    /// Every text that was said in a session, oldest first, whether or not a socket was there to hear it. Greetings are not among them:
    /// each socket has its own.
    pub fn said(&self, session: &str) -> Vec<String> {
        self.host.session(session).map_or_else(Vec::new, |session| session.state().said.clone())
    }

    /// Whether a turn of a session runs.
    pub fn runs(&self, session: &str) -> bool {
        self.host.session(session).is_some_and(|session| session.state().running)
    }

    /// Ids of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<String> {
        self.host.ids()
    }

    /// Every socket breaks; in the seed's dialect turns go on, in the other they die.
    pub fn cut_sockets(&self) {
        self.host.cut_sockets();
    }

    /// Sends this text to every socket of a session.
    pub fn send(&self, session: &str, text: &str) {
        self.host.send(session, text);
    }

    /// Deletes a session as another client would.
    pub fn forget(&self, session: &str) {
        self.host.forget(session);
    }

    /// Lets a step `hold` of a plot go on, now or when it comes.
    pub fn release(&self, name: &str) {
        self.host.release(name);
    }

    /// Refuses sockets from now on, or takes them again.
    pub fn refuse_sockets(&self, refuses: bool) {
        self.host.refuse_sockets(refuses);
    }
}

impl Drop for HostSimulator {
    fn drop(&mut self) {
        self.serving.abort();
        self.host.cut_sockets();
    }
}
