//! How the stream of a session stands, in words that are true for the numbers they name.

use crate::domain::coded_error::CodedError;
pub use crate::domain::delivery::ResumedLink;

/// How the stream of a session stands. Per session in order with its events.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkNews {
    /// The stream is being opened, for the first time or again.
    Connecting {
        /// Tries since it last stood, 0 for the first.
        retry: u32,
        /// Why the last try failed, in one sentence.
        error: Option<String>,
    },
    /// The stream stands and everything the engine kept has come.
    Resumed(ResumedLink),
    /// Events are missing; what follows comes after the hole.
    Gap {
        /// First missing number of the engine's.
        from: u64,
        /// Last missing number, where it is known.
        to: Option<u64>,
        /// Why, as the end of a sentence.
        reason: String,
    },
    /// What waits at the engine, after a gap: the engine's ids of asks that wait there now.
    Waiting(Vec<String>),
    /// No turn runs there: the engine said so, and everything that it kept of before has come.
    NoTurnRuns,
    /// The engine took the prompt of this turn and runs nothing; everything that it kept has come, and events are missing. So the
    /// turn is over, and what the engine said of its beginning or its end is among what is missing.
    TurnLost {
        /// Its number in the session.
        turn: u64,
    },
    /// The session is over at the engine; nothing more comes.
    Ended {
        /// The engine's word.
        status: String,
        /// The configuration that it was made with, where the engine says it.
        configuration: Option<String>,
    },
    /// The engine has no such session any more.
    Gone {
        /// Why, in one sentence.
        reason: String,
    },
}

/// The first `Link` report of an attach comes within this time, so that a request may wait for it.
pub(crate) const FIRST_NEWS: std::time::Duration = std::time::Duration::from_secs(2);

/// Whether an engine answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Connectivity {
    /// It was not asked yet, or is being asked again.
    Connecting {
        /// Tries since it last answered, 0 for the first.
        retry: u32,
    },
    /// It answers.
    Connected {
        /// What it was found to have, for `bb/init`.
        capabilities: Vec<String>,
    },
    /// It does not.
    Failed {
        /// Tries since it last answered.
        retry: u32,
        /// Why: `engine_unreachable` or `engine_unauthorized`, and what to do.
        error: CodedError,
    },
}
