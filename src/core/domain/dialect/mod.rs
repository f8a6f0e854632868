//! The engines' dialects: one folder each, with all words of that engine and nobody else's.
//!
//! Owns the two steps that know them: `normalize` (`EngineEvent` → `NormalizedEvent`, one table a dialect) and `fact` (what one
//! event says, in words that belong to no engine). Never changes an id, the order or a payload: what a dialect has no word for
//! stays whole as `unknown_event`. Tests: beside each file.

pub mod acp;
pub mod breadboard;
pub mod command;
pub mod desktop;
mod in_words;
mod limits;
mod local;
mod loose;
mod picture;
mod quoted;
mod slot;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use slot::Slot;

use super::approval::PermissionAsk;
use super::event::{EngineEvent, EventClass, EventRef, NormalizedEvent, Origin, Pane, SessionEvent};
use super::fact::Fact;

/// The dialects that there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Seed 002: the embedded engine and every desktop host.
    #[default]
    Desktop,
    /// Seed 003: the BreadBoard engine.
    Breadboard,
    /// Agent Client Protocol, version 1: `type` is the `sessionUpdate`, or the method.
    Acp,
}

/// What the number of an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnNumbers {
    /// Turns: another number is another turn.
    Turns,
    /// The steps of a run: a run is one turn of ours, and the numbers start again with every run.
    Steps,
}

impl Dialect {
    /// What the number of an event counts. What this server made itself has our own numbers.
    pub fn turn_numbers(self, origin: Origin) -> TurnNumbers {
        match (self, origin) {
            (Self::Breadboard, Origin::Engine) => TurnNumbers::Steps,
            (Self::Desktop | Self::Breadboard | Self::Acp, Origin::Engine | Origin::Local) => {
                TurnNumbers::Turns
            }
        }
    }
}

/// One event with its class, and what it asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalized {
    /// The event; its `permission` is empty until the loop has given the ask an id.
    pub event: NormalizedEvent,
    /// What is asked, on `permission.request`.
    pub ask: Option<PermissionAsk>,
}

/// Gives an event its class and panes. Total: an event without a word becomes `unknown_event` in `debug`.
pub fn normalize(dialect: Dialect, event: EngineEvent) -> Normalized {
    let (class, panes, ask) = match dialect {
        Dialect::Desktop => desktop::classify(&event),
        Dialect::Breadboard => breadboard::classify(&event),
        Dialect::Acp => acp::classify(&event),
    };
    let mut event = classed(event, class, panes);
    if dialect == Dialect::Acp {
        // The protocol has no resume token; an ask has taken what stood here.
        event.id.clear();
    }
    if dialect == Dialect::Desktop && event.id == desktop::ASKS_ITSELF {
        event.id.clear();
    }
    Normalized { event, ask }
}

/// The ask with what the engine said of its tool call before, oldest first (the events that `ViewState::told_of` names):
/// engines name a call in their request and keep what it would do in the events before.
pub fn completed(dialect: Dialect, ask: PermissionAsk, earlier: &[SessionEvent]) -> PermissionAsk {
    match dialect {
        Dialect::Desktop => ask,
        Dialect::Breadboard => breadboard::completed(ask, earlier),
        Dialect::Acp => acp::completed(ask, earlier),
    }
}

/// Whether we run the command that an event of this type asks for, and not the engine itself.
pub fn runs_here(dialect: Dialect, kind: &str) -> bool {
    match dialect {
        Dialect::Desktop => true,
        Dialect::Breadboard => false,
        Dialect::Acp => acp::runs_at_client(kind),
    }
}

/// What an event says. Total, pure and lazy: it reads no more of a payload than the fact has of it.
pub fn fact<'a>(dialect: Dialect, event: impl Into<EventRef<'a>>) -> Fact<'a> {
    let event = event.into();
    match (event.origin, dialect) {
        (Origin::Local, _) => local::fact(event),
        (Origin::Engine, Dialect::Desktop) => desktop::fact::fact(event),
        (Origin::Engine, Dialect::Breadboard) => breadboard::fact::fact(event),
        (Origin::Engine, Dialect::Acp) => acp::fact::fact(event),
    }
}

/// Where an event has the text of which it is a piece. `None`: it is no piece of a text.
pub fn slot(dialect: Dialect, kind: &str) -> Option<&'static Slot> {
    match dialect {
        Dialect::Desktop => desktop::fact::slot(kind),
        Dialect::Breadboard => breadboard::fact::slot(kind),
        Dialect::Acp => acp::fact::slot(kind),
    }
}

fn classed(event: EngineEvent, class: EventClass, panes: &'static [Pane]) -> NormalizedEvent {
    NormalizedEvent {
        id: event.id,
        kind: event.kind,
        turn: event.turn,
        ts: event.ts,
        payload: event.payload,
        repaired: event.repaired,
        origin: Origin::Engine,
        class,
        pane: Cow::Borrowed(panes),
        permission: None,
    }
}

#[cfg(test)]
mod tests;
