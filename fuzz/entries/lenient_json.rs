//! JSON as engines write it.
//!
//! What is strict stays as it is; what is repaired is strict, says the same everywhere else and is not repaired twice; text
//! that is not JSON is never made into some.

use breadboard_core::domain::wire::lenient_json::{is_strict, repair};
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

/// A value, written with the damage that engines do, comes out with what stands for the damage and else as it was written.
fn damage_is_repaired(value: &Value) {
    let mut written = Written::default();
    written.write(value);
    assert_eq!(repair(written.damaged.as_bytes()), Some(written.repaired), "{}", written.damaged);
}

/// A value with its damage, and as it must come out.
#[derive(Default)]
struct Written {
    damaged: String,
    repaired: String,
}

impl Written {
    /// No number for `null`, and half a character at the end of every string.
    fn write(&mut self, value: &Value) {
        match value {
            Value::Null => {
                let at = number_of(self.damaged.as_bytes()) as usize % NO_NUMBERS.len();
                self.put(NO_NUMBERS[at], "null");
            }
            Value::String(text) => self.write_string(text),
            Value::Array(items) => {
                self.put("[", "[");
                for (at, item) in items.iter().enumerate() {
                    self.separate(at);
                    self.write(item);
                }
                self.put("]", "]");
            }
            Value::Object(map) => {
                self.put("{", "{");
                for (at, (name, value)) in map.iter().enumerate() {
                    self.separate(at);
                    self.write_string(name);
                    self.put(":", ":");
                    self.write(value);
                }
                self.put("}", "}");
            }
            Value::Bool(_) | Value::Number(_) => self.put(&value.to_string(), &value.to_string()),
        }
    }

    fn write_string(&mut self, text: &str) {
        let quoted = Value::from(text).to_string();
        let open = quoted.strip_suffix('"').unwrap_or(&quoted);
        self.put(open, open);
        self.put(["\\ud83d\"", "\\uDE00\""][text.len() % 2], "\\ufffd\"");
    }

    fn put(&mut self, damaged: &str, repaired: &str) {
        self.damaged.push_str(damaged);
        self.repaired.push_str(repaired);
    }

    /// The comma before every member but the first.
    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.put(",", ",");
        }
    }
}
