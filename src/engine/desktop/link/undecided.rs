//! Changes that a host proposed and waits for no answer to, as long as nobody has decided on them; and the end of their turn.
//!
//! Owns that such a turn ends here no sooner than they are decided and made: with its end every question of a turn is over, and a host
//! of the public source ends it at once. Pure.

use std::collections::BTreeSet;

use crate::domain::event::EngineEvent;

/// Changes of one turn; a host proposes a few. One more is a question that ends with the turn.
const MOST: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct UndecidedChanges {
    /// By the host's names.
    waiting: BTreeSet<String>,
    end: Option<EngineEvent>,
}

impl UndecidedChanges {
    /// The user is asked about this one.
    pub(super) fn proposed(&mut self, id: &str) {
        if self.waiting.len() < MOST {
            self.waiting.insert(id.to_owned());
        }
    }

    /// It is denied, or made. Gives the end of the turn where it was the last that this waited for.
    pub(super) fn over(&mut self, id: &str) -> Option<EngineEvent> {
        self.waiting.remove(id);
        self.end.take_if(|_| self.waiting.is_empty())
    }

    /// The host ended the turn. Gives the end back where nothing is undecided.
    pub(super) fn ends(&mut self, end: EngineEvent) -> Option<EngineEvent> {
        if self.waiting.is_empty() {
            return Some(end);
        }
        self.end = Some(end);
        None
    }

    /// Something follows the end that waits, or nothing will: the end, which waits no longer.
    pub(super) fn give_up(&mut self) -> Option<EngineEvent> {
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

    #[test]
    fn the_end_of_a_turn_waits_for_the_last_of_its_changes() {
        let mut undecided = UndecidedChanges::default();
        assert_eq!(undecided.ends(end()), Some(end()));
        undecided.proposed("p1");
        undecided.proposed("p2");
        assert_eq!(undecided.ends(end()), None);
        assert_eq!((undecided.over("p1"), undecided.over("another")), (None, None));
        assert_eq!(undecided.over("p2"), Some(end()));
        assert_eq!(undecided.give_up(), None);
        undecided.proposed("p3");
        // What comes before the end changes nothing.
        assert_eq!(undecided.give_up(), None);
        assert_eq!(undecided.ends(end()), None);
        assert_eq!((undecided.give_up(), undecided.ends(end())), (Some(end()), Some(end())));
    }
}
