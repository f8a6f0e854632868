//! The turn of a session, as one state.
//!
//! ```text
//!          prompt                begins              last event             done
//!   Idle ─────────▶ Sending ───────────▶ Running ──────────────▶ Ended ──────────▶ Idle
//!    │                 │ restart            ▲  ▲
//!    │                 ▼      begins        │  │
//!    │            Unconfirmed ──────────────┘  │
//!    └─────────────────────────────────────────┘
//!            another client's prompt begins
//! ```
//!
//! Every open state can go back to `Idle`: a turn can fail, or be given up, at any time. Owns which news changes the state
//! and which does not. Never records an event.

use serde::{Deserialize, Serialize};

/// How the turn of a session stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnState {
    /// No turn is open.
    #[default]
    Idle,
    /// This process sent the prompt, and the engine has not begun it: an end that comes now is that of the run before.
    Sending(Turn),
    /// An earlier process sent the prompt, and it is not known whether it arrived.
    Unconfirmed(Turn),
    /// The engine works on it.
    Running(Turn),
    /// Its last event was recorded, and the engine has not said that it is done.
    Ended {
        /// The turn.
        turn: Turn,
        /// Why it ended, where the event says so.
        reason: Option<String>,
    },
}

/// An open turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Number in the session, from 1.
    pub number: u64,
    /// Whether it is being stopped.
    pub stop: Stop,
}

/// Whether a turn is being stopped, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    /// It is not.
    No,
    /// By the server, for instance because trust was taken back.
    ByServer,
    /// By the user, whatever else stopped it.
    ByUser,
}

impl TurnState {
    /// A turn whose prompt goes to an engine that says when it begins.
    pub(super) fn sending(number: u64) -> Self {
        Self::Sending(Turn { number, stop: Stop::No })
    }

    /// A turn that the engine works on.
    pub(super) fn running(number: u64) -> Self {
        Self::Running(Turn { number, stop: Stop::No })
    }

    /// Number of the open turn.
    pub(super) fn open(&self) -> Option<u64> {
        self.turn().map(|turn| turn.number)
    }

    /// Whether a turn is open.
    pub(super) fn is_open(&self) -> bool {
        self.turn().is_some()
    }

    /// Whether the engine said that it works on the open turn.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self, Self::Running(_) | Self::Ended { .. })
    }

    /// Why the open turn ended, where its last event was recorded and says so.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Ended { reason, .. } => reason.as_deref(),
            Self::Idle | Self::Sending(_) | Self::Unconfirmed(_) | Self::Running(_) => None,
        }
    }

    /// Whether and by whom the open turn is being stopped.
    pub(super) fn stop(&self) -> Stop {
        self.turn().map_or(Stop::No, |turn| turn.stop)
    }

    /// The record was read in a new process: what was being sent may not have arrived.
    pub(super) fn read_again(&mut self) {
        if let Self::Sending(turn) = *self {
            *self = Self::Unconfirmed(turn);
        }
    }

    /// The engine works on the open turn. Nothing changes where it does already, or where none is open.
    pub(super) fn begins(&mut self) {
        if let Self::Sending(turn) | Self::Unconfirmed(turn) = *self {
            *self = Self::Running(turn);
        }
    }

    /// The open turn is being stopped. The user's word counts for more than the server's.
    pub(super) fn stops(&mut self, by: Stop) {
        let (Self::Sending(turn) | Self::Unconfirmed(turn) | Self::Running(turn) | Self::Ended { turn, .. }) =
            self
        else {
            return;
        };
        if turn.stop != Stop::ByUser {
            turn.stop = by;
        }
    }

    /// The engine said the last event of a run. It is that of the run before while the open turn has not begun.
    pub(super) fn engine_ended(&mut self, reason: Option<String>) {
        if self.has_begun() {
            self.ended(reason);
        }
    }

    /// The last event of the open turn was recorded.
    pub(super) fn ended(&mut self, reason: Option<String>) {
        if let Some(turn) = self.turn() {
            *self = Self::Ended { turn, reason };
        }
    }

    fn turn(&self) -> Option<Turn> {
        match self {
            Self::Idle => None,
            Self::Sending(turn)
            | Self::Unconfirmed(turn)
            | Self::Running(turn)
            | Self::Ended { turn, .. } => Some(*turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stop, Turn, TurnState};

    #[test]
    fn an_end_that_comes_before_the_beginning_belongs_to_the_run_before() {
        // Given a prompt that the engine has not begun
        let mut turn = TurnState::sending(3);
        // When the run before it ends
        turn.engine_ended(Some("end_turn".to_owned()));
        // Then the turn stands as it stood
        assert_eq!(turn, TurnState::sending(3));
        // And ends with its own last event
        turn.begins();
        turn.engine_ended(Some("cancelled".to_owned()));
        let ended = |reason: &str| TurnState::Ended {
            turn: Turn { number: 3, stop: Stop::No },
            reason: Some(reason.to_owned()),
        };
        assert_eq!(turn, ended("cancelled"));
    }

    #[test]
    fn a_turn_that_fails_on_its_way_has_its_end_from_us() {
        let mut turn = TurnState::sending(1);
        turn.ended(Some("failed".to_owned()));
        assert_eq!((turn.open(), turn.reason()), (Some(1), Some("failed")));
    }

    #[test]
    fn a_new_process_does_not_know_whether_a_prompt_arrived_until_the_engine_begins() {
        let mut turn = TurnState::sending(2);
        turn.read_again();
        assert_eq!(turn, TurnState::Unconfirmed(Turn { number: 2, stop: Stop::No }));
        turn.begins();
        turn.read_again();
        assert_eq!(turn, TurnState::running(2));
    }

    #[test]
    fn who_stopped_a_turn_is_the_user_wherever_the_user_did() {
        let mut turn = TurnState::running(1);
        turn.stops(Stop::ByServer);
        assert_eq!(turn.stop(), Stop::ByServer);
        turn.stops(Stop::ByUser);
        turn.stops(Stop::ByServer);
        assert_eq!(turn.stop(), Stop::ByUser);
        let mut none = TurnState::Idle;
        none.stops(Stop::ByUser);
        none.begins();
        none.ended(None);
        assert_eq!(none, TurnState::Idle);
    }
}
