//! What is said only between the loop and agents: processes of ours that hold sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::app::inbox::Reply;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::results::{AgentCapabilities, AuthMethod};
use crate::domain::dialect::acp::state::AgentChange;
use crate::protocol::agent::AgentStatus;
use crate::protocol::request::CommandResult;
use crate::protocol::tab::AgentRestartResult;

/// What only agents are told.
#[derive(Debug)]
pub enum AgentCall {
    /// What is remembered of a session, before every turn and restart. Nothing happens when its process has it.
    Remember(AgentSession),
    /// The session is not used any more (its tab was closed): `session/close` where the agent has it; a process that
    /// nobody uses ends, with all it started.
    CloseSession {
        /// Id of the session.
        session_id: String,
    },
    /// Ends the process and starts it anew; `Exited` for the old one, then `Rebound` for each session that was
    /// open there. Answers `bb/agent/restart`.
    Restart {
        /// Its name; `None` for the agent of the `engine` setting, or the only one that was started.
        agent: Option<String>,
        /// Where the answer goes.
        reply: Reply<AgentRestartResult>,
    },
}

impl AgentCall {
    /// Answers a call that this engine does not have.
    pub fn refuse(self, error: CodedError) {
        match self {
            Self::Restart { reply, .. } => reply.refuse(error),
            Self::Remember(_) | Self::CloseSession { .. } => {}
        }
    }
}

/// What only agents say.
#[derive(Debug)]
pub enum AgentReport {
    /// How the process of an agent stands, whenever that changed.
    Process {
        /// Name of the agent.
        agent: String,
        /// How it stands.
        process: AgentProcess,
    },
    /// What an answer of an agent says of a session; what its events say stands in them.
    Changed {
        /// Id of the session.
        session_id: String,
        /// What it says.
        change: AgentChange,
        /// The command that it answers; its own answer comes when the loop knows the change.
        command: Option<Box<CommandDone>>,
    },
    /// The process ended, or could not start. Per session of it the last events came before this; the turns that ran
    /// end with it, no `TurnEnded` follows for them.
    Exited {
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
    /// A session is open at a new process.
    Rebound {
        /// Id of the session.
        session_id: String,
        /// The agent's own id of it now.
        at_agent: String,
        /// What that lost, as the end of a sentence; `None` when the agent has all that it had.
        lost: Option<String>,
    },
    /// A terminal that we run for it printed something, began or ended: `local.terminal`.
    Terminal {
        /// Id of the session.
        session_id: String,
        /// What it printed, or that it began or ended.
        piece: TerminalPiece,
    },
    /// The agent does not wait for the answer to this ask any more.
    AskWithdrawn {
        /// Id of the session.
        session_id: String,
        /// The engine's id of the ask.
        engine_request_id: String,
    },
}

/// News of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalPiece {
    /// The agent's word for it, and ours: we gave it.
    pub terminal_id: String,
    /// It is new.
    pub began: bool,
    /// What it printed since the last news.
    pub text: String,
    /// Bytes before that which are left out.
    pub skipped: u64,
    /// Exit code and signal of its command, once it ended.
    pub exit: Option<(Option<u32>, Option<String>)>,
}

/// A session of an agent as the loop remembers it, so that the adapter can open it again at a new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSession {
    /// Our id of the session.
    pub session_id: String,
    /// Name of the agent: one of `agents`, a preset, or the agent of the `engine` setting.
    pub agent: String,
    /// The agent's own id of the session, opaque; it never leaves the server as an identity.
    pub at_agent: String,
    /// Where it works.
    pub workspace: Option<PathBuf>,
}

/// A command that an agent took, and who waits for its answer.
#[derive(Debug)]
pub struct CommandDone {
    /// The answer.
    pub result: CommandResult,
    /// Where it goes.
    pub reply: Reply<CommandResult>,
}

/// The process of an agent, and what it said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProcess {
    /// Its number, from 1, per name and server process; 0 before the first.
    pub generation: u64,
    /// How it stands.
    pub status: AgentStatus,
    /// What it said when it was greeted; `None` before that.
    pub hello: Option<AgentHello>,
}

/// What an agent says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHello {
    /// What it calls itself.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// How one logs in there.
    pub auth_methods: Vec<AuthMethod>,
    /// What it can do.
    pub capabilities: AgentCapabilities,
}
