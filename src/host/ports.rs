//! What the embedded agent needs from outside, in its own words.
//!
//! Implemented by `engine::embedded`, which owns the channel to the loop.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::edits::overlay::Overlay;
use crate::domain::steps::TurnStep;

/// A future that a port returns.
pub(crate) type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A workspace folder as the agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its name, a prefix for paths where several roots are open.
    pub name: String,
    /// Its URI as the editor spells it.
    pub uri: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The workspace at this moment: roots and open buffers. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceView {
    /// Roots, in order.
    pub roots: Vec<Root>,
    /// Open buffers, which win over the disk.
    pub overlay: Arc<Overlay>,
    /// Whether the workspace is trusted.
    pub trusted: bool,
}

/// A refusal, as the agent tells it to its model: a stable code and one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortError {
    /// For instance `conflict`.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// The answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The user, or a rule, allowed it.
    Allowed,
    /// The user denied it, or it was cancelled.
    Denied,
    /// The user decided on an edit change by change, and what was accepted is written already.
    InPart {
        /// What stands in the file and what does not.
        note: String,
        /// Whether anything was written; else the file was not as it had to be.
        is_written: bool,
    },
}

/// How a text was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// Hash of what is there now; `None`: nothing.
    pub hash: Option<String>,
    /// Whether it is on disk; else it stands in the editor, unsaved.
    pub saved: bool,
}

/// What is done to a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileOperation {
    /// It goes.
    Delete,
    /// It gets another path, where nothing may be.
    Move {
        /// Relative to the same root.
        to: String,
        /// The whole new text, where that changes.
        text: Option<String>,
    },
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Its exit code.
    pub exit_code: i32,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
}

/// What the agent may do to the world during one turn.
pub(crate) trait TurnPort: Send + Sync {
    /// The workspace as it is now.
    fn workspace(&self) -> WorkspaceView;
    /// Says one message; awaits a free place, which holds the agent back when the loop is busy.
    fn say(&self, message: ServerMessage) -> PortFuture<'_, ()>;
    /// Has a step of the turn journalled: before anything that is said or wanted after it.
    fn step(&self, step: TurnStep) -> PortFuture<'_, ()>;
    /// Waits for the answer to an ask that was said with this `request_id`.
    fn answer(&self, request_id: &str) -> PortFuture<'_, Answer>;
    /// Writes the whole new text of a file.
    fn apply_text(
        &self,
        root: Option<String>,
        path: String,
        base_hash: Option<String>,
        text: String,
    ) -> PortFuture<'_, Result<Written, PortError>>;
    /// Deletes or moves a file.
    fn change_file(
        &self,
        root: Option<String>,
        path: String,
        base_hash: Option<String>,
        operation: FileOperation,
    ) -> PortFuture<'_, Result<Written, PortError>>;
    /// Runs a command.
    fn run_command(&self, command: String, cwd: String) -> PortFuture<'_, Result<Ran, PortError>>;
    /// A fresh id.
    fn fresh_id(&self) -> String;
    /// Resolves when the user stopped the turn.
    fn stopped(&self) -> PortFuture<'_, ()>;
}
