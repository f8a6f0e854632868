//! The protocols of providers, without sockets.
//!
//! Owns which protocol a target speaks, and what every protocol has in common: a request body from a conversation, and
//! pieces of a reply from the events of a stream. Each file beside this one is one protocol, written from its public
//! documentation. Never sends, waits or reads a clock.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use std::collections::VecDeque;

use serde_json::Value;
use url::Url;

use super::conversation::{Conversation, Delta, Finished};
use super::draft::ReplyDraft;
use super::fault::ModelFault;
use super::json::{self, Json};
use super::target::{Provider, Target};
use crate::http::Framing;

/// Stands before images of results, in protocols that take images of the user only.
const SHOWN_BY_TOOLS: &str = "(What the tools above show.)";

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderDialect {
    /// OpenAI's chat completions, which many servers speak.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Ollama's `/api/chat`.
    Ollama,
}

/// How a request is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// `authorization: Bearer …`.
    Bearer,
    /// The token alone, in this header.
    Header(&'static str),
}

impl ProviderDialect {
    /// What a target speaks.
    pub(crate) fn of(target: &Target) -> Self {
        match target.provider {
            // Newer models of OpenAI itself speak the responses protocol; compatible servers rarely do.
            Provider::OpenAi if target.is_default && openai_responses::is_spoken_by(&target.name) => {
                Self::OpenAiResponses
            }
            Provider::OpenAi => Self::OpenAiChat,
            Provider::Anthropic => Self::Anthropic,
            Provider::Gemini => Self::Gemini,
            Provider::Ollama => Self::Ollama,
        }
    }

    /// How its stream is divided.
    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Gemini => Framing::Sse,
            Self::Ollama => Framing::Lines,
        }
    }

    /// How a token is put on a request.
    pub(crate) fn credentials(self) -> Credentials {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Ollama => Credentials::Bearer,
            Self::Anthropic => Credentials::Header("x-api-key"),
            Self::Gemini => Credentials::Header("x-goog-api-key"),
        }
    }

    /// Headers that every request has.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", anthropic::VERSION)],
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini | Self::Ollama => &[],
        }
    }

    /// Where a reply is asked for. Always at the target's own origin, whatever the model's name holds.
    pub(crate) fn reply_url(self, target: &Target) -> Url {
        match self {
            Self::OpenAiChat => below(&target.base, "chat/completions"),
            Self::OpenAiResponses => below(&target.base, "responses"),
            Self::Anthropic => below(&target.base, "messages"),
            Self::Gemini => {
                let name = target.name.strip_prefix("models/").unwrap_or(&target.name);
                let mut url = below(&target.base, &format!("models/{name}:streamGenerateContent"));
                url.set_query(Some("alt=sse"));
                url
            }
            Self::Ollama => below(&target.base, "api/chat"),
        }
    }

    /// Where the models are listed.
    pub(crate) fn list_url(self, target: &Target) -> Url {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Gemini => {
                below(&target.base, "models")
            }
            Self::Ollama => below(&target.base, "api/tags"),
        }
    }

    /// The names in a list of models.
    pub(crate) fn listed(self, body: &[u8]) -> Result<Vec<String>, ModelFault> {
        let (list, name, prefix) = match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic => ("data", "id", ""),
            Self::Gemini => ("models", "name", "models/"),
            Self::Ollama => ("models", "name", ""),
        };
        let text = json::strict(body)?;
        let list = Json::of(&text)?.field(list).ok_or(ModelFault::Unreadable)?;
        // The body is bounded, and so is what it lists.
        let models = list.items(usize::MAX).ok_or(ModelFault::Unreadable)?;
        let names = models.into_iter().filter_map(|model| model.field(name)?.text());
        Ok(names.map(|name| name.strip_prefix(prefix).map_or(name.clone(), str::to_owned)).collect())
    }

    /// The body of a request for a reply, of a model with this name, which is sent as the user wrote it.
    pub(crate) fn body(self, model: &str, conversation: &Conversation) -> Value {
        match self {
            Self::OpenAiChat => openai_chat::body(model, conversation),
            Self::OpenAiResponses => openai_responses::body(model, conversation),
            Self::Anthropic => anthropic::body(model, conversation),
            Self::Gemini => gemini::body(model, conversation),
            Self::Ollama => ollama::body(model, conversation),
        }
    }
}

/// `path` below the base. Set as a path, so that no name in it becomes a host or a query.
pub(super) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    url
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyProgress {
    /// It does.
    More,
    /// The reply is complete.
    Complete,
}

/// Reads one reply.
#[derive(Debug)]
pub(crate) struct Decoder {
    dialect: ProviderDialect,
    reply: ReplyReader,
}

/// The reply so far, and its pieces that are not passed on yet.
#[derive(Debug, Default)]
struct ReplyReader {
    draft: ReplyDraft,
    deltas: Vec<Delta>,
}

impl ReplyReader {
    fn text(&mut self, text: Option<String>) -> Result<(), ModelFault> {
        match text {
            Some(text) if !text.is_empty() => {
                self.draft.text(&text)?;
                self.deltas.push(Delta::Text(text));
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn thinking(&mut self, text: Option<String>) -> Result<(), ModelFault> {
        match text {
            Some(text) if !text.is_empty() => {
                self.draft.thinking(&text)?;
                self.deltas.push(Delta::Reasoning(text));
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

impl Decoder {
    /// A decoder at the beginning of a reply.
    pub(crate) fn new(dialect: ProviderDialect) -> Self {
        Self { dialect, reply: ReplyReader::default() }
    }

    /// Takes one event and adds the pieces of the reply that it holds.
    ///
    /// # Errors
    /// When the event is not of this protocol, says that the provider failed, or passes a limit. The reply is then over.
    pub(crate) fn event(
        &mut self,
        data: &[u8],
        deltas: &mut VecDeque<Delta>,
    ) -> Result<ReplyProgress, ModelFault> {
        let reply = &mut self.reply;
        let progress = if self.dialect == ProviderDialect::OpenAiChat && data.trim_ascii() == openai_chat::END
        {
            Ok(ReplyProgress::Complete)
        } else {
            let text = json::strict(data)?;
            let event = Json::of(&text)?;
            match self.dialect {
                ProviderDialect::OpenAiChat => openai_chat::event(event, reply),
                ProviderDialect::OpenAiResponses => openai_responses::event(event, reply),
                ProviderDialect::Anthropic => anthropic::event(event, reply),
                ProviderDialect::Gemini => gemini::event(event, reply),
                ProviderDialect::Ollama => ollama::event(event, reply),
            }
        };
        deltas.extend(self.reply.deltas.drain(..));
        progress
    }

    /// Whether a stream that ends now is complete: the model said why it stopped, though the protocol's own mark is missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.reply.draft.stop.is_some()
    }

    /// Bytes that it holds, with which the work of [`Self::finish`] grows.
    pub(crate) fn held(&self) -> usize {
        self.reply.draft.held()
    }

    /// The complete reply.
    ///
    /// # Errors
    /// When the arguments of a call hold too many values.
    pub(crate) fn finish(self) -> Result<Finished, ModelFault> {
        self.reply.draft.finish()
    }
}

/// The arguments of a call that come as text in one protocol, as a value in another, and as either in a server between them.
fn arguments_text(arguments: Option<Json<'_>>) -> String {
    arguments.map(|value| value.text().unwrap_or_else(|| value.raw().to_owned())).unwrap_or_default()
}

/// What a provider says of its failure: text, or an object with a message.
fn reported(error: Json<'_>) -> ModelFault {
    let message = error.text().or_else(|| error.field("message")?.text());
    ModelFault::Reported(message.unwrap_or_default())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wishes_tests;
