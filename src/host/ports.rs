//! What the embedded agent needs from outside, in its own words.
//!
//! Implemented by `engine::embedded`, which owns the channel to the loop.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::approval::MadeEdit;
use crate::domain::background::Background;
use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::edits::overlay::Overlay;
use crate::domain::policy::file_lists::FileLists;
use crate::domain::steps::{CallInOutput, TurnStep};
use crate::host::index::Indexes;

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
    /// Which files the user lets agents read and change.
    pub lists: Arc<FileLists>,
    /// What is known of its files without reading them; `None`: nothing.
    pub indexes: Option<Indexes>,
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

/// A command that is to run in the background.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BackgroundStart {
    /// The call that starts it, as the user sees it; its id names the command.
    pub call: CallInOutput,
    /// The command line.
    pub command: String,
    /// Relative to the first root.
    pub cwd: String,
    /// How long it may run.
    pub lasts: Background,
}

/// What is waited for before a command in the background is told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewsWait {
    /// How long at most.
    pub time: Duration,
    /// Until this text stands in what was not read yet, or it ends. `None`: until it ends.
    pub until: Option<String>,
}

/// How a command in the background stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackgroundState {
    /// It runs.
    Running,
    /// It ended by itself, with this exit code.
    Ended(i32),
    /// It was stopped: by whom or with what, as the end of a sentence.
    Stopped(&'static str),
    /// It could not be run: why.
    Failed(PortError),
}

/// What is new of a command in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackgroundNews {
    /// What it printed since it was read last, on both of its outputs, in the order in which it came.
    pub printed: String,
    /// Bytes before that which were not kept.
    pub skipped: u64,
    /// How it stands.
    pub state: BackgroundState,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServedTool {
    /// What the model calls it.
    pub name: String,
    /// Name of the server.
    pub server: String,
    /// Its name at the server.
    pub tool: String,
    /// What it does, as the server says.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
    /// What tells it and its server from others of the same names; a rule holds for this only.
    pub digest: String,
}

/// What a turn may call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServedTools {
    /// The tools.
    pub tools: Vec<ServedTool>,
    /// Why there are not more, one sentence each, of what this session has not been told yet.
    pub notes: Vec<String>,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServedAnswer {
    /// Whether the server says that it failed.
    pub is_error: bool,
    /// Its texts, and a line for each piece that is none.
    pub text: String,
    /// Its images.
    pub images: Vec<ServedImage>,
}

/// An image that a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedImage {
    /// MIME type.
    pub mime: String,
    /// The image, in base64.
    pub data: String,
}

/// The user's servers of tools, for one turn.
pub(crate) trait ToolServers: Send + Sync {
    /// The tools; waits a while for servers that start.
    fn tools(&self) -> PortFuture<'_, ServedTools>;
    /// The tool that a model calls so, as it is now.
    fn tool(&self, name: &str) -> Option<ServedTool>;
    /// Calls a tool. Dropped, it tells the server that nobody waits any more.
    fn call(
        &self,
        tool: ServedTool,
        arguments: Map<String, Value>,
    ) -> PortFuture<'_, Result<ServedAnswer, PortError>>;
    /// Tells the user of this turn something about them.
    fn note(&self, sentence: String) -> PortFuture<'_, ()>;
}

/// The same for the turns of all sessions. A session has the servers of the settings and its own.
pub(crate) trait SharedToolServers: Send + Sync {
    /// The tools of a session.
    fn tools(&self, session_id: &str) -> PortFuture<'_, ServedTools>;
    /// The tool that a model calls so in a session.
    fn tool(&self, session_id: &str, name: &str) -> Option<ServedTool>;
    /// Calls a tool for a session.
    fn call(
        &self,
        session_id: &str,
        tool: ServedTool,
        arguments: Map<String, Value>,
    ) -> PortFuture<'_, Result<ServedAnswer, PortError>>;
}

/// How much a sentence for the user matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentenceLevel {
    /// Good to know.
    Info,
    /// Something is not as it was wished.
    Warning,
}

/// What the agent may do to the world during one turn.
pub(crate) trait TurnPort: Send + Sync {
    /// The workspace as it is now.
    fn workspace(&self) -> WorkspaceView;
    /// Says one message; awaits a free place, which holds the agent back when the loop is busy.
    fn say(&self, message: ServerMessage) -> PortFuture<'_, ()>;
    /// Says a sentence that is no message of the agent's protocol.
    fn notice(&self, level: SentenceLevel, text: String) -> PortFuture<'_, ()>;
    /// Whether this was not said in the session yet; from here on it was.
    fn is_news(&self, text: &str) -> bool;
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
    /// Tells what came of the files of an edit that was allowed as a whole.
    fn edit_made(&self, request_id: &str, made: MadeEdit) -> PortFuture<'_, ()>;
    /// Runs a command.
    fn run_command(
        &self,
        command: String,
        cwd: String,
        call_id: Option<String>,
    ) -> PortFuture<'_, Result<Ran, PortError>>;
    /// Starts a command in the background and tells what is known of it after a moment. Its end is said by whoever runs it.
    fn start_command(&self, start: BackgroundStart) -> PortFuture<'_, Result<BackgroundNews, PortError>>;
    /// What is new of a command of this session in the background; `None`: there is none of this id.
    fn command_news(&self, id: &str, wait: NewsWait) -> PortFuture<'_, Option<BackgroundNews>>;
    /// Stops a command of this session in the background, and tells what is new of it.
    fn stop_command(&self, id: &str) -> PortFuture<'_, Option<BackgroundNews>>;
    /// Stops the commands in the background that end with this turn, and waits until that is said.
    fn end_commands(&self) -> PortFuture<'_, ()>;
    /// What changed of the context of the prompt since it was told last, as text; empty: nothing.
    fn context_update(&self) -> PortFuture<'_, String>;
    /// The user's servers of tools, as far as this turn may use them; `None`: there are none.
    fn tool_servers(&self) -> Option<&dyn ToolServers> {
        None
    }
    /// A fresh id.
    fn fresh_id(&self) -> String;
    /// Resolves when the user stopped the turn.
    fn stopped(&self) -> PortFuture<'_, ()>;
}

/// The text of a file of the workspace, as the editor has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFound {
    /// Name of its root.
    pub root: String,
    /// Its path; with the root's name in front where several roots are open.
    pub path: String,
    /// Relative to its root.
    pub rel: String,
    /// Where it lies.
    pub uri: String,
    /// Its text: of the open buffer, else of the disk.
    pub text: String,
    /// Whether the text is not what is on disk.
    pub is_unsaved: bool,
}

/// A definition that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolFound {
    /// Path of its file, as in `FileFound`.
    pub path: String,
    /// Its name, behind that of the type it belongs to.
    pub name: String,
    /// What it is, in a word.
    pub kind: &'static str,
    /// First line, from 1.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// Its first line.
    pub signature: String,
}

/// Files that have to do with another one, each by its path; best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RelatedFiles {
    /// Tests of it.
    pub tests: Vec<String>,
    /// What it tests, where it is a test.
    pub sources: Vec<String>,
    /// What it uses.
    pub imports: Vec<String>,
    /// What uses it, with the lines that say so.
    pub dependents: Vec<(String, Vec<String>)>,
}

/// Looking for what belongs into the context of a prompt. All of it is blocking and bounded and ends when `cancel` is set; an
/// error is one sentence. Reads the workspace each time, so that nothing is ever out of date (decision 0011).
pub(crate) trait CodeSearch: Send + Sync {
    /// A file by name: relative, absolute inside a root, or with its root's name in front.
    fn file(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Result<FileFound, String>;
    /// The names in a folder, folders with a slash.
    fn folder(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Result<Vec<String>, String>;
    /// The definitions of a file, in order.
    fn outline(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Vec<SymbolFound>;
    /// The definition whose name fits best.
    fn symbol(
        &self,
        view: &WorkspaceView,
        name: &str,
        cancel: &AtomicBool,
    ) -> Result<Option<SymbolFound>, String>;
    /// The definitions whose names fit, best first, at most `most`.
    fn symbols(&self, view: &WorkspaceView, name: &str, most: usize, cancel: &AtomicBool)
    -> Vec<SymbolFound>;
    /// The files that have to do with this one, at most `most` of each kind.
    fn related(
        &self,
        view: &WorkspaceView,
        file: &FileFound,
        most: usize,
        cancel: &AtomicBool,
    ) -> Result<RelatedFiles, String>;
}
