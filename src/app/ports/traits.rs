//! How an engine works, as answers to questions that have nothing to do with each other.
//!
//! Owns the questions. Whoever in the loop has to know asks the one that it means, and never which engine it is.

use crate::domain::approval::RuleHolder;

/// How an engine works. The default is the embedded engine's, and what holds where there is no engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineTraits {
    /// Where its sessions live.
    pub sessions: SessionHome,
    /// How the stream of a session is taken up again.
    pub resume: StreamResume,
    /// What ends a turn.
    pub turn_end: TurnEnd,
    /// What settles a permission request.
    pub settlement: Settlement,
    /// Who holds rules.
    pub rules: RuleHolder,
    /// Whether it writes and runs on its own, so that prompting it needs a trusted workspace.
    pub needs_trust: bool,
}

/// Where sessions are made, listed and deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionHome {
    /// Here: they have no other place than our journal.
    #[default]
    Here,
    /// At an agent, a process of ours on this machine, in our folders.
    Agent,
    /// At an engine, which may be on another machine and works in a folder of its own.
    Engine,
}

/// How the stream of a session is taken up again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StreamResume {
    /// There is no stream to follow: the engine reports while it works for us.
    #[default]
    NoStream,
    /// From behind a cursor; what is missing can be asked for.
    Cursor,
    /// From a picture of the session as it is.
    Snapshot,
}

/// What ends a turn, and so what begins it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnEnd {
    /// `TurnEnded`: the turn is ours, under our number.
    #[default]
    Report,
    /// The engine's own events: it has runs, which other clients may begin too.
    Event,
}

/// What settles a permission request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Settlement {
    /// The answer, when it is given.
    #[default]
    Answer,
    /// An event of the engine's, which may take an answer and throw it away.
    Event,
}

impl SessionHome {
    /// Whether sessions have a place besides our journal.
    pub fn is_elsewhere(self) -> bool {
        match self {
            Self::Here => false,
            Self::Agent | Self::Engine => true,
        }
    }
}

impl StreamResume {
    /// Whether sessions are streams, which are followed.
    pub fn is_followed(self) -> bool {
        match self {
            Self::NoStream => false,
            Self::Cursor | Self::Snapshot => true,
        }
    }
}
