//! A BreadBoard engine beside the real binary: the simulator in this process, and a bare socket for what it cannot do.
//!
//! Owns both engines, what they were asked, and the words that most stories use. Never sleeps for a result: every wait is
//! for a condition, within the harness' patience.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use breadboard_ls::testing::simulate::breadboard::{Script, SeenRequest, Simulator, SimulatorOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::{Options, PATIENCE, Server};

/// Looks again and again until the condition holds. Nothing tells us when another thread or process is done.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Options that choose the engine at this address.
pub fn chosen(url: &str, trusted: bool) -> Options {
    Options {
        options: json!({ "engine": { "kind": "breadboard", "url": url }, "workspaceTrusted": trusted }),
        ..Options::default()
    }
}

/// A simulated engine on a runtime of its own.
pub struct Desk {
    // Dropped before its runtime.
    pub engine: Simulator,
    runtime: Runtime,
}

impl Desk {
    /// An engine with these options.
    pub fn start(options: SimulatorOptions) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let engine = Simulator::start(options, runtime.handle()).expect("a simulator");
        Self { engine, runtime }
    }

    /// One that does what these prompts of a script say.
    pub fn scripted(prompts: &Value) -> Self {
        Self::start(scripted(prompts))
    }

    /// Options of a server that uses it.
    pub fn chosen(&self, trusted: bool) -> Options {
        chosen(self.engine.base_url(), trusted)
    }

    /// A server that is connected to it, in a trusted workspace.
    pub fn server(&self) -> Server {
        let server = Server::ready(self.chosen(true));
        connected(&server);
        server
    }

    /// Requests whose line, `POST /v1/sessions/…`, contains this.
    pub fn asked(&self, needle: &str) -> Vec<SeenRequest> {
        let line = |seen: &SeenRequest| format!("{} {}", seen.method, seen.path);
        self.engine.requests().into_iter().filter(|seen| line(seen).contains(needle)).collect()
    }

    /// Bodies of the inputs of a session, in order.
    pub fn inputs(&self, session: &str) -> Vec<Value> {
        bodies(self.asked(&format!("POST /v1/sessions/{session}/input")))
    }

    /// Bodies of the commands of a session, in order.
    pub fn commands(&self, session: &str) -> Vec<Value> {
        bodies(self.asked(&format!("POST /v1/sessions/{session}/command")))
    }

    /// `Last-Event-ID` of each stream of a session, in order.
    pub fn cursors(&self, session: &str) -> Vec<Option<String>> {
        let streams = self.asked(&format!("GET /v1/sessions/{session}/events")).into_iter();
        streams
            .map(|seen| {
                let found = seen.headers.into_iter().find(|(name, _)| name == "last-event-id");
                found.map(|(_, value)| value)
            })
            .collect()
    }

    /// Deletes a session as another client of the engine would; the status.
    pub fn delete(&self, session: &str) -> u16 {
        let url = format!("{}/v1/sessions/{session}", self.engine.base_url());
        let answer = self.runtime.block_on(other_client().delete(url).send());
        answer.expect("an answer").status().as_u16()
    }

    /// Posts as another client of the engine would; the status and the answer.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = other_client().post(format!("{}{path}", self.engine.base_url())).body(body.to_string());
        self.runtime.block_on(async {
            let answer = request.header("content-type", "application/json").send().await.expect("an answer");
            let status = answer.status().as_u16();
            (status, serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON"))
        })
    }
}

fn other_client() -> reqwest::Client {
    static PROVIDER: std::sync::Once = std::sync::Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

fn bodies(seen: Vec<SeenRequest>) -> Vec<Value> {
    seen.iter().map(|seen| serde_json::from_str(&seen.body).expect("a body is JSON")).collect()
}

/// Options of a simulator with a script.
pub fn scripted(prompts: &Value) -> SimulatorOptions {
    let script = Script::parse(&json!({ "prompts": prompts }).to_string()).expect("a script");
    SimulatorOptions { script: Some(script), ..SimulatorOptions::default() }
}

/// Waits until the server said that the engine answers.
pub fn connected(server: &Server) -> Value {
    server.wait_notification("bb/connection", |params| {
        params["status"] == "connected" && params.get("sessionId").is_none()
    })
}

/// A step: the assistant says the whole of something.
pub fn says(text: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({ "type": "assistant_message", "payload": { "text": text, "message": message } })
}

/// A step: a piece of what the assistant says.
pub fn piece(text: &str) -> Value {
    json!({ "type": "assistant.message.delta", "payload": { "item_id": "msg_1", "delta": text } })
}

/// A step: the engine asks whether it may run this; what follows each answer.
pub fn asks(command: &str, allowed: &str, denied: &str) -> Value {
    let pattern = format!("{} *", command.split(' ').next().unwrap_or_default());
    json!({
        "ask": {
            "category": "shell", "pattern": pattern, "tool": "run_shell",
            "metadata": { "command": command, "function": "run_shell", "approval_pattern": pattern },
        },
        "on_allow": [says(allowed)], "on_deny": [says(denied)],
    })
}

/// A payload of the third kind.
pub fn warning(text: &str) -> Value {
    json!({ "message": text })
}

/// Waits for the next event of this type.
pub fn heard(server: &Server, session: &str, kind: &str) -> Value {
    server.wait_event(session, kind, |event| event["type"] == kind)
}

/// Waits for the next `warning` with this text.
pub fn warned(server: &Server, session: &str, text: &str) -> Value {
    server
        .wait_event(session, text, |event| event["type"] == "warning" && event["payload"]["message"] == text)
}

/// Waits for the end of a run, in the engine's word.
pub fn ran(server: &Server, session: &str) -> Value {
    heard(server, session, "run_finished")
}

/// Waits until a state says this status of the session; gives what it says of the session.
pub fn status(server: &Server, session: &str, wanted: &str) -> Value {
    let of = |params: &Value| {
        let all = params["sessions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|one| one["sessionId"] == session)
    };
    let state = server.wait_notification("bb/state", |params| {
        of(params).is_some_and(|session| session["status"] == wanted)
    });
    of(&state["params"]).expect("the session")
}

/// What the list says of a session.
pub fn listed(server: &mut Server, session: &str) -> Value {
    let all = server.ask("bb/listSessions", json!({}));
    let found = all["sessions"].as_array().expect("sessions").iter().find(|one| one["sessionId"] == session);
    found.unwrap_or_else(|| panic!("not listed: {all}")).clone()
}

/// Blocks of the newest page of the chat.
pub fn chat(server: &mut Server, session: &str) -> Vec<Value> {
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
}

/// Those of one kind.
pub fn of_kind(blocks: &[Value], kind: &str) -> Vec<Value> {
    blocks.iter().filter(|block| block["kind"] == kind).cloned().collect()
}

/// Every event of the journal.
pub fn journal(server: &mut Server, session: &str) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let from = events.len() + 1;
        let page = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from }));
        events.extend(page["events"].as_array().expect("events").iter().cloned());
        if page["hasMore"] != true {
            return events;
        }
    }
}

/// The engine's numbers of these events, in order.
pub fn numbers(events: &[Value]) -> Vec<u64> {
    let ids = events.iter().filter(|event| event["origin"] == "engine").map(|event| &event["id"]);
    ids.filter_map(|id| id.as_str()?.parse().ok()).collect()
}

/// What was said of streams that are not whole.
pub fn gaps(server: &Server) -> Vec<Value> {
    let all = server.received().into_iter().filter(|message| message["method"] == "bb/connection");
    all.map(|message| message["params"].clone()).filter(|params| params["gapDetected"] == true).collect()
}

/// The id of the only session of a [`Socket`].
pub const ONLY: &str = "5e551011-0000-4000-8000-000000000001";

/// An engine on a bare socket: as much of the wire as one idle session needs, and whatever a story adds byte by byte. It
/// lives as long as the test process.
pub struct Socket {
    pub url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Socket {
    /// `more` sees each request line first, and says whether it wrote the answer.
    pub fn start(
        more: impl Fn(&str, &mut TcpStream) -> std::io::Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (log, more) = (Arc::clone(&heads), Arc::new(more));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, more) = (Arc::clone(&log), Arc::clone(&more));
                std::thread::spawn(move || {
                    // Whoever asked may be gone.
                    let _ = serve(stream, &log, &*more);
                });
            }
        });
        Self { url, heads }
    }

    /// Request lines and headers, lower case, one request each.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<String>>,
    more: &dyn Fn(&str, &mut TcpStream) -> std::io::Result<bool>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut first, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if first.is_empty() {
            line.trim().clone_into(&mut first);
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    if first.is_empty() {
        return Ok(());
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    log.lock().unwrap().push(head);
    if more(&first, &mut stream)? {
        return stream.flush();
    }
    let summary = json!({
        "session_id": ONLY, "status": "running", "created_at": "2026-11-20T22:00:03.000000Z",
        "last_activity_at": "2026-11-20T22:00:03.000000Z", "model": null, "mode": null, "completion_summary": null,
        "reward_summary": null, "logging_dir": null, "metadata": {},
    });
    let (status, body) = match first.rsplit_once(' ').map_or("", |(line, _)| line) {
        "GET /health" => (200, json!({ "status": "ok", "protocol_version": "1.0" })),
        "GET /v1/sessions" => (200, json!([summary])),
        "POST /v1/sessions" => (
            200,
            json!({ "session_id": ONLY, "status": "starting", "created_at": null, "logging_dir": null }),
        ),
        line if line == format!("GET /v1/sessions/{ONLY}") => (200, summary),
        _ => (404, json!({ "detail": "Not Found" })),
    };
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}
