//! Sessions as engines make and list them.

use std::path::PathBuf;

use super::{EarlierTurn, SpecPrompt};
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::domain::branch::BranchKnows;
use crate::domain::coded_error::CodedError;
use crate::domain::view::Block;
use crate::protocol::request::{BranchedFrom, SendMessageResult, SessionBranchResult, SessionResult};

/// What a client wants of a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
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
}

/// What a session begins with that comes from another one.
#[derive(Debug)]
pub struct SessionBranch {
    /// The record of that one is the loop's to read.
    pub origin: BranchedFrom,
    /// What is shown of it, oldest first.
    pub blocks: Vec<Block>,
    /// Earlier turns as our own agent's model hears of them.
    pub memory: Vec<EarlierTurn>,
    /// Our record of it, for an engine that cannot take it over.
    pub record: Option<String>,
    /// What its engine knows of it.
    pub knows: BranchKnows,
    /// The same for the user.
    pub text: String,
}

/// Who waits for a session that is made.
#[derive(Debug)]
pub enum SessionReply {
    /// A client that asked for it.
    Client(Reply<SessionResult>),
    /// A client whose spec goes to it first.
    Spec {
        /// The spec.
        prompt: Box<SpecPrompt>,
        /// Where the answer to the prompt goes.
        reply: Reply<SendMessageResult>,
    },
    /// A client, whose session begins with the conversation of another one.
    Branch {
        /// What it begins with.
        branch: Box<SessionBranch>,
        /// Where the answer goes.
        reply: Reply<SessionBranchResult>,
    },
    /// A chat document of an editor without our plugin, which hears of it by what the loop makes of the outcome.
    Chat {
        /// Its URI.
        uri: String,
    },
    /// A tab, which hears of it by what the loop makes of the outcome.
    Tab {
        /// Its id.
        tab_id: String,
        /// Abandoned once the tab is closed.
        waits: Reply<()>,
    },
}

impl SessionReply {
    /// Answers that there is no session.
    pub fn refuse(self, error: CodedError) {
        match self {
            Self::Client(reply) => reply.refuse(error),
            Self::Spec { reply, .. } => reply.refuse(error),
            Self::Branch { reply, .. } => reply.refuse(error),
            Self::Tab { waits, .. } => waits.refuse(error),
            // Whoever refuses on the loop says so in the document itself.
            Self::Chat { .. } => {}
        }
    }
}

/// What goes on in a session, whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWork {
    /// Nothing.
    Idle,
    /// A turn runs.
    Running,
    /// A question waits for an answer.
    Waiting,
}

/// A session as an engine tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineSession {
    /// Its id, which is also ours; of an agent's session the one that `MakeSession` gave.
    pub session_id: String,
    /// The engine's word: `starting`, `running`, `completed`, `failed`, `stopped`.
    pub status: String,
    /// What goes on in it there, where the engine tells that in its list.
    pub work: Option<SessionWork>,
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
