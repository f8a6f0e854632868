//! In which order looks at the files of the workspace began, and which of them is believed.
//!
//! Owns the numbers. Never looks itself.

/// The looks of one pool, numbered in the order in which they began.
#[derive(Default)]
pub(super) struct LookOrder {
    /// How many began.
    begun: u64,
    /// The one whose servers stand; 0 when none does.
    standing: u64,
}

impl LookOrder {
    /// The number of a look that begins now.
    pub(super) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// Whether what this look saw is as new as what stands.
    pub(super) fn is_news(&self, number: u64) -> bool {
        number >= self.standing
    }

    /// What this look saw stands.
    pub(super) fn stands(&mut self, number: u64) {
        self.standing = number;
    }
}
