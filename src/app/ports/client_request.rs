//! What an engine wants done that only the loop can have done, and what it is told of it.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

use super::{DiskChange, DiskChanged, TextPart};
use crate::app::inbox::Reply;
use crate::domain::background::Background;
use crate::domain::coded_error::CodedError;

/// Something only the loop can have done, because it belongs to the editor or to the workspace.
#[derive(Debug)]
pub enum ClientRequest {
    /// Write the whole new text of a file: through the editor where it can, else on disk. Refused with `conflict` when
    /// the file (or its open buffer) no longer is what `base_hash` says.
    ApplyText {
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// Hash of the text the patch was made from; `None` for a new file.
        base_hash: Option<String>,
        /// The whole new text, UTF-8, `\n` or the line ends of the old text as the patch left them.
        text: String,
        /// Where the answer goes.
        reply: Reply<Applied>,
    },
    /// Delete or move a file, on disk. Refused with `conflict` when it no longer is what its hash says, and where an editor has
    /// unsaved text in it.
    ChangeFile {
        /// What is to be done.
        change: DiskChange,
        /// Where the answer goes.
        reply: Reply<DiskChanged>,
    },
    /// Read a file as the editor has it: the open buffer first, else the disk; inside the workspace only.
    ReadText {
        /// Absolute, as the agent named it.
        path: PathBuf,
        /// First line, from 1.
        line: Option<u64>,
        /// Most lines.
        limit: Option<u64>,
        /// Where the answer goes. When there is no such file inside the workspace, the details say the `root` and the
        /// `path` that a new one would have.
        reply: Reply<TextPart>,
    },
    /// Run a command: in the editor's terminal where it can (`bb/terminal/run`), else by our own runner.
    RunCommand {
        /// Program and arguments, or one line for the shell.
        command: String,
        /// Relative to the root, `.` for the root.
        cwd: String,
        /// The tool call that it belongs to.
        call_id: Option<String>,
        /// It runs in the background, which only our own runner can do. `None`: whoever wants it waits for its end.
        background: Option<BackgroundRun>,
        /// Where the answer goes.
        reply: Reply<CommandRan>,
    },
    /// Say what changed of the context of the prompt since it was told last.
    UpdateContext {
        /// Where the answer goes; empty: nothing changed.
        reply: Reply<ContextUpdate>,
    },
}

impl ClientRequest {
    /// Answers that it was not done.
    pub fn refuse(self, error: CodedError) {
        match self {
            Self::ApplyText { reply, .. } => reply.refuse(error),
            Self::ChangeFile { reply, .. } => reply.refuse(error),
            Self::ReadText { reply, .. } => reply.refuse(error),
            Self::RunCommand { reply, .. } => reply.refuse(error),
            Self::UpdateContext { reply } => reply.refuse(error),
        }
    }

    /// Whether nobody waits for it any more.
    pub fn is_abandoned(&self) -> bool {
        match self {
            Self::ApplyText { reply, .. } => reply.is_abandoned(),
            Self::ChangeFile { reply, .. } => reply.is_abandoned(),
            Self::ReadText { reply, .. } => reply.is_abandoned(),
            Self::RunCommand { reply, .. } => reply.is_abandoned(),
            Self::UpdateContext { reply } => reply.is_abandoned(),
        }
    }
}

/// What changed of the context of a prompt while its turn runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextUpdate {
    /// As a model reads it.
    pub words: String,
    /// The parts that changed, by their names in `UserContext`, each whole (R002-43).
    pub parts: Map<String, Value>,
}

/// A command that runs while the engine that wants it does something else.
#[derive(Debug)]
pub struct BackgroundRun {
    /// How long it may run.
    pub lasts: Background,
    /// Turns to `true` when it is to end, at any time.
    pub stop: watch::Receiver<bool>,
    /// What it prints, as it comes. While it is full the command waits.
    pub printed: mpsc::Sender<Vec<u8>>,
}

impl BackgroundRun {
    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        *self.stop.borrow() || self.stop.has_changed().is_err()
    }
}

/// A text that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Hash of what is there now: on disk, or in the editor where it is not saved.
    pub applied_hash: String,
    /// Whether it is on disk.
    pub saved: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRan {
    /// Its exit code; 128 and the signal's number when one ended it, as a shell says it.
    pub exit_code: i32,
    /// What it wrote to its standard output; the middle of a long one is left out.
    pub stdout: String,
    /// What it wrote to its standard error, likewise.
    pub stderr: String,
    /// How long it ran.
    pub duration_ms: u64,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
}
