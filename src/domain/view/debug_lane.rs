//! The debug lane: what has no other place in the view, raw.
//!
//! Changes nothing but itself (R003-63).

use serde_json::Value;

use super::block::{Block, BlockBody};
use super::cut;
use crate::domain::event::SessionEvent;

/// The start is enough to recognise an event; the whole is one `bb/eventBody` away.
const PREVIEW: usize = 1024;
const KIND: usize = 200;

/// One event, raw.
pub(super) fn raw(event: &SessionEvent) -> Block {
    let json = Value::Object(event.payload.clone()).to_string();
    Block {
        id: format!("d-{}", event.seq),
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Unknown { kind: cut::line(&event.kind, KIND), preview: cut::line(&json, PREVIEW) },
    }
}
