//! Which tab shows which session, and back.
//!
//! Owns that both directions always agree (R001-46 to R001-49). Never looks into either id (R001-19).

use std::collections::HashMap;

/// Both directions. A tab shows one session at most, and a session is shown by one tab at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TabMap {
    sessions: HashMap<String, String>,
    tabs: HashMap<String, String>,
}

/// The tab that shows the session already. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken(pub String);

impl TabMap {
    /// Lets a tab show a session; what it showed before it shows no more.
    pub fn link(&mut self, tab_id: &str, session_id: &str) -> Result<(), Taken> {
        if let Some(other) = self.tabs.get(session_id).filter(|other| *other != tab_id) {
            return Err(Taken(other.clone()));
        }
        self.unlink_tab(tab_id);
        self.sessions.insert(tab_id.to_owned(), session_id.to_owned());
        self.tabs.insert(session_id.to_owned(), tab_id.to_owned());
        Ok(())
    }

    /// The session that a tab shows.
    pub fn session_of(&self, tab_id: &str) -> Option<&str> {
        self.sessions.get(tab_id).map(String::as_str)
    }

    /// The tab that shows a session.
    pub fn tab_of(&self, session_id: &str) -> Option<&str> {
        self.tabs.get(session_id).map(String::as_str)
    }

    /// A tab closed: both entries go. Gives the session that it showed.
    pub fn unlink_tab(&mut self, tab_id: &str) -> Option<String> {
        let session_id = self.sessions.remove(tab_id)?;
        self.tabs.remove(&session_id);
        Some(session_id)
    }

    /// A session ended: both entries go. Gives the tab that showed it.
    pub fn unlink_session(&mut self, session_id: &str) -> Option<String> {
        let tab_id = self.tabs.remove(session_id)?;
        self.sessions.remove(&tab_id);
        Some(tab_id)
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
                    0 => match map.link(&tab, &session) {
                        Ok(()) => prop_assert_eq!(map.session_of(&tab), Some(session.as_str())),
                        Err(Taken(other)) => {
                            prop_assert_eq!(before.tab_of(&session), Some(other.as_str()));
                            prop_assert_eq!(&map, &before);
                        }
                    },
                    1 => {
                        let shown = before.session_of(&tab).map(str::to_owned);
                        prop_assert_eq!(map.unlink_tab(&tab), shown);
                        prop_assert_eq!(map.session_of(&tab), None);
                    }
                    _ => {
                        map.unlink_session(&session);
                        prop_assert_eq!(map.tab_of(&session), None);
                    }
                }
                prop_assert_eq!(map.sessions.len(), map.tabs.len());
                for (tab, session) in &map.sessions {
                    prop_assert_eq!(map.tab_of(session), Some(tab.as_str()));
                }
            }
        }
    }
}
