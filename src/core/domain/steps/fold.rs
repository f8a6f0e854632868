//! The steps of a turn, folded into what is left of it.

use super::{AskedStep, Exchange, LeftTurn, PausedTurn, TurnStep};

/// How the call that came last stands.
enum LastCall {
    /// None is open that asked.
    Settled,
    Asking(AskedStep),
    Performing(AskedStep),
}

/// What is left of a turn with these steps, in the order in which they were taken.
pub fn fold(steps: impl IntoIterator<Item = TurnStep>) -> LeftTurn {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut summary = None;
    let mut said = String::new();
    let mut last = LastCall::Settled;
    for step in steps {
        match step {
            TurnStep::Replied { said: more, parts } => {
                said.push_str(&more);
                exchanges.push(Exchange { parts, results: Vec::new() });
                last = LastCall::Settled;
            }
            TurnStep::Asked(asked) => {
                said.push_str(&asked.said);
                last = LastCall::Asking(*asked);
            }
            TurnStep::Performing { request_id } => {
                last = match last {
                    LastCall::Asking(asked) if asked.request_id == request_id => LastCall::Performing(asked),
                    last @ (LastCall::Settled | LastCall::Asking(_) | LastCall::Performing(_)) => last,
                };
            }
            TurnStep::Result { text } => {
                if let Some(exchange) = exchanges.last_mut() {
                    exchange.results.push(text);
                }
                last = LastCall::Settled;
            }
            TurnStep::Compacted { summary: words, kept } => {
                exchanges.drain(..exchanges.len().saturating_sub(kept));
                summary = Some(words);
            }
            // It says nothing about what had begun.
            TurnStep::Ended { .. } => {}
        }
    }
    match last {
        LastCall::Settled => LeftTurn::Between,
        LastCall::Asking(asked) => LeftTurn::Asking(Box::new(PausedTurn { summary, exchanges, said, asked })),
        LastCall::Performing(asked) => LeftTurn::Unfinished(asked.effect),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::domain::steps::{Call, CallInOutput, EffectAsked, Part, SpokenCall, Tally};

    fn replied(said: &str, tools: &[&str]) -> TurnStep {
        let call = |name: &&str| {
            Part::Call(SpokenCall {
                call: Call { call_id: format!("c-{name}"), name: (*name).to_owned(), arguments: json!({}) },
                provider_id: None,
                signature: Some("signed".to_owned()),
            })
        };
        let text = Part::Text { text: said.to_owned(), signature: None };
        TurnStep::Replied {
            said: said.to_owned(),
            parts: [text].into_iter().chain(tools.iter().map(call)).collect(),
        }
    }

    fn effect() -> EffectAsked {
        EffectAsked::Command {
            command: "make".to_owned(),
            cwd: ".".to_owned(),
            hash: "sha256:m".to_owned(),
            background: None,
        }
    }

    fn asked(request_id: &str, said: &str) -> AskedStep {
        AskedStep {
            request_id: request_id.to_owned(),
            effect: effect(),
            call: CallInOutput {
                call_id: "out".to_owned(),
                tool_name: "run_command".to_owned(),
                args: Map::new(),
            },
            said: said.to_owned(),
            tally: Tally::default(),
        }
    }

    fn result(text: &str) -> TurnStep {
        TurnStep::Result { text: text.to_owned() }
    }

    fn performing(request_id: &str) -> TurnStep {
        TurnStep::Performing { request_id: request_id.to_owned() }
    }

    #[test]
    fn r001_68_a_turn_that_asks_is_all_that_was_said_up_to_its_question() {
        // Given a turn that looked, ran one command, and asks for another
        let steps = vec![
            replied("Let me see.", &["read_file", "run_command"]),
            result("one"),
            TurnStep::Asked(Box::new(asked("r1", ""))),
            performing("r1"),
            result("made"),
            replied("\n\nAgain.", &["run_command"]),
            TurnStep::Asked(Box::new(asked("r2", "!"))),
        ];
        // When it is folded, also after its way to the disk and back
        let back: Vec<TurnStep> = serde_json::from_value(serde_json::to_value(&steps).unwrap()).unwrap();
        assert_eq!(back, steps);
        let LeftTurn::Asking(paused) = fold(back) else { panic!("it does not ask") };
        // Then everything stands in its order
        assert_eq!(paused.said, "Let me see.\n\nAgain.!");
        assert_eq!(paused.asked, asked("r2", "!"));
        let results: Vec<&[String]> =
            paused.exchanges.iter().map(|exchange| exchange.results.as_slice()).collect();
        assert_eq!(results, [&["one".to_owned(), "made".to_owned()][..], &[][..]]);
    }

    #[test]
    fn what_had_begun_is_unfinished_until_its_result_is_there() {
        let begun = || vec![replied("", &["run_command"]), TurnStep::Asked(Box::new(asked("r1", "")))];
        let with = |more: Vec<TurnStep>| fold(begun().into_iter().chain(more));
        assert!(matches!(with(Vec::new()), LeftTurn::Asking(_)));
        assert_eq!(with(vec![performing("r1")]), LeftTurn::Unfinished(effect()));
        assert_eq!(with(vec![performing("r1"), result("made")]), LeftTurn::Between);
        // Another request's is none of it
        assert!(matches!(with(vec![performing("r0")]), LeftTurn::Asking(_)));
    }

    #[test]
    fn a_turn_in_which_nothing_asks_is_between_its_steps() {
        assert_eq!(fold(Vec::new()), LeftTurn::Between);
        assert_eq!(fold(vec![replied("", &["read_file"])]), LeftTurn::Between);
        assert_eq!(fold(vec![replied("", &["read_file"]), result("one")]), LeftTurn::Between);
    }
}
