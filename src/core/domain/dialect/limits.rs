//! How much of an engine's words a fact keeps, and the readings that several dialects have in common.
//!
//! Never knows a dialect.

use serde_json::{Map, Value};

use crate::domain::cut;
use crate::domain::dialect::loose::Members;
use crate::domain::fact::{Notice, NoticeLevel, Spent};

/// JSON of arguments.
pub(super) const INPUT: usize = 2 * 1024;
pub(super) const NAME: usize = 200;
pub(super) const TITLE: usize = 300;
pub(super) const PATH: usize = 4 * 1024;
pub(super) const PLAN_STEPS: usize = 200;
pub(super) const PLAN_FILES: usize = 50;
pub(super) const PLAN_TEXT: usize = 1024;
/// JSON of an engine's counts; more than that is not counts.
pub(super) const DETAILS: usize = 4 * 1024;

/// Names or counts in one sentence; the raw event has all.
pub(super) const PARTS: usize = 12;

/// The arguments that say most about a call, the best first.
pub(super) const TELLING: [&str; 6] = ["command", "file_path", "path", "query", "pattern", "url"];

/// One line: the name and the argument that says most.
pub(super) fn title(name: &str, telling: &str) -> String {
    cut::line(&format!("{name} {}", telling.lines().next().unwrap_or_default()), TITLE)
}

/// A field that holds text.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.string(name)
}

/// What a message says of a failure, in its own words.
pub(super) fn failure(payload: &Map<String, Value>) -> Option<&str> {
    let error = payload.get("error");
    let inner = error.and_then(Value::as_object).and_then(|error| text(error, "message"));
    inner.or_else(|| text(payload, "message")).or_else(|| text(payload, "error"))
}

/// What is said of a failure that has no words.
pub(super) const UNTOLD: &str = "The engine reported an error without saying which; the raw event has more.";

/// What was used, in the engine's own names.
pub(super) fn counted(payload: &Map<String, Value>) -> Notice {
    let counts = payload.object("usage").unwrap_or(payload);
    Notice::new(NoticeLevel::Info, format!("Usage: {}.", parts(counts)))
}

/// What is counted under these names: tokens read, tokens written, and all of them. Nothing is counted where there is a zero.
pub(super) fn tokens(counts: Option<&Map<String, Value>>, names: [&str; 3]) -> Spent {
    let [input_tokens, output_tokens, total_tokens] =
        names.map(|name| counts?.get(name)?.as_u64().filter(|count| *count > 0));
    Spent { input_tokens, output_tokens, total_tokens, cost: None }
}

/// Counts in words: `prompt tokens 12, cost usd 0.01`.
pub(super) fn parts(counts: &Map<String, Value>) -> String {
    let said = counts.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => cut::line(text, 100),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(format!("{} {value}", cut::line(name, 100).replace('_', " ")))
    });
    let said: Vec<String> = said.take(PARTS).collect();
    if said.is_empty() { "nothing counted".to_owned() } else { said.join(", ") }
}
