//! Finding sessions by what was said in them: what is looked for, and what was found.

use super::journal::JournalError;
use crate::domain::session_search::Said;

/// What to look for.
pub struct SearchJob {
    /// Ids of the sessions, newest first.
    pub(crate) sessions: Vec<String>,
    /// Words in lower case, each with a letter or a digit; all of them must stand in one prompt or answer.
    pub(crate) words: Vec<String>,
    /// What a stored block says. The store does not read blocks itself.
    pub(crate) reads: fn(&[u8]) -> Option<Said>,
    /// Told once, on any thread.
    pub(crate) done: SearchDone,
}

/// Whoever waits for what was found.
pub(crate) type SearchDone = Box<dyn FnOnce(Result<SearchFound, JournalError>) + Send>;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchFound {
    /// Session and what was said there, the newest first, a few a session.
    pub(crate) said: Vec<(String, Said)>,
    /// Sessions at the end of the list that were not searched, because there are too many.
    pub(crate) unsearched: usize,
}
