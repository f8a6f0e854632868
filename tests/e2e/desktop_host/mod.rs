//! The desktop host as its clients have it: the real binary, plain HTTP, plain WebSockets.
//!
//! Owns the process and its token. Nothing here sleeps: every wait is for a message, or for the end of the process.

mod first_steps;
mod generated;
mod hostile;
mod index;
mod limits;
mod pairing;
mod policy;
pub mod relay;
mod routes;
mod slow;
mod sockets;
mod tls;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::harness::PATIENCE;
use crate::harness::own_time::OwnTime;
use crate::model::Model;

/// A running host.
pub struct Host {
    child: Child,
    /// `http://127.0.0.1:…`.
    pub url: String,
    /// What opens it.
    pub token: String,
    pub workspace: Arc<TempDir>,
    pub state: Arc<TempDir>,
    /// What it said behind its first line.
    said: Arc<Mutex<Vec<String>>>,
    runtime: Runtime,
}

impl Host {
    /// With a model of the story, trusted.
    pub fn of(model: &Model) -> Self {
        let place = || Arc::new(tempfile::tempdir().expect("a folder"));
        Self::start_in(place(), place(), model)
    }

    /// In the directories of an earlier one.
    pub fn start_in(workspace: Arc<TempDir>, state: Arc<TempDir>, model: &Model) -> Self {
        Self::with(workspace, state, &words_for(model))
    }

    /// The same, killed and started again, at the same address.
    #[cfg(unix)]
    pub fn killed_and_back(mut self, model: &Model) -> Self {
        self.child.kill().expect("is killed");
        self.child.wait().expect("ends");
        let address = self.url.trim_start_matches("http://");
        let words = [words_for(model), vec![format!("--listen={address}")]].concat();
        Self::with(Arc::clone(&self.workspace), Arc::clone(&self.state), &words)
    }

    /// With further arguments.
    pub fn with(workspace: Arc<TempDir>, state: Arc<TempDir>, words: &[String]) -> Self {
        // The second one in this process is refused, and then the first one stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let anywhere =
            (!words.iter().any(|word| word.starts_with("--listen="))).then_some("--listen=127.0.0.1:0");
        let mut child =
            command(&workspace, &state).args(anywhere).args(words).spawn().expect("the host starts");
        let stderr = child.stderr.take().expect("stderr");
        let mut lines = BufReader::new(stderr).lines();
        let first = lines.next().expect("a line").expect("text");
        let rest = first.split_once("Listening on ").unwrap_or_else(|| panic!("{first}")).1;
        let (url, rest) = rest.split_once("; the token is in ").expect("where the token is");
        let token = std::fs::read_to_string(PathBuf::from(rest.trim_end_matches('.'))).expect("a token");
        let said = Arc::<Mutex<Vec<String>>>::default();
        let saying = Arc::clone(&said);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| saying.lock().expect("what it says").push(line));
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        Self { child, url: url.to_owned(), token: token.trim().to_owned(), workspace, state, said, runtime }
    }

    /// The answer of a route: its status and its JSON, `null` where it is none.
    pub fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask_with(method, path, body.map(|body| body.to_string()), &[("authorization", &self.bearer())])
    }

    /// The same with these headers and this text.
    pub fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let method = method.to_uppercase().parse().expect("a method");
        let mut request = client.request(method, format!("{}{path}", self.url)).timeout(PATIENCE);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        self.runtime.block_on(async {
            let answer = request.send().await.expect("an answer");
            let status = answer.status().as_u16();
            let text = answer.text().await.expect("a body");
            (status, serde_json::from_str(&text).unwrap_or(Value::Null))
        })
    }

    /// The answer of a route that answers well.
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("get", path, None);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// How many messages of clients came so far. Whatever is asked for afterwards comes behind them.
    pub fn messages_received(&self) -> u64 {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let request = client.get(format!("{}/metrics", self.url)).header("authorization", self.bearer());
        let text = self
            .runtime
            .block_on(async { request.send().await.expect("an answer").text().await.expect("a body") });
        let line =
            text.lines().find(|line| !line.starts_with('#') && line.contains("messages_received_total"));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        count.unwrap_or_else(|| panic!("no such count: {text}"))
    }

    /// As a header says it.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// The id of the workspace.
    pub fn workspace_id(&self) -> String {
        self.get("/v1/workspaces")[0]["id"].as_str().expect("an id").to_owned()
    }

    /// A new session.
    pub fn session(&self) -> String {
        let body = json!({ "workspace_id": self.workspace_id() });
        let (status, made) = self.ask("post", "/v1/sessions", Some(body));
        assert_eq!(status, 200, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    }

    /// A socket of a session, with these headers; or the status with which it is refused.
    pub fn connect(&self, session: &str, headers: &[(&str, &str)]) -> Result<Socket<'_>, u16> {
        use tokio_tungstenite::tungstenite::Error;
        let url = format!("{}/v1/sessions/{session}/stream", self.url.replace("http://", "ws://"));
        let mut request = url.into_client_request().expect("a request");
        for (name, value) in headers {
            let name: tokio_tungstenite::tungstenite::http::HeaderName = name.parse().expect("a name");
            request.headers_mut().insert(name, value.parse().expect("a value"));
        }
        let connected = self.runtime.block_on(async { tokio_tungstenite::connect_async(request).await });
        match connected {
            Ok((stream, _)) => Ok(Socket { stream, host: self, heard: Vec::new() }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// A socket that said hello.
    pub fn client(&self, session: &str, name: &str) -> Socket<'_> {
        let mut socket = self.connect(session, &[("authorization", &self.bearer())]).expect("connects");
        socket.say(&hello(name));
        socket.wait("session.state");
        socket
    }

    /// Tells the host to end; how long that took by itself, and its code.
    #[cfg(unix)]
    pub fn stop(&mut self) -> (Duration, Option<i32>) {
        let mut time = OwnTime::of_programs();
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("is told");
        let status = self.child.wait().expect("ends");
        (time.taken(), status.code())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Words for a host with a model of the story, trusted.
fn words_for(model: &Model) -> Vec<String> {
    let chosen = model.options(true);
    let url = chosen["model"]["url"].as_str().expect("a url").to_owned();
    let words = ["--trust", "--model=story", "--model-provider=openai", &format!("--model-url={url}")];
    words.map(str::to_owned).to_vec()
}

/// The host's command line, so far.
pub fn command(workspace: &TempDir, state: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command
        .arg("engine")
        .arg(format!("--workspace={}", workspace.path().display()))
        .arg(format!("--state-dir={}", state.path().display()))
        .env_remove("BREADBOARD_API_URL")
        .env_remove("BREADBOARD_API_TOKEN")
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// The handshake of a client.
pub fn hello(name: &str) -> Value {
    json!({ "type": "client.hello", "client_info": { "name": name, "version": "1", "capabilities": ["diff_preview"] } })
}

/// A prompt.
pub fn prompt(text: &str) -> Value {
    json!({ "type": "client.user_message", "message": text, "context": {} })
}

/// One socket.
pub struct Socket<'a> {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    host: &'a Host,
    /// Everything that came, in order.
    pub heard: Vec<Value>,
}

impl Socket<'_> {
    /// Sends a message.
    pub fn say(&mut self, message: &Value) {
        self.send(Message::Text(message.to_string().into()));
    }

    /// Sends anything.
    pub fn send(&mut self, message: Message) {
        self.host.runtime.block_on(self.stream.send(message)).expect("is sent");
    }

    /// The next message; `Err` with the code when the socket is closed.
    pub fn next(&mut self) -> Result<Value, u16> {
        loop {
            let next = self
                .host
                .runtime
                .block_on(async { tokio::time::timeout(PATIENCE, self.stream.next()).await });
            match next.expect("a message in time") {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).expect("JSON");
                    self.heard.push(message.clone());
                    return Ok(message);
                }
                Some(Ok(Message::Close(Some(frame)))) => return Err(frame.code.into()),
                Some(Ok(Message::Close(None)) | Err(_)) | None => return Err(0),
                Some(Ok(_)) => {}
            }
        }
    }

    /// Waits for the next message of a type.
    pub fn wait(&mut self, kind: &str) -> Value {
        self.wait_for(kind, |_| true)
    }

    /// Waits for the next message of a type that fits.
    pub fn wait_for(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self
                .next()
                .unwrap_or_else(|code| panic!("closed with {code} before {kind}: {:#?}", self.heard));
            if message["type"] == kind && fits(&message) {
                return message;
            }
        }
    }

    /// Waits for an error, and gives its code.
    pub fn refusal(&mut self) -> String {
        self.wait("server.error")["error"]["code"].as_str().expect("a code").to_owned()
    }

    /// The types of everything that came.
    pub fn kinds(&self) -> Vec<&str> {
        self.heard.iter().filter_map(|message| message["type"].as_str()).collect()
    }
}
