//! What a tool of the BreadBoard engine gave back: the three results of one call, in every shape that the engine writes,
//! and the lists of things to do that come the same way.
//!
//! Owns which of the three a result is, and what of it is the compact text. Never pairs a result with a call.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::display::{ArtifactRef, Display, ToolSaid};
use super::text::read;
use crate::domain::cut;
use crate::domain::dialect::in_words;
use crate::domain::dialect::limits::{NAME, PATH, PLAN_STEPS, PLAN_TEXT, TITLE};
use crate::domain::dialect::loose::{Inside, Plain, Words};
use crate::domain::event::EventRef;
use crate::domain::fact::{Fact, Plan, PlanStep, Shape, ToolNews, ToolOutcome, ToolStep};
use crate::domain::fingerprint::key;

/// Fields by which a line of JSON is known as what a tool gave back rather than the text of a file.
const ENVELOPE: [&str; 7] = ["ok", "success", "error", "status", "exit_code", "stdout", "todos"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResultFields<'a> {
    #[serde(borrow)]
    call_id: Plain<'a>,
    tool: Option<Box<RawValue>>,
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
    display: Inside<Display<'a>>,
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
    name: Plain<'a>,
    #[serde(borrow)]
    tool_call_id: Plain<'a>,
    #[serde(borrow)]
    content: Words<'a>,
}

/// What a tool gave back, where it is an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Given<'a> {
    /// How it ended, where the engine writes a result as an object of its own, with its call's id and name.
    #[serde(borrow)]
    ok: Plain<'a>,
    #[serde(borrow)]
    success: Plain<'a>,
    #[serde(borrow)]
    id: Plain<'a>,
    #[serde(borrow)]
    name: Plain<'a>,
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

impl Given<'_> {
    /// Whether the tool says that it did what it was for.
    fn succeeded(&self) -> Option<bool> {
        self.ok.flag().or(self.success.flag())
    }
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
struct TodoItem<'a> {
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
    let display = fields.display.0.unwrap_or_default();
    let tool = fields.tool.as_deref().map(ToolSaid::read).unwrap_or_default();
    // The result as words, or its fields, or neither.
    let raw = fields.result;
    let words = raw.as_deref().and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let given = raw.as_deref().filter(|_| words.is_none()).map(RawValue::get);
    let mut given = given.and_then(|raw| serde_json::from_str::<Given<'_>>(raw).ok()).unwrap_or_default();
    let of_its_own = given.ok.flag().is_some();
    let exit = metadata.exit_code.number().or(given.exit_code.number());
    let error = match &fields.error {
        Plain::Flag(failed) => *failed,
        Plain::Text(text) => !text.is_empty(),
        Plain::Number(_) | Plain::Other => false,
    };
    let status = fields.status.text().or(tool.status);
    let text = words.as_deref().or(message.content.0.as_deref());
    let line = text.and_then(line);
    let failed = error
        || fields.success.flag().or(given.succeeded()) == Some(false)
        || shape == Shape::Transcript && line.as_ref().is_some_and(tells_failure)
        || status.is_some_and(|status| matches!(&*status, "error" | "failed"))
        || exit.is_some_and(|code| code != 0);
    let name = [message.name, fields.tool_name].into_iter().find_map(Plain::text).or(tool.name);
    let name = name.or_else(|| given.name.clone().text().filter(|_| of_its_own));
    let id = [fields.call_id, message.tool_call_id].into_iter().find_map(Plain::text);
    let id = id.or_else(|| given.id.clone().text().filter(|_| of_its_own)).map(|id| key(&id));
    let inner = std::mem::take(&mut given.artifact_ref);
    let artifact = [fields.artifact_ref, metadata.artifact_ref, inner];
    let artifact = artifact.into_iter().find_map(|artifact| artifact.0?.path.text()).map(Cow::into_owned);
    let artifact = artifact.or_else(|| display.artifact());
    let said = text.map(|text| in_person(text, line.as_ref()));
    let said = said.or_else(|| printed(given).map(Cow::into_owned)).or_else(|| display.words(tool.output));
    let text = said
        .or_else(|| whole(raw.as_deref()?.get(), of_its_own))
        .or_else(|| fields.error.text().map(Cow::into_owned));
    ToolNews {
        id,
        title: display.title().map(|title| cut::line(&title, TITLE)),
        diff: display.diff(),
        name: name.map(|name| cut::line(&name, NAME)),
        step: ToolStep::Result(ToolOutcome {
            shape,
            failed,
            exit,
            text: text.map(Cow::Owned),
            count: None,
            artifact: artifact.map(|path| cut::line(&path, PATH)),
        }),
        ..ToolNews::default()
    }
}

/// The fields of a result in a text that is one line of JSON, as the engine writes them for its model.
fn line(text: &str) -> Option<Value> {
    let is_line = text.starts_with('{') && text.ends_with('}') && !text.contains('\n');
    let fields = is_line.then(|| serde_json::from_str::<Value>(text).ok()).flatten()?;
    ENVELOPE.iter().any(|name| fields.get(name).is_some()).then_some(fields)
}

/// Whether the fields that were written for the model say that the call failed. Beside them the engine calls every result of
/// that shape a success.
fn tells_failure(line: &Value) -> bool {
    Given::deserialize(line).is_ok_and(|given| given.succeeded() == Some(false))
}

/// A text that a tool gave back, and the fields that it stands for where it is a line of them.
fn in_person(text: &str, line: Option<&Value>) -> String {
    let given = line.and_then(|fields| Given::deserialize(fields).ok());
    let said = given.and_then(printed).map(Cow::into_owned);
    said.or_else(|| in_words::words(line?)).unwrap_or_else(|| text.to_owned())
}

/// A result that is neither text nor names what it printed.
fn whole(raw: &str, of_its_own: bool) -> Option<String> {
    let mut value = serde_json::from_str::<Value>(raw).ok()?;
    if of_its_own && let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| name != "id" && name != "name");
    }
    in_words::words(&value)
}

/// What a tool printed or, where it printed nothing of the kind, the words it gave.
fn printed(given: Given<'_>) -> Option<Cow<'_, str>> {
    let said = match (given.stdout, given.stderr) {
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
        (_, _) => None,
    };
    let words = [given.error.text(), given.output.0, given.content.0, given.text.0];
    match said {
        Some(said) if !said.is_empty() => Some(said),
        said => words.into_iter().flatten().next().or(said),
    }
}

fn plan(todo: Todo<'_>, standing: bool) -> Option<Plan> {
    let items = todo.items?;
    let items: Vec<Inside<TodoItem<'_>>> = serde_json::from_str(items.get()).ok()?;
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
