//! What a turn of `ask` is begun with, what is open in it, and why it may end early.
//!
//! Owns these types alone; what is done with them is `turn`'s and `answers`'.

use super::super::client::{ClientError, Refusal};
use super::super::printed::unwritten;
use super::super::render::Choice;
use super::super::terminal::Terminal;
use super::hunk_review::HunkReview;
use super::keyboard::Keyboard;
use crate::domain::approval::Permission;
use crate::domain::dialect::Dialect;
use crate::domain::event::SessionEvent;

/// A session in which to ask.
pub(super) struct OpenedSession {
    pub(super) session_id: String,
    /// The last event that it had; what was before is not shown again.
    pub(super) seq: u64,
    /// The last of these.
    pub(super) earlier: Vec<SessionEvent>,
    pub(super) trusted: bool,
    /// What its engine speaks.
    pub(super) dialect: Dialect,
    /// What waits in it for an answer.
    pub(super) waiting: Vec<Permission>,
    /// What is said below the answer.
    pub(super) advice: Option<&'static str>,
}

/// Whoever watches, and answers.
pub(super) struct Person<'a> {
    pub(super) terminal: &'a Terminal,
    pub(super) keyboard: Keyboard,
}

/// What the user is being asked.
pub(super) enum Open {
    /// About this permission.
    Decision(Permission),
    /// The changes of this edit are on their way, with the id of our own request for them.
    Parting(Box<Permission>, u64),
    /// About one change of an edit.
    Hunk(Box<HunkReview>),
    /// Whether to trust the folder, because this permission was allowed.
    Trust(Permission, Choice),
    /// Whether to trust the folder, because some of these changes were accepted.
    TrustForParts(Box<HunkReview>),
    /// Whether to trust the folder, because the engine takes no prompt without.
    TrustForPrompt,
}

/// Why a turn ended before its end.
pub(super) enum AskEnded {
    Client(ClientError),
    Refused(Refusal),
    NobodyTrusts,
    /// The engine kept us waiting for too long, which was said.
    GaveUp,
    /// Whoever read the answer has gone away.
    Unread,
    /// Stdout does not take the answer: why.
    Unwritten(String),
}

impl AskEnded {
    /// What a failure to write the answer means.
    pub(super) fn at_stdout(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Unwritten(unwritten(error)),
        }
    }
}

impl From<ClientError> for AskEnded {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// What follows one event or line.
#[derive(PartialEq, Eq)]
pub(super) enum Next {
    Listen,
    Finished,
}
