//! The BreadBoard dialect: a stream's bytes to events, and these through the session.
//!
//! Every frame becomes one event. Of JSON the event says what a parser that builds everything finds; of anything else it keeps
//! the text. The resume token is the frame's own.

use breadboard_core::domain::dialect::Dialect;
use breadboard_core::domain::dialect::breadboard::decode::{Decoded, decode};
use breadboard_core::domain::wire::lenient_json::repair;
use breadboard_core::domain::wire::sse::{SseDecoder, SseFrame, SseItem};
use serde_json::{Value, json};

use super::json::strict;
use super::session::Session;

/// Bytes of an event here.
const LIMIT: usize = 1 << 20;

/// See the module.
pub fn run(data: &[u8]) {
    let mut session = Session::new(Dialect::Breadboard);
    let mut take = |item: SseItem<'_>| {
        if let SseItem::Frame(frame) = item {
            let decoded = decode(&frame);
            check(&frame, &decoded);
            session.take(decoded.event);
        }
    };
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.feed(data, &mut take);
    // A line of garbage is an event's data as well.
    for line in data.split(|byte| *byte == b'\n').filter(|_| !decoder_saw(data)) {
        take(SseItem::Frame(SseFrame { own_id: None, last_id: "", event: None, data: line }));
    }
    session.end();
}

/// Whether the bytes are a stream at all; else each line is tried as data.
fn decoder_saw(data: &[u8]) -> bool {
    data.starts_with(b"data") || data.starts_with(b"id") || data.starts_with(b"event")
}

fn check(frame: &SseFrame<'_>, decoded: &Decoded<'_>) {
    let event = &decoded.event;
    assert_eq!(event.id, frame.own_id.unwrap_or_default());
    assert!(!event.kind.is_empty());
    if let Some(raw) = event.payload.raw() {
        assert!(strict(raw).is_some_and(|value| value.is_object()), "no strict object: {raw}");
    }
    let text = std::str::from_utf8(frame.data).ok();
    if let Some((text, value)) = text.and_then(|text| Some((text, strict(text)?)))
        && value.is_object()
    {
        assert!(!event.repaired);
        return check_against(&value, text, decoded);
    }
    match repair(frame.data).and_then(|text| Some((strict(&text)?, text))) {
        Some((value, repaired)) if value.is_object() => {
            // A field that nobody keeps may hold what needed the repair.
            if event.repaired {
                check_against(&value, &repaired, decoded);
            }
        }
        Some(_) | None => {
            assert_eq!(event.kind, "unknown");
            assert_eq!(
                Value::Object(event.payload.clone().into()),
                json!({"raw": String::from_utf8_lossy(frame.data)})
            );
        }
    }
}

/// The event of an object in strict JSON.
fn check_against(value: &Value, text: &str, decoded: &Decoded<'_>) {
    let event = &decoded.event;
    let kind = value["type"].as_str().filter(|kind| !kind.is_empty());
    let payload = match &value["payload"] {
        Value::Null => Some(json!({})),
        payload => payload.is_object().then(|| payload.clone()),
    };
    match (kind, payload) {
        (Some(kind), Some(payload)) => {
            assert_eq!((event.kind.as_str(), &Value::Object(event.payload.clone().into())), (kind, &payload));
            assert!(event.payload.raw().is_none_or(|raw| text.contains(raw)), "not the text that came");
        }
        _ => {
            assert_eq!(event.kind, "unknown");
            assert_eq!(event.payload.get("raw"), Some(&Value::from(text)));
        }
    }
    assert_eq!((event.turn, decoded.seq), (value["turn"].as_u64(), value["seq"].as_u64()));
    let word = |name: &str| value[name].as_str();
    assert_eq!(
        (decoded.envelope_id.as_deref(), decoded.session_id.as_deref(), decoded.input_id.as_deref()),
        (word("id"), word("session_id"), word("input_id"))
    );
}
