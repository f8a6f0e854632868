//! Who waits for an answer between us and an agent, in each direction.
//!
//! Owns the three tables together. What is asked and answered: `own_request` ours, `ask` what waits for the user,
//! `client_request` what is done for the agent.

use super::ask::Asks;
use super::client_request::ClientRequests;
use super::own_request::OwnRequests;
use crate::domain::dialect::acp::decode::RpcId;

/// Who waits for an answer.
#[derive(Default)]
pub(super) struct Rpc {
    /// Ours, by our ids.
    pub(super) own: OwnRequests,
    /// The agent's that wait for the user.
    pub(super) asks: Asks,
    /// The agent's that are being done.
    pub(super) wanted: ClientRequests,
}

impl Rpc {
    /// Whether the agent waits for an answer under this id.
    pub(super) fn is_waited_for(&self, id: &RpcId) -> bool {
        self.wanted.number_of(id).is_some() || self.asks.waits(id)
    }

    /// Whether anything of this session waits for the user or for us.
    pub(super) fn holds_up(&self, session_id: &str) -> bool {
        self.asks.any_of(session_id) || self.wanted.any_of(session_id)
    }
}
