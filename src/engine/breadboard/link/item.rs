//! One item of a stream, read: an event, or that one was too large.
//!
//! Owns which numbers count. Never knows what came before.

use crate::app::ports::EngineCursor;
use crate::domain::dialect::breadboard::decode::decode;
use crate::domain::event::EngineEvent;
use crate::domain::wire::sse::SseItem;

/// The largest number of an event that is taken for one: the journal's integers have a sign, and a place that it cannot
/// take would hold up everything behind it, of every session.
const LARGEST_NUMBER: u64 = i64::MAX as u64;

/// One item of a chunk.
#[allow(clippy::large_enum_variant, reason = "nearly every item is an event")]
pub(super) enum Item {
    Event {
        event: EngineEvent,
        seq: Option<u64>,
    },
    /// It is not taken. Without a number it shows as the hole before the next one.
    TooLarge(Option<EngineCursor>),
}

impl Item {
    pub(super) fn read(item: SseItem<'_>) -> Self {
        match item {
            SseItem::TooLarge(event) => {
                let number = |id: &str| id.parse().ok().filter(|seq| *seq <= LARGEST_NUMBER);
                Self::TooLarge(
                    event.own_id.and_then(|id| Some(EngineCursor { seq: number(id)?, id: id.to_owned() })),
                )
            }
            SseItem::Frame(frame) => {
                let decoded = decode(&frame);
                // What cannot be read has no number of its own; the frame's id line says it, and so it leaves no hole.
                let line = || frame.own_id.and_then(|id| id.parse().ok());
                let unreadable = decoded.session_id.is_none() && decoded.event.kind == "unknown";
                let seq = decoded.seq.or_else(|| if unreadable { line() } else { None });
                Self::Event { event: decoded.event, seq: seq.filter(|seq| *seq <= LARGEST_NUMBER) }
            }
        }
    }
}
