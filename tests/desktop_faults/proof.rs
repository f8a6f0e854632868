//! The host's log against the journal.

use serde_json::{Map, Value};

/// What of the stream is told by neither side as it came: a piece repeats what was said before.
const SO_FAR: &str = "cumulative_text";

/// Types of our own that say that something is missing, or that a turn ended without its end.
const SAYS_SO: [&str; 2] = ["local.gap", "local.turn_end"];

/// Holds one against the other; what is wrong.
pub fn compare(said: &[String], journal: &[Value]) -> Result<Compared, String> {
    let said: Vec<Value> = said.iter().filter_map(|text| serde_json::from_str(text).ok()).map(bare).collect();
    let mut compared = Compared::default();
    let (mut at, mut is_said) = (0, false);
    for event in journal {
        let kind = event["type"].as_str().unwrap_or_default();
        if SAYS_SO.contains(&kind) {
            is_said = true;
            compared.gaps += usize::from(kind == "local.gap");
        }
        if kind.starts_with("local.")
            || matches!(kind, "server.hello" | "session.state" | "unknown" | "assistant.tok")
        {
            continue;
        }
        let message = message_of(event);
        let Some(found) = said[at..].iter().position(|said| *said == message) else {
            return Err(format!(
                "doubled, reordered or invented: {message} behind message {at} of {said:#?}"
            ));
        };
        if found > 0 && !is_said {
            return Err(format!("lost unsaid: {:#?} before {message}", &said[at..at + found]));
        }
        compared.lost += found;
        at += found + 1;
        compared.kept += 1;
        is_said = false;
    }
    if at < said.len() {
        if !is_said {
            return Err(format!("lost unsaid at the end: {:#?}", &said[at..]));
        }
        compared.lost += said.len() - at;
    }
    Ok(compared)
}

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Compared {
    pub kept: usize,
    pub lost: usize,
    pub gaps: usize,
}

fn message_of(event: &Value) -> Value {
    let mut message = event["payload"].as_object().cloned().unwrap_or_default();
    message.insert("type".to_owned(), event["type"].clone());
    bare(Value::Object(message))
}

fn bare(message: Value) -> Value {
    let mut fields: Map<String, Value> = message.as_object().cloned().unwrap_or_default();
    fields.remove(SO_FAR);
    Value::Object(fields)
}
