//! The way to the engine: HTTP/1.1 requests with a bounded answer, and streams.
//!
//! Owns all timeouts and bounds; address, token and HTTP client are [`HttpPeer`]'s. Never reads a body without a bound. Asks only
//! what it is told: nothing is asked twice.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::multipart::Form;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::engine_error::{Denied, EngineError};
use crate::app::ports::Secret;
use crate::domain::dialect::breadboard;
use crate::http::{BaseUrl, HttpPeer, NoRequest, Unreached, retry_after};

/// How long we wait for an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For a whole answer; of a stream or a download, for its head.
    pub answer: Duration,
    /// For the next bytes of a download. A stream of events may be silent for ever.
    pub stall: Duration,
    /// For the stream to tell of a prompt that the engine did not answer, while nothing else comes.
    pub echo: Duration,
    /// For the stream to say anything, once it told of another prompt than the one that the engine took.
    pub claim: Duration,
}

impl Default for EngineTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            stall: Duration::from_secs(30),
            echo: Duration::from_secs(5),
            claim: Duration::from_secs(30),
        }
    }
}

/// Most bytes of an answer that is not a stream or a download. A listing of ten thousand files has about 1 MiB; a larger
/// answer is refused as no answer.
pub(crate) const LARGEST_ANSWER: usize = 8 << 20;

/// Most bytes that are read of a refusal, which is a sentence.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Where a stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// With everything that the engine still has.
    Start,
    /// Behind the event with this resume token.
    After(String),
    /// With the newest event, which shows how far the session is.
    Newest,
    /// With whatever comes.
    Live,
}

/// The way to one engine. Cheap to clone; nothing is built or opened before the first request.
#[derive(Clone)]
pub struct Client {
    peer: Arc<HttpPeer>,
    timeouts: EngineTimeouts,
}

impl Client {
    /// A way to `base_url`. `token` belongs to it alone.
    pub fn new(
        base_url: BaseUrl,
        token: Option<Secret>,
        ca_file: Option<PathBuf>,
        timeouts: EngineTimeouts,
    ) -> Self {
        let token = token.map(|Secret(token)| token);
        Self { peer: HttpPeer::new(base_url, token, ca_file, timeouts.connect), timeouts }
    }

    /// Where the engine is.
    pub fn base_url(&self) -> &BaseUrl {
        self.peer.base_url()
    }

    /// Takes another token, or forgets the one there is; requests from now on use it.
    pub fn set_token(&self, token: Option<Secret>) {
        self.peer.set_token(token.map(|Secret(token)| token));
    }

    /// Waits until a request could not reach the engine, or another token came: time to ask how it is.
    pub async fn trouble(&self) {
        self.peer.trouble().await;
    }

    /// Waits a moment for a token where none was given, once; gives whether it is time to ask again.
    pub async fn waits_for_first_token(&self) -> bool {
        self.peer.waits_for_first_token().await
    }

    /// Waits until another token comes.
    pub async fn new_token(&self) {
        self.peer.new_token().await;
    }

    /// Tells whoever watches the engine what a request met.
    fn met(&self, trouble: EngineError) -> EngineError {
        if matches!(
            trouble,
            EngineError::Unreachable { .. }
                | EngineError::TimedOut { .. }
                | EngineError::Unauthorized(_)
                | EngineError::Busy { .. }
        ) {
            self.peer.met_trouble();
        }
        trouble
    }

    /// `GET /health`.
    pub async fn health(&self) -> Result<Value, EngineError> {
        self.read(&["health"], &[]).await
    }

    /// `GET /v1/sessions/{sid}`: the summary as the engine gives it.
    pub async fn session(&self, session_id: &str) -> Result<Value, EngineError> {
        self.read(&["v1", "sessions", session_id], &[]).await
    }

    /// `GET /v1/sessions/{sid}/events`: returns once the engine has said that it streams.
    pub async fn events(&self, session_id: &str, from: From) -> Result<EventStream, EngineError> {
        let path = ["v1", "sessions", session_id, "events"];
        // The standard's header (R000-54); the engine's own parameter only for a token that no header can hold.
        let (query, last): (&[(&str, &str)], _) = match &from {
            From::Start => (&[("replay", "true")], None),
            From::Newest => (&[("replay", "true"), ("limit", "1")], None),
            From::Live => (&[], None),
            From::After(id) => match HeaderValue::try_from(id) {
                Ok(last) => (&[], Some(last)),
                Err(_) => (&[("from_id", id)], None),
            },
        };
        let mut request = self.request(Method::GET, &path, query).await?;
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = self.head(request.header(ACCEPT, "text/event-stream")).await?;
        let is_stream =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|kind| {
                kind.split(';')
                    .next()
                    .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
            });
        if !is_stream {
            let why = "its answer is no stream of events".to_owned();
            return Err(EngineError::Broken { status: response.status().as_u16(), why });
        }
        Ok(EventStream { response, stall: None })
    }

    /// A `GET` with a JSON answer.
    pub async fn read<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, EngineError> {
        let request = self.request(Method::GET, path, query).await?;
        decoded(&self.whole(request, self.timeouts.answer).await?)
    }

    /// A `POST` of JSON with a JSON answer.
    pub async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &Value) -> Result<T, EngineError> {
        let request = self.request(Method::POST, path, &[]).await?;
        // A JSON value always serialises.
        let text = serde_json::to_vec(body).unwrap_or_default();
        let request = request.header(CONTENT_TYPE, "application/json").body(text);
        decoded(&self.whole(request, self.timeouts.answer).await?)
    }

    /// A `POST` of a form, which may take `within`.
    pub async fn upload<T: DeserializeOwned>(
        &self,
        path: &[&str],
        form: Form,
        within: Duration,
    ) -> Result<T, EngineError> {
        let request = self.request(Method::POST, path, &[]).await?;
        decoded(&self.whole(request.multipart(form), within).await?)
    }

    /// A `DELETE`, which may take `within`.
    pub async fn delete(&self, path: &[&str], within: Duration) -> Result<(), EngineError> {
        let request = self.request(Method::DELETE, path, &[]).await?;
        self.whole(request, within).await.map(drop)
    }

    /// How long what is waited for.
    pub fn patience(&self) -> &EngineTimeouts {
        &self.timeouts
    }

    /// A `GET` whose body comes piece by piece, each within `EngineTimeouts::stall`.
    pub async fn download(&self, path: &[&str], query: &[(&str, &str)]) -> Result<EventStream, EngineError> {
        let request = self.request(Method::GET, path, query).await?;
        let response = self.head(request).await?;
        Ok(EventStream { response, stall: Some(self.timeouts.stall) })
    }

    async fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, EngineError> {
        let made = self.peer.request(method, path, query).await;
        made.map(|(request, _)| request).map_err(|none| match none {
            NoRequest::NoPath => EngineError::Gone { detail: "it has no such id".to_owned() },
            NoRequest::Exposed => EngineError::Unauthorized(Denied::Exposed),
            NoRequest::BadToken => EngineError::Unauthorized(Denied::Refused),
            NoRequest::NoClient(why) => {
                EngineError::Unreachable { why: Unreached::Connection(why), sent: false }
            }
        })
    }

    /// Sends, and reads the head of the answer; a refusal is read to its end.
    async fn head(&self, request: RequestBuilder) -> Result<Response, EngineError> {
        let (client, request) = request.build_split();
        let request = request.map_err(|error| EngineError::of_transport(&error))?;
        let with_token = request.headers().contains_key(AUTHORIZATION);
        let within = self.timeouts.answer;
        let late = |_| self.met(EngineError::TimedOut { sent: true });
        let response = tokio::time::timeout(within, client.execute(request))
            .await
            .map_err(late)?
            .map_err(|error| self.met(EngineError::of_transport(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = retry_after(response.headers(), SystemTime::now());
        // What cannot be read says as little as what is not there.
        let body = tokio::time::timeout(within, bounded(response, LARGEST_REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Err(self.met(EngineError::of_answer(status, &body, with_token, wait)))
    }

    async fn whole(&self, request: RequestBuilder, within: Duration) -> Result<Vec<u8>, EngineError> {
        let (client, request) = request.build_split();
        let request = request.map_err(|error| EngineError::of_transport(&error))?;
        let with_token = request.headers().contains_key(AUTHORIZATION);
        let exchange = async {
            let response =
                client.execute(request).await.map_err(|error| EngineError::of_transport(&error))?;
            let status = response.status();
            if status.is_success() {
                return bounded(response, LARGEST_ANSWER).await;
            }
            let wait = retry_after(response.headers(), SystemTime::now());
            let body = bounded(response, LARGEST_REFUSAL).await.unwrap_or_default();
            Err(EngineError::of_answer(status, &body, with_token, wait))
        };
        let outcome = tokio::time::timeout(within, exchange).await;
        outcome.unwrap_or(Err(EngineError::TimedOut { sent: true })).map_err(|trouble| self.met(trouble))
    }
}

/// A body that comes piece by piece. Dropping it closes the connection.
pub struct EventStream {
    response: Response,
    stall: Option<Duration>,
}

impl EventStream {
    /// The next bytes; `None` at the body's own end.
    pub async fn next(&mut self) -> Option<Result<Bytes, EngineError>> {
        let chunk = match self.stall {
            None => self.response.chunk().await,
            Some(stall) => match tokio::time::timeout(stall, self.response.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) => return Some(Err(EngineError::TimedOut { sent: true })),
            },
        };
        chunk.map_err(|error| EngineError::of_transport(&error)).transpose()
    }

    /// How long the body is, where the engine said so.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }
}

async fn bounded(mut response: Response, largest: usize) -> Result<Vec<u8>, EngineError> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| EngineError::of_transport(&error))? {
        if body.len() + chunk.len() > largest {
            return Err(EngineError::Broken {
                status,
                why: format!("its answer is larger than {largest} bytes"),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn decoded<T: DeserializeOwned>(body: &[u8]) -> Result<T, EngineError> {
    let broken = || EngineError::Broken {
        status: 200,
        why: "its answer is not the JSON that belongs there".to_owned(),
    };
    breadboard::http::read(body).ok_or_else(broken)
}
