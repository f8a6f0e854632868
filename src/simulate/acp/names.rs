//! Names in a script: `$session`, `$answer.terminalId`, and `${cwd}` within a text.
//!
//! Owns their syntax. A name that is not known stays as it is written.

use serde_json::{Map, Value};

/// The values that names stand for.
pub(super) type Names = Map<String, Value>;

/// A value with its names filled in, however deep they stand.
pub(super) fn filled(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => whole(text, names).unwrap_or_else(|| Value::String(within(text, names))),
        Value::Array(items) => items.iter().map(|item| filled(item, names)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), filled(value, names)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A text with its names filled in.
pub(super) fn filled_text(text: &str, names: &Names) -> String {
    match whole(text, names) {
        Some(value) => plain(&value),
        None => within(text, names),
    }
}

/// A text that is one name takes its value with its type.
fn whole(text: &str, names: &Names) -> Option<Value> {
    let name = text.strip_prefix('$')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c));
    if is_name { found(name, names) } else { None }
}

fn within(text: &str, names: &Names) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match from.find('}').and_then(|end| Some((end, found(&from[2..end], names)?))) {
            Some((end, value)) => {
                out.push_str(&plain(&value));
                rest = &from[end + 1..];
            }
            None => {
                out.push_str("${");
                rest = &from[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn found(path: &str, names: &Names) -> Option<Value> {
    let mut parts = path.split('.');
    let mut value = names.get(parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_alone_keeps_its_type_and_one_within_a_text_is_text() {
        let names = json!({"answer": {"terminalId": "t1", "codes": [3, 4]}, "pid": 7});
        let names = names.as_object().expect("an object");
        let given =
            json!({"a": "$answer.codes.1", "b": ["${pid}/${answer.terminalId}"], "c": "$pid", "d": 1});
        assert_eq!(filled(&given, names), json!({"a": 4, "b": ["7/t1"], "c": 7, "d": 1}));
    }

    #[test]
    fn what_is_no_known_name_stays_as_it_is() {
        let names = Names::new();
        for text in ["$nobody", "costs $5", "${nobody} and ${", "$", "$ 5", "${}"] {
            assert_eq!(filled_text(text, &names), text);
        }
    }
}
