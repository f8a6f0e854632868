//! What the messages of the desktop dialect (seed 002) say.
//!
//! Owns their field names. Reads the payload as a map: its messages are small.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::domain::approval::NamedClient;
use crate::domain::background::Background;
use crate::domain::cut;
use crate::domain::dialect::Slot;
use crate::domain::dialect::in_words;
use crate::domain::dialect::limits::{
    DETAILS, INPUT, NAME, PLAN_FILES, PLAN_STEPS, PLAN_TEXT, TELLING, UNTOLD, failure, text, title, tokens,
};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::picture::picture;
use crate::domain::event::{EventClass, EventRef};
use crate::domain::fact::{
    Answered, Confirmed, Fact, Notice, NoticeLevel, Patch, Picture, Plan, PlanStep, Prompt, Shape, Text,
    TextOf, TextPart, ToolNews, ToolOutcome, ToolStep, TurnEnd, TurnOutcome, TurnReport, Usage, UsageOf,
    Voice,
};
use crate::domain::fingerprint::key;
use crate::domain::remedy::Remedy;

/// Characters of a sentence of the host.
const NOTICE: usize = 4 * 1024;

const DELTA: Slot = Slot { paths: &[&["delta"]], alike: &[] };
const TOKEN: Slot = Slot { paths: &[&["token"]], alike: &[] };
const THINKING: Slot = Slot { paths: &[&["message"]], alike: &["phase"] };

/// Where a piece of text stands.
pub(in crate::domain::dialect) fn slot(kind: &str) -> Option<&'static Slot> {
    match kind {
        "assistant.message_delta" => Some(&DELTA),
        "assistant.token" => Some(&TOKEN),
        "assistant.thinking" => Some(&THINKING),
        _ => None,
    }
}

/// What an event says, by its class: the table has looked at its fields.
pub(in crate::domain::dialect) fn fact(event: EventRef<'_>) -> Fact<'_> {
    let payload: &Map<String, Value> = event.payload;
    let said = |name| text(payload, name).unwrap_or_default();
    match event.class {
        EventClass::AssistantStream => {
            let words = text(payload, "token").or_else(|| text(payload, "delta"));
            piece(Voice::Answer, "", words.unwrap_or_default())
        }
        EventClass::ReasoningStream => piece(Voice::Reasoning, said("phase"), said("message")),
        EventClass::ToolCall => Fact::ToolCall(tool(payload, ToolStep::Called)),
        EventClass::ToolResult => Fact::ToolResult(tool(payload, ToolStep::Result(outcome(payload)))),
        EventClass::PlanUpdate => Fact::Plan(plan(payload)),
        EventClass::PatchProposed => Fact::Patch(Patch {
            id: text(payload, "patch_id").or_else(|| text(payload, "id")).unwrap_or_default(),
            file_path: said("file_path"),
            rationale: said("rationale"),
            diff: said("diff"),
        }),
        EventClass::PermissionRequest => Fact::Ask { call: None },
        EventClass::UserMessage => {
            Fact::Prompt(Prompt::Echo { words: Some(Cow::Borrowed(said("message"))), remark: None })
        }
        EventClass::PermissionResponse => Fact::Answered(Answered::Confirmed(Confirmed {
            engine_request_id: said("request_id").to_owned(),
            allowed: said("status") == "allowed",
            words: cut::line(said("status"), NAME),
            client: payload.object("by").and_then(client),
        })),
        EventClass::Notice => Fact::Notice(notice(payload)),
        EventClass::RetrievalStatus => Fact::Search { stage: said("stage"), message: said("message") },
        EventClass::RunFinished => Fact::TurnEnded(Box::new(ended(payload))),
        EventClass::SessionLifecycle => {
            payload.object("state").and_then(standing).map_or(Fact::Unknown, Fact::Usage)
        }
        EventClass::RunErrorOrGap => {
            let details = payload.object("error").and_then(|error| error.get("details"));
            let notice = Notice::new(NoticeLevel::Error, failure(payload).unwrap_or(UNTOLD));
            Fact::Failure(notice.with(Remedy::of_details(details)))
        }
        EventClass::ToolOutput
        | EventClass::CheckpointList
        | EventClass::CheckpointRestored
        | EventClass::TaskEvent
        | EventClass::SkillsCatalog
        | EventClass::SkillsSelection
        | EventClass::CtreeNode
        | EventClass::CtreeSnapshot
        | EventClass::RewardUpdate
        | EventClass::RunLogLink
        | EventClass::TurnStart
        | EventClass::TodoUpdate
        | EventClass::ContextCompaction
        | EventClass::UsageUpdate
        | EventClass::TurnChanges
        | EventClass::UnknownEvent => Fact::Unknown,
    }
}

/// A client of the host, as that tells of it.
fn client(by: &Map<String, Value>) -> Option<NamedClient> {
    NamedClient::said(text(by, "name").unwrap_or_default(), text(by, "version").unwrap_or_default())
}

/// A sentence of the host.
fn notice(payload: &Map<String, Value>) -> Notice {
    let level = match text(payload, "level") {
        Some("error") => NoticeLevel::Error,
        Some("warning") => NoticeLevel::Warning,
        _ => NoticeLevel::Info,
    };
    Notice::new(level, cut::line(text(payload, "message").unwrap_or_default(), NOTICE))
}

/// How far the loop is, and what waits in it.
fn standing(state: &Map<String, Value>) -> Option<Usage> {
    let number = |name: &str| state.get(name).and_then(Value::as_u64);
    let (step, steps) = (number("current_step")?, number("total_steps")?);
    // A host that has made no plan counts no steps.
    let mut said = if steps == 0 { Vec::new() } else { vec![format!("Step {step} of {steps}")] };
    for (list, one, many) in [
        ("pending_approvals", "1 request waits for an answer", "requests wait for an answer"),
        ("pending_patches", "1 change is not decided", "changes are not decided"),
        ("applied_patches", "1 change was applied", "changes were applied"),
    ] {
        match state.list(list).map_or(0, Vec::len) {
            0 => {}
            1 => said.push(one.to_owned()),
            count => said.push(format!("{count} {many}")),
        }
    }
    let (used, size) = (number("context_tokens"), number("context_window").filter(|size| *size > 0));
    let context = used.zip(size).map(|(used, size)| {
        said.push(format!("{} % of what the model reads at once", used.saturating_mul(100) / size));
        serde_json::json!({ "used": used, "size": size })
    });
    if let Some(tokens) = number("tokens_used") {
        said.push(format!("{tokens} tokens"));
    }
    if let Some(cost) = state.get("cost").and_then(Value::as_f64) {
        said.push(format!("cost {cost:.4}"));
    }
    let clients: Vec<&str> =
        state.list("clients").into_iter().flatten().filter_map(|client| client.string("name")).collect();
    if clients.len() > 1 {
        let names = cut::line(&clients.join(", "), NAME);
        said.push(format!("{} clients are connected: {names}", clients.len()));
    }
    if said.is_empty() {
        said.push(match state.get("running").and_then(Value::as_bool) {
            Some(true) => "A turn runs".to_owned(),
            Some(false) => "No turn runs".to_owned(),
            None => "Nothing waits".to_owned(),
        });
    }
    let notice = Notice::new(NoticeLevel::Info, format!("{}.", said.join("; ")));
    Some(Usage { of: UsageOf::Loop, notice, context, cost: None })
}

fn piece<'a>(voice: Voice, phase: &'a str, words: &'a str) -> Fact<'a> {
    Fact::Text(Text { voice, of: TextOf::Turn { phase }, part: TextPart::Piece(Cow::Borrowed(words)) })
}

fn tool<'a>(payload: &'a Map<String, Value>, step: ToolStep<'a>) -> ToolNews<'a> {
    let args = payload.get("args").or_else(|| payload.get("arguments")).filter(|args| !args.is_null());
    let name = text(payload, "tool_name").or_else(|| text(payload, "tool"));
    let name = cut::line(name.unwrap_or("tool"), NAME);
    let telling = args.and_then(|args| TELLING.iter().find_map(|key| args.string(key)));
    ToolNews {
        id: text(payload, "call_id").filter(|id| !id.is_empty()).map(key),
        title: telling.map(|telling| title(&name, telling)),
        input: args.map(|args| cut::value(Cow::Borrowed(args), INPUT)),
        name: Some(name),
        background: text(payload, "background").and_then(Background::named),
        pictures: if matches!(step, ToolStep::Result(_)) { pictures(payload) } else { Vec::new() },
        step,
        ..ToolNews::default()
    }
}

/// Images that a tool of a server gave back.
fn pictures(payload: &Map<String, Value>) -> Vec<Picture> {
    /// Of one call; the others are in its event.
    const MOST: usize = 8;
    let images = payload.object("result").and_then(|result| result.list("images"));
    images.into_iter().flatten().filter_map(Value::as_object).filter_map(picture).take(MOST).collect()
}

/// A result in words, without what is shown beside them.
fn spoken(result: &Value) -> Option<String> {
    let Some(fields) = result.as_object().filter(|fields| fields.contains_key("images")) else {
        return in_words::words(result);
    };
    let rest = fields.iter().filter(|(name, _)| *name != "images");
    in_words::words(&Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect()))
}

fn outcome(payload: &Map<String, Value>) -> ToolOutcome<'_> {
    let result = payload.get("result").filter(|result| !result.is_null());
    let borrowed = result.and_then(|result| result.as_str().or_else(|| result.string("error")));
    ToolOutcome {
        shape: Shape::Only,
        failed: match text(payload, "status") {
            Some(status) => status == "failed",
            // The public source has no status; its results say it themselves.
            None => result.and_then(|result| result.get("success")).and_then(Value::as_bool) == Some(false),
        },
        exit: result.and_then(|result| result.get("exit_code")).and_then(Value::as_i64),
        text: borrowed.map(Cow::Borrowed).or_else(|| result.and_then(spoken).map(Cow::Owned)),
        count: result.and_then(count),
        artifact: None,
    }
}

/// How much a tool found: in its own words, or as many as its list has.
fn count(result: &Value) -> Option<String> {
    if let Some(summary) = result.string("summary") {
        return Some(cut::line(summary, NAME));
    }
    let found = match result {
        Value::Array(items) => Some(items.len()),
        Value::Object(map) => ["results", "matches", "places", "symbols", "entries", "files"]
            .iter()
            .find_map(|key| map.list(key).map(Vec::len)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    found.map(|found| if found == 1 { "1 result".to_owned() } else { format!("{found} results") })
}

fn plan(payload: &Map<String, Value>) -> Plan {
    let steps = payload.list("steps");
    let steps = steps.map(|steps| steps.iter().take(PLAN_STEPS).map(step).collect()).unwrap_or_default();
    Plan { scope: None, steps, standing: false }
}

fn step(step: &Value) -> PlanStep {
    let files = step.list("files_involved");
    let said = step.as_str().or_else(|| step.string("description")).unwrap_or_default();
    PlanStep {
        text: cut::line(said, PLAN_TEXT),
        status: step.string("status").map(|status| cut::line(status, PLAN_TEXT)),
        files: files
            .map(|files| {
                let files = files.iter().take(PLAN_FILES).filter_map(Value::as_str);
                files.map(|file| cut::line(file, PLAN_TEXT)).collect()
            })
            .unwrap_or_default(),
    }
}

fn ended(payload: &Map<String, Value>) -> TurnEnd<'_> {
    let metadata = payload.get("metadata");
    let flag = |name: &str| metadata.and_then(|map| map.get(name)).and_then(Value::as_bool);
    let success = flag("success").unwrap_or(true);
    let cancelled = flag("cancelled").unwrap_or(false);
    let (text_of_it, reason, outcome) = match (cancelled, success) {
        (true, _) => ("The turn was stopped.", "cancelled", TurnOutcome::Stopped),
        (false, true) => ("The turn is done.", "end_turn", TurnOutcome::Done),
        (false, false) => ("The turn failed.", "failed", TurnOutcome::Failed),
    };
    TurnEnd {
        reason: Cow::Borrowed(reason),
        spent: tokens(metadata.and_then(Value::as_object), ["input_tokens", "output_tokens", "tokens_used"]),
        report: TurnReport::Whole {
            answer: text(payload, "message").filter(|whole| !whole.is_empty()),
            outcome,
            text: Cow::Borrowed(text_of_it),
            told: None,
            remedy: Box::default(),
            details: metadata.map(|map| cut::value(Cow::Borrowed(map), DETAILS)),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::standing;

    #[test]
    fn r002_77_how_a_session_stands_is_said_without_steps_that_nobody_planned() {
        let said = |state: serde_json::Value| standing(state.as_object()?).map(|usage| usage.notice.text);
        let clients = json!([{ "name": "VS Code" }, { "name": "Neovim" }]);
        for (state, text) in [
            (json!({ "current_step": 2, "total_steps": 5 }), "Step 2 of 5."),
            (json!({ "current_step": 0, "total_steps": 0, "running": true }), "A turn runs."),
            (json!({ "current_step": 0, "total_steps": 0, "running": false }), "No turn runs."),
            (
                json!({ "current_step": 0, "total_steps": 0, "running": true, "clients": clients }),
                "2 clients are connected: VS Code, Neovim.",
            ),
        ] {
            assert_eq!(said(state).as_deref(), Some(text));
        }
    }
}
