//! One connection: what it was opened for, and what is known of it so far.
//!
//! Owns these facts. What is done with them: `follow` and `take`.

use tokio::time::Instant;

use super::source::{Beginning, LARGEST_EVENT};
use crate::domain::event::EngineEvent;
use crate::domain::wire::sse::SseDecoder;

/// One item of a chunk.
#[allow(clippy::large_enum_variant, reason = "nearly every item is an event")]
pub(super) enum Item {
    Event { event: EngineEvent, seq: Option<u64> },
    TooLarge { id: Option<String> },
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It broke, or the engine closed it: one sentence.
    Broken(String),
    /// Something is missing that the engine may still have: ask again from our place.
    Again,
    /// It may be dead, or the session over: look.
    Renew,
    /// The session has ended and everything has come.
    Drained,
}

/// One connection.
pub(super) struct Connection {
    pub(super) decoder: SseDecoder,
    /// Room for what a chunk completes.
    pub(super) items: Vec<Item>,
    /// The session has ended: the stream hangs open once everything has come.
    pub(super) over: bool,
    pub(super) beginning: Beginning,
    /// Whether a number came.
    pub(super) counted: bool,
    /// The verdict was given.
    pub(super) settled: bool,
    /// The session was asked for in this silence.
    pub(super) probed: bool,
    /// It was asked for, or said something new, since this connection was opened.
    pub(super) lives: bool,
    /// After a loss behind the verdict: what still stands was asked for, once a connection.
    pub(super) asked_facts: bool,
    /// The highest number that came.
    pub(super) highest: u64,
    pub(super) opened: Instant,
    /// When the last chunk had been passed on.
    pub(super) last: Option<Instant>,
    /// Both clocks at one moment; the wall's in milliseconds.
    pub(super) mark: (Instant, i64),
}

impl Connection {
    pub fn new(beginning: Beginning, over: bool, wall: i64) -> Self {
        let now = Instant::now();
        Self {
            decoder: SseDecoder::new(LARGEST_EVENT),
            items: Vec::new(),
            over,
            beginning,
            counted: false,
            settled: false,
            probed: false,
            lives: false,
            asked_facts: false,
            highest: 0,
            opened: now,
            last: None,
            mark: (now, wall),
        }
    }
}
