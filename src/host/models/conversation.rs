//! What is said to a model and what comes back, in our own words.
//!
//! Owns the order of a conversation. The dialects translate it; it never sends.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::tuning::Tuning;
use super::usage::ReplyUsage;
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
    /// The same in parts, and what they cost.
    pub usage: ReplyUsage,
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

/// An image that a model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// Its MIME type, one of PNG, JPEG, GIF and WebP.
    pub mime: &'static str,
    /// Its bytes in base64.
    pub data: Arc<str>,
}

/// Bytes of text that an image counts for: about 1,500 tokens, as providers count a picture of a screen.
const IMAGE_BYTES: usize = 6_000;

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
    /// What it sees.
    pub images: Vec<Image>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// Of the user.
    User {
        /// The words.
        text: String,
        /// What goes with them to be seen.
        images: Vec<Image>,
    },
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
    /// Bytes of the replies in it.
    pub(super) replied_bytes: usize,
    /// How the model is to answer.
    pub(super) tuning: Tuning,
}

impl Conversation {
    /// A conversation with these rules and tools.
    pub(crate) fn new(system: &str, tools: &[ToolSpec]) -> Self {
        Self {
            system: system.to_owned(),
            tools: tools.to_vec(),
            messages: Vec::new(),
            replied_bytes: 0,
            tuning: Tuning::default(),
        }
    }

    /// The same, to be answered so.
    pub(crate) fn tuned(self, tuning: Tuning) -> Self {
        Self { tuning, ..self }
    }

    /// Names of the tools that are offered.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    /// The user speaks.
    pub(crate) fn user(&mut self, text: &str) {
        self.user_shows(text, Vec::new());
    }

    /// The user speaks and shows images.
    pub(crate) fn user_shows(&mut self, text: &str, images: Vec<Image>) {
        self.messages.push(Message::User { text: text.to_owned(), images });
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
        self.results_show(results.into_iter().map(|(call, text)| (call, text, Vec::new())).collect());
    }

    /// The same, some of which show images.
    pub(crate) fn results_show(&mut self, results: Vec<(Call, String, Vec<Image>)>) {
        let spoken: Vec<&SpokenCall> = match self.messages.last() {
            Some(Message::Model(parts)) => parts
                .iter()
                .filter_map(|part| match part {
                    Part::Call(spoken) => Some(spoken),
                    Part::Text { .. } | Part::Thinking { .. } | Part::Redacted { .. } => None,
                })
                .collect(),
            Some(Message::User { .. } | Message::Results(_)) | None => Vec::new(),
        };
        let results = results
            .into_iter()
            .enumerate()
            .map(|(place, (call, text, images))| ToolResult {
                provider_id: spoken.get(place).and_then(|spoken| spoken.provider_id.clone()),
                call_id: call.call_id,
                name: call.name,
                text,
                images,
            })
            .collect();
        self.messages.push(Message::Results(results));
    }

    /// Bytes of text that it sends, images as much as they count for.
    pub(crate) fn bytes(&self) -> usize {
        let tools: usize =
            self.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
        self.system.len() + tools + self.messages.iter().map(Message::bytes).sum::<usize>()
    }

    /// Whether anything was said before what it ends with.
    pub(crate) fn has_past(&self) -> bool {
        self.messages.len() > 1
    }

    /// The last call of this tool.
    pub(crate) fn last_call(&self, name: &str) -> Option<&Call> {
        let replies = self.messages.iter().rev().filter_map(|message| match message {
            Message::Model(parts) => Some(parts),
            Message::User { .. } | Message::Results(_) => None,
        });
        replies
            .filter_map(|parts| {
                calls_of(parts).map(|spoken| &spoken.call).filter(|call| call.name == name).last()
            })
            .next()
    }

    /// What stands behind this in the last words of the user that have it.
    pub(crate) fn last_words_behind(&self, mark: &str) -> Option<&str> {
        self.messages.iter().rev().find_map(|message| match message {
            Message::User { text, .. } => text.rsplit_once(mark).map(|(_, rest)| rest),
            Message::Model(_) | Message::Results(_) => None,
        })
    }

    /// Bytes of the exchange that it ends with; `None`: it ends with words of the user.
    pub(crate) fn last_exchange_bytes(&self) -> Option<usize> {
        let ends = matches!(self.messages.last(), Some(Message::Results(_)));
        ends.then(|| self.messages.iter().rev().take(2).map(Message::bytes).sum())
    }

    /// Puts these words of the user in the place of everything but the last `kept` exchanges.
    pub(crate) fn begin_again(&mut self, text: String, images: Vec<Image>, kept: usize) {
        let from = self.messages.len().saturating_sub(kept.saturating_mul(2));
        let rest = self.messages.split_off(from);
        self.messages = vec![Message::User { text, images }];
        self.messages.extend(rest);
        self.replied_bytes = self.messages.iter().map(Message::replied_bytes).sum();
    }

    /// Cuts results to `limit` bytes, the oldest first, until it sends at most `bytes`.
    pub(crate) fn shorten_results(&mut self, limit: usize, bytes: usize) {
        let mut now = self.bytes();
        for message in &mut self.messages {
            let Message::Results(results) = message else { continue };
            for result in results {
                if now <= bytes {
                    return;
                }
                let before = result.text.len() + result.images.len() * IMAGE_BYTES;
                result.images.clear();
                if result.text.len() > limit {
                    result.text.truncate(result.text.floor_char_boundary(limit));
                    result.text.push_str("\n[…]");
                }
                now = now.saturating_sub(before.saturating_sub(result.text.len()));
            }
        }
    }
}

impl Message {
    fn bytes(&self) -> usize {
        match self {
            Self::User { text, images } => text.len() + images.len() * IMAGE_BYTES,
            Self::Model(_) => self.replied_bytes(),
            Self::Results(results) => {
                results.iter().map(|result| result.text.len() + result.images.len() * IMAGE_BYTES).sum()
            }
        }
    }

    fn replied_bytes(&self) -> usize {
        match self {
            Self::Model(parts) => parts.iter().map(Part::bytes).sum(),
            Self::User { .. } | Self::Results(_) => 0,
        }
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
