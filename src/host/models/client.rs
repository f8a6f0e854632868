//! The way out: one streamed reply, one list of models.
//!
//! Owns the HTTP clients and the way a token is put on a request. Every request states its endpoint and its credentials
//! in full, so that the provider library never falls back to an environment variable or to another host.

use std::sync::Once;
use std::time::Duration;

use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStream, ChatStreamEvent, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use serde_json::json;

use super::conversation::{Conversation, Delta, Finished};
use super::failure::ModelError;
use super::target::{Provider, Target};
use super::tokens::Token;

/// How long we wait for an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte, which includes the first one.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}

/// Version that Anthropic's API wants to be told.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Talks to models. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelClient {
    /// For other machines: through the system's proxy where there is one.
    outside: Client,
    /// For this machine: never through a proxy, which would see a token in the clear.
    loopback: Client,
}

impl ModelClient {
    /// Builds the clients. Fails only when TLS cannot be set up.
    pub fn new(limits: Limits) -> Result<Self, ModelError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // An `Err` means that another part of the process installed one first, which serves as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let build = |direct: bool| {
            let builder = reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(limits.connect)
                .read_timeout(limits.idle)
                .user_agent(concat!("breadboard-ls/", env!("CARGO_PKG_VERSION")));
            let builder = if direct { builder.no_proxy() } else { builder };
            let client = builder.build().map_err(|_| refused())?;
            Client::builder().with_reqwest(client).build().map_err(|_| refused())
        };
        Ok(Self { outside: build(false)?, loopback: build(true)? })
    }

    /// Asks for one reply.
    pub async fn stream(
        &self,
        target: &Target,
        token: Option<&Token>,
        conversation: &Conversation,
    ) -> Result<ReplyStream, ModelError> {
        let service = ServiceTarget {
            endpoint: Endpoint::from_owned(target.base.as_str()),
            auth: credentials(target, token)?,
            model: ModelIden::new(adapter(target), target.name.clone()),
        };
        let response = self
            .client(target)
            .exec_chat_stream(service, conversation.request(), Some(&options(target, token)))
            .await
            .map_err(|error| ModelError::from_provider(&error, target, token))?;
        Ok(ReplyStream {
            stream: response.stream,
            target: target.clone(),
            token: token.cloned(),
            over: false,
        })
    }

    /// Names of the models at this endpoint.
    pub async fn list(&self, target: &Target, token: Option<&Token>) -> Result<Vec<String>, ModelError> {
        let auth = match token {
            Some(token) => AuthData::from_single(token.0.clone()),
            None => AuthData::None,
        };
        // Listing is the same for OpenAI's two protocols, and a key in the name of Ollama is not sent by the library.
        let kind = match target.provider {
            Provider::OpenAi => AdapterKind::OpenAI,
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::Gemini => AdapterKind::Gemini,
            Provider::Ollama => AdapterKind::Ollama,
        };
        let endpoint = Endpoint::from_owned(target.base.as_str());
        self.client(target)
            .all_model_names(kind, (endpoint, auth))
            .await
            .map_err(|error| ModelError::from_provider(&error, target, token))
    }

    fn client(&self, target: &Target) -> &Client {
        if target.is_loopback() { &self.loopback } else { &self.outside }
    }
}

/// One reply on its way.
pub struct ReplyStream {
    stream: ChatStream,
    target: Target,
    token: Option<Token>,
    over: bool,
}

impl ReplyStream {
    /// The next piece; `None` after `Delta::Finished` or an error. A stream that ends without its own end is an error.
    pub async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        while !self.over {
            let delta = match self.stream.next().await {
                Some(Ok(ChatStreamEvent::Chunk(chunk))) => Delta::Text(chunk.content),
                Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => Delta::Reasoning(chunk.content),
                Some(Ok(ChatStreamEvent::End(end))) => {
                    self.over = true;
                    // For Gemini the library makes up an end when the stream just closes; a real one has a reason.
                    if self.target.provider == Provider::Gemini && end.captured_stop_reason.is_none() {
                        return Some(Err(ModelError::cut(&self.target)));
                    }
                    Delta::Finished(Finished::read(end))
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(ModelError::from_provider(&error, &self.target, self.token.as_ref())));
                }
                None => {
                    self.over = true;
                    return Some(Err(ModelError::cut(&self.target)));
                }
            };
            return Some(Ok(delta));
        }
        None
    }
}

fn refused() -> ModelError {
    ModelError::setting(
        "The TLS set-up of this machine cannot be used, so no model can be reached; check the system's certificates."
            .to_owned(),
    )
}

fn adapter(target: &Target) -> AdapterKind {
    match target.provider {
        Provider::OpenAi if target.is_default => match AdapterKind::from_model(&target.name) {
            // Newer models of OpenAI itself speak the responses protocol; compatible servers rarely do.
            Ok(AdapterKind::OpenAIResp) => AdapterKind::OpenAIResp,
            Ok(_) | Err(_) => AdapterKind::OpenAI,
        },
        Provider::OpenAi => AdapterKind::OpenAI,
        Provider::Anthropic => AdapterKind::Anthropic,
        Provider::Gemini => AdapterKind::Gemini,
        Provider::Ollama => AdapterKind::Ollama,
    }
}

/// The library refuses a request without a key for three of the four, so such a request states its URL and headers itself.
fn credentials(target: &Target, token: Option<&Token>) -> Result<AuthData, ModelError> {
    if let Some(token) = token {
        return Ok(AuthData::from_single(token.0.clone()));
    }
    let bad =
        |_| ModelError::setting("The model's name does not fit into a URL; check `model.name`.".to_owned());
    let (path, headers) = match target.provider {
        Provider::OpenAi if adapter(target) == AdapterKind::OpenAIResp => {
            ("responses".to_owned(), Headers::default())
        }
        Provider::OpenAi => ("chat/completions".to_owned(), Headers::default()),
        Provider::Anthropic => {
            ("messages".to_owned(), Headers::from([("anthropic-version", ANTHROPIC_VERSION)]))
        }
        Provider::Gemini => {
            (format!("./models/{}:streamGenerateContent?alt=sse", target.name), Headers::default())
        }
        Provider::Ollama => return Ok(AuthData::None),
    };
    let url = target.base.join(&path).map_err(bad)?;
    Ok(AuthData::RequestOverride { url: url.to_string(), headers })
}

fn options(target: &Target, token: Option<&Token>) -> ChatOptions {
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        // With OpenAI's responses protocol this would ask for summaries that not every account may have.
        .with_capture_reasoning_content(adapter(target) != AdapterKind::OpenAIResp);
    match target.provider {
        // The library reads an effort out of names such as `mistral-medium` and cuts it off; a budget, which this
        // protocol cannot say, and the name in the body keep both as the user wrote them.
        Provider::OpenAi if adapter(target) == AdapterKind::OpenAI => options
            .with_reasoning_effort(ReasoningEffort::Budget(0))
            .with_extra_body(json!({ "model": target.name })),
        Provider::OpenAi | Provider::Anthropic | Provider::Gemini => options,
        // The library sends no key to Ollama, but one behind a gateway needs it.
        Provider::Ollama => match token {
            Some(token) => {
                options.with_extra_headers(Headers::from([("Authorization", format!("Bearer {}", token.0))]))
            }
            None => options,
        },
    }
}
