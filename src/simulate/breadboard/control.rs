//! The side of the simulator that a test holds: what was asked and sent, and what happens to the engine.
//!
//! In process only; no route leads here.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::engine::SimulatedEngine;
use super::log::Logged;
use super::{SimulatorOptions, python_json, server, stream};

/// A running simulator. Dropping it closes the port, breaks every connection and deletes its own workspaces.
pub struct Simulator {
    engine: Arc<SimulatedEngine>,
    base_url: String,
    accepting: AbortHandle,
}

/// A request as it came, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRequest {
    /// `GET` and so on.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case; `authorization` and `cookie` are left out.
    pub headers: Vec<(String, String)>,
    /// The body as text, at most its first 64 KiB.
    pub body: String,
}

/// An event that the engine logged, whether or not it is still there to be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct SentEvent {
    /// Its number.
    pub seq: u64,
    /// Its type; `raw` for a raw frame.
    pub kind: String,
    /// Its payload as JSON text.
    pub payload: String,
}

/// Where a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldPoint {
    /// Before anything was done.
    BeforeWork,
    /// After the work was done, before the answer goes out.
    BeforeAnswer,
}

/// Requests that wait.
#[derive(Debug, Clone)]
pub(super) struct HeldAnswers {
    pub needle: String,
    pub point: HoldPoint,
}

/// An answer made up by a test.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub needle: String,
    pub status: u16,
    pub body: String,
}

impl Simulator {
    /// Opens the port and serves on the runtime of `handle`.
    ///
    /// # Errors
    /// When the port or the directory for workspaces cannot be had.
    pub fn start(options: SimulatorOptions, handle: &Handle) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let root = std::env::temp_dir().join(format!("breadboard-simulator-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&root)?;
        let listener = {
            let _inside = handle.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let engine = Arc::new(SimulatedEngine::new(options, root, handle.clone()));
        let accepting = engine.spawn(server::accept(Arc::clone(&engine), listener));
        Ok(Self { engine, base_url: format!("http://127.0.0.1:{port}"), accepting })
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Ids of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<String> {
        self.engine.sessions().iter().map(|session| session.id.clone()).collect()
    }

    /// Every request so far, oldest first, at most the last ten thousand.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.engine.seen()
    }

    /// What is in a session's log; empty for an unknown session.
    pub fn sent(&self, session: &str) -> Vec<SentEvent> {
        let Some(session) = self.engine.session(session) else { return Vec::new() };
        let state = session.state();
        state.log.kept().map(|event| sent(event)).collect()
    }

    /// Everything that a session ever logged, evicted or not, also of one that a restart forgot. Empty without
    /// `SimulatorOptions::remember`.
    pub fn history(&self, session: &str) -> Vec<SentEvent> {
        let Some(session) = self.engine.remembered(session) else { return Vec::new() };
        let state = session.state();
        state.history.iter().flatten().map(|event| sent(event)).collect()
    }

    /// The number of a session's newest event; nothing for an unknown session.
    pub fn head(&self, session: &str) -> Option<u64> {
        self.engine.session(session).map(|session| session.state().log.head())
    }

    /// Whether the log of a session has events, and has none of them any more.
    pub fn has_forgotten_all(&self, session: &str) -> bool {
        self.engine.session(session).is_some_and(|session| {
            let state = session.state();
            state.log.head() > 0 && state.log.first().is_none()
        })
    }

    /// Whether a session has ended and is still listed.
    pub fn has_ended(&self, session: &str) -> bool {
        self.engine.session(session).is_some_and(|session| session.state().ended)
    }

    /// Whether a session ended by itself, also one that was deleted since. `false` for those without
    /// `SimulatorOptions::remember`.
    pub fn has_completed(&self, session: &str) -> bool {
        self.engine.remembered(session).is_some_and(|session| {
            let state = session.state();
            state.ended && !state.cut_short
        })
    }

    /// Whether a run of this session is under way, or an input waits for one.
    pub fn busy(&self, session: &str) -> bool {
        self.engine.session(session).is_some_and(|session| {
            let state = session.state();
            state.active.is_some() || !state.queue.is_empty()
        })
    }

    /// Logs and sends an event; its number, or nothing for an unknown session.
    pub fn emit(&self, session: &str, kind: &str, payload: &Value) -> Option<u64> {
        let session = self.engine.session(session)?;
        let turn = session.state().turn();
        Some(session.emit(kind, &python_json::text(payload), turn, &Map::new()))
    }

    /// Sends a frame with this text behind `data: `; logged ones take the next number.
    pub fn emit_raw(&self, session: &str, text: &str, logged: bool) {
        if let Some(session) = self.engine.session(session) {
            session.emit_raw(text, logged);
        }
    }

    /// The process dies and comes back: sessions are gone, connections break.
    pub fn restart(&self) {
        self.engine.restart();
    }

    /// Every open stream of every session breaks in the middle; sessions go on.
    pub fn cut_streams(&self) {
        for session in self.engine.sessions() {
            session.cut_streams();
        }
    }

    /// The stream of one session ends as if the engine had closed it, and the session goes on. In the mode of PR #40 a
    /// `stream.gap` is sent first.
    pub fn overflow(&self, session: &str) {
        if let Some(session) = self.engine.session(session) {
            let words = session.pr40.then(|| stream::gap(&session));
            session.close_streams(words);
        }
    }

    /// Forgets the history of a session up to and with this number.
    pub fn evict(&self, session: &str, up_to: u64) {
        if let Some(session) = self.engine.session(session) {
            session.state().log.evict(up_to);
        }
    }

    /// A session ends with `completed`, `failed` or `stopped`; its streams end, the session stays listed.
    pub fn end_session(&self, session: &str, status: &str) {
        if let Some(session) = self.engine.session(session) {
            session.end(super::runner::terminal_status(status));
        }
    }

    /// Lets a step `hold` of a script go on, now or when it comes.
    pub fn release(&self, name: &str) {
        self.engine.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    /// Requests whose line (`POST /v1/sessions/…`) contains the words wait until `release_answers`.
    pub fn hold_answers(&self, needle: &str, point: HoldPoint) {
        self.engine.hold.send_replace(Some(HeldAnswers { needle: needle.to_owned(), point }));
    }

    /// What waits goes on.
    pub fn release_answers(&self) {
        self.engine.hold.send_replace(None);
    }

    /// The next request whose line contains the words gets this answer, and nothing is done. `{` begins JSON, everything
    /// else is plain text.
    pub fn answer_next(&self, needle: &str, status: u16, body: &str) {
        self.engine.plan(Planned { needle: needle.to_owned(), status, body: body.to_owned() });
    }

    /// How often each fault was met so far, by its name in `Faults`.
    pub fn faults_met(&self) -> BTreeMap<&'static str, u64> {
        self.engine.faults_met()
    }

    /// The workspace of a session.
    pub fn workspace(&self, session: &str) -> Option<PathBuf> {
        self.engine.session(session).map(|session| session.workspace.clone())
    }
}

fn sent(event: &Logged) -> SentEvent {
    SentEvent { seq: event.seq, kind: event.kind.clone(), payload: event.payload.clone() }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.accepting.abort();
        self.engine.restart();
        // What a running task may still write there is left to the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.engine.root);
    }
}
