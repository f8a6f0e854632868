//! The tools of the Agent Client Protocol as facts: what one message adds to what is known of a call.
//!
//! Owns field names, the agents' private places for exit codes, and how content is shown as text. Absent and `null` mean
//! unchanged. Never keeps state and never judges whether a call may run.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::before::{Replaced, replaced};
use super::content::{todos as todos_of, words};
use crate::domain::cut;
use crate::domain::dialect::limits::{INPUT, NAME, PATH, TELLING, TITLE, text};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::picture::picture;
use crate::domain::edits::diff::{cut_out, diff_body};
use crate::domain::fact::{Picture, ToolNews, ToolProgress, ToolState, ToolStep};
use crate::domain::fingerprint::key;

/// Of a difference no more than this is compared; it is shown as a preview only.
const COMPARED: usize = 128 * 1024;
/// Text of one call that is put together, before it is cut to a preview.
const SHOWN: usize = 256 * 1024;

/// What a `tool_call`, a `tool_call_update` or the call of a permission says. `None`: it names no call.
pub(super) fn news(call: &Map<String, Value>, begins: bool) -> Option<ToolNews<'static>> {
    let id = text(call, "toolCallId").filter(|id| !id.is_empty()).map(key)?;
    let input = call.get("rawInput").filter(|input| !is_empty(input));
    let output = call.get("rawOutput").filter(|output| !output.is_null());
    let title = text(call, "title").and_then(|title| title.lines().find(|line| !line.trim().is_empty()));
    let todos = input.and_then(|input| input.get("todos")).or_else(|| output?.get("metadata")?.get("todos"));
    let todos = todos.and_then(todos_of);
    let place = place(call);
    let telling =
        input.and_then(|input| TELLING.iter().chain(&["filePath"]).find_map(|name| input.string(name)));
    let title =
        title.map(str::to_owned).or_else(|| telling.and_then(|said| said.lines().next()).map(str::to_owned));
    let keeps_plan =
        todos.is_some() || title.as_deref() == Some("todowrite") || text(call, "name") == Some("todowrite");
    let terminals = call.list("content").map(|content| terminals(content));
    let (content, diff) = call.list("content").map(|content| shown(content)).unzip();
    let meta = |name: &str| call.get("_meta").and_then(|meta| meta.get(name));
    let state = ToolState {
        begins,
        progress: text(call, "status").map(|status| match status {
            "completed" => ToolProgress::Completed,
            "failed" => ToolProgress::Failed,
            "cancelled" => ToolProgress::Cancelled,
            _ => ToolProgress::Open,
        }),
        content,
        output: output.and_then(said),
        printed: meta("terminal_output_delta").or_else(|| meta("terminal_output")).and_then(delta),
        exit: output.and_then(exit).or_else(|| meta("terminal_exit").and_then(exit)),
        terminals,
        keeps_plan,
    };
    Some(ToolNews {
        id: Some(id),
        name: text(call, "name")
            .or_else(|| text(call, "kind"))
            .filter(|name| !name.is_empty())
            .map(|name| cut::line(name, NAME)),
        title: title.map(|title| located(&title, place.as_deref())),
        input: input.map(|input| cut::value(Cow::Borrowed(input), INPUT)),
        step: ToolStep::Update(Box::new(state)),
        diff: diff.filter(|diff| !diff.is_empty()),
        pictures: call.list("content").map(|content| pictures(content)).unwrap_or_default(),
        plan: todos,
        ..ToolNews::default()
    })
}

/// The first place that a call works at, with its line.
fn place(call: &Map<String, Value>) -> Option<String> {
    let first = call.list("locations")?.first()?;
    let path = first.string("path")?;
    Some(match first.get("line").and_then(Value::as_u64) {
        Some(line) => format!("{path}:{line}"),
        None => path.to_owned(),
    })
}

/// The title, with the place where it does not name that already.
fn located(title: &str, place: Option<&str>) -> String {
    let name = |place: &str| {
        let last = place.rsplit(['/', '\\']).next().unwrap_or_default();
        last.split(':').next().unwrap_or_default().to_owned()
    };
    match place {
        Some(place) if !title.contains(&name(place)) && !title.contains(' ') => {
            cut::line(&format!("{title} {place}"), TITLE)
        }
        _ => cut::line(title, TITLE),
    }
}

/// Pictures of one call.
const PICTURES: usize = 8;

fn pictures(content: &[Value]) -> Vec<Picture> {
    content.iter().filter_map(pictured).take(PICTURES).collect()
}

fn pictured(piece: &Value) -> Option<Picture> {
    piece.get("content").unwrap_or(piece).as_object().and_then(picture)
}

/// Content as text: words and a line for what is none; and its differences.
fn shown(content: &[Value]) -> (String, String) {
    let (mut whole, mut diff) = (String::new(), String::new());
    for piece in content {
        if whole.len() + diff.len() >= SHOWN {
            break;
        }
        let said = match piece.string("type") {
            Some("diff") => match difference(piece) {
                Some(Difference::Shown(hunks)) => {
                    diff.push_str(&hunks);
                    continue;
                }
                Some(Difference::TooLarge(said)) => Some(said),
                None => continue,
            },
            // What it printed stands in its place; its id says nothing to anybody.
            Some("terminal") => continue,
            // It has a place of its own.
            _ if pictured(piece).is_some() => continue,
            _ => piece
                .get("content")
                .or(Some(piece))
                .and_then(words)
                .map(|words| words.trim_matches('\n').to_owned()),
        };
        let Some(said) = said.filter(|said| !said.is_empty()) else { continue };
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(&said);
    }
    (whole, diff)
}

/// Terminals that are shown in a content: more than these nobody reads on one card.
const TERMINALS: usize = 4;

fn terminals(content: &[Value]) -> Vec<String> {
    let shown = content.iter().filter(|piece| piece.string("type") == Some("terminal"));
    shown.filter_map(|piece| piece.string("terminalId")).map(key).take(TERMINALS).collect()
}

enum Difference {
    /// A unified diff.
    Shown(String),
    /// One line that stands for it.
    TooLarge(String),
}

fn difference(piece: &Value) -> Option<Difference> {
    let path = piece.string("path")?;
    let new = piece.string("newText")?;
    let (old, is_new) = match replaced(piece) {
        Replaced::Text(old) | Replaced::Unplaced(old) | Replaced::Part { part: old, .. } => (old, false),
        Replaced::Nothing => ("", true),
        Replaced::Unread(_) => ("", false),
    };
    if old.len() + new.len() > COMPARED {
        let said = format!("[{} bytes of text in {}]", new.len(), cut::line(path, NAME));
        return Some(Difference::TooLarge(said));
    }
    // Its path is absolute more often than not, so it stands there as it is.
    let hunks = match replaced(piece) {
        Replaced::Part { line, above, part, below } => {
            let around = |text: &str| format!("{above}{text}{below}");
            diff_body(line.saturating_sub(1), &around(part), &around(new))
        }
        Replaced::Text(_) | Replaced::Unplaced(_) | Replaced::Nothing | Replaced::Unread(_) => {
            let (before, after) = cut_out(old, new);
            diff_body(0, &before, &after)
        }
    };
    let path = cut::line(path, PATH);
    let before = if is_new { "/dev/null" } else { path.as_str() };
    Some(Difference::Shown(format!("--- {before}\n+++ {path}\n{hunks}")))
}

/// The words of a raw output.
fn said(output: &Value) -> Option<String> {
    let words = match output {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            ["output", "aggregated_output", "formatted_output", "stdout", "error", "message"]
                .into_iter()
                .find_map(|name| text(fields, name).filter(|said| !said.is_empty()))
                .map(str::to_owned)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    words.filter(|words| !words.is_empty())
}

/// Exit codes stand where each agent puts them: opencode, codex, qwen.
fn exit(output: &Value) -> Option<Option<i64>> {
    let metadata = output.get("metadata").and_then(|metadata| metadata.get("exit"));
    let code = metadata.or_else(|| output.get("exit_code")).or_else(|| output.get("exitCode"))?;
    if code.is_null() { Some(None) } else { code.as_i64().map(Some) }
}

fn delta(delta: &Value) -> Option<String> {
    let words = match delta {
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) => {
            ["data", "delta", "text", "output"].into_iter().find_map(|name| text(fields, name))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    words.filter(|words| !words.is_empty()).map(str::to_owned)
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(Map::is_empty)
}
