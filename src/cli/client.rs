//! A small LSP client over a child process: what `ask` and `doctor` speak to the server with.
//!
//! Owns the child, its framing and its end. Never knows a `bb/*` method. Blocking, with two threads of its own: one reads
//! messages, one keeps the last lines of stderr.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::framing::{frame, read_frame};

/// Messages that wait for us. When full the reader waits, then the pipe fills, and the server keeps what follows in its
/// journal: nothing is lost and nothing grows.
const INCOMING_MESSAGES: usize = 256;
/// Notifications kept while we wait for one answer. A server that sends more before it answers is not ours.
const BACKLOG_MESSAGES: usize = 16_384;
/// Lines of the child's stderr that are kept; the oldest go.
const STDERR_LINES: usize = 20;
/// Bytes of one such line; the rest of a longer one is cut into further lines.
const STDERR_LINE: u64 = 1 << 10;

/// How long a person waits without a word.
pub(super) const WORDLESS: Duration = Duration::from_millis(1_500);

/// What can come to whoever drives a session.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A notification of the server.
    Notification {
        /// Its method.
        method: String,
        /// The whole message as it came.
        raw: String,
    },
    /// The answer to a request of ours.
    Answer {
        /// Id of the request.
        id: u64,
        /// Result or refusal.
        outcome: Result<Value, Refusal>,
    },
    /// No more messages come; why, in one sentence.
    Gone(String),
    /// Ctrl-C.
    Interrupt,
    /// The user answered question `question`; `None` at the end of stdin.
    Line {
        /// Number of the question that was open when reading began.
        question: u64,
        /// What was typed.
        text: Option<String>,
    },
}

/// A refusal of the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    /// JSON-RPC number.
    pub number: i64,
    /// `data.code`, or empty.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// Why a conversation with the server came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientError {
    /// The program did not start.
    Start(String),
    /// It ended, or closed its side.
    Gone(String),
    /// It said something that is not the protocol.
    Nonsense(String),
    /// It did not answer in time.
    Silent(String),
    /// It refused.
    Refused(Refusal),
    /// What the user named means several things.
    Unclear(String),
    /// The user pressed Ctrl-C before it answered.
    Interrupted,
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(text)
            | Self::Gone(text)
            | Self::Nonsense(text)
            | Self::Silent(text)
            | Self::Unclear(text) => f.write_str(text),
            Self::Refused(refusal) => f.write_str(&refusal.message),
            Self::Interrupted => f.write_str("Interrupted."),
        }
    }
}

type SharedStdin = Arc<Mutex<Option<ChildStdin>>>;
type SharedLines = Arc<Mutex<VecDeque<String>>>;

/// A running server and our end of its pipes.
#[derive(Debug)]
pub(super) struct Client {
    child: Child,
    stdin: SharedStdin,
    stderr: SharedLines,
    stderr_reader: Option<std::thread::JoinHandle<()>>,
    incoming: Receiver<Incoming>,
    sender: SyncSender<Incoming>,
    backlog: VecDeque<Incoming>,
    next_id: u64,
    gone: Option<String>,
}

impl Client {
    /// Starts the server. It gets a process group of its own, so that a Ctrl-C of the terminal reaches only us and the
    /// turn can be stopped in order.
    pub(super) fn start(mut command: Command) -> Result<Self, ClientError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // `CREATE_NEW_PROCESS_GROUP` (winbase.h), which hears no Ctrl-C of the console.
        #[cfg(windows)]
        std::os::windows::process::CommandExt::creation_flags(&mut command, 0x200);
        let mut child = command.spawn().map_err(|error| {
            ClientError::Start(format!("The server could not be started: {error}; reinstall breadboard-ls."))
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ClientError::Start("The server started without pipes; try again.".to_owned()));
        };
        let stdin: SharedStdin = Arc::new(Mutex::new(Some(stdin)));
        let lines: SharedLines = Arc::default();
        let (sender, incoming) = sync_channel(INCOMING_MESSAGES);
        let (to_driver, answers) = (sender.clone(), Arc::clone(&stdin));
        std::thread::spawn(move || read_messages(BufReader::new(stdout), &to_driver, &answers));
        let kept = Arc::clone(&lines);
        let stderr_reader = std::thread::spawn(move || keep_lines(BufReader::new(stderr), &kept));
        Ok(Self {
            child,
            stdin,
            stderr: lines,
            stderr_reader: Some(stderr_reader),
            incoming,
            sender,
            backlog: VecDeque::new(),
            next_id: 0,
            gone: None,
        })
    }

    /// Where other sources (Ctrl-C, the keyboard) put what they have.
    pub(super) fn sender(&self) -> SyncSender<Incoming> {
        self.sender.clone()
    }

    /// Sends a request; the answer comes as `Incoming::Answer` with this id.
    pub(super) fn send_request(&mut self, method: &str, params: Value) -> Result<u64, ClientError> {
        self.next_id += 1;
        let id = self.next_id;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        put_params(&mut message, params);
        self.write(&message)?;
        Ok(id)
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, method: &str, params: Value) -> Result<(), ClientError> {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        put_params(&mut message, params);
        self.write(&message)
    }

    /// Sends a request and waits for its answer; what comes in between is kept for `next`. An interrupt ends the wait.
    pub(super) fn request(
        &mut self,
        method: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        self.request_saying(method, params, timeout, &mut || {})
    }

    /// The same, with `waits` called once when the answer takes longer than a person waits without a word.
    pub(super) fn request_saying(
        &mut self,
        method: &str,
        params: Value,
        timeout: Duration,
        waits: &mut dyn FnMut(),
    ) -> Result<Value, ClientError> {
        if let Some(why) = &self.gone {
            return Err(ClientError::Gone(why.clone()));
        }
        let wanted = self.send_request(method, params)?;
        let began = Instant::now();
        let mut said = timeout <= WORDLESS;
        loop {
            let most = if said { timeout } else { WORDLESS };
            match self.incoming.recv_timeout(most.saturating_sub(began.elapsed())) {
                Err(RecvTimeoutError::Timeout) if !said => {
                    said = true;
                    waits();
                }
                Ok(Incoming::Answer { id, outcome }) if id == wanted => {
                    return outcome.map_err(ClientError::Refused);
                }
                Ok(Incoming::Gone(why)) => {
                    self.gone = Some(why.clone());
                    return Err(ClientError::Gone(why));
                }
                Ok(Incoming::Interrupt) => return Err(ClientError::Interrupted),
                Ok(other) if self.backlog.len() < BACKLOG_MESSAGES => self.backlog.push_back(other),
                Ok(_) => {
                    return Err(ClientError::Nonsense(format!(
                        "The server sent {BACKLOG_MESSAGES} notifications before it answered `{method}`; run `doctor`."
                    )));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ClientError::Silent(format!(
                        "The server did not answer `{method}` within {} s; run `doctor`.",
                        timeout.as_secs()
                    )));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ClientError::Gone(CLOSED.to_owned())),
            }
        }
    }

    /// The next thing that came. `None`: nothing did until `deadline`.
    pub(super) fn next(&mut self, deadline: Option<Instant>) -> Option<Incoming> {
        let closed = || Incoming::Gone(CLOSED.to_owned());
        let next = match (self.backlog.pop_front(), &self.gone, deadline) {
            (Some(kept), _, _) => kept,
            (None, Some(why), _) => Incoming::Gone(why.clone()),
            (None, None, None) => self.incoming.recv().unwrap_or_else(|_| closed()),
            (None, None, Some(deadline)) => {
                match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(next) => next,
                    Err(RecvTimeoutError::Timeout) => return None,
                    Err(RecvTimeoutError::Disconnected) => closed(),
                }
            }
        };
        if let Incoming::Gone(why) = &next {
            self.gone = Some(why.clone());
        }
        Some(next)
    }

    /// The notifications that came while answers were awaited, as they came.
    pub(super) fn drain(&mut self) -> Vec<String> {
        let raw = |incoming| if let Incoming::Notification { raw, .. } = incoming { Some(raw) } else { None };
        self.backlog.drain(..).filter_map(raw).collect()
    }

    /// Ends the server in order: `shutdown`, `exit`, end of stdin; after `timeout` it is killed.
    pub(super) fn finish(mut self, timeout: Duration) {
        let _ = self.request("shutdown", Value::Null, timeout);
        let _ = self.notify("exit", Value::Null);
        self.reap(timeout);
    }

    /// Ends the server at once and gives the last lines of its stderr.
    pub(super) fn abandon(mut self, timeout: Duration) -> Vec<String> {
        self.reap(timeout);
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        lock(&self.stderr).drain(..).collect()
    }

    fn reap(&mut self, timeout: Duration) {
        drop(lock(&self.stdin).take());
        let deadline = Instant::now() + timeout;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return,
                Ok(None) if Instant::now() >= deadline => break,
                // Messages are thrown away meanwhile, so that a server that still writes can end.
                Ok(None) => drop(self.incoming.recv_timeout(Duration::from_millis(5))),
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn write(&mut self, message: &Value) -> Result<(), ClientError> {
        write_frame(&self.stdin, message)
            .map_err(|error| ClientError::Gone(format!("The server does not listen any more ({error}).")))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Every other way out reaped the child already; this one must not leave it behind.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Absent params are left out: some methods refuse even `null`.
fn put_params(message: &mut Value, params: Value) {
    if let (false, Some(map)) = (params.is_null(), message.as_object_mut()) {
        map.insert("params".to_owned(), params);
    }
}

const CLOSED: &str = "The server closed its output.";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_frame(stdin: &SharedStdin, message: &Value) -> std::io::Result<()> {
    let mut guard = lock(stdin);
    let Some(pipe) = guard.as_mut() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
    pipe.write_all(&frame(message))?;
    pipe.flush()
}

#[derive(serde::Deserialize)]
struct FrameHead<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
}

/// Sorts what the server says until it ends; answers its requests here, so that no driver can forget one.
fn read_messages(mut input: impl BufRead, to_driver: &SyncSender<Incoming>, answers: &SharedStdin) {
    loop {
        let next = match read_frame(&mut input) {
            Ok(Some(raw)) => sort(raw, answers),
            Ok(None) => Some(Incoming::Gone(CLOSED.to_owned())),
            Err(why) => Some(Incoming::Gone(why)),
        };
        let Some(next) = next else { continue };
        let last = matches!(next, Incoming::Gone(_));
        if to_driver.send(next).is_err() || last {
            return;
        }
    }
}

fn sort(raw: String, answers: &SharedStdin) -> Option<Incoming> {
    let nonsense = || Some(Incoming::Gone("The server sent a message that is not JSON-RPC.".to_owned()));
    let Ok(head) = serde_json::from_str::<FrameHead<'_>>(&raw) else { return nonsense() };
    match (head.method, head.id) {
        (Some(method), None) => Some(Incoming::Notification { method, raw }),
        (Some(method), Some(_)) => {
            let Ok(request) = serde_json::from_str::<Value>(&raw) else { return nonsense() };
            // A server that does not take the answer is gone, and its output says so next.
            let _ = write_frame(answers, &answer_to(&method, &request));
            None
        }
        (None, Some(_)) => {
            let Ok(mut answer) = serde_json::from_str::<Value>(&raw) else { return nonsense() };
            let id = answer.get("id").and_then(Value::as_u64)?;
            let outcome = match answer.get("error") {
                Some(error) if !error.is_null() => Err(refusal(error)),
                Some(_) | None => Ok(answer.get_mut("result").map(Value::take).unwrap_or_default()),
            };
            Some(Incoming::Answer { id, outcome })
        }
        (None, None) => nonsense(),
    }
}

fn refusal(error: &Value) -> Refusal {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    Refusal {
        number: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        code: text(error.pointer("/data/code")),
        message: text(error.get("message")),
    }
}

/// What a client without windows answers to a server's request.
fn answer_to(method: &str, request: &Value) -> Value {
    let id = request.get("id").cloned().unwrap_or_default();
    let result = match method {
        "window/workDoneProgress/create" | "client/registerCapability" | "client/unregisterCapability" => {
            Value::Null
        }
        "workspace/configuration" => {
            let items = request.pointer("/params/items").and_then(Value::as_array).map_or(0, Vec::len);
            Value::Array(vec![Value::Null; items])
        }
        _ => {
            let error = json!({ "code": -32601, "message": "This client has no such method." });
            return json!({ "jsonrpc": "2.0", "id": id, "error": error });
        }
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn keep_lines(mut input: impl BufRead, lines: &Mutex<VecDeque<String>>) {
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(STDERR_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let mut kept = lock(lines);
                if kept.len() == STDERR_LINES {
                    kept.pop_front();
                }
                kept.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        }
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
