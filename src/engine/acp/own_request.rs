//! What we asked of an agent and wait for: our requests, by our ids.
//!
//! Owns the table and its times. The agent's requests are another direction with ids of their own: `asks`.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::command::Command;
use super::modes::ModeChange;
use super::session::How;
use crate::app::inbox::Reply;
use crate::app::ports::EngineSession;
use crate::domain::coded_error::CodedError;
use crate::protocol::request::{CommandResult, DeleteSessionResult};

/// One request of ours.
pub(super) enum OwnRequest {
    /// `initialize`.
    Initialize,
    /// `session/new`, `session/resume` or `session/load`.
    Open { session_id: String, how: How },
    /// `session/prompt`.
    Prompt { session_id: String, turn: u64 },
    /// `session/close`.
    Close { session_id: String },
    /// `session/delete`.
    Delete { session_id: String, reply: Reply<DeleteSessionResult> },
    /// `session/list`; what earlier pages had.
    List { so_far: Vec<EngineSession>, give: oneshot::Sender<Vec<EngineSession>> },
    /// A command of the user.
    Command { session_id: String, command: Command, reply: Reply<CommandResult> },
    /// A model that the loop named.
    Model { session_id: String, model: String },
    /// The mode that a session begins in.
    StartMode { session_id: String, mode: Box<ModeChange> },
}

impl OwnRequest {
    /// Nobody will answer.
    pub(super) fn refuse(self, error: &CodedError) {
        match self {
            // What was to be deleted at the agent is told apart from what is deleted here: it can be tried again.
            Self::Delete { reply, .. } => reply.refuse(error.clone()),
            Self::Command { reply, .. } => reply.refuse(error.clone()),
            Self::List { so_far, give } => {
                // Nobody may wait any more.
                let _ = give.send(so_far);
            }
            Self::Initialize
            | Self::Open { .. }
            | Self::Prompt { .. }
            | Self::Close { .. }
            | Self::Model { .. }
            | Self::StartMode { .. } => {}
        }
    }
}

struct UnansweredRequest {
    asked: OwnRequest,
    until: Option<Instant>,
}

/// What waits for an answer, by our id. Bounded by what the loop asks: a turn and an opening a session, and commands.
#[derive(Default)]
pub(super) struct OwnRequests {
    waiting: BTreeMap<u64, UnansweredRequest>,
    last: u64,
}

impl OwnRequests {
    /// Its id. Ids go on over processes, so that no answer fits a request of another.
    pub(super) fn add(&mut self, asked: OwnRequest, until: Option<Instant>) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, UnansweredRequest { asked, until });
        self.last
    }

    /// What was asked with this id and not answered yet.
    pub(super) fn take(&mut self, id: u64) -> Option<OwnRequest> {
        self.waiting.remove(&id).map(|waiting| waiting.asked)
    }

    /// The session of a request that still waits.
    pub(super) fn session_of(&self, id: u64) -> Option<&str> {
        match &self.waiting.get(&id)?.asked {
            OwnRequest::Open { session_id, .. }
            | OwnRequest::Prompt { session_id, .. }
            | OwnRequest::Close { session_id }
            | OwnRequest::Delete { session_id, .. }
            | OwnRequest::Command { session_id, .. }
            | OwnRequest::Model { session_id, .. }
            | OwnRequest::StartMode { session_id, .. } => Some(session_id),
            OwnRequest::Initialize | OwnRequest::List { .. } => None,
        }
    }

    /// Whether an answer is wanted. That of a prompt which was given up need not come.
    pub(super) fn any_wanted(&self, works: impl Fn(&str) -> bool) -> bool {
        self.waiting.values().any(|waiting| match &waiting.asked {
            OwnRequest::Prompt { session_id, .. } => works(session_id),
            _ => true,
        })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|waiting| waiting.until).min()
    }

    /// What was not answered in time.
    pub(super) fn take_late(&mut self, now: Instant) -> Vec<(u64, OwnRequest)> {
        let late: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.until.is_some_and(|until| until <= now))
            .map(|(id, _)| *id)
            .collect();
        late.into_iter().filter_map(|id| self.take(id).map(|asked| (id, asked))).collect()
    }

    pub(super) fn take_all(&mut self) -> Vec<OwnRequest> {
        std::mem::take(&mut self.waiting).into_values().map(|waiting| waiting.asked).collect()
    }
}
