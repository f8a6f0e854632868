//! The requests of an agent that its client serves: which there are, and which are under way.

use std::collections::BTreeMap;

use super::client_side::CreateTerminal;
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::payload::Payload;

/// A method that a client may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Read,
    Write,
    Create,
    Output,
    Wait,
    Kill,
    Release,
}

impl Method {
    pub(super) fn named(method: &str) -> Option<Self> {
        match method {
            "fs/read_text_file" => Some(Self::Read),
            "fs/write_text_file" => Some(Self::Write),
            "terminal/create" => Some(Self::Create),
            "terminal/output" => Some(Self::Output),
            "terminal/wait_for_exit" => Some(Self::Wait),
            "terminal/kill" => Some(Self::Kill),
            "terminal/release" => Some(Self::Release),
            _ => None,
        }
    }

    pub(super) fn is_of_files(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether it may begin in a turn only. A terminal outlives its turn, and may be looked at and ended at any time.
    pub(super) fn needs_a_turn(self) -> bool {
        self.is_of_files() || self == Self::Create
    }
}

/// What is done once the user allows it.
#[derive(Debug)]
pub(super) enum Then {
    Write(String),
    Run(CreateTerminal),
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

/// What is under way, by our number.
#[derive(Debug, Default)]
pub(super) struct ClientRequests {
    pub(super) under_way: BTreeMap<u64, UnderWay>,
    pub(super) last: u64,
}

impl ClientRequests {
    /// Whether anything of this session waits for us.
    pub(super) fn any_of(&self, session_id: &str) -> bool {
        self.under_way.values().any(|one| one.session_id == session_id)
    }

    pub(super) fn number_of(&self, id: &RpcId) -> Option<u64> {
        self.under_way.iter().find(|(_, one)| one.id == *id).map(|(number, _)| *number)
    }
}
