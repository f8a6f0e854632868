//! JSON as engines write it.
//!
//! What is strict stays as it is; what is repaired is strict, says the same everywhere else and is not repaired twice; text
//! that is not JSON is never made into some.

use breadboard_ls::domain::wire::lenient_json::{is_strict, repair};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::json::strict;
use super::pieces::number_of;

/// What Python writes for a number that is none, and a number that none can be.
const NO_NUMBERS: [&str; 4] = ["NaN", "Infinity", "-Infinity", "-1e999"];

/// See the module.
pub fn run(data: &[u8]) {
    let text = std::str::from_utf8(data).ok();
    if let Some(text) = text
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
    {
        let value = strict(text);
        assert_eq!(is_strict(text), value.is_some(), "a parser that builds everything says otherwise");
        if let Some(value) = value {
            assert_eq!(repair(data).as_deref(), Some(text));
            damage_is_repaired(&value);
        }
    }
    if let Some(repaired) = repair(data) {
        assert!(strict(&repaired).is_some(), "what was repaired is not strict");
        assert_eq!(repair(repaired.as_bytes()).as_ref(), Some(&repaired));
        assert!(repaired.len() <= data.len() * 3);
    }
}

/// A value, written with the damage that engines do, comes out as the value with what stands for the damage.
fn damage_is_repaired(value: &Value) {
    let mut damaged = String::new();
    write_damaged(value, &mut damaged);
    let repaired = repair(damaged.as_bytes()).unwrap_or_else(|| panic!("not repaired: {damaged}"));
    assert_eq!(strict(&repaired), Some(with_marks(value)), "{damaged}");
}

/// No number for `null`, and half a character at the end of every string.
fn write_damaged(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str(NO_NUMBERS[number_of(out.as_bytes()) as usize % NO_NUMBERS.len()]),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_damaged(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (at, (name, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_string(name, out);
                out.push(':');
                write_damaged(value, out);
            }
            out.push('}');
        }
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

fn write_string(text: &str, out: &mut String) {
    let quoted = Value::from(text).to_string();
    out.push_str(quoted.strip_suffix('"').unwrap_or(&quoted));
    out.push_str(["\\ud83d\"", "\\uDE00\""][text.len() % 2]);
}

fn with_marks(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(format!("{text}\u{FFFD}")),
        Value::Array(items) => items.iter().map(with_marks).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(name, value)| (format!("{name}\u{FFFD}"), with_marks(value))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
