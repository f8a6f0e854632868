//! How runs end: one summary a run, whatever the engine says in how many events (R003-51).
//!
//! Owns where a run of the BreadBoard engine begins, since its turn numbers change within a run. Never ends a turn: the
//! reducer does.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody, NoticeLevel};
use super::cut;
use super::reducer::TurnName;
use crate::domain::event::{LocalKind, SessionEvent};
use crate::domain::wire::breadboard_words::is;

/// JSON of the engine's counts; more than that is not counts.
const DETAILS: usize = 4 * 1024;
const REASON: usize = 200;
/// One line of what a provider or the engine said of a failure.
const ERROR: usize = 500;
/// What a client may want to show, under the engine's own names.
const KEPT: [&str; 7] = ["steps", "steps_taken", "max_steps", "exit_kind", "mode", "usage", "logging_dir"];

/// The run that goes on or the last one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunSummary {
    /// Runs so far, for the ids of blocks that are replaced within a run.
    runs: u64,
    /// What was said of its end.
    end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct End {
    id: String,
    seq: u64,
    turn: Option<u64>,
    finished: bool,
    completed: Option<bool>,
    reason: Option<String>,
    /// What went wrong, in one line.
    #[serde(default)]
    error: Option<String>,
    details: Map<String, Value>,
}

impl RunSummary {
    /// Notes where a run begins: at a prompt, or, in a stream without prompts, at the first turn after an end.
    pub(super) fn hear(&mut self, event: &SessionEvent) {
        let prompt = event.kind == LocalKind::Prompt.as_str() || is(&event.kind, "user_message");
        let ended = self.end.as_ref().is_some_and(|end| end.finished);
        if prompt || (ended && is(&event.kind, "turn_start")) {
            self.runs += 1;
            self.end = None;
        }
    }

    /// Number of the run, from 0.
    pub(super) fn number(&self) -> u64 {
        self.runs
    }

    /// Id and `seq` of the summary that this run has already, if it has one.
    pub(super) fn known(&self) -> Option<(String, u64)> {
        self.end.as_ref().map(|end| (end.id.clone(), end.seq))
    }

    /// The summary, with what this `completion` or `run_finished` adds to it, and, where it is the first to say that the run
    /// failed, a card that says so.
    pub(super) fn told(&mut self, event: &SessionEvent, turn: TurnName) -> (Block, Option<Block>) {
        if self.end.as_ref().is_some_and(|end| end.finished) {
            // Ended twice without a beginning between: another run.
            self.runs += 1;
            self.end = None;
        }
        let end = self.end.get_or_insert_with(|| End {
            id: format!("s-{}-{}", turn.label, turn.index),
            seq: event.seq,
            turn: event.turn,
            finished: false,
            completed: None,
            reason: None,
            error: None,
            details: Map::new(),
        });
        let known = end.error.is_some();
        end.finished |= is(&event.kind, "run_finished");
        end.hear(&event.payload);
        if let Some(summary) = event.payload.get("summary").and_then(Value::as_object) {
            end.hear(summary);
        }
        let error = end.error.as_deref().filter(|_| !known);
        let card = error.map(|error| {
            let text = format!("The turn failed: {error}");
            let body = BlockBody::Notice { level: NoticeLevel::Error, text };
            Block { id: format!("n-{}", event.seq), turn: event.turn, seq: event.seq, body }
        });
        (end.block(), card)
    }
}

impl End {
    fn hear(&mut self, said: &Map<String, Value>) {
        if let Some(completed) = said.get("completed").and_then(Value::as_bool) {
            // Both ends of a run must say that it is done.
            self.completed = Some(self.completed.unwrap_or(true) && completed);
        }
        if let Some(reason) = said.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            self.reason = Some(cut::line(reason, REASON));
        }
        if let Some(error) = said.get("error").and_then(failure) {
            self.error = Some(error);
        }
        for name in KEPT {
            let Some(value) = said.get(name).filter(|value| !value.is_null()) else { continue };
            self.details.insert(name.to_owned(), cut::value(Cow::Borrowed(value), DETAILS / KEPT.len()));
        }
    }

    fn block(&self) -> Block {
        let (success, text) = self.sentence();
        let mut details = self.details.clone();
        if let Some(reason) = &self.reason {
            details.insert("reason".to_owned(), Value::from(reason.as_str()));
        }
        let details = (!details.is_empty()).then_some(Value::Object(details));
        let body = BlockBody::Summary { success, text, details };
        Block { id: self.id.clone(), turn: self.turn, seq: self.seq, body }
    }

    fn sentence(&self) -> (bool, String) {
        let exit = self.details.get("exit_kind").and_then(Value::as_str);
        let reason = self.reason.as_deref().unwrap_or_default();
        if reason == "stopped_by_user" || exit == Some("stopped") {
            return (false, "The turn was stopped.".to_owned());
        }
        if self.completed.unwrap_or(true) {
            return (true, "The turn is done.".to_owned());
        }
        if let Some(error) = &self.error {
            return (false, format!("The turn failed: {error}"));
        }
        if reason.contains("max_steps") || reason.contains("step_limit") {
            let most = self.details.get("max_steps").and_then(Value::as_u64);
            let text = match most {
                Some(most) => format!("The turn ended at its limit of {most} steps."),
                None => "The turn ended at its limit of steps.".to_owned(),
            };
            return (false, text);
        }
        let text = match reason {
            "" => "The turn ended before it was done.".to_owned(),
            "run_loop_exception" => "The turn failed: the engine's run loop broke.".to_owned(),
            "explicit_completion_marker" => {
                "The turn ended before it was done: the agent said that it was.".to_owned()
            }
            reason if reason.starts_with("finish_reason:") => {
                let why = reason.split_once(':').map_or("", |(_, why)| why).replace('_', " ");
                format!("The turn ended before it was done: the model ended with \"{why}\".")
            }
            reason => format!("The turn ended before it was done: {}.", reason.replace('_', " ")),
        };
        (false, text)
    }
}

/// The first line of what went wrong. Never the trace of calls beside it: that is for the engine's log.
fn failure(error: &Value) -> Option<String> {
    let message = match error {
        Value::String(message) => Some(message.as_str()),
        Value::Object(error) => ["message", "type"]
            .into_iter()
            .find_map(|name| error.get(name).and_then(Value::as_str).filter(|said| !said.trim().is_empty())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let line = message?.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut::line(line, ERROR))
}
