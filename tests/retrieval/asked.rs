//! A chat model whose answers are files: what it is asked is written down, and whoever can answer it puts the answer beside.
//!
//! Owns the folder. A prompt is `HASH.prompt`, the very text that goes over the wire, its rules first; its answer is `HASH.answer`. What has
//! no answer yet is refused, and words rank it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use breadboard_ls::testing::host::index::Indexes;
use breadboard_ls::testing::host::reranker::rerank_by;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

/// Where prompts and answers lie, a folder a repository in it.
const ASKED: &str = "BREADBOARD_RETRIEVAL_ASKED";

/// See the module.
pub struct AskedModel {
    runtime: Runtime,
    url: String,
    folder: PathBuf,
    state: Arc<Mutex<Counted>>,
}

/// The folder of the moment, and what came of its questions.
#[derive(Default)]
struct Counted {
    folder: PathBuf,
    asked: usize,
    answered: usize,
}

impl AskedModel {
    /// Where the environment names a folder for it.
    pub fn of_environment() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(ASKED)?);
        let runtime = Runtime::new().expect("there are threads");
        let state = Arc::new(Mutex::new(Counted::default()));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&state));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Some(Self { runtime, url, folder, state })
    }

    /// From now on it is asked about the repository of this name.
    pub fn turn_to(&self, name: &str) {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).expect("a folder for prompts");
        self.state.lock().expect("nobody panicked").folder = folder;
    }

    /// Has these indexes ask it, whatever came of the question before.
    pub fn read_for(&self, indexes: &Indexes) {
        rerank_by(indexes, self.runtime.handle().clone(), &self.url, "recorded");
    }

    /// How many prompts there were and how many had an answer.
    pub fn counted(&self) -> String {
        let state = self.state.lock().expect("nobody panicked");
        format!("{} of {} prompts had an answer", state.answered, state.asked)
    }
}

async fn answer(State(state): State<Arc<Mutex<Counted>>>, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let texts = body["messages"].as_array().expect("messages").iter();
    let texts: Vec<&str> = texts.map(|message| message["content"].as_str().expect("text")).collect();
    let mut state = state.lock().expect("nobody panicked");
    state.asked += 1;
    match answer_to(&state.folder, &texts.join("\n\n")) {
        Some(text) => {
            state.answered += 1;
            let chunk = |delta: Value, end: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
            let (said, end) =
                (chunk(json!({ "content": text }), Value::Null), chunk(json!({}), json!("stop")));
            let kind = [("content-type", "text/event-stream")];
            (kind, format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n")).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "nobody has answered this").into_response(),
    }
}

fn answer_to(folder: &Path, prompt: &str) -> Option<String> {
    let hash: String = Sha256::digest(prompt).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(folder.join(format!("{hash}.prompt")), prompt).expect("a prompt can be written");
    std::fs::read_to_string(folder.join(format!("{hash}.answer"))).ok()
}
