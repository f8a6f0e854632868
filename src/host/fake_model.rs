//! A model endpoint for tests: says what it is told to say and remembers what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use futures::StreamExt;
use serde_json::{Value, json};

/// One scripted answer.
pub(crate) enum Script {
    /// These pieces of a body, then its end.
    Stream(&'static str, Vec<String>),
    /// These pieces, then silence.
    Stall(Vec<String>),
    /// These pieces, then the connection breaks.
    Break(Vec<String>),
    /// A status with a body.
    Status(u16, String),
    /// A redirect to this place.
    Redirect(String),
}

/// What it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    /// Everything that was sent, as text.
    pub(crate) fn text(&self) -> String {
        format!("{} {} {:?} {}", self.method, self.uri, self.headers, self.body)
    }
}

#[derive(Clone, Default)]
struct FakeModelState {
    scripts: Arc<Mutex<VecDeque<Script>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// The endpoint; it lives as long as the test's runtime.
pub(crate) struct FakeModel {
    address: SocketAddr,
    shared: FakeModelState,
}

impl FakeModel {
    pub(crate) async fn start(scripts: Vec<Script>) -> Self {
        let shared =
            FakeModelState { scripts: Arc::new(Mutex::new(scripts.into())), ..FakeModelState::default() };
        let app = axum::Router::new().fallback(answer).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

async fn answer(
    State(shared): State<FakeModelState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    shared.asked.lock().unwrap().push(Asked { method, uri, headers, body });
    let script = shared.scripts.lock().unwrap().pop_front();
    let pieces = |pieces: Vec<String>| futures::stream::iter(pieces).map(Ok::<_, std::io::Error>);
    let sse = || Response::builder().header("content-type", "text/event-stream");
    match script {
        Some(Script::Stream(kind, all)) => {
            let all = futures::stream::iter(all).map(Ok::<_, Infallible>);
            Response::builder().header("content-type", kind).body(Body::from_stream(all)).unwrap()
        }
        Some(Script::Stall(some)) => {
            sse().body(Body::from_stream(pieces(some).chain(futures::stream::pending()))).unwrap()
        }
        Some(Script::Break(some)) => {
            let broken = futures::stream::once(async { Err(std::io::Error::other("broken on purpose")) });
            sse().body(Body::from_stream(pieces(some).chain(broken))).unwrap()
        }
        Some(Script::Status(status, body)) => {
            Response::builder().status(status).body(Body::from(body)).unwrap()
        }
        Some(Script::Redirect(to)) => {
            Response::builder().status(307).header("location", to).body(Body::empty()).unwrap()
        }
        None => Response::builder().status(599).body(Body::from("nothing scripted")).unwrap(),
    }
}

/// One event of OpenAI's stream.
pub(crate) fn chunk(delta: Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

/// A whole reply in OpenAI's stream: these deltas, a finish reason, usage, the end.
pub(crate) fn openai(deltas: Vec<Value>) -> Script {
    let mut pieces: Vec<String> = deltas.into_iter().map(chunk).collect();
    pieces.push(format!(
        "data: {}\n\n",
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })
    ));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    pieces.push(format!("data: {}\n\n", json!({ "choices": [], "usage": usage })));
    pieces.push("data: [DONE]\n\n".to_owned());
    Script::Stream("text/event-stream", pieces)
}

/// A reply that is one tool call, its arguments cut in the middle.
pub(crate) fn tool_call(name: &str, arguments: &Value) -> Script {
    let arguments = arguments.to_string();
    let (head, tail) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
    openai(vec![
        json!({ "tool_calls": [{ "index": 0, "id": "call_a", "type": "function",
                 "function": { "name": name, "arguments": "" } }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "arguments": head } }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "arguments": tail } }] }),
    ])
}
