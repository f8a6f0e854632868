//! Sentences in the run lane about what an engine counts and offers: usage, limits, rewards, skills, the tree.
//!
//! Each replaces the one before it of the same kind and run. Never holds state: its name is kind and run.

use serde_json::{Map, Value};

use super::block::{Block, BlockBody, NoticeLevel};
use super::cut;
use crate::domain::event::SessionEvent;
use crate::domain::wire::breadboard_words::is;

const SENTENCE: usize = 1024;
/// Names or counts in one sentence; the raw event has all.
const PARTS: usize = 12;

/// Tokens, cost or limits.
pub(super) fn usage(event: &SessionEvent, run: u64) -> Block {
    if is(&event.kind, "limits_update") {
        let (level, text) = limits(&event.payload);
        return notice(event, format!("limits-{run}"), level, &text);
    }
    let counts = event.payload.get("usage").and_then(Value::as_object).unwrap_or(&event.payload);
    notice(event, format!("usage-{run}"), NoticeLevel::Info, &format!("Usage: {}.", parts(counts)))
}

fn limits(payload: &Map<String, Value>) -> (NoticeLevel, String) {
    let buckets = payload.get("buckets").and_then(Value::as_array);
    let mut level = NoticeLevel::Info;
    let mut left = Vec::new();
    for bucket in buckets.into_iter().flatten().take(PARTS) {
        let name = bucket.get("name").and_then(Value::as_str).unwrap_or("limit");
        let Some(remaining) = bucket.get("remaining").and_then(Value::as_f64) else { continue };
        if remaining <= 0.0 {
            level = NoticeLevel::Warning;
        }
        left.push(match bucket.get("limit").and_then(Value::as_f64) {
            Some(limit) => format!("{name} {remaining} of {limit}"),
            None => format!("{name} {remaining}"),
        });
    }
    let provider = payload.get("provider").and_then(Value::as_str).unwrap_or("The provider");
    let mut text = match left.as_slice() {
        [] => format!("{provider} told of its limits."),
        left => format!("Left at {provider}: {}.", left.join(", ")),
    };
    if let Some(wait) = payload.get("retry_after_ms").and_then(Value::as_u64).filter(|wait| *wait > 0) {
        level = NoticeLevel::Warning;
        text.push_str(&format!(" Try again in {} s.", wait.div_ceil(1_000)));
    }
    (level, text)
}

/// A reward.
pub(super) fn reward(event: &SessionEvent, run: u64) -> Block {
    let summary = event.payload.get("summary");
    let text = match summary {
        Some(Value::String(said)) => format!("Reward: {said}."),
        Some(Value::Object(counts)) => format!("Reward: {}.", parts(counts)),
        Some(other) => format!("Reward: {other}."),
        None => format!("Reward: {}.", parts(&event.payload)),
    };
    notice(event, format!("reward-{run}"), NoticeLevel::Info, &text)
}

/// Which skills there are, or which are chosen. They belong to the session, so there is one of each.
pub(super) fn skills(event: &SessionEvent) -> Block {
    if is(&event.kind, "skills_selection") {
        let selection = event.payload.get("selection").and_then(Value::as_object);
        let list = |name: &str| names(selection.and_then(|selection| selection.get(name)));
        let text = match (list("allowlist"), list("blocklist")) {
            (Some(only), _) => format!("Skills in use: only {only}."),
            (None, Some(without)) => format!("Skills in use: all but {without}."),
            (None, None) => "Skills in use: all.".to_owned(),
        };
        return notice(event, "skills-selection".to_owned(), NoticeLevel::Info, &text);
    }
    let catalog = event.payload.get("catalog").and_then(Value::as_object);
    let count = |name: &str| {
        catalog.and_then(|catalog| catalog.get(name)).and_then(Value::as_array).map_or(0, Vec::len)
    };
    // The engine lists the two kinds apart, and sometimes together too.
    let skills = count("skills").max(count("prompt_skills") + count("graph_skills"));
    let text = match skills {
        1 => "1 skill is available.".to_owned(),
        skills => format!("{skills} skills are available."),
    };
    notice(event, "skills-catalog".to_owned(), NoticeLevel::Info, &text)
}

/// A conversation is made shorter, or was: one block in the chat from start to end. `open` is the `seq` of the start.
pub(super) fn compaction(event: &SessionEvent, open: &mut Option<u64>) -> Block {
    let starts = is(&event.kind, "conversation_compaction_start");
    let seq = if starts { event.seq } else { open.take().unwrap_or(event.seq) };
    let mut text = if starts {
        *open = Some(seq);
        "The conversation is being shortened so that it fits the model".to_owned()
    } else {
        "The conversation was shortened so that it fits the model".to_owned()
    };
    if let Some(reason) = event.payload.get("reason").and_then(Value::as_str).filter(|said| !said.is_empty())
    {
        text.push_str(&format!(": {}", reason.replace('_', " ")));
    }
    text.push('.');
    Block { seq, ..notice(event, format!("compaction-{seq}"), NoticeLevel::Info, &text) }
}

/// The engine was asked to stop (a `task_event` that names no task).
pub(super) fn stopping(event: &SessionEvent, run: u64) -> Block {
    let text = "A stop was asked for; the engine stops after its present step.";
    notice(event, format!("stop-{run}"), NoticeLevel::Info, text)
}

/// How a turn ended, in an engine that says so beside its summary. `None`: well, which the summary tells.
pub(super) fn turn_over(event: &SessionEvent) -> Option<Block> {
    let said = ["message", "error", "reason"].into_iter().find_map(|name| event.payload.get(name)?.as_str());
    let (level, text) = if is(&event.kind, "turn_failed") {
        (NoticeLevel::Error, "The turn failed")
    } else if is(&event.kind, "turn_cancelled") {
        (NoticeLevel::Info, "The turn was cancelled")
    } else {
        return None;
    };
    let text = said.map_or(format!("{text}."), |said| format!("{text}: {said}"));
    Some(notice(event, format!("n-{}", event.seq), level, &text))
}

/// How large the conversation tree is.
pub(super) fn tree(event: &SessionEvent, run: u64) -> Block {
    #[derive(serde::Deserialize)]
    struct Snapshot {
        snapshot: Counts,
    }
    #[derive(serde::Deserialize)]
    struct Counts {
        node_count: Option<u64>,
    }
    // Up to 80 KB: read without building it.
    let nodes = event.payload.read::<Snapshot>().and_then(|snapshot| snapshot.snapshot.node_count);
    let text = match nodes {
        Some(nodes) => format!("The conversation tree has {nodes} nodes."),
        None => "The conversation tree was saved.".to_owned(),
    };
    notice(event, format!("tree-{run}"), NoticeLevel::Info, &text)
}

/// Counts in words: `prompt tokens 12, cost usd 0.01`.
fn parts(counts: &Map<String, Value>) -> String {
    let said = counts.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => cut::line(text, 100),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(format!("{} {value}", cut::line(name, 100).replace('_', " ")))
    });
    let said: Vec<String> = said.take(PARTS).collect();
    if said.is_empty() { "nothing counted".to_owned() } else { said.join(", ") }
}

fn names(list: Option<&Value>) -> Option<String> {
    let names: Vec<&str> = list?.as_array()?.iter().filter_map(Value::as_str).collect();
    let shown = names.iter().take(PARTS).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(PARTS) {
        _ if names.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

fn notice(event: &SessionEvent, id: String, level: NoticeLevel, text: &str) -> Block {
    let body = BlockBody::Notice { level, text: cut::line(text, SENTENCE) };
    Block { id, turn: event.turn, seq: event.seq, body }
}
