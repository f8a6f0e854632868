//! A client of the Agent Client Protocol that a story drives: the real binary as its agent, over its stdio.
//!
//! Owns the process, the lines and what was heard. Reads everything that the agent says with the types of the protocol's owners,
//! and whatever they would drop of it fails the story.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::PATIENCE;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// An agent process and its client.
pub struct AcpPeer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Everything that was heard and not taken by `wait`, in order.
    pub heard: Vec<Value>,
    asked: Vec<(Value, String)>,
    last_id: u64,
    pub workspace: Arc<TempDir>,
    pub state: Arc<TempDir>,
}

/// A folder for a client.
pub fn folder() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().expect("a directory"))
}

impl AcpPeer {
    /// Starts the agent with these words behind `acp`.
    pub fn start(words: &[&str]) -> Self {
        Self::start_in(folder(), folder(), words)
    }

    pub fn start_in(workspace: Arc<TempDir>, state: Arc<TempDir>, words: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("acp").args(words).arg("--state-dir").arg(state.path());
        command.env("NO_PROXY", "127.0.0.1").env("BREADBOARD_MODEL_TOKEN", "s3cret-of-the-model");
        for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_INSIDE_AGENT"] {
            command.env_remove(name);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the binary runs");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({ "bad": format!("{error}: {line}") }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, heard: Vec::new(), asked: Vec::new(), last_id: 0, workspace, state }
    }

    /// Says hello as a client that can do this.
    pub fn hello(&mut self, capabilities: Value) -> Value {
        self.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities }))
    }

    /// Started, greeted, with a session.
    pub fn ready(words: &[&str], capabilities: Value) -> (Self, String) {
        let mut peer = Self::start(words);
        peer.hello(capabilities);
        let session = peer.session();
        (peer, session)
    }

    /// A new session in the workspace.
    pub fn session(&mut self) -> String {
        let params = json!({ "cwd": self.workspace.path(), "mcpServers": [] });
        self.ask("session/new", params)["sessionId"].as_str().expect("an id").to_owned()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.workspace.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace.path().join(name)).expect("a file")
    }

    /// The absolute path of a file, as the agent spells it.
    pub fn path(&self, name: &str) -> String {
        let root: PathBuf = self.workspace.path().canonicalize().expect("is there");
        root.join(name).to_str().expect("text").to_owned()
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the agent reads");
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.asked.push((id.clone(), method.to_owned()));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks, and gives the result.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer_to(&id);
        assert!(answer.get("error").is_none(), "{method} is refused: {answer}");
        answer["result"].clone()
    }

    /// Asks, and gives the error.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer_to(&id);
        assert!(answer.get("error").is_some(), "{method} is not refused: {answer}");
        answer["error"].clone()
    }

    /// A prompt of one text; its id.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.request(
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] }),
        )
    }

    /// The answer to a request; what comes before it stays in `heard`.
    pub fn answer_to(&mut self, id: &Value) -> Value {
        self.wait("an answer", |message| message.get("method").is_none() && message["id"] == *id)
    }

    /// The next request of the agent of this method.
    pub fn wait_request(&mut self, method: &str) -> Value {
        self.wait(method, |message| message["method"] == method && message.get("id").is_some())
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Chooses an option by its kind.
    pub fn choose(&mut self, request: &Value, kind: &str) {
        let options = request["params"]["options"].as_array().expect("options");
        let option = options.iter().find(|option| option["kind"] == kind).expect("an option of that kind");
        let outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
        self.answer(request, json!({ "outcome": outcome }));
    }

    /// Waits for the first message that fits, and takes it.
    pub fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.heard.iter().position(&fits) {
                return self.heard.remove(at);
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok(message) = self.lines.recv_timeout(left) else {
                panic!("waited for {what} in vain; heard {:#?}", self.heard)
            };
            self.check(&message);
            self.heard.push(message);
        }
    }

    /// The updates that were heard of a kind.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.heard.iter().filter(|message| message["method"] == "session/update");
        let updates = updates.map(|message| message["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// All text of a kind that was heard.
    pub fn said(&self, kind: &str) -> String {
        let text = |update: &Value| update["content"]["text"].as_str().map(str::to_owned);
        self.updates(kind).iter().filter_map(text).collect()
    }

    /// Ends the agent's input, and waits for its end.
    pub fn close(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("is a child") {
                return status;
            }
            assert!(Instant::now() < until, "the agent does not end with its input");
            // What it still says is taken, or it could not end.
            let _ = self.lines.recv_timeout(std::time::Duration::from_millis(10));
        }
    }

    fn check(&self, message: &Value) {
        assert!(message.get("bad").is_none(), "no JSON: {message}");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let (params, result) = (&message["params"], &message["result"]);
        match message["method"].as_str() {
            Some("session/update") => agrees::<v1::SessionNotification>(params),
            Some("session/request_permission") => agrees::<v1::RequestPermissionRequest>(params),
            Some("fs/read_text_file") => agrees::<v1::ReadTextFileRequest>(params),
            Some("fs/write_text_file") => agrees::<v1::WriteTextFileRequest>(params),
            Some("$/cancel_request") => assert!(params["requestId"].is_u64(), "{message}"),
            Some(other) => panic!("the agent says `{other}`, which is not of the protocol"),
            None if message.get("error").is_some() => agrees::<v1::Error>(&message["error"]),
            None => {
                let asked = self.asked.iter().find(|(id, _)| *id == message["id"]);
                match asked.map(|(_, method)| method.as_str()) {
                    Some("initialize") => agrees::<v1::InitializeResponse>(result),
                    Some("session/new") => agrees::<v1::NewSessionResponse>(result),
                    Some("session/load") => agrees::<v1::LoadSessionResponse>(result),
                    Some("session/resume") => agrees::<v1::ResumeSessionResponse>(result),
                    Some("session/list") => agrees::<v1::ListSessionsResponse>(result),
                    Some("session/prompt") => agrees::<v1::PromptResponse>(result),
                    Some("session/set_mode") => agrees::<v1::SetSessionModeResponse>(result),
                    Some("session/set_config_option") => agrees::<v1::SetSessionConfigOptionResponse>(result),
                    Some("session/close" | "session/delete") => assert_eq!(*result, json!({})),
                    other => panic!("an answer to {other:?}: {message}"),
                }
            }
        }
    }
}

impl Drop for AcpPeer {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads a value with a type of the schema and writes it again: what is not of the schema would be gone.
fn agrees<T: DeserializeOwned + Serialize>(ours: &Value) {
    let theirs: T = serde_json::from_value(ours.clone()).unwrap_or_else(|error| panic!("{error}: {ours}"));
    contains(&serde_json::to_value(&theirs).expect("JSON"), ours, ours);
}

/// Everything of ours is in theirs; they may state defaults, and leave out what is empty.
fn contains(theirs: &Value, ours: &Value, whole: &Value) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (name, value) in ours {
                let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
                match theirs.get(name) {
                    Some(other) => contains(other, value, whole),
                    None if name == "kind" && value == "other" => {}
                    None if name == "status" && value == "pending" => {}
                    None => assert!(is_empty, "{name} is not of the schema: {whole}"),
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            assert_eq!(theirs.len(), ours.len(), "{whole}");
            theirs.iter().zip(ours).for_each(|(theirs, ours)| contains(theirs, ours, whole));
        }
        (theirs, ours) => assert_eq!(theirs, ours, "{whole}"),
    }
}
