//! What an agent asks: from `session/request_permission`, `elicitation/create`, `terminal/create` and
//! `fs/write_text_file` to a `PermissionAsk`.
//!
//! Owns the title: it says what would happen by what the agent will do (the command line, the paths), and by the agent's own
//! words only where it says nothing else. Title and labels are made safe to show here, part by part; everything else of the ask
//! is as the agent wrote it. The options of a permission are the agent's, and what "always" covers there, the agent alone knows
//! and keeps; of the writes that we do for it, this server keeps a rule.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::before::{Replaced, replaced, with_found};
use super::call::{command_line, paths_of, text};
use super::subject;
use crate::domain::approval::{
    Action, InputForm, OfferedRule, PermissionAsk, PermissionOption, PermissionOptionKind, RuleHolder,
    RuleScope, Subject,
};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::quoted::quoted;
use crate::domain::event::{EngineEvent, SessionEvent};
use crate::domain::fingerprint::key;
use crate::domain::shown::{Kind, cut_marked, show_start};

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
    let mut tool_call_id = None;
    let (title, options, subject) = match event.kind.as_str() {
        "session/request_permission" => {
            let nothing = Map::new();
            let call = params.object("toolCall").unwrap_or(&nothing);
            tool_call_id = text(call, "toolCallId").map(key);
            let call = with_found(call, params);
            (call_title(&call), offered(params), subject::of_call(&call))
        }
        "elicitation/create" => {
            let (title, input) = elicitation(params);
            let options = vec![
                PermissionOption::plain("accept", "Accept", PermissionOptionKind::AllowOnce),
                PermissionOption::plain("decline", "Decline", PermissionOptionKind::Deny),
            ];
            let text = input.message.clone();
            (title, options, Subject::new(Action::Question { text, input: Some(input) }))
        }
        TERMINAL => (terminal_title(params), once_or_not(), subject::of_terminal(params)),
        "fs/write_text_file" => (write_title(params), of_write(), subject::of_write(params)),
        _ => return None,
    };
    Some(PermissionAsk {
        engine_request_id: event.id.clone(),
        title,
        options,
        subject,
        tool_call_id,
        patch_id: None,
        payload: Value::Object(params.clone()),
    })
}

/// Whether the client runs the command that an ask of this type is about, and not the agent.
pub(in crate::domain::dialect) fn runs_at_client(kind: &str) -> bool {
    kind == TERMINAL
}

const TERMINAL: &str = "terminal/create";

/// The ask with what the agent said of its call before, oldest first: agents name a call in their request and no more.
pub(in crate::domain::dialect) fn completed(ask: PermissionAsk, earlier: &[SessionEvent]) -> PermissionAsk {
    let Some(call) = ask.payload.object("toolCall") else { return ask };
    let mut whole = Map::new();
    let same = |call: &Map<String, Value>| text(call, "toolCallId").map(key) == ask.tool_call_id;
    let said = earlier.iter().map(|event| &*event.payload).filter(|earlier| same(earlier));
    for said in said.chain([call]) {
        for (name, value) in said {
            // Absent, null and empty mean unchanged.
            let says = match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                Value::String(words) => !words.trim().is_empty(),
                Value::Bool(_) | Value::Number(_) => true,
            };
            if says {
                whole.insert(name.clone(), value.clone());
            }
        }
    }
    let whole = match ask.payload.as_object() {
        Some(request) => with_found(&whole, request).into_owned(),
        None => whole,
    };
    let (title, subject) = (call_title(&whole), subject::of_call(&whole));
    PermissionAsk { title, subject, ..ask }
}

/// The agent's own options, the narrowest first. Of a kind that nobody knows the widest is assumed.
fn offered(params: &Map<String, Value>) -> Vec<PermissionOption> {
    let options = params.list("options");
    let mut options: Vec<(u8, PermissionOption)> = options
        .into_iter()
        .flatten()
        .filter_map(|offered| {
            let id = offered.string("optionId")?;
            let label = |most| {
                let name = offered.string("name").filter(|name| !name.trim().is_empty());
                show_start(name.unwrap_or(id), Kind::Sentence, most).into_owned()
            };
            let (rank, kind) = match offered.string("kind") {
                Some("allow_once") => (0, PermissionOptionKind::AllowOnce),
                Some("reject_once") => (2, PermissionOptionKind::Deny),
                Some("reject_always") => (3, PermissionOptionKind::Deny),
                Some(_) | None => (1, PermissionOptionKind::AllowRule),
            };
            // What "always" covers, the agent alone knows; its words for it stand on the option.
            let rule = (kind == PermissionOptionKind::AllowRule).then(|| OfferedRule {
                pattern: offered.string("name").unwrap_or(id).to_owned(),
                scope: None,
                holder: RuleHolder::Agent,
                kept_in: None,
            });
            Some((rank, PermissionOption { option_id: id.to_owned(), label: label(LABEL), kind, rule }))
        })
        .take(OPTIONS)
        .collect();
    options.sort_by_key(|(rank, _)| *rank);
    options.into_iter().map(|(_, option)| option).collect()
}

fn once_or_not() -> Vec<PermissionOption> {
    vec![
        PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
        PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny),
    ]
}

/// The answers to a write. No write leaves the open folders, whatever its path says, so that is where the rule holds.
fn of_write() -> Vec<PermissionOption> {
    let rule = OfferedRule {
        pattern: "write any file in the open folders".to_owned(),
        scope: Some(RuleScope::Session),
        holder: RuleHolder::Server,
        kept_in: None,
    };
    let mut options = once_or_not();
    options.insert(1, PermissionOption::ruling("allow_session", "Allow all edits of this session", rule));
    options
}

/// What a tool call would do.
fn call_title(call: &Map<String, Value>) -> String {
    let input = call.object("rawInput");
    let kind = text(call, "kind").unwrap_or("other");
    let mut parts = Vec::new();
    if let Some(command) = input.and_then(command_line) {
        let place = input
            .and_then(|input| ["cwd", "workdir", "directory"].into_iter().find_map(|name| text(input, name)));
        parts.push(match place {
            Some(place) => format!("{} in {}", run(&command), code(&quoted(place), PART)),
            None => run(&command),
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
            targets = vec![code(url, PART).into_owned()];
        }
        if !targets.is_empty() {
            parts.push(format!("{verb} {}", listed(&targets)));
        }
    }
    let said = text(call, "title").or_else(|| text(call, "name"));
    if parts.is_empty() && said.is_none() && input.is_none_or(Map::is_empty) {
        return "The agent does not say what it wants to do.".to_owned();
    }
    if parts.is_empty() {
        let what = code(said.unwrap_or("A tool without a name"), PART);
        return match call
            .get("rawInput")
            .filter(|input| !input.is_null() && **input != Value::Object(Map::new()))
        {
            Some(input) => cut_marked(format!("{what} {}", code(&input.to_string(), ARGUMENTS)), 2 * TITLE),
            None => what.into_owned(),
        };
    }
    cut_marked(parts.join("; "), 2 * TITLE)
}

/// What is said of a command. One that has words in it which the rest of a title begins with is quoted, so that no command
/// reads like a shorter one in another folder or with another environment.
fn run(command: &str) -> String {
    let ambiguous = [" in ", " with ", "; Edit ", "; Create "].iter().any(|words| command.contains(words));
    let command = if ambiguous { Cow::Owned(quoted(command)) } else { Cow::Borrowed(command) };
    format!("Run {}", code(&command, TITLE))
}

/// The files that the shown differences change.
fn diffs(call: &Map<String, Value>) -> Vec<String> {
    let content = call.list("content");
    let mut seen: Vec<String> = Vec::new();
    for piece in content.into_iter().flatten() {
        if piece.string("type") != Some("diff") {
            continue;
        }
        let verb = if replaced(piece) == Replaced::Nothing { "Create" } else { "Edit" };
        let path = piece.string("path").unwrap_or("a file without a name");
        let said = format!("{verb} {}", code(path, PART));
        if !seen.contains(&said) {
            seen.push(said);
        }
    }
    seen
}

/// Paths that a call is about: those of its arguments and, where those have none, its locations.
fn targets(call: &Map<String, Value>, input: Option<&Map<String, Value>>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for path in paths_of(call, input) {
        let path = code(&path, PART).into_owned();
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
    let url = text(params, "url");
    let title = match url {
        Some(url) => {
            format!("Visit {}: {}", code(url, TITLE), show_start(message, Kind::Sentence, PART))
        }
        None => show_start(message, Kind::Sentence, TITLE).into_owned(),
    };
    let schema = params.get("requestedSchema").filter(|schema| schema.is_object()).cloned();
    (title, InputForm { message: message.to_owned(), schema, url: url.map(str::to_owned) })
}

fn terminal_title(params: &Map<String, Value>) -> String {
    let line = command_line(params).unwrap_or_else(|| "a command without a name".to_owned());
    let mut title = run(&line);
    if let Some(cwd) = text(params, "cwd") {
        title.push_str(&format!(" in {}", code(&quoted(cwd), PART)));
    }
    let env = params.list("env");
    let set: Vec<String> = env
        .into_iter()
        .flatten()
        .filter_map(|variable| {
            let name = variable.string("name")?;
            let value = variable.string("value").unwrap_or_default();
            Some(code(&format!("{name}={}", quoted(value)), PART).into_owned())
        })
        .collect();
    if !set.is_empty() {
        title.push_str(&format!(" with {}", listed(&set)));
    }
    cut_marked(title, 2 * TITLE)
}

fn write_title(params: &Map<String, Value>) -> String {
    let path = text(params, "path").unwrap_or("a file without a name");
    let bytes = params.string("content").map_or(0, str::len);
    format!("Write {} ({bytes} bytes)", code(path, TITLE))
}

/// What runs or is named, whole or cut with a word about it.
fn code(text: &str, most: usize) -> Cow<'_, str> {
    show_start(text, Kind::Code, most)
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
