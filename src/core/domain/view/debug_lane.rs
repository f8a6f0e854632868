//! The debug lane: what has no other place in the view, raw.
//!
//! Changes nothing but itself (R003-63).

use super::block::{Block, BlockBody};
use crate::domain::cut;
use crate::domain::event::SessionEvent;

/// The start is enough to recognise an event; the whole is one `bb/eventBody` away.
const PREVIEW: usize = 1024;
/// Of a tree node it is enough to see which one it is; each replaces the one before it.
const NODE_PREVIEW: usize = 256;
const KIND: usize = 200;

/// One event, raw.
pub(super) fn raw(event: &SessionEvent) -> Block {
    block(event, format!("d-{}", event.seq), PREVIEW)
}

/// One node of the conversation tree, raw: one block a run, the newest node. Trees are nineteen of twenty bytes of a
/// stream, so they neither fill the lane nor are they parsed; all of them are in the events.
pub(super) fn tree(event: &SessionEvent, run: u64) -> Block {
    block(event, format!("tree-{run}"), NODE_PREVIEW)
}

fn block(event: &SessionEvent, id: String, most: usize) -> Block {
    let body = BlockBody::Unknown { kind: cut::line(&event.kind, KIND), preview: preview(event, most) };
    Block { id, turn: event.turn, seq: event.seq, body }
}

/// The start of the text that came, when it stands on one line as it comes from a wire; else of the object on one line.
fn preview(event: &SessionEvent, most: usize) -> String {
    match event.payload.raw() {
        Some(raw) if !cut::start_of(raw, most).contains('\n') => cut::line(raw, most),
        Some(_) | None => cut::line(&event.payload.to_text(), most),
    }
}
