//! A model on loopback whose answers end when the test says so.
//!
//! Owns the sockets. A prompt that contains `hold` gets three pieces and then no more until `let_go`; every other one is
//! answered at once. Never knows a window.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

/// How often answers were let go; those that began before end.
#[derive(Default)]
struct Gate {
    times: Mutex<u64>,
    changed: Condvar,
}

/// A running model. It lives as long as the test process.
pub struct Model {
    url: String,
    gate: Arc<Gate>,
}

impl Model {
    /// Starts it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let gate = Arc::new(Gate::default());
        let of_all = Arc::clone(&gate);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let gate = Arc::clone(&of_all);
                // A window that was killed hears nothing any more.
                std::thread::spawn(move || drop(serve(stream, &gate)));
            }
        });
        Self { url, gate }
    }

    /// The setting that leads here.
    pub fn setting(&self) -> Value {
        json!({ "provider": "openai", "name": "fake", "url": self.url })
    }

    /// Lets every answer that is held come to its end.
    pub fn let_go(&self) {
        *self.gate.times.lock().unwrap() += 1;
        self.gate.changed.notify_all();
    }
}

fn serve(stream: TcpStream, gate: &Gate) -> std::io::Result<()> {
    let before = *gate.times.lock().unwrap();
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let last = body["messages"].as_array().and_then(|all| all.last()).map(|last| last["content"].to_string());
    let mut out = stream;
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    for piece in ["one ", "two ", "three "] {
        say(&mut out, &json!({ "content": piece }), Value::Null)?;
    }
    if last.is_some_and(|text| text.contains("hold")) {
        let times = gate.times.lock().unwrap();
        drop(gate.changed.wait_while(times, |times| *times == before).unwrap());
    }
    say(&mut out, &json!({ "content": "end." }), Value::Null)?;
    say(&mut out, &json!({}), json!("stop"))?;
    out.write_all(b"data: [DONE]\n\n")?;
    out.shutdown(std::net::Shutdown::Write)
}

fn say(out: &mut TcpStream, delta: &Value, finish: Value) -> std::io::Result<()> {
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    out.write_all(format!("data: {chunk}\n\n").as_bytes())
}
