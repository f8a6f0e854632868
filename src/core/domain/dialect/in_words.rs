//! Fields of an engine in words for a person: what a tool gave back that is no text, and the details of what is asked.
//!
//! Owns the order and the form of the words. Never makes JSON, and never knows what a field means.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// What says most stands first and needs no name.
const FIRST: [&str; 10] =
    ["stdout", "stderr", "output", "summary", "message", "error", "reason", "text", "content", "path"];
/// What a block says by its status, or shows as its exit code.
const ELSEWHERE: [&str; 6] = ["ok", "success", "is_error", "exit_code", "exitCode", "returncode"];
/// Words that are put together, before they are cut to a preview.
const WHOLE: usize = 64 * 1024;

/// A value in words. `None`: it says nothing.
pub(super) fn words(value: &Value) -> Option<String> {
    let said = match value {
        Value::Object(fields) => lines(fields),
        Value::Array(items) => list(items),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Null => plain(value),
    };
    (!said.is_empty()).then_some(said)
}

/// The fields of an object, each on lines of its own.
fn lines(fields: &Map<String, Value>) -> String {
    let mut whole = String::new();
    let first = FIRST.into_iter().filter_map(|name| fields.get_key_value(name));
    let named = |name: &str| FIRST.contains(&name) && !matches!(name, "path" | "error" | "reason");
    let rest = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    for (name, value) in first.chain(rest) {
        if ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        let said = match value {
            Value::String(text) if named(name) => text.clone(),
            Value::Array(items) if items.iter().any(is_deep) => format!("{}:\n{}", spoken(name), list(items)),
            Value::String(text) if text.trim_end().contains('\n') => format!("{}:\n{text}", spoken(name)),
            Value::Null => continue,
            value @ (Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_)) => match inline(value) {
                said if said.is_empty() => continue,
                said => format!("{}: {said}", spoken(name)),
            },
        };
        add_line(&mut whole, &said);
        if whole.len() > WHOLE {
            break;
        }
    }
    whole
}

fn list(items: &[Value]) -> String {
    let mut whole = String::new();
    for item in items {
        match inline(item) {
            said if said.is_empty() => {}
            said => add_line(&mut whole, &format!("- {said}")),
        }
        if whole.len() > WHOLE {
            break;
        }
    }
    whole
}

/// Adds a text that begins on a line of its own.
fn add_line(whole: &mut String, said: &str) {
    if said.is_empty() {
        return;
    }
    if !whole.is_empty() && !whole.ends_with('\n') {
        whole.push('\n');
    }
    whole.push_str(said);
}

fn is_deep(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// A value within a line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => details(fields.iter()),
        Value::Array(items) => {
            let each = items.iter().map(|item| match item {
                Value::Object(_) | Value::Array(_) => format!("({})", inline(item)),
                item @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain(item),
            });
            each.filter(|said| !said.is_empty()).collect::<Vec<_>>().join(", ")
        }
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain(value),
    }
}

/// Fields within a line: `kind: run, force: yes`.
pub(super) fn details<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let mut whole = String::new();
    for (name, value) in fields {
        let said = if value.is_object() { format!("({})", inline(value)) } else { inline(value) };
        if said.is_empty() {
            continue;
        }
        let between = if whole.is_empty() { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(whole, "{between}{}: {said}", spoken(name));
    }
    whole
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim_end().to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

/// The name of a field as words: `files_searched` and `filesSearched` are `files searched`.
fn spoken(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && small {
            words.push(' ');
            words.push(letter.to_ascii_lowercase());
        } else {
            words.push(if letter == '_' { ' ' } else { letter });
        }
        small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_lines_of_words_and_never_json() {
        let said = |value: Value| words(&value);
        let cases = [
            (json!({"summary": "1 occurrence"}), Some("1 occurrence")),
            (
                json!({"exit_code": 2, "stderr": "no\n", "stdout": "out", "timedOut": false}),
                Some("out\nno\ntimed out: no"),
            ),
            (
                json!({"path": "/local", "ok": false, "error": "Is a directory"}),
                Some("error: Is a directory\npath: /local"),
            ),
            (
                json!({"files_searched": 3, "places": [{"path": "a", "line": 2}, {"path": "b", "range": {"end": 4}}]}),
                Some("files searched: 3\nplaces:\n- path: a, line: 2\n- path: b, range: (end: 4)"),
            ),
            (
                json!({"tags": ["a", "b"], "deep": {"x": [1, [2]]}, "note": "a\nb"}),
                Some("tags: a, b\ndeep: x: 1, (2)\nnote:\na\nb"),
            ),
            (json!([{"id": 1}, "two", null]), Some("- id: 1\n- two")),
            (json!({"ok": true, "none": null, "empty": [], "blank": ""}), None),
            (json!(null), None),
            (json!(7), Some("7")),
        ];
        for (value, expected) in cases {
            assert_eq!(said(value.clone()).as_deref(), expected, "{value}");
        }
        let long = said(json!({"a": "x".repeat(WHOLE), "b": "y", "c": "z"})).unwrap();
        assert!(long.len() < WHOLE + 100, "a result of any size costs no more than its beginning");
    }
}
