//! The requests of an agent that wait for the user, by the agent's ids.

use std::collections::HashMap;

use super::client_side::Job;
use crate::domain::dialect::acp::decode::RpcId;

/// The methods that ask the user.
pub(super) const PERMISSION: &str = "session/request_permission";
pub(super) const ELICITATION: &str = "elicitation/create";

/// What kind of answer is waited for.
#[derive(Debug)]
pub(super) enum Kind {
    Permission,
    Elicitation,
    /// This is done once it is allowed.
    Work(Box<Job>),
}

impl Kind {
    /// Of a method that asks by itself.
    pub(super) fn of(method: &str) -> Self {
        if method == PERMISSION { Self::Permission } else { Self::Elicitation }
    }
}

/// One request that waits.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) session_id: String,
    pub(super) kind: Kind,
}

/// Who waits, by the agent's id.
#[derive(Debug, Default)]
pub(super) struct Asks {
    pub(super) waiting: HashMap<RpcId, Ask>,
}

impl Asks {
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
