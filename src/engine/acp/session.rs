//! One session of an agent: how it stands at the process, and who still uses it.
//!
//! ```text
//!             somebody uses it      process ready        answer
//!   Closed ──────────────────▶ Waiting ─────────▶ Opening ──────▶ Open (by way of Preparing, where a mode is to be set first)
//!     ▲ ▲                      ▲   ▲ │              │  │           │ │
//!     │ │                      │   │ │   refused    │  │           │ │ used while its process ends
//!     │ └──────────────────────┼───┼─┴──────────────┘  │ login     │ └──▶ Reopening
//!     │                        │   │                   ▼           │          │ the process ended
//!     │                        │   └── used again ── LoginWanted   │          ▼
//!     │                        └── used again, restart ── Fallen ◀─┤       Waiting
//!     │                                                            │ the process ended
//!     └────────────── closed there, deleted, nobody uses it ───────┘
//! ```
//!
//! Whatever is not for the next process becomes `Closed` when the process ends, but for what was open and is used: that has
//! `Fallen`, or waits again in a restart. Owns these steps. Never says anything to the agent: `sessions` does.

use std::path::PathBuf;

use super::command::Command;
use super::modes::{Modes, modes};
use super::turn::Turn;
use super::writes::KnownTexts;
use crate::app::inbox::Reply;
use crate::app::ports::{NewSession, SessionReply};
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::state::AgentState;
use crate::protocol::request::CommandResult;

/// How a session stands at the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The process does not have it.
    #[default]
    Closed,
    /// It was open at the process that ended last, and comes back when it is used or the agent is restarted.
    Fallen,
    /// The agent wants a login before it opens it, and its process shall hear of that.
    LoginWanted,
    /// To be opened once a process is ready.
    Waiting(Which),
    /// It was asked for.
    Opening(SessionReplay),
    /// The process has it, and was asked to put it into the mode that it begins in. Nothing is sent to it before.
    Preparing,
    /// The process has it.
    Open,
    /// A process that ends has it, and the next one shall.
    Reopening,
}

/// Which process a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// The one that there is, or will be next where there is none.
    This,
    /// The one behind the one that is ending.
    Next,
}

/// What the updates are that come while a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionReplay {
    /// News.
    None,
    /// What the journal has: so many so far.
    Of(u64),
}

/// Whether somebody uses a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Somebody does.
    Used,
    /// Its tab was closed.
    Released,
}

/// What the agent remembers of a session that is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// All that it said.
    Whole,
    /// It ended in the middle of an answer.
    CutShort,
}

/// How a session is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// `session/new`; with what is lost, where there was one before.
    Make {
        /// As the end of a sentence.
        lost: Option<String>,
    },
    /// `session/resume`.
    Resume,
    /// `session/load`. The replay is told where the journal has nothing of it.
    Load {
        /// Whether the replay is told to the loop.
        tell: bool,
    },
}

/// A sentence about what the agent may do without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModeWarning {
    pub(super) level: &'static str,
    pub(super) text: String,
}

/// One session.
pub(super) struct Session {
    pub(super) workspace: Option<PathBuf>,
    /// The agent's id.
    pub(super) at_agent: Option<String>,
    pub(super) state: State,
    pub(super) claim: Claim,
    pub(super) memory: Memory,
    pub(super) turn: Option<Turn>,
    /// Who made it and waits.
    pub(super) making: Option<(NewSession, SessionReply)>,
    /// Commands that wait until it is open.
    pub(super) commands: Vec<(Command, Reply<CommandResult>)>,
    /// The model that was last set as the loop named it.
    pub(super) model: Option<String>,
    /// The mode that was last asked for here, by a setting or by the user.
    pub(super) mode_asked: Option<String>,
    /// What is to be said of its mode before the first prompt goes out, unless the user chooses another one.
    pub(super) mode_warning: Option<ModeWarning>,
    pub(super) facts: AgentState,
    /// What the agent knows of files through us.
    pub(super) known: KnownTexts,
}

impl State {
    /// Whether it is to be opened.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Reopening)
    }

    /// Whether it is to be opened at the process behind the one that is ending.
    pub(super) fn is_for_the_next(self) -> bool {
        matches!(self, Self::Waiting(Which::Next) | Self::Reopening)
    }

    /// Whether the process has it.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Preparing | Self::Open | Self::Reopening)
    }

    /// Whether the process has it, or was asked to.
    pub(super) fn is_there(self) -> bool {
        self.is_open() || matches!(self, Self::Opening(_))
    }

    /// Whether a process is needed for it, where somebody uses it.
    pub(super) fn needs_the_process(self) -> bool {
        !matches!(self, Self::Closed | Self::Fallen)
    }

    /// Somebody uses it, while the process stands like this. Whether it has to be opened for that.
    pub(super) fn is_used(&mut self, process_ends: bool) -> bool {
        let (next, opens) = match (*self, process_ends) {
            (Self::Preparing | Self::Open | Self::Reopening, true) => (Self::Reopening, true),
            (Self::Preparing | Self::Open | Self::Opening(_) | Self::Reopening, false) => (*self, false),
            (_, true) => (Self::Waiting(Which::Next), true),
            (_, false) => (Self::Waiting(Which::This), true),
        };
        *self = next;
        opens
    }

    /// The agent opened it.
    pub(super) fn opened(&mut self) {
        *self = if self.is_for_the_next() { Self::Reopening } else { Self::Open };
    }

    /// The user wants the agent back.
    pub(super) fn comes_back(&mut self) {
        if *self == Self::Fallen {
            *self = Self::Waiting(Which::This);
        }
    }
}

impl Session {
    pub(super) fn new(workspace: Option<PathBuf>, at_agent: Option<String>) -> Self {
        Self {
            workspace,
            at_agent,
            state: State::Closed,
            claim: Claim::Used,
            memory: Memory::Whole,
            turn: None,
            making: None,
            commands: Vec::new(),
            model: None,
            mode_asked: None,
            mode_warning: None,
            facts: AgentState::default(),
            known: KnownTexts::default(),
        }
    }

    /// Its modes, as far as its agent tells them.
    pub(super) fn mode(&self) -> Option<Modes> {
        modes(&self.facts)
    }

    /// Whether the process is needed because of it.
    pub(super) fn uses_the_process(&self) -> bool {
        self.turn.is_some()
            || !self.commands.is_empty()
            || (self.claim == Claim::Used && self.state.needs_the_process())
    }

    /// The process is gone. Gives who waits for it to be made.
    pub(super) fn left(
        &mut self,
        error: &CodedError,
        restarting: bool,
    ) -> Option<(NewSession, SessionReply)> {
        self.model = None;
        if self.state.is_for_the_next() {
            // Begun while the old process was ending.
            self.state = State::Waiting(Which::This);
            return None;
        }
        self.state = match (self.state, self.claim) {
            (State::Preparing | State::Open, Claim::Used) if restarting => State::Waiting(Which::This),
            (State::Preparing | State::Open, Claim::Used) => State::Fallen,
            _ => State::Closed,
        };
        if self.turn.take().is_some_and(|turn| turn.is_sent()) {
            self.memory = Memory::CutShort;
        }
        for (_, reply) in self.commands.drain(..) {
            reply.refuse(error.clone());
        }
        self.making.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(state: State, claim: Claim, restarting: bool) -> State {
        let mut session = Session::new(None, None);
        (session.state, session.claim) = (state, claim);
        assert!(session.left(&CodedError::internal(), restarting).is_none());
        session.state
    }

    #[test]
    fn a_session_that_is_used_is_opened_once_and_again_at_the_next_process() {
        let used = |mut state: State, process_ends: bool| {
            let opens = state.is_used(process_ends);
            (state, opens)
        };
        let (this, next) = (State::Waiting(Which::This), State::Waiting(Which::Next));
        for closed in [State::Closed, State::Fallen, State::LoginWanted, this, next] {
            assert_eq!(used(closed, false), (this, true), "{closed:?}");
            assert_eq!(used(closed, true), (next, true), "{closed:?}");
        }
        let opening = State::Opening(SessionReplay::Of(3));
        assert_eq!(used(opening, false), (opening, false));
        assert_eq!(used(State::Open, false), (State::Open, false));
        assert_eq!(used(opening, true), (next, true));
        assert_eq!(used(State::Open, true), (State::Reopening, true));
        assert_eq!(used(State::Reopening, true), (State::Reopening, true));
        assert_eq!(used(State::Preparing, false), (State::Preparing, false));
        assert_eq!(used(State::Preparing, true), (State::Reopening, true));
    }

    #[test]
    fn an_answer_of_a_process_that_ends_does_not_take_a_session_from_the_next_one() {
        let opened = |mut state: State| {
            state.opened();
            state
        };
        assert_eq!(opened(State::Opening(SessionReplay::None)), State::Open);
        assert_eq!(opened(State::Waiting(Which::Next)), State::Reopening);
        assert_eq!(ended(State::Reopening, Claim::Used, false), State::Waiting(Which::This));
        assert_eq!(ended(State::Waiting(Which::Next), Claim::Used, false), State::Waiting(Which::This));
    }

    #[test]
    fn what_was_open_and_used_falls_with_its_process_or_waits_in_a_restart() {
        assert_eq!(ended(State::Open, Claim::Used, false), State::Fallen);
        assert_eq!(ended(State::Preparing, Claim::Used, false), State::Fallen);
        assert_eq!(ended(State::Preparing, Claim::Used, true), State::Waiting(Which::This));
        assert_eq!(ended(State::Open, Claim::Used, true), State::Waiting(Which::This));
        assert_eq!(ended(State::Open, Claim::Released, true), State::Closed);
        for state in [State::Waiting(Which::This), State::Opening(SessionReplay::None), State::LoginWanted] {
            assert_eq!(ended(state, Claim::Used, true), State::Closed, "{state:?}");
        }
        let mut state = State::Fallen;
        state.comes_back();
        assert_eq!(state, State::Waiting(Which::This));
        let mut state = State::Closed;
        state.comes_back();
        assert_eq!(state, State::Closed);
    }
}
