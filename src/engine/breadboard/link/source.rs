//! What a link needs of the way to the engine.
//!
//! Owns the two questions (how does the session stand, give me its stream) and the reading of a summary. A trait, so that
//! a test can tell a link anything.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::super::client::{Client, EventStream, From};
use super::super::engine_error::EngineError;
use crate::domain::dialect::breadboard::decode::decode;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Most bytes of one event. The engine's largest are below 100 KB and an artifact comes as a file, so this is a wall
/// against a runaway; what is larger is told as a gap of its number.
pub(in crate::engine::breadboard) const LARGEST_EVENT: usize = 32 << 20;

/// The way to the engine.
pub trait Source: Send + Sync + 'static {
    /// An open stream. Dropping it closes the connection.
    type Stream: Chunks;

    /// The summary of a session.
    fn session(&self, session_id: &str) -> impl Future<Output = Result<Value, EngineError>> + Send;

    /// Opens the stream of a session.
    fn open(
        &self,
        session_id: &str,
        from: From,
    ) -> impl Future<Output = Result<Self::Stream, EngineError>> + Send;

    /// The number of the newest event, for an engine whose summary does not say it. Nothing where it does not come within
    /// this time.
    fn newest(&self, session_id: &str, within: Duration) -> impl Future<Output = Option<u64>> + Send {
        let _ = (session_id, within);
        std::future::ready(None)
    }

    /// The sentence for the user. Names the engine; never a token.
    fn say(&self, trouble: &EngineError) -> String;
}

/// A body that comes piece by piece.
pub trait Chunks: Send {
    /// The next bytes; `None` at the body's own end. Nothing is lost when the future is dropped.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, EngineError>>> + Send;
}

impl Source for Client {
    type Stream = EventStream;

    async fn session(&self, session_id: &str) -> Result<Value, EngineError> {
        Client::session(self, session_id).await
    }

    async fn open(&self, session_id: &str, from: From) -> Result<EventStream, EngineError> {
        self.events(session_id, from).await
    }

    async fn newest(&self, session_id: &str, within: Duration) -> Option<u64> {
        let asked = async {
            let mut stream = self.events(session_id, From::Newest).await.ok()?;
            let mut decoder = SseDecoder::new(LARGEST_EVENT);
            let mut seq = None;
            while seq.is_none() {
                let bytes = stream.next().await?.ok()?;
                decoder.feed(&bytes, &mut |item| match item {
                    SseItem::Frame(frame) => seq = seq.or(decode(&frame).seq),
                    SseItem::TooLarge(event) => seq = seq.or(event.own_id.and_then(|id| id.parse().ok())),
                });
            }
            seq
        };
        timeout(within, asked).await.ok().flatten()
    }

    fn say(&self, trouble: &EngineError) -> String {
        trouble.told(self.base_url().origin()).message
    }
}

impl Chunks for EventStream {
    async fn next(&mut self) -> Option<Result<Bytes, EngineError>> {
        EventStream::next(self).await
    }
}

/// A stream that was opened.
pub(super) struct Opened<T> {
    pub stream: T,
    pub beginning: Beginning,
}

/// Where a stream begins, and what the engine said of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    /// It begins with the engine's history, not behind our place.
    pub history: bool,
    /// The engine did not know our place.
    pub place_unknown: bool,
    /// The engine said itself that what is missing at the beginning is gone.
    pub declared: bool,
    /// It begins with whatever comes: the engine has nothing of before.
    pub live: bool,
    /// Where the engine said what is missing: its log begins behind this number, and whatever of before has not come is lost.
    pub begins_after: Option<u64>,
}

/// What a link reads of a summary.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The engine's word for how the session stands.
    pub status: String,
    /// Newer engines only: the newest number.
    pub head: Option<u64>,
    /// Newer engines only: whether a turn runs, or waits to.
    pub busy: Option<bool>,
    /// The rest that the engine knows.
    pub metadata: Map<String, Value>,
}

impl Summary {
    /// Reads one. What is not there is unknown.
    pub(super) fn read(mut summary: Value) -> Self {
        let metadata = match summary.get_mut("metadata").map(Value::take) {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        let waits = summary.get("queued_turn_count").and_then(Value::as_u64).unwrap_or(0);
        let word = |name: &str| summary.get(name).and_then(Value::as_str);
        Self {
            status: word("status").unwrap_or_default().to_owned(),
            head: summary.get("headSequence").and_then(Value::as_u64),
            busy: word("turn_admission").map(|admission| admission != "idle" || waits > 0),
            metadata,
        }
    }

    /// Whether the session has ended. An ended session's stream hangs open for ever; an idle one is still `running`.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "stopped")
    }
    /// Whether the engine may be deleting it: it says so just before it takes the session out of its list.
    pub(super) fn is_being_deleted(&self) -> bool {
        self.status == "stopped"
    }
}
