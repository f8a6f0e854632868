//! A streamed body as events.
//!
//! Owns the limits on a stream and the order of its events. Never looks into an event.
//!
//! The limit on one event counts what is not yet complete, after whole events were taken out: how much of a stream came in
//! one read of the socket says nothing about the size of its events.

use std::collections::VecDeque;

use bytes::Bytes;

use super::answer::Answer;
use super::failure::HttpError;
use super::lines::LineDecoder;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Bytes that are decoded at a time. Between two pieces everything else on the thread has its turn.
const PIECE_BYTES: usize = 16 * 1024;

/// How a body is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-Sent Events; an event is its data.
    Sse,
    /// One event a line.
    Lines,
}

/// Limits on a streamed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Bytes of one event.
    pub event_bytes: usize,
    /// Bytes of the body, whatever they are.
    pub stream_bytes: u64,
    /// Events in the body.
    pub events: u64,
}

/// The events of one body.
#[derive(Debug)]
pub struct Events {
    answer: Answer,
    limits: EventLimits,
    decoder: FramingDecoder,
    /// Whole events: those that one piece completed, so few bytes beside the largest.
    ready: VecDeque<Vec<u8>>,
    /// What came and is not decoded yet.
    undecoded: Bytes,
    bytes: u64,
    events: u64,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Open,
    /// This is still to be said, behind what is ready.
    Failed(HttpError),
    Over,
}

impl Events {
    /// The events of `answer`.
    pub fn new(answer: Answer, framing: Framing, limits: EventLimits) -> Self {
        Self {
            answer,
            limits,
            decoder: FramingDecoder::new(framing, limits.event_bytes),
            ready: VecDeque::new(),
            undecoded: Bytes::new(),
            bytes: 0,
            events: 0,
            state: State::Open,
        }
    }

    /// The next event; `None` at the end of the body or behind an error. May be dropped while it waits.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, HttpError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.events += 1;
                if self.events > self.limits.events {
                    self.state = State::Over;
                    self.ready.clear();
                    return Some(Err(HttpError::TooManyEvents(self.limits.events)));
                }
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Failed(error) => return Some(Err(error)),
                State::Open => self.state = self.read().await,
            }
        }
    }

    /// Decodes one piece, and reads the socket when there is none.
    async fn read(&mut self) -> State {
        // A drop in one of the two awaits leaves a state to go on from: nothing was taken out yet.
        self.state = State::Open;
        tokio::task::yield_now().await;
        if self.undecoded.is_empty() {
            match self.answer.piece().await {
                Ok(Some(bytes)) => self.undecoded = bytes,
                Ok(None) => {
                    self.decoder.end(&mut self.ready);
                    return State::Over;
                }
                Err(error) => return State::Failed(error),
            }
        }
        let piece = self.undecoded.split_to(PIECE_BYTES.min(self.undecoded.len()));
        self.bytes += piece.len() as u64;
        if self.bytes > self.limits.stream_bytes {
            return State::Failed(HttpError::StreamTooLarge(self.limits.stream_bytes));
        }
        match self.decoder.feed(&piece, &mut self.ready) {
            Ok(()) => State::Open,
            Err(error) => State::Failed(error),
        }
    }
}

/// Divides bytes into events, without a socket.
#[derive(Debug)]
pub struct FramingDecoder {
    limit: usize,
    framing: Decoders,
}

#[derive(Debug)]
enum Decoders {
    Sse(Box<SseDecoder>),
    Lines(LineDecoder),
}

impl FramingDecoder {
    /// A decoder of events of at most `limit` bytes.
    pub fn new(framing: Framing, limit: usize) -> Self {
        let framing = match framing {
            Framing::Sse => Decoders::Sse(Box::new(SseDecoder::new(limit))),
            Framing::Lines => Decoders::Lines(LineDecoder::new(limit)),
        };
        Self { limit, framing }
    }

    /// Takes the next bytes and adds each event that they complete.
    ///
    /// # Errors
    /// When an event passed the limit, complete or not. Events before it were added.
    pub fn feed(&mut self, bytes: &[u8], ready: &mut VecDeque<Vec<u8>>) -> Result<(), HttpError> {
        let too_large = HttpError::EventTooLarge(self.limit);
        match &mut self.framing {
            Decoders::Lines(decoder) => {
                decoder.feed(bytes, &mut |line| ready.push_back(line.to_vec())).map_err(|_| too_large)
            }
            Decoders::Sse(decoder) => {
                let mut outcome = Ok(());
                decoder.feed(bytes, &mut |item| match item {
                    SseItem::Frame(frame) if outcome.is_ok() => ready.push_back(frame.data.to_vec()),
                    SseItem::Frame(_) => {}
                    SseItem::TooLarge(_) => outcome = Err(too_large.clone()),
                });
                // An event without an end would pass the limit for ever.
                if outcome.is_ok() && decoder.is_past_limit() { Err(too_large) } else { outcome }
            }
        }
    }

    /// The body is at its end. A half-read event of Server-Sent Events counts for nothing; a last line does.
    pub fn end(&mut self, ready: &mut VecDeque<Vec<u8>>) {
        match &mut self.framing {
            Decoders::Lines(decoder) => decoder.end(&mut |line| ready.push_back(line.to_vec())),
            Decoders::Sse(_) => {}
        }
    }
}
