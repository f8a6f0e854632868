//! The Agent Client Protocol in the words of the view: text, plans, notices, how a turn ended.
//!
//! Owns field names and what stands for content that is no text. Tools: `acp_tools`. Never keeps state.

use serde_json::{Map, Value};

use super::{PLAN_STEPS, PLAN_TEXT, Plan};
use crate::domain::event::SessionEvent;
use crate::domain::view::block::{NoticeLevel, PlanStepView};
use crate::domain::view::cut;
use crate::domain::view::fingerprint::key;

const SENTENCE: usize = 4 * 1024;
const WORD: usize = 200;
/// Which list `plan` and a todo tool mean.
const MAIN: &str = "main";

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::domain::view) struct Chunk {
    /// Key of the agent's id of the message.
    pub(in crate::domain::view) message: Option<String>,
    /// Its words; of other content a line that says what it is.
    pub(in crate::domain::view) text: String,
}

/// What a `*_chunk` says. `None`: nothing, as in a chunk that only carries counts.
pub(in crate::domain::view) fn chunk(event: &SessionEvent) -> Option<Chunk> {
    let content = event.payload.get("content")?;
    let text = words(content)?;
    let message = event.payload.get("messageId").and_then(Value::as_str).filter(|id| !id.is_empty()).map(key);
    Some(Chunk { message, text })
}

/// The words of a content block, or of a list of them; what is no text as a line of its own. `None`: there are none.
pub(in crate::domain::view) fn words(content: &Value) -> Option<String> {
    let said = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(words).collect(),
        Value::Object(block) => match text(block, "type") {
            Some("text") | None => text(block, "text").unwrap_or_default().to_owned(),
            Some(kind) => format!("\n[{}]\n", marker(kind, block)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    };
    (!said.is_empty()).then_some(said)
}

fn marker(kind: &str, block: &Map<String, Value>) -> String {
    let inner = block.get("resource").and_then(Value::as_object);
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

/// What `plan`, `plan_update` and `plan_removed` say.
pub(in crate::domain::view) fn plan(event: &SessionEvent) -> Option<Plan> {
    let payload: &Map<String, Value> = &event.payload;
    match event.kind.as_str() {
        "plan" => entries(payload.get("entries")?, MAIN),
        "plan_removed" => Some(Plan { scope: Some(scope(payload)), steps: Vec::new(), standing: false }),
        _ => {
            let plan = payload.get("plan")?.as_object()?;
            if let Some(list) = plan.get("entries") {
                return entries(list, &scope(plan));
            }
            let said = text(plan, "content").or_else(|| text(plan, "uri"))?;
            let steps = said.lines().filter(|line| !line.trim().is_empty()).take(PLAN_STEPS);
            let step = |line: &str| PlanStepView {
                text: cut::line(line, PLAN_TEXT),
                status: None,
                files: Vec::new(),
            };
            Some(Plan { scope: Some(scope(plan)), steps: steps.map(step).collect(), standing: false })
        }
    }
}

fn scope(plan: &Map<String, Value>) -> String {
    key(text(plan, "planId").unwrap_or(MAIN))
}

/// A list of steps: of `plan`, or of a tool that keeps a todo list.
pub(in crate::domain::view) fn entries(list: &Value, scope: &str) -> Option<Plan> {
    let step = |entry: &Value| {
        let said = entry.as_str().or_else(|| entry.get("content").and_then(Value::as_str))?;
        Some(PlanStepView {
            text: cut::line(said, PLAN_TEXT),
            status: entry.get("status").and_then(Value::as_str).map(|status| cut::line(status, WORD)),
            files: Vec::new(),
        })
    };
    let steps = list.as_array()?.iter().filter_map(step).take(PLAN_STEPS).collect();
    Some(Plan { scope: Some(scope.to_owned()), steps, standing: false })
}

/// The list of a tool that keeps one.
pub(in crate::domain::view) fn todos(list: &Value) -> Option<Plan> {
    entries(list, MAIN)
}

/// What a `notice` says.
pub(in crate::domain::view) fn notice(event: &SessionEvent) -> (NoticeLevel, String) {
    let said = |name: &str| text(&event.payload, name).filter(|said| !said.trim().is_empty());
    let level = match said("severity") {
        Some("error") => NoticeLevel::Error,
        Some("warning") => NoticeLevel::Warning,
        _ => NoticeLevel::Info,
    };
    let sentence = match (said("title"), said("description")) {
        (Some(title), Some(more)) => format!("{title}: {more}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "The agent gave a notice without words.".to_owned(),
    };
    (level, cut::line(&sentence, SENTENCE))
}

/// How a conversation is made shorter: key of the agent's id of it, how loud, and a sentence.
pub(in crate::domain::view) fn compaction(event: &SessionEvent) -> (String, NoticeLevel, String) {
    let id = key(text(&event.payload, "compactionId").unwrap_or_default());
    let why = text(&event.payload, "error")
        .map(|why| format!(": {}", cut::line(why, SENTENCE)))
        .unwrap_or_default();
    let (level, sentence) = match text(&event.payload, "status") {
        Some("completed") => {
            (NoticeLevel::Info, "The conversation was shortened so that it fits the model.".to_owned())
        }
        Some("failed") => (NoticeLevel::Warning, format!("The conversation could not be shortened{why}.")),
        Some("cancelled") => (NoticeLevel::Info, "The conversation was not shortened.".to_owned()),
        _ => (NoticeLevel::Info, "The conversation is being shortened so that it fits the model.".to_owned()),
    };
    (id, level, sentence)
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::domain::view) struct Ending {
    pub(in crate::domain::view) success: bool,
    /// One sentence.
    pub(in crate::domain::view) text: String,
    /// How loud the chat says it too; `None` where the answer says it all.
    pub(in crate::domain::view) told: Option<NoticeLevel>,
}

/// What the answer to a prompt says of its turn. A reason that is no word of the protocol is said as it came.
pub(in crate::domain::view) fn ending(event: &SessionEvent) -> Ending {
    let ending = |success, told, text: String| Ending { success, text, told };
    if let Some(error) = event.payload.get("error") {
        let said = error.get("message").and_then(Value::as_str).filter(|said| !said.trim().is_empty());
        let said = cut::line(said.unwrap_or("the agent does not say why"), SENTENCE);
        let text = match error.get("code").and_then(Value::as_i64) {
            Some(-32000) => format!("The agent wants a login first: {said}"),
            _ => format!("The turn failed: {said}"),
        };
        return ending(false, Some(NoticeLevel::Error), text);
    }
    let warning = Some(NoticeLevel::Warning);
    match text(&event.payload, "stopReason") {
        Some("end_turn") => ending(true, None, "The turn is done.".to_owned()),
        Some("cancelled") => ending(false, None, "The turn was stopped.".to_owned()),
        Some("max_tokens") => ending(
            false,
            warning,
            "The turn ended at the model's limit of tokens; the answer may be cut.".to_owned(),
        ),
        Some("max_turn_requests") => ending(
            false,
            warning,
            "The turn ended at the agent's limit of model requests in one turn.".to_owned(),
        ),
        Some("refusal") => {
            ending(false, warning, "The agent refused to go on; it may not remember this prompt.".to_owned())
        }
        Some(other) => ending(false, warning, format!("The turn ended: {}", cut::line(other, WORD))),
        None => ending(true, None, "The turn is done; the agent gives no reason for its end.".to_owned()),
    }
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name).and_then(Value::as_str)
}
