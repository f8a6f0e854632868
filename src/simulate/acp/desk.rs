//! What every thread of the agent shares: the way out, the answers that came, which turns are cancelled, the pace.
//!
//! Owns stdout. One lock for all that is waited for, one for the way out; neither is held while the other is taken.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::log::Log;
use super::process;

/// How often a file that is waited for is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// Where lines go.
pub(super) struct Output(Box<dyn Write + Send>);

impl Output {
    /// The process's own.
    pub(super) fn stdout() -> Self {
        Self(Box::new(std::io::stdout()))
    }

    /// Anything else; tests read it.
    #[cfg(test)]
    pub(crate) fn to(sink: impl Write + Send + 'static) -> Self {
        Self(Box::new(sink))
    }
}

/// What came back on a request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DeskReply {
    /// A result.
    Result(Value),
    /// An error.
    Error(Value),
    /// The turn was cancelled before an answer came.
    Cancelled,
}

#[derive(Default)]
struct WaitedReply {
    answers: HashMap<String, DeskReply>,
    cancelled: HashSet<u64>,
    next_id: u64,
}

/// The shared desk.
pub(super) struct Desk {
    output: Mutex<Output>,
    log: Option<Log>,
    waited: Mutex<WaitedReply>,
    changed: Condvar,
    pause: Duration,
}

impl Desk {
    /// A desk; `rate` chunks a second, 0 as fast as possible.
    pub(super) fn new(output: Output, log: Option<Log>, rate: u32) -> Self {
        let pause = if rate == 0 { Duration::ZERO } else { Duration::from_secs(1) / rate };
        Self { output: Mutex::new(output), log, waited: Mutex::default(), changed: Condvar::new(), pause }
    }

    fn waited(&self) -> MutexGuard<'_, WaitedReply> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line came in.
    pub(super) fn heard(&self, line: &[u8]) {
        if let Some(log) = &self.log {
            log.line("c2a", line);
        }
    }

    /// Writes one message.
    pub(super) fn send(&self, message: &Value) {
        self.bytes(format!("{message}\n").as_bytes());
    }

    /// Writes a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Writes an answer.
    pub(super) fn answer(&self, id: &Value, answer: &Result<Value, Value>) {
        self.send(&match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    /// Writes bytes as they are. A client that is gone ends the process.
    pub(super) fn bytes(&self, bytes: &[u8]) {
        if let Some(log) = &self.log {
            log.line("a2c", bytes.strip_suffix(b"\n").unwrap_or(bytes));
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.0.write_all(bytes).and_then(|()| output.0.flush()).is_err() {
            process::exit(0);
        }
    }

    /// The id of the next request of the agent: it counts from 0, as real agents do, and so collides with the client's.
    pub(super) fn next_id(&self) -> Value {
        let mut waited = self.waited();
        waited.next_id += 1;
        json!(waited.next_id - 1)
    }

    /// An answer to a request of the agent came.
    pub(super) fn answered(&self, id: &Value, reply: DeskReply) {
        self.waited().answers.insert(id.to_string(), reply);
        self.changed.notify_all();
    }

    /// Waits for the answer to a request. A cancelled turn stops waiting, unless it is `deaf`.
    pub(super) fn wait_for_answer(&self, id: &Value, turn: u64, deaf: bool) -> DeskReply {
        let key = id.to_string();
        let mut waited = self.waited();
        loop {
            if let Some(reply) = waited.answers.remove(&key) {
                return reply;
            }
            if !deaf && waited.cancelled.contains(&turn) {
                return DeskReply::Cancelled;
            }
            waited = self.changed.wait(waited).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A turn was cancelled.
    pub(super) fn cancel(&self, turn: u64) {
        self.waited().cancelled.insert(turn);
        self.changed.notify_all();
    }

    /// Whether a turn was cancelled.
    pub(super) fn is_cancelled(&self, turn: u64) -> bool {
        self.waited().cancelled.contains(&turn)
    }

    /// Waits until a turn is cancelled.
    pub(super) fn wait_for_cancel(&self, turn: u64) {
        let mut waited = self.waited();
        while !waited.cancelled.contains(&turn) {
            waited = self.changed.wait(waited).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits so long, or until the turn is cancelled and not `deaf`.
    pub(super) fn sleep(&self, time: Duration, turn: u64, deaf: bool) {
        let end = Instant::now() + time;
        let mut waited = self.waited();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || (!deaf && waited.cancelled.contains(&turn)) {
                return;
            }
            waited = self.changed.wait_timeout(waited, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a file is there, or until the turn is cancelled and not `deaf`.
    pub(super) fn wait_for_file(&self, path: &Path, turn: u64, deaf: bool) {
        while !path.exists() && (deaf || !self.is_cancelled(turn)) {
            self.sleep(LOOK, turn, deaf);
        }
    }

    /// The pause between two chunks.
    pub(super) fn pace(&self, turn: u64, deaf: bool) {
        if !self.pause.is_zero() {
            self.sleep(self.pause, turn, deaf);
        }
    }
}
