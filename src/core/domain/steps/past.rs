//! The steps of a turn that is over, folded into what its model hears of it again.
//!
//! Owns what of a turn goes on to be read, whole: replies with their calls, what was told of each. Never cuts anything: what does not
//! fit is the agent's to summarise.

use serde::{Deserialize, Serialize};

use super::reply::Part;
use super::{Exchange, TurnStep};

/// What is told of a call whose turn ended first.
const WITHOUT_RESULT: &str =
    "Error (cancelled): The turn ended before this call had a result; look before you do it again.";

/// A turn that is over, as far as it was told to the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnPast {
    /// What stands for everything before `exchanges`, earlier turns too, where it was summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Replies with calls, and what was told of each call.
    pub exchanges: Vec<Exchange>,
    /// What was said behind them; empty where the turn was cut off.
    pub said: String,
}

impl TurnPast {
    /// A turn of which only its answer is known.
    pub fn answered(said: String) -> Self {
        Self { said, ..Self::default() }
    }

    /// Bytes that go to the model.
    pub fn bytes(&self) -> usize {
        let exchange = |exchange: &Exchange| {
            let parts: usize = exchange.parts.iter().map(Part::bytes).sum();
            parts + exchange.results.iter().map(String::len).sum::<usize>()
        };
        self.said.len()
            + self.summary.as_ref().map_or(0, String::len)
            + self.exchanges.iter().map(exchange).sum::<usize>()
    }
}

/// What is left to be told of a turn with these steps, in the order in which they were taken.
pub fn past(steps: impl IntoIterator<Item = TurnStep>) -> TurnPast {
    let mut turn = TurnPast::default();
    for step in steps {
        match step {
            TurnStep::Replied { parts, .. } => turn.exchanges.push(Exchange { parts, results: Vec::new() }),
            TurnStep::Result { text } => {
                if let Some(exchange) = turn.exchanges.last_mut() {
                    exchange.results.push(text);
                }
            }
            TurnStep::Compacted { summary, kept } => {
                turn.exchanges.drain(..turn.exchanges.len().saturating_sub(kept));
                turn.summary = Some(summary);
            }
            TurnStep::Ended { said } => turn.said.push_str(&said),
            TurnStep::Asked(_) | TurnStep::Performing { .. } => {}
        }
    }
    for exchange in &mut turn.exchanges {
        let calls = exchange.parts.iter().filter(|part| matches!(part, Part::Call(_))).count();
        // More would answer calls that nobody made.
        exchange.results.truncate(calls);
        exchange.results.resize_with(calls, || WITHOUT_RESULT.to_owned());
    }
    turn
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::steps::{Call, SpokenCall};

    fn call(id: &str) -> Part {
        let call = Call { call_id: id.to_owned(), name: "read_file".to_owned(), arguments: json!({}) };
        Part::Call(SpokenCall { call, provider_id: None, signature: None })
    }

    fn replied(calls: &[&str]) -> TurnStep {
        TurnStep::Replied { said: String::new(), parts: calls.iter().map(|id| call(id)).collect() }
    }

    fn result(text: &str) -> TurnStep {
        TurnStep::Result { text: text.to_owned() }
    }

    #[test]
    fn a_turn_that_is_over_is_its_replies_with_a_result_for_each_call_and_its_last_words() {
        // Given a turn that was stopped in its second call
        let steps = [
            replied(&["a"]),
            result("one"),
            replied(&["b", "c"]),
            result("two"),
            TurnStep::Ended { said: "Half".to_owned() },
        ];
        // When it is folded
        let turn = past(steps);
        // Then no call is without a result
        let results: Vec<&[String]> = turn.exchanges.iter().map(|exchange| &*exchange.results).collect();
        assert_eq!(results, [&["one".to_owned()][..], &["two".to_owned(), WITHOUT_RESULT.to_owned()][..]]);
        assert_eq!((turn.said.as_str(), turn.summary), ("Half", None));
    }

    #[test]
    fn a_summary_stands_for_what_was_before_it() {
        let steps = [
            replied(&["a"]),
            result("one"),
            replied(&["b"]),
            result("two"),
            TurnStep::Compacted { summary: "read a".to_owned(), kept: 1 },
            replied(&["c"]),
            result("three"),
        ];
        let turn = past(steps);
        let results: Vec<&str> =
            turn.exchanges.iter().flat_map(|exchange| &exchange.results).map(String::as_str).collect();
        assert_eq!((results, turn.summary.as_deref()), (vec!["two", "three"], Some("read a")));
        assert_eq!(turn.said, "", "it was cut off");
        // And its bytes are counted.
        assert!(turn.bytes() > "read atwothree".len());
    }
}
