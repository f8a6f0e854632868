//! The requests of an agent that its client serves, while they are under way.
//!
//! Owns their numbers and their bound. Never does one.

use std::collections::BTreeMap;

use super::client_side::CreateTerminal;
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::payload::Payload;

/// What is done once the user allows it.
#[derive(Debug)]
pub(super) enum Then {
    Write(String),
    Run(CreateTerminal),
    /// The agent does it itself, once it is allowed.
    Permit,
}

/// A request that the user is asked about once what it would change is known.
#[derive(Debug)]
pub(super) struct ToAsk {
    pub(super) method: String,
    pub(super) params: Payload,
    pub(super) repaired: bool,
    pub(super) then: Then,
}

/// A request whose work is not done.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) id: RpcId,
    pub(super) session_id: String,
    /// Nobody was asked yet.
    pub(super) to_ask: Option<Box<ToAsk>>,
    /// It goes no further once its turn is stopped.
    pub(super) ends_with_a_stop: bool,
}

/// Requests of one agent that can be under way; agents wait for a few at once. One more is refused.
const UNDER_WAY: usize = 256;

/// What is under way, by our number.
#[derive(Debug, Default)]
pub(super) struct ClientRequests {
    under_way: BTreeMap<u64, UnderWay>,
    last: u64,
}

impl ClientRequests {
    /// Its number.
    pub(super) fn add(&mut self, one: UnderWay) -> u64 {
        self.last += 1;
        self.under_way.insert(self.last, one);
        self.last
    }

    pub(super) fn is_full(&self) -> bool {
        self.under_way.len() >= UNDER_WAY
    }

    pub(super) fn take(&mut self, number: u64) -> Option<UnderWay> {
        self.under_way.remove(&number)
    }

    pub(super) fn take_all(&mut self) -> Vec<UnderWay> {
        std::mem::take(&mut self.under_way).into_values().collect()
    }

    pub(super) fn session_of(&self, number: u64) -> Option<&str> {
        self.under_way.get(&number).map(|one| one.session_id.as_str())
    }

    /// Those of a session for which this holds.
    pub(super) fn numbers_of(&self, session_id: &str, fits: impl Fn(&UnderWay) -> bool) -> Vec<u64> {
        let of_session = self.under_way.iter().filter(|(_, one)| one.session_id == session_id && fits(one));
        of_session.map(|(number, _)| *number).collect()
    }

    /// Whether anything of this session waits for us.
    pub(super) fn any_of(&self, session_id: &str) -> bool {
        self.under_way.values().any(|one| one.session_id == session_id)
    }

    pub(super) fn number_of(&self, id: &RpcId) -> Option<u64> {
        self.under_way.iter().find(|(_, one)| one.id == *id).map(|(number, _)| *number)
    }
}
