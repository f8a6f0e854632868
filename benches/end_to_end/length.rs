//! How long a run is: in full for the published table, or short for every change.

/// How much each group measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// What the published table is made with.
    Full,
    /// Fewer rounds and events, a few minutes in all. The two million events of `stalled` stay: they are its claim.
    Short,
}

impl Length {
    pub fn pick<T>(self, full: T, short: T) -> T {
        match self {
            Self::Full => full,
            Self::Short => short,
        }
    }
}
