//! The state of a simulated host: workspaces, sessions, what was asked.
//!
//! Never knows a path or a message.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::HostOptions;
use super::hosted_session::{HostedSession, ToSocket};

/// Requests and messages that are remembered; a test makes far fewer.
const REMEMBERED: usize = 10_000;

/// A host.
pub(super) struct SimulatedHost {
    pub options: HostOptions,
    pub runtime: Handle,
    /// Names of `hold` steps that may go on.
    pub released: watch::Sender<BTreeSet<String>>,
    state: Mutex<HostMemory>,
    numbers: AtomicU64,
    refuses: AtomicBool,
}

#[derive(Default)]
pub(super) struct HostMemory {
    /// Id and path.
    pub workspaces: Vec<(String, String)>,
    pub sessions: Vec<Arc<HostedSession>>,
    /// By workspace.
    pub policy: Map<String, Value>,
    pub model: Option<Value>,
    requests: Vec<String>,
    heard: Vec<Value>,
}

impl SimulatedHost {
    pub(super) fn new(options: HostOptions, runtime: Handle) -> Self {
        Self {
            options,
            runtime,
            released: watch::Sender::new(BTreeSet::new()),
            state: Mutex::default(),
            numbers: AtomicU64::new(0),
            refuses: AtomicBool::new(false),
        }
    }

    /// No code panics while it holds the lock, and a poisoned one still holds whole values.
    pub(super) fn state(&self) -> MutexGuard<'_, HostMemory> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fresh id that begins with this word.
    pub(super) fn fresh(&self, word: &str) -> String {
        format!("{word}_{}", self.numbers.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(super) fn session(&self, id: &str) -> Option<Arc<HostedSession>> {
        self.state().sessions.iter().find(|session| session.id == id).cloned()
    }

    /// A fresh workspace's policy, as the public source has it.
    pub(super) fn policy(&self) -> Value {
        let mut policy = json!({ "allowed_read_globs": ["**/*"], "allowed_write_globs": ["**/*"],
            "blocked_globs": [".git/**"], "command_approval": "prompt", "allowed_commands": [], "blocked_commands": [],
            "network_enabled": false, "auto_approve_simple_changes": false, "auto_approve_tests": false,
            "auto_approve_tools": [] });
        for (name, value) in &self.state().policy {
            policy[name] = value.clone();
        }
        policy
    }

    pub(super) fn saw(&self, line: String) {
        let mut state = self.state();
        if state.requests.len() < REMEMBERED {
            state.requests.push(line);
        }
    }

    pub(super) fn heard_message(&self, message: &Value) {
        let mut state = self.state();
        if state.heard.len() < REMEMBERED {
            state.heard.push(message.clone());
        }
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    pub(super) fn heard(&self) -> Vec<Value> {
        self.state().heard.clone()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.state().sessions.iter().map(|session| session.id.clone()).collect()
    }

    pub(super) fn cut_sockets(&self) {
        let sessions = self.state().sessions.clone();
        sessions.iter().for_each(|session| session.tell(&ToSocket::Cut));
    }

    pub(super) fn forget(&self, id: &str) {
        let gone = self.session(id);
        self.state().sessions.retain(|session| session.id != id);
        if let Some(session) = gone {
            session.tell(&ToSocket::Cut);
        }
    }

    pub(super) fn send(&self, session: &str, text: &str) {
        if let Some(session) = self.session(session) {
            session.tell(&ToSocket::Text(text.to_owned()));
        }
    }

    pub(super) fn release(&self, name: &str) {
        self.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    pub(super) fn refuse_sockets(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    pub(super) fn refuses_sockets(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }
}
