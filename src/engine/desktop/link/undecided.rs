//! Changes that a host proposed and waits for no answer to, as long as nobody has decided on them; and the end of their turn.
//!
//! Owns that such a turn ends here no sooner than they are decided and made: with its end every question of a turn is over, and a host
//! of the public source ends it at once. A broken connection changes nothing of that: what was proposed is made here. Pure.

use std::collections::BTreeSet;

use crate::domain::event::EngineEvent;

/// Changes of one turn; a host proposes a few. One more is a question that ends with the turn.
const MOST: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct UndecidedChanges {
    /// By the host's names.
    waiting: BTreeSet<String>,
    end: Option<WaitingEnd>,
}

/// The end of a turn whose changes wait.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WaitingEnd {
    /// As the host said it.
    Said(EngineEvent),
    /// The connection broke, and whether the host goes on with the turn cannot be known.
    Unknown,
}

impl UndecidedChanges {
    /// The user is asked about this one.
    pub(super) fn proposed(&mut self, id: &str) {
        if self.waiting.len() < MOST {
            self.waiting.insert(id.to_owned());
        }
    }

    /// Those that wait, by the host's names.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.waiting.iter().cloned()
    }

    /// Whether the host said the end of the turn, which waits.
    pub(super) fn has_end(&self) -> bool {
        matches!(self.end, Some(WaitingEnd::Said(_)))
    }

    /// It is denied, or made. Gives the end of the turn where it was the last that this waited for.
    pub(super) fn over(&mut self, id: &str) -> Option<WaitingEnd> {
        self.waiting.remove(id);
        self.end.take_if(|_| self.waiting.is_empty())
    }

    /// The host ended the turn. Gives the end back where nothing is undecided.
    pub(super) fn ends(&mut self, end: EngineEvent) -> Option<EngineEvent> {
        if self.waiting.is_empty() {
            return Some(end);
        }
        self.end = Some(WaitingEnd::Said(end));
        None
    }

    /// Nobody knows whether the turn goes on. Gives whether its end waits for what is undecided.
    pub(super) fn ends_unknown(&mut self) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        self.end.get_or_insert(WaitingEnd::Unknown);
        true
    }

    /// The host says something of the turn after all: it goes on.
    pub(super) fn goes_on(&mut self) {
        self.end.take_if(|end| *end == WaitingEnd::Unknown);
    }

    /// Something follows the end that waits, or nothing will: the end, which waits no longer.
    pub(super) fn give_up(&mut self) -> Option<WaitingEnd> {
        let end = self.end.take()?;
        self.waiting.clear();
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::dialect::desktop::decode::decode;

    fn end() -> EngineEvent {
        decode(r#"{"type":"assistant.message_final","message":"Done."}"#)
    }

    fn said() -> Option<WaitingEnd> {
        Some(WaitingEnd::Said(end()))
    }

    #[test]
    fn the_end_of_a_turn_waits_for_the_last_of_its_changes() {
        let mut undecided = UndecidedChanges::default();
        assert_eq!(undecided.ends(end()), Some(end()));
        undecided.proposed("p1");
        undecided.proposed("p2");
        assert_eq!(undecided.ends(end()), None);
        assert_eq!((undecided.over("p1"), undecided.over("another")), (None, None));
        assert_eq!(undecided.over("p2"), said());
        assert_eq!(undecided.give_up(), None);
        undecided.proposed("p3");
        // What comes before the end changes nothing.
        assert_eq!(undecided.give_up(), None);
        assert_eq!(undecided.ends(end()), None);
        assert_eq!((undecided.give_up(), undecided.ends(end())), (said(), Some(end())));
    }

    #[test]
    fn a_turn_of_which_nothing_is_known_waits_too_and_goes_on_where_the_host_says_more_of_it() {
        let mut undecided = UndecidedChanges::default();
        assert!(!undecided.ends_unknown());
        undecided.proposed("p1");
        assert!(undecided.ends_unknown() && !undecided.has_end());
        assert_eq!(undecided.names().collect::<Vec<_>>(), ["p1"]);
        undecided.goes_on();
        assert_eq!(undecided.over("p1"), None);
        undecided.proposed("p1");
        assert!(undecided.ends_unknown());
        assert_eq!(undecided.over("p1"), Some(WaitingEnd::Unknown));
        // An end that was said is known, whatever breaks behind it.
        undecided.proposed("p1");
        assert_eq!(undecided.ends(end()), None);
        assert!(undecided.ends_unknown() && undecided.has_end());
        undecided.goes_on();
        assert_eq!(undecided.over("p1"), said());
    }
}
