//! What one turn is given: the question, what was said before, what is attached, which model.

use super::budget::TurnBudget;
use super::models::{Image, ModelClient, ModelError, Target, Token, Tuning};
use super::ports::Answer;
use crate::domain::agent_mode::AgentMode;
use crate::domain::context::item::PromptContext;
use crate::domain::steps::{EffectAsked, PausedTurn, TurnPast};

/// Bytes of one attachment that a model gets.
pub(crate) const ATTACHMENT_LIMIT: usize = 64 * 1024;

/// One turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnRequest {
    /// What the user typed.
    pub text: String,
    /// Earlier turns, oldest first.
    pub earlier: Vec<PastTurn>,
    /// Attachments.
    pub attachments: Vec<Attached>,
    /// What goes with the question beside them.
    pub context: PromptContext,
    /// The model; `None` when none is configured, an error when it cannot be used.
    pub model: Option<Result<ModelInUse, ModelError>>,
    /// Whether an answer without a model says that there is none.
    pub no_model: NoModel,
    /// Where it goes on, if an earlier process began it.
    pub goes_on: Option<GoesOn>,
    /// How far it goes before it asks.
    pub budget: TurnBudget,
    /// What it may do.
    pub mode: AgentMode,
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub(crate) struct PastTurn {
    /// What the user typed.
    pub text: String,
    /// What was attached.
    pub attachments: Vec<Attached>,
    /// What went with it.
    pub context: PromptContext,
    /// What was said in it.
    pub past: TurnPast,
    /// Who answered.
    pub model: PastModel,
}

/// Who answered in a turn that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastModel {
    /// The model that answers now, which can read what it kept to itself.
    Same,
    /// Another one, or none.
    Other,
}

/// That a session has no model is said once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NoModel {
    /// This process has not said it, or there was a model since.
    #[default]
    Unsaid,
    /// It was said.
    Said,
}

/// A turn that waited for an answer, and the answer.
#[derive(Debug, Clone)]
pub(crate) struct GoesOn {
    /// How far it had come.
    pub from: PausedTurn,
    /// What was answered.
    pub answer: Answer,
}

impl GoesOn {
    /// The question that waited, with its answer.
    pub(crate) fn answered(&self) -> AnsweredAsk {
        let asked = &self.from.asked;
        AnsweredAsk {
            request_id: asked.request_id.clone(),
            effect: asked.effect.clone(),
            answer: self.answer.clone(),
        }
    }
}

/// What an earlier process asked, and what was answered since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnsweredAsk {
    /// Id of the request.
    pub request_id: String,
    /// What was shown.
    pub effect: EffectAsked,
    /// What was answered.
    pub answer: Answer,
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
    /// What is to be seen; `None` when it is no image that models see, or too large.
    pub image: Option<Image>,
}

/// A model ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct ModelInUse {
    /// The way out.
    pub client: ModelClient,
    /// Endpoint that is asked.
    pub target: Target,
    /// With which token.
    pub token: Option<Token>,
    /// How it is to answer, and what it can.
    pub tuning: Tuning,
}
