//! Which tab shows which session, and back.
//!
//! Owns that both directions always agree (R001-46 to R001-49). Never looks into either id (R001-19).

use std::collections::{BTreeSet, HashMap};

/// Both directions. A tab shows one session at most; a session may be shown by several tabs, each of another client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TabMap {
    sessions: HashMap<String, String>,
    tabs: HashMap<String, BTreeSet<String>>,
}

impl TabMap {
    /// Lets a tab show a session; what it showed before it shows no more.
    pub fn link(&mut self, tab_id: &str, session_id: &str) {
        self.unlink_tab(tab_id);
        self.sessions.insert(tab_id.to_owned(), session_id.to_owned());
        self.tabs.entry(session_id.to_owned()).or_default().insert(tab_id.to_owned());
    }

    /// The session that a tab shows.
    pub fn session_of(&self, tab_id: &str) -> Option<&str> {
        self.sessions.get(tab_id).map(String::as_str)
    }

    /// The tabs that show a session.
    pub fn tabs_of(&self, session_id: &str) -> impl Iterator<Item = &str> {
        self.tabs.get(session_id).into_iter().flatten().map(String::as_str)
    }

    /// A tab closed: both entries go. Gives the session that it showed.
    pub fn unlink_tab(&mut self, tab_id: &str) -> Option<String> {
        let session_id = self.sessions.remove(tab_id)?;
        if let Some(tabs) = self.tabs.get_mut(&session_id) {
            tabs.remove(tab_id);
            if tabs.is_empty() {
                self.tabs.remove(&session_id);
            }
        }
        Some(session_id)
    }

    /// A session ended: all entries of it go. Gives the tabs that showed it.
    pub fn unlink_session(&mut self, session_id: &str) -> BTreeSet<String> {
        let tabs = self.tabs.remove(session_id).unwrap_or_default();
        for tab_id in &tabs {
            self.sessions.remove(tab_id);
        }
        tabs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn r001_46_47_48_both_directions_always_agree(
            steps in proptest::collection::vec((0..3_u8, 0..4_u8, 0..4_u8), 0..40)
        ) {
            let mut map = TabMap::default();
            for (what, tab, session) in steps {
                let (tab, session) = (format!("t{tab}"), format!("s{session}"));
                let before = map.clone();
                match what {
                    0 => {
                        map.link(&tab, &session);
                        prop_assert_eq!(map.session_of(&tab), Some(session.as_str()));
                    }
                    1 => {
                        let shown = before.session_of(&tab).map(str::to_owned);
                        prop_assert_eq!(map.unlink_tab(&tab), shown);
                        prop_assert_eq!(map.session_of(&tab), None);
                    }
                    _ => {
                        let shown: Vec<String> = before.tabs_of(&session).map(str::to_owned).collect();
                        prop_assert_eq!(Vec::from_iter(map.unlink_session(&session)), shown);
                        prop_assert_eq!(map.tabs_of(&session).next(), None);
                    }
                }
                let pairs: usize = map.tabs.values().map(BTreeSet::len).sum();
                prop_assert_eq!(map.sessions.len(), pairs);
                for (tab, session) in &map.sessions {
                    prop_assert!(map.tabs_of(session).any(|shown| shown == tab));
                }
            }
        }
    }
}
