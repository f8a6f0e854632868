//! Permission requests of the BreadBoard engine and their answers, in events and in what a session's metadata says still
//! stands.
//!
//! Pure readers, lenient: what does not fit reads as absent. Never decides what follows.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::words::is;
use crate::domain::dialect::loose::Members;
use crate::domain::event::EngineEvent;
use crate::domain::fact::Confirmed;
use crate::domain::payload::Payload;

/// Asks that one session can have waiting; the engine runs one step at a time, and each step asks at most a few. More
/// than this is no list of asks, and the rest is left out.
const ASKS: usize = 256;

/// What a `task_event` carries inside.
#[derive(Deserialize)]
struct Nested {
    kind: Option<String>,
}

/// The kind of a `task_event`, read without building the payload's map.
pub(crate) fn task_kind(payload: &Payload) -> Option<String> {
    payload.read::<Nested>()?.kind
}

/// The payload of an ask: of a `permission_request`, or of one that a `task_event` carries for a sub-agent.
pub fn asked<'a>(kind: &str, payload: &'a Payload) -> Option<&'a Map<String, Value>> {
    carried(kind, payload, "permission_request")
}

/// The answer that a `permission_response` confirms, or one that a `task_event` carries for a sub-agent. `None` for every
/// other event, and when the event does not name its ask.
pub fn permission_answer(kind: &str, payload: &Payload) -> Option<Confirmed> {
    let answer = carried(kind, payload, "permission_response")?;
    let engine_request_id = request_id(answer).or_else(|| request_id(payload))?;
    let mut said: Vec<&str> = Vec::new();
    let responses = answer.object("responses");
    let items = responses.and_then(|all| all.get("items")).or_else(|| answer.get("items"));
    let items = items.and_then(Value::as_object).filter(|items| !items.is_empty());
    if let Some(items) = items {
        // What is no word is no permission.
        said.extend(items.values().map(|word| word.as_str().unwrap_or("unknown")));
    } else if let Some(word) = responses.and_then(|all| all.get("default")).and_then(Value::as_str) {
        said.push(word);
    }
    for field in ["response", "decision"] {
        said.extend(answer.string(field));
    }
    let allowed = !said.is_empty() && said.iter().all(|word| allows(word));
    let mut words: Vec<&str> = Vec::new();
    for word in said {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    Some(Confirmed { engine_request_id, allowed, words: words.join(", "), client: None })
}

/// The asks that still wait, from a session's metadata, as the engine would send them. They have no id and no turn: the
/// stream does not hold them.
pub fn pending_asks(metadata: &Map<String, Value>) -> Vec<EngineEvent> {
    let waiting = metadata.list("pending_permissions");
    waiting.into_iter().flatten().take(ASKS).filter_map(Value::as_object).filter_map(pending_ask).collect()
}

fn pending_ask(waiting: &Map<String, Value>) -> Option<EngineEvent> {
    let mut payload = waiting.object("request").cloned().unwrap_or_default();
    if request_id(&payload).is_none() {
        payload.insert("request_id".to_owned(), Value::String(request_id(waiting)?));
    }
    Some(unnumbered("permission_request", payload))
}

/// The list of things to do, from a session's metadata, in the shape in which the stream has it.
pub fn todo_snapshot(metadata: &Map<String, Value>) -> Option<EngineEvent> {
    let last = metadata.object("todo_last_update")?;
    let payload = if last.get("todo").is_some_and(Value::is_object) {
        last.clone()
    } else if last.get("items").is_some_and(Value::is_array) {
        let mut payload = Map::new();
        if let Some(call) = last.get("call_id") {
            payload.insert("call_id".to_owned(), call.clone());
        }
        payload.insert("todo".to_owned(), Value::Object(last.clone()));
        payload
    } else {
        return None;
    };
    Some(unnumbered("tool_result", payload))
}

/// The payload itself when the event is a `word`, the one inside when it is a task's.
fn carried<'a>(kind: &str, payload: &'a Payload, word: &str) -> Option<&'a Map<String, Value>> {
    if is(kind, word) {
        return Some(payload);
    }
    if !is(kind, "task_event") || !task_kind(payload).is_some_and(|kind| is(&kind, word)) {
        return None;
    }
    payload.object("payload")
}

/// The engine's id of an ask, under either of its names.
pub fn request_id(payload: &Map<String, Value>) -> Option<String> {
    ["request_id", "id"].into_iter().find_map(|field| match payload.get(field) {
        Some(Value::String(id)) if !id.is_empty() => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        Some(_) | None => None,
    })
}

/// The engine takes every other word for a refusal; so do we.
fn allows(word: &str) -> bool {
    let word = word.to_ascii_lowercase().replace('-', "_");
    matches!(
        word.as_str(),
        "once" | "always" | "allow" | "allow_once" | "allow_always" | "approve" | "ok" | "yes" | "y"
    )
}

fn unnumbered(kind: &str, payload: Map<String, Value>) -> EngineEvent {
    EngineEvent {
        id: String::new(),
        kind: kind.to_owned(),
        turn: None,
        ts: None,
        payload: payload.into(),
        repaired: false,
    }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
