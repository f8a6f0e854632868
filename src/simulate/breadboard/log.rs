//! The event log of one session: numbers, eviction, and where a stream may take up again.
//!
//! Never sends: who is listening is the session's business.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

/// One event as it went into the log. Its number never changes.
#[derive(Debug)]
pub(super) struct Logged {
    /// Position in the session, from 1, without holes.
    pub seq: u64,
    /// The event id, a UUID. A stream may take up after it as well as after the number.
    pub id: String,
    /// The event type.
    pub kind: String,
    /// JSON text of the payload.
    pub payload: String,
    /// The text behind `data: `.
    pub data: Bytes,
    /// When it happened, for the latency of the network.
    pub at: Instant,
}

/// What a connection asks of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogStart {
    /// Only what comes.
    Live,
    /// All that is left, or its newest part.
    Replay { limit: Option<usize> },
    /// What followed this number or event id, or the newest part of that.
    After { id: String, limit: Option<usize> },
}

/// The event that a stream should go on after is not in the log any more, or never was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutOfWindow;

/// The log: the newest events, at most `max`.
#[derive(Debug)]
pub(super) struct EventLog {
    kept: VecDeque<Arc<Logged>>,
    head: u64,
    max: usize,
}

impl EventLog {
    /// An empty log that keeps `max` events; the oldest goes first, without a trace.
    pub(super) fn new(max: usize) -> Self {
        Self { kept: VecDeque::new(), head: 0, max: max.max(1) }
    }

    /// The number of the newest event, 0 before the first.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// The number of the oldest event that is left.
    pub(super) fn first(&self) -> Option<u64> {
        self.kept.front().map(|event| event.seq)
    }

    /// How many events it keeps at most.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// All that is left, oldest first.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Arc<Logged>> {
        self.kept.iter()
    }

    /// Puts the next event at the head; its number must be `head() + 1`.
    pub(super) fn push(&mut self, event: Arc<Logged>) {
        self.head = event.seq;
        self.kept.push_back(event);
        while self.kept.len() > self.max {
            self.kept.pop_front();
        }
    }

    /// Forgets everything up to and with `seq`.
    pub(super) fn evict(&mut self, seq: u64) {
        while self.first().is_some_and(|first| first <= seq) {
            self.kept.pop_front();
        }
    }

    /// The history that a connection gets. Section 3 of the facts: the event named must still be in the log itself, so
    /// even the one right before the first is refused, and so is `0`.
    pub(super) fn resume(&self, wish: &LogStart) -> Result<Vec<Arc<Logged>>, OutOfWindow> {
        let (skip, limit) = match wish {
            LogStart::Live => return Ok(Vec::new()),
            LogStart::Replay { limit } => (0, limit),
            LogStart::After { id, limit } => {
                let at = self.kept.iter().position(|event| event.id == *id || event.seq.to_string() == *id);
                (at.ok_or(OutOfWindow)? + 1, limit)
            }
        };
        let left = self.kept.len().saturating_sub(skip);
        let newest = limit.map_or(0, |limit| left.saturating_sub(limit));
        Ok(self.kept.iter().skip(skip + newest).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(max: usize, count: u64) -> EventLog {
        let mut log = EventLog::new(max);
        for seq in 1..=count {
            log.push(Arc::new(Logged {
                seq,
                id: format!("e{seq}"),
                kind: "warning".into(),
                payload: "{}".into(),
                data: Bytes::new(),
                at: Instant::now(),
            }));
        }
        log
    }

    fn after(log: &EventLog, id: &str, limit: Option<usize>) -> Result<Vec<u64>, OutOfWindow> {
        numbers(log, &LogStart::After { id: id.into(), limit })
    }

    fn numbers(log: &EventLog, wish: &LogStart) -> Result<Vec<u64>, OutOfWindow> {
        log.resume(wish).map(|events| events.iter().map(|event| event.seq).collect())
    }

    #[test]
    fn the_newest_stay_and_replay_starts_later_without_a_word() {
        let log = log(3, 5);
        assert_eq!(numbers(&log, &LogStart::Replay { limit: None }), Ok(vec![3, 4, 5]));
        assert_eq!(numbers(&log, &LogStart::Replay { limit: Some(2) }), Ok(vec![4, 5]));
        assert_eq!(numbers(&log, &LogStart::Replay { limit: Some(0) }), Ok(vec![]));
        assert_eq!(numbers(&log, &LogStart::Live), Ok(vec![]));
    }

    #[test]
    fn a_stream_goes_on_after_a_number_or_an_id_that_is_still_there() {
        let log = log(3, 5);
        assert_eq!(after(&log, "3", None), Ok(vec![4, 5]));
        assert_eq!(after(&log, "e3", None), Ok(vec![4, 5]));
        assert_eq!(after(&log, "3", Some(1)), Ok(vec![5]));
        assert_eq!(after(&log, "5", None), Ok(vec![]));
        // The last loses nothing in truth; the engine refuses it all the same.
        for gone in ["1", "2", "0", "6", "e2", "05", "word", ""] {
            assert_eq!(after(&log, gone, None), Err(OutOfWindow), "{gone}");
        }
    }

    #[test]
    fn what_is_evicted_is_gone_and_the_numbers_go_on() {
        let mut log = log(9, 4);
        log.evict(4);
        assert_eq!((log.first(), log.head()), (None, 4));
        assert_eq!(after(&log, "4", None), Err(OutOfWindow));
    }
}
