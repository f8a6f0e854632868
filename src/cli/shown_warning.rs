//! Warnings that the server shows to whoever is in front of it, as the command line hears them.
//!
//! Owns how one is read from its notification. Never decides where it is shown.

use serde_json::Value;

/// The text of a warning or an error that the server shows or logs.
pub(super) fn warning(raw: &str) -> Option<String> {
    let message: Value = serde_json::from_str(raw).ok()?;
    let method = message.get("method")?.as_str()?;
    if !matches!(method, "window/showMessage" | "window/logMessage") {
        return None;
    }
    let level = message.pointer("/params/type")?.as_u64()?;
    (level <= 2).then(|| message.pointer("/params/message").and_then(Value::as_str).map(str::to_owned))?
}
