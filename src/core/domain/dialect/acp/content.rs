//! What agents write alike in many places: content blocks, and lists of steps.
//!
//! Owns what stands for content that is no text. Never knows in which message it came.

use serde_json::{Map, Value};

use crate::domain::cut;
use crate::domain::dialect::limits::{PLAN_STEPS, PLAN_TEXT, text};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::picture::picture;
use crate::domain::fact::{Plan, PlanStep};

pub(super) const WORD: usize = 200;
/// Which list `plan` and a todo tool mean.
pub(super) const MAIN: &str = "main";

/// The words of a content block, or of a list of them; what is no text as a line of its own. `None`: there are none.
pub(super) fn words(content: &Value) -> Option<String> {
    let said = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(words).collect(),
        Value::Object(block) => match text(block, "type") {
            Some("text") | None => text(block, "text").unwrap_or_default().to_owned(),
            Some(kind) => match picture(block) {
                Some(picture) => format!("\n[{}]\n", picture.label),
                None => format!("\n[{}]\n", marker(kind, block)),
            },
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    };
    (!said.is_empty()).then_some(said)
}

fn marker(kind: &str, block: &Map<String, Value>) -> String {
    let inner = block.object("resource");
    let said = |name: &str| text(block, name).or_else(|| inner.and_then(|inner| text(inner, name)));
    let name = ["title", "name", "uri"].into_iter().find_map(said);
    let what = match kind {
        "image" => "image",
        "audio" => "sound",
        "resource_link" => "link",
        "resource" => "file",
        other => other,
    };
    let mut line = cut::line(what, WORD);
    for more in [name, said("mimeType")].into_iter().flatten() {
        line.push_str(&format!(" {}", cut::line(more, WORD)));
    }
    line.replace(['\n', '\r'], " ")
}

/// A list of steps: of `plan`, or of a tool that keeps a todo list.
pub(super) fn entries(list: &Value, scope: &str) -> Option<Plan> {
    let step = |entry: &Value| {
        let said = entry.as_str().or_else(|| entry.string("content"))?;
        Some(PlanStep {
            text: cut::line(said, PLAN_TEXT),
            status: entry.string("status").map(|status| cut::line(status, WORD)),
            files: Vec::new(),
        })
    };
    let steps = list.as_array()?.iter().filter_map(step).take(PLAN_STEPS).collect();
    Some(Plan { scope: Some(scope.to_owned()), steps, standing: false })
}

/// The list of a tool that keeps one.
pub(super) fn todos(list: &Value) -> Option<Plan> {
    entries(list, MAIN)
}
