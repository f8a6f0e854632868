//! The engine's port: what the loop tells an engine.
//!
//! Nothing in here waits; what follows comes as `EngineReport`.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{DiffJob, EngineCursor, ProgressToken, Secret, SpecPrompt};
use crate::app::client::ClientId;
use crate::app::inbox::{Folder, Reply};
use crate::protocol::WireError;
use crate::protocol::request::{CredentialScope, ListFilesParams, ReadFileSnippetParams};
use crate::protocol::settings::{EngineKind, ModelSetting};

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
        /// The chosen option; empty when it was settled without one (stop, exit, expiry).
        option_id: String,
        /// Whether it allows.
        allowed: bool,
        /// What the user filled in, where the ask has an `input`.
        content: Option<Value>,
    },
    /// Agents: what is remembered of a session, before every turn and restart. Nothing happens when its process has it.
    Remember(AgentSession),
    /// Agents: the session is not used any more (its tab was closed): `session/close` where the agent has it; a process that
    /// nobody uses ends, with all it started.
    CloseSession {
        /// Session.
        session_id: String,
    },
    /// Agents: ends the process and starts it anew; `AgentExited` for the old one, then `Rebound` for each session that was
    /// open there. Answers `bb/agent/restart`.
    RestartAgent {
        /// Its name; `None` for the agent of the `engine` setting, or the only one that was started.
        agent: Option<String>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Agents: modes, options, commands and the agent itself. Answers `bb/session/info`.
    SessionInfo {
        /// Session.
        session_id: String,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Forgets a session.
    Forget {
        /// Session.
        session_id: String,
    },
    /// Makes a session at an engine that holds sessions; `SessionMade` follows.
    MakeSession {
        /// The id that it gets here, where the engine's own does not serve (agents: theirs may clash).
        session_id: String,
        /// What was asked for.
        wish: SessionWish,
        /// Where the answer goes, once the loop knows the session.
        reply: Reply,
    },
    /// Lists the sessions that the engine holds; `SessionsListed` follows.
    ListSessions {
        /// Where the answer goes; `None` when only the loop wants to know.
        reply: Option<Reply>,
    },
    /// Deletes a session at the engine, first denying what waits there; `SessionDeleted` follows.
    DeleteSession {
        /// Session.
        session_id: String,
        /// The engine's ids of asks that wait.
        asks: Vec<String>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Opens the stream of a session behind `cursor`, or lets the one that is open go on; `Link` reports follow, the first
    /// within `FIRST_NEWS` whatever the engine does.
    Attach {
        /// Session.
        session_id: String,
        /// What the journal has.
        cursor: Option<EngineCursor>,
    },
    /// The decision on an ask, in the engine's words; `Answered` follows. Confirmed by an event only.
    Decide {
        /// Session.
        session_id: String,
        /// The engine's id of the ask.
        engine_request_id: String,
        /// What was decided.
        decision: EngineDecision,
        /// Ours, for the report.
        request_id: String,
        /// Where the answer goes; `None` when nobody waits for it.
        reply: Option<Reply>,
    },
    /// A command of the engine's table; answers `bb/command` itself.
    Command {
        /// Session.
        session_id: String,
        /// Its name.
        command: String,
        /// Its payload.
        args: Map<String, Value>,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Answers `bb/listFiles` from the engine's workspace.
    ListFiles {
        /// Params, as they came.
        params: ListFilesParams,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Answers `bb/readFileSnippet` from the engine's workspace.
    ReadFile {
        /// Params, as they came.
        params: ReadFileSnippetParams,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Streams an artifact to a file; `Downloaded` follows, `Downloading` on the way.
    Download {
        /// Session.
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
        /// Session.
        session_id: String,
        /// First and last number of the engine's that are missing.
        missing: (u64, u64),
        /// Where the answer goes.
        reply: Reply,
    },
    /// Answers `bb/models/list`.
    ListModels {
        /// Where the answer goes.
        reply: Reply,
    },
}

impl EngineCall {
    /// Answers a call that an engine of this kind does not have; calls that nobody waits for are dropped.
    pub fn refuse(self, error: WireError) {
        match self {
            Self::MakeSession { reply, .. }
            | Self::DeleteSession { reply, .. }
            | Self::Command { reply, .. }
            | Self::ListFiles { reply, .. }
            | Self::ReadFile { reply, .. }
            | Self::ListModels { reply }
            | Self::Rebuild { reply, .. }
            | Self::RestartAgent { reply, .. }
            | Self::SessionInfo { reply, .. }
            | Self::Download { purpose: DownloadFor::Client { reply, .. }, .. }
            | Self::ListSessions { reply: Some(reply) }
            | Self::Decide { reply: Some(reply), .. } => reply.refuse(error),
            Self::Download { purpose: DownloadFor::Diff(job), .. } => job.reply.refuse(error),
            Self::SetFolders(_)
            | Self::SetTrust { .. }
            | Self::SetModel(_)
            | Self::SetToken { .. }
            | Self::StartTurn { .. }
            | Self::Stop { .. }
            | Self::Answer { .. }
            | Self::Forget { .. }
            | Self::Remember(_)
            | Self::CloseSession { .. }
            | Self::ListSessions { reply: None }
            | Self::Attach { .. }
            | Self::Decide { reply: None, .. } => {}
        }
    }
}

/// What a client wants of a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionWish {
    /// Configuration of the engine; its default without.
    pub config_path: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Whether the engine asks before it writes or runs.
    pub permission_mode: Option<String>,
    /// First prompt; the loop sends it once the session is there.
    pub task: Option<String>,
    /// Where the session works.
    pub workspace: Option<PathBuf>,
    /// Name of the agent; `None` for the engine of the settings.
    pub agent: Option<String>,
    /// The client that wants it; for the loop alone.
    pub client: Option<ClientId>,
    /// The tab that waits for it; for the loop alone.
    pub tab: Option<String>,
    /// The spec that goes to it first; for the loop alone.
    pub spec: Option<Box<SpecPrompt>>,
}

/// A session as an engine tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineSession {
    /// Its id, which is also ours; of an agent's session the one that `MakeSession` gave.
    pub session_id: String,
    /// The engine's word: `starting`, `running`, `completed`, `failed`, `stopped`.
    pub status: String,
    /// One line, where there is one.
    pub title: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub updated_at: Option<i64>,
    /// Model in use.
    pub model: Option<String>,
    /// Where it works, where that is known.
    pub workspace: Option<PathBuf>,
    /// Agents: the name of the agent and its own id of the session.
    pub at_agent: Option<(String, String)>,
}

/// What an engine lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedSessions {
    /// Sessions, newest first.
    pub sessions: Vec<EngineSession>,
    /// Whether these are all that it holds: only then one that is not among them is gone.
    pub whole: bool,
}

/// A decision on an ask, in words that every engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineDecision {
    /// This one time.
    AllowOnce,
    /// And whatever the rule covers from now on.
    AllowRule {
        /// What the rule covers.
        pattern: String,
        /// Where it holds, in the engine's word.
        scope: String,
    },
    /// No.
    Deny,
    /// No, and stop the turn: the only way to stop one that waits for this answer.
    DenyAndStop,
}

/// What a download is for.
#[derive(Debug)]
pub enum DownloadFor {
    /// `bb/downloadArtifact`.
    Client {
        /// Where the answer goes.
        reply: Reply,
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

/// How an engine works, as far as the loop has to know. The default is the embedded engine's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineWays {
    /// Sessions live there: they are made, listed and deleted at the engine.
    pub holds_sessions: bool,
    /// A session is a stream that is followed from a cursor; its events alone tell that a run began or ended and that an
    /// answer counted. Without it `TurnEnded` ends a turn and an answer counts when it is given.
    pub streams: bool,
    /// It writes and runs on its own, so that prompting it needs a trusted workspace.
    pub needs_trust: bool,
}

/// A session of an agent as the loop remembers it, so that the adapter can open it again at a new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSession {
    /// Ours.
    pub session_id: String,
    /// Name of the agent: one of `agents`, a preset, or the agent of the `engine` setting.
    pub agent: String,
    /// The agent's own id of the session, opaque; it never leaves the server as an identity.
    pub at_agent: String,
    /// Where it works.
    pub workspace: Option<PathBuf>,
}

/// An engine: takes calls, reports through the channel it was built with.
pub trait Engine: Send {
    /// Which kind.
    fn kind(&self) -> EngineKind;
    /// What it can do, for `bb/init`.
    fn capabilities(&self) -> Vec<String>;
    /// How it works.
    fn ways(&self) -> EngineWays;
    /// Takes a call; never blocks.
    fn call(&self, call: EngineCall);
}
