//! What is taken as a prompt, and the refusals of what is not.
//!
//! Owns the limits on the text of a prompt. Never looks at a session: whether one may be prompted now is `prompts`.

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::engine_prompt::sendable;
use crate::protocol::settings::EngineKind;

/// Bytes of one prompt. Larger things are attachments.
const PROMPT_BYTES: usize = 1 << 20;

/// Whether an engine of this kind would take this text for what it is, whatever came before it. What depends on earlier
/// prompts is seen to when the prompt goes out.
pub(super) fn is_taken_as_typed(engine: EngineKind, text: &str) -> Result<(), CodedError> {
    match (engine, sendable(text, 0, std::iter::empty())) {
        (EngineKind::Breadboard, Err(refused)) => {
            Err(CodedError::new(ErrorCode::InvalidParams, refused.reason()))
        }
        (EngineKind::Embedded | EngineKind::Breadboard | EngineKind::Desktop | EngineKind::Acp, _) => Ok(()),
    }
}

/// A prompt is text that a person could have typed.
pub(super) fn fits_a_prompt(text: &str) -> Result<(), CodedError> {
    if text.len() <= PROMPT_BYTES {
        return Ok(());
    }
    Err(CodedError::new(
        ErrorCode::TooLarge,
        format!(
            "The prompt has {} bytes and at most {PROMPT_BYTES} are taken; attach it as a file.",
            text.len()
        ),
    ))
}

/// No room in the queue.
pub(super) fn queue_full() -> CodedError {
    CodedError::new(
        ErrorCode::Overloaded,
        "The queue of this session is full; wait for a turn to end or remove a prompt.",
    )
}
