//! An endpoint of a user's that answers each request at once by its body, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, Uri};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A request: its path, what stands in `Authorization`, its body.
pub type Asked = (String, String, Value);

/// See the module.
pub struct Endpoint {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Asked>>>,
    _runtime: Runtime,
}

impl Endpoint {
    pub fn start(answer: fn(&Value) -> Value) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let seen: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let heard = Arc::clone(&seen);
        let respond = move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            let token =
                headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
            let told = answer(&body).to_string();
            heard.lock().expect("nobody panicked").push((uri.path().to_owned(), token.to_owned(), body));
            std::future::ready(told)
        };
        let app = axum::Router::new().fallback(respond);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, seen, _runtime: runtime }
    }

    pub fn seen(&self) -> Vec<Asked> {
        self.seen.lock().expect("nobody panicked").clone()
    }
}
