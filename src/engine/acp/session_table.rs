//! The sessions of one agent, by our ids and by the agent's.
//!
//! Owns whose an id of the agent's is, what came under one that nobody has named yet, and which session was used last. Never
//! says anything to the agent.

use std::collections::{BTreeMap, HashMap};

use super::session::Session;
use super::unplaced::{Unplaced, UnplacedPiece, WaitingPieces};

/// Whose an id of the agent's is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionOwner {
    /// This session's.
    Session(String),
    /// A session had it that was forgotten while it was made.
    Nobody,
}

/// The sessions of one agent.
#[derive(Default)]
pub(super) struct SessionTable {
    by_id: BTreeMap<String, Session>,
    /// By the agent's ids, for as long as its process lives.
    by_agent: HashMap<String, SessionOwner>,
    unplaced: Unplaced,
    /// The one that was used last.
    latest: Option<String>,
}

impl SessionTable {
    pub(super) fn get(&self, id: &str) -> Option<&Session> {
        self.by_id.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.by_id.get_mut(id)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Session)> {
        self.by_id.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Session)> {
        self.by_id.iter_mut()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    /// Those that are to be opened.
    pub(super) fn that_wait(&self) -> Vec<String> {
        let waiting = self.by_id.iter().filter(|(_, session)| session.state.waits());
        waiting.map(|(id, _)| id.clone()).collect()
    }

    /// One that is made, and used.
    pub(super) fn add(&mut self, id: &str, session: Session) {
        self.by_id.insert(id.to_owned(), session);
        self.use_now(id);
    }

    /// The one with this id, which may not have been known so far.
    pub(super) fn known_or_new(&mut self, id: &str) -> &mut Session {
        self.by_id.entry(id.to_owned()).or_insert_with(|| Session::new(None, None))
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.by_id.remove(id);
        self.latest.take_if(|latest| latest == id);
    }

    pub(super) fn use_now(&mut self, id: &str) {
        self.latest = Some(id.to_owned());
    }

    /// The one that was used last.
    pub(super) fn latest(&self) -> Option<&Session> {
        self.get(self.latest.as_deref()?)
    }

    /// From here on an id of the agent's is this session's.
    pub(super) fn name(&mut self, at_agent: String, id: &str) {
        self.by_agent.insert(at_agent, SessionOwner::Session(id.to_owned()));
    }

    /// What the agent says under this id goes nowhere.
    pub(super) fn disown(&mut self, at_agent: &str) {
        self.by_agent.insert(at_agent.to_owned(), SessionOwner::Nobody);
    }

    pub(super) fn owner(&self, at_agent: &str) -> Option<&SessionOwner> {
        self.by_agent.get(at_agent)
    }

    /// Our id of a session, by the agent's.
    pub(super) fn ours(&self, at_agent: &str) -> Option<&str> {
        match self.owner(at_agent)? {
            SessionOwner::Session(id) => Some(id),
            SessionOwner::Nobody => None,
        }
    }

    /// Keeps what is about a session that nobody has named yet; gives it back when there is no room.
    pub(super) fn keep_unplaced(
        &mut self,
        at_agent: Option<String>,
        piece: UnplacedPiece,
    ) -> Result<(), UnplacedPiece> {
        self.unplaced.hold(at_agent, piece)
    }

    pub(super) fn take_unplaced(&mut self, at_agent: Option<&str>) -> WaitingPieces {
        self.unplaced.take(at_agent)
    }

    /// The next process gives ids of its own.
    pub(super) fn process_ended(&mut self) {
        self.by_agent.clear();
        self.unplaced.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_agents_is_a_sessions_until_it_is_disowned_or_the_process_ends() {
        let mut sessions = SessionTable::default();
        sessions.add("a", Session::new(None, None));
        sessions.name("1".to_owned(), "a");
        sessions.name("2".to_owned(), "gone");
        sessions.disown("2");
        assert_eq!((sessions.ours("1"), sessions.ours("2"), sessions.ours("3")), (Some("a"), None, None));
        assert_eq!((sessions.owner("2"), sessions.owner("3")), (Some(&SessionOwner::Nobody), None));
        sessions.process_ended();
        assert_eq!((sessions.owner("1"), sessions.owner("2")), (None, None));
        assert!(sessions.contains("a"), "the session itself stays");
    }

    #[test]
    fn the_session_that_was_used_last_is_forgotten_with_it() {
        let mut sessions = SessionTable::default();
        assert!(sessions.latest().is_none());
        for id in ["a", "b"] {
            sessions.add(id, Session::new(None, Some(id.to_owned())));
        }
        sessions.use_now("a");
        sessions.remove("b");
        assert_eq!(sessions.latest().and_then(|session| session.at_agent.as_deref()), Some("a"));
        sessions.remove("a");
        assert!(sessions.latest().is_none());
    }
}
