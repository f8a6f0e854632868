//! The port of the workspace edge.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Applied, Attachment, BackgroundRun, CommandRan, ContextDone, ContextJob, DiffJob, DiskChange,
    DiskChanged, EditBase, PatchJob, PatchJobDone, PathsWanted, SpecFilesDone, SpecJob, SymbolsWanted,
    TurnJob, TurnJobDone, TurnRevert,
};
use crate::app::client::ClientId;
use crate::app::inbox::{Answer, Folder, Reply};
use crate::domain::approval::FolderIdentity;
use crate::domain::coded_error::CodedError;
use crate::domain::edits::overlay::Overlay;
use crate::domain::policy::judgement::PlaceKind;
use crate::domain::policy::redact::Redactor;
use crate::protocol::request::{
    AttachmentPutResult, ListFilesParams, ListFilesResult, ReadFileSnippetParams, ReadFileSnippetResult,
};
use crate::protocol::standing::CommandBounds;
use crate::protocol::turn::TurnRevertResult;

/// A job for the workspace edge; it answers its `reply` itself, or reports `FileJobDone`.
#[derive(Debug)]
pub enum FileJob {
    /// Answers `bb/listFiles`.
    List {
        /// Params, as they came.
        params: ListFilesParams,
        /// Where the answer goes.
        reply: Reply<ListFilesResult>,
    },
    /// Answers `bb/readFileSnippet`, from the overlay where the file is open there.
    Snippet {
        /// Params, as they came.
        params: ReadFileSnippetParams,
        /// Where the answer goes.
        reply: Reply<ReadFileSnippetResult>,
    },
    /// Stores the bytes of `bb/attachment/put`; reports `FileJobDone::Stored`.
    StoreAttachment {
        /// Id of the session.
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
        reply: Reply<AttachmentPutResult>,
    },
    /// Writes a whole text on disk, confined, atomically, in the encoding the file had; reports `FileJobDone::Written`.
    Write {
        /// The session whose turn writes it: what it replaces is kept. `None`: no turn does.
        turn: Option<String>,
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// Hash of the bytes that may be replaced; `None`: the file must not exist.
        base_hash: Option<String>,
        /// The new text.
        text: String,
        /// Where the answer goes.
        reply: Reply<Applied>,
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
    /// Reads or changes a file for an edit that is decided part by part; reports `FileJobDone::Patch`.
    Patch(PatchJob),
    /// Deletes or moves a file, or sets its mode, for our own agent.
    Change {
        /// What is to be done.
        change: DiskChange,
        /// Where the answer goes.
        reply: Reply<DiskChanged>,
    },
    /// Looks at what turns change, or takes it back.
    Turn(TurnJob),
    /// Waits for what undoing a turn would do, or did, in an editor without our plugin; reports `FileJobDone::UndoCame`.
    UndoAwaited {
        /// The editor.
        client: ClientId,
        /// What comes of it.
        answer: Answer<TurnRevertResult>,
    },
    /// Waits until an editor has written a file of a revert; reports `FileJobDone::TurnWritten`.
    TurnWritten {
        /// What comes of the write.
        answer: Answer<Applied>,
        /// What waits for it; it comes back with it.
        revert: Box<TurnRevert>,
        /// `seq` of the event that told of the revert.
        named: u64,
        /// Which of its files.
        index: usize,
    },
    /// Reads some lines of a text for an agent, from the overlay where the file is open there.
    ReadText {
        /// Absolute, as the agent named it.
        path: PathBuf,
        /// First line, from 1.
        line: Option<u64>,
        /// Most lines.
        limit: Option<u64>,
        /// Where the answer goes.
        reply: Reply<TextPart>,
    },
    /// Reads both sides of a diff and answers `bb/openDiff`, or one side and answers `bb/textDocument`.
    Diff(Box<DiffJob>),
    /// Reads or keeps files of a spec; reports `FileJobDone::Spec`.
    Spec(SpecJob),
    /// Looks for the context of a prompt; reports `FileJobDone::Context`.
    Context(Box<ContextJob>),
    /// Adds the definitions whose names fit what is typed to the words of a completion, as far as they are found in time, and answers
    /// it.
    Symbols(Box<SymbolsWanted>),
    /// Finds the paths of all files of the workspace; reports `FileJobDone::Paths`.
    Paths {
        /// What waits for them; it comes back with them.
        wanted: Box<PathsWanted>,
    },
    /// Deletes downloaded artifacts of a session that is gone; nobody waits for it.
    DropArtifacts {
        /// The folder.
        folder: PathBuf,
    },
    /// Runs a command in the workspace: own process group, no `BREADBOARD_*` and no token in its environment, time and
    /// output bounded.
    Run {
        /// One line for the shell.
        command: String,
        /// Relative to the first root.
        cwd: String,
        /// The call whose output it is, as it is told while the command runs; `FileJobDone::Printed`.
        call: Option<CommandCall>,
        /// How it runs in the background, where it does: then no time is too long for it.
        background: Option<BackgroundRun>,
        /// Time, memory and processor.
        bounds: CommandBounds,
        /// Where the answer goes.
        reply: Reply<CommandRan>,
    },
}

/// A file job that the loop wants to hear about.
#[derive(Debug)]
pub enum FileJobDone {
    /// A command printed something; it goes on.
    Printed {
        /// Whose it is.
        call: CommandCall,
        /// Whole lines.
        text: String,
        /// They stood on its standard error.
        is_error: bool,
    },
    /// An attachment was stored (or not).
    Stored {
        /// Id of the session.
        session_id: String,
        /// The attachment.
        outcome: Result<Attachment, CodedError>,
        /// Where the answer goes.
        reply: Reply<AttachmentPutResult>,
    },
    /// Files of a spec were read or kept (or not).
    Spec(SpecFilesDone),
    /// A text was read (or not).
    Read {
        /// What waited for the text.
        edit: Box<EditBase>,
        /// The text, `None` when there is no such file.
        outcome: Result<Option<FileText>, CodedError>,
    },
    /// The context of a prompt, as far as there was one.
    Context(Box<ContextDone>),
    /// What came of a turn job.
    Turn(TurnJobDone),
    /// A file of a revert was written in an editor (or not).
    TurnWritten {
        /// What waited for it.
        revert: Box<TurnRevert>,
        /// `seq` of the event that told of the revert.
        named: u64,
        /// Which of its files.
        index: usize,
        /// What is there now.
        outcome: Result<Applied, CodedError>,
    },
    /// What undoing a turn in an editor without our plugin would do, or did.
    UndoCame {
        /// The editor.
        client: ClientId,
        /// What came of it.
        outcome: Result<TurnRevertResult, CodedError>,
    },
    /// A file was read or changed for an edit that is decided part by part (or not).
    Patch(PatchJobDone),
    /// The paths of the workspace were looked for.
    Paths {
        /// What waited for them.
        wanted: Box<PathsWanted>,
        /// Relative to their folders; of directories with a slash behind them.
        paths: Vec<String>,
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

/// Some lines of a text, as an agent gets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    /// The lines, with their ends.
    pub content: String,
    /// What `ClientRequest::ApplyText` takes as base: `sha256:<hex>` of the whole open buffer, or of the bytes on disk.
    pub hash: String,
    /// Name of the root that the file is in.
    pub root: String,
    /// Relative to it.
    pub path: String,
    /// It is open and has text that is not on disk.
    pub unsaved: bool,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPlace {
    /// Absolute, without links.
    pub path: PathBuf,
    /// What is there.
    pub kind: PlaceKind,
}

/// Whose output a command's is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCall {
    /// The session.
    pub session_id: String,
    /// The engine's id of the tool call.
    pub call_id: String,
}

/// The workspace edge.
pub trait Files: Send {
    /// Roots, in order; sent at start and when they change.
    fn set_folders(&self, folders: &[Folder]);
    /// What this folder is at this moment; `None`: there is none. A look at the folder itself, so it may be asked for on
    /// the loop.
    fn identity(&self, folder: &Path) -> Option<FolderIdentity>;
    /// Where an absolute path leads now, with every link followed; `None` where that cannot be told. A look at names alone, so it
    /// may be asked for on the loop.
    fn real_place(&self, path: &Path) -> Option<RealPlace>;
    /// The state directory's place for attachments.
    fn set_state_dir(&self, state_dir: PathBuf);
    /// Nothing that holds one of these is kept of what files held; told whenever one is added. Others keep nothing.
    fn hide(&self, secrets: &Redactor) {
        let _ = secrets;
    }
    /// Takes a job; never blocks.
    fn submit(&self, job: FileJob, overlay: Arc<Overlay>);
}
