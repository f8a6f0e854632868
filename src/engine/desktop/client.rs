//! The way to a desktop host: JSON over HTTP with a bounded answer, and the socket of a session.
//!
//! Owns all timeouts and bounds; address, token and HTTP client are [`HttpPeer`]'s. The socket is the upgrade of a request of that
//! same client, so that TLS, proxies, authorities and the token are those of every other request. Never asks twice.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE};
use reqwest::{Method, RequestBuilder, StatusCode, Upgraded};
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::trouble::HostTrouble;
use crate::app::ports::Secret;
use crate::http::{self, BaseUrl, HttpPeer, NoRequest, Unreached};

/// The socket of a session.
pub(super) type HostSocket = WebSocketStream<Upgraded>;

/// For a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// For a whole answer.
const ANSWER: Duration = Duration::from_secs(20);

/// Most bytes of an answer: a list of ten thousand sessions has a few MiB.
const LARGEST_ANSWER: usize = 8 << 20;

/// Most bytes that are read of a refusal, which is a sentence.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Most bytes of one message of a socket. A larger one ends the connection, which is then opened again.
const LARGEST_MESSAGE: usize = 16 << 20;

/// The way to one host. Cheap to clone; nothing is built or opened before the first request.
#[derive(Clone)]
pub(super) struct HostClient {
    peer: Arc<HttpPeer>,
}

impl HostClient {
    /// A way to `base_url`. `token` belongs to it alone.
    pub(super) fn new(base_url: BaseUrl, token: Option<Secret>, ca_file: Option<PathBuf>) -> Self {
        Self { peer: HttpPeer::new(base_url, token.map(|Secret(token)| token), ca_file, CONNECT) }
    }

    /// `scheme://host[:port]`, for sentences.
    pub(super) fn origin(&self) -> &str {
        self.peer.base_url().origin()
    }

    /// Takes another token, or forgets the one there is; requests from now on use it.
    pub(super) fn set_token(&self, token: Option<Secret>) {
        self.peer.set_token(token.map(|Secret(token)| token));
    }

    /// Waits until a request could not reach the host, or another token came.
    pub(super) async fn trouble(&self) {
        self.peer.trouble().await;
    }

    /// Waits a moment for a token where none was given, once; gives whether it is time to ask again.
    pub(super) async fn waits_for_first_token(&self) -> bool {
        self.peer.waits_for_first_token().await
    }

    /// Waits until another token comes.
    pub(super) async fn new_token(&self) {
        self.peer.new_token().await;
    }

    /// A `GET`.
    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, HostTrouble> {
        self.exchange(Method::GET, path, query, None).await
    }

    /// A `POST` or `PUT` of JSON, or a `DELETE`.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Value, HostTrouble> {
        self.exchange(method, path, &[], body).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, HostTrouble> {
        let (mut request, had_token) = self.request(method, path, query).await?;
        if let Some(body) = body {
            // A JSON value always serialises.
            let text = serde_json::to_vec(body).unwrap_or_default();
            request = request.header(CONTENT_TYPE, "application/json").body(text);
        }
        let exchange = async {
            let answer = http::send(request).await.map_err(|error| HostTrouble::of_transport(&error))?;
            let (status, wait) = (answer.status(), answer.retry_after());
            if !(200..300).contains(&status) {
                let body = answer.beginning(LARGEST_REFUSAL, ANSWER).await;
                return Err(HostTrouble::of_answer(status, &body, had_token, wait));
            }
            let body =
                answer.whole(LARGEST_ANSWER).await.map_err(|error| HostTrouble::of_transport(&error))?;
            if body.is_empty() {
                return Ok(Value::Null);
            }
            let strange = || HostTrouble::Strange(0, "its answer is no JSON".to_owned());
            serde_json::from_slice(&body).map_err(|_| strange())
        };
        let late = || HostTrouble::Broken("it did not answer in time".to_owned());
        let outcome = tokio::time::timeout(ANSWER, exchange).await.unwrap_or_else(|_| Err(late()));
        outcome.map_err(|trouble| self.met(trouble))
    }

    /// Opens the socket of a session: returns once the host has agreed to speak WebSocket.
    pub(super) async fn open_socket(&self, session_id: &str) -> Result<HostSocket, HostTrouble> {
        let path = ["v1", "sessions", session_id, "stream"];
        let (request, had_token) = self.request(Method::GET, &path, &[]).await?;
        let key = generate_key();
        let headers = HeaderMap::from_iter([
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
        ]);
        let request = request
            .headers(headers)
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", key.as_str());
        let opening = async {
            let response = request.send().await.map_err(|error| HostTrouble::of_transport(&error.into()))?;
            let status = response.status();
            if status != StatusCode::SWITCHING_PROTOCOLS {
                let body = tokio::time::timeout(CONNECT, response.bytes()).await;
                let body = body.ok().and_then(Result::ok).unwrap_or_default();
                let body = body.get(..body.len().min(LARGEST_REFUSAL)).unwrap_or_default();
                return Err(HostTrouble::of_answer(status.as_u16(), body, had_token, None));
            }
            let accepted = response.headers().get("sec-websocket-accept").map(HeaderValue::as_bytes);
            if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
                return Err(HostTrouble::Strange(0, "it does not speak WebSocket as it should".to_owned()));
            }
            response.upgrade().await.map_err(|_| HostTrouble::Broken("the connection ended".to_owned()))
        };
        let late = || HostTrouble::Broken("it did not open the session in time".to_owned());
        let opened = tokio::time::timeout(ANSWER, opening).await.unwrap_or_else(|_| Err(late()));
        let upgraded = opened.map_err(|trouble| self.met(trouble))?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(LARGEST_MESSAGE))
            .max_frame_size(Some(LARGEST_MESSAGE));
        Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(limits)).await)
    }

    /// Tells whoever watches the host what a request met.
    fn met(&self, trouble: HostTrouble) -> HostTrouble {
        if trouble.is_of_the_host() {
            self.peer.met_trouble();
        }
        trouble
    }

    /// A request with the token, and whether it has one.
    async fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(RequestBuilder, bool), HostTrouble> {
        self.peer.request(method, path, query).await.map_err(|none| match none {
            NoRequest::NoPath => HostTrouble::Gone("there is no such id".to_owned()),
            NoRequest::Exposed => HostTrouble::Exposed,
            NoRequest::BadToken => HostTrouble::Unauthorized { had_token: true },
            NoRequest::NoClient(why) => HostTrouble::Unreachable(Unreached::Connection(why)),
        })
    }
}
