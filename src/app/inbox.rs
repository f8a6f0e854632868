//! What comes into the loop: one closed `Event`, one bounded `Inbox`, one `Reply` a request.
//!
//! Sending never awaits, so that a handler hands its command over before its first await and order is kept. The loop
//! reads the editor's and the engine's queues from two channels, so that a flood of tokens never delays a request.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::ports::EngineReport;
use crate::domain::edits::overlay::{ContentChange, PositionEncoding};
use crate::protocol::settings::{InitializationOptions, Overrides, WorkspaceConfiguration};
use crate::protocol::{Request, WireError};

/// How many editor events can wait for the loop. The loop answers in microseconds, so thousands waiting mean that it is stuck
/// or that a client floods it: requests are then refused with `overloaded`, and document changes make their document
/// unknown until it is opened again.
pub const EDITOR_BOUND: usize = 4_096;

/// Engine reports that wait for the loop. Engines await a free place, which holds back their socket: nothing is lost. A report
/// may hold sixty-four events, so some thousands of events wait at most.
pub const ENGINE_BOUND: usize = 64;

/// Everything that can happen, but for engine reports and timers.
#[derive(Debug)]
pub enum Event {
    /// A `bb/*` request.
    Request {
        /// What is asked.
        request: Request,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Standard LSP traffic.
    Editor(EditorEvent),
    /// `shutdown`: settle and flush, then answer.
    Shutdown {
        /// Where the answer goes.
        reply: Reply,
    },
    /// The process ends: flush, close the journal cleanly, then answer.
    Exit {
        /// Where the answer goes.
        reply: Reply,
    },
    /// The outbox has room again.
    OutboxDrained,
    /// A file job that the loop asked for is done.
    FileJobDone(super::ports::FileJobDone),
}

/// Standard LSP traffic, already read.
#[derive(Debug)]
pub enum EditorEvent {
    /// `initialize` was accepted.
    Initialize(Box<StartUp>),
    /// `initialized` came.
    Initialized,
    /// A document was opened, changed or closed.
    Document(DocumentEvent),
    /// `workspace/didChangeWorkspaceFolders`.
    FoldersChanged {
        /// Folders that came.
        added: Vec<Folder>,
        /// URIs that went.
        removed: Vec<String>,
    },
    /// The answer to `workspace/configuration`, or what `workspace/didChangeConfiguration` carried.
    Configuration(WorkspaceConfiguration),
    /// `workspace/didChangeConfiguration` without settings: ask for them.
    ConfigurationChanged,
    /// `bb/workspaceTrust`.
    WorkspaceTrust {
        /// Whether the user trusts the workspace.
        trusted: bool,
    },
    /// `window/workDoneProgress/cancel`.
    ProgressCancelled {
        /// The token.
        token: String,
    },
    /// The editor answered a request of ours.
    Answered {
        /// Id of our request.
        id: String,
        /// Its result, or the error object.
        outcome: Result<Value, Value>,
    },
}

/// Value of `$/setTrace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceLevel {
    /// No `$/logTrace`.
    #[default]
    Off,
    /// One line a message.
    Messages,
    /// With details.
    Verbose,
}

/// One change of the overlay of open buffers.
#[derive(Debug)]
pub enum DocumentEvent {
    /// `textDocument/didOpen`.
    Opened {
        /// Document.
        uri: String,
        /// Its language.
        language_id: String,
        /// Its version.
        version: i64,
        /// Its whole text.
        text: String,
    },
    /// `textDocument/didChange`.
    Changed {
        /// Document.
        uri: String,
        /// Its version.
        version: i64,
        /// Changes in order.
        changes: Vec<ContentChange>,
    },
    /// `textDocument/didClose`.
    Closed {
        /// Document.
        uri: String,
    },
    /// A frame about this document could not be taken; its buffer is unknown until it is opened again. `None`: we cannot
    /// know which, so all are.
    Lost {
        /// Document.
        uri: Option<String>,
    },
}

/// A workspace folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its URI as the editor spells it.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Where it is, when it is a `file:` URI.
    pub path: Option<PathBuf>,
}

/// What the loop learns from `initialize`.
#[derive(Debug, Default)]
pub struct StartUp {
    /// Options of the editor.
    pub options: InitializationOptions,
    /// Environment and flags.
    pub overrides: Overrides,
    /// Folders in order.
    pub folders: Vec<Folder>,
    /// The negotiated encoding.
    pub encoding: PositionEncoding,
    /// What the editor can do.
    pub editor: EditorAbilities,
    /// `initialize.trace`.
    pub trace: TraceLevel,
}

/// What the editor can do for us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorAbilities {
    /// `window.workDoneProgress`.
    pub work_done_progress: bool,
    /// `workspace.applyEdit`.
    pub apply_edit: bool,
    /// `workspace.workspaceEdit.documentChanges`.
    pub document_changes: bool,
    /// `workspace.configuration`.
    pub configuration: bool,
    /// `workspace.didChangeConfiguration.dynamicRegistration`.
    pub register_configuration: bool,
    /// `experimental.breadboard.terminalRun`.
    pub terminal_run: bool,
}

/// The loop does not take more now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxFull;

/// The one way into the loop for editor events. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Inbox {
    editor: mpsc::Sender<Event>,
}

impl Inbox {
    /// The inbox and the end that the loop reads.
    pub fn new() -> (Self, mpsc::Receiver<Event>) {
        let (editor, receiver) = mpsc::channel(EDITOR_BOUND);
        (Self { editor }, receiver)
    }

    /// Hands an event over, now, or gives it back when there is no room.
    pub fn offer(&self, event: Event) -> Result<(), Box<Event>> {
        self.editor.try_send(event).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(event) | mpsc::error::TrySendError::Closed(event) => {
                Box::new(event)
            }
        })
    }

    /// Hands an event over, now. A request that does not fit is answered `overloaded` by its own `Reply`.
    pub fn send(&self, event: Event) -> Result<(), InboxFull> {
        self.editor.try_send(event).map_err(|refused| {
            let event = match refused {
                mpsc::error::TrySendError::Full(event) | mpsc::error::TrySendError::Closed(event) => event,
            };
            if let Event::Request { reply, .. } | Event::Shutdown { reply } | Event::Exit { reply } = event {
                reply.refuse(WireError::new(
                    crate::protocol::ErrorCode::Overloaded,
                    "breadboard-ls is busy and took no more requests; try again in a moment.",
                ));
            }
            InboxFull
        })
    }
}

/// The engine's end of the loop; awaiting a place is how an engine is held back.
pub type EngineReports = mpsc::Sender<EngineReport>;

/// Where exactly one answer goes. Dropped without one, it answers `internal`.
#[must_use = "a request gets exactly one answer"]
#[derive(Debug)]
pub struct Reply {
    sender: Option<oneshot::Sender<Result<Value, WireError>>>,
}

impl Reply {
    /// The reply and the end that waits for it.
    pub fn new() -> (Self, oneshot::Receiver<Result<Value, WireError>>) {
        let (sender, receiver) = oneshot::channel();
        (Self { sender: Some(sender) }, receiver)
    }

    /// Answers with a result.
    pub fn answer<T: Serialize>(mut self, result: &T) {
        let outcome = serde_json::to_value(result).map_err(|_| WireError::internal());
        self.finish(outcome);
    }

    /// Answers with a refusal.
    pub fn refuse(mut self, error: WireError) {
        self.finish(Err(error));
    }

    /// Answers with either.
    pub fn settle<T: Serialize>(self, outcome: Result<T, WireError>) {
        match outcome {
            Ok(result) => self.answer(&result),
            Err(error) => self.refuse(error),
        }
    }

    /// Whether nobody waits any more: the request was cancelled before the loop came to it.
    pub fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn finish(&mut self, outcome: Result<Value, WireError>) {
        if let Some(sender) = self.sender.take() {
            // Nobody waits any more when the request was cancelled.
            let _ = sender.send(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.finish(Err(WireError::internal()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Reply, WireError};

    #[test]
    fn r000_16_a_reply_gives_one_answer_and_internal_when_it_is_dropped_without_one() {
        let (reply, mut answer) = Reply::new();
        reply.answer(&1);
        assert_eq!(answer.try_recv(), Ok(Ok(1.into())));
        let (reply, mut answer) = Reply::new();
        drop(reply);
        assert_eq!(answer.try_recv(), Ok(Err(WireError::internal())));
    }
}
