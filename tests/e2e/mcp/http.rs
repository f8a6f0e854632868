//! A server at an address: the user's headers go there and nowhere else, and what it refuses is a sentence.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::place::Place;
use crate::model::{calls, says};

/// What the stories put into the header.
const TOKEN: &str = "canary-token-of-an-address";

/// A server over HTTP: answers those with the token, and tells what it heard.
struct Address {
    at: SocketAddr,
    heard: Receiver<(Option<String>, Value)>,
    _runtime: Runtime,
}

type Heard = mpsc::Sender<(Option<String>, Value)>;

impl Address {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (tell, heard) = mpsc::channel();
        let app = axum::Router::new().fallback(answer).with_state(tell);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let at = listener.local_addr().expect("an address");
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { at, heard, _runtime: runtime }
    }

    fn setting(&self, token: &str) -> Value {
        json!({ "type": "http", "url": format!("http://{}/mcp?key=canary-in-a-query", self.at),
                "headers": { "Authorization": format!("Bearer {token}") } })
    }
}

async fn answer(
    State(tell): State<Heard>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let status = |status: u16| Response::builder().status(status).body(Body::empty()).expect("a response");
    if method != Method::POST {
        return status(405);
    }
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    // The story may be over.
    let _ = tell.send((authorization.clone(), message.clone()));
    if authorization.as_deref() != Some(&format!("Bearer {TOKEN}")) {
        return status(401);
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({ "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "web", "version": "1" } }),
        Some("tools/list") => json!({ "tools": [{ "name": "look", "inputSchema": { "type": "object" } }] }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": "seen" }] }),
        _ => return status(202),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Response::builder()
        .header("content-type", "application/json")
        .body(Body::from(answer.to_string()))
        .expect("a response")
}

#[test]
fn a_server_at_an_address_is_called_with_its_headers_and_they_stand_nowhere() {
    let address = Address::start();
    let setting = address.setting(TOKEN);
    let mut place =
        Place::of(vec![calls("mcp__web__look", json!({})), says("ok")], |_| json!({ "web": setting }));
    let session = place.session.clone();
    place.server.prompt(&session, "look");
    place.allow();
    place.model.asked();
    assert_eq!(place.model.asked().tool_result(), "seen");
    place.server.wait_end(&session);
    let state = place.standing("web");
    let shown = format!("http://{}/mcp?… (headers: Authorization)", address.at);
    assert_eq!((&state["transport"], &state["definition"]), (&json!("http"), &json!(shown)));
    let heard: Vec<_> = address.heard.try_iter().collect();
    assert!(heard.iter().any(|(_, message)| message["method"] == "tools/call"));
    assert!(heard.iter().all(|(token, _)| token.as_deref() == Some(&format!("Bearer {TOKEN}"))));
    place.assert_nowhere(TOKEN);
    place.assert_nowhere("canary-in-a-query");
}

#[test]
fn a_server_that_refuses_the_token_and_one_that_is_not_there_are_said_with_what_to_do() {
    let address = Address::start();
    let setting = address.setting("canary-wrong-token");
    let mut place = Place::of(
        vec![says("ok")],
        |_| json!({ "web": setting, "gone": { "url": "http://127.0.0.1:9/mcp" } }),
    );
    let refused = place.until("web", "failed");
    assert_eq!(
        refused["message"],
        "The tool server `web` refuses our credentials; put a token that it takes among the headers of its setting, then \
         restart it."
    );
    let gone = place.until("gone", "failed");
    assert_eq!(
        gone["message"],
        "The tool server `gone` could not be used, because nothing listens there; check its setting, then restart it."
    );
    place.assert_nowhere("canary-wrong-token");
}
