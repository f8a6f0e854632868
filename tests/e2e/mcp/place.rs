//! A trusted workspace, a model that says what the story tells it to, and servers of tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};
use crate::model::{Model, Reply};

/// Secrets that the servers are given.
pub const KEY: &str = "canary-key-of-a-server";

/// What the variable `HARBOUR` of our environment holds, whose name does not say that it is a secret.
pub const HARBOUR: &str = "canary-of-the-harbour";

pub struct Place {
    pub model: Model,
    pub server: Server,
    pub session: String,
    /// Where the servers write what they hear.
    notes: tempfile::TempDir,
}

/// The setting of a server of these stories.
pub fn setting(notes: &Path, name: &str, env: Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/mcp/server.py");
    json!({ "command": "python3", "args": [script, notes.join(name)], "env": env })
}

fn options(model: &Model, servers: Value) -> Options {
    let chosen = model.chosen(true);
    let mut options = chosen.options.clone();
    options["mcpServers"] = servers;
    Options { options, ..chosen }.env("OPENAI_API_KEY", "canary-of-ours-1").env("HARBOUR", HARBOUR)
}

impl Place {
    /// One server, `docs`, which holds a secret.
    pub fn with(replies: Vec<Reply>) -> Self {
        Self::of(replies, |notes| json!({ "docs": setting(notes, "docs", json!({ "API_KEY": KEY })) }))
    }

    /// One server, `docs`, and other options.
    pub fn set(replies: Vec<Reply>, change: impl FnOnce(&mut Value)) -> Self {
        Self::made(replies, |notes| json!({ "docs": setting(notes, "docs", json!({})) }), change)
    }

    /// These servers.
    pub fn of(replies: Vec<Reply>, servers: impl FnOnce(&Path) -> Value) -> Self {
        Self::made(replies, servers, |_| {})
    }

    fn made(
        replies: Vec<Reply>,
        servers: impl FnOnce(&Path) -> Value,
        change: impl FnOnce(&mut Value),
    ) -> Self {
        let notes = tempfile::tempdir().expect("a folder");
        let model = Model::start(replies);
        let mut options = options(&model, servers(notes.path()));
        change(&mut options.options);
        let mut server = Server::ready(options);
        let session = server.session();
        Self { model, server, session, notes }
    }

    /// The process is killed, and another one starts in its place with these servers.
    pub fn killed(mut self, servers: impl FnOnce(&Path) -> Value) -> Self {
        self.server.kill();
        let (workspace, state) = (Arc::clone(&self.server.workspace), Arc::clone(&self.server.state));
        let mut server = Server::start_in(workspace, state, options(&self.model, servers(self.notes.path())));
        server.shake_hands();
        server.ask("bb/init", json!({}));
        server.ask("bb/selectSession", json!({ "sessionId": self.session }));
        Self { server, ..self }
    }

    pub fn notes(&self) -> PathBuf {
        self.notes.path().to_owned()
    }

    /// What a server heard so far, each message with the process that heard it.
    pub fn heard(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.notes.path().join(name)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until it heard one that fits.
    pub fn until_heard(&self, name: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            if let Some(found) = self.heard(name).into_iter().find(|message| fits(message)) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{name} did not hear {what}: {:#?}", self.heard(name));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Allows what is asked, and gives the ask.
    pub fn allow(&mut self) -> Value {
        let ask = self.server.wait_ask(&self.session);
        self.server.decide(&self.session, &ask, "allow_once");
        ask
    }

    /// The state of a server, as `bb/mcp/list` has it.
    pub fn standing(&mut self, name: &str) -> Value {
        let listed = self.server.ask("bb/mcp/list", json!({ "sessionId": self.session }));
        let servers = listed["servers"].as_array().expect("a list").clone();
        servers
            .into_iter()
            .find(|server| server["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {listed}"))
    }

    /// The same once it has this status.
    pub fn until(&mut self, name: &str, status: &str) -> Value {
        let began = Instant::now();
        loop {
            let state = self.standing(name);
            if state["status"] == status {
                return state;
            }
            assert!(began.elapsed() < PATIENCE, "{name} does not become {status}: {state}");
        }
    }

    /// That a text stands in nothing that was sent or kept.
    pub fn assert_nowhere(&self, secret: &str) {
        for message in self.server.received() {
            assert!(!message.to_string().contains(secret), "{message}");
        }
        for entry in std::fs::read_dir(self.server.state.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = if path.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds {secret}", path.display());
        }
    }
}
