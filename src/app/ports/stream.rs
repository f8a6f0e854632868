//! What is said only between the loop and engines whose sessions are streams: following them, and what such an engine keeps.

use std::path::PathBuf;

use super::{DiffJob, EngineCursor, LinkNews, ProgressToken};
use crate::app::inbox::Reply;
use crate::domain::approval::Proposal;
use crate::domain::coded_error::CodedError;
use crate::domain::event::EngineEvent;
use crate::protocol::request::{
    ApprovePermissionResult, CommandResult, DownloadArtifactResult, ListFilesParams, ListFilesResult,
    ReadFileSnippetParams, ReadFileSnippetResult, RebuildResult,
};

/// What only engines are told whose sessions are streams.
#[derive(Debug)]
pub enum StreamCall {
    /// Opens the stream of a session behind `cursor`, or lets the one that is open go on; `Link` reports follow, the first
    /// within `FIRST_NEWS` whatever the engine does.
    Attach {
        /// Id of the session.
        session_id: String,
        /// What the journal has.
        cursor: Option<EngineCursor>,
        /// The turn that is open there.
        open_turn: Option<AttachedTurn>,
    },
    /// Answers `bb/listFiles` from the engine's workspace.
    ListFiles {
        /// Params, as they came.
        params: ListFilesParams,
        /// Where the answer goes.
        reply: Reply<ListFilesResult>,
    },
    /// Answers `bb/readFileSnippet` from the engine's workspace.
    ReadFile {
        /// Params, as they came.
        params: ReadFileSnippetParams,
        /// Where the answer goes.
        reply: Reply<ReadFileSnippetResult>,
    },
    /// Streams an artifact to a file; `Downloaded` follows, `Downloading` on the way.
    Download {
        /// Id of the session.
        session_id: String,
        /// Its path, in the engine's words.
        artifact_path: String,
        /// Where the bytes go; its directory is made. Written beside it first, then renamed.
        to: PathBuf,
        /// What it is for. When nobody waits any more the download ends.
        purpose: DownloadFor,
    },
    /// Reads again what the engine still has of a stretch of events: `Said` for each, then `Rebuilt`.
    Rebuild {
        /// Id of the session.
        session_id: String,
        /// First and last number of the engine's that are missing.
        missing: (u64, u64),
        /// Where the answer goes.
        reply: Reply<RebuildResult>,
    },
}

impl StreamCall {
    /// Answers a call that this engine does not have.
    pub fn refuse(self, error: CodedError) {
        match self {
            Self::ListFiles { reply, .. } => reply.refuse(error),
            Self::ReadFile { reply, .. } => reply.refuse(error),
            Self::Rebuild { reply, .. } => reply.refuse(error),
            Self::Download { purpose: DownloadFor::Client { reply, .. }, .. } => reply.refuse(error),
            Self::Download { purpose: DownloadFor::Diff(job), .. } => job.refuse(error),
            Self::Attach { .. } => {}
        }
    }
}

/// The turn that is open when a stream is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedTurn {
    /// Its number in the session.
    pub number: u64,
    /// The line of what the user had allowed, where nothing of the turn followed it: an earlier process may have been doing it.
    pub allowed_last: Option<String>,
    /// Changes of the turn that wait for the user and that nothing at the engine asks for: whoever opens the stream makes what is
    /// allowed of them.
    pub undecided: Vec<AttachedChange>,
}

/// A change that is itself the question, as an earlier process left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedChange {
    /// The engine's name of it.
    pub id: String,
    /// What it changes.
    pub proposal: Proposal,
}

/// What only engines say whose sessions are streams.
#[derive(Debug)]
pub enum StreamReport {
    /// The engine took the prompt of this turn, told of another one, and has said nothing for a while.
    QuietBehindAnother {
        /// Id of the session.
        session_id: String,
        /// Number of the turn.
        turn: u64,
    },
    /// How the stream of a session stands.
    Link {
        /// Id of the session.
        session_id: String,
        /// What happened.
        news: LinkNews,
    },
    /// An engine took a decision, or refused it. That it took effect is an event.
    Answered {
        /// Id of the session.
        session_id: String,
        /// Our id of the request.
        request_id: String,
        /// The answer was taken, or why not.
        outcome: Result<(), CodedError>,
        /// Where the answer goes.
        reply: Option<Reply<ApprovePermissionResult>>,
    },
    /// An engine took a command, or refused it. What it does then is told by events.
    Commanded {
        /// Id of the session.
        session_id: String,
        /// Its name and its arguments, in words.
        command: String,
        /// What the engine says.
        outcome: Result<CommandResult, CodedError>,
        /// Where the answer goes.
        reply: Reply<CommandResult>,
    },
    /// Bytes of a download so far; at most a few a second.
    Downloading {
        /// `workDoneToken` of the request.
        token: ProgressToken,
        /// Bytes so far.
        bytes: u64,
        /// All of them, when the engine said how many.
        total: Option<u64>,
    },
    /// A download ended.
    Downloaded {
        /// Id of the session.
        session_id: String,
        /// Its path, in the engine's words.
        artifact_path: String,
        /// What came.
        outcome: Result<Artifact, CodedError>,
        /// What it was for.
        purpose: DownloadFor,
    },
    /// A rebuild ended: what came back of the missing stretch.
    Rebuilt {
        /// Id of the session.
        session_id: String,
        /// Events, in order, as the engine kept them.
        outcome: Result<Vec<(EngineEvent, u64)>, CodedError>,
        /// Where the answer goes.
        reply: Reply<RebuildResult>,
    },
}

/// What a download is for.
#[derive(Debug)]
pub enum DownloadFor {
    /// `bb/downloadArtifact`.
    Client {
        /// Where the answer goes.
        reply: Reply<DownloadArtifactResult>,
        /// `workDoneToken` of the request.
        progress: Option<ProgressToken>,
    },
    /// One side of `bb/openDiff` or a `bb-diff:` document.
    Diff(Box<DiffJob>),
}

/// A finished download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where its bytes are.
    pub path: PathBuf,
    /// How many.
    pub bytes: u64,
    /// Hex SHA-256 of them.
    pub sha256: String,
}
