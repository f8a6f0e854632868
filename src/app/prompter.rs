//! Who prompted what: on whose word the turn of a session runs, and the prompts behind it.
//!
//! Owns that answer for as long as a turn is open or a prompt waits, also when its client has left. Lives in memory: after a
//! restart nobody prompted what waits until a user resumes it. Never judges: trust is looked at by whoever acts.

use std::collections::BTreeMap;

use super::client::ClientId;
use super::turn::TurnState;

/// On whose word something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prompter {
    /// A client that is connected.
    Client(ClientId),
    /// A client that left, with the trust that it had then.
    Left {
        /// Whether its user trusted the workspace.
        trusted: bool,
    },
    /// Nobody here: the engine itself, another of its clients, or an earlier process.
    Nobody,
}

/// The prompters of all sessions that have an open turn or prompts that wait; as many as those.
#[derive(Debug, Default)]
pub(super) struct Prompters {
    turns: BTreeMap<String, Prompter>,
    /// By session and message id.
    waiting: BTreeMap<(String, String), Prompter>,
}

impl Prompters {
    /// On whose word the open turn of a session runs.
    pub(super) fn of_turn(&self, session_id: &str) -> Prompter {
        self.turns.get(session_id).copied().unwrap_or(Prompter::Nobody)
    }

    /// The client that prompted the open turn, if it is connected.
    pub(super) fn client_of(&self, session_id: &str) -> Option<ClientId> {
        match self.of_turn(session_id) {
            Prompter::Client(client) => Some(client),
            Prompter::Left { .. } | Prompter::Nobody => None,
        }
    }

    /// Who prompted a prompt that waits.
    pub(super) fn of_waiting(&self, session_id: &str, message_id: &str) -> Prompter {
        let key = (session_id.to_owned(), message_id.to_owned());
        self.waiting.get(&key).copied().unwrap_or(Prompter::Nobody)
    }

    /// A prompt waits in the queue of a session, or is this prompter's from now on.
    pub(super) fn waits(&mut self, session_id: &str, message_id: &str, by: Prompter) {
        self.waiting.insert((session_id.to_owned(), message_id.to_owned()), by);
    }

    /// A prompt does not wait any more.
    pub(super) fn waits_no_more(&mut self, session_id: &str, message_id: &str) {
        self.waiting.remove(&(session_id.to_owned(), message_id.to_owned()));
    }

    /// A turn begins.
    pub(super) fn turn_begins(&mut self, session_id: &str, by: Prompter) {
        self.turns.insert(session_id.to_owned(), by);
    }

    /// The turn of a session is over.
    pub(super) fn turn_ends(&mut self, session_id: &str) {
        self.turns.remove(session_id);
    }

    /// The record of a session was read anew: another window may have worked on it.
    pub(super) fn keep(&mut self, session_id: &str, turn: &TurnState, waits: impl Fn(&str) -> bool) {
        if !turn.is_open() {
            self.turn_ends(session_id);
        }
        self.waiting.retain(|(session, message_id), _| session != session_id || waits(message_id));
    }

    /// A session is gone.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.turns.remove(session_id);
        self.waiting.retain(|(session, _), _| session != session_id);
    }

    /// A client left: what it prompted goes on with the trust that it had.
    pub(super) fn left(&mut self, client: ClientId, trusted: bool) {
        let prompted = self.turns.values_mut().chain(self.waiting.values_mut());
        for prompter in prompted.filter(|prompter| **prompter == Prompter::Client(client)) {
            *prompter = Prompter::Left { trusted };
        }
    }

    /// Nobody trusts the workspace any more: neither does whoever left.
    pub(super) fn distrust(&mut self) {
        for prompter in self.turns.values_mut().chain(self.waiting.values_mut()) {
            if let Prompter::Left { trusted } = prompter {
                *trusted = false;
            }
        }
    }

    /// Every session with an open turn, and on whose word it runs.
    pub(super) fn turns(&self) -> impl Iterator<Item = (&String, Prompter)> {
        self.turns.iter().map(|(session_id, by)| (session_id, *by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_prompted_stays_on_its_word_when_it_leaves() {
        // Given two clients that prompted in one session
        let (first, second) = (ClientId::numbered(0), ClientId::numbered(1));
        let mut prompters = Prompters::default();
        prompters.turn_begins("s", Prompter::Client(first));
        prompters.waits("s", "m1", Prompter::Client(first));
        prompters.waits("s", "m2", Prompter::Client(second));
        // When the first one leaves
        prompters.left(first, true);
        // Then its turn and its prompt keep the trust that it had, and the other's stays its own
        assert_eq!(
            (prompters.of_turn("s"), prompters.client_of("s")),
            (Prompter::Left { trusted: true }, None)
        );
        assert_eq!(prompters.of_waiting("s", "m1"), Prompter::Left { trusted: true });
        assert_eq!(prompters.of_waiting("s", "m2"), Prompter::Client(second));
        // And loses it when nobody trusts the workspace any more
        prompters.distrust();
        assert_eq!(prompters.of_turn("s"), Prompter::Left { trusted: false });
        assert_eq!(prompters.of_waiting("s", "m1"), Prompter::Left { trusted: false });
        // And nothing is kept of a session that is gone
        prompters.forget("s");
        assert_eq!(prompters.of_turn("s"), Prompter::Nobody);
        assert_eq!(prompters.of_waiting("s", "m2"), Prompter::Nobody);
    }
}
