//! The way out: one streamed reply, one list of models.
//!
//! Owns the two HTTP clients and the way a token is put on a request. Each request states its endpoint and its credentials in
//! full. Work that grows with what an endpoint sent runs on a blocking thread once it is large.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use url::Url;

use super::bounds;
use super::conversation::{Conversation, Delta, Finished};
use super::dialects::{Credentials, Decoder, ProviderDialect, ReplyProgress};
use super::embeddings::{self, Embeddings};
use super::failure::ModelError;
use super::fault::ModelFault;
use super::rerank::{self, ReadOrder, RerankProtocol};
use super::target::Target;
use super::tokens::Token;
use crate::http::{self, Answer, BLOCKING_BYTES, Budget, EndpointTimeouts, Events, Framing, Route};

/// How long we wait for an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte, which includes the first one.
    pub idle: Duration,
    /// Before a question that was not taken is asked again; twice as long each time.
    pub backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            backoff: Duration::from_secs(1),
        }
    }
}

/// How long the body of a refusal may take: its status is known, so little is gained by waiting.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// Talks to models. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ModelClient {
    /// For other machines.
    outside: reqwest::Client,
    /// For this machine.
    loopback: reqwest::Client,
    /// Of all replies at a time.
    budget: Arc<Budget>,
    backoff: Duration,
}

impl ModelClient {
    /// Builds the clients. Fails only when TLS cannot be set up.
    pub(crate) fn new(limits: Limits) -> Result<Self, ModelError> {
        let timeouts = EndpointTimeouts { connect: limits.connect, idle: limits.idle };
        let build = |route| {
            http::client(route, timeouts).ok_or_else(|| {
                ModelError::setting(
                    "The TLS set-up of this machine cannot be used, so no model can be reached; check the system's \
                     certificates."
                        .to_owned(),
                )
            })
        };
        Ok(Self {
            outside: build(Route::SystemProxy)?,
            loopback: build(Route::Direct)?,
            budget: Budget::new(bounds::EVENTS_BYTES),
            backoff: limits.backoff,
        })
    }

    /// How long is waited before a question that was not taken is asked again, the first time.
    pub(crate) fn backoff(&self) -> Duration {
        self.backoff
    }

    /// Asks for one reply.
    ///
    /// # Errors
    /// In one sentence: when the endpoint cannot be reached or refuses, or the conversation is too large to go on.
    pub(crate) async fn stream(
        &self,
        target: &Target,
        token: Option<&Token>,
        conversation: &Conversation,
    ) -> Result<ReplyStream, ModelError> {
        if conversation.replied_bytes > bounds::CONVERSATION_BYTES {
            return Err(ModelError::passing(format!(
                "This turn was stopped, because the model's own answers grew past {} MiB; ask for a smaller step.",
                bounds::CONVERSATION_BYTES >> 20
            )));
        }
        let dialect = ProviderDialect::of(target);
        let body = body(dialect, &target.name, conversation).await?;
        let accepted = match dialect.framing() {
            Framing::Sse => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        };
        let request = self
            .request(Method::POST, dialect, dialect.reply_url(target), target, token)?
            .header(ACCEPT, accepted)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let answer = answered(request, target, token).await?;
        Ok(ReplyStream {
            events: Events::new(answer, dialect.framing(), bounds::STREAM, self.budget.share()),
            state: KeptList::Reading(Decoder::new(dialect)),
            deltas: VecDeque::new(),
            received: Received::Nothing,
            target: target.clone(),
            token: token.cloned(),
        })
    }

    /// Names of the models at this endpoint.
    ///
    /// # Errors
    /// In one sentence: when the endpoint cannot be reached, refuses, or answers with anything but a list.
    pub(crate) async fn list(
        &self,
        target: &Target,
        token: Option<&Token>,
    ) -> Result<Vec<String>, ModelError> {
        let dialect = ProviderDialect::of(target);
        let request = self
            .request(Method::GET, dialect, dialect.list_url(target), target, token)?
            .header(ACCEPT, "application/json");
        let answer = answered(request, target, token).await?;
        let body =
            answer.whole(bounds::LIST_BYTES).await.map_err(|error| ModelError::from_http(&error, target))?;
        let size = body.len();
        unblocked(size, move || dialect.listed(&body))
            .await
            .map_err(|fault| ModelError::from_fault(&fault, target, token))
    }

    /// Texts as vectors.
    ///
    /// # Errors
    /// In one sentence: when the endpoint cannot be reached, refuses, or answers with anything but as many vectors.
    pub(crate) async fn embed(
        &self,
        target: &Target,
        token: Option<&Token>,
        texts: &[String],
    ) -> Result<Embeddings, ModelError> {
        let request = self
            .request(Method::POST, ProviderDialect::of(target), embeddings::url(target)?, target, token)?
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(embeddings::body(&target.name, texts));
        let answer = answered(request, target, token).await?;
        let body = answer
            .whole(bounds::EMBEDDINGS_BYTES)
            .await
            .map_err(|error| ModelError::from_http(&error, target))?;
        let (provider, count) = (target.provider, texts.len());
        unblocked(body.len(), move || embeddings::read(provider, &body, count))
            .await
            .map_err(|fault| ModelError::from_fault(&fault, target, token))
    }

    /// Passages in the order of their worth for a question.
    ///
    /// # Errors
    /// In one sentence: when the endpoint cannot be reached, refuses, or answers with anything but an order.
    pub(crate) async fn rerank(
        &self,
        target: &Target,
        token: Option<&Token>,
        protocol: RerankProtocol,
        (question, passages): (&str, &[String]),
    ) -> Result<ReadOrder, ModelError> {
        let request = self
            .request(Method::POST, ProviderDialect::of(target), rerank::url(target), target, token)?
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(rerank::body(protocol, &target.name, question, passages));
        let answer = answered(request, target, token).await?;
        let body =
            answer.whole(bounds::ORDER_BYTES).await.map_err(|error| ModelError::from_http(&error, target))?;
        rerank::read(&body, passages.len()).map_err(|fault| ModelError::from_fault(&fault, target, token))
    }

    fn request(
        &self,
        method: Method,
        dialect: ProviderDialect,
        url: Url,
        target: &Target,
        token: Option<&Token>,
    ) -> Result<RequestBuilder, ModelError> {
        let client = if target.is_loopback() { &self.loopback } else { &self.outside };
        let mut request = client.request(method, url);
        for (name, value) in dialect.headers() {
            request = request.header(*name, *value);
        }
        let Some(Token(token)) = token else { return Ok(request) };
        let (name, value) = match dialect.credentials() {
            Credentials::Bearer => (AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}"))),
            Credentials::Header(name) => {
                (HeaderName::from_static(name), HeaderValue::try_from(token.as_str()))
            }
        };
        let mut value = value.map_err(|_| {
            ModelError::setting(
                "The model's token holds characters that no header can; set it again without line ends."
                    .to_owned(),
            )
        })?;
        value.set_sensitive(true);
        Ok(request.header(name, value))
    }
}

/// Sends a request; a refusal becomes its sentence.
async fn answered(
    request: RequestBuilder,
    target: &Target,
    token: Option<&Token>,
) -> Result<Answer, ModelError> {
    let answer = http::send(request).await.map_err(|error| ModelError::from_http(&error, target))?;
    let status = answer.status();
    if (200..300).contains(&status) {
        return Ok(answer);
    }
    let wait = answer.retry_after();
    let body = answer.beginning(bounds::REFUSAL_BYTES, REFUSAL_TIME).await;
    Err(ModelError::from_status(status, &body, wait, target, token))
}

/// The body of a request for a reply.
async fn body(
    dialect: ProviderDialect,
    model: &str,
    conversation: &Conversation,
) -> Result<Vec<u8>, ModelError> {
    // A JSON value always serialises.
    let write = move |model: &str, conversation: &Conversation| {
        serde_json::to_vec(&dialect.body(model, conversation)).unwrap_or_default()
    };
    if conversation.bytes() <= BLOCKING_BYTES {
        return Ok(write(model, conversation));
    }
    let (model, conversation) = (model.to_owned(), conversation.clone());
    tokio::task::spawn_blocking(move || write(&model, &conversation)).await.map_err(|_| {
        ModelError::passing("The question could not be written for the model; ask again.".to_owned())
    })
}

/// Does work on `size` bytes, on a blocking thread when they are many.
async fn unblocked<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> Result<T, ModelFault> + Send + 'static,
) -> Result<T, ModelFault> {
    if size <= BLOCKING_BYTES {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ModelFault::Unreadable))
}

/// One reply on its way. Dropping it closes the connection.
pub(crate) struct ReplyStream {
    events: Events,
    state: KeptList,
    deltas: VecDeque<Delta>,
    received: Received,
    target: Target,
    token: Option<Token>,
}

enum KeptList {
    Reading(Decoder),
    /// Behind the last piece or an error.
    Over,
}

/// Whether the endpoint sent anything that is of its protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Received {
    Nothing,
    Something,
}

impl ReplyStream {
    /// The next piece; `None` after `Delta::Finished` or an error. A stream that ends without its own end is an error. A
    /// stream whose wait for a piece was dropped is over.
    pub(crate) async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Some(Ok(delta));
            }
            let KeptList::Reading(decoder) = std::mem::replace(&mut self.state, KeptList::Over) else {
                return None;
            };
            let event = match self.events.next().await {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Some(Err(ModelError::from_http(&error, &self.target))),
                None if decoder.is_complete() => {
                    return Some(self.finish(decoder).await.map(Delta::Finished));
                }
                None if self.received == Received::Nothing => {
                    return Some(Err(self.faulty(&ModelFault::Unreadable)));
                }
                None => return Some(Err(ModelError::cut(&self.target))),
            };
            self.received = Received::Something;
            match decoded(decoder, event).await {
                Ok((decoder, deltas, ReplyProgress::More)) => {
                    self.deltas = deltas;
                    self.state = KeptList::Reading(decoder);
                }
                Ok((decoder, deltas, ReplyProgress::Complete)) => {
                    self.deltas = deltas;
                    match self.finish(decoder).await {
                        Ok(finished) => self.deltas.push_back(Delta::Finished(finished)),
                        Err(error) => return Some(Err(error)),
                    }
                }
                Err(fault) => return Some(Err(self.faulty(&fault))),
            }
        }
    }

    async fn finish(&self, decoder: Decoder) -> Result<Finished, ModelError> {
        unblocked(decoder.held(), move || decoder.finish()).await.map_err(|fault| self.faulty(&fault))
    }

    fn faulty(&self, fault: &ModelFault) -> ModelError {
        ModelError::from_fault(fault, &self.target, self.token.as_ref())
    }
}

async fn decoded(
    mut decoder: Decoder,
    event: Vec<u8>,
) -> Result<(Decoder, VecDeque<Delta>, ReplyProgress), ModelFault> {
    unblocked(event.len(), move || {
        let mut deltas = VecDeque::new();
        let progress = decoder.event(&event, &mut deltas)?;
        Ok((decoder, deltas, progress))
    })
    .await
}
