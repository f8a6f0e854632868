//! What an agent said of sessions that nobody has named yet: a fork, a load or a new session may be told of before the
//! answer that names it.
//!
//! Owns these messages until a session takes them. Bounded; what does not fit is counted, and told when the session comes.

use std::collections::HashMap;

use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::event::EngineEvent;
use crate::domain::payload::Payload;

/// Messages that wait, over all sessions. A replay of a long conversation fits.
const MESSAGES: usize = 4_096;

/// Their bytes.
const BYTES: usize = 16 << 20;

/// Ids of sessions that nobody named.
const IDS: usize = 64;

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum UnplacedPiece {
    /// It told something.
    Event(EngineEvent),
    /// It asked something.
    Ask { id: RpcId, method: String, params: Payload, repaired: bool },
}

impl UnplacedPiece {
    fn bytes(&self) -> usize {
        match self {
            Self::Event(event) => event.payload.bytes(),
            Self::Ask { params, .. } => params.bytes(),
        }
    }
}

/// What one session waits for.
#[derive(Debug, Default)]
pub(super) struct WaitingPieces {
    pub(super) pieces: Vec<UnplacedPiece>,
    /// How many did not fit.
    pub(super) lost: u64,
}

/// Messages by the agent's id of their session; `None` for those of no session.
#[derive(Debug, Default)]
pub(super) struct Unplaced {
    waiting: HashMap<Option<String>, WaitingPieces>,
    messages: usize,
    bytes: usize,
}

impl Unplaced {
    /// Keeps a message; gives it back when there is no room.
    pub(super) fn hold(
        &mut self,
        at_agent: Option<String>,
        piece: UnplacedPiece,
    ) -> Result<(), UnplacedPiece> {
        if !self.waiting.contains_key(&at_agent) && self.waiting.len() >= IDS {
            return Err(piece);
        }
        let full = self.messages >= MESSAGES || self.bytes + piece.bytes() > BYTES;
        let waiting = self.waiting.entry(at_agent).or_default();
        if full {
            waiting.lost += 1;
            return Err(piece);
        }
        self.messages += 1;
        self.bytes += piece.bytes();
        waiting.pieces.push(piece);
        Ok(())
    }

    /// What waits for this session.
    pub(super) fn take(&mut self, at_agent: Option<&str>) -> WaitingPieces {
        let waiting = self.waiting.remove(&at_agent.map(str::to_owned)).unwrap_or_default();
        self.messages -= waiting.pieces.len();
        self.bytes -= waiting.pieces.iter().map(UnplacedPiece::bytes).sum::<usize>();
        waiting
    }

    pub(super) fn clear(&mut self) {
        if self.messages > 0 {
            tracing::warn!(
                messages = self.messages,
                "an agent ended before it named the sessions that it told of"
            );
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::dialect::acp::decode::unreadable_event;

    fn piece(text: &str) -> UnplacedPiece {
        UnplacedPiece::Event(unreadable_event(text))
    }

    #[test]
    fn messages_wait_by_session_in_order_and_what_does_not_fit_is_counted() {
        let mut unplaced = Unplaced::default();
        let id = |text: &str| Some(text.to_owned());
        for text in ["1", "2"] {
            assert_eq!(unplaced.hold(id("a"), piece(text)), Ok(()));
        }
        assert_eq!(unplaced.hold(None, piece("3")), Ok(()));
        let big = piece(&"x".repeat(BYTES));
        assert_eq!(unplaced.hold(id("a"), big.clone()), Err(big));
        let taken = unplaced.take(Some("a"));
        assert_eq!((taken.pieces, taken.lost), (vec![piece("1"), piece("2")], 1));
        assert_eq!(unplaced.take(None).pieces, [piece("3")]);
        assert_eq!((unplaced.messages, unplaced.bytes), (0, 0));
        for number in 0..IDS {
            assert_eq!(unplaced.hold(Some(number.to_string()), piece("x")), Ok(()));
        }
        assert!(unplaced.hold(id("one more"), piece("x")).is_err());
        for _ in IDS..MESSAGES {
            assert_eq!(unplaced.hold(id("0"), piece("x")), Ok(()));
        }
        assert!(unplaced.hold(id("0"), piece("x")).is_err());
        assert_eq!(unplaced.take(Some("0")).lost, 1);
    }
}
