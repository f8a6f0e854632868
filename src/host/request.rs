//! What one turn is given: the question, what was said before, what is attached, which model.

use super::models::{ModelClient, ModelError, Target, Token};

/// Bytes of one attachment that a model gets.
pub(crate) const ATTACHMENT_LIMIT: usize = 64 * 1024;

/// One turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnRequest {
    /// What the user typed.
    pub text: String,
    /// Earlier turns, oldest first: what the user said and what was answered.
    pub history: Vec<(String, String)>,
    /// Attachments.
    pub attachments: Vec<Attached>,
    /// The model; `None` when none is configured, an error when it cannot be used.
    pub model: Option<Result<ModelInUse, ModelError>>,
}

/// One attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Name of the file.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Its text, cut to `ATTACHMENT_LIMIT`; `None` when it is no text.
    pub text: Option<String>,
}

/// A model ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct ModelInUse {
    /// The way out.
    pub client: ModelClient,
    /// Where.
    pub target: Target,
    /// With which token.
    pub token: Option<Token>,
}
