//! `seq`: per session from 1, without holes.
//!
//! Never goes back: after a restart it continues from the head of the journal.

use serde::{Deserialize, Serialize};

/// The last `seq` given; 0 when none was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence {
    head: u64,
}

impl Sequence {
    /// Continues after the head of a journal.
    pub fn after(head: u64) -> Self {
        Self { head }
    }

    /// The last `seq` given.
    pub fn head(self) -> u64 {
        self.head
    }

    /// Gives the next one.
    #[allow(
        clippy::should_implement_trait,
        reason = "not an iterator: it never ends and its numbers are never skipped"
    )]
    pub fn next(&mut self) -> u64 {
        self.head += 1;
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_at_one_and_continue_after_the_journal() {
        let mut sequence = Sequence::default();
        assert_eq!((sequence.next(), sequence.next(), sequence.head()), (1, 2, 2));
        assert_eq!(Sequence::after(41).next(), 42);
    }
}
