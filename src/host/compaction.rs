//! A conversation that comes close to what its model reads at once goes on from a summary of it.
//!
//! Owns when that is, what the model is asked for, and what stands in the place of what was said. The user hears of it; the chat and
//! the journal keep everything.

use super::models::{Conversation, Delta, Image, ModelError, ReplyUsage};
use super::request::ModelInUse;
use super::tools;
use super::turn_output::{SentenceLevel, TurnOutput};
use crate::domain::steps::TurnStep;

/// Of what a model reads at once, the part that is filled before a summary is made: the rest is for its reply, and for the summary.
const FULL: (u64, u64) = (3, 4);

/// Bytes of text that are a token, at least: code has about 3.5, other languages than English fewer.
const BYTES_A_TOKEN: u64 = 3;

/// Bytes of a summary that are kept.
const SUMMARY: usize = 32 * 1024;

/// Bytes that are left of results that do not fit.
const SHORT: usize = 1_024;

const QUESTION: &str = "The conversation is close to what you can read at once, so it goes on from a summary that you write now, and \
    everything before this message is gone for you then. Call no tool. Write down, briefly and completely: what the user wants, word by \
    word where wording matters; what was decided and why; which files were read or changed and what matters in them, with paths, names \
    and line numbers; which commands were run and what came of them; what is done; what comes next. Write only the summary.";

/// What stands before the plan in a summary.
const PLAN: &str = "The plan that the user sees, as it stood:\n";

/// How full a conversation is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fill {
    /// Tokens of the last question, as the provider counted them, and the bytes that it had.
    counted: Option<(u64, usize)>,
}

impl Fill {
    /// A reply came to a conversation of `bytes`.
    pub(crate) fn replied(&mut self, usage: ReplyUsage, bytes: usize) {
        // Some count only what was not in their cache.
        let plausible = usage.input > bytes as u64 / 16;
        self.counted = Some((usage.input, bytes)).filter(|_| plausible);
    }

    /// Tokens that the conversation has, about.
    pub(crate) fn tokens(&self, conversation: &Conversation) -> u64 {
        let bytes = conversation.bytes();
        match self.counted {
            Some((tokens, then)) => tokens.saturating_add(bytes.saturating_sub(then) as u64 / BYTES_A_TOKEN),
            None => bytes as u64 / BYTES_A_TOKEN,
        }
    }

    /// Whether a summary is due.
    pub(crate) fn is_full(&self, conversation: &Conversation, window: u64) -> bool {
        self.tokens(conversation) > window / FULL.1 * FULL.0
    }

    fn forget(&mut self) {
        self.counted = None;
    }
}

/// What of the conversation stands on: the prompt of this turn.
pub(crate) struct Prompted {
    /// Its words.
    pub words: String,
    /// What is seen of it.
    pub images: Vec<Image>,
}

impl Prompted {
    /// The words behind which a conversation goes on from a summary.
    pub(crate) fn with_summary(&self, summary: &str) -> String {
        format!(
            "{}\n\n(What was said and done before, in a summary that you wrote, since the whole of it was too long:)\n\n{summary}",
            self.words
        )
    }
}

/// Puts a summary in the place of what was said. Where the model does not write one, results of tools are cut instead.
pub(crate) async fn compact(
    voice: &mut TurnOutput<'_>,
    model: &ModelInUse,
    conversation: &mut Conversation,
    prompted: &Prompted,
    fill: &mut Fill,
) {
    let window = model.tuning.window;
    let filled = fill.tokens(conversation).saturating_mul(100) / window.max(1);
    let bytes = usize::try_from(window / FULL.1 * FULL.0 * BYTES_A_TOKEN).unwrap_or(usize::MAX);
    let mut asked = conversation.clone();
    asked.shorten_results(SHORT, bytes);
    asked.user(QUESTION);
    let summary = match summary(voice, model, &asked).await {
        Ok(summary) => with_plan(summary, conversation),
        Err(error) => {
            conversation.shorten_results(SHORT, bytes / 2);
            fill.forget();
            let text = format!(
                "This conversation is too long for `{}`, and it wrote no summary of it ({}). The oldest results of tools were cut for \
                 it instead; the chat keeps all of them.",
                model.target.name,
                error.message.trim_end_matches('.')
            );
            return voice.notice(SentenceLevel::Warning, text).await;
        }
    };
    // The newest results have not been read yet, unless they alone would fill a good part of it again.
    let kept = usize::from(conversation.last_exchange_bytes().is_some_and(|newest| newest <= bytes / 3));
    conversation.begin_again(prompted.with_summary(&summary), prompted.images.clone(), kept);
    fill.forget();
    voice.step(TurnStep::Compacted { summary, kept }).await;
    let text = format!(
        "This conversation had filled {filled} % of what `{}` reads at once, so it goes on from a summary of it; the chat keeps all \
         that was said.",
        model.target.name
    );
    voice.notice(SentenceLevel::Info, text).await;
}

/// A summary with the plan that stood before it, word by word: what the user sees of it goes on to count.
fn with_plan(summary: String, conversation: &Conversation) -> String {
    let called = conversation.last_call(tools::PLAN).and_then(|call| tools::plan_in_words(&call.arguments));
    let before = || Some(conversation.last_words_behind(PLAN)?.to_owned());
    match called.or_else(before) {
        Some(plan) => format!("{summary}\n\n{PLAN}{plan}"),
        None => summary,
    }
}

async fn summary(
    voice: &mut TurnOutput<'_>,
    model: &ModelInUse,
    asked: &Conversation,
) -> Result<String, ModelError> {
    let mut stream = model.client.stream(&model.target, model.token.as_ref(), asked).await?;
    let mut text = String::new();
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Reasoning(_) => {}
            Delta::Finished(finished) => {
                voice.count(model, &finished);
                if text.trim().is_empty() {
                    return Err(ModelError::passing("it answered nothing".to_owned()));
                }
                text.truncate(text.floor_char_boundary(SUMMARY));
                return Ok(text);
            }
        }
    }
    Err(ModelError::cut(&model.target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fullness_is_what_the_provider_counted_and_what_came_since() {
        let mut conversation = Conversation::new("", &[]);
        conversation.user(&"x".repeat(3_000));
        let mut fill = Fill::default();
        assert_eq!(fill.tokens(&conversation), 1_000);
        fill.replied(ReplyUsage { input: 700, ..ReplyUsage::default() }, conversation.bytes());
        conversation.user(&"x".repeat(300));
        assert_eq!(fill.tokens(&conversation), 800);
        assert!(fill.is_full(&conversation, 1_000) && !fill.is_full(&conversation, 1_200));
        // And a count that cannot be is none
        fill.replied(ReplyUsage { input: 3, ..ReplyUsage::default() }, conversation.bytes());
        assert_eq!(fill.tokens(&conversation), 1_100);
    }
}
