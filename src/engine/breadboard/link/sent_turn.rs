//! The prompt that was sent last, as the side that sends tells the side that hears.
//!
//! Owns how far it is on its way. Never waits, and never loses a word: whoever looks sees the newest.

use tokio::sync::watch;

/// How far the prompt is that was sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptProgress {
    /// None was sent.
    Nothing,
    /// The prompt of this turn is being sent.
    Leaving(u64),
    /// The engine said that it took it.
    Taken(u64),
}

/// The side that sends.
#[derive(Debug)]
pub(super) struct SentTurn(watch::Sender<PromptProgress>);

impl Default for SentTurn {
    fn default() -> Self {
        Self(watch::Sender::new(PromptProgress::Nothing))
    }
}

impl SentTurn {
    /// The prompt of this turn is being sent.
    pub(super) fn leaves(&self, turn: u64) {
        self.0.send_replace(PromptProgress::Leaving(turn));
    }

    /// The engine took it. Nothing changes where another one is on its way by now.
    pub(super) fn was_taken(&self, turn: u64) {
        self.0.send_if_modified(|progress| {
            let is_this = *progress == PromptProgress::Leaving(turn);
            if is_this {
                *progress = PromptProgress::Taken(turn);
            }
            is_this
        });
    }

    /// The side that hears.
    pub(super) fn seen(&self) -> watch::Receiver<PromptProgress> {
        self.0.subscribe()
    }
}

impl PromptProgress {
    /// Its turn.
    pub(super) fn turn(self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Leaving(turn) | Self::Taken(turn) => Some(turn),
        }
    }

    /// Its turn, where the engine took it.
    pub(super) fn taken(self) -> Option<u64> {
        match self {
            Self::Nothing | Self::Leaving(_) => None,
            Self::Taken(turn) => Some(turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PromptProgress, SentTurn};

    #[test]
    fn a_prompt_is_on_its_way_until_it_is_taken_and_a_late_word_of_an_earlier_one_changes_nothing() {
        let sent = SentTurn::default();
        let seen = sent.seen();
        let mut told = vec![*seen.borrow()];
        sent.leaves(1);
        told.push(*seen.borrow());
        sent.was_taken(1);
        told.push(*seen.borrow());
        sent.leaves(2);
        sent.was_taken(1);
        told.push(*seen.borrow());
        assert_eq!(
            told,
            [
                PromptProgress::Nothing,
                PromptProgress::Leaving(1),
                PromptProgress::Taken(1),
                PromptProgress::Leaving(2)
            ]
        );
        assert_eq!((PromptProgress::Leaving(2).turn(), PromptProgress::Leaving(2).taken()), (Some(2), None));
    }
}
