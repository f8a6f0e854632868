//! The question whether a turn goes on past its budget.
//!
//! Owns its words and what an answer comes to. What is used up is `budget`'s to know.

use serde_json::{Map, json};

use super::ports::Answer;
use super::turn_output::TurnOutput;
use crate::domain::dialect::desktop::message::{RiskLevel, ServerMessage};
use crate::domain::steps::EffectAsked;

/// Name of the request, as its card shows it.
const ASK: &str = "continue_turn";

/// Asks whether the turn goes on; gives the answer.
pub(crate) async fn may_go_on(voice: &mut TurnOutput<'_>, used: &str) -> bool {
    let port = voice.port();
    // Nobody could allow it.
    if !port.workspace().trusted {
        return false;
    }
    let reason =
        format!("This turn has taken {used}. It goes on for as long again, or ends here with what is done.");
    let args = Map::from_iter([("reason".to_owned(), json!(reason))]);
    let call_id = voice.tool_started(ASK, args.clone()).await;
    let request_id = port.fresh_id();
    voice.step_asked(&request_id, EffectAsked::GoOn { budget: used.to_owned() }).await;
    let ask = ServerMessage::ToolRequestApproval {
        request_id: request_id.clone(),
        tool_name: ASK.to_owned(),
        args,
        risk_level: RiskLevel::Low,
        call_id: Some(call_id.clone()),
        served_by: None,
    };
    voice.say(ask).await;
    let answer = port.answer(&request_id).await;
    answered(voice, &call_id, &answer).await
}

/// The answer is there; gives whether the turn goes on.
pub(crate) async fn answered(voice: &mut TurnOutput<'_>, call_id: &str, answer: &Answer) -> bool {
    let goes_on = *answer == Answer::Allowed;
    let said = if goes_on { "The turn goes on." } else { "The turn ends here." };
    voice.tool_ended(call_id, Ok(json!({ "summary": said, "text": "" }))).await;
    voice.settled().await;
    if goes_on {
        voice.raise_budget();
    }
    goes_on
}

/// What is said at the end of a turn that does not go on.
pub(crate) fn last_words(used: &str) -> String {
    format!("I stopped after {used}, which is what a turn may take. Say that I should go on, and I will.")
}
