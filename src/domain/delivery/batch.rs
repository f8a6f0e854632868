//! Leading-edge batching: the first event after a quiet window leaves at once, what follows within the window waits for
//! its end, so that a burst costs few messages and a single token no delay.
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

/// What to do after a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Take every batch now.
    FlushNow,
    /// Take them when the clock says this, in microseconds.
    Wait {
        /// End of the window, on the clock of `push`.
        deadline_us: u64,
    },
}

/// The batcher of one session.
///
/// It holds at most one batch above its limits at a time, provided that the caller takes after each `FlushNow`.
#[derive(Debug)]
pub struct Batcher {
    window_us: u64,
    max_events: usize,
    max_bytes: usize,
    /// Start of the window: when the last batch left.
    flushed_us: Option<u64>,
    open: Option<Batch>,
    /// Whether an event waits for the end of the window.
    waits: bool,
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
            flushed_us: None,
            open: None,
            waits: false,
            full: VecDeque::new(),
        }
    }

    /// Changes window and limits; what already waits is not split again.
    pub fn set_limits(&mut self, max_latency_ms: u64, max_events: usize, max_bytes: usize) {
        self.window_us = max_latency_ms.saturating_mul(1_000);
        self.max_events = max_events.max(1);
        self.max_bytes = max_bytes;
    }

    /// Adds the next event. `now_us` is a monotonic clock in microseconds; `seq` follows the last one. A text of its own, not
    /// a borrowed one, is not copied when it begins a batch, so that a large event is not.
    pub fn push<'e>(&mut self, now_us: u64, event_json: impl Into<Cow<'e, [u8]>>, seq: u64) -> Verdict {
        let event_json = event_json.into();
        // One event larger than the limit still goes, alone.
        if self.open.as_ref().is_some_and(|open| open.events.len() + 1 + event_json.len() > self.max_bytes) {
            self.full.extend(self.open.take());
        }
        let deadline = self.deadline_us();
        let full = {
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
            open.count >= self.max_events || open.events.len() >= self.max_bytes
        };
        if full || !self.full.is_empty() {
            return Verdict::FlushNow;
        }
        match deadline {
            Some(deadline_us) if now_us < deadline_us => {
                self.waits = true;
                Verdict::Wait { deadline_us }
            }
            Some(_) | None => Verdict::FlushNow,
        }
    }

    /// The next batch; `None` when nothing is left. Call until `None`. The window starts anew with each batch taken: now, or
    /// when a batch that waited was due. A timer rings up to a millisecond late; counted from then, an even stream whose events
    /// come a little further apart than the window would be late for ever, once it was late.
    pub fn take(&mut self, now_us: u64) -> Option<Batch> {
        let batch = self.full.pop_front().or_else(|| self.open.take())?;
        let due = self.deadline_us().filter(|_| std::mem::take(&mut self.waits));
        self.flushed_us = Some(due.map_or(now_us, |due| due.min(now_us)));
        Some(batch)
    }

    /// When what waits is due, in microseconds; `None` when nothing waits.
    pub fn due_us(&self) -> Option<u64> {
        if self.open.is_none() && self.full.is_empty() {
            return None;
        }
        Some(self.deadline_us().unwrap_or(0))
    }

    fn deadline_us(&self) -> Option<u64> {
        self.flushed_us.map(|flushed| flushed.saturating_add(self.window_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch(from_seq: u64, to_seq: u64, events: &str, count: usize) -> Option<Batch> {
        Some(Batch { from_seq, to_seq, events: events.as_bytes().to_vec(), count })
    }

    #[test]
    fn r003_52_the_first_event_after_a_quiet_window_leaves_at_once_and_the_next_ones_share_its_end() {
        let mut batcher = Batcher::new(4, 64, 1_000);
        assert_eq!(batcher.push(100, b"{1}", 1), Verdict::FlushNow);
        assert_eq!(batcher.take(100), batch(1, 1, "{1}", 1));
        assert_eq!(batcher.take(100), None);
        assert_eq!(batcher.push(1_000, b"{2}", 2), Verdict::Wait { deadline_us: 4_100 });
        assert_eq!(batcher.push(4_099, b"{3}", 3), Verdict::Wait { deadline_us: 4_100 });
        assert_eq!(batcher.due_us(), Some(4_100));
        assert_eq!(batcher.take(4_100), batch(2, 3, "{2},{3}", 2));
        assert_eq!(batcher.due_us(), None);
        assert_eq!(batcher.push(8_100, b"{4}", 4), Verdict::FlushNow);
    }

    #[test]
    fn r003_52_a_timer_that_rings_late_does_not_keep_an_even_stream_late() {
        let mut batcher = Batcher::new(4, 64, 1_000);
        batcher.push(0, b"{0}", 1);
        batcher.take(0);
        // One event comes early for once; each further one five milliseconds after the other, and timers ring late.
        let mut now = 1_500;
        let mut waited = 0;
        for seq in 2..12 {
            if let Verdict::Wait { deadline_us } = batcher.push(now, b"{1}", seq) {
                waited += 1;
                batcher.take(deadline_us + 990);
            } else {
                batcher.take(now);
            }
            now += 5_000;
        }
        assert!(waited <= 3, "{waited} of ten waited");
    }

    #[test]
    fn a_full_batch_does_not_wait() {
        let mut batcher = Batcher::new(1_000, 2, 1_000);
        batcher.push(0, b"{1}", 1);
        batcher.take(0);
        assert!(matches!(batcher.push(1, b"{2}", 2), Verdict::Wait { .. }));
        assert_eq!(batcher.push(2, b"{3}", 3), Verdict::FlushNow);
        assert_eq!(batcher.take(2), batch(2, 3, "{2},{3}", 2));
    }

    #[test]
    fn an_event_above_the_byte_limit_goes_alone() {
        let mut batcher = Batcher::new(1_000, 64, 8);
        batcher.push(0, b"{1}", 1);
        batcher.take(0);
        assert!(matches!(batcher.push(1, b"{2}", 2), Verdict::Wait { .. }));
        assert_eq!(batcher.push(2, b"{3333333333}", 3), Verdict::FlushNow);
        assert_eq!(batcher.take(2), batch(2, 2, "{2}", 1));
        assert_eq!(batcher.take(2), batch(3, 3, "{3333333333}", 1));
        assert_eq!(batcher.take(2), None);
    }

    #[test]
    fn without_a_window_nothing_waits() {
        let mut batcher = Batcher::new(0, 64, 1_000);
        for seq in 1..5 {
            assert_eq!(batcher.push(7, b"{}", seq), Verdict::FlushNow);
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
                if batcher.push(now, vec![b'x'; *size], seq) == Verdict::FlushNow {
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
