//! What an agent asks: from `session/request_permission`, `elicitation/create`, `terminal/create` and
//! `fs/write_text_file` to a `PermissionAsk`.
//!
//! Owns the title: it says what would happen by what the agent will do (the command line, the paths), and by the agent's own
//! words only where it says nothing else; one line, without anything that could pass for another text. The options of a
//! permission are the agent's, word for word. Never makes a rule: what "always" covers, the agent alone knows and keeps.

use serde_json::{Map, Value};

use crate::domain::approval::{InputForm, PermissionAsk, PermissionOption, PermissionOptionKind};
use crate::domain::event::EngineEvent;

/// A title may show a long command whole; past that the end is named as missing, and the details have it.
const TITLE: usize = 4 * 1024;
/// One path or word of a title.
const PART: usize = 1024;
const LABEL: usize = 200;
/// Files that a title names.
const FILES: usize = 12;
/// JSON of arguments that a title shows, where nothing in them is known.
const ARGUMENTS: usize = 1024;
/// Options of one ask. More than a screen holds are no choice.
const OPTIONS: usize = 32;

/// The ask of an event whose `id` says how it is answered. `None`: nobody is asked.
pub(super) fn ask(event: &EngineEvent) -> Option<PermissionAsk> {
    if event.id.is_empty() {
        return None;
    }
    let params: &Map<String, Value> = &event.payload;
    let (title, options, input) = match event.kind.as_str() {
        "session/request_permission" => {
            let call = params.get("toolCall").and_then(Value::as_object);
            (call.map(call_title), offered(params), None)
        }
        "elicitation/create" => {
            let (title, input) = elicitation(params);
            let options = vec![
                option("accept", "Accept", PermissionOptionKind::AllowOnce),
                option("decline", "Decline", PermissionOptionKind::Deny),
            ];
            (Some(title), options, Some(input))
        }
        "terminal/create" => (Some(terminal_title(params)), once_or_not(), None),
        "fs/write_text_file" => (Some(write_title(params)), once_or_not(), None),
        _ => return None,
    };
    Some(PermissionAsk {
        engine_request_id: event.id.clone(),
        title: title.unwrap_or_else(|| "The agent does not say what it wants to do.".to_owned()),
        options,
        rule: None,
        input,
        subject: Value::Object(params.clone()),
    })
}

/// The agent's own options, the narrowest first. Of a kind that nobody knows the widest is assumed.
fn offered(params: &Map<String, Value>) -> Vec<PermissionOption> {
    let options = params.get("options").and_then(Value::as_array);
    let mut options: Vec<(u8, PermissionOption)> = options
        .into_iter()
        .flatten()
        .filter_map(|offered| {
            let id = offered.get("optionId").and_then(Value::as_str)?;
            let (rank, kind) = match offered.get("kind").and_then(Value::as_str) {
                Some("allow_once") => (0, PermissionOptionKind::AllowOnce),
                Some("reject_once") => (2, PermissionOptionKind::Deny),
                Some("reject_always") => (3, PermissionOptionKind::Deny),
                Some(_) | None => (1, PermissionOptionKind::AllowRule),
            };
            let name = offered.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
            Some((
                rank,
                PermissionOption {
                    option_id: id.to_owned(),
                    label: one_line(name.unwrap_or(id), LABEL),
                    kind,
                },
            ))
        })
        .take(OPTIONS)
        .collect();
    options.sort_by_key(|(rank, _)| *rank);
    options.into_iter().map(|(_, option)| option).collect()
}

fn once_or_not() -> Vec<PermissionOption> {
    vec![
        option("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
        option("deny", "Deny", PermissionOptionKind::Deny),
    ]
}

fn option(id: &str, label: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption { option_id: id.to_owned(), label: label.to_owned(), kind }
}

/// What a tool call would do.
fn call_title(call: &Map<String, Value>) -> String {
    let input = call.get("rawInput").and_then(Value::as_object);
    let kind = text(call, "kind").unwrap_or("other");
    let mut parts = Vec::new();
    if let Some(command) = input.and_then(command_line) {
        let place = input
            .and_then(|input| ["cwd", "workdir", "directory"].into_iter().find_map(|name| text(input, name)));
        parts.push(match place {
            Some(place) => format!("Run {} in {}", one_line(&command, TITLE), one_line(place, PART)),
            None => format!("Run {}", one_line(&command, TITLE)),
        });
    }
    let verb = match kind {
        "read" => "Read",
        "edit" => "Edit",
        "delete" => "Delete",
        "move" => "Move",
        "search" => "Search in",
        "fetch" => "Fetch",
        "execute" => "Work on",
        _ => "Use",
    };
    let edits = diffs(call);
    if !edits.is_empty() {
        parts.push(listed(&edits));
    } else if parts.is_empty() {
        let mut targets = targets(call, input);
        if kind == "fetch"
            && let Some(url) = input.and_then(|input| text(input, "url"))
        {
            targets = vec![one_line(url, PART)];
        }
        if !targets.is_empty() {
            parts.push(format!("{verb} {}", listed(&targets)));
        }
    }
    let said = text(call, "title").or_else(|| text(call, "name"));
    if parts.is_empty() {
        let what = one_line(said.unwrap_or("A tool without a name"), PART);
        return match call
            .get("rawInput")
            .filter(|input| !input.is_null() && **input != Value::Object(Map::new()))
        {
            Some(input) => bounded(format!("{what} {}", one_line(&input.to_string(), ARGUMENTS))),
            None => what,
        };
    }
    bounded(parts.join("; "))
}

/// The command line of arguments: text, or words, or a program and its arguments.
fn command_line(input: &Map<String, Value>) -> Option<String> {
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

/// The files that the shown differences change.
fn diffs(call: &Map<String, Value>) -> Vec<String> {
    let content = call.get("content").and_then(Value::as_array);
    let mut seen: Vec<String> = Vec::new();
    for piece in content.into_iter().flatten() {
        if piece.get("type").and_then(Value::as_str) != Some("diff") {
            continue;
        }
        let old = piece.get("oldText").and_then(Value::as_str);
        let verb = if old.is_none_or(str::is_empty) { "Create" } else { "Edit" };
        let path = piece.get("path").and_then(Value::as_str).unwrap_or("a file without a name");
        let said = format!("{verb} {}", one_line(path, PART));
        if !seen.contains(&said) {
            seen.push(said);
        }
    }
    seen
}

/// Paths that a call is about: those of its arguments and, where those have none, its locations.
fn targets(call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Vec<String> {
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
    let locations = call.get("locations").and_then(Value::as_array);
    paths.extend(
        locations
            .into_iter()
            .flatten()
            .filter_map(|place| place.get("path").and_then(Value::as_str))
            .map(str::to_owned),
    );
    let mut shown: Vec<String> = Vec::new();
    for path in paths {
        let path = one_line(&path, PART);
        if !shown.contains(&path) {
            shown.push(path);
        }
    }
    shown
}

fn listed(items: &[String]) -> String {
    let shown = items.iter().take(FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(FILES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn elicitation(params: &Map<String, Value>) -> (String, InputForm) {
    let message = text(params, "message").unwrap_or("The agent asks for something without saying what.");
    let url = text(params, "url").map(|url| one_line(url, TITLE));
    let title = match &url {
        Some(url) => bounded(format!("Visit {url}: {}", one_line(message, PART))),
        None => one_line(message, TITLE),
    };
    let schema = params.get("requestedSchema").filter(|schema| schema.is_object()).cloned();
    (title, InputForm { message: message.to_owned(), schema, url })
}

fn terminal_title(params: &Map<String, Value>) -> String {
    let line = command_line(params).unwrap_or_else(|| "a command without a name".to_owned());
    let mut title = format!("Run {}", one_line(&line, TITLE));
    if let Some(cwd) = text(params, "cwd") {
        title.push_str(&format!(" in {}", one_line(cwd, PART)));
    }
    let env = params.get("env").and_then(Value::as_array);
    let set: Vec<String> = env
        .into_iter()
        .flatten()
        .filter_map(|variable| {
            let name = variable.get("name").and_then(Value::as_str)?;
            let value = variable.get("value").and_then(Value::as_str).unwrap_or_default();
            Some(one_line(&format!("{name}={}", quoted(value)), PART))
        })
        .collect();
    if !set.is_empty() {
        title.push_str(&format!(" with {}", listed(&set)));
    }
    bounded(title)
}

fn write_title(params: &Map<String, Value>) -> String {
    let path = text(params, "path").unwrap_or("a file without a name");
    let bytes = params.get("content").and_then(Value::as_str).map_or(0, str::len);
    format!("Write {} ({bytes} bytes)", one_line(path, TITLE))
}

/// A word as a shell would need it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Text on one line: what breaks lines, moves or hides text is written out, since an agent's words may be made to mislead.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(most) + 8);
    for (at, c) in text.trim().char_indices() {
        if line.len() >= most {
            let left = text.trim().get(at..).map_or(0, |rest| rest.chars().count());
            line.push_str(&format!("… ({left} more characters)"));
            break;
        }
        match c {
            '\n' => line.push('⏎'),
            '\t' => line.push(' '),
            '\r' => {}
            c if c.is_control() || hides(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

/// Characters that turn the direction of text, or are not seen.
fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn bounded(title: String) -> String {
    if title.len() <= 2 * TITLE { title } else { one_line(&title, 2 * TITLE) }
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
#[path = "acp_asks_tests.rs"]
mod tests;
