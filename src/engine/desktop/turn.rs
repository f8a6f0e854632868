//! Prompts on their way to a host.
//!
//! Owns what goes with one: its context in the words of the seed, and the text of attachments, for which the protocol has no route of
//! its own. A prompt is sent once.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use super::order::LinkOrder;
use super::{DesktopParts, sessions};
use crate::app::inbox::Answer;
use crate::app::ports::{Attachment, EngineReport, Prompt, TurnBegun, TurnFailure};
use crate::domain::dialect::desktop::say::{self, MentionedText};
use crate::domain::remedy::{Retry, RetryWhen};

/// Bytes of one attachment that go along; the rest is said to be left out.
const MOST_BYTES: usize = 256 << 10;

/// Begins a turn.
pub(super) fn start(
    parts: &Arc<DesktopParts>,
    session_id: String,
    begun: TurnBegun,
    looked_at: Option<Answer<()>>,
) {
    let TurnBegun { turn, prompt, model, .. } = begun;
    let parts = Arc::clone(parts);
    let runtime = parts.runtime.clone();
    let placed = parts.links.order(&parts, &session_id, LinkOrder::Begin(turn));
    let message_id = prompt.message_id.clone();
    runtime.spawn(async move {
        if let Some(looked_at) = looked_at {
            // A look that was given up is one that nobody waits for.
            let _ = looked_at.await;
        }
        let made = match placed {
            Ok(()) => made(&parts, model, prompt).await,
            Err(_) => Err("Too much waits in this session; wait a moment and send the prompt again.".into()),
        };
        let failure = match made {
            Ok(text) => {
                match parts.links.order(&parts, &session_id, LinkOrder::Prompt { turn, text, message_id }) {
                    Ok(()) => return,
                    Err(_) => {
                        "Too much waits in this session; wait a moment and send the prompt again.".into()
                    }
                }
            }
            Err(failure) => failure,
        };
        // Its link may be full, and then it has no prompt to send either.
        let _ = parts.links.order(&parts, &session_id, LinkOrder::NotBegun(turn));
        let failure = Some(failure);
        parts.report(EngineReport::TurnEnded { session_id, turn, failure, cancelled: false }).await;
    });
}

/// The message of a prompt.
async fn made(
    parts: &Arc<DesktopParts>,
    model: Option<crate::protocol::settings::ModelSetting>,
    prompt: Prompt,
) -> Result<String, TurnFailure> {
    sessions::follow_model(parts, model).await.map_err(TurnFailure::from)?;
    let Prompt { message_id, text, attachments, context, mode: _ } = prompt;
    let read =
        tokio::task::spawn_blocking(move || attachments.iter().map(read).collect::<Result<Vec<_>, _>>());
    let mut texts = read
        .await
        .unwrap_or_else(|_| Err("The attachments could not be read".to_owned()))
        .map_err(|why| {
            TurnFailure::new(
                format!("{why}, so the prompt was not sent; leave it out and send the prompt again."),
                Retry::not_taken(RetryWhen::Changed),
            )
        })?;
    // What the shape of the seed has no place for: the text of what the prompt is about.
    texts.extend(context.items.iter().filter_map(|item| {
        let text = item.text.clone().filter(|_| item.uri.is_some())?;
        Some(MentionedText { name: item.label.clone(), text, truncated: item.is_part })
    }));
    Ok(say::user_message(&text, &message_id, &context.shape, &texts))
}

/// An attachment as text. Blocking. An error is the beginning of a sentence.
fn read(attachment: &Attachment) -> Result<MentionedText, String> {
    let name = attachment.name.clone();
    let no_text = || format!("A desktop host takes text only, and `{name}` is none");
    let mut bytes = Vec::new();
    let file = File::open(&attachment.path).map_err(|_| format!("`{name}` cannot be read any more"))?;
    file.take(MOST_BYTES as u64).read_to_end(&mut bytes).map_err(|_| format!("`{name}` cannot be read"))?;
    let truncated = attachment.bytes > bytes.len() as u64;
    let valid = match std::str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        // A character that the limit cut in two is no sign of another encoding.
        Err(error) if error.error_len().is_none() && truncated => error.valid_up_to(),
        Err(_) => return Err(no_text()),
    };
    bytes.truncate(valid);
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(no_text)?;
    Ok(MentionedText { name, text, truncated })
}
