//! A model's endpoint that writes whatever an attack wants, byte by byte if need be.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::PATIENCE;

/// Writes one answer. An error means that the server closed the connection, which ends the attack.
pub type Serve = Arc<dyn Fn(&mut TcpStream) -> io::Result<()> + Send + Sync>;

/// Who the endpoint pretends to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Provider {
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// One event of its stream.
    pub fn event(self, data: &str) -> String {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => format!("data: {data}\n\n"),
            Self::Ollama => format!("{data}\n"),
        }
    }

    /// A piece of text.
    pub fn text(self, text: &str) -> Value {
        match self {
            Self::OpenAi => json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }),
            Self::Anthropic => {
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
            }
            Self::Gemini => json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] }),
            Self::Ollama => json!({ "message": { "role": "assistant", "content": text }, "done": false }),
        }
    }

    /// A call whose number is this text, of a tool with this name, with arguments that are this JSON.
    pub fn call(self, number: &str, name: &str, arguments: &str) -> String {
        let text = json!(arguments);
        match self {
            Self::OpenAi => format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{number},"id":"a","type":"function","function":{{"name":"{name}","arguments":{text}}}}}]}}}}]}}"#
            ),
            Self::Anthropic => format!(
                r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"tool_use","id":"a{number}","name":"{name}","input":{arguments}}}}}"#
            ),
            Self::Gemini => format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"{name}","args":{arguments}}}}}]}}}}]}}"#
            ),
            Self::Ollama => format!(
                r#"{{"message":{{"tool_calls":[{{"function":{{"name":"{name}","arguments":{arguments}}}}}]}}}}"#
            ),
        }
    }

    /// The events that end a reply.
    pub fn end(self) -> String {
        match self {
            Self::OpenAi => {
                let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
                format!("data: {last}\n\ndata: [DONE]\n\n")
            }
            Self::Anthropic => {
                let last = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
                format!("data: {last}\n\ndata: {{\"type\":\"message_stop\"}}\n\n")
            }
            Self::Gemini => self.event(r#"{"candidates":[{"finishReason":"STOP"}]}"#),
            Self::Ollama => self.event(r#"{"done":true,"done_reason":"stop"}"#),
        }
    }
}

/// The endpoint. What was not ordered by `next` is answered with `fine`, by the provider of the request's path.
pub struct Endpoint {
    address: SocketAddr,
    attacks: Arc<Mutex<VecDeque<Serve>>>,
    asked: Receiver<()>,
}

impl Endpoint {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let attacks: Arc<Mutex<VecDeque<Serve>>> = Arc::default();
        let (to_asked, asked) = mpsc::channel();
        let ordered = Arc::clone(&attacks);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (ordered, to_asked) = (Arc::clone(&ordered), to_asked.clone());
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let Ok(path) = read_request(&stream) else { return };
                    let attack = ordered.lock().expect("attacks").pop_front();
                    // The test may be over.
                    let _ = to_asked.send(());
                    // An error is the server's closing of the connection.
                    let _ = match attack {
                        Some(serve) => serve(&mut stream),
                        None => fine(&mut stream, &path),
                    };
                });
            }
        });
        Self { address, attacks, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the next request gets.
    pub fn next(&self, serve: Serve) {
        self.attacks.lock().expect("attacks").push_back(serve);
        while self.asked.try_recv().is_ok() {}
    }

    /// Waits for a request.
    pub fn asked(&self) {
        self.asked.recv_timeout(PATIENCE).expect("the endpoint is asked");
    }
}

/// Reads a request to its end; gives its path.
fn read_request(stream: &TcpStream) -> io::Result<String> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    Ok(first.split(' ').nth(1).unwrap_or_default().to_owned())
}

/// The head of an answer whose body ends with the connection.
pub fn head(stream: &mut TcpStream, status: &str, headers: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n").as_bytes())
}

/// The head of a stream.
pub fn streaming(stream: &mut TcpStream) -> io::Result<()> {
    head(stream, "200 OK", "content-type: text/event-stream\r\n")
}

/// Writes the same bytes until the server closes the connection.
pub fn forever(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    let block = piece.repeat((64 * 1024 / piece.len()).max(1));
    loop {
        stream.write_all(&block)?;
    }
}

/// Writes the same bytes again and again, slowly.
pub fn drip(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    loop {
        stream.write_all(piece)?;
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits until the server closes the connection.
pub fn hold(stream: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 64];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}

fn fine(stream: &mut TcpStream, path: &str) -> io::Result<()> {
    let provider = match path {
        path if path.contains("/messages") => Provider::Anthropic,
        path if path.contains(":streamGenerateContent") => Provider::Gemini,
        path if path.contains("/api/chat") => Provider::Ollama,
        _ => Provider::OpenAi,
    };
    streaming(stream)?;
    stream.write_all(provider.event(&provider.text("fine").to_string()).as_bytes())?;
    stream.write_all(provider.end().as_bytes())
}
