//! The record of a turn's changes: which files, what they held before and after, and what a person marked.
//!
//! Owns its words and its shape on disk, to which fields may be added with a default. Holds no text: contents are kept beside it
//! under their hashes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::approval::ChangeKind;

/// Who changed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangedBy {
    /// This server, for the engine.
    Server,
    /// The engine itself, or a command.
    Engine,
}

/// How it is known what a file held before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeforeSource {
    /// This server wrote the file, and read it before.
    WrittenHere,
    /// The agent told the old text, and the new one fits what is there.
    AgentDiff,
    /// The buffer of an editor.
    Buffer,
    /// Git has it, since the file was as its index says when the turn began.
    Git,
    /// It was copied when the turn began.
    Copy,
}

/// What a person marked, the least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewMark {
    /// Nothing yet.
    #[default]
    Open,
    /// It was read.
    Reviewed,
    /// It stays: taking the turn back leaves it alone.
    Kept,
}

/// How a changed file stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// As the turn left it, or with later changes elsewhere in it.
    AsLeft,
    /// Somebody changed the same lines since, or the file is gone or came back.
    MovedOn,
    /// As it was before the turn.
    Reverted,
    /// Some of the turn's hunks stand in it, and some were taken back.
    Partly,
}

/// How the bytes of a kept content are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageForm {
    /// The bytes of the file on disk.
    Disk,
    /// The text of an editor's buffer, in UTF-8.
    Buffer,
}

/// What a file held at some time; the content itself is kept under its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileImage {
    /// `sha256:<hex>`.
    pub hash: String,
    /// Bytes.
    pub bytes: u64,
    /// What the bytes are.
    pub form: ImageForm,
    /// Permission bits, where the system has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// One file that a turn changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Relative to its folder, `/`-separated.
    pub path: String,
    /// Name of its folder.
    pub root: String,
    /// Where it was, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What happened to it.
    pub change: ChangeKind,
    /// Who did it.
    pub by: ChangedBy,
    /// How the content before is known.
    pub source: BeforeSource,
    /// What it held before; `None`: it was not there.
    pub before: Option<FileImage>,
    /// What it held after; `None`: it was gone.
    pub after: Option<FileImage>,
    /// Lines that came.
    #[serde(default)]
    pub added: u64,
    /// Lines that went.
    #[serde(default)]
    pub removed: u64,
    /// Folders above it that the turn made, counted from the file upwards.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub new_folders: u32,
    /// What a person marked, by hunk; under the empty name that of the file as a whole, where it has no hunks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, ReviewMark>,
    /// What a person has to know of it, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What kind of changes a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangesKind {
    /// Those of a turn.
    Turn,
    /// Those of taking a turn back.
    Revert,
}

/// Why what a file held before is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UncoveredReason {
    /// It is larger than what is kept of one file.
    TooLarge,
    /// What is kept of a turn, or of all, was used up.
    Budget,
    /// It is a link or another thing that is no file.
    NotAFile,
    /// An ignore file leaves it out.
    Ignored,
    /// Nobody knows what it held before.
    UnknownBefore,
    /// It could not be read.
    Unreadable,
    /// The folder was not looked at, or not all of it.
    NotWatched,
    /// It was kept for as long as things are kept.
    Expired,
    /// It holds a token that this server was given, and no such thing is kept.
    Secret,
    /// The user saved it in the editor while the turn ran, so the two are not told apart.
    SavedMeanwhile,
}

/// What of a turn cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TurnUncovered")]
pub struct UncoveredFile {
    /// Relative to its folder; absent where it stands for several files.
    #[serde(rename = "filePath", default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Why.
    pub reason: UncoveredReason,
    /// How many files, where it stands for several and they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// One sentence.
    pub message: String,
}

/// What a turn changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// The session.
    pub session_id: String,
    /// `seq` of the turn's prompt, or of the event that told of a revert.
    pub turn: u64,
    /// What kind of changes these are.
    pub kind: ChangesKind,
    /// The turn that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Number of the turn in the session, as its events have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// When it began, in milliseconds since the Unix epoch.
    pub at: i64,
    /// First line of its prompt.
    pub text: String,
    /// Whether it goes on, as far as this record knows.
    pub running: bool,
    /// The files, in order of root and path.
    pub files: Vec<ChangedFile>,
    /// What cannot be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<UncoveredFile>,
}

impl TurnRecord {
    /// The file of this name. Without the name of a folder the first one counts.
    pub fn file(&self, root: &str, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.root == root && file.path == path)
    }

    /// The same, for a change.
    pub fn file_mut(&mut self, root: &str, path: &str) -> Option<&mut ChangedFile> {
        self.files.iter_mut().find(|file| file.root == root && file.path == path)
    }

    /// Whether there is anything to tell.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.uncovered.is_empty()
    }
}
