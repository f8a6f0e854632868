//! What is said to a model and what comes back, in our own words.
//!
//! Owns the order of a conversation. The dialects translate it; it never sends.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use crate::domain::steps::{Call, Part, SpokenCall};

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it does and when to use it.
    pub description: Cow<'static, str>,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// A piece of a reply.
#[derive(Debug)]
pub(crate) enum Delta {
    /// Text of the answer.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// The reply is complete; the last piece.
    Finished(Finished),
}

/// A complete reply.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Tools the model wants to be called.
    pub calls: Vec<Call>,
    /// Tokens in and out, as the provider counted them.
    pub tokens_used: u64,
    /// Why the provider ended the reply before the model did, as a sentence.
    pub ended_early: Option<&'static str>,
    /// All of it, in order, for the way back.
    pub(super) parts: Arc<[Part]>,
    /// Bytes that `parts` hold.
    pub(super) bytes: usize,
}

impl Finished {
    /// A reply that came in an earlier process.
    pub(crate) fn again(parts: Vec<Part>) -> Self {
        Self {
            calls: calls_of(&parts).map(|spoken| spoken.call.clone()).collect(),
            bytes: parts.iter().map(Part::bytes).sum(),
            parts: parts.into(),
            ..Self::default()
        }
    }

    /// All of it, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.parts.to_vec()
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    /// Pairs it with the call.
    pub call_id: String,
    /// The id that the provider gave the call.
    pub provider_id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// What the model is told.
    pub text: String,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// Of the user.
    User(String),
    /// Of the model.
    Model(Arc<[Part]>),
    /// Of the tools, in the order of the calls.
    Results(Vec<ToolResult>),
}

/// The conversation of one turn.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    /// The rules.
    pub(super) system: String,
    /// The tools that are offered.
    pub(super) tools: Vec<ToolSpec>,
    /// What was said, oldest first.
    pub(super) messages: Vec<Message>,
    /// Bytes of this turn's replies.
    pub(super) replied_bytes: usize,
}

impl Conversation {
    /// A conversation with these rules and tools.
    pub(crate) fn new(system: &str, tools: &[ToolSpec]) -> Self {
        Self { system: system.to_owned(), tools: tools.to_vec(), messages: Vec::new(), replied_bytes: 0 }
    }

    /// The user speaks.
    pub(crate) fn user(&mut self, text: &str) {
        self.messages.push(Message::User(text.to_owned()));
    }

    /// What the model said in an earlier turn.
    pub(crate) fn assistant(&mut self, text: &str) {
        self.messages.push(Message::Model([Part::Text { text: text.to_owned(), signature: None }].into()));
    }

    /// What the model said in this turn, with its tool calls.
    pub(crate) fn replied(&mut self, reply: &Finished) {
        self.replied_bytes = self.replied_bytes.saturating_add(reply.bytes);
        self.messages.push(Message::Model(Arc::clone(&reply.parts)));
    }

    /// Results of tools, in the order of the calls.
    pub(crate) fn results(&mut self, results: Vec<(Call, String)>) {
        let spoken: Vec<&SpokenCall> = match self.messages.last() {
            Some(Message::Model(parts)) => parts
                .iter()
                .filter_map(|part| match part {
                    Part::Call(spoken) => Some(spoken),
                    Part::Text { .. } | Part::Thinking { .. } | Part::Redacted { .. } => None,
                })
                .collect(),
            Some(Message::User(_) | Message::Results(_)) | None => Vec::new(),
        };
        let results = results
            .into_iter()
            .enumerate()
            .map(|(place, (call, text))| ToolResult {
                provider_id: spoken.get(place).and_then(|spoken| spoken.provider_id.clone()),
                call_id: call.call_id,
                name: call.name,
                text,
            })
            .collect();
        self.messages.push(Message::Results(results));
    }
}

/// The text of a reply, without its reasoning and calls.
pub(super) fn text_of(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Thinking { .. } | Part::Redacted { .. } | Part::Call(_) => None,
        })
        .collect()
}

/// The reasoning of a reply.
pub(super) fn thinking_of(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } => Some(text.as_str()),
            Part::Text { .. } | Part::Redacted { .. } | Part::Call(_) => None,
        })
        .collect()
}

/// The calls of a reply.
pub(super) fn calls_of(parts: &[Part]) -> impl Iterator<Item = &SpokenCall> {
    parts.iter().filter_map(|part| match part {
        Part::Call(spoken) => Some(spoken),
        Part::Text { .. } | Part::Thinking { .. } | Part::Redacted { .. } => None,
    })
}
