//! The handlers: from LSP methods to events of the loop.
//!
//! Owns what each method means for the loop. Every handler's first statement hands its event over, synchronously, so that
//! the order of the wire is the order of the loop; only requests then wait, for their own answer. Never decides anything
//! about sessions.

use std::future::{self, Future, Ready};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{self, Error, ErrorCode as Number};
use tower_lsp::lsp_types::{InitializeParams, InitializeResult, InitializedParams};
use tower_lsp::{ClientSocket, LanguageServer, LspService};

use super::client_watch;
#[cfg(debug_assertions)]
use super::fault::Fault;
use super::frame::warning_message;
use super::lifecycle::{EndCause, Lifecycle};
use super::log_layer::{LogGate, PROTOCOL_VIOLATION};
use super::outbox::FrameOutbox;
use super::plain::{STANDARD, Shapes, read_request, write_answer};
use super::{capabilities, command_sender::CommandSender, documents, options};
use crate::app::inbox::{EditorEvent, EditorReply, Reply};
use crate::app::ports::{Outbox, Secret};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::shown::{Kind, show};
use crate::protocol::Request;
use crate::protocol::envelope::{self, Opened};
use crate::protocol::error::{data, number};
use crate::protocol::method::{REQUESTS, RPC, TEXT_DOCUMENT_CONTENT, WORKSPACE_TRUST};
use crate::protocol::settings::{Overrides, WorkspaceConfiguration};

/// Notifications that we hear, and the name under which they pass the framework. The framework's own handlers would read
/// them with types that re-spell every URI and drop without a word what does not fit; a dropped change of a document is a
/// stale buffer.
const HEARD: &[(&str, &str)] = &[
    ("textDocument/didOpen", "heard:textDocument/didOpen"),
    ("textDocument/didChange", "heard:textDocument/didChange"),
    ("textDocument/didSave", "heard:textDocument/didSave"),
    ("textDocument/didClose", "heard:textDocument/didClose"),
    ("workspace/didChangeWatchedFiles", "heard:workspace/didChangeWatchedFiles"),
    ("workspace/didChangeWorkspaceFolders", "heard:workspace/didChangeWorkspaceFolders"),
    ("workspace/didChangeConfiguration", "heard:workspace/didChangeConfiguration"),
    ("window/workDoneProgress/cancel", "heard:window/workDoneProgress/cancel"),
    ("$/setTrace", "heard:$/setTrace"),
    (WORKSPACE_TRUST, "heard:bb/workspaceTrust"),
];

/// What a method is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Answered.
    Request,
    /// Heard, under this name inside.
    Notification(&'static str),
    /// Neither: nobody here knows it.
    No,
}

/// Looks a method of the wire up.
pub(super) fn known(method: &str) -> Known {
    if STANDARD.iter().any(|(wire, _)| *wire == method) {
        return Known::Request;
    }
    if matches!(method, "initialize" | "shutdown" | RPC | TEXT_DOCUMENT_CONTENT) || REQUESTS.contains(&method)
    {
        return Known::Request;
    }
    if method == "initialized" {
        return Known::Notification("initialized");
    }
    HEARD
        .iter()
        .find(|(wire, _)| *wire == method)
        .map_or(Known::No, |(_, inside)| Known::Notification(inside))
}

/// The name under which a request passes the framework.
pub(super) fn inside(method: &str) -> &str {
    STANDARD.iter().find(|(wire, _)| *wire == method).map_or(method, |(_, inside)| inside)
}

/// The framework's view of us.
pub(super) struct Backend {
    /// The way to the loop.
    pub commands: Arc<CommandSender>,
    /// For warnings about options.
    pub outbox: Arc<FrameOutbox>,
    /// Opened by `initialized`.
    pub gate: Arc<LogGate>,
    /// Told when the editor's process ends.
    pub lifecycle: Arc<Lifecycle>,
    /// Flags and environment.
    pub overrides: Overrides,
    /// Which shapes the client reads; known from `initialize` on.
    pub shapes: OnceLock<Shapes>,
    /// Faults for tests.
    #[cfg(debug_assertions)]
    pub fault: Fault,
}

type Answering = BoxFuture<'static, jsonrpc::Result<Value>>;

/// The service with every method of the contract.
pub(super) fn service(backend: Backend) -> (LspService<Backend>, ClientSocket) {
    let mut builder = LspService::build(move |_| backend)
        .custom_method(RPC, |backend: &Backend, params: Value| backend.carry(&params))
        .custom_method(TEXT_DOCUMENT_CONTENT, |backend: &Backend, params: Value| backend.content(params));
    for &method in REQUESTS {
        builder = builder.custom_method(method, move |backend: &Backend, params: Value| {
            backend.request(method, method, params)
        });
    }
    for &(wire, inside) in STANDARD {
        builder = builder
            .custom_method(inside, move |backend: &Backend, params: Value| backend.standard(wire, params));
    }
    for &(wire, inside) in HEARD {
        builder = builder
            .custom_method(inside, move |backend: &Backend, params: Value| backend.hear(wire, &params));
    }
    builder.finish()
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    /// The params come whole under `initializationOptions`, put there by `server`: the framework's own reading would
    /// refuse the start for one odd capability.
    async fn initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        let params = params.initialization_options.unwrap_or_default();
        #[cfg(debug_assertions)]
        self.fault.strike("initialize");
        let (start_up, warnings) = options::read_start_up(&params, self.overrides.clone());
        // Before anything is said of them: a warning may quote a value.
        for secret in start_up.secrets.iter() {
            self.outbox.hide(&Secret(secret.to_owned()));
        }
        let literals = params.pointer("/capabilities/textDocument/codeAction/codeActionLiteralSupport");
        // Only the first one counts, as everything of `initialize`.
        let _ = self.shapes.set(Shapes { action_literals: literals.is_some_and(Value::is_object) });
        let encoding = start_up.encoding;
        self.gate.set_trace(start_up.trace);
        self.commands.tell(EditorEvent::Initialize(Box::new(start_up)));
        for warning in &warnings {
            self.outbox.answer(warning_message(warning));
        }
        if let Some(process_id) = params.get("processId").and_then(Value::as_u64)
            && let Ok(process_id) = u32::try_from(process_id)
        {
            let lifecycle = Arc::clone(&self.lifecycle);
            client_watch::watch(process_id, move || lifecycle.end(EndCause::EditorGone));
        }
        Ok(capabilities::announce(encoding))
    }

    async fn initialized(&self, _: InitializedParams) {
        self.gate.open();
        self.commands.tell(EditorEvent::Initialized);
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        let (reply, receiver) = Reply::new();
        self.commands.shut_down(reply);
        match receiver.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(to_rpc(&error)),
            Err(_) => Err(to_rpc(&CodedError::internal())),
        }
    }
}

impl Backend {
    /// A request of the contract; `named` is how the wire called it, for faults.
    fn request(&self, method: &str, named: &str, params: Value) -> Answering {
        let asked = self.ask(method, named, params);
        async move { asked.await.map_err(|error| to_rpc(&error)) }.boxed()
    }

    /// What an editor asks that may know nothing of us.
    fn standard(&self, method: &'static str, params: Value) -> Answering {
        #[cfg(debug_assertions)]
        self.fault.strike(method);
        let Some(request) = read_request(method, &params) else {
            tracing::warn!(target: PROTOCOL_VIOLATION, "The params of `{method}` do not fit.");
            let error = CodedError::new(
                ErrorCode::InvalidParams,
                "The request does not have the parameters that LSP says.",
            );
            return future::ready(Err(to_rpc(&error))).boxed();
        };
        let (reply, receiver) = Reply::new();
        self.commands.ask_standard(request, reply);
        let shapes = self.shapes.get().copied().unwrap_or_default();
        let only = params.pointer("/context/only").and_then(Value::as_array).into_iter().flatten();
        let only: Vec<String> = only.filter_map(|kind| kind.as_str().map(str::to_owned)).collect();
        async move {
            let answer = receiver.await.unwrap_or_else(|_| Err(CodedError::internal()));
            answer.map(|answer| write_answer(method, answer, shapes, &only)).map_err(|error| to_rpc(&error))
        }
        .boxed()
    }

    /// LSP 3.18, `workspace/textDocumentContent`: `bb/textDocument` with the one field that the standard has.
    fn content(&self, params: Value) -> Answering {
        let asked = self.ask("bb/textDocument", TEXT_DOCUMENT_CONTENT, params);
        async move {
            let mut document = asked.await.map_err(|error| to_rpc(&error))?;
            Ok(json!({ "text": document["text"].take() }))
        }
        .boxed()
    }

    /// `bb/rpc`: what the envelope can say, it says.
    fn carry(&self, params: &Value) -> Answering {
        #[cfg(debug_assertions)]
        self.fault.strike(RPC);
        match envelope::open(params) {
            Opened::Request { id, method, params } => {
                let asked = self.ask(&method, RPC, params);
                async move {
                    let answer = match asked.await {
                        Ok(result) => envelope::succeeded(id, result),
                        Err(error) => envelope::failed(id, &error),
                    };
                    serde_json::to_value(answer).map_err(|_| to_rpc(&CodedError::internal()))
                }
                .boxed()
            }
            Opened::Violation(answer) => {
                let why = answer.error.as_ref().map_or("", |error| error.message.as_str());
                tracing::warn!(target: PROTOCOL_VIOLATION, "An envelope was refused: {why}");
                future::ready(serde_json::to_value(answer).map_err(|_| to_rpc(&CodedError::internal())))
                    .boxed()
            }
            Opened::Unanswerable(error) => {
                tracing::warn!(target: PROTOCOL_VIOLATION, "An envelope was refused: {}", error.message);
                future::ready(Err(to_rpc(&error))).boxed()
            }
        }
    }

    /// Hands a request over now; the future only waits for its answer.
    fn ask(
        &self,
        method: &str,
        named: &str,
        params: Value,
    ) -> impl Future<Output = Result<Value, CodedError>> + Send + use<> {
        #[cfg(debug_assertions)]
        let waits = {
            self.fault.strike(named);
            self.fault.waits(named)
        };
        #[cfg(not(debug_assertions))]
        let (_, waits) = (named, false);
        // Lua cannot tell an empty object from an empty list, and many editors are scripted in it.
        let params = if params.as_array().is_some_and(Vec::is_empty) { json!({}) } else { params };
        let waiting = Request::parse(method, params).map(|request| {
            let (reply, receiver) = EditorReply::new();
            if waits {
                return (Some(reply), receiver);
            }
            self.commands.ask(request, reply);
            (None, receiver)
        });
        if let Err(error) = &waiting {
            tracing::warn!(target: PROTOCOL_VIOLATION, "A request was refused: {}", error.message);
        }
        async move {
            // A reply that is kept here is never answered: the fault `slow`.
            let (_kept, receiver) = waiting?;
            receiver.await.unwrap_or_else(|_| Err(CodedError::internal()))
        }
    }

    /// A notification.
    fn hear(&self, method: &str, params: &Value) -> Ready<()> {
        #[cfg(debug_assertions)]
        self.fault.strike(method);
        // Only the log listens to the trace level; the loop has no use for it.
        if method == "$/setTrace"
            && let Some(level) = params.get("value").and_then(options::read_trace)
        {
            self.gate.set_trace(level);
            return future::ready(());
        }
        match self.read(method, params) {
            Some(event) => self.commands.tell(event),
            None => {
                tracing::warn!(target: PROTOCOL_VIOLATION, "The params of `{method}` do not fit and were ignored.");
            }
        }
        future::ready(())
    }

    fn read(&self, method: &str, params: &Value) -> Option<EditorEvent> {
        Some(match method {
            "textDocument/didOpen" => EditorEvent::Document(documents::read_open(params)),
            "textDocument/didChange" => EditorEvent::Document(documents::read_change(params)),
            "textDocument/didSave" => EditorEvent::Document(documents::read_save(params)?),
            "textDocument/didClose" => EditorEvent::Document(documents::read_close(params)),
            "workspace/didChangeWatchedFiles" => {
                EditorEvent::FilesChanged(documents::read_watched_changes(params)?)
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = params.get("event")?;
                let listed = |key: &str| event.get(key).and_then(Value::as_array).into_iter().flatten();
                EditorEvent::FoldersChanged {
                    added: listed("added").filter_map(options::read_folder).collect(),
                    removed: listed("removed")
                        .filter_map(|folder| folder.get("uri")?.as_str().map(str::to_owned))
                        .collect(),
                }
            }
            "workspace/didChangeConfiguration" => match params.pointer("/settings/breadboard") {
                Some(section) if !section.is_null() => EditorEvent::Configuration(
                    serde_json::from_value::<WorkspaceConfiguration>(section.clone()).ok()?,
                ),
                Some(_) | None => EditorEvent::ConfigurationChanged,
            },
            "window/workDoneProgress/cancel" => EditorEvent::ProgressCancelled {
                token: match params.get("token")? {
                    Value::String(token) => token.clone(),
                    Value::Number(token) => token.to_string(),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
                },
            },
            WORKSPACE_TRUST => EditorEvent::WorkspaceTrust { trusted: params.get("trusted")?.as_bool()? },
            _ => return None,
        })
    }
}

/// A refusal of the contract in the framework's words.
pub(super) fn to_rpc(error: &CodedError) -> Error {
    Error {
        code: Number::from(number(error.code)),
        message: show(&error.message, Kind::Lines).into_owned().into(),
        data: Some(data(error)),
    }
}

/// The framework's own errors carry no code of ours; here they get one, and a sentence.
pub(super) fn complete(mut error: Error) -> Error {
    if error.data.as_ref().is_some_and(|data| data.get("code").is_some()) {
        return error;
    }
    let code = match error.code {
        Number::InvalidParams => ErrorCode::InvalidParams,
        Number::MethodNotFound => ErrorCode::UnknownMethod,
        Number::InternalError => return to_rpc(&CodedError::internal()),
        Number::RequestCancelled => {
            error.message = "The request was cancelled by the editor.".into();
            ErrorCode::Cancelled
        }
        Number::ParseError | Number::InvalidRequest | Number::ContentModified | Number::ServerError(_) => {
            return error;
        }
    };
    error.data = Some(json!({ "code": code }));
    error
}
