//! Sockets: accepting, authorisation, the log of requests, answers that a test holds back.
//!
//! Never knows what a path means: `routes` does.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::answer::{self, HttpAnswer};
use super::control::{HoldPoint, SeenRequest};
use super::engine::SimulatedEngine;
use super::routes;

/// A larger request is refused: an upload of this size fits, and a runaway client does not fill the memory.
const LARGEST_BODY: usize = 256 * 1024 * 1024;
/// What of a body the log of requests keeps.
const BODY_REMEMBERED: usize = 64 * 1024;
/// Headers that the log of requests leaves out.
const SECRET_HEADERS: [&str; 2] = ["authorization", "cookie"];

/// A request that was read whole.
pub(super) struct AskedRequest {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: bytes::Bytes,
}

impl AskedRequest {
    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The first value of a parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }
}

/// Accepts connections until it is aborted.
pub(super) async fn accept(engine: Arc<SimulatedEngine>, listener: TcpListener) {
    loop {
        // A failed accept (the peer is gone already, no descriptor is free) concerns that connection alone.
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let shared = Arc::clone(&engine);
        let serve = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move { Ok::<_, Infallible>(serve(shared, request).await) }
        });
        // The engine closes a connection that is idle for about five seconds: a pool must be quicker.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(engine.options.idle_close)
            .serve_connection(TokioIo::new(socket), serve);
        let connection = engine.spawn(async move {
            // It ends in an error whenever a stream is cut or a client leaves.
            let _ = connection.await;
        });
        engine.connected(connection);
    }
}

async fn serve(engine: Arc<SimulatedEngine>, request: Request<Incoming>) -> HttpAnswer {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return answer::refused(413, "request body too large"),
    };
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let asked = AskedRequest { method: head.method, path, query, headers: head.headers, body };
    let seen = seen(&asked);
    let line = format!("{} {}", seen.method, seen.path);
    engine.saw(seen);
    held(&engine, &line, HoldPoint::BeforeWork).await;
    let answered = match engine.planned(&line) {
        Some(planned) if planned.body.starts_with('{') => {
            answer::bytes(planned.status, "application/json", planned.body)
        }
        Some(planned) => answer::bytes(planned.status, "text/plain; charset=utf-8", planned.body),
        None if !local(&asked) => answer::refused(403, "the simulator answers local programs only"),
        None if !authorised(&engine, &asked) => answer::refused(401, "unauthorized"),
        None => routes::route(&engine, &asked).await,
    };
    held(&engine, &line, HoldPoint::BeforeAnswer).await;
    if !engine.options.latency.is_zero() {
        tokio::time::sleep(engine.options.latency).await;
    }
    answered
}

/// Waits while a test holds this request here.
async fn held(engine: &SimulatedEngine, line: &str, point: HoldPoint) {
    let mut hold = engine.hold.subscribe();
    let free = |hold: &Option<super::control::HeldAnswers>| {
        hold.as_ref().is_none_or(|hold| hold.point != point || !line.contains(&hold.needle))
    };
    // It fails only when the simulator is gone; then nobody waits for the answer either.
    let _ = hold.wait_for(free).await;
}

/// Whether a local program asks. The engine does not look; a web page that reached this port under a name of its own could
/// read any folder it names as a workspace, and whoever tests a client should not have to fear that.
fn local(asked: &AskedRequest) -> bool {
    let host = asked.header("host").unwrap_or("localhost");
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost", "[::1]"].contains(&name) && asked.header("origin").is_none()
}

/// With a token every path needs it, `/health` too. The scheme is case-insensitive.
fn authorised(engine: &SimulatedEngine, asked: &AskedRequest) -> bool {
    let Some(token) = &engine.options.token else { return true };
    let words = asked.header("authorization").and_then(|value| value.split_once(' '));
    words.is_some_and(|(scheme, word)| scheme.eq_ignore_ascii_case("bearer") && word.trim() == token)
}

fn seen(asked: &AskedRequest) -> SeenRequest {
    let headers = asked.headers.iter().filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()));
    let kept = asked.body.get(..asked.body.len().min(BODY_REMEMBERED)).unwrap_or_default();
    let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
    SeenRequest {
        method: asked.method.to_string(),
        path: format!("{}{query}", asked.path),
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body: String::from_utf8_lossy(kept).into_owned(),
    }
}
