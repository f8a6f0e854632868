//! Drives the real binary over its real wire.
//!
//! Owns the process, a fresh workspace, a fresh state directory and the two pipes. Every frame that comes back is checked
//! byte for byte; everything that was received is kept in order. Nothing here sleeps: every wait is for a message or for
//! the end of the process, and half a minute without it is a failure.
#![allow(dead_code)]

pub mod client;
pub mod contract;
pub mod own_time;
mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use own_time::OwnTime;

/// Longest wait for anything. Nothing takes that long, also on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// So many times as long it is waited where the program is slow: `BREADBOARD_SLOWNESS`, for one that an emulator runs.
fn slowness() -> u32 {
    std::env::var("BREADBOARD_SLOWNESS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// How the server is started.
#[derive(Clone, Default)]
pub struct Options {
    /// Further arguments.
    pub args: Vec<String>,
    /// Further environment.
    pub env: BTreeMap<String, String>,
    /// `initializationOptions`; `stateDir` is filled in when it is missing.
    pub options: Value,
    /// `capabilities` of the editor.
    pub capabilities: Value,
    /// `initialize.processId`.
    pub process_id: Option<u32>,
    /// Nobody reads stdout until `Server::read_on`.
    pub hold_stdout: bool,
    /// Program and arguments that start the binary, which is their last argument; for limits and redirections.
    pub launcher: Vec<String>,
    /// The server to start; the one of this build when it is missing.
    pub program: Option<PathBuf>,
    /// Keep every frame as it came, for `Server::frames`. The parsed messages then lack streamed text, which would take
    /// gigabytes in a flood.
    pub keep_frames: bool,
}

impl Options {
    /// With one more variable in the environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// Lets something through or not.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let closed = self.closed.lock().unwrap();
        drop(self.opened.wait_while(closed, |closed| *closed).unwrap());
    }

    fn set(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.opened.notify_all();
    }
}

/// A running server.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    held_stdout: RefCell<Option<ChildStdout>>,
    to_inbox: mpsc::Sender<Value>,
    /// Whether stdout is read; see `stall`.
    gate: Arc<Gate>,
    frames: Arc<Mutex<Vec<Vec<u8>>>>,
    inbox: Receiver<Value>,
    /// Everything received so far, in order.
    received: RefCell<Vec<Value>>,
    /// How many of `received` a `wait_*` has handed out or looked past, by index.
    taken: RefCell<Vec<bool>>,
    next_id: RefCell<i64>,
    /// What every request of ours asked, by id: the schema its answer must fit.
    asked: RefCell<BTreeMap<String, contract::Asked>>,
    /// Last `seq` that `wait_event` handed out, by session.
    seen: RefCell<BTreeMap<String, u64>>,
    /// The workspace folder.
    pub workspace: Arc<TempDir>,
    /// The state directory.
    pub state: Arc<TempDir>,
    options: Options,
}

impl Server {
    /// Starts the binary; sends nothing.
    pub fn start(options: Options) -> Self {
        let workspace = tempfile::tempdir().expect("a workspace");
        let state = tempfile::tempdir().expect("a state directory");
        Self::start_in(Arc::new(workspace), Arc::new(state), options)
    }

    /// Starts the binary in directories of an earlier one: clone its `workspace` and `state`.
    pub fn start_in(workspace: Arc<TempDir>, state: Arc<TempDir>, options: Options) -> Self {
        let binary =
            options.program.clone().unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_breadboard-ls")));
        let mut words = options.launcher.iter().map(OsStr::new).chain(std::iter::once(binary.as_os_str()));
        let mut command = Command::new(words.next().expect("a program"));
        command
            .args(words)
            .arg("--stdio")
            .args(&options.args)
            .env_remove("BREADBOARD_API_URL")
            .env_remove("BREADBOARD_API_TOKEN")
            .env_remove("BREADBOARD_MODEL_TOKEN")
            .env_remove("BREADBOARD_LS_FAULT")
            .env("XDG_CONFIG_HOME", state.path().join("config"))
            .envs(&options.env)
            .current_dir(workspace.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (to_inbox, inbox) = mpsc::channel();
        let server = Self {
            child,
            stdin,
            held_stdout: RefCell::new(stdout),
            to_inbox,
            gate: Arc::default(),
            frames: Arc::default(),
            inbox,
            received: RefCell::default(),
            taken: RefCell::default(),
            next_id: RefCell::new(1),
            asked: RefCell::default(),
            seen: RefCell::default(),
            workspace,
            state,
            options,
        };
        if !server.options.hold_stdout {
            server.read_on();
        }
        server
    }

    /// Starts the binary and shakes hands: `initialize` and `initialized`.
    pub fn ready(options: Options) -> Self {
        let mut server = Self::start(options);
        server.shake_hands();
        server
    }

    /// Sends `initialize`, waits for its answer, sends `initialized`; gives the answer.
    pub fn shake_hands(&mut self) -> Value {
        let params = self.initialize_params();
        let id = self.request("initialize", params);
        let answer = self.wait_response(&id);
        assert!(answer.get("result").is_some(), "initialize was refused: {answer}");
        self.notify("initialized", json!({}));
        answer
    }

    /// What `initialize` carries.
    pub fn initialize_params(&self) -> Value {
        let mut options =
            if self.options.options.is_object() { self.options.options.clone() } else { json!({}) };
        if options.get("stateDir").is_none() {
            options["stateDir"] = json!(self.state.path());
        }
        let capabilities =
            if self.options.capabilities.is_object() { self.options.capabilities.clone() } else { json!({}) };
        json!({
            "processId": self.options.process_id,
            "capabilities": capabilities,
            "workspaceFolders": [{ "uri": uri(self.workspace.path()), "name": "workspace" }],
            "initializationOptions": options,
        })
    }

    /// Reads stdout from now on, if nobody does yet.
    pub fn read_on(&self) {
        let Some(stdout) = self.held_stdout.borrow_mut().take() else { return };
        let to_inbox = self.to_inbox.clone();
        let (gate, frames) = (Arc::clone(&self.gate), Arc::clone(&self.frames));
        let keep = self.options.keep_frames;
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                gate.pass();
                let Some((mut message, body)) = read_frame(&mut reader) else { return };
                if keep {
                    if let Some(Value::Array(events)) = message.pointer_mut("/params/events") {
                        events.retain(|event| event["class"] != "transcript.assistant_stream");
                    }
                    frames.lock().unwrap().push(body);
                }
                if to_inbox.send(message).is_err() {
                    return;
                }
            }
        });
    }

    /// Reads one frame of the stdout that nobody reads yet.
    pub fn read_one(&self) -> Value {
        let mut held = self.held_stdout.borrow_mut();
        let stdout = held.as_mut().expect("stdout is read already; start with `hold_stdout`");
        // A byte at a time: what comes after the frame stays in the pipe.
        let (message, _) = read_frame(&mut BufReader::with_capacity(1, stdout)).expect("a frame");
        message
    }

    /// Reads no more frames until `resume`; at most one more may come.
    pub fn stall(&self) {
        self.gate.set(true);
    }

    /// Reads on after `stall`.
    pub fn resume(&self) {
        self.gate.set(false);
    }

    /// Every frame so far as it came, with `Options::keep_frames`.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        self.frames.lock().unwrap().clone()
    }

    /// Closes our end of stdout, which nobody may read yet.
    pub fn close_stdout(&self) {
        let held = self.held_stdout.borrow_mut().take();
        assert!(held.is_some(), "stdout is read already; start with `hold_stdout`");
    }

    /// Sends a request; gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = {
            let mut next = self.next_id.borrow_mut();
            *next += 1;
            Value::from(*next - 1)
        };
        self.asked.borrow_mut().insert(id.to_string(), contract::Asked::new(method, &params));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and waits for its result; an error is a failure.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.wait_response(&id);
        answer.get("result").unwrap_or_else(|| panic!("`{method}` was refused: {answer}")).clone()
    }

    /// Sends a request and waits for its error; a result is a failure.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.wait_response(&id);
        answer.get("error").unwrap_or_else(|| panic!("`{method}` was not refused: {answer}")).clone()
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Answers a request of the server.
    pub fn answer(&mut self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Answers a request of the server with an error.
    pub fn answer_error(&mut self, id: &Value, code: i64, message: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
    }

    /// Sends one message in one frame.
    pub fn send(&mut self, message: &Value) {
        self.raw(frame(&message.to_string()).as_bytes());
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.try_raw(bytes).expect("stdin takes bytes");
    }

    /// Sends bytes as they are; the server may be gone.
    pub fn try_raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Closes stdin.
    pub fn close_stdin(&mut self) {
        drop(self.stdin.take());
    }

    /// Waits for the answer to this id, and gives it once.
    pub fn wait_response(&self, id: &Value) -> Value {
        self.wait_for(&format!("an answer to {id}"), |message| {
            message.get("method").is_none() && message.get("id") == Some(id)
        })
    }

    /// Waits for a notification that fits, and gives it once.
    pub fn wait_notification(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(&format!("a notification `{method}`"), |message| {
            message.get("id").is_none() && message["method"] == method && fits(&message["params"])
        })
    }

    /// Waits for a request of the server, and gives it once.
    pub fn wait_request(&self, method: &str) -> Value {
        self.wait_for(&format!("a request `{method}`"), |message| {
            message.get("id").is_some() && message["method"] == method
        })
    }

    /// Waits for a message that fits and was not given before.
    pub fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_long(what, PATIENCE, fits)
    }

    /// The same with another patience, for a flood.
    pub fn wait_long(&self, what: &str, patience: Duration, fits: impl Fn(&Value) -> bool) -> Value {
        let mut from = 0;
        self.wait_until_within(what, patience, |received| {
            let mut taken = self.taken.borrow_mut();
            for at in from..received.len() {
                if !taken[at] && fits(&received[at]) {
                    taken[at] = true;
                    return Some(received[at].clone());
                }
            }
            from = received.len();
            None
        })
    }

    /// Waits until what was received gives what is looked for.
    pub fn wait_until<T>(&self, what: &str, look: impl FnMut(&[Value]) -> Option<T>) -> T {
        self.wait_until_within(what, PATIENCE, look)
    }

    fn wait_until_within<T>(
        &self,
        what: &str,
        patience: Duration,
        mut look: impl FnMut(&[Value]) -> Option<T>,
    ) -> T {
        let until = Instant::now() + patience * slowness();
        loop {
            if let Some(found) = look(&self.received.borrow()) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(message) => self.keep(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{what} did not come; this did: {}", self.tail());
                }
            }
        }
    }

    /// After the end of the process: the next message that was still on its way, until the last.
    pub fn try_next(&self) -> Option<Value> {
        // The reader thread holds the other sender and drops it at the end of the pipe; ours stays, so that it is asked
        // for its end instead.
        let message = loop {
            match self.inbox.recv_timeout(Duration::from_millis(5)) {
                Ok(message) => break Some(message),
                Err(_) if Arc::strong_count(&self.gate) == 1 => break self.inbox.try_recv().ok(),
                Err(_) => {}
            }
        }?;
        self.keep(message.clone());
        Some(message)
    }

    /// Everything received so far, in order.
    pub fn received(&self) -> Vec<Value> {
        while let Ok(message) = self.inbox.try_recv() {
            self.keep(message);
        }
        self.received.borrow().clone()
    }

    /// The last messages, for a failure.
    fn tail(&self) -> String {
        let received = self.received.borrow();
        let last = &received[received.len().saturating_sub(30)..];
        format!("({} messages, the last ones:) {last:#?}", received.len())
    }

    fn keep(&self, message: Value) {
        let asked = match message.get("method") {
            None => message.get("id").and_then(|id| self.asked.borrow_mut().remove(&id.to_string())),
            Some(_) => None,
        };
        contract::check(&message, asked.as_ref());
        self.received.borrow_mut().push(message);
        self.taken.borrow_mut().push(false);
    }

    /// Asks something harmless and waits for the answer: whatever was sent before is handled then.
    pub fn assert_alive(&mut self) {
        let error = self.refused("bb/there-is-no-such-method", json!({}));
        assert_eq!(error["data"]["code"], "unknown_method");
    }

    /// Id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in KiB.
    #[cfg(target_os = "linux")]
    pub fn rss_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server can be waited for");
    }

    /// Ends in order. Clone `workspace` and `state` first for another server that goes on with them.
    pub fn shut_down(mut self) -> ExitStatus {
        self.ask("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.wait_exit()
    }

    /// Waits for the end of the process.
    pub fn wait_exit(&mut self) -> ExitStatus {
        self.wait_exit_timed().0
    }

    /// The same, and how long that took by itself.
    pub fn wait_exit_timed(&mut self) -> (ExitStatus, Duration) {
        let mut time = OwnTime::of(self.pid());
        let until = Instant::now() + PATIENCE * slowness();
        loop {
            if let Some(status) = self.child.try_wait().expect("the server can be waited for") {
                return (status, time.taken());
            }
            time.look();
            assert!(Instant::now() < until, "the server did not end; received: {:#?}", self.received());
            // No wait with a limit exists in std; a millisecond is far below what is measured here.
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.resume();
        // What nobody waited for must fit the contract as well.
        if !std::thread::panicking() {
            self.received();
        }
    }
}

/// One frame around a body.
pub fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A `file:` URI.
pub fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).expect("an absolute path").to_string()
}

/// Reads one frame and insists on its exact form.
fn read_frame(reader: &mut impl BufRead) -> Option<(Value, Vec<u8>)> {
    let mut header = String::new();
    match reader.read_line(&mut header) {
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    let digits = header
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .unwrap_or_else(|| panic!("a frame begins with {header:?}"));
    let length: usize = digits.parse().expect("a length");
    let mut blank = [0; 2];
    reader.read_exact(&mut blank).ok()?;
    assert_eq!(&blank, b"\r\n", "a header block has one line");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).expect("a body is JSON");
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    Some((message, body))
}
