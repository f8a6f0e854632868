//! The end of a turn, in one event or in several.
//!
//! Owns the reasons why a run ends, and what it spent. Never decides which of several reports counts: the reducer does.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::notice::{Notice, NoticeLevel};
use crate::domain::remedy::Remedy;

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd<'a> {
    /// Why, in one word that means the same for every engine, or in the engine's own.
    pub reason: Cow<'a, str>,
    /// What it spent, where the engine counts that.
    pub spent: Spent,
    /// What is said of it.
    pub report: TurnReport<'a>,
}

/// How a turn ended. The later of two counts where several events tell of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnOutcome {
    /// It did what it was for.
    Done,
    /// It ended before that: a limit, a refusal, an end of the server or of the connection.
    Cut,
    /// Something broke.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// What a turn spent. What the engine did not count is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens that the model read.
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub output_tokens: Option<u64>,
    /// All tokens, as the engine sums them up.
    pub total_tokens: Option<u64>,
    /// What that cost.
    pub cost: Option<Cost>,
}

/// The smallest amount that is said as a number.
const LEAST: f64 = 0.0001;

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// ISO 4217.
    pub currency: String,
}

impl Cost {
    /// How much, with no more decimals than a person reads. Agents count in fractions that add up to long ones.
    pub fn amount_in_words(&self) -> String {
        if self.amount > 0.0 && self.amount < LEAST {
            return format!("less than {LEAST}");
        }
        let rounded = format!("{:.4}", self.amount);
        rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl Spent {
    /// What a report tells, and, where it does not, what an earlier one of the same turn told.
    pub fn or(self, earlier: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(earlier.input_tokens),
            output_tokens: self.output_tokens.or(earlier.output_tokens),
            total_tokens: self.total_tokens.or(earlier.total_tokens),
            cost: self.cost.or(earlier.cost),
        }
    }
}

/// What is said of the end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnReport<'a> {
    /// All of it, in one event.
    Whole {
        /// The whole answer.
        answer: Option<&'a str>,
        /// How it ended.
        outcome: TurnOutcome,
        /// One sentence.
        text: Cow<'a, str>,
        /// How loud the chat says it too, once a turn.
        told: Option<NoticeLevel>,
        /// What can be done about it.
        remedy: Box<Remedy>,
        /// What the engine counted.
        details: Option<Value>,
    },
    /// One of several events that tell of the end of one run.
    Part(Box<RunReport>),
}

/// What one of several events adds to the report of a run. `None` fields stay as they were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// The run is over with it.
    pub last: bool,
    /// Whether the run is done.
    pub completed: Option<bool>,
    /// Why it ended.
    pub reason: Option<RunReason>,
    /// The engine's own word for that.
    pub word: Option<String>,
    /// Somebody stopped it.
    pub stopped: Option<bool>,
    /// Steps that it may have at most.
    pub most_steps: Option<u64>,
    /// What went wrong, in one line.
    pub error: Option<String>,
    /// What a client may want to show, under the engine's own names.
    pub details: Map<String, Value>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunReason {
    /// Somebody stopped it.
    Stopped,
    /// It came to its limit of steps.
    StepLimit,
    /// The engine broke.
    Broken,
    /// The agent said that it was done.
    SaidDone,
    /// The model ended, in its own words.
    Model(String),
    /// Another reason, in words.
    Other(String),
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnClosed {
    /// It was cancelled, perhaps before it began.
    pub cancelled: bool,
    /// How it ended, where that is not well.
    pub notice: Option<Notice>,
    /// Why, in the words of `TurnEnd::reason`.
    pub reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d20_an_amount_has_no_more_decimals_than_a_person_reads() {
        for (amount, said) in [
            (0.006_400_000_000_000_001, "0.0064"),
            (0.1 + 0.2, "0.3"),
            (12.345_678, "12.3457"),
            (10.0, "10"),
            (100.5, "100.5"),
            (0.0, "0"),
            (0.000_1, "0.0001"),
            (0.000_099_9, "less than 0.0001"),
            (1e-12, "less than 0.0001"),
        ] {
            let cost = Cost { amount, currency: "USD".to_owned() };
            assert_eq!(cost.amount_in_words(), said, "{amount:?}");
        }
    }
}
