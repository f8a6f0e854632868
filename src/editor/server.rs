//! The reader: takes frames in their order, lets the framework handle them, and sends every answer.
//!
//! Owns the reading thread, requests in flight, cancellation and the net under panics. The framework's own transport is not
//! used: it stops at one bad frame, handles four messages at a time in any order, and dies with a handler. Here every
//! message is polled where it is read, which hands its event to the loop in order; what is not answered at once waits on
//! one runtime thread. Never decides anything about sessions.

use std::io::{self, BufReader, Read};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use futures::FutureExt;
use serde_json::{Value, json};
use tower::Service;
use tower_lsp::jsonrpc::{Request, Response};
use tower_lsp::{ClientSocket, ExitedError, LspService};

use super::backend::{self, Backend, Known};
use super::capabilities;
use super::command_sender::CommandSender;
#[cfg(debug_assertions)]
use super::fault::Fault;
use super::frame::{self, INVALID_REQUEST, Message, NOT_INITIALIZED, RequestId};
use super::guard::{Guard, Inbound};
use super::lifecycle::{EndCause, Lifecycle};
use super::log_layer::{LogGate, PROTOCOL_VIOLATION, WIRE};
use super::outbox::FrameOutbox;
use super::plain;
use super::skim::Skimmed;
use crate::app::ClientId;
use crate::app::inbox::{DocumentEvent, EditorEvent, Inbox, WhyLost};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::error::{data, number};
use crate::protocol::settings::Overrides;

/// Requests that may wait for their answers. The loop answers in microseconds; only asks of files, models and engines take
/// longer, and no editor has hundreds of those. The next one is refused with `overloaded`.
const IN_FLIGHT: usize = 512;

/// How long the reader waits for an answer itself before it leaves it to the runtime. The loop answers in a few
/// microseconds, and then the answer needs no third thread, which doubles the time of a round trip. Short enough that
/// a hundred slow requests in a row do not keep the next one waiting for longer than a frame of a screen.
const AT_ONCE: Duration = Duration::from_micros(150);

/// How much of that it stays awake: falling asleep and being woken costs more than the loop takes for most requests.
const AWAKE: Duration = Duration::from_micros(40);

/// Tells the reader that its answer may be there.
struct Bell {
    reader: std::thread::Thread,
    rung: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.reader.unpark();
    }
}

/// What `main` wires to the editor.
pub(crate) struct Edge {
    /// The one writer of stdout.
    pub outbox: Arc<FrameOutbox>,
    /// The way to the loop.
    pub inbox: Inbox,
    /// The editor's name there.
    pub client: ClientId,
    /// Flags and environment; they go to the loop with `initialize`.
    pub overrides: Overrides,
    /// The end of the process.
    pub lifecycle: Arc<Lifecycle>,
    /// The gate of the `LogLayer`.
    pub gate: Arc<LogGate>,
}

/// Serves one editor on this thread until the process ends.
pub(crate) fn serve(stdin: impl Read, edge: Edge) -> ! {
    let lifecycle = Arc::clone(&edge.lifecycle);
    lifecycle.drains(Arc::clone(&edge.outbox));
    let cause = match Driver::start(edge) {
        Ok(mut driver) => driver.run(stdin),
        Err(error) => {
            tracing::error!("The editor cannot be served, because a thread could not be started: {error}.");
            EndCause::StdinClosed
        }
    };
    lifecycle.end(cause);
    loop {
        std::thread::park();
    }
}

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerPhase {
    /// Before `initialize`.
    New,
    Ready,
    ShutDown,
}

/// Why a request is not handled.
enum NotTaken {
    /// It breaks the rules of JSON-RPC or LSP: the number and the sentence of its error.
    OutOfTurn(i64, &'static str),
    /// By a code of our own.
    Refused(CodedError),
}

struct Driver {
    service: LspService<Backend>,
    /// Kept because the service would close without it; nothing of ours goes through it.
    _socket: ClientSocket,
    phase: ServerPhase,
    commands: Arc<CommandSender>,
    answers: Arc<Answers>,
    lifecycle: Arc<Lifecycle>,
    runtime: tokio::runtime::Handle,
    /// The id under which the framework knows the next request. Its own, so that neither the editor's large ids nor one
    /// left over from a panic can be in the way.
    next_id: i32,
}

/// Requests in flight and the way their answers go.
struct Answers {
    outbox: Arc<FrameOutbox>,
    in_flight: DashMap<RequestId, i32>,
    lifecycle: Arc<Lifecycle>,
}

type Handled = std::thread::Result<Result<Option<Response>, ExitedError>>;

impl Driver {
    fn start(edge: Edge) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new()
            .name("answers".to_owned())
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        let commands = CommandSender::new(edge.inbox, edge.client, handle.clone());
        let (service, socket) = backend::service(Backend {
            commands: Arc::clone(&commands),
            outbox: Arc::clone(&edge.outbox),
            gate: edge.gate,
            lifecycle: Arc::clone(&edge.lifecycle),
            overrides: edge.overrides,
            shapes: OnceLock::new(),
            #[cfg(debug_assertions)]
            fault: Fault::from_env(),
        });
        Ok(Self {
            service,
            _socket: socket,
            phase: ServerPhase::New,
            commands,
            answers: Arc::new(Answers {
                outbox: edge.outbox,
                in_flight: DashMap::new(),
                lifecycle: Arc::clone(&edge.lifecycle),
            }),
            lifecycle: edge.lifecycle,
            runtime: handle,
            next_id: 0,
        })
    }

    /// Reads until the end, and says which end.
    fn run(&mut self, stdin: impl Read) -> EndCause {
        let mut guard = Guard::new(BufReader::with_capacity(64 << 10, stdin));
        loop {
            let inbound = guard.next();
            match inbound {
                Inbound::End => return EndCause::StdinClosed,
                Inbound::Message(Message::Notification { method, .. }) if method == "exit" => {
                    return EndCause::Exit;
                }
                inbound => self.take(inbound),
            }
            // Whoever asks without reading the answers is held back here; see `ANSWERS_PAUSE`.
            self.answers.outbox.wait_for_answer_room();
        }
    }

    fn take(&mut self, inbound: Inbound) {
        match inbound {
            Inbound::Message(Message::Request { id, method, params }) => self.request(id, &method, params),
            Inbound::Message(Message::Notification { method, params }) => self.notification(&method, params),
            Inbound::Message(Message::Response { id, outcome }) => self.response(id, outcome),
            Inbound::Refused(refusal) => {
                tracing::warn!(target: PROTOCOL_VIOLATION, "{}", refusal.message);
                let answer =
                    frame::error_message(refusal.id.as_ref(), refusal.number, &refusal.message, None);
                self.answers.outbox.answer(answer);
            }
            Inbound::TooLarge { skimmed, bytes } => self.too_large(skimmed, bytes),
            Inbound::End => {}
        }
    }

    fn request(&mut self, id: RequestId, method: &str, params: Option<Value>) {
        tracing::debug!(target: WIRE, id = %id.to_value(), "Received request `{method}`.");
        match self.not_taken(&id, method) {
            None => {}
            Some(NotTaken::OutOfTurn(number, message)) => {
                let answer = frame::error_message(Some(&id), number, message, None);
                return self.answers.outbox.answer(answer);
            }
            Some(NotTaken::Refused(error)) => {
                return self.answers.outbox.answer(frame::refusal_message(&id, &error));
            }
        }
        let params = match method {
            "initialize" => Some(json!({ "capabilities": {}, "initializationOptions": params })),
            "shutdown" => None,
            _ => Some(params.unwrap_or_else(|| json!({}))),
        };
        if method == "shutdown" {
            self.phase = ServerPhase::ShutDown;
            self.lifecycle.shutdown_accepted();
        }
        self.handle(id, method, params);
    }

    /// Why a request is not handled: its time, its method, its id, or too many others.
    fn not_taken(&self, id: &RequestId, method: &str) -> Option<NotTaken> {
        let out_of_turn = |number, message| Some(NotTaken::OutOfTurn(number, message));
        match self.phase {
            ServerPhase::New if method != "initialize" => {
                return out_of_turn(
                    NOT_INITIALIZED,
                    "breadboard-ls is not initialized yet; send `initialize` first.",
                );
            }
            ServerPhase::ShutDown => {
                return out_of_turn(
                    INVALID_REQUEST,
                    "breadboard-ls is shut down and takes no more requests; start it again.",
                );
            }
            ServerPhase::Ready if method == "initialize" => {
                return out_of_turn(
                    INVALID_REQUEST,
                    "breadboard-ls is initialized already; one `initialize` is enough.",
                );
            }
            ServerPhase::New | ServerPhase::Ready => {}
        }
        match backend::known(method) {
            Known::Request => {}
            Known::Notification(_) => {
                return out_of_turn(INVALID_REQUEST, "This method is a notification; send it without an id.");
            }
            Known::No => {
                let short: String = method.chars().take(80).collect();
                tracing::warn!(target: PROTOCOL_VIOLATION, "An unknown method was asked for: `{short}`.");
                return Some(NotTaken::Refused(CodedError::new(
                    ErrorCode::UnknownMethod,
                    format!("There is no method `{short}`; `initialize` announces the ones there are."),
                )));
            }
        }
        if self.answers.in_flight.contains_key(id) {
            return out_of_turn(
                INVALID_REQUEST,
                "A request with this id waits for its answer; use another id.",
            );
        }
        let full = self.answers.in_flight.len() >= IN_FLIGHT && method != "shutdown";
        full.then(|| {
            NotTaken::Refused(CodedError::new(
                ErrorCode::Overloaded,
                format!("{IN_FLIGHT} requests wait for their answers; wait for one of them, then try again."),
            ))
        })
    }

    /// Polls a request here, in its order; what is not answered at once goes on on the runtime.
    fn handle(&mut self, id: RequestId, method: &str, params: Option<Value>) {
        let inside = self.next_id;
        self.next_id = self.next_id.wrapping_add(1) & i32::MAX;
        self.answers.in_flight.insert(id.clone(), inside);
        let request = Request::build(backend::inside(method).to_owned()).id(i64::from(inside));
        let initialize = (method == "initialize")
            .then(|| params.as_ref().and_then(|params| params.get("initializationOptions")).cloned())
            .map(Option::unwrap_or_default);
        let request = match params {
            Some(params) => request.params(params),
            None => request,
        };
        let mut handling = AssertUnwindSafe(self.service.call(request.finish())).catch_unwind().boxed();
        if let Some(params) = initialize {
            // Nothing in it waits; whatever comes next must find us initialized.
            let mut handled = futures::executor::block_on(handling);
            if let Ok(Ok(Some(response))) = handled {
                let (id, mut outcome) = response.into_parts();
                if let Ok(result) = &mut outcome {
                    capabilities::announce_documents(result, &params);
                    plain::announce_standard(result, &params);
                }
                handled = Ok(Ok(Some(Response::from_parts(id, outcome))));
            }
            if matches!(&handled, Ok(Ok(Some(response))) if response.is_ok()) {
                self.phase = ServerPhase::Ready;
            }
            self.answers.finish(&id, method, handled);
            return;
        }
        let bell = Arc::new(Bell { reader: std::thread::current(), rung: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&bell));
        let begun = Instant::now();
        loop {
            if let Poll::Ready(handled) = handling.poll_unpin(&mut Context::from_waker(&waker)) {
                return self.answers.finish(&id, method, handled);
            }
            while !bell.rung.load(Ordering::Acquire) && begun.elapsed() < AWAKE {
                std::hint::spin_loop();
            }
            match AT_ONCE.checked_sub(begun.elapsed()) {
                Some(left) if !bell.rung.swap(false, Ordering::AcqRel) => std::thread::park_timeout(left),
                Some(_) => {}
                None => break,
            }
        }
        let (answers, method) = (Arc::clone(&self.answers), method.to_owned());
        self.runtime.spawn(async move {
            let handled = handling.await;
            answers.finish(&id, &method, handled);
        });
    }

    fn notification(&mut self, method: &str, params: Option<Value>) {
        tracing::debug!(target: WIRE, "Received notification `{method}`.");
        if method == "$/cancelRequest" {
            return self.cancel(params.as_ref());
        }
        if self.phase != ServerPhase::Ready {
            return;
        }
        let Known::Notification(inside) = backend::known(method) else {
            // `$/` ones may be ignored by whoever does not know them (LSP 3.17, "$ Notifications and Requests").
            if !method.starts_with("$/") {
                let short: String = method.chars().take(80).collect();
                tracing::warn!(target: PROTOCOL_VIOLATION, "An unknown notification was ignored: `{short}`.");
            }
            return;
        };
        let request = Request::build(inside).params(params.unwrap_or_else(|| json!({}))).finish();
        self.hear(method, request);
    }

    /// Notifications never wait: one poll is all of it.
    fn hear(&mut self, method: &str, request: Request) {
        let handled = AssertUnwindSafe(self.service.call(request)).catch_unwind().now_or_never();
        match handled {
            Some(Ok(_)) => {}
            Some(Err(_)) => {
                tracing::error!("breadboard-ls failed inside while handling `{method}`; please report it.")
            }
            None => tracing::error!("The handler of `{method}` waited, which it must not; please report it."),
        }
    }

    fn cancel(&mut self, params: Option<&Value>) {
        let id = params.and_then(|params| params.get("id")).and_then(RequestId::read);
        let Some(id) = id else {
            tracing::warn!(target: PROTOCOL_VIOLATION, "A `$/cancelRequest` without a usable id was ignored.");
            return;
        };
        // Unknown ids are answered already; that is no mistake of anyone.
        let Some(inside) = self.answers.in_flight.get(&id).map(|entry| *entry.value()) else { return };
        let request = Request::build("$/cancelRequest").params(json!({ "id": inside })).finish();
        self.hear("$/cancelRequest", request);
    }

    fn response(&self, id: Value, outcome: Result<Value, Value>) {
        tracing::debug!(target: WIRE, %id, "Received an answer.");
        // Every id of ours is a string.
        let Value::String(id) = id else { return };
        if self.phase != ServerPhase::New {
            self.commands.tell(EditorEvent::Answered { id, outcome });
        }
    }

    /// A message above the cap was skipped: whoever waits for something is told.
    fn too_large(&self, skimmed: Skimmed, bytes: u64) {
        let mib = bytes.div_ceil(1 << 20);
        let cap = super::guard::MAX_FRAME >> 20;
        let Skimmed { method, id, uri } = skimmed;
        tracing::warn!(target: PROTOCOL_VIOLATION, bytes, "A message above the cap was skipped: {method:?}.");
        let name = method.as_deref().unwrap_or("unknown");
        let text =
            format!("`{name}` was refused: {mib} MiB are more than the {cap} MiB that one message may have;");
        match (id, method.as_deref()) {
            (Some(id), Some(_)) => {
                let error = CodedError::new(
                    ErrorCode::TooLarge,
                    format!("{text} send less, or name a file instead."),
                );
                self.answers.outbox.answer(frame::refusal_message(&id, &error));
                return;
            }
            (Some(RequestId::Text(id)), None) => {
                let error =
                    CodedError::new(ErrorCode::TooLarge, format!("The answer of the editor had {mib} MiB."));
                let outcome = Err(
                    json!({ "code": number(error.code), "message": error.message, "data": data(&error) }),
                );
                self.response(Value::String(id), outcome);
            }
            (Some(RequestId::Number(_)) | None, _) => {}
        }
        let what_now = match (method.as_deref(), &uri) {
            (Some("textDocument/didOpen" | "textDocument/didChange"), Some(uri)) => {
                format!(
                    "the saved file is used for {uri}, so save it, or close and open it again once it is smaller."
                )
            }
            _ => "save your files, or close and open again the one that is so large.".to_owned(),
        };
        self.answers.outbox.answer(frame::warning_message(&format!("{text} {what_now}")));
        let lost = match method.as_deref() {
            Some("textDocument/didOpen" | "textDocument/didChange" | "textDocument/didClose") => uri,
            None => None,
            Some(_) => return,
        };
        if self.phase != ServerPhase::New {
            self.commands
                .tell(EditorEvent::Document(DocumentEvent::Lost { uri: lost, why: WhyLost::TooLarge }));
        }
    }
}

impl Answers {
    /// Exactly one answer a request, whatever became of it.
    fn finish(&self, id: &RequestId, method: &str, handled: Handled) {
        let outcome = match handled {
            Ok(Ok(Some(response))) => response.into_parts().1,
            Ok(Ok(None) | Err(_)) => Err(backend::to_rpc(&CodedError::internal())),
            Err(_) => {
                tracing::error!("breadboard-ls failed inside while handling `{method}`; please report it.");
                Err(backend::to_rpc(&CodedError::internal()))
            }
        };
        let answer = match outcome {
            Ok(result) => frame::result_message(id, &result),
            Err(error) => {
                let error = backend::complete(error);
                frame::error_message(Some(id), error.code.code(), &error.message, error.data.as_ref())
            }
        };
        // Before the answer leaves: the editor may then use the id again.
        self.in_flight.remove(id);
        self.outbox.answer(answer);
        if method == "shutdown" {
            self.lifecycle.shutdown_answered();
        }
        tracing::debug!(target: WIRE, id = %id.to_value(), "Answered `{method}`.");
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
