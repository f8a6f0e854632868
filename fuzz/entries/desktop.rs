//! The desktop dialect: a message a line, as events through the session.
//!
//! What is a message of the dialect is read back as itself, and no such message is unknown; everything else is kept whole.

use breadboard_core::domain::dialect::desktop::message::ServerMessage;
use breadboard_core::domain::dialect::{Dialect, normalize};
use breadboard_core::domain::event::{EngineEvent, EventClass};
use serde_json::Value;

use super::session::Session;

/// See the module.
pub fn run(data: &[u8]) {
    let mut session = Session::new(Dialect::Desktop);
    for (at, line) in data.split(|byte| *byte == b'\n').enumerate() {
        let turn = Some(at as u64 / 4);
        if let Ok(message) = serde_json::from_slice::<ServerMessage>(line) {
            let written = serde_json::to_value(&message).expect("a message is JSON");
            assert_eq!(serde_json::from_value::<ServerMessage>(written.clone()).ok(), Some(message.clone()));
            let event = message.into_event(turn, at as i64);
            assert_eq!(written["type"], event.kind.as_str());
            assert_eq!(event.payload.get("type"), None);
            let class = normalize(Dialect::Desktop, event.clone()).event.class;
            assert_ne!(class, EventClass::UnknownEvent, "{}", event.kind);
            session.take(event);
        } else if let Ok(Value::Object(mut message)) = serde_json::from_slice::<Value>(line) {
            // Nothing of ours speaks so, but a journal may hold it.
            let kind = message.shift_remove("type");
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("unknown").to_owned();
            let payload = message.into();
            session.take(EngineEvent { id: String::new(), kind, turn, ts: None, payload, repaired: false });
        }
    }
    session.end();
}
