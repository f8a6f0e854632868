//! The desktop dialect (seed 002) in the words of the view.
//!
//! Owns its field names. Reads the payload as a map: its messages are small.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    Call, INPUT, NAME, Outcome, PLAN_FILES, PLAN_STEPS, PLAN_TEXT, Plan, Shape, Speech, TELLING, title,
};
use crate::domain::event::{EventClass, SessionEvent};
use crate::domain::view::block::PlanStepView;
use crate::domain::view::cut;
use crate::domain::view::fingerprint::key;

/// Its types, as far as the chat reads them.
pub(super) const KINDS: &[&str] = &[
    "assistant.token",
    "assistant.thinking",
    "assistant.message_final",
    "tool.execute",
    "tool.request_approval",
    "command.request_approval",
    "agent.plan",
    "agent.retrieve.status",
    "patch.proposed",
];

pub(super) fn speech(event: &SessionEvent) -> Speech<'_> {
    let said = |name| text(&event.payload, name).unwrap_or_default();
    if event.class == EventClass::ReasoningStream {
        Speech::Thinking { phase: said("phase"), message: said("message") }
    } else {
        Speech::Token(said("token"))
    }
}

pub(super) fn call(event: &SessionEvent) -> Call {
    let args = event.payload.get("args").filter(|args| !args.is_null());
    let name = name(&event.payload);
    let telling = args.and_then(|args| TELLING.iter().find_map(|key| args.get(key).and_then(Value::as_str)));
    Call {
        id: call_key(event),
        title: telling.map(|telling| title(&name, telling)),
        input: args.map(|args| cut::value(Cow::Borrowed(args), INPUT)),
        name,
        preview: None,
    }
}

pub(super) fn outcome(event: &SessionEvent) -> Outcome<'_> {
    let result = event.payload.get("result").filter(|result| !result.is_null());
    let text =
        result.map(|result| match result.as_str().or_else(|| result.get("error").and_then(Value::as_str)) {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(result.to_string()),
        });
    Outcome {
        id: call_key(event),
        name: Some(name(&event.payload)),
        shape: Shape::Only,
        failed: self::text(&event.payload, "status") == Some("failed"),
        text,
        artifact: None,
    }
}

pub(super) fn plan(event: &SessionEvent) -> Plan {
    let steps = event.payload.get("steps").and_then(Value::as_array);
    let steps = steps.map(|steps| steps.iter().take(PLAN_STEPS).map(step).collect()).unwrap_or_default();
    Plan { scope: None, steps, standing: false }
}

fn step(step: &Value) -> PlanStepView {
    let files = step.get("files_involved").and_then(Value::as_array);
    let said = step.as_str().or_else(|| step.get("description").and_then(Value::as_str)).unwrap_or_default();
    PlanStepView {
        text: cut::line(said, PLAN_TEXT),
        status: step.get("status").and_then(Value::as_str).map(|status| cut::line(status, PLAN_TEXT)),
        files: files
            .map(|files| {
                let files = files.iter().take(PLAN_FILES).filter_map(Value::as_str);
                files.map(|file| cut::line(file, PLAN_TEXT)).collect()
            })
            .unwrap_or_default(),
    }
}

fn call_key(event: &SessionEvent) -> Option<String> {
    text(&event.payload, "call_id").filter(|id| !id.is_empty()).map(key)
}

fn name(payload: &Map<String, Value>) -> String {
    cut::line(text(payload, "tool_name").unwrap_or("tool"), NAME)
}

fn text<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    payload.get(name).and_then(Value::as_str)
}
