//! The sessions of the workspace, and which of them are in memory.
//!
//! Owns the map of both, so that the two agree. Never reads or writes one: `load` does, and `deliver`.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::live::Live;
use super::ports::SessionWork;
use super::record::Record;

/// One session: its record always, the rest while it is in use.
pub(super) struct Session {
    /// What is remembered.
    pub(super) record: Record,
    /// What is in memory.
    pub(super) live: Option<Box<Live>>,
    /// What tells the record in the journal that was read or written last from another one; `None` while it has none.
    pub(super) saved: Option<u64>,
    /// What its engine listed of it last; of one that is open here more is known.
    pub(super) listed: Option<SessionWork>,
}

impl Session {
    /// One that the journal does not have.
    pub(super) fn new(record: Record) -> Self {
        Self { record, live: None, saved: None, listed: None }
    }

    /// One that the journal has.
    pub(super) fn stored(record: Record, saved: Option<u64>) -> Self {
        Self { record, live: None, saved, listed: None }
    }
}

/// All sessions of the workspace, by id.
#[derive(Default)]
pub(super) struct Sessions {
    known: BTreeMap<String, Session>,
    /// Those in memory. With thousands in the list and a few in use, every event looks at the few only.
    loaded: BTreeSet<String>,
}

impl Sessions {
    pub(super) fn get(&self, session_id: &str) -> Option<&Session> {
        self.known.get(session_id)
    }

    pub(super) fn get_mut(&mut self, session_id: &str) -> Option<&mut Session> {
        self.known.get_mut(session_id)
    }

    pub(super) fn contains(&self, session_id: &str) -> bool {
        self.known.contains_key(session_id)
    }

    /// A session that is not in memory; it takes the place of one of the same id.
    pub(super) fn insert(&mut self, session_id: String, session: Session) {
        self.loaded.remove(&session_id);
        self.known.insert(session_id, session);
    }

    /// The session, made where it is not known.
    pub(super) fn known_or(&mut self, session_id: String, make: impl FnOnce() -> Session) -> &mut Session {
        self.known.entry(session_id).or_insert_with(make)
    }

    pub(super) fn remove(&mut self, session_id: &str) {
        self.known.remove(session_id);
        self.loaded.remove(session_id);
    }

    /// In the order of their ids.
    pub(super) fn iter(&self) -> btree_map::Iter<'_, String, Session> {
        self.known.iter()
    }

    pub(super) fn values(&self) -> btree_map::Values<'_, String, Session> {
        self.known.values()
    }

    pub(super) fn values_mut(&mut self) -> btree_map::ValuesMut<'_, String, Session> {
        self.known.values_mut()
    }

    /// The sessions in memory, in the order of their ids.
    pub(super) fn loaded(&self) -> impl Iterator<Item = (&String, &Session, &Live)> {
        self.loaded.iter().filter_map(|id| {
            let session = self.known.get(id)?;
            Some((id, session, session.live.as_deref()?))
        })
    }

    /// Ids of the sessions in memory, for a walk in which they change.
    pub(super) fn loaded_ids(&self) -> Vec<String> {
        self.loaded.iter().cloned().collect()
    }

    /// From here on the session is in memory.
    pub(super) fn keep_live(&mut self, session_id: &str, live: Box<Live>) {
        if let Some(session) = self.known.get_mut(session_id) {
            session.live = Some(live);
            self.loaded.insert(session_id.to_owned());
        }
    }

    /// Takes it out of memory.
    pub(super) fn take_live(&mut self, session_id: &str) -> Option<Box<Live>> {
        self.loaded.remove(session_id);
        self.known.get_mut(session_id)?.live.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::stored_session::StoredSession;
    use crate::domain::dialect::Dialect;
    use crate::protocol::settings::{Delivery, EngineKind};

    fn record(id: &str) -> Session {
        Session::new(Record::new(id.to_owned(), 1, None, EngineKind::Embedded))
    }

    fn live() -> Box<Live> {
        Box::new(StoredSession::default().into_live(Dialect::Desktop, Delivery::default()))
    }

    #[test]
    fn what_is_in_memory_is_listed_until_it_is_taken_out_or_removed() {
        let mut sessions = Sessions::default();
        for id in ["a", "b", "c"] {
            sessions.insert(id.to_owned(), record(id));
            sessions.keep_live(id, live());
        }
        sessions.keep_live("unknown", live());
        assert_eq!(sessions.loaded_ids(), ["a", "b", "c"]);
        assert!(sessions.take_live("a").is_some());
        sessions.remove("b");
        // A record that is read anew is not in memory.
        sessions.insert("c".to_owned(), record("c"));
        assert_eq!(sessions.loaded_ids(), Vec::<String>::new());
        assert!(sessions.contains("a") && !sessions.contains("b"));
        assert!(sessions.values().all(|session| session.live.is_none()));
    }
}
