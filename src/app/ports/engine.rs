//! The engine's port: what the loop tells every engine, and the two kinds of calls that only some have.
//!
//! Nothing in here waits; what follows comes as `EngineReport`.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{AgentCall, EngineDecision, EngineTraits, NewSession, Ruling, Secret, SessionReply, StreamCall};
use crate::app::inbox::{Answer, Folder, Reply};
use crate::domain::agent_mode::AgentMode;
use crate::domain::coded_error::CodedError;
use crate::domain::context::item::PromptContext;
use crate::domain::edits::watched_file::WatchedFile;
use crate::domain::steps::{PausedTurn, TurnPast};
use crate::protocol::request::{
    ApprovePermissionResult, CommandResult, CredentialScope, DeleteSessionResult, ListSessionsResult,
    ModelsResult,
};
use crate::protocol::settings::{EngineKind, ModelSetting};

/// What a turn begins with.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TurnBegun {
    /// Number of the turn in the session, from 1.
    pub turn: u64,
    /// The prompt.
    pub prompt: Prompt,
    /// The model of this turn; `None` leaves it to the engine.
    pub model: Option<ModelSetting>,
    /// Earlier turns, oldest first: what the user said and what the engine answered. Bounded by the loop; of our own agent's
    /// sessions `memory` has them.
    pub history: Vec<(String, String)>,
    /// Earlier turns as our own agent's model hears of them again, oldest first. They stand in the journal themselves.
    #[serde(skip)]
    pub memory: Vec<EarlierTurn>,
}

/// A turn of our own agent that is over.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EarlierTurn {
    /// Its prompt.
    pub prompt: Prompt,
    /// Its model: what only that can read goes to no other.
    pub model: Option<ModelSetting>,
    /// What was said in it.
    pub past: TurnPast,
}

/// A prompt on its way to an engine.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Prompt {
    /// Id of the prompt, the client's.
    pub message_id: String,
    /// What the user typed.
    pub text: String,
    /// Attachments, resolved.
    pub attachments: Vec<Attachment>,
    /// What goes with it beside them.
    #[serde(default)]
    pub context: Box<PromptContext>,
    /// What our own agent may do in its turn.
    #[serde(default)]
    pub mode: AgentMode,
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
        /// Whether the workspace is trusted.
        trusted: bool,
    },
    /// For the engine that calls the models itself: the one whose endpoint tokens belong to and models are listed of, between
    /// turns. Sent at start and on `bb/models/set`.
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
        /// Id of the session.
        session_id: String,
        /// Number of the turn in the session, from 1.
        turn: u64,
        /// The prompt.
        prompt: Prompt,
        /// The model of this turn; `None` leaves it to the engine.
        model: Option<ModelSetting>,
        /// Earlier turns, oldest first: what the user said and what the engine answered. Bounded by the loop.
        history: Vec<(String, String)>,
        /// Earlier turns as our own agent's model hears of them again, oldest first.
        memory: Vec<EarlierTurn>,
        /// Comes when the files were looked at: before it an engine that writes by itself does not begin.
        looked_at: Option<Answer<()>>,
    },
    /// Goes on with a turn of which only the steps are left, now that what it asked is answered. The engine ends it as any
    /// turn.
    ContinueTurn {
        /// Id of the session.
        session_id: String,
        /// What it began with.
        begun: Box<TurnBegun>,
        /// How far it had come.
        from: Box<PausedTurn>,
        /// What was answered.
        ruling: Ruling,
    },
    /// Stops the turn that runs in this session; it still ends with its own last event and `TurnEnded`.
    Stop {
        /// Id of the session.
        session_id: String,
    },
    /// The user stops a command that runs in the background; what is over or not known stays as it is.
    StopCommand {
        /// Session.
        session_id: String,
        /// Its call.
        call_id: String,
    },
    /// Forgets a session.
    Forget {
        /// Id of the session.
        session_id: String,
    },
    /// Makes a session at an engine that holds sessions; `SessionMade` follows.
    MakeSession {
        /// The id that it gets here, where the engine's own does not serve (agents: theirs may clash).
        session_id: String,
        /// What was asked for.
        wish: NewSession,
        /// Who waits; answered once the loop knows the session.
        reply: SessionReply,
    },
    /// Lists the sessions that the engine holds; `SessionsListed` follows.
    ListSessions {
        /// Where the answer goes; `None` when only the loop wants to know.
        reply: Option<Reply<ListSessionsResult>>,
    },
    /// Deletes a session at the engine, first denying what waits there; `SessionDeleted` follows.
    DeleteSession {
        /// Id of the session.
        session_id: String,
        /// The engine's ids of asks that wait.
        asks: Vec<String>,
        /// Where the answer goes.
        reply: Reply<DeleteSessionResult>,
    },
    /// The decision on an ask. Where an event settles it, `Answered` follows; elsewhere nothing does.
    Decide {
        /// Id of the session.
        session_id: String,
        /// The engine's id of the ask.
        engine_request_id: String,
        /// What was decided.
        decision: EngineDecision,
        /// Ours, for the report.
        request_id: String,
        /// Where the answer goes; `None` when nobody waits for it.
        reply: Option<Reply<ApprovePermissionResult>>,
    },
    /// A command of the engine's table; answers `bb/command` itself.
    Command {
        /// Id of the session.
        session_id: String,
        /// Its name.
        command: String,
        /// Its payload.
        args: Map<String, Value>,
        /// Where the answer goes.
        reply: Reply<CommandResult>,
    },
    /// Answers `bb/models/list`.
    ListModels {
        /// The model that was chosen for what comes next, where one was.
        chosen: Option<String>,
        /// Where the answer goes.
        reply: Reply<ModelsResult>,
    },
    /// Files changed in the workspace; told as `file_watch` says.
    FilesChanged(Vec<WatchedFile>),
    /// What only engines are told whose sessions are streams.
    Stream(StreamCall),
    /// What only agents are told.
    Agent(AgentCall),
}

impl EngineCall {
    /// Answers a call that an engine of this kind does not have; calls that nobody waits for are dropped.
    pub fn refuse(self, error: CodedError) {
        match self {
            Self::Stream(call) => call.refuse(error),
            Self::Agent(call) => call.refuse(error),
            Self::MakeSession { reply, .. } => reply.refuse(error),
            Self::DeleteSession { reply, .. } => reply.refuse(error),
            Self::Command { reply, .. } => reply.refuse(error),
            Self::ListModels { reply, .. } => reply.refuse(error),
            Self::ListSessions { reply: Some(reply) } => reply.refuse(error),
            Self::Decide { reply: Some(reply), .. } => reply.refuse(error),
            Self::SetFolders(_)
            | Self::SetTrust { .. }
            | Self::SetModel(_)
            | Self::SetToken { .. }
            | Self::FilesChanged(_)
            | Self::StartTurn { .. }
            | Self::ContinueTurn { .. }
            | Self::Stop { .. }
            | Self::StopCommand { .. }
            | Self::Forget { .. }
            | Self::ListSessions { reply: None }
            | Self::Decide { reply: None, .. } => {}
        }
    }
}

/// Whether an engine is told of files that change in the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileWatch {
    /// It has no use for it.
    #[default]
    No,
    /// It is told what editors tell by themselves; it finds the rest where it matters.
    AsTold,
    /// Nobody else tells it: editors are asked to watch.
    Asked,
}

/// An engine: takes calls, reports through the channel it was built with.
pub trait Engine: Send {
    /// Which kind.
    fn kind(&self) -> EngineKind;
    /// What it can do, for `bb/init`.
    fn capabilities(&self) -> Vec<String>;
    /// How it works.
    fn traits(&self) -> EngineTraits;
    /// Whether it takes what was decided on each change of an edit, and makes the accepted ones itself.
    fn takes_hunks(&self) -> bool {
        false
    }
    /// Whether it is told of files that change.
    fn file_watch(&self) -> FileWatch {
        FileWatch::No
    }
    /// Takes a call; never blocks.
    fn call(&self, call: EngineCall);
}
