//! Everything that can happen to the loop, but for engine reports and timers.
//!
//! Owns what standard LSP traffic comes to once it is read. Never says what is done on it: the loop's handlers do.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::reply::{EditorReply, Reply};
use super::standard::{PlainAbilities, StandardAnswer, StandardRequest};
use crate::app::client::ClientId;
use crate::app::ports::{FileJobDone, Outbox, Secret};
use crate::domain::approval::NamedClient;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::{ContentChange, PositionEncoding};
use crate::domain::edits::watched_file::WatchedFile;
use crate::domain::policy::settings_secrets::SecretValues;
use crate::protocol::Request;
use crate::protocol::settings::{InitializationOptions, Overrides, WorkspaceConfiguration};

/// Everything that can happen, but for engine reports and timers.
#[derive(Debug)]
pub enum Event {
    /// A client connected; everything else of it comes after this.
    ClientConnected {
        /// Its name.
        client: ClientId,
        /// What is sent to it.
        outbox: Arc<dyn Outbox>,
    },
    /// A client is gone; nothing of it comes after this.
    ClientGone {
        /// Its name.
        client: ClientId,
    },
    /// A `bb/*` request.
    Request {
        /// Who asks.
        client: ClientId,
        /// What is asked.
        request: Request,
        /// Where the answer goes.
        reply: EditorReply,
    },
    /// A request of standard LSP, of an editor that may have no plugin of ours.
    Standard {
        /// Who asks.
        client: ClientId,
        /// What is asked.
        request: StandardRequest,
        /// Where the answer goes.
        reply: Reply<StandardAnswer>,
    },
    /// Standard LSP traffic.
    Editor {
        /// Client that said it.
        client: ClientId,
        /// What came.
        event: EditorEvent,
    },
    /// `shutdown`: settle and flush, then answer.
    Shutdown {
        /// Who asks.
        client: ClientId,
        /// Where the answer goes.
        reply: Reply<()>,
    },
    /// The process ends: flush, close the journal cleanly, then answer.
    Exit {
        /// Where the answer goes.
        reply: Reply<()>,
    },
    /// The outbox of a client has room again.
    OutboxDrained {
        /// Client whose outbox it is.
        client: ClientId,
    },
    /// A file job that the loop asked for is done.
    FileJobDone(FileJobDone),
    /// What a tool server that a file of the workspace names is about to be started with: hidden before it can say it.
    SecretsTaken(Vec<Secret>),
}

impl Event {
    /// Refuses a request that there is no room for; whatever else it is, it is dropped.
    pub fn refuse_overloaded(self) {
        let error = CodedError::new(
            ErrorCode::Overloaded,
            "breadboard-ls is busy and took no more requests; try again in a moment.",
        );
        match self {
            Self::Request { reply, .. } => reply.refuse(error),
            Self::Standard { reply, .. } => reply.refuse(error),
            Self::Shutdown { reply, .. } | Self::Exit { reply } => reply.refuse(error),
            Self::ClientConnected { .. }
            | Self::ClientGone { .. }
            | Self::Editor { .. }
            | Self::OutboxDrained { .. }
            | Self::FileJobDone(_)
            | Self::SecretsTaken(_) => {}
        }
    }
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
    /// `workspace/didChangeWatchedFiles`.
    FilesChanged(Vec<WatchedFile>),
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
    /// `textDocument/didSave`.
    Saved {
        /// Document.
        uri: String,
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
        /// Why it is not known any more.
        why: WhyLost,
    },
}

impl DocumentEvent {
    /// The document.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Self::Opened { uri, .. }
            | Self::Changed { uri, .. }
            | Self::Saved { uri }
            | Self::Closed { uri } => Some(uri),
            Self::Lost { uri, .. } => uri.as_deref(),
        }
    }

    /// Bytes of text that it holds.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Opened { text, .. } => text.len(),
            Self::Changed { changes, .. } => changes.iter().map(|change| change.text.len()).sum(),
            Self::Saved { .. } | Self::Closed { .. } | Self::Lost { .. } => 0,
        }
    }
}

/// Why the text of a buffer is not known any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLost {
    /// The message was larger than any may be; the reader told the user so.
    TooLarge,
    /// The message was not what LSP says.
    Unreadable,
    /// The loop took nothing for too long.
    Stuck,
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
    /// What the editor calls itself.
    pub named: Option<NamedClient>,
    /// `initialize.trace`.
    pub trace: TraceLevel,
    /// Secrets that stand in the options, by the rule of `domain::policy::settings_secrets`.
    pub secrets: SecretValues,
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
    /// `workspace.workspaceEdit.changeAnnotationSupport`.
    pub change_annotations: bool,
    /// `workspace.configuration`.
    pub configuration: bool,
    /// `workspace.didChangeConfiguration.dynamicRegistration`.
    pub register_configuration: bool,
    /// `workspace.didChangeWatchedFiles.dynamicRegistration`.
    pub register_watched_files: bool,
    /// `experimental.breadboard.terminalRun`.
    pub terminal_run: bool,
    /// `experimental.breadboard.documentSave`.
    pub document_save: bool,
    /// `experimental.breadboard.contextProvide`.
    pub context_provide: bool,
    /// It may answer requests for permission by itself: what it answers is recorded as its own.
    pub answers_by_itself: bool,
    /// What it can do by LSP alone; `None` of an editor with a plugin of ours, which announces `experimental.breadboard`, and of a
    /// client that is no editor.
    pub plain: Option<PlainAbilities>,
}
