//! A change of one file that was told, and shown, before it is made.
//!
//! Owns what it makes of the text that is there. Never decides whether it may be made.

use super::apply::apply_hunks;
use super::patch::Hunk;

/// A change that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldEdit {
    /// The file, as it was named.
    pub path: String,
    /// What happens to its text.
    pub change: ToldChange,
}

/// What happens to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToldChange {
    /// This one, the whole or a part of it, gives way to another; without one the file is new.
    Replaced {
        /// What is there.
        old: Option<String>,
        /// What comes.
        new: String,
    },
    /// Hunks are applied to it.
    Patched(Vec<Hunk>),
}

impl ToldEdit {
    /// Whether it gives a whole text, and not what it replaces.
    pub fn lacks_old(&self) -> bool {
        match &self.change {
            ToldChange::Replaced { old, .. } => old.as_ref().is_none_or(String::is_empty),
            ToldChange::Patched(_) => false,
        }
    }

    /// The same of a file that has this text.
    pub fn replacing(mut self, found: &str) -> Self {
        if let ToldChange::Replaced { old, .. } = &mut self.change {
            *old = Some(found.to_owned());
        }
        self
    }

    /// The text as this change leaves it. `None`: it does not fit the text that is there.
    pub fn makes_of(&self, now: Option<&str>) -> Option<String> {
        match &self.change {
            ToldChange::Replaced { old, new } => match (old.as_deref().filter(|old| !old.is_empty()), now) {
                (None, None | Some("")) => Some(new.clone()),
                (None, Some(_)) | (Some(_), None) => None,
                (Some(old), Some(now)) if old == now => Some(new.clone()),
                (Some(old), Some(now)) => {
                    // Which of several is meant nobody said.
                    let mut places = now.match_indices(old);
                    let (at, _) = places.next()?;
                    let once = places.next().is_none();
                    once.then(|| format!("{}{new}{}", &now[..at], &now[at + old.len()..]))
                }
            },
            ToldChange::Patched(hunks) => apply_hunks(now.unwrap_or_default(), hunks).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::edits::patch;

    fn replaced(old: Option<&str>, new: &str) -> ToldEdit {
        let change = ToldChange::Replaced { old: old.map(str::to_owned), new: new.to_owned() };
        ToldEdit { path: "a".to_owned(), change }
    }

    #[test]
    fn a_change_is_made_of_the_text_that_it_was_told_of_and_of_no_other() {
        for (old, now, made) in [
            (None, None, Some("new")),
            (Some(""), Some(""), Some("new")),
            (None, Some("old"), None),
            (Some("old"), None, None),
            (Some("old"), Some("old"), Some("new")),
            (Some("old"), Some("an old one"), Some("an new one")),
            (Some("old"), Some("old and old"), None),
            (Some("old"), Some("typed"), None),
        ] {
            assert_eq!(replaced(old, "new").makes_of(now).as_deref(), made, "{old:?} {now:?}");
        }
        let files = patch::parse("@@ -1,2 +1,2 @@\n one\n-two\n+2\n").unwrap();
        let patched = ToldEdit { path: "a".to_owned(), change: ToldChange::Patched(files[0].hunks.clone()) };
        assert_eq!(patched.makes_of(Some("one\ntwo\nthree\n")).as_deref(), Some("one\n2\nthree\n"));
        assert_eq!(patched.makes_of(Some("typed\n")), None);
    }
}
