//! A model on loopback that speaks OpenAI's streaming protocol and says what the story tells it to.
//!
//! Owns its own runtime and what it was asked. Waits at gates that the story opens, never for a time.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::harness::{Options, PATIENCE};

/// One step of a reply.
pub enum Step {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Reason(String),
    /// A call of a tool.
    Call(&'static str, Value),
    /// Nothing more until the gate is opened.
    Wait(Gate),
}

/// One reply.
pub enum Reply {
    /// Streamed.
    Stream(Vec<Step>),
    /// A status and a body.
    Status(u16, String),
    /// What this makes of the question.
    Of(Box<dyn FnOnce(&Value) -> Reply + Send>),
}

/// Holds a reply back until the story opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<Notify>);

impl Gate {
    /// Lets one waiting step, or the next one, go on.
    pub fn open(&self) {
        self.0.notify_one();
    }
}

/// A reply that is this text.
pub fn says(text: &str) -> Reply {
    Reply::Stream(vec![Step::Text(text.to_owned())])
}

/// A reply that calls one tool.
pub fn calls(name: &'static str, arguments: Value) -> Reply {
    Reply::Stream(vec![Step::Call(name, arguments)])
}

/// A reply that calls a tool with the id of the command that runs in the background, as the model was told of it, and more.
pub fn calls_with_id(name: &'static str, more: Value) -> Reply {
    Reply::Of(Box::new(move |body| {
        let told = body.to_string();
        let id = told.rsplit_once("with the id ").and_then(|(_, rest)| rest.split_once('.'));
        let mut arguments = more;
        arguments["id"] = json!(id.expect("the id of a command").0);
        calls(name, arguments)
    }))
}

/// A reply that says something and then nothing until the gate is opened.
pub fn says_and_waits(text: &str, gate: &Gate, then: &str) -> Reply {
    Reply::Stream(vec![Step::Text(text.to_owned()), Step::Wait(gate.clone()), Step::Text(then.to_owned())])
}

/// One request that came.
pub struct Asked {
    /// Path of the URL.
    pub path: String,
    /// Value of `authorization`.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

impl Asked {
    /// What the model was told about the last call of a tool.
    pub fn tool_result(&self) -> String {
        let messages = self.body["messages"].as_array().expect("messages");
        let last = messages.iter().rev().find(|message| message["role"] == "tool").expect("a tool message");
        match &last["content"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: mpsc::Sender<Asked>,
}

/// The endpoint.
pub struct Model {
    address: SocketAddr,
    shared: Shared,
    asked: Receiver<Asked>,
    _runtime: Runtime,
}

impl Model {
    /// Listens, and gives these replies one after the other.
    pub fn start(replies: Vec<Reply>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (to_asked, asked) = mpsc::channel();
        let shared = Shared { replies: Arc::new(Mutex::new(replies.into())), asked: to_asked };
        let app = axum::Router::new().fallback(answer).with_state(shared.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, shared, asked, _runtime: runtime }
    }

    /// One more reply.
    pub fn then(&self, reply: Reply) {
        self.shared.replies.lock().expect("replies").push_back(reply);
    }

    /// `initializationOptions` that choose this model, in a trusted workspace or not.
    pub fn options(&self, trusted: bool) -> Value {
        json!({
            "model": { "provider": "openai", "name": "story", "url": format!("http://{}", self.address) },
            "workspaceTrusted": trusted,
        })
    }

    /// A server's start with this model.
    pub fn chosen(&self, trusted: bool) -> Options {
        // A proxy of the machine must not stand between the server and its model.
        Options { options: self.options(trusted), ..Options::default() }.env("NO_PROXY", "127.0.0.1")
    }

    /// The next request, if one came.
    pub fn try_asked(&self) -> Option<Asked> {
        self.asked.try_recv().ok()
    }

    /// Waits for the next request and gives it.
    pub fn asked(&self) -> Asked {
        self.asked.recv_timeout(PATIENCE).expect("the model is asked")
    }
}

async fn answer(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    // A list of models is no turn: a story that has one ready says so by a status.
    let has_list = matches!(shared.replies.lock().expect("replies").front(), Some(Reply::Status(..)));
    if uri.path().ends_with("/models") && !has_list {
        return Response::builder().status(404).body(Body::empty()).expect("a response");
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let reply = match asks_for_a_summary(&body) {
        true => Some(says(SUMMARY)),
        false => shared.replies.lock().expect("replies").pop_front(),
    };
    let reply = match reply {
        Some(Reply::Of(make)) => Some(make(&body)),
        reply => reply,
    };
    // The story may be over.
    let _ = shared.asked.send(Asked { path: uri.path().to_owned(), authorization, body });
    let steps = match reply {
        Some(Reply::Stream(steps)) => steps,
        Some(Reply::Status(status, body)) => {
            return Response::builder().status(status).body(Body::from(body)).expect("a response");
        }
        Some(Reply::Of(_)) | None => {
            return Response::builder().status(500).body(Body::from("no reply is left")).expect("a response");
        }
    };
    let finish = if steps.iter().any(|step| matches!(step, Step::Call(..))) { "tool_calls" } else { "stop" };
    let mut calls = 0;
    let numbered = steps.into_iter().map(move |step| {
        let index = calls;
        calls += usize::from(matches!(step, Step::Call(..)));
        (index, step)
    });
    let body = futures::stream::iter(numbered)
        .then(|(index, step)| async move {
            match step {
                Step::Text(text) => chunk(&json!({ "content": text })),
                Step::Reason(text) => chunk(&json!({ "reasoning_content": text })),
                Step::Call(name, arguments) => chunk(&json!({ "tool_calls": [{
                    "index": index, "id": format!("call_{index}"), "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() } }] })),
                Step::Wait(gate) => {
                    gate.0.notified().await;
                    String::from(": the gate is open\n\n")
                }
            }
        })
        .chain(futures::stream::once(async move {
            let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] });
            format!("data: {last}\n\ndata: [DONE]\n\n")
        }))
        .map(Ok::<_, Infallible>);
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(body))
        .expect("a response")
}

/// What it answers when it is asked for a summary of the conversation, at whatever point of the story.
pub const SUMMARY: &str = "The files of the middle are read.";

fn asks_for_a_summary(body: &Value) -> bool {
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    last.and_then(|last| last["content"].as_str())
        .is_some_and(|text| text.contains("a summary that you write now"))
}

fn chunk(delta: &Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
}
