//! What goes to the client: updates, answers, and requests of ours with what they are answered.
//!
//! Owns the one writer of stdout, the redaction of secrets in all that leaves, and which requests of ours wait. Bounded: whoever
//! has something to say waits for a place, so that a client that does not read holds back the loop's notifications and costs no
//! memory; what it has not heard is in the journal.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::message::RpcFault;
use crate::domain::dialect::acp::agent_end::method;
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::dialect::acp::encode;
use crate::domain::policy::redact::Redactor;

/// Lines that wait to be written.
const LINES: usize = 64;

/// The secrets that are hidden in all that leaves; every root's outbox adds to them.
pub(super) type HiddenSecrets = Arc<RwLock<Redactor>>;

/// The client's end of the pipes.
pub(super) struct AcpWire {
    /// `None` at the end.
    lines: RefCell<Option<mpsc::Sender<Vec<u8>>>>,
    secrets: HiddenSecrets,
    asks: RefCell<HashMap<u64, oneshot::Sender<Result<Value, RpcFault>>>>,
    last_ask: Cell<u64>,
}

/// A request of ours that waits for its answer.
pub(super) struct AcpAsk {
    /// Its id.
    pub(super) id: u64,
    answer: oneshot::Receiver<Result<Value, RpcFault>>,
}

impl AcpAsk {
    /// The answer; `None` where nobody waits for it any more.
    pub(super) async fn answered(self) -> Option<Result<Value, RpcFault>> {
        self.answer.await.ok()
    }
}

impl AcpWire {
    /// Starts the writer. What it gives beside it is over when the writer has ended: nobody reads us any more, or all is
    /// written.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        secrets: HiddenSecrets,
    ) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (lines, queue) = mpsc::channel::<Vec<u8>>(LINES);
        let (alive, dead) = oneshot::channel();
        std::thread::Builder::new()
            .name("acp-writer".to_owned())
            .spawn(move || write_lines(out, queue, alive))?;
        let asks = RefCell::default();
        Ok((Self { lines: RefCell::new(Some(lines)), secrets, asks, last_ask: Cell::new(0) }, dead))
    }

    /// Tells.
    pub(super) async fn tell(&self, method: &str, params: &Value) {
        self.send(encode::notification(method, params)).await;
    }

    /// Answers.
    pub(super) async fn answer(&self, id: &RpcId, outcome: &Result<Value, RpcFault>) {
        self.send(match outcome {
            Ok(result) => encode::answer(id, result),
            Err(fault) => json!({ "jsonrpc": "2.0", "id": id, "error": fault.to_json() }).to_string(),
        })
        .await;
    }

    /// Asks. The request is on its way when this returns.
    pub(super) async fn ask(&self, method: &str, params: &Value) -> AcpAsk {
        let id = self.last_ask.get() + 1;
        self.last_ask.set(id);
        let (sender, answer) = oneshot::channel();
        self.asks.borrow_mut().insert(id, sender);
        self.send(encode::request(&RpcId::number(id), method, params)).await;
        AcpAsk { id, answer }
    }

    /// The client answered a request of ours. An answer that nobody waits for is ignored.
    pub(super) fn answered(&self, id: &RpcId, outcome: Result<Value, RpcFault>) {
        let waiting = id.as_number().and_then(|id| self.asks.borrow_mut().remove(&id));
        if let Some(waiting) = waiting {
            // Whoever waited may have gone.
            let _ = waiting.send(outcome);
        }
    }

    /// A request of ours is settled without the client: it is told, and whoever waits hears nothing.
    pub(super) async fn withdraw(&self, id: u64) {
        if self.asks.borrow_mut().remove(&id).is_some() {
            self.tell(method::CANCEL_REQUEST, &json!({ "requestId": id })).await;
        }
    }

    async fn send(&self, line: String) {
        let mut line = {
            let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
            secrets.scrub_json(line.as_bytes()).into_owned()
        };
        line.push(b'\n');
        let lines = self.lines.borrow().clone();
        if let Some(lines) = lines {
            // Nobody reads any more, and the process is about to end.
            let _ = lines.send(line).await;
        }
    }

    /// Nothing more is said: the writer ends behind what waits.
    pub(super) fn close(&self) {
        self.lines.borrow_mut().take();
    }
}

fn write_lines(mut out: impl Write, mut queue: mpsc::Receiver<Vec<u8>>, alive: oneshot::Sender<()>) {
    while let Some(line) = queue.blocking_recv() {
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    drop(alive);
}
