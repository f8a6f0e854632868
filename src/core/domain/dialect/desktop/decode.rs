//! One text of a desktop host's socket becomes one `EngineEvent`.
//!
//! Owns the envelope: `type` is the kind, the rest the payload. Total: any text becomes an event, and what cannot be read is kept
//! raw (wire.md section 3). Never a class: that is `class`.

use serde_json::{Map, Value};

use crate::domain::event::EngineEvent;
use crate::domain::wire::lenient_json::{is_strict, repair};

/// The type of what could not be read.
const UNKNOWN: &str = "unknown";

/// Reads one message.
pub fn decode(text: &str) -> EngineEvent {
    if is_strict(text)
        && let Some(event) = read(text, false)
    {
        return event;
    }
    let repaired = repair(text.as_bytes()).and_then(|text| read(&text, true));
    repaired.unwrap_or_else(|| {
        let raw = Map::from_iter([("raw".to_owned(), Value::from(text))]);
        event(UNKNOWN.to_owned(), raw, false)
    })
}

fn read(text: &str, repaired: bool) -> Option<EngineEvent> {
    let mut payload: Map<String, Value> = serde_json::from_str(text).ok()?;
    match payload.shift_remove("type") {
        Some(Value::String(kind)) if !kind.is_empty() => Some(event(kind, payload, repaired)),
        Some(_) | None => None,
    }
}

fn event(kind: String, payload: Map<String, Value>, repaired: bool) -> EngineEvent {
    EngineEvent { id: String::new(), kind, turn: None, ts: None, payload: payload.into(), repaired }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r002_72_the_type_is_taken_out_and_the_rest_stands_as_it_came() {
        let event = decode(r#"{"type":"assistant.token","token":"The","cumulative_text":"The","more":[1]}"#);
        assert_eq!((event.kind.as_str(), event.repaired, event.id.as_str()), ("assistant.token", false, ""));
        assert_eq!(
            Value::Object(event.payload.into()),
            json!({ "token": "The", "cumulative_text": "The", "more": [1] })
        );
    }

    #[test]
    fn what_python_writes_is_repaired_and_says_so() {
        let event = decode(r#"{"type":"assistant.token","token":"a\ud800b","score":NaN}"#);
        assert!(event.repaired);
        assert_eq!(Value::Object(event.payload.into()), json!({ "token": "a\u{fffd}b", "score": null }));
    }

    #[test]
    fn what_is_no_message_is_kept_raw() {
        for text in ["", "no JSON", "[1]", "7", r#"{"token":"x"}"#, r#"{"type":7}"#, r#"{"type":""}"#] {
            let event = decode(text);
            assert_eq!((event.kind.as_str(), event.repaired), ("unknown", false), "{text}");
            assert_eq!(Value::Object(event.payload.into()), json!({ "raw": text }));
        }
    }
}
