//! Redaction. Input: a secret, and behind the first line end what leaves.
//!
//! No secret leaves, neither as it is nor as JSON spells it; of a stream that is cut in one, its beginning is held back; a
//! message stays a message with its own id and method.

use std::borrow::Cow;

use breadboard_core::domain::policy::redact::Redactor;
use serde_json::Value;

use super::pieces::halves;

/// Shorter text is no secret (`domain::policy::redact`).
const SHORTEST: usize = 6;

/// See the module.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (secret, leaves) = data.split_at(end);
    let Ok(secret) = std::str::from_utf8(secret) else { return };
    // What is put in a secret's place may not make a new one.
    if secret.len() < SHORTEST || secret.contains(['[', ']']) || "[redacted]".contains(secret) {
        return;
    }
    let mut redactor = Redactor::default();
    redactor.add(secret);
    let quoted = Value::from(secret).to_string();
    let spellings = [secret, &quoted[1..quoted.len() - 1]];

    let clean = redactor.scrub(leaves);
    // JSON has more spellings than these two.
    if let Cow::Borrowed(same) = clean {
        assert_eq!(same, leaves);
    }
    assert!(!holds(&clean, &spellings), "a secret left");
    assert!(matches!(redactor.scrub(&clean), Cow::Borrowed(_)), "it is not clean yet");

    if let Ok(text) = std::str::from_utf8(leaves) {
        what_crosses_a_cut_is_held_back(&redactor, text, &spellings);
    }
    if let Ok(before) = serde_json::from_slice::<Value>(leaves) {
        let after = redactor.scrub_json(leaves);
        let after: Value = serde_json::from_slice(&after).expect("a message stays JSON");
        for name in ["jsonrpc", "method", "id"] {
            assert_eq!(before.get(name), after.get(name));
        }
        strings_are_clean(&after, &spellings, 0);
    }
}

/// A secret that begins in one piece and ends in the next begins in what is held back of the first.
fn what_crosses_a_cut_is_held_back(redactor: &Redactor, text: &str, secrets: &[&str]) {
    let (first, _) = halves(text);
    let held = redactor.open_end(first);
    for secret in secrets {
        let nearest = (first.len() + 1).saturating_sub(secret.len());
        for begin in nearest..first.len() {
            if text.as_bytes()[begin..].starts_with(secret.as_bytes()) {
                assert!(first.len() - begin <= held, "{secret:?} begins before what is held back");
            }
        }
    }
}

/// Every string, but for the fields that make a message one.
fn strings_are_clean(value: &Value, secrets: &[&str], depth: usize) {
    match value {
        Value::String(text) => assert!(!holds(text.as_bytes(), secrets), "a secret left in {text:?}"),
        Value::Array(items) => items.iter().for_each(|item| strings_are_clean(item, secrets, depth + 1)),
        Value::Object(map) => {
            for (name, value) in map {
                if depth > 0 || !["jsonrpc", "method", "id"].contains(&name.as_str()) {
                    strings_are_clean(value, secrets, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn holds(bytes: &[u8], secrets: &[&str]) -> bool {
    secrets.iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
}
