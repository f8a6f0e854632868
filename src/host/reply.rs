//! One reply of a model, streamed to the user as it comes; in the middle of a turn asked for again where nothing of the question
//! was taken.
//!
//! Owns how often and how long is waited. Never asks again once a piece of the reply came: it would be paid for twice.

use std::time::Duration;

use super::models::{Conversation, Delta, Finished, ModelError, TextCalls};
use super::request::ModelInUse;
use super::turn_output::{SentenceLevel, TurnOutput};
use crate::domain::dialect::desktop::message::{ServerMessage, ThinkingPhase};
use crate::domain::remedy::{PromptTaken, RetryWhen};
use crate::http::in_words;

/// Bytes of the answer; a model that goes on is stopped.
const ANSWER_LIMIT: usize = 1 << 20;

/// Bytes of reasoning in one reply.
const REASONING_LIMIT: usize = 1 << 20;

/// How often the same is asked again.
const AGAIN: u32 = 3;

/// How long is waited at most for an endpoint that says how long. Limits are counted by the minute.
const PATIENCE: Duration = Duration::from_secs(75);

/// Whether the model has replied in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnMoment {
    /// It has not.
    First,
    /// It has, and what its replies led to was done.
    Later,
}

/// One reply.
///
/// # Errors
/// In one sentence: what went wrong last.
pub(crate) async fn reply(
    voice: &mut TurnOutput<'_>,
    model: &ModelInUse,
    conversation: &Conversation,
    moment: TurnMoment,
) -> Result<Finished, ModelError> {
    let mut tried = 0;
    loop {
        let error = match model.client.stream(&model.target, model.token.as_ref(), conversation).await {
            Ok(mut stream) => return read(voice, model, conversation, &mut stream).await,
            Err(error) => error,
        };
        let wait = wait(&error, model, tried, moment);
        let Some(wait) = wait.filter(|_| tried < AGAIN) else { return Err(error) };
        tried += 1;
        let text = format!("{} It is asked again in {}.", without_advice(&error.message), in_words(wait));
        voice.notice(SentenceLevel::Info, text).await;
        tokio::time::sleep(wait).await;
    }
}

/// How long is waited before the same is asked again; `None`: it is not.
fn wait(error: &ModelError, model: &ModelInUse, tried: u32, moment: TurnMoment) -> Option<Duration> {
    // The first question of a turn is the prompt, which whoever sent it can send again (decision 0018).
    let is_later = moment == TurnMoment::Later;
    // What is not there on this machine does not start by itself.
    let is_answer = error.status.is_some() || !model.target.is_loopback();
    if error.retry.taken != PromptTaken::No
        || error.retry.when != RetryWhen::Later
        || !(is_later && is_answer)
    {
        return None;
    }
    let own = model.client.backoff() * 2u32.pow(tried);
    let wait = error.retry.after_ms.map_or(own, Duration::from_millis);
    Some(wait).filter(|wait| *wait <= PATIENCE)
}

/// What happened, without what the user could do about it.
fn without_advice(message: &str) -> String {
    let what = message.split_once(';').map_or(message, |(what, _)| what);
    format!("{}.", what.trim_end_matches('.'))
}

async fn read(
    voice: &mut TurnOutput<'_>,
    model: &ModelInUse,
    conversation: &Conversation,
    stream: &mut super::models::client::ReplyStream,
) -> Result<Finished, ModelError> {
    let mut text_calls = TextCalls::of(conversation.tool_names());
    let mut first = true;
    let mut reasoned = 0usize;
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(text) => {
                let text = text_calls.piece(text);
                say(voice, text, &mut first).await?;
            }
            Delta::Reasoning(text) => {
                reasoned += text.len();
                if reasoned <= REASONING_LIMIT {
                    voice
                        .say(ServerMessage::Thinking { phase: ThinkingPhase::Planning, message: text })
                        .await;
                }
            }
            Delta::Finished(finished) => {
                let (text, finished) = text_calls.finish(finished);
                say(voice, text, &mut first).await?;
                return Ok(finished);
            }
        }
    }
    Err(ModelError::cut(&model.target))
}

async fn say(voice: &mut TurnOutput<'_>, text: String, first: &mut bool) -> Result<(), ModelError> {
    if text.is_empty() {
        return Ok(());
    }
    if voice.text().len() + text.len() > ANSWER_LIMIT {
        return Err(ModelError::passing(
            "The model's answer grew past 1 MiB and was stopped; ask for less at a time.".to_owned(),
        ));
    }
    // Text of two steps must not run together.
    let gap = if std::mem::take(first) { gap(voice.text()) } else { "" };
    voice.token(if gap.is_empty() { text } else { format!("{gap}{text}") }).await;
    Ok(())
}

/// What stands between a text and the next one.
pub(crate) fn gap(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    }
}
