//! One turn of a session.
//!
//! ```text
//!   Waiting ──── sent ───▶ Running ──── stopped ───▶ Stopping
//! ```
//!
//! It is gone when the agent answered, the process ended, or it was stopped before it was sent.

use tokio::time::Instant;

use super::writes::{AllowedEdits, ToldCalls};
use crate::app::ports::Prompt;

/// One turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) number: u64,
    pub(super) stage: TurnStage,
    /// What the user allowed at the agent in it.
    pub(super) allowed: AllowedEdits,
    /// What its tool calls told that they change.
    pub(super) told: ToldCalls,
    /// Requests of the agent that were denied in it.
    pub(super) denials: DeniedRequests,
}

/// How many requests were denied in a turn, and whether the agent went on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DeniedRequests {
    /// Nothing was denied.
    #[default]
    None,
    /// So many, and the agent has said and begun nothing since.
    Last(u32),
    /// So many, and the agent went on.
    Past(u32),
}

impl DeniedRequests {
    /// One more.
    pub(super) fn add(&mut self) {
        *self = Self::Last(self.count().saturating_add(1));
    }

    /// The agent says something, or begins another call.
    pub(super) fn go_on(&mut self) {
        *self = match *self {
            Self::Last(count) => Self::Past(count),
            other => other,
        };
    }

    pub(super) fn count(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Last(count) | Self::Past(count) => count,
        }
    }
}

/// How far it is.
#[derive(Debug)]
pub(super) enum TurnStage {
    /// The agent does not have it.
    Waiting {
        prompt: Box<Prompt>,
        /// The model that the loop named for it.
        model: Option<String>,
    },
    /// The agent works on it.
    Running {
        /// When its silence is told; `None` once this silence was.
        silent_at: Option<Instant>,
    },
    /// The agent was told to stop.
    Stopping {
        /// When it has to have ended; `None` once it was told that it has not.
        late_at: Option<Instant>,
    },
}

impl Turn {
    /// The model that the loop named for it, until it is sent.
    pub(super) fn model(&self) -> Option<&str> {
        match &self.stage {
            TurnStage::Waiting { model, .. } => model.as_deref(),
            TurnStage::Running { .. } | TurnStage::Stopping { .. } => None,
        }
    }

    /// Whether the agent has it.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.stage, TurnStage::Waiting { .. })
    }

    /// Whether the agent works on it and was not told to stop.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, TurnStage::Running { .. })
    }

    /// Whether we stopped it.
    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.stage, TurnStage::Stopping { .. })
    }
}
