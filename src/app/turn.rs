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
//! `Paused` is found by a process that was not there when the turn ran: the answer to what it asks makes it `Running`.
//! Every open state can go back to `Idle`: a turn can fail, or be given up, at any time. What the engine says of another
//! client's run does not begin ours, which waits behind it. Owns which news changes the state and which does not. Never
//! records an event.

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
    /// An earlier process ran it as far as a request that waits; nothing runs until that is answered.
    Paused(Turn),
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
    /// Whether the engine repeated its words.
    echo: Echo,
    /// Which process sent it.
    sender: Sender,
}

/// Whether an engine repeated the words of a prompt that was sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Echo {
    /// Not yet. A step that comes first is taken for one of its run.
    Awaited,
    /// It repeated those of another client, whose run goes before ours.
    Anothers,
    /// A run ended since the prompt was sent, and nothing began: whatever the engine begins next may be ours.
    Passed,
    /// It did, or it does not matter any more.
    Heard,
}

/// Which process sent a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sender {
    This,
    AnEarlier,
}

/// Whose prompt an engine says that it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Ours, as far as its words tell.
    Ours,
    /// Another client's: its words are not ours.
    Anothers,
    /// It has no words, such as a step of a run.
    NotSaid,
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

impl Turn {
    fn new(number: u64, echo: Echo) -> Self {
        Self { number, stop: Stop::No, echo, sender: Sender::This }
    }
}

impl TurnState {
    /// A turn whose prompt goes to an engine that says when it begins.
    pub(super) fn sending(number: u64) -> Self {
        Self::Sending(Turn::new(number, Echo::Awaited))
    }

    /// A turn that the engine works on.
    pub(super) fn running(number: u64) -> Self {
        Self::Running(Turn::new(number, Echo::Heard))
    }

    /// Number of the open turn.
    pub(super) fn open(&self) -> Option<u64> {
        self.turn().map(|turn| turn.number)
    }

    /// Whether a turn is open.
    pub(super) fn is_open(&self) -> bool {
        self.turn().is_some()
    }

    /// Whether a turn is open and only waits for an answer.
    pub(super) fn is_paused(&self) -> bool {
        matches!(self, Self::Paused(_))
    }

    /// Whether a turn is open that some window works on, or has to settle.
    pub(super) fn is_worked_on(&self) -> bool {
        self.is_open() && !self.is_paused()
    }

    /// Whether the engine said that it works on the open turn.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self, Self::Running(_) | Self::Ended { .. })
    }

    /// Whether the prompt of the open turn was sent, and the engine has not begun it.
    pub(super) fn is_on_its_way(&self) -> bool {
        matches!(self, Self::Sending(_) | Self::Unconfirmed(_))
    }

    /// Why the open turn ended, where its last event was recorded and says so.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Ended { reason, .. } => reason.as_deref(),
            Self::Idle | Self::Sending(_) | Self::Unconfirmed(_) | Self::Running(_) | Self::Paused(_) => None,
        }
    }

    /// Whether and by whom the open turn is being stopped.
    pub(super) fn stop(&self) -> Stop {
        self.turn().map_or(Stop::No, |turn| turn.stop)
    }

    /// The record was read in a new process: what was being sent may not have arrived.
    pub(super) fn read_again(&mut self) {
        if let Some(turn) = self.turn_mut() {
            turn.sender = Sender::AnEarlier;
        }
        if let Self::Sending(turn) = *self {
            *self = Self::Unconfirmed(turn);
        }
    }

    /// The process that ran it is gone, and what it asks waits.
    pub(super) fn pauses(&mut self) {
        if let Self::Running(turn) = *self {
            *self = Self::Paused(turn);
        }
    }

    /// What it asked is answered: it goes on.
    pub(super) fn goes_on(&mut self) {
        if let Self::Paused(turn) = *self {
            *self = Self::Running(Turn { sender: Sender::This, ..turn });
        }
    }

    /// The engine works on the open turn. Nothing changes where it does already, or where none is open.
    pub(super) fn begins(&mut self) {
        if let Self::Sending(turn) | Self::Unconfirmed(turn) = *self {
            *self = Self::Running(Turn { echo: Echo::Heard, ..turn });
        }
    }

    /// The engine begins a prompt, or is at a step of one. Another client's does not begin ours, nor do its steps; and a step
    /// that was taken for one of ours was not, when the words that come with it are another's.
    pub(super) fn prompt_begins(&mut self, whose: Whose) {
        match (&mut *self, whose) {
            (Self::Running(turn), Whose::Ours) => turn.echo = Echo::Heard,
            (Self::Running(turn), Whose::Anothers) if turn.echo == Echo::Awaited => {
                let turn = Turn { echo: Echo::Anothers, ..*turn };
                *self = match turn.sender {
                    Sender::This => Self::Sending(turn),
                    Sender::AnEarlier => Self::Unconfirmed(turn),
                };
            }
            (Self::Sending(turn) | Self::Unconfirmed(turn), Whose::Anothers) => turn.echo = Echo::Anothers,
            (Self::Sending(turn) | Self::Unconfirmed(turn), Whose::NotSaid) => {
                if turn.echo != Echo::Anothers {
                    *self = Self::Running(Turn { echo: Echo::Awaited, ..*turn });
                }
            }
            (Self::Sending(_) | Self::Unconfirmed(_), Whose::Ours) => self.begins(),
            (Self::Running(_), Whose::Anothers | Whose::NotSaid)
            | (Self::Idle | Self::Paused(_) | Self::Ended { .. }, _) => {}
        }
    }

    /// A run ended before the open turn began: whatever the engine begins next may be ours.
    pub(super) fn run_before_ended(&mut self) {
        if let Self::Sending(turn) | Self::Unconfirmed(turn) = self {
            turn.echo = Echo::Passed;
        }
    }

    /// Whether a run ended since the prompt was sent, and the engine began nothing behind it.
    pub(super) fn was_passed(&self) -> bool {
        matches!(self, Self::Sending(turn) | Self::Unconfirmed(turn) if turn.echo == Echo::Passed)
    }

    /// Whether the turn that is open was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.turn().is_some_and(|turn| turn.stop != Stop::No)
    }

    /// The open turn is being stopped. The user's word counts for more than the server's.
    pub(super) fn stops(&mut self, by: Stop) {
        let Some(turn) = self.turn_mut() else { return };
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
            | Self::Paused(turn)
            | Self::Ended { turn, .. } => Some(*turn),
        }
    }

    fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Idle => None,
            Self::Sending(turn)
            | Self::Unconfirmed(turn)
            | Self::Running(turn)
            | Self::Paused(turn)
            | Self::Ended { turn, .. } => Some(turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Echo, Sender, Stop, Turn, TurnState, Whose};

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
            turn: Turn::new(3, Echo::Heard),
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
        let of_an_earlier = |echo| Turn { sender: Sender::AnEarlier, ..Turn::new(2, echo) };
        assert_eq!(turn, TurnState::Unconfirmed(of_an_earlier(Echo::Awaited)));
        turn.begins();
        turn.read_again();
        assert_eq!(turn, TurnState::Running(of_an_earlier(Echo::Heard)));
    }

    #[test]
    fn a_prompt_waits_behind_another_clients_whatever_the_steps_of_that_one_say() {
        // Given a prompt that the engine has not begun
        let mut turn = TurnState::sending(2);
        // When it begins another client's, and goes through its steps, before and after a restart of ours
        turn.prompt_begins(Whose::Anothers);
        turn.prompt_begins(Whose::NotSaid);
        turn.read_again();
        turn.prompt_begins(Whose::NotSaid);
        // Then ours has not begun
        assert!(turn.is_open() && !turn.has_begun());
        // And when that one is over, the next step is ours
        assert!(!turn.was_passed());
        turn.run_before_ended();
        assert!(turn.was_passed());
        turn.prompt_begins(Whose::NotSaid);
        assert!(turn.has_begun() && !turn.was_passed());
    }

    #[test]
    fn a_step_that_came_first_is_no_beginning_when_the_words_with_it_are_anothers() {
        // Given a step without words, which is taken for one of ours
        let mut turn = TurnState::sending(2);
        turn.prompt_begins(Whose::NotSaid);
        assert!(turn.has_begun());
        let mut again = turn.clone();
        // When the words are another's, then ours has not begun
        turn.prompt_begins(Whose::Anothers);
        assert_eq!(turn, TurnState::Sending(Turn::new(2, Echo::Anothers)));
        // Nor has it after a restart, where it is not known whether it arrived
        again.read_again();
        again.prompt_begins(Whose::Anothers);
        assert!(matches!(again, TurnState::Unconfirmed(_)), "{again:?}");
        // And once its own words came, those of nobody else change it
        let mut turn = TurnState::sending(2);
        turn.prompt_begins(Whose::NotSaid);
        turn.prompt_begins(Whose::Ours);
        turn.prompt_begins(Whose::Anothers);
        assert!(turn.has_begun());
    }

    #[test]
    fn words_of_ours_begin_it_whatever_went_before() {
        let mut turn = TurnState::sending(2);
        turn.prompt_begins(Whose::Anothers);
        turn.prompt_begins(Whose::Ours);
        assert!(turn.has_begun());
    }

    #[test]
    fn r001_68_a_turn_that_asks_is_paused_in_a_new_process_and_runs_once_it_is_answered() {
        let mut turn = TurnState::running(4);
        turn.pauses();
        assert_eq!((turn.open(), turn.is_paused(), turn.is_worked_on()), (Some(4), true, false));
        turn.read_again();
        turn.goes_on();
        assert_eq!(turn, TurnState::running(4));
        // One that may not have arrived asks nothing.
        let mut sent = TurnState::sending(1);
        sent.pauses();
        assert_eq!(sent, TurnState::sending(1));
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
