//! Why an answer is complete, in one word for every engine.
//!
//! Never decides that it is: the loop does, when the turn ends.

use serde_json::Value;

use crate::domain::event::SessionEvent;
use crate::domain::dialect::breadboard::words::is;

/// The reason that an event of class `run.finished` gives: the engine's own word where it has one for this.
pub fn stop_reason(event: &SessionEvent) -> String {
    let payload = &event.payload;
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    if let Some(word) = text("stopReason") {
        return word.to_owned();
    }
    if event.kind == "local.turn_end" {
        return match text("reason") {
            Some("no_end") | None => "end_turn".to_owned(),
            Some(reason) => reason.to_owned(),
        };
    }
    let metadata = payload.get("metadata");
    let says = |name: &str| metadata.and_then(|metadata| metadata.get(name)).and_then(Value::as_bool);
    let status = text("status").or_else(|| text("exit_kind")).unwrap_or_default();
    let stopped = says("cancelled") == Some(true)
        || matches!(status, "stopped" | "cancelled")
        || text("reason") == Some("stopped_by_user")
        || is(&event.kind, "turn_cancelled");
    let failed = says("success") == Some(false)
        || payload.get("error").is_some_and(|error| !error.is_null())
        || matches!(status, "failed" | "error")
        || is(&event.kind, "turn_failed");
    match (stopped, failed) {
        (true, _) => "cancelled".to_owned(),
        (false, true) => "failed".to_owned(),
        (false, false) => "end_turn".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_engine_has_one_word_for_why_it_ended() {
        for (kind, payload, word) in [
            ("session/prompt", json!({"stopReason": "max_tokens"}), "max_tokens"),
            ("session/prompt", json!({"error": {"code": -32603, "message": "m"}}), "failed"),
            (
                "assistant.message_final",
                json!({"metadata": {"success": true, "cancelled": false}}),
                "end_turn",
            ),
            (
                "assistant.message_final",
                json!({"metadata": {"success": false, "cancelled": true}}),
                "cancelled",
            ),
            ("assistant.message_final", json!({"metadata": {"success": false}}), "failed"),
            ("turn_cancelled", json!({}), "cancelled"),
            ("turn.failed", json!({}), "failed"),
            ("run_finished", json!({"reason": "stopped_by_user"}), "cancelled"),
            ("run_finished", json!({}), "end_turn"),
            ("local.turn_end", json!({"reason": "no_end"}), "end_turn"),
            ("local.turn_end", json!({"reason": "interrupted"}), "interrupted"),
        ] {
            let event: SessionEvent =
                serde_json::from_value(json!({"id": "", "type": kind, "payload": payload,
                "seq": 1, "class": "run.finished", "pane": ["chat"], "origin": "engine"}))
                .unwrap();
            assert_eq!(stop_reason(&event), word, "{kind} {payload}");
        }
    }
}
