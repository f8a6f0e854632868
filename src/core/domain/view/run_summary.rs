//! How runs end: one summary a run, whatever the engine says in how many events (R003-51).
//!
//! Owns where a run of the BreadBoard engine begins, since its turn numbers change within a run. Never ends a turn: the
//! reducer does.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody};
use super::notices;
use super::turn::TurnName;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Fact, NoticeLevel, Prompt, RunReason, RunReport, TurnOutcome};

/// The run that goes on or the last one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunSummary {
    /// Runs so far, for the ids of blocks that are replaced within a run.
    runs: u64,
    /// What was said of its end.
    end: Option<SummaryEnd>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SummaryEnd {
    id: String,
    seq: u64,
    turn: Option<u64>,
    finished: bool,
    completed: Option<bool>,
    reason: Option<RunReason>,
    /// The engine's own word for that.
    word: Option<String>,
    /// Somebody stopped it.
    stopped: bool,
    /// Steps that it may have at most.
    most_steps: Option<u64>,
    /// What went wrong, in one line.
    #[serde(default)]
    error: Option<String>,
    details: Map<String, Value>,
}

impl RunSummary {
    /// Notes where a run begins: at a prompt, or, in a stream without prompts, at the first turn after an end.
    pub(super) fn hear(&mut self, fact: &Fact<'_>) {
        let prompt = matches!(fact, Fact::Prompt(Prompt::Sent { .. } | Prompt::Echo { .. }));
        let ended = self.end.as_ref().is_some_and(|end| end.finished);
        if prompt || (ended && *fact == Fact::TurnBegan) {
            self.runs += 1;
            self.end = None;
        }
    }

    /// Number of the run, from 0.
    pub(super) fn number(&self) -> u64 {
        self.runs
    }

    /// How the run ended, as far as it was told, and in which words.
    pub(super) fn outcome(&self) -> Option<(TurnOutcome, String)> {
        self.end.as_ref().map(SummaryEnd::sentence)
    }

    /// Id and `seq` of the summary that this run has already, if it has one.
    pub(super) fn known(&self) -> Option<(String, u64)> {
        self.end.as_ref().map(|end| (end.id.clone(), end.seq))
    }

    /// The summary, with what this report adds to it, and, where it is the first to say that the run failed, a card that
    /// says so.
    pub(super) fn told(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        report: RunReport,
    ) -> (Block, Option<Block>) {
        if self.end.as_ref().is_some_and(|end| end.finished) {
            // Ended twice without a beginning between: another run.
            self.runs += 1;
            self.end = None;
        }
        let end = self.end.get_or_insert_with(|| SummaryEnd {
            id: format!("s-{}-{}", turn.label, turn.index),
            seq: event.seq,
            turn: event.turn,
            finished: false,
            completed: None,
            reason: None,
            word: None,
            stopped: false,
            most_steps: None,
            error: None,
            details: Map::new(),
        });
        let known = end.error.is_some();
        end.hear(report);
        let error = end.error.as_deref().filter(|_| !known);
        let card = error.map(|error| {
            let text = format!("The turn failed: {error}");
            let body = notices::sentence(NoticeLevel::Error, text);
            Block { id: format!("n-{}", event.seq), turn: event.turn, seq: event.seq, body }
        });
        (end.block(), card)
    }
}

impl SummaryEnd {
    fn hear(&mut self, report: RunReport) {
        self.finished |= report.last;
        if let Some(completed) = report.completed {
            // Both ends of a run must say that it is done.
            self.completed = Some(self.completed.unwrap_or(true) && completed);
        }
        self.reason = report.reason.or(self.reason.take());
        self.stopped = report.stopped.unwrap_or(self.stopped);
        self.most_steps = report.most_steps.or(self.most_steps);
        self.error = report.error.or(self.error.take());
        self.word = report.word.or(self.word.take());
        self.details.extend(report.details);
    }

    fn block(&self) -> Block {
        let (outcome, text) = self.sentence();
        let success = outcome == TurnOutcome::Done;
        let mut details = self.details.clone();
        if let Some(word) = &self.word {
            details.insert("reason".to_owned(), Value::from(word.as_str()));
        }
        let details = (!details.is_empty()).then_some(Value::Object(details));
        let body = BlockBody::Summary { success, text, details };
        Block { id: self.id.clone(), turn: self.turn, seq: self.seq, body }
    }

    fn sentence(&self) -> (TurnOutcome, String) {
        if self.reason == Some(RunReason::Stopped) || self.stopped {
            return (TurnOutcome::Stopped, "The turn was stopped.".to_owned());
        }
        if self.completed.unwrap_or(true) {
            return (TurnOutcome::Done, "The turn is done.".to_owned());
        }
        if let Some(error) = &self.error {
            return (TurnOutcome::Failed, format!("The turn failed: {error}"));
        }
        let text = match (&self.reason, self.most_steps) {
            (Some(RunReason::StepLimit), Some(most)) => {
                format!("The turn ended at its limit of {most} steps.")
            }
            (Some(RunReason::StepLimit), None) => "The turn ended at its limit of steps.".to_owned(),
            (Some(RunReason::Broken), _) => {
                return (TurnOutcome::Failed, "The turn failed: the engine's run loop broke.".to_owned());
            }
            (Some(RunReason::SaidDone), _) => {
                "The turn ended before it was done: the agent said that it was.".to_owned()
            }
            (Some(RunReason::Model(why)), _) => {
                format!("The turn ended before it was done: the model ended with \"{why}\".")
            }
            (Some(RunReason::Other(why)), _) => format!("The turn ended before it was done: {why}."),
            (Some(RunReason::Stopped) | None, _) => "The turn ended before it was done.".to_owned(),
        };
        (TurnOutcome::Cut, text)
    }
}
