//! What the BreadBoard dialect's tools say: calls, the three results of one call, output, todo lists.
//!
//! Owns which of the three a result is, and what of it is the compact text. Never pairs a result with a call.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::text::{last_word, read};
use crate::domain::cut;
use crate::domain::dialect::limits::{INPUT, NAME, PATH, PLAN_STEPS, PLAN_TEXT, title};
use crate::domain::dialect::loose::{Inside, Plain, Words};
use crate::domain::event::EventRef;
use crate::domain::fact::{Fact, Plan, PlanStep, Shape, ToolNews, ToolOutcome, ToolStep};
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
    #[serde(borrow)]
    tool: Plain<'a>,
    #[serde(borrow)]
    tool_name: Plain<'a>,
    #[serde(borrow)]
    diff_preview: Words<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InnerCall<'a> {
    #[serde(borrow)]
    id: Plain<'a>,
    #[serde(borrow)]
    function: Inside<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Plain<'a>,
    arguments: Option<Box<RawValue>>,
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
    let fields = read::<CallFields<'_>>(event).unwrap_or_default();
    let inner = fields.call.0.unwrap_or_default();
    let function = inner.function.0.unwrap_or_default();
    let name = [function.name, fields.tool, fields.tool_name].into_iter().find_map(Plain::text);
    let name = cut::line(name.as_deref().unwrap_or("tool"), NAME);
    // JSON text inside a string, or, where an engine spares the string, the object itself.
    let arguments = function.arguments.map(|raw| match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text,
        Err(_) => raw.get().to_owned(),
    });
    let arguments = arguments.filter(|text| !text.trim().is_empty());
    let built = arguments.as_deref().and_then(built);
    let telling = match &built {
        Some(built) => Telling::deserialize(built).ok(),
        None => arguments.as_deref().and_then(|text| serde_json::from_str(text).ok()),
    };
    Fact::ToolCall(ToolNews {
        id: [fields.call_id, inner.id].into_iter().find_map(Plain::text).map(|id| key(&id)),
        title: telling.and_then(telling_words).map(|telling| title(&name, &telling)),
        input: arguments.as_deref().map(|text| input(text, built)),
        diff: fields.diff_preview.0.filter(|diff| !diff.is_empty()).map(|diff| cut::line(&diff, DIFF)),
        name: Some(name),
        ..ToolNews::default()
    })
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
    let fields = read::<CallFields<'_>>(event)?;
    let inner = fields.call.0.unwrap_or_default();
    let function = inner.function.0.unwrap_or_default();
    let arguments = function.arguments.and_then(|raw| match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => serde_json::from_str(&text).ok(),
        Err(_) => serde_json::from_str(raw.get()).ok(),
    });
    Some(WholeCall {
        id: [fields.call_id, inner.id].into_iter().find_map(Plain::text).map(|id| key(&id)),
        name: [function.name, fields.tool, fields.tool_name].into_iter().find_map(Plain::text)?.into_owned(),
        arguments,
        diff: fields.diff_preview.0.filter(|diff| !diff.is_empty()).map(Cow::into_owned),
    })
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
struct ResultFields<'a> {
    #[serde(borrow)]
    call_id: Plain<'a>,
    #[serde(borrow)]
    tool: Plain<'a>,
    #[serde(borrow)]
    tool_name: Plain<'a>,
    #[serde(borrow)]
    success: Plain<'a>,
    #[serde(borrow)]
    status: Plain<'a>,
    #[serde(borrow)]
    error: Plain<'a>,
    #[serde(borrow)]
    metadata: Inside<Metadata<'a>>,
    result: Option<Box<RawValue>>,
    #[serde(borrow)]
    message: Inside<ToolMessage<'a>>,
    #[serde(borrow)]
    todo: Inside<Todo<'a>>,
    #[serde(borrow)]
    artifact_ref: Inside<ArtifactRef<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    exit_code: Plain<'a>,
    #[serde(borrow)]
    artifact_ref: Inside<ArtifactRef<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolMessage<'a> {
    #[serde(borrow)]
    role: Plain<'a>,
    #[serde(borrow)]
    name: Plain<'a>,
    #[serde(borrow)]
    tool_call_id: Plain<'a>,
    #[serde(borrow)]
    content: Words<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ArtifactRef<'a> {
    #[serde(borrow)]
    path: Plain<'a>,
}

/// What a tool gave back, where it is an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Given<'a> {
    #[serde(borrow)]
    stdout: Plain<'a>,
    #[serde(borrow)]
    stderr: Plain<'a>,
    #[serde(borrow)]
    output: Words<'a>,
    #[serde(borrow)]
    content: Words<'a>,
    #[serde(borrow)]
    text: Words<'a>,
    #[serde(borrow)]
    error: Plain<'a>,
    #[serde(borrow)]
    exit_code: Plain<'a>,
    #[serde(borrow)]
    artifact_ref: Inside<ArtifactRef<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Todo<'a> {
    items: Option<Box<RawValue>>,
    #[serde(borrow)]
    scope_key: Plain<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResultItem<'a> {
    #[serde(borrow)]
    title: Plain<'a>,
    #[serde(borrow)]
    status: Plain<'a>,
}

/// A list of things to do that is an event of its own.
pub(super) fn todo(event: EventRef<'_>) -> Fact<'_> {
    let (_, of_result) = ended(event);
    let plan = of_result.or_else(|| plan(read::<Todo<'_>>(event)?, false));
    plan.map_or(Fact::Nothing, Fact::Plan)
}

/// How a call ended, how a list of things to do stands, or both.
pub(super) fn result(event: EventRef<'_>) -> Fact<'_> {
    match ended(event) {
        (Some(news), plan) => Fact::ToolResult(ToolNews { plan, ..news }),
        (None, Some(plan)) => Fact::Plan(plan),
        (None, None) => Fact::Nothing,
    }
}

fn ended(event: EventRef<'_>) -> (Option<ToolNews<'_>>, Option<Plan>) {
    let Some(mut fields) = read::<ResultFields<'_>>(event) else { return (None, None) };
    let id = fields.call_id.clone().text();
    let of_todo = |rest: &str| id.as_deref().is_some_and(|id| id.starts_with(&format!("todo:{rest}")));
    let standing = of_todo("snapshot:");
    let ends = fields.message.0.is_some()
        || fields.success != Plain::Other
        || fields.status != Plain::Other
        || fields.error != Plain::Other
        || fields.result.is_some();
    let is_plan = of_todo("") || (fields.todo.0.is_some() && !ends);
    let plan = fields.todo.0.take().and_then(|todo| plan(todo, standing));
    ((!is_plan).then(|| outcome(fields)), plan)
}

fn outcome(fields: ResultFields<'_>) -> ToolNews<'static> {
    let shape = if fields.message.0.is_some() { Shape::Transcript } else { Shape::Execution };
    let message = fields.message.0.unwrap_or_default();
    let metadata = fields.metadata.0.unwrap_or_default();
    // The result as words, or its fields, or neither.
    let raw = fields.result;
    let words = raw.as_deref().and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let given: Option<Given<'_>> = match &words {
        Some(_) => None,
        None => raw.as_deref().and_then(|raw| serde_json::from_str(raw.get()).ok()),
    };
    let given_code = given.as_ref().and_then(|given| given.exit_code.number());
    let exit_code = metadata.exit_code.number().or(given_code);
    let error = match &fields.error {
        Plain::Flag(failed) => *failed,
        Plain::Text(text) => !text.is_empty(),
        Plain::Number(_) | Plain::Other => false,
    };
    let failed = error
        || fields.success.flag() == Some(false)
        || fields.status.text().is_some_and(|status| matches!(&*status, "error" | "failed"))
        || exit_code.is_some_and(|code| code != 0);
    let mut given = given;
    let inner = given.as_mut().map(|given| std::mem::take(&mut given.artifact_ref)).unwrap_or_default();
    let artifact = [fields.artifact_ref, metadata.artifact_ref, inner];
    let artifact = artifact.into_iter().find_map(|artifact| artifact.0?.path.text());
    let said =
        [words.map(Cow::Owned), message.content.0, given.and_then(printed)].into_iter().flatten().next();
    let raw = || raw.as_deref().map(|raw| Cow::Borrowed(raw.get()));
    let text = said.or_else(raw).or_else(|| fields.error.text());
    let name = [message.name, fields.tool, fields.tool_name].into_iter().find_map(Plain::text);
    ToolNews {
        id: [fields.call_id, message.tool_call_id].into_iter().find_map(Plain::text).map(|id| key(&id)),
        name: name.map(|name| cut::line(&name, NAME)),
        step: ToolStep::Result(ToolOutcome {
            shape,
            failed,
            text: text.map(|text| Cow::Owned(text.into_owned())),
            count: None,
            artifact: artifact.map(|path| cut::line(&path, PATH)),
        }),
        ..ToolNews::default()
    }
}

/// What a tool printed or, where it printed nothing of the kind, the words it gave.
fn printed(given: Given<'_>) -> Option<Cow<'_, str>> {
    match (given.stdout, given.stderr) {
        (Plain::Text(mut out), Plain::Text(err)) => {
            if !out.is_empty() && !err.is_empty() && !out.ends_with('\n') {
                out.to_mut().push('\n');
            }
            if !err.is_empty() {
                out.to_mut().push_str(&err);
            }
            Some(out)
        }
        (Plain::Text(one), _) | (_, Plain::Text(one)) => Some(one),
        (_, _) => {
            let words = [given.error.text(), given.output.0, given.content.0, given.text.0];
            words.into_iter().flatten().next()
        }
    }
}

fn plan(todo: Todo<'_>, standing: bool) -> Option<Plan> {
    let items = todo.items?;
    let items: Vec<Inside<ResultItem<'_>>> = serde_json::from_str(items.get()).ok()?;
    let steps = items.into_iter().filter_map(|item| item.0).take(PLAN_STEPS);
    Some(Plan {
        scope: Some(key(todo.scope_key.text().as_deref().unwrap_or("main"))),
        steps: steps
            .map(|item| PlanStep {
                text: cut::line(&item.title.text().unwrap_or_default(), PLAN_TEXT),
                status: item.status.text().map(|status| cut::line(&status, PLAN_TEXT)),
                files: Vec::new(),
            })
            .collect(),
        standing,
    })
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
        "delta" => ToolStep::Printed(fields.delta.0?.into_owned()),
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
