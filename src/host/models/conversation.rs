//! What is said to a model and what comes back, in our own words.
//!
//! Owns the order of a conversation. The dialects translate it; it never sends.

use std::sync::Arc;

use serde_json::Value;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// One call of a tool by the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Pairs the result with the call.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments; a string when they are no JSON.
    pub arguments: Value,
}

impl Call {
    /// The arguments as JSON text, an empty object where there are none.
    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        }
    }

    /// The arguments as an object; an empty one where they are none, for providers that take nothing else.
    pub(crate) fn arguments_object(&self) -> Value {
        match &self.arguments {
            Value::Object(_) => self.arguments.clone(),
            _ => Value::Object(serde_json::Map::new()),
        }
    }
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

/// A part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// Text, with the signature that must go back with it.
    Text {
        /// The text.
        text: String,
        /// The provider's signature.
        signature: Option<String>,
    },
    /// Reasoning, with the signature without which the provider does not take it back.
    Thinking {
        /// The reasoning, or nothing where the provider keeps it to itself.
        text: String,
        /// The provider's signature, or the encrypted reasoning.
        signature: Option<String>,
    },
    /// Reasoning that only the provider can read.
    Redacted(String),
    /// A call.
    Call(SpokenCall),
}

/// A call as the provider wants to see it again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpokenCall {
    /// The call.
    pub call: Call,
    /// The id that the provider gave it; `None` where its id is our own.
    pub provider_id: Option<String>,
    /// What must go back with it.
    pub signature: Option<String>,
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
                    Part::Text { .. } | Part::Thinking { .. } | Part::Redacted(_) => None,
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
            Part::Thinking { .. } | Part::Redacted(_) | Part::Call(_) => None,
        })
        .collect()
}

/// The reasoning of a reply.
pub(super) fn thinking_of(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } => Some(text.as_str()),
            Part::Text { .. } | Part::Redacted(_) | Part::Call(_) => None,
        })
        .collect()
}

/// The calls of a reply.
pub(super) fn calls_of(parts: &[Part]) -> impl Iterator<Item = &SpokenCall> {
    parts.iter().filter_map(|part| match part {
        Part::Call(spoken) => Some(spoken),
        Part::Text { .. } | Part::Thinking { .. } | Part::Redacted(_) => None,
    })
}
