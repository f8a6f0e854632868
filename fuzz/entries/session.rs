//! The way of an event from an engine's word to the view, as the loop takes it, for every dialect.
//!
//! Normalising keeps what the engine said; the bytes that are stored and sent say the same; the view is the same live, from
//! coalesced changes and replayed from the stored bytes, also from a state that was stored in between.

use breadboard_core::domain::dialect::{Dialect, normalize};
use breadboard_core::domain::event::{EngineEvent, Origin, SessionEvent};
use breadboard_core::domain::view::{View, ViewState, apply_changes, coalesce};
use serde_json::{Value, json};

/// Events after which the replaying side stores its state and goes on with what it reads back.
const STORED_EVERY: u64 = 7;

/// A session of one dialect.
pub struct Session {
    dialect: Dialect,
    head: u64,
    live: ViewState,
    replayed: ViewState,
    view: View,
    coalesced: View,
}

impl Session {
    /// Without an event.
    pub fn new(dialect: Dialect) -> Self {
        let state = || ViewState::default().speaking(dialect);
        Self { dialect, head: 0, live: state(), replayed: state(), view: empty(), coalesced: empty() }
    }

    /// Takes the next event.
    pub fn take(&mut self, mut event: EngineEvent) {
        if event.payload.raw().is_none() && event.payload.values().any(has_fraction) {
            // The parser may read a fraction back as its neighbour, which is not what is looked for here.
            event.payload = serde_json::from_str(&event.payload.to_text()).expect("a payload is JSON");
        }
        let normalized = normalize(self.dialect, event.clone()).event;
        // An agent's protocol has no resume token, and an ask has its number there.
        let id = if self.dialect == Dialect::Acp { "" } else { event.id.as_str() };
        assert_eq!(normalized.id, id);
        assert_eq!(normalized.payload.raw(), event.payload.raw(), "the text of the payload is another");
        assert_eq!(
            (&normalized.kind, normalized.turn, normalized.ts, &normalized.payload, normalized.repaired),
            (&event.kind, event.turn, event.ts, &event.payload, event.repaired)
        );
        assert_eq!((normalized.origin, normalized.permission.is_none()), (Origin::Engine, true));
        assert!(!normalized.pane.is_empty(), "nobody would see it");

        self.head += 1;
        let event = normalized.sequenced(self.head);
        let stored: SessionEvent =
            serde_json::from_slice(&event.to_json()).unwrap_or_else(|error| panic!("{error}: {event:?}"));
        assert_eq!(stored, event, "what is stored says something else");

        let changes = self.live.apply(&event);
        assert_eq!(self.replayed.apply(&stored), changes, "the replay changes something else");
        apply_changes(&mut self.view, &changes);
        apply_changes(&mut self.coalesced, &coalesce(changes));
        if self.head.is_multiple_of(STORED_EVERY) {
            let state = serde_json::to_vec(&self.replayed).expect("a state is JSON");
            self.replayed = serde_json::from_slice(&state).expect("a state is read back");
            assert_eq!(self.replayed, self.live, "a stored state is another");
        }
    }

    /// Nothing more comes.
    pub fn end(self) {
        assert_eq!(self.coalesced, self.view, "coalesced changes draw something else");
        assert_eq!(self.replayed, self.live);
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(map) => map.values().any(has_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn empty() -> View {
    let lane = || json!({"blocks": [], "hasMore": false});
    serde_json::from_value(json!({"epoch": "", "seq": 0,
        "lanes": {"chat": lane(), "tasks": lane(), "run": lane(), "debug": lane()}}))
    .expect("an empty view")
}
