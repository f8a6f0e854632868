//! Whether the events of an engine that numbers them come without a hole, and what a resume brought.
//!
//! Owns the last number taken, the patience with a hole, and the verdict. The engine gives the numbers, from 1 on in each
//! session. Never opens a stream and never keeps an event: it says what to do with the one at hand. An event without a
//! number is passed on and moves nothing.

/// How often a hole in the middle of a stream is asked for again before it counts as lost. The engine's log usually still
/// has what its stream left out; three times the same answer is an answer.
pub const HOLE_TRIES: u32 = 3;

/// How often a history that begins too late is asked for again. The same beginning twice is where the log begins.
pub const HISTORY_TRIES: u32 = 1;

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is the next one: taken.
    Next,
    /// It was taken before: not again.
    Duplicate,
    /// It has no number: passed on.
    Unnumbered,
    /// Numbers are missing before it: not taken; ask again from the last one taken.
    Hole {
        /// First missing number.
        from: u64,
        /// Last missing number.
        to: u64,
    },
    /// Numbers are missing before it and do not come any more: taken, after the loss was told.
    Lost {
        /// First missing number.
        from: u64,
        /// Last missing number.
        to: u64,
    },
}

/// Where the stream of a session stands in the engine's numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Continuity {
    /// The last number taken or given up; 0 before the first.
    last: u64,
    /// Holes met since the last event that was taken in order.
    tries: u32,
}

impl Continuity {
    /// Continues after the last number that is known; `None` at the beginning.
    pub fn after(last: Option<u64>) -> Self {
        Self { last: last.unwrap_or(0), ..Self::default() }
    }

    /// The last number taken or given up; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Takes the next event, or says why not. `patience`: how many holes in a row are asked for again.
    pub fn take(&mut self, seq: Option<u64>, patience: u32) -> Step {
        // The engine counts from 1: a 0 is no number.
        let Some(seq) = seq.filter(|seq| *seq > 0) else { return Step::Unnumbered };
        if seq <= self.last {
            return Step::Duplicate;
        }
        let from = self.last.saturating_add(1);
        if seq == from {
            self.stand_at(seq);
            return Step::Next;
        }
        let to = seq - 1;
        if self.tries >= patience {
            self.stand_at(seq);
            return Step::Lost { from, to };
        }
        self.tries += 1;
        Step::Hole { from, to }
    }

    /// The engine counts anew from 1.
    pub fn begin_again(&mut self) {
        *self = Self::default();
    }

    /// Whether what is missing up to `to`, with nothing behind it, is asked for once more.
    pub fn wait_for(&mut self, to: u64, patience: u32) -> bool {
        let more = to > self.last && self.tries < patience;
        self.tries += u32::from(more);
        more
    }

    /// Gives up everything up to `to`: what comes next comes behind it.
    pub fn give_up(&mut self, to: u64) {
        if to > self.last {
            self.stand_at(to);
        }
    }

    fn stand_at(&mut self, seq: u64) {
        *self = Self::after(Some(seq));
    }
}

/// What a resume brought, in words that are true for the numbers they name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumedLink {
    /// Nothing was missed.
    Complete,
    /// These came after the break, in order and without a hole.
    Replayed {
        /// How many.
        events: u64,
        /// First number of the engine's.
        from: u64,
        /// Last one.
        to: u64,
    },
    /// The engine no longer knew our place and gave its whole history: these came since, and nothing was missed.
    Resynced {
        /// First number of the engine's.
        from: u64,
        /// Last one.
        to: u64,
    },
    /// These are missing for good.
    Lost {
        /// First missing number of the engine's.
        from: u64,
        /// Last missing number, where it is known.
        to: Option<u64>,
        /// Why, as the end of a sentence, and whether more is missing behind them.
        reason: String,
    },
}

/// The books of one resume: from the break to the moment at which the backlog has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resumption {
    place_unknown: bool,
    events: u64,
    first: u64,
    last: u64,
    lost: Option<Lost>,
    more_lost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Lost {
    from: u64,
    to: Option<u64>,
    reason: String,
}

impl Resumption {
    /// The engine did not know our place and was asked for its whole history.
    pub fn place_was_unknown(&mut self) {
        self.place_unknown = true;
    }

    /// An event with this number was passed on.
    pub fn took(&mut self, seq: u64) {
        if self.events == 0 {
            self.first = seq;
        }
        self.events += 1;
        self.last = seq;
    }

    /// These numbers are missing for good. The first stretch is the one that the verdict names; one of the same reason
    /// that follows it directly belongs to it.
    pub fn lost(&mut self, from: u64, to: Option<u64>, reason: &str) {
        match &mut self.lost {
            None => self.lost = Some(Lost { from, to, reason: reason.to_owned() }),
            Some(first)
                if !self.more_lost
                    && first.reason == reason
                    && first.to.and_then(|last| last.checked_add(1)) == Some(from) =>
            {
                first.to = to;
            }
            Some(_) => self.more_lost = true,
        }
    }

    /// Whether anything was lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Whether anything came or was lost.
    pub fn brought_something(&self) -> bool {
        self.events > 0 || self.has_lost()
    }

    /// The verdict.
    pub fn verdict(&self) -> ResumedLink {
        let (events, from, to) = (self.events, self.first, self.last);
        match &self.lost {
            Some(Lost { from, to, reason }) => {
                let more = if self.more_lost { "; more is missing behind them" } else { "" };
                ResumedLink::Lost { from: *from, to: *to, reason: format!("{reason}{more}") }
            }
            None if events == 0 => ResumedLink::Complete,
            None if self.place_unknown => ResumedLink::Resynced { from, to },
            None => ResumedLink::Replayed { events, from, to },
        }
    }
}

#[cfg(test)]
#[path = "continuity_tests.rs"]
mod tests;
