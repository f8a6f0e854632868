//! Streamed text in pieces, and secrets that a model says piece by piece.
//!
//! Owns the pieces that wait: text whose end may be the beginning of a secret stands back until what follows shows whether
//! it is one. Order and ids stay. Never looks for secrets inside one event: `deliver` does.

use std::borrow::Cow;

use super::ports::EngineCursor;
use super::state::App;
use crate::domain::dialect::slot;
use crate::domain::event::EngineEvent;

/// Pieces that wait at one time. A secret of tens of bytes that comes byte by byte fits; past that nothing is held back.
const PIECES: usize = 512;

type HeldPiece = (EngineEvent, Option<EngineCursor>);

impl App {
    /// Whether an event of this session can be taken in at once: nothing waits, and no secret is known that it could begin.
    pub(super) fn waits_for_nothing(&self, session_id: &str) -> bool {
        let live = self.sessions.get(session_id).and_then(|session| session.live.as_deref());
        !self.redactor.knows_any() && live.is_none_or(|live| live.held.is_empty())
    }

    /// The events to take in now, in order.
    pub(super) fn whole_words(
        &mut self,
        session_id: &str,
        mut event: EngineEvent,
        cursor: Option<EngineCursor>,
    ) -> Vec<HeldPiece> {
        let slot = slot(self.dialect_of(session_id), &event.kind);
        let Some(live) = self.sessions.get_mut(session_id).and_then(|session| session.live.as_deref_mut())
        else {
            return vec![(event, cursor)];
        };
        let Some((slot, text)) = slot.and_then(|slot| Some((slot, slot.read(&event)?))) else {
            let mut ready = std::mem::take(&mut live.held);
            ready.push((event, cursor));
            return ready;
        };
        let goes_on = live.held.last().is_some_and(|(held, _)| slot.continues(held, &event));
        let mut ready = Vec::new();
        if !goes_on {
            ready = std::mem::take(&mut live.held);
        }
        let said: String = live.held.iter().filter_map(|(held, _)| slot.read(held)).collect();
        let joined = format!("{said}{text}");
        let clean = self.redactor.scrub(joined.as_bytes());
        let crossed = match &clean {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => {
                let apart =
                    [self.redactor.scrub(said.as_bytes()), self.redactor.scrub(text.as_bytes())].concat();
                // Each piece is cleaned by itself later; only a secret that lies across them is for here.
                (apart != *clean).then(|| String::from_utf8_lossy(clean).into_owned())
            }
        };
        if let Some(clean) = &crossed {
            // The first piece says it all, and the others, which keep their place and their id, say nothing.
            let mut rest = Some(clean.clone());
            for (held, _) in &mut live.held {
                slot.write(held, rest.take().unwrap_or_default());
            }
            slot.write(&mut event, rest.unwrap_or_default());
        }
        let open = self.redactor.open_end(crossed.as_deref().unwrap_or(&joined));
        live.held.push((event, cursor));
        if open == 0 || live.held.len() > PIECES {
            ready.append(&mut live.held);
        } else {
            // No secret begins before its open end, so what stands before it need not wait.
            let mut behind = 0;
            let begins = live.held.iter().rposition(|(held, _)| {
                behind += slot.read(held).map_or(0, |text| text.len());
                behind >= open
            });
            ready.extend(live.held.drain(..begins.unwrap_or(0)));
        }
        ready
    }

    /// Takes in what waits: nothing more of it comes, or nobody knows when.
    pub(super) fn release(&mut self, session_id: &str) {
        let held = self.live_mut(session_id).map(|live| std::mem::take(&mut live.held)).unwrap_or_default();
        for (event, cursor) in held {
            self.take_whole(session_id, event, cursor);
        }
    }
}
