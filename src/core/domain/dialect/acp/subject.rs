//! What an agent's request is about, as the files, the command or the tool that a person decides on.
//!
//! Owns where agents write a change: as differences, as changes by path, as a diff, as the text before and after. Never
//! guesses: what no field tells is unknown, and is said to be.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::before::{Replaced, replaced, tells_a_difference};
use super::call::{command_line, paths_of, text};
use crate::domain::approval::{Action, ChangeKind, FileChange, Subject};
use crate::domain::dialect::loose::Members;
use crate::domain::edits::patch;
use crate::domain::edits::told::{ToldChange, ToldEdit};

/// Names under which agents put a unified diff.
const DIFFS: [&str; 4] = ["diff", "unified_diff", "patch", "patchText"];
/// Names under which they put the text that is to be replaced, and the one in its place.
const REPLACED: [(&str, &str); 4] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
];
/// Names under which they put the path of the file that is changed.
const PATHS: [&str; 6] = ["filePath", "filepath", "file_path", "abs_path", "path", "target_file"];
/// Said of a part that its file does not have exactly once.
const UNPLACED: &str =
    "The file as it is now does not have what this replaces exactly once, so these lines are counted from 1.";
/// Names under which they put a whole new text.
const CONTENTS: [&str; 4] = ["content", "contents", "file_text", "new_content"];

/// Of a tool call: what it changes, else what it runs, else the tool with its arguments.
pub(super) fn of_call(call: &Map<String, Value>) -> Subject {
    let input = call.object("rawInput").filter(|input| !input.is_empty());
    let reason =
        input.and_then(|input| ["reason", "description"].into_iter().find_map(|name| text(input, name)));
    let unread = unread(call);
    let reason = match (reason, &unread) {
        (Some(reason), Some(unread)) => Some(Cow::Owned(format!("{reason}\n{unread}"))),
        (None, Some(unread)) => Some(Cow::Borrowed(unread.as_str())),
        (reason, None) => reason.map(Cow::Borrowed),
    };
    let files = changed(call, input);
    let command = input.and_then(command_line);
    let subject = match command {
        Some(command) if files.is_empty() => running(command, input),
        // Neither may hide the other.
        Some(command) => both(&command, call, input),
        None if files.is_empty() => by_kind(call, input),
        None => Subject::editing(files),
    };
    subject.because(reason.as_deref())
}

/// What is said of differences whose file could not be read, or has not what they replace.
fn unread(call: &Map<String, Value>) -> Option<String> {
    let content = call.list("content")?;
    content.iter().filter(|piece| piece.string("type") == Some("diff")).find_map(|piece| {
        match replaced(piece) {
            Replaced::Unread(why) => Some(format!(
                "What is there now could not be read, so what this replaces is not shown. {why}"
            )),
            Replaced::Unplaced(_) => Some(UNPLACED.to_owned()),
            Replaced::Text(_) | Replaced::Part { .. } | Replaced::Nothing => None,
        }
    })
}

fn running(command: String, input: Option<&Map<String, Value>>) -> Subject {
    let cwd = input.and_then(|input| {
        ["cwd", "workdir", "directory", "working_directory"].into_iter().find_map(|name| text(input, name))
    });
    let cwd = cwd.unwrap_or(".").to_owned();
    Subject::new(Action::Command { command, cwd, env: None })
}

/// A command and changes of files in one call.
fn both(command: &str, call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Subject {
    let name = text(call, "title").or_else(|| text(call, "name")).unwrap_or("Several actions").to_owned();
    let both = serde_json::json!({ "command": command, "content": call.get("content"), "arguments": input });
    Subject::new(Action::Tool { name, server: None, input: Some(both) })
}

/// Of a call that tells neither a change nor a command: what its kind and its paths say.
fn by_kind(call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Subject {
    let kind = text(call, "kind").unwrap_or("other");
    let paths = paths_of(call, input);
    let name = text(call, "title").or_else(|| text(call, "name")).or_else(|| text(call, "kind"));
    let tool = || Action::Tool {
        name: name.unwrap_or("A tool without a name").to_owned(),
        server: None,
        input: call.get("rawInput").filter(|input| !is_empty(input)).cloned(),
    };
    match kind {
        "delete" if !paths.is_empty() => {
            let files =
                each_once(paths).into_iter().map(|path| FileChange::untold(&path, ChangeKind::Delete));
            Subject::new(Action::Edit { files: files.collect() })
        }
        "move" => match moved(input) {
            Some(file) => Subject::new(Action::Edit { files: vec![file] }),
            None if input.is_some() => Subject::new(tool()),
            None => Subject::unknown(tool()),
        },
        // The arguments say no more than where: what would be written there nobody told.
        "edit" if !paths.is_empty() && !input.is_some_and(tells_more) => {
            let files =
                each_once(paths).into_iter().map(|path| FileChange::untold(&path, ChangeKind::Modify));
            Subject::unknown(Action::Edit { files: files.collect() })
        }
        "execute" if input.is_none() => Subject::unknown(tool()),
        "read" | "search" | "fetch" if !paths.is_empty() || input.is_some() => {
            let input = input.map(|input| Value::Object(input.clone()));
            let input = input.unwrap_or_else(|| serde_json::json!({ "paths": paths }));
            let name = name.unwrap_or(kind).to_owned();
            Subject::new(Action::Tool { name, server: None, input: Some(input) })
        }
        _ if input.is_some() || call.get("rawInput").is_some_and(|input| !is_empty(input)) => {
            Subject::new(tool())
        }
        _ => Subject::unknown(tool()),
    }
}

/// The changes of text that a tool call tells whole, by where it tells them. `None`: it says nothing there, which means unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToldByCall {
    /// In its content.
    pub content: Option<Vec<ToldEdit>>,
    /// In its arguments.
    pub input: Option<Vec<ToldEdit>>,
}

impl ToldByCall {
    /// What this call tells with what was told of it before: as `completed` shows it.
    pub fn after(self, earlier: Self) -> Self {
        Self { content: self.content.or(earlier.content), input: self.input.or(earlier.input) }
    }

    /// The changes, for each file in all ways in which it is told.
    pub fn edits(self) -> Vec<ToldEdit> {
        self.content.into_iter().chain(self.input).flatten().collect()
    }
}

/// Whether an update is about a tool call.
pub fn tells_a_call(kind: &str) -> bool {
    matches!(kind, "tool_call" | "tool_call_update")
}

/// Whether an agent says something to the user, or begins a call.
pub fn goes_on(kind: &str, update: &Map<String, Value>) -> bool {
    match kind {
        "tool_call" => true,
        "agent_message_chunk" => {
            let text = update.get("content").and_then(|content| content.get("text"));
            text.and_then(Value::as_str).is_none_or(|text| !text.trim().is_empty())
        }
        _ => false,
    }
}

/// What a tool call tells.
pub fn told_edits(call: &Map<String, Value>) -> ToldByCall {
    let content = call.list("content").filter(|content| !content.is_empty());
    let input = call.object("rawInput").filter(|input| !input.is_empty());
    ToldByCall {
        content: content.map(|content| content.iter().filter_map(told_difference).collect()),
        input: input.map(|input| told_patch(input).into_iter().collect()),
    }
}

fn told_difference(piece: &Value) -> Option<ToldEdit> {
    let (path, new) = (piece.string("path")?, piece.string("newText")?);
    let old = piece.string("oldText").map(str::to_owned);
    let change = ToldChange::Replaced { old, new: new.to_owned() };
    tells_a_difference(piece).then(|| ToldEdit { path: path.to_owned(), change })
}

fn told_patch(input: &Map<String, Value>) -> Option<ToldEdit> {
    let path = PATHS.into_iter().find_map(|name| text(input, name))?;
    let diff = DIFFS.into_iter().find_map(|name| text(input, name))?;
    let files = patch::parse(diff).ok()?;
    let [file] = files.as_slice() else { return None };
    Some(ToldEdit { path: path.to_owned(), change: ToldChange::Patched(file.hunks.clone()) })
}

/// Of a command in a terminal.
pub(super) fn of_terminal(params: &Map<String, Value>) -> Subject {
    let env: Map<String, Value> = params
        .list("env")
        .into_iter()
        .flatten()
        .filter_map(|variable| {
            let name = variable.string("name")?.to_owned();
            Some((name, variable.get("value").cloned().unwrap_or_default()))
        })
        .collect();
    let cwd = text(params, "cwd").unwrap_or(".").to_owned();
    match command_line(params) {
        Some(command) => {
            Subject::new(Action::Command { command, cwd, env: Some(env).filter(|env| !env.is_empty()) })
        }
        None => Subject::unknown(Action::Command { command: String::new(), cwd, env: None }),
    }
}

/// Of a file that the agent writes through us; the text that is there now was put beside it.
pub(super) fn of_write(params: &Map<String, Value>) -> Subject {
    let path = text(params, "path").unwrap_or("a file without a name");
    let old = params.string("oldText");
    match params.string("content") {
        Some(new) => Subject::new(Action::Edit { files: vec![FileChange::of_texts(path, old, new)] }),
        None => Subject::unknown(Action::Edit { files: vec![FileChange::untold(path, ChangeKind::Modify)] }),
    }
}

/// The files that a call changes, as far as it tells what it writes.
fn changed(call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Vec<FileChange> {
    let content = call.list("content");
    let differences: Vec<FileChange> = content
        .into_iter()
        .flatten()
        .filter(|piece| piece.string("type") == Some("diff"))
        .map(|piece| {
            let path = piece.string("path").unwrap_or("a file without a name");
            let new = piece.string("newText").unwrap_or_default();
            match replaced(piece) {
                Replaced::Text(old) | Replaced::Unplaced(old) => FileChange::of_parts(path, Some(old), new),
                Replaced::Part { line, above, part, below } => {
                    let around = |text: &str| format!("{above}{text}{below}");
                    FileChange::of_lines(path, line, &around(part), &around(new))
                }
                Replaced::Nothing => FileChange::of_parts(path, None, new),
                Replaced::Unread(_) => FileChange::rewritten(path, new),
            }
        })
        .collect();
    if !differences.is_empty() {
        return differences;
    }
    let Some(input) = input else { return Vec::new() };
    if let Some(changes) = input.object("changes") {
        return changes.iter().flat_map(|(path, change)| by_path(path, change)).collect();
    }
    let path = PATHS.into_iter().find_map(|name| text(input, name));
    if let Some(diff) = DIFFS.into_iter().find_map(|name| text(input, name)) {
        return FileChange::of_diff(diff, path);
    }
    let Some(path) = path else { return Vec::new() };
    let field = |name: &str| input.string(name);
    let replaced = REPLACED.into_iter().find_map(|(old, new)| Some((field(old)?, field(new)?)));
    if let Some((old, new)) = replaced {
        return vec![FileChange::of_parts(path, Some(old).filter(|old| !old.is_empty()), new)];
    }
    // Arguments with a path and a text are a change only where the call is one.
    match (text(call, "kind"), CONTENTS.into_iter().find_map(field)) {
        (Some("edit"), Some(new)) => vec![FileChange::rewritten(path, new)],
        (_, _) => Vec::new(),
    }
}

/// A change under the path of its file: `{ type | kind, content | unified_diff, move_path }`.
fn by_path(path: &str, change: &Value) -> Vec<FileChange> {
    let field = |name: &str| change.string(name);
    // Codex wraps what it says in the name of the change.
    let inner = ["add", "update", "delete"].into_iter().find_map(|name| Some((name, change.get(name)?)));
    if let Some((kind, inner)) = inner.filter(|(_, inner)| inner.is_object()) {
        let mut flat = inner.clone();
        if let Some(fields) = flat.as_object_mut() {
            fields.insert("type".to_owned(), Value::from(kind));
        }
        return by_path(path, &flat);
    }
    if let Some(diff) = DIFFS.into_iter().find_map(field) {
        let files = FileChange::of_diff(diff, Some(path));
        return files
            .into_iter()
            .map(|file| match field("move_path") {
                Some(to) => {
                    FileChange { old_path: Some(path.to_owned()), change: ChangeKind::Rename, ..file.at(to) }
                }
                None => FileChange { change: ChangeKind::Modify, ..file.at(path) },
            })
            .collect();
    }
    vec![match (field("type").or_else(|| field("kind")), field("content")) {
        (Some("delete"), Some(old)) => FileChange::deleted(path, old),
        (Some("delete"), None) => FileChange::untold(path, ChangeKind::Delete),
        (_, Some(content)) => FileChange::of_texts(path, None, content),
        (Some("add"), None) => FileChange::untold(path, ChangeKind::Create),
        (_, None) => FileChange::untold(path, ChangeKind::Modify),
    }]
}

fn moved(input: Option<&Map<String, Value>>) -> Option<FileChange> {
    let field = |names: [&str; 3]| names.into_iter().find_map(|name| text(input?, name));
    let (from, to) = (field(["source", "from", "old_path"])?, field(["destination", "to", "new_path"])?);
    Some(FileChange::renamed(from, to))
}

/// Whether arguments say anything beside paths.
fn tells_more(input: &Map<String, Value>) -> bool {
    let is_path = |name: &str| name.to_ascii_lowercase().contains("path") || name == "target_file";
    input.iter().any(|(name, value)| !is_path(name) && !is_empty(value))
}

fn each_once(paths: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for path in paths {
        if !once.contains(&path) {
            once.push(path);
        }
    }
    once
}

fn is_empty(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
