//! A simulator, an HTTP client on it, and a reader of its streams that believes nothing.

use std::sync::Once;
use std::time::Duration;

use breadboard_ls::testing::simulate::breadboard::{Script, Simulator, SimulatorOptions};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// Longer than anything here takes; what hangs fails.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long silence must last to count as silence.
pub const SILENCE: Duration = Duration::from_millis(300);

pub struct Desk {
    pub simulator: Simulator,
    client: Client,
    token: Option<String>,
}

/// An answer: status, content type, body.
pub struct Answer {
    pub status: u16,
    pub kind: String,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// Status and body, to compare whole.
    pub fn pair(&self) -> (u16, Value) {
        (self.status, self.json())
    }
}

impl Desk {
    pub fn new(options: SimulatorOptions) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let simulator = Simulator::start(options, &Handle::current()).unwrap();
        // A connection that a restart broke is not taken again.
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self { simulator, client, token: None }
    }

    pub fn scripted(script: &Value) -> Self {
        let script = Some(Script::parse(&script.to_string()).unwrap());
        Self::new(SimulatorOptions { script, ..SimulatorOptions::default() })
    }

    pub fn plain() -> Self {
        Self::new(SimulatorOptions::default())
    }

    pub fn bearer(&mut self, token: Option<&str>) {
        self.token = token.map(str::to_owned);
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.simulator.base_url()));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        tokio::time::timeout(PATIENCE, request.send()).await.expect("an answer in time").unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        read(self.send(Method::GET, path, None, &[]).await).await
    }

    pub async fn get_owned(&self, path: String) -> Answer {
        self.get(&path).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        read(self.send(Method::POST, path, Some(body.to_string()), &[]).await).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        read(self.send(Method::DELETE, path, None, &[]).await).await
    }

    /// A new session's id.
    pub async fn create(&self, more: &Value) -> String {
        let mut body = json!({"config_path": "agent_configs/x.yaml", "task": ""});
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let answer = self.post("/v1/sessions", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["session_id"].as_str().unwrap().to_owned()
    }

    pub async fn input(&self, session: &str, content: &str) -> Answer {
        self.post(&format!("/v1/sessions/{session}/input"), &json!({"content": content})).await
    }

    pub async fn command(&self, session: &str, command: &str, payload: Value) -> Answer {
        let body = json!({"command": command, "payload": payload});
        self.post(&format!("/v1/sessions/{session}/command"), &body).await
    }

    pub async fn summary(&self, session: &str) -> Value {
        self.get(&format!("/v1/sessions/{session}")).await.json()
    }

    /// A stream that must open.
    pub async fn stream(&self, session: &str, query: &str) -> Stream {
        self.stream_with(session, query, &[]).await
    }

    pub async fn stream_with(&self, session: &str, query: &str, headers: &[(&str, &str)]) -> Stream {
        let path = format!("/v1/sessions/{session}/events{query}");
        let response = self.send(Method::GET, &path, None, headers).await;
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Stream { response, rest: Vec::new(), chunks: Vec::new() }
    }

    /// Waits for a condition on the simulator.
    pub async fn until(&self, what: &str, met: impl Fn(&Simulator) -> bool) {
        let waiting = async {
            while !met(&self.simulator) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
    }

    /// Waits until a session has logged so many events of a type.
    pub async fn logged(&self, session: &str, kind: &str, count: usize) {
        let what = format!("{count} times {kind}");
        self.until(&what, |simulator| {
            simulator.sent(session).iter().filter(|event| event.kind == kind).count() >= count
        })
        .await;
    }
}

async fn read(response: Response) -> Answer {
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned();
    let text = tokio::time::timeout(PATIENCE, response.text()).await.expect("a body that ends").unwrap();
    Answer { status, kind, text }
}

/// One frame as it stood on the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub id: Option<String>,
    pub data: String,
}

impl Frame {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("no JSON: {}", self.data))
    }

    pub fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }

    pub fn seq(&self) -> Option<u64> {
        serde_json::from_str::<Value>(&self.data).ok()?.get("seq")?.as_u64()
    }
}

/// How a stream went on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Frame(Frame),
    /// The body ended as it should.
    End,
    /// The connection broke.
    Broken,
    /// Nothing came for a while.
    Silence,
}

pub struct Stream {
    response: Response,
    rest: Vec<u8>,
    /// The chunks as they came.
    pub chunks: Vec<Vec<u8>>,
}

impl Stream {
    pub async fn next(&mut self) -> Next {
        self.within(PATIENCE).await
    }

    /// The next frame, or silence for a short while.
    pub async fn soon(&mut self) -> Next {
        self.within(SILENCE).await
    }

    async fn within(&mut self, patience: Duration) -> Next {
        loop {
            if let Some(frame) = self.frame() {
                return Next::Frame(frame);
            }
            match tokio::time::timeout(patience, self.response.chunk()).await {
                Err(_) => return Next::Silence,
                Ok(Err(_)) => return Next::Broken,
                Ok(Ok(None)) => return Next::End,
                Ok(Ok(Some(chunk))) => {
                    self.rest.extend_from_slice(&chunk);
                    self.chunks.push(chunk.to_vec());
                }
            }
        }
    }

    fn frame(&mut self) -> Option<Frame> {
        let end = self.rest.windows(2).position(|pair| pair == b"\n\n")?;
        let whole: Vec<u8> = self.rest.drain(..end + 2).collect();
        let text = String::from_utf8(whole).unwrap();
        let mut frame = Frame { id: None, data: String::new() };
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("id: ") {
                frame.id = Some(id.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                frame.data.push_str(data);
            }
        }
        // What no script broke on purpose keeps our own schema of the engine's events.
        if let Ok(event @ Value::Object(_)) = serde_json::from_str(&frame.data) {
            crate::schemas::check(&event);
        }
        Some(frame)
    }

    /// The next frame; everything else fails.
    pub async fn frame_now(&mut self) -> Frame {
        match self.next().await {
            Next::Frame(frame) => frame,
            other => panic!("{other:?} instead of a frame"),
        }
    }

    /// All frames up to and with the first of this type.
    pub async fn through(&mut self, kind: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame_now().await;
            let last = frame.kind() == kind;
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    /// All frames up to silence, the end or a break, and which of these it was.
    pub async fn rest(&mut self) -> (Vec<Frame>, Next) {
        let mut frames = Vec::new();
        loop {
            match self.soon().await {
                Next::Frame(frame) => frames.push(frame),
                other => return (frames, other),
            }
        }
    }
}

/// Numbers of frames.
pub fn numbers(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter_map(Frame::seq).collect()
}

/// Types of frames.
pub fn kinds(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(Frame::kind).collect()
}
