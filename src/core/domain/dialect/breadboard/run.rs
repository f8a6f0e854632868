//! What the BreadBoard engine says of its runs: how they end, their tasks, checkpoints, counts and links.
//!
//! Owns field names and the engine's words for how a run or a task stands. Never keeps state: several events tell of one end.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::permissions::{permission_answer, task_kind};
use super::words::is;
use crate::domain::cut;
use crate::domain::dialect::limits::{DETAILS, PARTS, counted, parts, text, tokens};
use crate::domain::dialect::loose::Members;
use crate::domain::event::EventRef;
use crate::domain::fact::{
    Checkpoint, Commands, CommandsOf, Compaction, Cost, Link, Notice, NoticeLevel, Restored, RestoredWhat,
    RunReason, RunReport, Spent, TaskNews, TaskStatus, TurnClosed, TurnEnd, TurnReport, Usage, UsageOf,
};
use crate::domain::fingerprint::key;

const REASON: usize = 200;
/// One line of what a provider or the engine said of a failure.
const ERROR: usize = 500;
/// What a client may want to show, under the engine's own names.
const KEPT: [&str; 7] = ["steps", "steps_taken", "max_steps", "exit_kind", "mode", "usage", "logging_dir"];
const TITLE: usize = 200;

/// A `completion` or a `run_finished`: each says a part of how the run ended, itself and in its `summary`.
pub(super) fn ended(event: EventRef<'_>) -> TurnEnd<'_> {
    let mut report = RunReport { last: !is(event.kind, "completion"), ..RunReport::default() };
    add(&mut report, event.payload);
    if let Some(summary) = event.payload.object("summary") {
        add(&mut report, summary);
    }
    TurnEnd {
        reason: Cow::Borrowed(reason(event.payload)),
        spent: spent(event.payload.object("usage")),
        report: TurnReport::Part(Box::new(report)),
    }
}

fn spent(usage: Option<&Map<String, Value>>) -> Spent {
    let cost = usage.and_then(|usage| usage.get("cost_usd")).and_then(Value::as_f64);
    Spent {
        cost: cost.map(|amount| Cost { amount, currency: "USD".to_owned() }),
        ..tokens(usage, ["prompt_tokens", "completion_tokens", "total_tokens"])
    }
}

fn add(report: &mut RunReport, said: &Map<String, Value>) {
    if let Some(completed) = said.get("completed").and_then(Value::as_bool) {
        report.completed = Some(report.completed.unwrap_or(true) && completed);
    }
    if let Some(word) = text(said, "reason").filter(|word| !word.is_empty()) {
        let word = cut::line(word, REASON);
        report.reason = Some(run_reason(&word));
        report.word = Some(word);
    }
    if let Some(error) = said.get("error").and_then(failure) {
        report.error = Some(error);
    }
    for name in KEPT {
        let Some(value) = said.get(name).filter(|value| !value.is_null()) else { continue };
        let kept = cut::value(Cow::Borrowed(value), DETAILS / KEPT.len());
        match name {
            "exit_kind" => report.stopped = Some(kept == "stopped"),
            "max_steps" => report.most_steps = kept.as_u64(),
            _ => {}
        }
        report.details.insert(name.to_owned(), kept);
    }
}

fn run_reason(word: &str) -> RunReason {
    match word {
        "stopped_by_user" => RunReason::Stopped,
        "run_loop_exception" => RunReason::Broken,
        "explicit_completion_marker" => RunReason::SaidDone,
        word if word.contains("max_steps") || word.contains("step_limit") => RunReason::StepLimit,
        word => match word.strip_prefix("finish_reason:") {
            Some(why) => RunReason::Model(why.replace('_', " ")),
            None => RunReason::Other(word.replace('_', " ")),
        },
    }
}

/// The first line of what went wrong. Never the trace of calls beside it: that is for the engine's log.
fn failure(error: &Value) -> Option<String> {
    let message = match error {
        Value::String(message) => Some(message.as_str()),
        Value::Object(error) => ["message", "type"]
            .into_iter()
            .find_map(|name| text(error, name).filter(|said| !said.trim().is_empty())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let line = message?.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut::line(line, ERROR))
}

/// Why the turn ended, in one word.
fn reason(payload: &Map<String, Value>) -> &'static str {
    let status = text(payload, "status").or_else(|| text(payload, "exit_kind")).unwrap_or_default();
    let metadata = payload.get("metadata");
    let says = |name: &str| metadata.and_then(|metadata| metadata.get(name)).and_then(Value::as_bool);
    if says("cancelled") == Some(true)
        || matches!(status, "stopped" | "cancelled")
        || text(payload, "reason") == Some("stopped_by_user")
    {
        return "cancelled";
    }
    let failed = says("success") == Some(false)
        || payload.get("error").is_some_and(|error| !error.is_null())
        || matches!(status, "failed" | "error");
    if failed { "failed" } else { "end_turn" }
}

/// A newer engine says how a turn ended beside its report.
pub(super) fn closed(event: EventRef<'_>) -> Option<TurnClosed> {
    let said = ["message", "error", "reason"].into_iter().find_map(|name| text(event.payload, name));
    let sentence = |text: &str| said.map_or(format!("{text}."), |said| format!("{text}: {said}"));
    if is(event.kind, "turn_completed") {
        return Some(TurnClosed { cancelled: false, notice: None, reason: "end_turn" });
    }
    if is(event.kind, "turn_failed") {
        let notice = Some(Notice::new(NoticeLevel::Error, sentence("The turn failed")));
        return Some(TurnClosed { cancelled: false, notice, reason: "failed" });
    }
    is(event.kind, "turn_cancelled").then(|| TurnClosed {
        cancelled: true,
        notice: Some(Notice::new(
            NoticeLevel::Info,
            said.and_then(cancelled).map_or_else(|| sentence("The turn was cancelled"), str::to_owned),
        )),
        reason: "cancelled",
    })
}

/// The reasons that the engine has words for, as sentences.
fn cancelled(reason: &str) -> Option<&'static str> {
    match reason {
        "user_requested" => Some("The turn was cancelled because a user stopped it."),
        "timeout" => Some("The turn was cancelled because it took too long."),
        "superseded" => Some("The turn was cancelled because another one took its place."),
        _ => None,
    }
}

/// What a `task_event` says. Everything else of it is in the event.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TaskFields {
    kind: Loose,
    task_id: Loose,
    parent_task_id: Loose,
    status: Loose,
    description: Loose,
    child_session_label: Loose,
    subagent_type: Loose,
    attempt: Loose,
}

/// A text or a number; everything else reads as absent.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Loose {
    Text(String),
    Number(u64),
    Other(serde::de::IgnoredAny),
    #[default]
    Absent,
}

impl Loose {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text.clone()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(_) | Self::Other(_) | Self::Absent => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Other(_) | Self::Absent => None,
        }
    }
}

/// News of a task, or what it asks and was answered.
pub(super) fn task(event: EventRef<'_>) -> TaskNews {
    let told = event.payload.read::<TaskFields>().unwrap_or_default();
    let kind = told.kind.text().unwrap_or_default();
    let last = kind.rsplit(['_', '.', ':', '-']).next().unwrap_or_default();
    let by_status = told.status.text().and_then(|word| task_status(&word));
    TaskNews {
        id: told.task_id.text().map(|id| key(&id)),
        parent: told.parent_task_id.text().map(|id| key(&id)),
        title: told.description.text(),
        label: told.child_session_label.text().or_else(|| told.subagent_type.text()),
        status: task_status(last).max(by_status),
        snapshot: last == "snapshot",
        again: matches!(last, "spawned" | "started" | "restarted" | "retried"),
        attempt: told.attempt.number(),
        stop_requested: task_kind(event.payload).is_some_and(|kind| is(&kind, "stop_requested")),
        answered: permission_answer(event.kind, event.payload),
    }
}

/// The seed's four words, and what engines say for them.
fn task_status(word: &str) -> Option<TaskStatus> {
    Some(match word.to_ascii_lowercase().as_str() {
        "queued" | "pending" | "created" | "scheduled" | "waiting" => TaskStatus::Queued,
        "running" | "started" | "restarted" | "retried" | "spawned" | "in_progress" | "active" => {
            TaskStatus::Running
        }
        "completed" | "complete" | "succeeded" | "success" | "done" | "finished" | "ok" => {
            TaskStatus::Completed
        }
        "cancelled" | "canceled" | "stopped" => TaskStatus::Cancelled,
        "failed" | "failure" | "error" | "timeout" => TaskStatus::Failed,
        _ => return None,
    })
}

#[derive(Deserialize)]
struct List {
    checkpoints: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    checkpoint_id: String,
    #[serde(default)]
    preview: Option<String>,
    #[serde(default)]
    tracked_files: Option<serde_json::Number>,
    #[serde(default)]
    additions: Option<serde_json::Number>,
    #[serde(default)]
    deletions: Option<serde_json::Number>,
}

/// The list of checkpoints. The engine's is newest first by whole seconds, and in no order within one; the number in its ids
/// says which came first.
pub(super) fn checkpoints(event: EventRef<'_>) -> Option<Vec<Checkpoint>> {
    let mut listed = event.payload.read::<List>()?.checkpoints;
    listed.reverse();
    if listed.iter().all(|listed| number(&listed.checkpoint_id).is_some()) {
        listed.sort_by_key(|listed| number(&listed.checkpoint_id));
    }
    Some(
        listed
            .iter()
            .map(|listed| Checkpoint { id: key(&listed.checkpoint_id), title: listed.title() })
            .collect(),
    )
}

/// 12 of `ckpt-12`.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix("ckpt-")?.parse().ok()
}

impl Listed {
    /// The engine's preview and what changed since the checkpoint before.
    fn title(&self) -> String {
        let preview = self.preview.as_deref().and_then(|preview| preview.lines().next()).map(str::trim);
        let mut title = match preview.filter(|preview| !preview.is_empty()) {
            Some(preview) => cut::line(preview, TITLE),
            None => cut::line(&format!("Checkpoint {}", self.checkpoint_id), TITLE),
        };
        let mut counts = Vec::new();
        counts.extend(self.tracked_files.as_ref().map(|files| {
            if files.as_u64() == Some(1) { "1 file".to_owned() } else { format!("{files} files") }
        }));
        counts.extend(self.additions.as_ref().map(|lines| format!("+{lines}")));
        counts.extend(self.deletions.as_ref().map(|lines| format!("-{lines}")));
        if !counts.is_empty() {
            title.push_str(&format!(" ({})", counts.join(", ")));
        }
        title
    }
}

#[derive(Deserialize)]
struct WentBack {
    checkpoint_id: String,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    prune: Option<bool>,
}

/// The user went back to a checkpoint.
pub(super) fn restored(event: EventRef<'_>) -> Option<Restored> {
    let back = event.payload.read::<WentBack>()?;
    Some(Restored {
        id: key(&back.checkpoint_id),
        what: match back.mode.as_deref() {
            Some("conversation") => RestoredWhat::Conversation,
            Some("both") => RestoredWhat::Both,
            Some(_) | None => RestoredWhat::Files,
        },
        prunes: back.prune.unwrap_or(true),
    })
}

/// A link to a log or an artifact (R003-50): one row a target.
pub(super) fn link(payload: &Map<String, Value>) -> Option<Link<'_>> {
    let url = text(payload, "url").or_else(|| text(payload, "uri")).filter(|url| !url.is_empty())?;
    let uri = target(url);
    let label = ["label", "title", "name"].into_iter().find_map(|name| text(payload, name));
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    Some(Link { id: key(url), uri, label: label.map_or_else(|| format!("Log {last}"), str::to_owned) })
}

/// Where a URL of the engine leads. Its file URLs put the first directory of a relative path where a host belongs; such a
/// one is said as the path it is, so that nobody opens a place that it does not mean.
fn target(url: &str) -> &str {
    match url.strip_prefix("file://") {
        Some(path) if path.starts_with('/') || path.starts_with("localhost/") => url,
        Some(path) => path,
        None => url,
    }
}

/// Tokens, cost or limits.
pub(super) fn usage(event: EventRef<'_>) -> Usage {
    let payload = event.payload;
    if is(event.kind, "limits_update") {
        return Usage { of: UsageOf::Limits, notice: limits(payload), context: None, cost: None };
    }
    Usage { of: UsageOf::Usage, notice: counted(payload), context: None, cost: None }
}

fn limits(payload: &Map<String, Value>) -> Notice {
    let buckets = payload.list("buckets");
    let mut level = NoticeLevel::Info;
    let mut left = Vec::new();
    for bucket in buckets.into_iter().flatten().take(PARTS) {
        let name = bucket.string("name").unwrap_or("limit");
        let Some(remaining) = bucket.get("remaining").and_then(Value::as_f64) else { continue };
        if remaining <= 0.0 {
            level = NoticeLevel::Warning;
        }
        left.push(match bucket.get("limit").and_then(Value::as_f64) {
            Some(limit) => format!("{name} {remaining} of {limit}"),
            None => format!("{name} {remaining}"),
        });
    }
    let provider = text(payload, "provider").unwrap_or("The provider");
    let mut sentence = match left.as_slice() {
        [] => format!("{provider} told of its limits."),
        left => format!("Left at {provider}: {}.", left.join(", ")),
    };
    if let Some(wait) = payload.get("retry_after_ms").and_then(Value::as_f64).filter(|wait| *wait > 0.0) {
        level = NoticeLevel::Warning;
        sentence.push_str(&format!(" Try again in {:.0} s.", (wait / 1_000.0).ceil()));
    }
    Notice::new(level, sentence)
}

/// A reward.
pub(super) fn reward(payload: &Map<String, Value>) -> String {
    match payload.get("summary") {
        Some(Value::String(said)) => format!("Reward: {said}."),
        Some(Value::Object(counts)) => format!("Reward: {}.", parts(counts)),
        Some(other) => format!("Reward: {other}."),
        None => format!("Reward: {}.", parts(payload)),
    }
}

/// Which skills there are, or which are chosen.
pub(super) fn skills(event: EventRef<'_>) -> Commands {
    if is(event.kind, "skills_selection") {
        let selection = event.payload.object("selection");
        let list = |name: &str| names(selection.and_then(|selection| selection.get(name)));
        let text = match (list("allowlist"), list("blocklist")) {
            (Some(only), _) => format!("Skills in use: only {only}."),
            (None, Some(without)) => format!("Skills in use: all but {without}."),
            (None, None) => "Skills in use: all.".to_owned(),
        };
        return Commands { of: CommandsOf::Selection, text };
    }
    let catalog = event.payload.object("catalog");
    let count = |name: &str| {
        catalog.and_then(|catalog| catalog.get(name)).and_then(Value::as_array).map_or(0, Vec::len)
    };
    // The engine lists the two kinds apart, and sometimes together too.
    let text = match count("skills").max(count("prompt_skills") + count("graph_skills")) {
        1 => "1 skill is available.".to_owned(),
        skills => format!("{skills} skills are available."),
    };
    Commands { of: CommandsOf::Catalog, text }
}

/// A conversation is made shorter, or was.
pub(super) fn compaction(event: EventRef<'_>) -> Compaction {
    let begins = is(event.kind, "conversation_compaction_start");
    let mut sentence = match begins {
        true => "The conversation is being shortened so that it fits the model".to_owned(),
        false => "The conversation was shortened so that it fits the model".to_owned(),
    };
    if let Some(reason) = text(event.payload, "reason").filter(|said| !said.is_empty()) {
        sentence.push_str(&format!(": {}", reason.replace('_', " ")));
    }
    sentence.push('.');
    Compaction { id: None, begins, notice: Notice::new(NoticeLevel::Info, sentence) }
}

/// How large the conversation tree is.
pub(super) fn tree_nodes(event: EventRef<'_>) -> Option<u64> {
    #[derive(Deserialize)]
    struct Snapshot {
        snapshot: Counts,
    }
    #[derive(Deserialize)]
    struct Counts {
        node_count: Option<u64>,
    }
    // Up to 80 KB: read without building it.
    event.payload.read::<Snapshot>().and_then(|snapshot| snapshot.snapshot.node_count)
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
