//! How one client follows one session.
//!
//! Owns what the client has been told of it, and what it still has to be told. A session that a client does not follow has no
//! subscription. Never sends: `tell` does.

use super::inbox::Reply;
use crate::protocol::request::SelectSessionResult;

/// A client that follows a session.
#[derive(Debug)]
pub(super) struct Subscription {
    /// How far `bb/events` is.
    pub(super) events: EventFlow,
    /// Whether `bb/view` goes on from what the client has.
    pub(super) view: ViewCopy,
    /// Whether anybody looks.
    pub(super) audience: Audience,
    /// `bb/selectSession` of this client, waiting for the first news of the engine's stream.
    pub(super) selecting: Vec<Reply<SelectSessionResult>>,
}

/// Whether new batches go straight out, or the client is behind and reads from the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventFlow {
    /// Straight out.
    Direct,
    /// From this `seq` on, from the journal, when the outbox has room.
    Behind {
        /// Next event to send.
        next_seq: u64,
    },
}

/// The view as the client has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewCopy {
    /// Changes can follow.
    Current,
    /// It must be replaced by a snapshot.
    Stale,
}

/// Whether a client hears of a session that it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// It hears everything.
    Present,
    /// Its tab of the session is hidden or has no view: it hears on when that changes, or when it asks for the session.
    Away,
}

impl Subscription {
    pub(super) fn new(audience: Audience) -> Self {
        Self { events: EventFlow::Direct, view: ViewCopy::Current, audience, selecting: Vec::new() }
    }

    /// Whether somebody looks.
    pub(super) fn is_present(&self) -> bool {
        self.audience == Audience::Present
    }

    /// Whether there is something that the client has not been told.
    pub(super) fn owes(&self) -> bool {
        self.events != EventFlow::Direct || self.view != ViewCopy::Current
    }

    /// A batch was not told; it is read again later, and the view with it.
    pub(super) fn miss(&mut self, from_seq: u64) {
        if self.events == EventFlow::Direct {
            self.events = EventFlow::Behind { next_seq: from_seq };
        }
        self.view = ViewCopy::Stale;
    }

    /// The last event that the client was sent, where the journal has `flushed` of them.
    pub(super) fn sent_up_to(&self, flushed: u64) -> u64 {
        match self.events {
            EventFlow::Direct => flushed,
            EventFlow::Behind { next_seq } => next_seq.saturating_sub(1),
        }
    }
}
