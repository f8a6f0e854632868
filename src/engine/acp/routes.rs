//! Which agent a session belongs to.
//!
//! Owns that map. The engine reads it with every call; an agent's task takes out what was not made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of agents by our session ids. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes {
    names: Arc<Mutex<HashMap<String, String>>>,
}

impl Routes {
    pub(super) fn set(&self, session_id: &str, agent: &str) {
        self.names().insert(session_id.to_owned(), agent.to_owned());
    }

    pub(super) fn get(&self, session_id: &str) -> Option<String> {
        self.names().get(session_id).cloned()
    }

    pub(super) fn remove(&self, session_id: &str) {
        self.names().remove(session_id);
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
