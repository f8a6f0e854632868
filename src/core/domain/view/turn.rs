//! The turn that runs, or the last one, and how the ids of its blocks name it.

use serde::{Deserialize, Serialize};

/// The turn that runs, or the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    /// Its first number, ours or the engine's.
    pub(super) number: Option<u64>,
    /// The number of the step, where an engine numbers the steps of a run and not its turns.
    pub(super) step: Option<u64>,
    /// Ours: turns so far. Engines restart their numbers, so ids hold both.
    pub(super) index: u64,
    pub(super) ended: bool,
    /// Whether the chat says already what went wrong in it.
    told: bool,
}

impl Turn {
    /// A turn that ended, as the `index`th.
    pub(super) fn over(index: u64) -> Self {
        Self { index, ended: true, ..Self::default() }
    }

    /// The turn after this one.
    pub(super) fn next(&self, number: Option<u64>) -> Self {
        Self { number, index: self.index + 1, ..Self::default() }
    }

    /// Whether there was any: the first one has no count.
    pub(super) fn is_known(&self) -> bool {
        self.index > 0 || self.number.is_some()
    }

    /// Notes that the chat says what went wrong in it. `true`: it did already.
    pub(super) fn tell(&mut self) -> bool {
        std::mem::replace(&mut self.told, true)
    }

    /// Whether the chat says already what went wrong in it.
    pub(super) fn is_told(&self) -> bool {
        self.told
    }

    pub(super) fn name(&self) -> TurnName {
        TurnName { label: self.number.unwrap_or(0), index: self.index }
    }
}

/// How the ids of a turn's blocks name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnName {
    /// The engine's number, 0 without one.
    pub(super) label: u64,
    /// Turns of the session so far.
    pub(super) index: u64,
}
