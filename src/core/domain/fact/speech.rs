//! What is said: prompts, by who tells of them, and the words of the assistant.
//!
//! Owns which text a piece belongs to and how much of it the piece is. Never joins pieces: the reducer does.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::context::item::ContextChip;

/// A folder of the workspace as a prompt was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFolder {
    /// Where it is.
    pub path: String,
    /// Its name, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A prompt, by who tells of it.
#[derive(Debug, PartialEq)]
pub enum Prompt<'a> {
    /// Ours, as it goes to the engine.
    Sent {
        /// Its words.
        text: &'a str,
        /// The client's id of it.
        message_id: Option<&'a str>,
        /// What goes with it.
        attachment_ids: Vec<String>,
        /// Who answers it.
        engine: Option<&'a str>,
        /// With which model.
        model: Option<&'a str>,
        /// The folders of the workspace, where its engine names files by their whole paths.
        folders: Vec<PromptFolder>,
        /// Whether an event of its own tells what goes with it.
        has_context: bool,
    },
    /// What goes with the prompt that was told last, beside its words.
    Context {
        /// Each thing of it.
        chips: Vec<ContextChip>,
        /// What was left out and why.
        notes: Vec<String>,
    },
    /// The engine tells of a prompt that it took, ours or another client's.
    Echo {
        /// Its words, where there are any.
        words: Option<Cow<'a, str>>,
        /// One line of what the engine tells its model under the type of a prompt.
        remark: Option<String>,
    },
    /// A piece of a prompt of a history that is told again.
    History {
        /// The engine's id of the message, as key.
        id: Option<String>,
        /// Its words; none in a piece without content.
        words: Option<Cow<'a, str>>,
    },
}

/// Whose words a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Voice {
    /// The answer.
    Answer,
    /// Reasoning, or what the agent is busy with.
    Reasoning,
}

/// Words of the assistant.
#[derive(Debug, PartialEq)]
pub struct Text<'a> {
    /// Whether they are an answer or reasoning.
    pub voice: Voice,
    /// Which text they belong to.
    pub of: TextOf<'a>,
    /// How much of it.
    pub part: TextPart<'a>,
}

/// Which text a piece belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum TextOf<'a> {
    /// The turn has one answer, and reasoning beside it.
    Turn {
        /// What the reasoning is about.
        phase: &'a str,
    },
    /// A message of its stream, by id or what is open in this step. Several may be open, and the whole may follow.
    Message {
        /// The engine's id.
        id: Option<Cow<'a, str>>,
        /// Which of the streams of this voice it belongs to. Texts of two streams are never one text.
        stream: &'static str,
    },
    /// A message by id, or the run of pieces that is not interrupted. One is open at a time, and no whole follows.
    Run(Option<Cow<'a, str>>),
}

/// How much of a text an event has.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart<'a> {
    /// It begins.
    Start,
    /// A piece.
    Piece(Cow<'a, str>),
    /// It has no more pieces.
    End,
    /// All of it.
    Whole {
        /// All of it.
        text: Cow<'a, str>,
        /// The engine made it from what it may have said already.
        again: bool,
    },
}
