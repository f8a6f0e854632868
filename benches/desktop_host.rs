//! The desktop host under many sockets: what each costs, and what it adds to the way of a token while one of them does not read.
//!
//!     cargo bench --bench desktop_host                 # 50 sockets, 200 tokens a second each, 10 seconds
//!     cargo bench --bench desktop_host -- --short      # 2 seconds
//!
//! `BB_SERVER` names another program than the one of this build. A model on loopback writes the moment into each token; a token has
//! arrived when its client has read it.

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Response;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

const SOCKETS: usize = 50;
const TOKENS_A_SECOND: u64 = 200;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Host {
    child: Child,
    url: String,
    token: String,
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("Run this with `cargo bench --bench desktop_host`.");
        return;
    }
    // The second one in a process is refused, and then the first one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let seconds = if arguments.iter().any(|argument| argument == "--short") { 2 } else { 10 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(seconds));
}

async fn measure(seconds: u64) {
    let begun = Instant::now();
    let model = serve_model(begun, seconds * TOKENS_A_SECOND).await;
    let place = tempfile::tempdir().expect("a place");
    let host = start(&place, model);
    let empty = resident(host.child.id());
    let mut sockets = Vec::new();
    for at in 0..SOCKETS {
        // Two on each session, of which the first prompts: the engine runs 32 turns at a time.
        let session = match sockets.last() {
            Some((before, _)) if at % 2 == 1 => String::clone(before),
            _ => session(&host).await,
        };
        let socket = connect(&host, &session, at).await;
        sockets.push((session, socket));
    }
    let opened = resident(host.child.id());
    // One more on the first session, which reads nothing after its handshake.
    let stalled = connect(&host, &sockets[0].0, SOCKETS).await;
    let together = Arc::new(Barrier::new(SOCKETS));
    let clients = sockets.into_iter().enumerate().map(|(at, (_, socket))| {
        let part = if at % 2 == 0 { Part::Prompts } else { Part::Listens };
        tokio::spawn(follow(socket, part, Arc::clone(&together), begun))
    });
    let mut delays = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        delays.extend(client.await.expect("a client"));
    }
    let used = resident(host.child.id());
    drop(stalled);
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize] as f64 / 1_000.0;
    println!(
        "{SOCKETS} sockets, {TOKENS_A_SECOND} tokens a second each, {seconds} s, one more that does not read"
    );
    println!(
        "tokens that arrived        {:>10} of {}",
        delays.len(),
        SOCKETS as u64 * seconds * TOKENS_A_SECOND
    );
    println!("added latency p50          {:>10.1} ms", at(0.5));
    println!("added latency p99          {:>10.1} ms", at(0.99));
    println!("added latency, the longest {:>10.1} ms", at(1.0));
    println!("memory of an open socket   {:>10.0} KiB", opened.saturating_sub(empty) as f64 / SOCKETS as f64);
    println!("memory of one after that   {:>10.0} KiB", used.saturating_sub(empty) as f64 / SOCKETS as f64);
}

/// A model that says the moment, in microseconds since the beginning, so many times.
async fn serve_model(begun: Instant, tokens: u64) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = move || async move {
        let every = Duration::from_micros(1_000_000 / TOKENS_A_SECOND);
        let start = tokio::time::Instant::now();
        let chunks = futures::stream::iter(0..=tokens).then(move |at| async move {
            tokio::time::sleep_until(start + every * u32::try_from(at).unwrap_or(u32::MAX)).await;
            let delta = if at == tokens {
                json!({})
            } else {
                json!({ "content": format!("{} ", begun.elapsed().as_micros()) })
            };
            let finish = (at == tokens).then_some("stop");
            let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
                                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
            let end = if at == tokens { "data: [DONE]\n\n" } else { "" };
            Ok::<_, Infallible>(Bytes::from(format!("data: {chunk}\n\n{end}")))
        });
        Response::builder()
            .header("content-type", "text/event-stream")
            .body(Body::from_stream(chunks))
            .expect("an answer")
    };
    tokio::spawn(async move {
        // It ends with the process.
        let _ = axum::serve(listener, Router::new().fallback(answer)).await;
    });
    address
}

fn start(place: &tempfile::TempDir, model: SocketAddr) -> Host {
    let program = std::env::var_os("BB_SERVER").unwrap_or_else(|| env!("CARGO_BIN_EXE_breadboard-ls").into());
    let workspace = place.path().join("workspace");
    std::fs::create_dir(&workspace).expect("a folder");
    let mut child = Command::new(program)
        .args(["engine", "--listen=127.0.0.1:0", "--trust", "--model=m", "--model-provider=openai"])
        .arg(format!("--model-url=http://{model}/v1"))
        .arg(format!("--workspace={}", workspace.display()))
        .arg(format!("--state-dir={}", place.path().join("state").display()))
        .env("NO_PROXY", "127.0.0.1")
        .env_remove("BREADBOARD_API_URL")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the host starts");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let first = lines.next().expect("a line").expect("text");
    std::thread::spawn(move || lines.for_each(drop));
    let rest = first.split_once("Listening on ").expect("an address").1;
    let (url, rest) = rest.split_once("; the token is in ").expect("where the token is");
    let token = std::fs::read_to_string(rest.trim_end_matches('.')).expect("a token").trim().to_owned();
    Host { child, url: url.to_owned(), token }
}

async fn session(host: &Host) -> String {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let bearer = format!("Bearer {}", host.token);
    let listed =
        client.get(format!("{}/v1/workspaces", host.url)).header("authorization", &bearer).send().await;
    let workspaces: Value = listed.expect("an answer").json().await.expect("JSON");
    let wanted = json!({ "workspace_id": workspaces[0]["id"] }).to_string();
    let made = client
        .post(format!("{}/v1/sessions", host.url))
        .header("authorization", &bearer)
        .header("content-type", "application/json")
        .body(wanted)
        .send()
        .await;
    let made: Value = made.expect("an answer").json().await.expect("JSON");
    made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

async fn connect(host: &Host, session: &str, at: usize) -> Socket {
    let url = format!("{}/v1/sessions/{session}/stream", host.url.replace("http://", "ws://"));
    let mut request = url.into_client_request().expect("a request");
    let bearer = format!("Bearer {}", host.token).parse().expect("a header");
    request.headers_mut().insert("authorization", bearer);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.expect("connects");
    let hello = json!({ "type": "client.hello", "client_info": { "name": format!("bench {at}"), "version": "1",
                        "capabilities": ["token_pieces"] } });
    socket.send(Message::Text(hello.to_string().into())).await.expect("is sent");
    loop {
        let message = socket.next().await.expect("a message").expect("a message");
        if message.to_text().is_ok_and(|text| text.contains("\"session.state\"")) {
            return socket;
        }
    }
}

/// What a client does in its session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Prompts,
    Listens,
}

/// Prompts with all others, or listens, and gives how long each token took, in microseconds.
async fn follow(mut socket: Socket, part: Part, together: Arc<Barrier>, begun: Instant) -> Vec<u64> {
    together.wait().await;
    if part == Part::Prompts {
        let prompt = json!({ "type": "client.user_message", "message": "go on", "context": {} });
        socket.send(Message::Text(prompt.to_string().into())).await.expect("is sent");
    }
    let mut delays = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        let Ok(text) = message.to_text() else { continue };
        let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
        match message["type"].as_str() {
            Some("assistant.token") => {
                let now = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                let moments = message["token"].as_str().unwrap_or_default().split_whitespace();
                delays.extend(
                    moments.filter_map(|moment| Some(now.saturating_sub(moment.parse::<u64>().ok()?))),
                );
            }
            Some("assistant.message_final") => break,
            _ => {}
        }
    }
    delays
}

/// KiB that a process has in memory; 0 where the system does not say.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
