//! What the BreadBoard engine says of its tools before they end: the calls, in every shape, and what they print.
//!
//! Owns the title of a call. Never says how one ended: that is `results`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::display::{Display, ToolSaid};
use super::text::{last_word, read};
use crate::domain::cut;
use crate::domain::dialect::limits::{INPUT, NAME, TITLE, title};
use crate::domain::dialect::loose::{Inside, Plain, Words};
use crate::domain::event::EventRef;
use crate::domain::fact::{Fact, PrintStream, ToolNews, ToolStep};
use crate::domain::fingerprint::key;

/// Arguments longer than this are not built as a value, since no more than their start is kept.
const BUILT: usize = 4 * INPUT;
/// Files of a patch that a title names.
const PATCHED: usize = 4;
/// A diff that a call brings along, as long as a preview.
const DIFF: usize = 4 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallFields<'a> {
    #[serde(borrow)]
    call: Inside<InnerCall<'a>>,
    #[serde(borrow)]
    call_id: Plain<'a>,
    tool: Option<Box<RawValue>>,
    #[serde(borrow)]
    tool_name: Plain<'a>,
    #[serde(borrow)]
    diff_preview: Words<'a>,
    #[serde(borrow)]
    display: Inside<Display<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InnerCall<'a> {
    #[serde(borrow)]
    id: Plain<'a>,
    #[serde(borrow)]
    function: Inside<Function<'a>>,
    #[serde(borrow)]
    name: Plain<'a>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Plain<'a>,
    arguments: Option<Box<RawValue>>,
}

/// A call, from whichever of its shapes it was announced in.
struct Announced {
    id: Option<String>,
    name: Option<String>,
    /// JSON text.
    arguments: Option<String>,
    /// What the engine would write above it.
    title: Option<String>,
    diff: Option<String>,
}

fn announced(event: EventRef<'_>) -> Option<Announced> {
    let fields = read::<CallFields<'_>>(event)?;
    let inner = fields.call.0.unwrap_or_default();
    let function = inner.function.0.unwrap_or_default();
    let tool = fields.tool.as_deref().map(ToolSaid::read).unwrap_or_default();
    let name = [function.name, inner.name].into_iter().find_map(Plain::text).or(tool.name);
    let name = name.or_else(|| fields.tool_name.text());
    let arguments = function.arguments.or(inner.arguments).or(tool.arguments);
    // JSON text inside a string, or, where an engine spares the string, the object itself.
    let arguments = arguments.map(|raw| match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text,
        Err(_) => raw.get().to_owned(),
    });
    let display = fields.display.0.unwrap_or_default();
    let diff = fields.diff_preview.0.filter(|diff| !diff.is_empty()).map(Cow::into_owned);
    Some(Announced {
        id: [fields.call_id, inner.id].into_iter().find_map(Plain::text).map(|id| key(&id)),
        name: name.map(Cow::into_owned),
        arguments: arguments.filter(|text| !text.trim().is_empty()),
        title: display.title().map(Cow::into_owned),
        diff: diff.or_else(|| display.diff()),
    })
}

/// The arguments that a title can be made of.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Telling<'a> {
    #[serde(borrow)]
    command: Plain<'a>,
    #[serde(borrow)]
    file_path: Plain<'a>,
    #[serde(borrow)]
    path: Plain<'a>,
    #[serde(borrow)]
    file_name: Plain<'a>,
    #[serde(borrow)]
    query: Plain<'a>,
    #[serde(borrow)]
    pattern: Plain<'a>,
    #[serde(borrow)]
    url: Plain<'a>,
    #[serde(borrow)]
    patch: Plain<'a>,
}

/// A call is announced.
pub(super) fn call(event: EventRef<'_>) -> Fact<'_> {
    let Some(said) = announced(event) else { return Fact::ToolCall(unnamed()) };
    let name = cut::line(said.name.as_deref().unwrap_or("tool"), NAME);
    let arguments = said.arguments.as_deref();
    let built = arguments.and_then(built);
    let telling = match &built {
        Some(built) => Telling::deserialize(built).ok(),
        None => arguments.and_then(|text| serde_json::from_str(text).ok()),
    };
    let title_of_ours = telling.and_then(telling_words).map(|telling| title(&name, &telling));
    Fact::ToolCall(ToolNews {
        id: said.id,
        title: title_of_ours.or_else(|| said.title.map(|title| cut::line(&title, TITLE))),
        input: arguments.map(|text| input(text, built)),
        diff: said.diff.map(|diff| cut::line(&diff, DIFF)),
        name: Some(name),
        ..ToolNews::default()
    })
}

fn unnamed() -> ToolNews<'static> {
    ToolNews { name: Some("tool".to_owned()), ..ToolNews::default() }
}

/// A call with all its arguments, for whoever decides about it.
pub(super) struct WholeCall {
    /// The engine's id of it, as a key.
    pub(super) id: Option<String>,
    /// The tool.
    pub(super) name: String,
    /// What it is called with; `None` when that is no object.
    pub(super) arguments: Option<Map<String, Value>>,
    /// A diff that the engine made of it.
    pub(super) diff: Option<String>,
}

/// The call that an event announces, whole.
pub(super) fn whole_call(event: EventRef<'_>) -> Option<WholeCall> {
    let said = announced(event)?;
    let arguments = said.arguments.and_then(|text| serde_json::from_str(&text).ok());
    Some(WholeCall { id: said.id, name: said.name?, arguments, diff: said.diff })
}

fn telling_words(says: Telling<'_>) -> Option<String> {
    let patch = says.patch.text();
    let says = [says.command, says.file_path, says.path, says.file_name, says.query, says.pattern, says.url];
    says.into_iter().find_map(Plain::text).map(Cow::into_owned).or_else(|| patched(&patch?))
}

/// The files that a patch changes, by the heads of its parts: the new name, or the old one of a file that goes.
fn patched(patch: &str) -> Option<String> {
    let mut files: Vec<&str> = Vec::new();
    let mut old = None;
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            old = Some(name);
        } else if let (Some(new), Some(was)) = (line.strip_prefix("+++ "), old.take()) {
            let name = if new.trim_end() == "/dev/null" { was } else { new };
            let name = name.split('\t').next().unwrap_or_default().trim_end();
            files.push(name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name));
        }
    }
    let more = files.len().saturating_sub(PATCHED);
    let shown = files.get(..files.len().min(PATCHED))?.join(", ");
    match more {
        _ if shown.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

/// The arguments as a value. `None`: they are too long for that, or no JSON.
fn built(arguments: &str) -> Option<Value> {
    (arguments.len() <= BUILT).then(|| serde_json::from_str(arguments).ok()).flatten()
}

/// The arguments as a value; those that are too long or no JSON as the start of their text.
fn input(arguments: &str, built: Option<Value>) -> Value {
    match built {
        Some(value) => cut::value(Cow::Owned(value), INPUT),
        None => Value::String(cut::line(arguments, INPUT)),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputFields<'a> {
    #[serde(borrow)]
    call_id: Plain<'a>,
    #[serde(borrow)]
    exec_id: Plain<'a>,
    #[serde(borrow)]
    tool: Plain<'a>,
    #[serde(borrow)]
    tool_name: Plain<'a>,
    command: Option<Box<RawValue>>,
    #[serde(borrow)]
    delta: Words<'a>,
    #[serde(borrow)]
    exit_code: Plain<'a>,
}

/// A running tool prints, or its execution begins or ends.
pub(super) fn output(event: EventRef<'_>) -> Fact<'_> {
    news(event).map_or(Fact::Unknown, Fact::ToolOutput)
}

fn news(event: EventRef<'_>) -> Option<ToolNews<'_>> {
    let fields = read::<OutputFields<'_>>(event)?;
    let step = match last_word(event.kind) {
        "start" => ToolStep::Began,
        "delta" => {
            let stream =
                if event.kind.contains("stderr") { PrintStream::Errors } else { PrintStream::Output };
            ToolStep::Printed { stream, text: fields.delta.0?.into_owned() }
        }
        "end" => ToolStep::Ended(fields.exit_code.number()),
        _ => return None,
    };
    let name = [fields.tool_name, fields.tool].into_iter().find_map(Plain::text);
    let name = cut::line(name.as_deref().unwrap_or("tool"), NAME);
    let command = fields.command.and_then(|raw| command(&raw)).filter(|command| !command.is_empty());
    Some(ToolNews {
        id: fields.call_id.text().map(|id| key(&id)),
        exec: fields.exec_id.text().map(|id| key(&id)),
        title: command.as_deref().map(|command| title(&name, command)),
        input: command.map(|command| serde_json::json!({ "command": cut::line(&command, INPUT) })),
        name: Some(name),
        step,
        ..ToolNews::default()
    })
}

/// A command line: a string, or words.
fn command(raw: &RawValue) -> Option<String> {
    let words = || serde_json::from_str::<Vec<String>>(raw.get()).ok().map(|words| words.join(" "));
    serde_json::from_str::<String>(raw.get()).ok().or_else(words)
}
