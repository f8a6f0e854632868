//! What stands in the arguments of an agent's tool call, wherever agents put it: the command line, the paths, a text.
//!
//! Never decides what is shown of it.

use serde_json::{Map, Value};

use crate::domain::dialect::loose::Members;
use crate::domain::dialect::quoted::quoted;

/// The command line of arguments: text, or words, or a program and its arguments.
pub(super) fn command_line(input: &Map<String, Value>) -> Option<String> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(quoted).collect()
    };
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(program) if !program.trim().is_empty() => {
            let rest = input.get("args").map(words).unwrap_or_default();
            Some([vec![program.clone()], rest].concat().join(" "))
        }
        list @ Value::Array(_) => Some(words(list).join(" ")).filter(|line| !line.is_empty()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

/// Paths that a call is about, as the agent wrote them, perhaps more than once: those of its arguments, then its locations.
pub(super) fn paths_of(call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Vec<String> {
    const NAMES: [&str; 9] = [
        "filePath",
        "filepath",
        "file_path",
        "abs_path",
        "absolute_path",
        "path",
        "target_file",
        "source",
        "destination",
    ];
    let mut paths: Vec<String> = input
        .into_iter()
        .flat_map(|input| NAMES.iter().filter_map(|name| text(input, name)))
        .map(str::to_owned)
        .collect();
    // Many files at once, by name.
    let changes = input.and_then(|input| input.get("changes")).and_then(Value::as_object);
    paths.extend(changes.into_iter().flat_map(Map::keys).cloned());
    let locations = call.list("locations");
    paths.extend(locations.into_iter().flatten().filter_map(|place| place.string("path")).map(str::to_owned));
    paths
}

pub(super) fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.string(name).filter(|text| !text.trim().is_empty())
}
