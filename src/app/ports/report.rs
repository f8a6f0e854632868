//! What engines say to the loop, per session in order.

use super::{
    Artifact, DownloadFor, EngineCursor, EngineSession, LinkNews, ListedSessions, ProgressToken, Reach,
    SessionWish,
};
use crate::app::inbox::Reply;
use crate::domain::event::EngineEvent;
use crate::protocol::WireError;

/// Events of one report. Reports wait in a bounded queue, so this also bounds how many events do.
pub const EVENTS_A_REPORT: usize = 64;

/// What an engine says. Per session in order.
#[derive(Debug)]
pub enum EngineReport {
    /// One event.
    Said {
        /// Session.
        session_id: String,
        /// The event.
        event: EngineEvent,
        /// The engine's place of it, where it has one.
        cursor: Option<EngineCursor>,
    },
    /// Some events that came together, in order; not more than `EVENTS_A_REPORT`.
    SaidMany {
        /// Session.
        session_id: String,
        /// Each event with the engine's place of it, where it has one.
        events: Vec<(EngineEvent, Option<EngineCursor>)>,
    },
    /// Whether the engine answers at all: at the start, and whenever that changed or a try failed again.
    Reach(Reach),
    /// A session was made, or not.
    SessionMade {
        /// What was asked for.
        wish: SessionWish,
        /// The session.
        outcome: Result<EngineSession, WireError>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// The sessions that the engine holds.
    SessionsListed {
        /// What it lists.
        outcome: Result<ListedSessions, WireError>,
        /// Where the answer goes.
        reply: Option<Reply>,
    },
    /// A session was deleted at the engine, or was not there any more, or could not be.
    SessionDeleted {
        /// Session.
        session_id: String,
        /// Whether.
        outcome: Result<(), WireError>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// How the stream of a session stands.
    Link {
        /// Session.
        session_id: String,
        /// What happened.
        news: LinkNews,
    },
    /// An engine took a decision, or refused it. That it took effect is an event.
    Answered {
        /// Session.
        session_id: String,
        /// Ours.
        request_id: String,
        /// Whether.
        outcome: Result<(), WireError>,
        /// Where the answer goes.
        reply: Option<Reply>,
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
        /// Session.
        session_id: String,
        /// Its path, in the engine's words.
        artifact_path: String,
        /// What came.
        outcome: Result<Artifact, WireError>,
        /// What it was for.
        purpose: DownloadFor,
    },
    /// A rebuild ended: what came back of the missing stretch.
    Rebuilt {
        /// Session.
        session_id: String,
        /// Events, in order, as the engine kept them.
        outcome: Result<Vec<(EngineEvent, u64)>, WireError>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Agents: the process ended, or could not start. Per session of it the last events came before this; the turns that ran
    /// end with it, no `TurnEnded` follows for them.
    AgentExited {
        /// Name of the agent.
        agent: String,
        /// Number of the process, from 1, per name and server process.
        generation: u64,
        /// Exit code, where it had one.
        code: Option<i32>,
        /// Sessions that were open there, ours.
        sessions: Vec<String>,
        /// What happened and what to do next, in one sentence.
        message: String,
        /// Whether we ended it on purpose (restart, close, shutdown).
        expected: bool,
    },
    /// Agents: a session is open at a new process.
    Rebound {
        /// Session.
        session_id: String,
        /// The agent's own id of it now.
        at_agent: String,
        /// What that lost, as the end of a sentence; `None` when the agent has all that it had.
        lost: Option<String>,
    },
    /// Agents: the agent does not wait for the answer to this ask any more.
    AskWithdrawn {
        /// Session.
        session_id: String,
        /// The engine's id of the ask.
        engine_request_id: String,
    },
    /// Something that the adapter noticed and the user should know, such as a silence: `local.notice`, and into the log.
    Noticed {
        /// Session.
        session_id: String,
        /// `info`, `warning` or `error`.
        level: &'static str,
        /// One sentence.
        text: String,
    },
    /// A turn is over; always the last report of a turn.
    TurnEnded {
        /// Session.
        session_id: String,
        /// Which turn.
        turn: u64,
        /// `Some` when it ended without the engine's own end: one sentence.
        failure: Option<String>,
        /// The engine was told to stop it before it ended, whatever it says of its end. Only of an engine whose own end may
        /// not say so.
        cancelled: bool,
    },
    /// The engine asks the editor's side to do something; the ask was allowed before.
    Wants {
        /// Session.
        session_id: String,
        /// What.
        want: Want,
    },
}

impl EngineReport {
    /// About how many bytes its events have: what there is to do with them.
    pub fn bytes(&self) -> usize {
        let of = |event: &EngineEvent| event.payload.raw().map_or(0, str::len);
        match self {
            Self::Said { event, .. } => of(event),
            Self::SaidMany { events, .. } => events.iter().map(|(event, _)| of(event)).sum(),
            _ => 0,
        }
    }

    /// What it counts for in one turn of the loop: the events in it, and one for any other news.
    pub fn events(&self) -> usize {
        if let Self::SaidMany { events, .. } = self { events.len() } else { 1 }
    }
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
    /// Read a file as the editor has it: the open buffer first, else the disk; inside the workspace only.
    ReadText {
        /// Absolute, as the agent named it.
        path: std::path::PathBuf,
        /// First line, from 1.
        line: Option<u64>,
        /// Most lines.
        limit: Option<u64>,
        /// Answers `TextPart`, or a refusal; when there is no such file inside the workspace, the details say the `root` and the
        /// `path` that a new one would have.
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
