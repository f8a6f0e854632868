//! Leading-edge batching: after a quiet time events leave at once, in a burst one batch leaves a window, so that a flood
//! costs few messages and a single token no delay.
//!
//! The windows of a quiet time are saved, a few of them: an even stream that is slower than the window never waits, though
//! single events of it come late and the next ones on their heels (a token bucket, as in ITU-T I.371's GCRA).
//!
//! Never merges, drops or reorders events.

use std::borrow::Cow;
use std::collections::VecDeque;

/// Events on their way, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// `seq` of the first event.
    pub from_seq: u64,
    /// `seq` of the last event.
    pub to_seq: u64,
    /// The events as JSON, comma-joined: what stands between the brackets of an array.
    pub events: Vec<u8>,
    /// How many.
    pub count: usize,
}

/// Bytes that a batch of more than one event gets room for.
const MANY: usize = 48 << 10;

/// Windows of a quiet time that are saved: so many batches more than one leave without waiting when it is over.
const SAVED: u64 = 3;

/// The batcher of one session.
///
/// It holds at most one batch above its limits at a time, provided that the caller takes whenever a batch is full.
#[derive(Debug)]
pub struct Batcher {
    window_us: u64,
    max_events: usize,
    max_bytes: usize,
    /// When the next batch would be due if no window were saved.
    next_us: u64,
    open: Option<Batch>,
    /// Batches that are full and wait to be taken.
    full: VecDeque<Batch>,
}

impl Batcher {
    /// A batcher with a window in milliseconds (0: no event ever waits) and limits of a batch.
    pub fn new(max_latency_ms: u64, max_events: usize, max_bytes: usize) -> Self {
        Self {
            window_us: max_latency_ms.saturating_mul(1_000),
            max_events: max_events.max(1),
            max_bytes,
            next_us: 0,
            open: None,
            full: VecDeque::new(),
        }
    }

    /// Changes window and limits; what already waits is not split again. With another window the count begins anew.
    pub fn set_limits(&mut self, max_latency_ms: u64, max_events: usize, max_bytes: usize) {
        let window_us = max_latency_ms.saturating_mul(1_000);
        if window_us != self.window_us {
            (self.window_us, self.next_us) = (window_us, 0);
        }
        self.max_events = max_events.max(1);
        self.max_bytes = max_bytes;
    }

    /// Adds the next event; `seq` follows the last one. Gives whether a batch is full, and then every batch is to be taken
    /// now. A text of its own, not a borrowed one, is not copied when it begins a batch, so that a large event is not.
    pub fn push<'e>(&mut self, event_json: impl Into<Cow<'e, [u8]>>, seq: u64) -> bool {
        let event_json = event_json.into();
        // One event larger than the limit still goes, alone.
        if self.open.as_ref().is_some_and(|open| open.events.len() + 1 + event_json.len() > self.max_bytes) {
            self.full.extend(self.open.take());
        }
        {
            let open = match &mut self.open {
                Some(open) => {
                    if open.count == 1 {
                        // More will follow; a batch that grows by itself is copied six times on its way.
                        open.events.reserve(MANY.min(self.max_bytes));
                    }
                    open.events.push(b',');
                    open.events.extend_from_slice(&event_json);
                    open
                }
                none => none.insert(Batch {
                    from_seq: seq,
                    to_seq: seq,
                    events: event_json.into_owned(),
                    count: 0,
                }),
            };
            open.to_seq = seq;
            open.count += 1;
        }
        self.is_full()
    }

    /// Whether a batch is full, as `push` said of it.
    pub fn is_full(&self) -> bool {
        let full = |open: &Batch| open.count >= self.max_events || open.events.len() >= self.max_bytes;
        !self.full.is_empty() || self.open.as_ref().is_some_and(full)
    }

    /// The next batch; `None` when nothing is left. Call until `None`. `now_us` is a monotonic clock in microseconds. Each
    /// batch uses up a window, counted from when it was due and not from when a late timer rang.
    pub fn take(&mut self, now_us: u64) -> Option<Batch> {
        let batch = self.full.pop_front().or_else(|| self.open.take())?;
        let next = self.next_us.max(now_us).saturating_add(self.window_us);
        // Full batches leave whenever they are full; what comes after them waits no longer than a window all the same.
        let latest = now_us.saturating_add(self.window_us.saturating_mul(SAVED + 1));
        self.next_us = next.min(latest);
        Some(batch)
    }

    /// When what waits is due, on the clock of `take`; `None` when nothing waits. It may be in the past, and then what comes
    /// together should be pushed before it is taken.
    pub fn due_us(&self) -> Option<u64> {
        let waits = self.open.is_some() || !self.full.is_empty();
        waits.then(|| self.free_us())
    }

    /// From when on a batch need not wait.
    fn free_us(&self) -> u64 {
        self.next_us.saturating_sub(self.window_us.saturating_mul(SAVED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch(from_seq: u64, to_seq: u64, events: &str, count: usize) -> Option<Batch> {
        Some(Batch { from_seq, to_seq, events: events.as_bytes().to_vec(), count })
    }

    /// A batcher that has saved no window: `SAVED` and one batches left at once at `now`.
    fn spent(now: u64, max_latency_ms: u64, max_events: usize, max_bytes: usize) -> Batcher {
        let mut batcher = Batcher::new(max_latency_ms, max_events, max_bytes);
        for _ in 0..=SAVED {
            assert!(!batcher.push(b"{0}", 1));
            assert!(batcher.due_us().is_some_and(|due| due <= now));
            assert_eq!(batcher.take(now), batch(1, 1, "{0}", 1));
        }
        batcher
    }

    #[test]
    fn r003_52_after_a_quiet_time_events_leave_at_once_and_in_a_burst_the_next_ones_share_a_window() {
        let mut batcher = spent(100, 4, 64, 1_000);
        assert_eq!(batcher.take(100), None);
        assert!(!batcher.push(b"{2}", 2));
        assert_eq!(batcher.due_us(), Some(4_100));
        assert!(!batcher.push(b"{3}", 3));
        assert_eq!(batcher.due_us(), Some(4_100));
        assert_eq!(batcher.take(4_100), batch(2, 3, "{2},{3}", 2));
        assert_eq!(batcher.due_us(), None);
        assert!(!batcher.push(b"{4}", 4));
        assert_eq!(batcher.due_us(), Some(8_100));
    }

    #[test]
    fn r003_52_an_even_stream_slower_than_the_window_never_waits_though_it_comes_unevenly_and_timers_ring_late()
     {
        let mut batcher = spent(0, 4, 64, 1_000);
        // What waits at first leaves by a timer that rings late.
        batcher.push(b"{1}", 2);
        let mut now = batcher.due_us().unwrap() + 990;
        batcher.take(now);
        let mut waited = 0;
        for seq in 3..103 {
            // Each third one is late, and the next two come on its heels.
            now += [5_000, 9_500, 500][seq as usize % 3];
            batcher.push(b"{1}", seq);
            let due = batcher.due_us().unwrap();
            waited += u64::from(due > now);
            batcher.take(now.max(due));
        }
        assert!(waited <= 3, "{waited} of a hundred waited");
    }

    #[test]
    fn a_flood_of_full_batches_does_not_make_the_last_event_wait_longer_than_the_window() {
        let mut batcher = Batcher::new(4, 1, 1_000);
        for seq in 1..=100 {
            assert!(batcher.push(b"{1}", seq));
            batcher.take(7);
        }
        batcher.set_limits(4, 2, 1_000);
        assert!(!batcher.push(b"{1}", 101));
        assert_eq!(batcher.due_us(), Some(4_007));
    }

    #[test]
    fn another_window_holds_at_once() {
        let mut batcher = spent(100, 1_000, 64, 1_000);
        assert!(!batcher.push(b"{2}", 2));
        assert_eq!(batcher.due_us(), Some(1_000_100));
        batcher.set_limits(4, 64, 1_000);
        assert!(batcher.due_us().is_some_and(|due| due <= 200));
    }

    #[test]
    fn a_full_batch_does_not_wait() {
        let mut batcher = spent(0, 1_000, 2, 1_000);
        assert!(!batcher.push(b"{2}", 2));
        assert_eq!(batcher.due_us(), Some(1_000_000));
        assert!(batcher.push(b"{3}", 3));
        assert_eq!(batcher.take(2), batch(2, 3, "{2},{3}", 2));
    }

    #[test]
    fn an_event_above_the_byte_limit_goes_alone() {
        let mut batcher = spent(0, 1_000, 64, 8);
        assert!(!batcher.push(b"{2}", 2));
        assert_eq!(batcher.due_us(), Some(1_000_000));
        assert!(batcher.push(b"{3333333333}", 3));
        assert_eq!(batcher.take(2), batch(2, 2, "{2}", 1));
        assert_eq!(batcher.take(2), batch(3, 3, "{3333333333}", 1));
        assert_eq!(batcher.take(2), None);
    }

    #[test]
    fn without_a_window_nothing_waits() {
        let mut batcher = Batcher::new(0, 64, 1_000);
        for seq in 1..9 {
            batcher.push(b"{}", seq);
            assert!(batcher.due_us().is_some_and(|due| due <= 7));
            assert_eq!(batcher.take(7), batch(seq, seq, "{}", 1));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn r000_50_every_event_leaves_once_in_order_and_none_waits_longer_than_the_window(
            sizes in proptest::collection::vec((0..6_000_u64, 1..40_usize), 1..60),
            window in 0..6_u64,
            max_events in 1..6_usize,
            max_bytes in 1..60_usize,
        ) {
            let mut batcher = Batcher::new(window, max_events, max_bytes);
            let mut now = 0;
            let mut sent: Vec<Batch> = Vec::new();
            let mut pushed_at: Vec<u64> = Vec::new();
            for ((gap, size), seq) in sizes.iter().zip(1_u64..) {
                let next = now + gap;
                // The timer fires in between.
                if let Some(due) = batcher.due_us().filter(|due| *due <= next) {
                    while let Some(batch) = batcher.take(due) {
                        for seq in batch.from_seq..=batch.to_seq {
                            prop_assert!(due - pushed_at[seq as usize - 1] <= window * 1_000);
                        }
                        sent.push(batch);
                    }
                }
                now = next;
                pushed_at.push(now);
                let full = batcher.push(vec![b'x'; *size], seq);
                if full || batcher.due_us().is_some_and(|due| due <= now) {
                    while let Some(batch) = batcher.take(now) {
                        sent.push(batch);
                    }
                }
            }
            while let Some(batch) = batcher.take(now) {
                sent.push(batch);
            }
            let mut expected = 1;
            for batch in sent {
                prop_assert_eq!(batch.from_seq, expected);
                prop_assert_eq!(batch.to_seq + 1 - batch.from_seq, batch.count as u64);
                prop_assert!(batch.count <= max_events);
                prop_assert!(batch.events.len() <= max_bytes || batch.count == 1);
                prop_assert_eq!(batch.events.iter().filter(|byte| **byte == b',').count() + 1, batch.count);
                expected = batch.to_seq + 1;
            }
            prop_assert_eq!(expected, sizes.len() as u64 + 1);
        }
    }
}
