//! A conversation from what was said before: in earlier turns, and in this one by a process that is gone.
//!
//! Owns what of it a model gets again, and in which order. What only another model can read is left out.

use super::compaction::Prompted;
use super::models::{Call, Conversation, Finished};
use super::question::{images, words};
use super::request::{PastModel, PastTurn};
use crate::domain::steps::{Call as SaidCall, Exchange, Part, PausedTurn, SpokenCall, TurnPast};

/// What stands for the answer of a turn that was cut off.
const CUT: &str = "(This turn was cut off here.)";

/// Calls of one reply, and what the model was told of the first of them.
#[derive(Debug, Default)]
pub(crate) struct CallsUnderWay {
    /// The calls.
    pub calls: Vec<Call>,
    /// What it was told.
    pub results: Vec<(Call, String)>,
}

/// Tells the model of the turns before this one.
pub(crate) fn earlier(conversation: &mut Conversation, turns: &[PastTurn], sees: bool) {
    for turn in turns {
        let PastTurn { text, attachments, context, past, model } = turn;
        let TurnPast { summary, exchanges, said } = past;
        let prompted =
            Prompted { words: words(text, attachments, context, sees), images: images(attachments, sees) };
        match summary {
            Some(summary) => conversation.user_shows(&prompted.with_summary(summary), prompted.images),
            None => conversation.user_shows(&prompted.words, prompted.images),
        }
        for Exchange { parts, results } in exchanges {
            let parts = match model {
                PastModel::Same => parts.clone(),
                PastModel::Other => readable(parts),
            };
            let reply = Finished::again(parts);
            conversation.replied(&reply);
            conversation.results(reply.calls.into_iter().zip(results.iter().cloned()).collect());
        }
        conversation.assistant(if said.is_empty() { CUT } else { said });
    }
}

/// What every model can read.
fn readable(parts: &[Part]) -> Vec<Part> {
    let part = |part: &Part| match part {
        Part::Text { text, .. } => Some(Part::Text { text: text.clone(), signature: None }),
        Part::Call(SpokenCall { call: SaidCall { call_id, name, arguments }, .. }) => {
            let call =
                SaidCall { call_id: call_id.clone(), name: name.clone(), arguments: arguments.clone() };
            Some(Part::Call(SpokenCall { call, provider_id: None, signature: None }))
        }
        Part::Thinking { .. } | Part::Redacted { .. } => None,
    };
    parts.iter().filter_map(part).collect()
}

/// What was said with the model in an earlier process. Gives the calls of its last reply.
pub(crate) fn taken_up(
    conversation: &mut Conversation,
    turn: &PausedTurn,
    prompted: &Prompted,
) -> CallsUnderWay {
    if let Some(summary) = &turn.summary {
        conversation.begin_again(prompted.with_summary(summary), prompted.images.clone(), 0);
    }
    let mut under_way = CallsUnderWay::default();
    for exchange in &turn.exchanges {
        if !under_way.calls.is_empty() {
            conversation.results(std::mem::take(&mut under_way).results);
        }
        let reply = Finished::again(exchange.parts.clone());
        conversation.replied(&reply);
        let results = reply.calls.iter().cloned().zip(exchange.results.iter().cloned()).collect();
        under_way = CallsUnderWay { calls: reply.calls, results };
    }
    under_way
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasoning_and_signatures_of_another_model_are_left_out() {
        let call = SaidCall { call_id: "c".to_owned(), name: "outline".to_owned(), arguments: json!({}) };
        let signature = Some("sealed".to_owned());
        let parts = [
            Part::Thinking { text: "hm".to_owned(), signature: signature.clone() },
            Part::Text { text: "Look.".to_owned(), signature: signature.clone() },
            Part::Call(SpokenCall { call: call.clone(), provider_id: Some("p".to_owned()), signature }),
        ];
        assert_eq!(
            readable(&parts),
            [
                Part::Text { text: "Look.".to_owned(), signature: None },
                Part::Call(SpokenCall { call, provider_id: None, signature: None }),
            ]
        );
    }
}
