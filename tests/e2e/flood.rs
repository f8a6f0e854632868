//! A model endpoint that does what a story needs: floods, stops in the middle, calls tools, fails, redirects.
//!
//! Speaks OpenAI's streaming chat completions over plain sockets, one thread a connection. Owns what it was asked.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Request line and headers, lower case names.
    pub head: String,
    /// The body.
    pub body: Value,
}

impl Asked {
    /// Content of the last message.
    pub fn last(&self) -> &str {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.last().and_then(|message| message["content"].as_str()).unwrap_or_default()
    }
}

/// What it answers.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These pieces, then the end.
    Text(Vec<String>),
    /// A piece so many times, as fast as the socket takes them, then the end.
    Flood(String, usize),
    /// These pieces, then one tool call.
    Call(Vec<String>, &'static str, Value),
    /// An error.
    Status(u16, String),
    /// Somewhere else.
    Redirect(String),
}

/// The endpoint.
pub struct Model {
    /// Base URL.
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// One message for every answer that was written, and read by the server, as a whole.
    pub written: Receiver<()>,
}

impl Model {
    /// Answers the nth request (from 0) with what `script` says. It lives as long as the test process.
    pub fn start(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (done, written) = channel();
        let (log, script) = (Arc::clone(&asked), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, script, done) = (Arc::clone(&log), Arc::clone(&script), done.clone());
                std::thread::spawn(move || {
                    // A server that was killed cuts the connection.
                    let _ = serve(stream, &log, &*script, &done);
                });
            }
        });
        Self { url, asked, written }
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The setting that leads here.
    pub fn setting(&self) -> Value {
        json!({ "provider": "openai", "name": "fake", "url": self.url })
    }
}

fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<Asked>>,
    script: &dyn Fn(usize, &Asked) -> Answer,
    done: &Sender<()>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if !head.is_empty() => {
                let name = name.to_ascii_lowercase();
                if name == "content-length" {
                    length = value.trim().parse().expect("a length");
                }
                head.push_str(&format!("{name}:{value}\n"));
            }
            _ => head.push_str(&format!("{line}\n")),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked = Asked { head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    let at = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len() - 1
    };
    let mut out = BufWriter::with_capacity(64 << 10, stream);
    match script(at, &asked) {
        Answer::Text(pieces) => {
            begin(&mut out)?;
            pieces.iter().try_for_each(|piece| say(&mut out, piece))?;
            end(&mut out, "stop")?;
        }
        Answer::Flood(piece, count) => {
            begin(&mut out)?;
            let frame = delta(&json!({ "content": piece }));
            (0..count).try_for_each(|_| out.write_all(frame.as_bytes()))?;
            end(&mut out, "stop")?;
        }
        Answer::Call(pieces, name, arguments) => {
            begin(&mut out)?;
            pieces.iter().try_for_each(|piece| say(&mut out, piece))?;
            let call = json!({ "tool_calls": [{
                "index": 0, "id": format!("call-{at}"), "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() },
            }] });
            out.write_all(delta(&call).as_bytes())?;
            end(&mut out, "tool_calls")?;
        }
        Answer::Status(status, body) => write!(
            out,
            "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?,
        Answer::Redirect(to) => write!(
            out,
            "HTTP/1.1 307 Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?,
    }
    out.flush()?;
    out.get_ref().shutdown(std::net::Shutdown::Write)?;
    // The other side closes when it has read all of it.
    let _ = reader.read(&mut [0])?;
    // A story that is over does not listen any more.
    let _ = done.send(());
    Ok(())
}

fn begin(out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
}

fn say(out: &mut impl Write, piece: &str) -> std::io::Result<()> {
    out.write_all(delta(&json!({ "content": piece })).as_bytes())?;
    out.flush()
}

fn end(out: &mut impl Write, reason: &str) -> std::io::Result<()> {
    let last = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake",
        "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    write!(out, "data: {last}\n\ndata: [DONE]\n\n")
}

fn delta(delta: &Value) -> String {
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    format!("data: {chunk}\n\n")
}
