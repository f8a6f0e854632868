//! From an engine's word to the one vocabulary: `EngineEvent` → `NormalizedEvent`, one table a dialect.
//!
//! Owns class, panes and, where an engine asks, what is asked. Never changes an id, the order or a payload: what it has
//! no word for stays whole as `unknown_event`. Tests: beside each table.

mod acp;
mod acp_asks;
mod breadboard;
mod breadboard_asks;
mod desktop;

use std::borrow::Cow;

use crate::domain::approval::PermissionAsk;
use crate::domain::event::{EngineEvent, EventClass, NormalizedEvent, Origin, Pane};

/// The dialects that have a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Seed 002: the embedded engine and every desktop host.
    Desktop,
    /// Seed 003: the BreadBoard engine.
    Breadboard,
    /// Agent Client Protocol, version 1: `type` is the `sessionUpdate`, or the method.
    Acp,
}

/// One event with its class, and what it asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalized {
    /// The event; its `permission` is empty until the loop has given the ask an id.
    pub event: NormalizedEvent,
    /// What is asked, on `permission.request`.
    pub ask: Option<PermissionAsk>,
}

/// The class and the panes of a type of the BreadBoard engine, in any of its spellings.
pub fn breadboard_row(kind: &str) -> (EventClass, &'static [Pane]) {
    breadboard::row(kind)
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
    Normalized { event, ask }
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
