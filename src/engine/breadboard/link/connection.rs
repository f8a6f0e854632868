//! One connection: what it was opened for, what came of it so far, and what a silence comes to.
//!
//! Owns the half-read event, the moment at which the backlog has come, and the watch over silence. Never knows its link and
//! never waits: it says what it finds, and the link does what follows from that (`follow`, `take`).

use std::time::Duration;

use tokio::time::Instant;

use super::WallClock;
use super::item::Item;
use super::source::{Beginning, LARGEST_EVENT};
use super::timing::LinkTiming;
use crate::domain::delivery::continuity::{HISTORY_TRIES, HOLE_TRIES};
use crate::domain::wire::sse::SseDecoder;

/// Items whose room is kept for the next chunk: those of a large chunk of small events.
const MOST_ITEMS: usize = 1_024;

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

/// What a silence comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing so far.
    Waits,
    /// The machine slept, and few connections survive that.
    Slept,
    /// The engine's history may be another one than ours, and has ended below our place.
    Doubt,
    /// The stream of an ended session stopped in the middle of an event.
    Stalled,
    /// The session is to be asked for.
    Probe,
    /// The stream is to be opened again.
    Long,
}

/// What a connection has to know of its link.
pub(super) struct Standpoint<'a> {
    /// The last number that was taken or given up.
    pub(super) last: u64,
    /// The engine's newest number, where it says so.
    pub(super) head: Option<u64>,
    /// Whether a turn runs.
    pub(super) busy: bool,
    /// How often in a row an idle stream was opened again without anything coming.
    pub(super) idle_times: u32,
    pub(super) pace: &'a LinkTiming,
}

impl Standpoint<'_> {
    fn renew_after(&self) -> Duration {
        if self.busy { self.pace.renew_busy } else { self.pace.idle(self.idle_times) }
    }
}

/// One connection.
pub(super) struct Connection {
    decoder: SseDecoder,
    /// Room for what a chunk completes.
    items: Vec<Item>,
    /// The session has ended: the stream hangs open once everything has come.
    over: bool,
    beginning: Beginning,
    /// Whether a number came.
    counted: bool,
    /// The highest number that came.
    highest: u64,
    /// The verdict was given.
    settled: bool,
    /// The session was asked for in this silence.
    probed: bool,
    /// It was asked for, or said something new, since this connection was opened.
    lives: bool,
    /// After a loss behind the verdict: what still stands was asked for, once a connection.
    asked_facts: bool,
    opened: Instant,
    /// When the last chunk had been passed on.
    last: Option<Instant>,
    /// Both clocks at one moment; the wall's in milliseconds.
    mark: (Instant, i64),
}

impl Connection {
    pub(super) fn new(beginning: Beginning, over: bool, wall: i64) -> Self {
        let now = Instant::now();
        Self {
            decoder: SseDecoder::new(LARGEST_EVENT),
            items: Vec::new(),
            over,
            beginning,
            counted: false,
            highest: 0,
            settled: false,
            probed: false,
            lives: false,
            asked_facts: false,
            opened: now,
            last: None,
            mark: (now, wall),
        }
    }

    /// What a chunk completes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Item> {
        let mut items = std::mem::take(&mut self.items);
        self.decoder.feed(bytes, &mut |item| items.push(Item::read(item)));
        items
    }

    /// A chunk was passed on; its room is kept for the next one.
    pub(super) fn keep_room(&mut self, items: Vec<Item>) {
        if items.capacity() <= MOST_ITEMS {
            self.items = items;
        }
    }

    /// Something came, and was passed on.
    pub(super) fn came(&mut self) {
        self.lives |= self.settled;
        self.last = Some(Instant::now());
        self.probed = false;
    }

    /// How often to ask again for what is missing before this number.
    pub(super) fn tries_before(&mut self, seq: Option<u64>) -> u32 {
        let Some(seq) = seq else { return HOLE_TRIES };
        self.highest = self.highest.max(seq);
        let is_first = !std::mem::replace(&mut self.counted, true);
        match self.beginning {
            Beginning { declared: true, .. } => 0,
            // Before the first number of the engine's history is what it dropped.
            Beginning { history: true, .. } if is_first => HISTORY_TRIES,
            Beginning { .. } => HOLE_TRIES,
        }
    }

    /// Where the engine said that its log begins, when that is behind the last number.
    pub(super) fn begins_behind(&mut self, last: u64) -> Option<u64> {
        let place = self.beginning.begins_after.filter(|place| *place > last)?;
        // The history goes on behind our place, so it is the one that we know.
        self.highest = place;
        Some(place)
    }

    /// It begins with whatever comes: the engine has nothing of before.
    pub(super) fn is_live(&self) -> bool {
        self.beginning.live
    }

    /// Whether a number came that is one.
    pub(super) fn has_numbers(&self) -> bool {
        self.highest > 0
    }

    /// Whether the verdict was given.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// The verdict was given.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// The same without any history: whatever comes now comes behind the gap that was told.
    pub(super) fn settle_behind_a_gap(&mut self) {
        self.beginning.declared = true;
        self.settled = true;
    }

    /// Whether everything of a session that has ended came.
    pub(super) fn is_drained(&self) -> bool {
        self.settled && self.over
    }

    /// Whether what still stands at the engine is to be asked for after a loss: once a connection.
    pub(super) fn asks_for_facts(&mut self) -> bool {
        !std::mem::replace(&mut self.asked_facts, true)
    }

    /// The body ended: why the stream is opened again, unless its session has ended.
    pub(super) fn ends_early(&self) -> Option<&'static str> {
        if self.decoder.is_within_event() {
            return Some("The stream of this session ended in the middle of an event; it is opened again.");
        }
        (!self.over).then_some("The engine ended the stream of this session; it is opened again.")
    }

    /// A connection that stood for a while was a good one, unless it should have ended.
    pub(super) fn was_good(&self, pace: &LinkTiming) -> bool {
        !self.over && self.opened.elapsed() >= pace.steady
    }

    /// Whether the backlog has come and the verdict is due.
    pub(super) fn has_come(&self, at: &Standpoint<'_>) -> bool {
        if self.settled || self.is_doubtful(at) {
            return false;
        }
        if at.head.is_some_and(|head| at.last >= head) {
            return true;
        }
        let now = Instant::now();
        let quiet = now >= self.silent_since() + self.quiet(at.pace) && !self.decoder.is_within_event();
        if self.over {
            return quiet;
        }
        // An engine that says where its head is has not said everything before it is there.
        (quiet && at.head.is_none()) || now >= self.opened + at.pace.verdict
    }

    /// When to look up from the stream.
    pub(super) fn next_look(&self, at: &Standpoint<'_>) -> Instant {
        let pace = at.pace;
        let since = self.silent_since();
        let next = if self.waits_in_doubt(at) {
            since + pace.doubt
        } else if self.settled {
            let renew = since + at.renew_after();
            if self.probed { renew } else { renew.min(since + self.probe_after(at)) }
        } else if self.decoder.is_within_event() {
            if self.over { since + pace.drain_stall } else { self.opened + pace.verdict }
        } else if self.over {
            since + pace.drained
        } else if at.head.is_some() {
            self.opened + pace.verdict
        } else {
            (since + self.quiet(pace)).min(self.opened + pace.verdict)
        };
        next.min(self.mark.0 + pace.tick)
    }

    /// Nothing came for a while.
    pub(super) fn look(&mut self, at: &Standpoint<'_>, now_ms: &WallClock) -> Silence {
        let now = Instant::now();
        if self.slept(now, at.pace, now_ms) {
            return Silence::Slept;
        }
        let silence = now.saturating_duration_since(self.silent_since());
        if self.waits_in_doubt(at) && silence >= at.pace.doubt {
            return Silence::Doubt;
        }
        if !self.settled {
            let stalled = self.over && self.decoder.is_within_event() && silence >= at.pace.drain_stall;
            return if stalled { Silence::Stalled } else { Silence::Waits };
        }
        if silence >= at.renew_after() {
            return Silence::Long;
        }
        if silence >= self.probe_after(at) && !self.probed {
            self.probed = true;
            self.lives = true;
            return Silence::Probe;
        }
        Silence::Waits
    }

    /// Whether the engine's history may be another one than ours: it did not know our place, and ends before it.
    fn is_doubtful(&self, at: &Standpoint<'_>) -> bool {
        self.beginning.place_unknown && self.highest < at.last
    }

    /// Whether that has to be decided. Without any history it is decided once.
    fn waits_in_doubt(&self, at: &Standpoint<'_>) -> bool {
        self.is_doubtful(at) && !(self.settled && self.highest == 0)
    }

    /// Since when nothing came.
    fn silent_since(&self) -> Instant {
        self.last.unwrap_or(self.opened)
    }

    fn quiet(&self, pace: &LinkTiming) -> Duration {
        match (self.over, self.last) {
            (true, _) => pace.drained,
            (false, Some(_)) => pace.quiet,
            (false, None) => pace.first_quiet,
        }
    }

    fn probe_after(&self, at: &Standpoint<'_>) -> Duration {
        if at.busy && !self.lives { at.pace.first_probe } else { at.pace.probe_silence }
    }

    /// Whether the wall clock ran away from ours.
    fn slept(&mut self, now: Instant, pace: &LinkTiming, now_ms: &WallClock) -> bool {
        let (then, wall_then) = self.mark;
        let elapsed = now.saturating_duration_since(then);
        if elapsed < pace.tick {
            return false;
        }
        let wall = now_ms();
        self.mark = (now, wall);
        let ours = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        let apart = wall.saturating_sub(wall_then).saturating_sub(ours).unsigned_abs();
        u128::from(apart) > pace.jump.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_our_place() -> Beginning {
        Beginning { history: false, place_unknown: false, declared: false, live: false, begins_after: None }
    }

    fn connection(beginning: Beginning) -> Connection {
        Connection::new(beginning, false, 0)
    }

    #[test]
    fn what_is_missing_is_asked_for_by_where_the_stream_begins() {
        let tries = |beginning, numbers: [Option<u64>; 3]| {
            let mut connection = connection(beginning);
            numbers.map(|seq| connection.tries_before(seq))
        };
        assert_eq!(tries(at_our_place(), [Some(7), None, Some(9)]), [HOLE_TRIES; 3]);
        let history = Beginning { history: true, ..at_our_place() };
        assert_eq!(tries(history, [None, Some(7), Some(9)]), [HOLE_TRIES, HISTORY_TRIES, HOLE_TRIES]);
        let declared = Beginning { declared: true, ..history };
        assert_eq!(tries(declared, [None, Some(7), Some(9)]), [HOLE_TRIES, 0, 0]);
    }

    #[test]
    fn a_log_that_begins_behind_our_place_is_the_one_that_we_know() {
        let beginning = Beginning { place_unknown: true, begins_after: Some(9), ..at_our_place() };
        let pace = LinkTiming::default();
        let at = Standpoint { last: 9, head: Some(9), busy: false, idle_times: 0, pace: &pace };
        let mut later = connection(beginning);
        assert_eq!((later.begins_behind(9), later.has_come(&at)), (None, false), "it may be another history");
        let mut behind = connection(beginning);
        assert_eq!((behind.begins_behind(4), behind.has_come(&at)), (Some(9), true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_comes_to_one_probe_and_then_to_a_new_connection() {
        let pace = LinkTiming::default();
        let at = Standpoint { last: 0, head: None, busy: true, idle_times: 0, pace: &pace };
        let wall: WallClock = {
            let began = Instant::now();
            std::sync::Arc::new(move || i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX))
        };
        let mut connection = connection(at_our_place());
        connection.settle();
        connection.came();
        assert_eq!(connection.look(&at, &wall), Silence::Waits);
        tokio::time::advance(pace.probe_silence).await;
        assert_eq!(connection.look(&at, &wall), Silence::Probe);
        assert_eq!(connection.look(&at, &wall), Silence::Waits, "once in a silence");
        tokio::time::advance(pace.renew_busy).await;
        assert_eq!(connection.look(&at, &wall), Silence::Long);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_ran_ahead_says_that_the_machine_slept() {
        let pace = LinkTiming::default();
        let at = Standpoint { last: 0, head: None, busy: false, idle_times: 0, pace: &pace };
        let mut connection = connection(at_our_place());
        tokio::time::advance(pace.tick).await;
        let an_hour_later: WallClock = std::sync::Arc::new(|| 3_600_000_i64);
        assert_eq!(connection.look(&at, &an_hour_later), Silence::Slept);
    }
}
