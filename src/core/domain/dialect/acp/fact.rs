//! What the updates of an agent say (Agent Client Protocol): text, plans, notices, counts, how a turn ended.
//!
//! Owns field names and what stands for content that is no text. Tools: `tools`. Never keeps state.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::before::with_found;
use super::content::{MAIN, WORD, entries, words};
use super::decode::with_details;
use super::{state, tools};
use crate::domain::cut;
use crate::domain::dialect::Slot;
use crate::domain::dialect::limits::{DETAILS, PLAN_STEPS, PLAN_TEXT, counted, text, tokens};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::picture::picture;
use crate::domain::event::{EventClass, EventRef};
use crate::domain::fact::{
    Commands, CommandsOf, Compaction, Cost, Fact, Notice, NoticeLevel, Plan, PlanStep, Prompt, Text, TextOf,
    TextPart, ToolNews, TurnEnd, TurnOutcome, TurnReport, Usage, UsageOf, Voice,
};
use crate::domain::fingerprint::{key, short};
use crate::domain::remedy::Remedy;

const SENTENCE: usize = 4 * 1024;

const CHUNK: Slot = Slot { paths: &[&["content", "text"]], alike: &["messageId"] };

/// Where a piece of text stands.
pub(in crate::domain::dialect) fn slot(kind: &str) -> Option<&'static Slot> {
    matches!(kind, "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk").then_some(&CHUNK)
}

/// What an event says.
pub(in crate::domain::dialect) fn fact(event: EventRef<'_>) -> Fact<'_> {
    match event.class {
        EventClass::UserMessage => {
            let (id, words) = chunk(event);
            Fact::Prompt(Prompt::History { id: id.map(Cow::into_owned), words })
        }
        EventClass::AssistantStream => said(Voice::Answer, event),
        EventClass::ReasoningStream => said(Voice::Reasoning, event),
        EventClass::ToolCall => tools::news(event.payload, true).map_or(Fact::Unknown, Fact::ToolCall),
        EventClass::ToolOutput => tools::news(event.payload, false).map_or(Fact::Unknown, Fact::ToolOutput),
        EventClass::ToolResult => tools::news(event.payload, false).map_or(Fact::Unknown, Fact::ToolResult),
        EventClass::PlanUpdate => plan(event).map_or(Fact::Unknown, Fact::Plan),
        EventClass::PermissionRequest => Fact::Ask { call: waiting_call(event) },
        EventClass::RunFinished => Fact::TurnEnded(Box::new(ended(event.payload))),
        EventClass::Notice => Fact::Notice(notice(event.payload)),
        EventClass::ContextCompaction => compaction(event).map_or(Fact::Unknown, Fact::Compaction),
        EventClass::UsageUpdate => Fact::Usage(usage(event)),
        EventClass::SkillsCatalog => Fact::Commands(commands(event.payload)),
        EventClass::SessionLifecycle => {
            text(event.payload, "currentModeId").map_or(Fact::Unknown, Fact::Mode)
        }
        EventClass::PermissionResponse
        | EventClass::RunErrorOrGap
        | EventClass::TurnStart
        | EventClass::CheckpointList
        | EventClass::CheckpointRestored
        | EventClass::TaskEvent
        | EventClass::SkillsSelection
        | EventClass::CtreeNode
        | EventClass::CtreeSnapshot
        | EventClass::RewardUpdate
        | EventClass::RunLogLink
        | EventClass::TodoUpdate
        | EventClass::RetrievalStatus
        | EventClass::PatchProposed
        | EventClass::TurnChanges
        | EventClass::UnknownEvent => Fact::Unknown,
    }
}

fn said(voice: Voice, event: EventRef<'_>) -> Fact<'_> {
    if voice == Voice::Answer
        && event.payload.read::<Chunk<'_>>().is_none()
        && let Some(picture) = event.payload.object("content").and_then(picture)
    {
        return Fact::Picture(picture);
    }
    match chunk(event) {
        (id, Some(words)) => Fact::Text(Text { voice, of: TextOf::Run(id), part: TextPart::Piece(words) }),
        (_, None) => Fact::Nothing,
    }
}

/// A chunk as most agents write it.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, rename = "messageId")]
    message_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: TextBlock<'a>,
}

#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The id of a `*_chunk` and its words. None, as in a chunk that only carries counts: it says nothing.
fn chunk(event: EventRef<'_>) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    let (id, words) = match event.payload.read::<Chunk<'_>>().filter(|chunk| chunk.content.kind == "text") {
        Some(chunk) => (chunk.message_id, Some(chunk.content.text)),
        None => (
            text(event.payload, "messageId").map(Cow::Borrowed),
            event.payload.get("content").and_then(words).map(Cow::Owned),
        ),
    };
    (id.filter(|id| !id.is_empty()).map(short), words.filter(|words| !words.is_empty()))
}

/// What `plan`, `plan_update` and `plan_removed` say.
fn plan(event: EventRef<'_>) -> Option<Plan> {
    let payload: &Map<String, Value> = event.payload;
    match event.kind {
        "plan" => entries(payload.get("entries")?, MAIN),
        "plan_removed" => Some(Plan { scope: Some(scope(payload)), steps: Vec::new(), standing: false }),
        _ => {
            let plan = payload.object("plan")?;
            if let Some(list) = plan.get("entries") {
                return entries(list, &scope(plan));
            }
            let said = text(plan, "content").or_else(|| text(plan, "uri"))?;
            let steps = said.lines().filter(|line| !line.trim().is_empty()).take(PLAN_STEPS);
            let step =
                |line: &str| PlanStep { text: cut::line(line, PLAN_TEXT), status: None, files: Vec::new() };
            Some(Plan { scope: Some(scope(plan)), steps: steps.map(step).collect(), standing: false })
        }
    }
}

fn scope(plan: &Map<String, Value>) -> String {
    key(text(plan, "planId").unwrap_or(MAIN))
}

/// The call that waits for an answer.
fn waiting_call(event: EventRef<'_>) -> Option<Box<ToolNews<'_>>> {
    let call = event.payload.object("toolCall")?;
    tools::news(&with_found(call, event.payload), false).map(Box::new)
}

/// What a `notice` says.
fn notice(payload: &Map<String, Value>) -> Notice {
    let said = |name: &str| text(payload, name).filter(|said| !said.trim().is_empty());
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
    Notice::new(level, cut::line(&sentence, SENTENCE))
}

/// How a conversation is made shorter. `None`: a piece of what it is made shorter to.
fn compaction(event: EventRef<'_>) -> Option<Compaction> {
    if event.kind != "compaction_update" {
        return None;
    }
    let payload = event.payload;
    let why = text(payload, "error").map(|why| format!(": {}", cut::line(why, SENTENCE))).unwrap_or_default();
    let (level, sentence) = match text(payload, "status") {
        Some("completed") => {
            (NoticeLevel::Info, "The conversation was shortened so that it fits the model.".to_owned())
        }
        Some("failed") => (NoticeLevel::Warning, format!("The conversation could not be shortened{why}.")),
        Some("cancelled") => (NoticeLevel::Info, "The conversation was not shortened.".to_owned()),
        _ => (NoticeLevel::Info, "The conversation is being shortened so that it fits the model.".to_owned()),
    };
    Some(Compaction {
        id: Some(key(text(payload, "compactionId").unwrap_or_default())),
        begins: false,
        notice: Notice::new(level, sentence),
    })
}

/// How full the context is, or what else the agent counts.
fn usage(event: EventRef<'_>) -> Usage {
    let Some(usage) = state::usage(event.payload) else {
        return Usage { of: UsageOf::Usage, notice: counted(event.payload), context: None, cost: None };
    };
    let mut sentence = format!("Context: {} of {} tokens", usage.used, usage.size);
    let mut context = json!({"used": usage.used, "size": usage.size});
    let cost = usage.cost.map(|cost| Cost { amount: cost.amount, currency: cut::line(&cost.currency, WORD) });
    if let Some(cost) = &cost {
        sentence.push_str(&format!("; cost so far {} {}", cost.amount_in_words(), cost.currency));
        context["cost"] = json!(cost);
    }
    sentence.push('.');
    Usage {
        of: UsageOf::Usage,
        notice: Notice::new(NoticeLevel::Info, sentence),
        context: Some(context),
        cost,
    }
}

fn commands(payload: &Map<String, Value>) -> Commands {
    let commands = payload.list("availableCommands").map_or(0, Vec::len);
    let text = match commands {
        1 => "The agent has 1 command.".to_owned(),
        commands => format!("The agent has {commands} commands."),
    };
    Commands { of: CommandsOf::Catalog, text }
}

/// What the answer to a prompt says of its turn. A reason that is no word of the protocol is said as it came.
fn ended(payload: &Map<String, Value>) -> TurnEnd<'_> {
    let mut counts = Map::new();
    for name in ["stopReason", "usage"] {
        if let Some(value) = payload.get(name).filter(|value| !value.is_null()) {
            counts.insert(name.to_owned(), cut::value(Cow::Borrowed(value), DETAILS / 3));
        }
    }
    let (outcome, told, text) = ending(payload);
    // An answer that is no error has no fields of ours.
    let remedy = if payload.contains_key("error") { Remedy::of(payload) } else { Remedy::default() };
    TurnEnd {
        reason: reason(payload),
        spent: tokens(payload.object("usage"), ["inputTokens", "outputTokens", "totalTokens"]),
        report: TurnReport::Whole {
            answer: None,
            outcome,
            text,
            told,
            remedy: Box::new(remedy),
            details: (!counts.is_empty()).then_some(Value::Object(counts)),
        },
    }
}

/// Why, in the agent's word where it has one.
fn reason(payload: &Map<String, Value>) -> Cow<'_, str> {
    let failed = payload.get("error").is_some_and(|error| !error.is_null());
    Cow::Borrowed(text(payload, "stopReason").unwrap_or(if failed { "failed" } else { "end_turn" }))
}

/// How the turn ended, how loud the chat says so, and a sentence.
fn ending(payload: &Map<String, Value>) -> (TurnOutcome, Option<NoticeLevel>, Cow<'static, str>) {
    if let Some(error) = payload.get("error") {
        if let Some(sentence) = text(payload, "sentence") {
            return (
                TurnOutcome::Failed,
                Some(NoticeLevel::Error),
                Cow::Owned(cut::line(sentence, SENTENCE)),
            );
        }
        let said = error.string("message").filter(|said| !said.trim().is_empty());
        let said = said.map(|said| with_details(said, error.get("data")));
        let said = cut::line(said.as_deref().unwrap_or("the agent does not say why"), SENTENCE);
        let sentence = match error.get("code").and_then(Value::as_i64) {
            Some(-32000) => format!("The agent wants a login first: {said}"),
            _ => format!("The turn failed: {said}"),
        };
        return (TurnOutcome::Failed, Some(NoticeLevel::Error), Cow::Owned(sentence));
    }
    let why = text(payload, "stopReason");
    if let (Some("end_turn" | "cancelled"), Some(sentence)) = (why, text(payload, "sentence")) {
        // Nobody stopped it: the agent ended it so, and the adapter says why.
        return (TurnOutcome::Cut, None, Cow::Owned(cut::line(sentence, SENTENCE)));
    }
    let (outcome, told, sentence) = match why {
        Some("end_turn") => (TurnOutcome::Done, None, "The turn is done."),
        Some("cancelled") => (TurnOutcome::Stopped, None, "The turn was stopped."),
        Some("max_tokens") => (
            TurnOutcome::Cut,
            Some(NoticeLevel::Warning),
            "The turn ended at the model's limit of tokens; the answer may be cut.",
        ),
        Some("max_turn_requests") => (
            TurnOutcome::Cut,
            Some(NoticeLevel::Warning),
            "The turn ended at the agent's limit of model requests in one turn.",
        ),
        Some("refusal") => (
            TurnOutcome::Cut,
            Some(NoticeLevel::Warning),
            "The agent refused to go on; it may not remember this prompt.",
        ),
        Some(other) => {
            let sentence = format!("The turn ended: {}", cut::line(other, WORD));
            return (TurnOutcome::Cut, Some(NoticeLevel::Warning), Cow::Owned(sentence));
        }
        None => (TurnOutcome::Done, None, "The turn is done; the agent gives no reason for its end."),
    };
    (outcome, told, Cow::Borrowed(sentence))
}
