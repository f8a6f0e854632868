//! Why a turn ended, in the protocol's words.
//!
//! Owns which of its five words an end comes to.

use serde_json::{Value, json};

use crate::domain::fact::TurnOutcome;

/// The answer to a prompt whose turn was stopped.
pub fn cancelled() -> Value {
    json!({ "stopReason": "cancelled" })
}

/// The answer to a prompt. `reason` is the engine's own word for its end. `None`: the turn failed, which the protocol says by an
/// error and not by a word.
pub fn answer(outcome: TurnOutcome, reason: Option<&str>) -> Option<Value> {
    let word = match (outcome, reason) {
        (TurnOutcome::Failed, _) => return None,
        (TurnOutcome::Stopped, _) => return Some(cancelled()),
        (TurnOutcome::Cut, Some("max_tokens" | "length")) => "max_tokens",
        (TurnOutcome::Cut, Some("refusal")) => "refusal",
        (TurnOutcome::Cut, Some("max_turn_requests" | "step_limit" | "max_steps")) => "max_turn_requests",
        (TurnOutcome::Done | TurnOutcome::Cut, _) => "end_turn",
    };
    Some(json!({ "stopReason": word }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_one_of_the_five_words_and_a_failure_is_none() {
        let word = |outcome, reason| Some(answer(outcome, reason)?["stopReason"].as_str()?.to_owned());
        let rows = [
            (TurnOutcome::Done, Some("end_turn"), Some("end_turn")),
            (TurnOutcome::Cut, Some("max_tokens"), Some("max_tokens")),
            (TurnOutcome::Cut, Some("refusal"), Some("refusal")),
            (TurnOutcome::Cut, Some("a word of its own"), Some("end_turn")),
            (TurnOutcome::Stopped, None, Some("cancelled")),
            (TurnOutcome::Failed, Some("failed"), None),
        ];
        for (outcome, reason, wanted) in rows {
            assert_eq!(word(outcome, reason).as_deref(), wanted, "{outcome:?} {reason:?}");
        }
    }
}
