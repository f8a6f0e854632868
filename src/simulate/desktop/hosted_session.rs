//! One session of a simulated host: its sockets, what its clients said, the turn that runs.
//!
//! Owns who hears a message. Never knows what one means.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

/// Messages that wait for one socket; a test reads at once.
const WAITING: usize = 4_096;

/// Texts that are remembered; a test says far fewer.
const REMEMBERED: usize = 10_000;

/// What a socket is told.
#[derive(Debug, Clone)]
pub(super) enum ToSocket {
    /// This text.
    Text(String),
    /// The connection is broken off.
    Cut,
}

/// One session.
pub(super) struct HostedSession {
    pub id: String,
    pub workspace_id: String,
    state: Mutex<StagedState>,
    /// How many messages came so far.
    pub came: watch::Sender<usize>,
}

/// What changes in it.
#[derive(Default)]
pub(super) struct StagedState {
    pub title: Option<String>,
    /// Prompts of the plot that were used.
    pub used: usize,
    /// Messages of clients.
    pub heard: Vec<Value>,
    pub waiting: Vec<String>,
    pub running: bool,
    pub turn: Option<AbortHandle>,
    pub faults: u32,
    /// Every text that was said to the session, whoever heard it.
    pub said: Vec<String>,
    sockets: Vec<mpsc::Sender<ToSocket>>,
}

impl HostedSession {
    pub(super) fn new(id: String, workspace_id: String, title: Option<String>) -> Self {
        let state = Mutex::new(StagedState { title, ..StagedState::default() });
        Self { id, workspace_id, state, came: watch::Sender::new(0) }
    }

    /// No code panics while it holds the lock, and a poisoned one still holds whole values.
    pub(super) fn state(&self) -> MutexGuard<'_, StagedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A socket from now on hears what is said.
    pub(super) fn joins(&self) -> (mpsc::Sender<ToSocket>, mpsc::Receiver<ToSocket>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        self.state().sockets.push(sender.clone());
        (sender, receiver)
    }

    /// Says something to every socket.
    pub(super) fn tell(&self, word: &ToSocket) {
        let mut state = self.state();
        if let ToSocket::Text(text) = word
            && state.said.len() < REMEMBERED
        {
            state.said.push(text.clone());
        }
        state.sockets.retain(|socket| socket.try_send(word.clone()).is_ok());
    }

    /// A message of a client.
    pub(super) fn hears(&self, message: Value) {
        let count = {
            let mut state = self.state();
            state.heard.push(message);
            state.heard.len()
        };
        self.came.send_replace(count);
    }

    /// Waits for a message behind `from` that fits; it and the place behind it.
    pub(super) async fn wait(&self, from: usize, fits: impl Fn(&Value) -> bool) -> Option<(Value, usize)> {
        let mut came = self.came.subscribe();
        loop {
            let found = {
                let state = self.state();
                let later = state.heard.iter().enumerate().skip(from);
                later.map(|(at, message)| (at, message.clone())).find(|(_, message)| fits(message))
            };
            if let Some((at, message)) = found {
                return Some((message, at + 1));
            }
            came.changed().await.ok()?;
        }
    }
}
