//! A streamed body as events.
//!
//! Owns the limits on a stream and the order of its events. Never looks into an event.
//!
//! The limit on one event counts what is not yet complete, after whole events were taken out: how much of a stream came in
//! one read of the socket says nothing about the size of its events.

use std::collections::VecDeque;

use bytes::Bytes;

use super::answer::Answer;
use super::budget::Share;
use super::failure::HttpError;
use super::lines::LineDecoder;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Bytes that are decoded at a time. Between two pieces everything else on the thread has its turn.
const PIECE_BYTES: usize = 16 * 1024;

/// How a body is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-Sent Events; an event is its data.
    Sse,
    /// One event a line.
    Lines,
}

/// Limits on a streamed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventLimits {
    /// Bytes of one event.
    pub event_bytes: usize,
    /// Bytes of the body, whatever they are.
    pub stream_bytes: u64,
    /// Events in the body.
    pub events: u64,
}

/// The events of one body.
#[derive(Debug)]
pub(crate) struct Events {
    answer: Answer,
    limits: EventLimits,
    /// For what `decoder` and `ready` hold, and the event that was given out last.
    share: Share,
    decoder: FramingDecoder,
    /// Whole events: those that one piece completed, so few bytes beside the largest.
    ready: VecDeque<Vec<u8>>,
    /// What came and is not decoded yet.
    undecoded: Bytes,
    bytes: u64,
    events: u64,
    state: StreamState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StreamState {
    Open,
    /// This is still to be said, behind what is ready.
    Failed(HttpError),
    Over,
}

impl Events {
    /// The events of `answer`, which hold no more than `share` can.
    pub(crate) fn new(answer: Answer, framing: Framing, limits: EventLimits, share: Share) -> Self {
        Self {
            answer,
            limits,
            share,
            decoder: FramingDecoder::new(framing, limits.event_bytes),
            ready: VecDeque::new(),
            undecoded: Bytes::new(),
            bytes: 0,
            events: 0,
            state: StreamState::Open,
        }
    }

    /// The next event; `None` at the end of the body or behind an error. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, HttpError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.events += 1;
                if self.events > self.limits.events {
                    self.state = StreamState::Over;
                    self.ready.clear();
                    return Some(Err(HttpError::TooManyEvents(self.limits.events)));
                }
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.state, StreamState::Over) {
                StreamState::Over => return None,
                StreamState::Failed(error) => return Some(Err(error)),
                StreamState::Open => self.state = self.read().await,
            }
        }
    }

    /// Decodes one piece, and reads the socket when there is none.
    async fn read(&mut self) -> StreamState {
        // A drop in one of the two awaits leaves a state to go on from: nothing was taken out yet.
        self.state = StreamState::Open;
        // Whoever asks for the next event is done with the last one. Holding less never fails.
        let _ = self.share.hold(self.decoder.held_bytes());
        tokio::task::yield_now().await;
        if self.undecoded.is_empty() {
            match self.answer.piece().await {
                Ok(Some(bytes)) => self.undecoded = bytes,
                Ok(None) => {
                    self.decoder.end(&mut self.ready);
                    return StreamState::Over;
                }
                Err(error) => return StreamState::Failed(error),
            }
        }
        let piece = self.undecoded.split_to(PIECE_BYTES.min(self.undecoded.len()));
        self.bytes += piece.len() as u64;
        if self.bytes > self.limits.stream_bytes {
            return StreamState::Failed(HttpError::StreamTooLarge(self.limits.stream_bytes));
        }
        let fed = self.decoder.feed(&piece, &mut self.ready);
        let held = self.decoder.held_bytes() + self.ready.iter().map(Vec::len).sum::<usize>();
        match (fed, self.share.hold(held)) {
            (Ok(()), Ok(())) => StreamState::Open,
            (Err(error), _) => StreamState::Failed(error),
            (Ok(()), Err(_)) => StreamState::Failed(HttpError::Crowded),
        }
    }
}

/// Divides bytes into events, without a socket.
#[derive(Debug)]
pub(crate) struct FramingDecoder {
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
    pub(crate) fn new(framing: Framing, limit: usize) -> Self {
        let framing = match framing {
            Framing::Sse => Decoders::Sse(Box::new(SseDecoder::new(limit))),
            Framing::Lines => Decoders::Lines(LineDecoder::new(limit)),
        };
        Self { limit, framing }
    }

    /// Bytes that it holds of the event in progress.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.framing {
            Decoders::Sse(decoder) => decoder.held_bytes(),
            Decoders::Lines(decoder) => decoder.held_bytes(),
        }
    }

    /// Takes the next bytes and adds each event that they complete.
    ///
    /// # Errors
    /// When an event passed the limit, complete or not. Events before it were added.
    pub(crate) fn feed(&mut self, bytes: &[u8], ready: &mut VecDeque<Vec<u8>>) -> Result<(), HttpError> {
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
    pub(crate) fn end(&mut self, ready: &mut VecDeque<Vec<u8>>) {
        match &mut self.framing {
            Decoders::Lines(decoder) => decoder.end(&mut |line| ready.push_back(line.to_vec())),
            Decoders::Sse(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;

    const LIMITS: EventLimits = EventLimits { event_bytes: 40, stream_bytes: 200, events: 8 };

    /// What a body of these pieces becomes: its events, and the error behind them.
    async fn read(framing: Framing, pieces: &[&str]) -> (Vec<String>, Option<HttpError>) {
        read_with(framing, pieces, &Budget::new(1_000)).await
    }

    async fn read_with(
        framing: Framing,
        pieces: &[&str],
        budget: &std::sync::Arc<Budget>,
    ) -> (Vec<String>, Option<HttpError>) {
        let pieces: Vec<Bytes> =
            pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        let body = futures::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let response = hyper::Response::new(reqwest::Body::wrap_stream(body));
        let mut events = Events::new(Answer::of(response.into()), framing, LIMITS, budget.share());
        let (mut found, mut failed) = (Vec::new(), None);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => found.push(String::from_utf8(event).unwrap()),
                Err(error) => failed = Some(error),
            }
        }
        (found, failed)
    }

    #[tokio::test]
    async fn a_limit_on_an_event_says_nothing_about_how_much_comes_at_once() {
        let events = "data: 0123456789\n\n".repeat(8);
        let expected = vec!["0123456789".to_owned(); 8];
        assert_eq!(read(Framing::Sse, &[&events]).await, (expected.clone(), None));
        let lines = "0123456789\n".repeat(8);
        assert_eq!(read(Framing::Lines, &[&lines]).await, (expected, None));
    }

    #[tokio::test]
    async fn an_event_without_an_end_fails_at_its_limit_and_those_before_it_count() {
        let (good, half) = ("data: good\n\n", "data: 012345678901234567890123456789");
        let expected = (vec!["good".to_owned()], Some(HttpError::EventTooLarge(40)));
        assert_eq!(read(Framing::Sse, &[good, half, "0123456789", "0"]).await, expected);
        let lines = ["good\n", "012345678901234567890123456789", "0123456789", "0"];
        assert_eq!(read(Framing::Lines, &lines).await, expected);
    }

    #[tokio::test]
    async fn a_stream_without_an_end_fails_at_its_limits() {
        let comments = [": still here\n\n"; 20];
        assert_eq!(read(Framing::Sse, &comments).await, (vec![], Some(HttpError::StreamTooLarge(200))));
        let (found, failed) = read(Framing::Sse, &["data: a\n\n"; 9]).await;
        assert_eq!((found.len(), failed), (8, Some(HttpError::TooManyEvents(8))));
    }

    #[tokio::test]
    async fn a_stream_ends_when_others_hold_what_it_would_need_and_gives_back_what_it_held() {
        let budget = Budget::new(50);
        let mut other = budget.share();
        other.hold(30).unwrap();
        let half = ["data: 0123456789", "0123456789", "0"];
        assert_eq!(read_with(Framing::Sse, &half, &budget).await, (vec![], Some(HttpError::Crowded)));
        assert_eq!(other.hold(50), Ok(()));
    }
}
