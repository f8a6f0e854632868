//! What the loop needs from the edges, in the loop's own words.
//!
//! Every port either returns at once or answers later with an event; none of them blocks on the network, on the editor
//! or on a slow disk, but for `Journal`, whose writes are the point at which an event becomes true.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

pub use super::edits::EditBase;
use super::inbox::{Folder, Reply};
use crate::domain::approval::PermissionStatus;
use crate::domain::edits::overlay::Overlay;
use crate::domain::event::EngineEvent;
use crate::domain::view::Lane;
use crate::protocol::WireError;
use crate::protocol::request::{CredentialScope, ListFilesParams, ReadFileSnippetParams};
use crate::protocol::settings::{EngineKind, ModelSetting};

// ---------------------------------------------------------------- the outbox

/// The one writer of the editor's stdin. Frames leave in the order in which they were pushed.
pub trait Outbox: Send + Sync {
    /// Queues one JSON-RPC message (without header). `false`: the bound is reached and nothing was queued; the loop
    /// hears `OutboxDrained` when there is room again.
    fn push(&self, message: Vec<u8>) -> bool;
    /// Replaces this secret by `[redacted]` in everything that leaves from now on.
    fn hide(&self, secret: &Secret);
}

// ---------------------------------------------------------------- the journal

/// Why the journal did not take or give something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalError {
    /// The disk is full, or a quota or file-size limit is reached.
    Full,
    /// Anything else, in one sentence.
    Failed(String),
}

/// A row a batch: events `from_seq..=to_seq` as the text between the brackets of a JSON array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    /// First event.
    pub from_seq: u64,
    /// Last event.
    pub to_seq: u64,
    /// `{…},{…}`: the events, comma-joined, exactly as they are sent.
    pub events: Vec<u8>,
}

/// One block of a lane as stored. `ord` is its place in the lane, given once, at its first `put`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRow {
    /// Which lane.
    pub lane: Lane,
    /// Its place.
    pub ord: u64,
    /// Its id in the lane.
    pub id: String,
    /// The block as JSON; `None` when it was removed.
    pub block: Option<Vec<u8>>,
}

/// One session as stored; `record` is the loop's own JSON, opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Id of the session.
    pub session_id: String,
    /// Key of the workspace it belongs to.
    pub workspace: String,
    /// Milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// The loop's record.
    pub record: Vec<u8>,
}

/// A settled or waiting ask as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Ours, unique for ever.
    pub request_id: String,
    /// How it stands.
    pub status: PermissionStatus,
    /// The loop's record of it.
    pub record: Vec<u8>,
}

/// One transaction: all of it is true, or none.
#[derive(Debug, Default)]
pub struct Commit {
    /// Which session.
    pub session_id: String,
    /// Its new row.
    pub session: Option<SessionRow>,
    /// New events.
    pub batch: Option<BatchRow>,
    /// Blocks that changed since the last checkpoint of the view.
    pub blocks: Vec<BlockRow>,
    /// Reducer state of the view and the `seq` at which it stands, with `blocks` the view's checkpoint.
    pub view: Option<(u64, Vec<u8>)>,
    /// Asks that came or were settled.
    pub ledger: Vec<LedgerRow>,
    /// Prompts that were accepted: message id and the answer that was given, as JSON.
    pub prompts: Vec<(String, Vec<u8>)>,
}

/// The journal: every event is in it before anyone is told. One file a slot; one process a file.
///
/// All methods block briefly; the loop runs on a thread of its own. `commit` is atomic and survives `kill -9` (not
/// necessarily a power cut: WAL with `synchronous=NORMAL`).
pub trait Journal: Send {
    /// Opaque name of the file; another file, another epoch.
    fn epoch(&self) -> &str;
    /// The state directory; `None` when this window keeps its sessions in memory only.
    fn state_dir(&self) -> Option<PathBuf>;
    /// What had to be done to open the file, as sentences for the user (a damaged one set aside …). Drained once.
    fn take_warnings(&mut self) -> Vec<String>;
    /// All sessions of a workspace, newest first.
    fn sessions(&mut self, workspace: &str) -> Result<Vec<SessionRow>, JournalError>;
    /// One session.
    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError>;
    /// Deletes a session with everything of it.
    fn delete_session(&mut self, session_id: &str) -> Result<(), JournalError>;
    /// Writes one transaction.
    fn commit(&mut self, commit: &Commit) -> Result<(), JournalError>;
    /// Last `seq` of a session, 0 when it has none.
    fn head(&mut self, session_id: &str) -> Result<u64, JournalError>;
    /// Batches that hold events from `from_seq` on, in order, until `max_bytes` are read (at least one batch).
    fn batches(
        &mut self,
        session_id: &str,
        from_seq: u64,
        max_bytes: usize,
    ) -> Result<Vec<BatchRow>, JournalError>;
    /// The newest `limit` blocks of a lane with `ord` below `before`, newest first. Removed ones are not given.
    fn blocks(
        &mut self,
        session_id: &str,
        lane: Lane,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<BlockRow>, JournalError>;
    /// One block by id.
    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError>;
    /// The last checkpoint of the view.
    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError>;
    /// One ask.
    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError>;
    /// Asks of a session that wait.
    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError>;
    /// The answer that an earlier prompt with this message id got.
    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError>;
}

/// Opens a journal once the state directory is known; runs on the loop's thread, after `initialize` was answered.
pub type OpenJournal = Box<dyn FnOnce(Option<&str>) -> Box<dyn Journal> + Send>;

// ---------------------------------------------------------------- the engine

/// A prompt on its way to an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Id of the prompt, the client's.
    pub message_id: String,
    /// What the user typed.
    pub text: String,
    /// Attachments, resolved.
    pub attachments: Vec<Attachment>,
}

/// One stored attachment.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment {
    /// Its id.
    pub id: String,
    /// Name of the file.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Bytes.
    pub bytes: u64,
    /// Where it lies in the state directory.
    pub path: PathBuf,
}

/// What the loop tells an engine. Nothing here waits: what follows comes as `EngineReport`.
#[derive(Debug)]
pub enum EngineCall {
    /// Roots, in order; sent at start and when they change.
    SetFolders(Vec<Folder>),
    /// Whether the workspace is trusted; sent at start and when it changes.
    SetTrust {
        /// Whether.
        trusted: bool,
    },
    /// The model; sent at start and on `bb/models/set`.
    SetModel(Option<ModelSetting>),
    /// A token from `bb/setCredentials`; `None` forgets.
    SetToken {
        /// What it is for.
        scope: CredentialScope,
        /// The token.
        token: Option<Secret>,
    },
    /// Begins a turn. The engine ends every turn with `TurnEnded`, whatever happens.
    StartTurn {
        /// Session.
        session_id: String,
        /// Number of the turn in the session, from 1.
        turn: u64,
        /// The prompt.
        prompt: Prompt,
        /// Earlier turns, oldest first: what the user said and what the engine answered. Bounded by the loop.
        history: Vec<(String, String)>,
    },
    /// Stops the turn that runs in this session; it still ends with its own last event and `TurnEnded`.
    Stop {
        /// Session.
        session_id: String,
    },
    /// Answers an ask.
    Answer {
        /// Session.
        session_id: String,
        /// The engine's id of the ask.
        engine_request_id: String,
        /// The chosen option.
        option_id: String,
        /// Whether it allows.
        allowed: bool,
    },
    /// Forgets a session.
    Forget {
        /// Session.
        session_id: String,
    },
    /// Answers `bb/models/list`.
    ListModels {
        /// Where the answer goes.
        reply: Reply,
    },
}

/// A token in memory: never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What an engine says. Per session in order.
#[derive(Debug)]
pub enum EngineReport {
    /// One event.
    Said {
        /// Session.
        session_id: String,
        /// The event.
        event: EngineEvent,
    },
    /// A turn is over; always the last report of a turn.
    TurnEnded {
        /// Session.
        session_id: String,
        /// Which turn.
        turn: u64,
        /// `Some` when it ended without the engine's own end: one sentence.
        failure: Option<String>,
    },
    /// The engine asks the editor's side to do something; the ask was allowed before.
    Wants {
        /// Session.
        session_id: String,
        /// What.
        want: Want,
    },
}

/// Something only the loop can have done, because it belongs to the editor or to the workspace.
#[derive(Debug)]
pub enum Want {
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
        /// Answers `{ "appliedHash": "sha256:…" }` or a refusal.
        reply: Reply,
    },
    /// Run a command: in the editor's terminal where it can (`bb/terminal/run`), else by our own runner.
    RunCommand {
        /// Program and arguments, or one line for the shell.
        command: String,
        /// Relative to the root, `.` for the root.
        cwd: String,
        /// Answers `{ exitCode, stdout, stderr, durationMs }` or a refusal.
        reply: Reply,
    },
}

/// An engine: takes calls, reports through the channel it was built with.
pub trait Engine: Send {
    /// Which kind.
    fn kind(&self) -> EngineKind;
    /// What it can do, for `bb/init`.
    fn capabilities(&self) -> Vec<String>;
    /// Takes a call; never blocks.
    fn call(&self, call: EngineCall);
}

// ---------------------------------------------------------------- files

/// A job for the workspace edge; it answers its `reply` itself, or reports `FileJobDone`.
#[derive(Debug)]
pub enum FileJob {
    /// Answers `bb/listFiles`.
    List {
        /// Params, as they came.
        params: ListFilesParams,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Answers `bb/readFileSnippet`, from the overlay where the file is open there.
    Snippet {
        /// Params, as they came.
        params: ReadFileSnippetParams,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Stores the bytes of `bb/attachment/put`; reports `FileJobDone::Stored`.
    StoreAttachment {
        /// Session.
        session_id: String,
        /// Name of the file.
        name: String,
        /// MIME type, when the client said one.
        mime: Option<String>,
        /// A file of the editor's.
        uri: Option<String>,
        /// The bytes.
        base64: Option<String>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Writes a whole text on disk, confined, atomically, in the encoding the file had; reports `FileJobDone::Written`.
    Write {
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// Hash of the bytes that may be replaced; `None`: the file must not exist.
        base_hash: Option<String>,
        /// The new text.
        text: String,
        /// Answers `{ "appliedHash": "sha256:…" }` or a refusal.
        reply: Reply,
    },
    /// Reads a whole text that an edit of the editor's is to replace; reports `FileJobDone::Read`.
    Read {
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// What waits for the text; it comes back with it. Dropped, its engine hears `internal`.
        edit: Box<EditBase>,
    },
    /// Runs a command in the workspace: own process group, no `BREADBOARD_*` and no token in its environment, time and
    /// output bounded; answers `{ exitCode, stdout, stderr, durationMs }`.
    Run {
        /// One line for the shell.
        command: String,
        /// Relative to the first root.
        cwd: String,
        /// Where the answer goes.
        reply: Reply,
    },
}

/// A file job that the loop wants to hear about.
#[derive(Debug)]
pub enum FileJobDone {
    /// An attachment was stored (or not).
    Stored {
        /// Session.
        session_id: String,
        /// The attachment.
        outcome: Result<Attachment, WireError>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// A text was read (or not).
    Read {
        /// What waited for the text.
        edit: Box<EditBase>,
        /// The text, `None` when there is no such file.
        outcome: Result<Option<FileText>, WireError>,
    },
}

/// A whole text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its text.
    pub text: String,
    /// `sha256:<hex>` of its bytes.
    pub hash: String,
}

/// The workspace edge.
pub trait Files: Send {
    /// Roots, in order; sent at start and when they change.
    fn set_folders(&self, folders: &[Folder]);
    /// The state directory's place for attachments.
    fn set_state_dir(&self, state_dir: PathBuf);
    /// Takes a job; never blocks.
    fn submit(&self, job: FileJob, overlay: Arc<Overlay>);
}

// ---------------------------------------------------------------- time and chance

/// Wall-clock milliseconds and fresh ids, so that tests can decide both.
pub trait Ambient: Send {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;
    /// A fresh UUID v4.
    fn fresh_id(&self) -> String;
}

/// A request of ours to the editor, as JSON-RPC params.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorAsk {
    /// LSP method.
    pub method: &'static str,
    /// Params.
    pub params: Value,
}
