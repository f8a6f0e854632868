//! The requests of an agent that wait for the user, by the agent's ids.
//!
//! Owns their bound. Never answers one: `asks` does.

use std::collections::HashMap;

use super::client_side::Job;
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::edits::told::ToldEdit;

/// The methods that ask the user.
pub(super) const PERMISSION: &str = "session/request_permission";
pub(super) const ELICITATION: &str = "elicitation/create";

/// What kind of answer is waited for.
#[derive(Debug)]
pub(super) enum AskKind {
    /// With the edits that it tells.
    Permission(Vec<ToldEdit>),
    Elicitation,
    /// This is done once it is allowed.
    Work(Box<Job>),
}

impl AskKind {
    /// Of a method that asks by itself; `edits` are those that it tells.
    pub(super) fn of(method: &str, edits: Vec<ToldEdit>) -> Self {
        if method == PERMISSION { Self::Permission(edits) } else { Self::Elicitation }
    }
}

/// One request that waits.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) session_id: String,
    pub(super) kind: AskKind,
}

/// Asks of one agent that can wait for the user; agents ask step by step. One more is answered as cancelled at once.
const ASKS: usize = 256;

/// Who waits, by the agent's id.
#[derive(Debug, Default)]
pub(super) struct Asks {
    waiting: HashMap<RpcId, Ask>,
}

impl Asks {
    pub(super) fn add(&mut self, id: RpcId, ask: Ask) {
        self.waiting.insert(id, ask);
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= ASKS
    }

    pub(super) fn take(&mut self, id: &RpcId) -> Option<(RpcId, Ask)> {
        self.waiting.remove_entry(id)
    }

    /// Those of a session, in the order of their ids.
    pub(super) fn take_of(&mut self, session_id: &str) -> Vec<(RpcId, Ask)> {
        let of_session = |_: &RpcId, ask: &mut Ask| ask.session_id == session_id;
        let mut taken: Vec<(RpcId, Ask)> = self.waiting.extract_if(of_session).collect();
        taken.sort_by(|one, other| one.0.json().cmp(other.0.json()));
        taken
    }

    /// Whether anything of this session waits for the user.
    pub(super) fn any_of(&self, session_id: &str) -> bool {
        self.waiting.values().any(|ask| ask.session_id == session_id)
    }

    /// Whether the request with this id waits for the user.
    pub(super) fn waits(&self, id: &RpcId) -> bool {
        self.waiting.contains_key(id)
    }

    /// The process is gone, and with it whoever waited.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
