//! An engine on loopback, in a process of its own, that sends what it has as fast as it is taken, or at a given rate.
//!
//! It speaks as much of the BreadBoard wire as a client needs to make a session and follow its stream. Everything is
//! rendered before a clock runs. `TCP_NODELAY` is set: an engine that sets none adds 40 ms to whatever is measured.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::mix::{self, MEAN, Mix, SESSION};

const CHUNK: usize = 16 << 10;

/// What a source sends to whoever opens the stream.
#[derive(Clone, Copy)]
pub enum Load {
    /// So many events of the mix.
    Flood(u64),
    /// So many events of one token each, so many a second; each says when it was written.
    Paced { count: u64, rate: u64 },
    /// So many events of so many bytes.
    Large { count: u64, bytes: u64 },
}

/// A running source.
pub struct Source {
    child: Child,
    pub url: String,
}

impl Source {
    pub fn start(load: Load) -> Self {
        let words = match load {
            Load::Flood(count) => ["flood".to_owned(), count.to_string(), "0".to_owned()],
            Load::Paced { count, rate } => ["paced".to_owned(), count.to_string(), rate.to_string()],
            Load::Large { count, bytes } => ["large".to_owned(), count.to_string(), bytes.to_string()],
        };
        let mut child = Command::new(std::env::current_exe().expect("this bench"))
            .args(["--child", "source"])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut url).expect("an address");
        Self { child, url: url.trim().to_owned() }
    }

    /// The stream of the session, from its beginning.
    pub fn stream_url(&self) -> String {
        format!("{}/v1/sessions/{SESSION}/events?replay=true", self.url)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The source itself.
pub fn child(arguments: &[String]) {
    let [kind, count, number] = arguments else { panic!("source <kind> <count> <number>") };
    let (count, number): (u64, u64) = (count.parse().expect("a number"), number.parse().expect("a number"));
    let load = match kind.as_str() {
        "flood" => Load::Flood(count),
        "paced" => Load::Paced { count, rate: number },
        "large" => Load::Large { count, bytes: number },
        other => panic!("no load {other}"),
    };
    let rendered = Arc::new(match load {
        // More would not fit into memory, and is rendered as it goes: that costs a tenth of what a client does.
        Load::Flood(count) if count <= 400_000 => Mix::new().stream(count),
        Load::Flood(_) | Load::Paced { .. } => Vec::new(),
        Load::Large { count, bytes } => {
            let mut out = Vec::new();
            mix::frame(1, "turn_start", "{}", &mut out);
            (2..count + 2).for_each(|seq| mix::large(seq, bytes as usize, &mut out));
            out
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("http://{}", listener.local_addr().expect("an address"));
    for stream in listener.incoming().flatten() {
        let rendered = Arc::clone(&rendered);
        // A client that goes away ends its own connection only.
        std::thread::spawn(move || serve(stream, load, &rendered).ok());
    }
}

fn serve(stream: TcpStream, load: Load, rendered: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut length = 0u64;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(digits) = line.strip_prefix("content-length:") {
                length = digits.trim().parse().unwrap_or(0);
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let one = format!("/v1/sessions/{SESSION}");
        let summary = format!(r#"{{"session_id":"{SESSION}","status":"running","metadata":{{}}}}"#);
        match (method, path.strip_prefix(one.as_str())) {
            ("GET", Some("/events")) => {
                out.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
                )?;
                // Who knows the end already gets nothing more.
                if !query.contains("from_id=") {
                    send(&mut out, load, rendered)?;
                }
                // Streams stay open when all is said, until the client goes.
                reader.read_line(&mut String::new())?;
                return Ok(());
            }
            ("GET", Some(_)) => answer(&mut out, "200 OK", &summary)?,
            ("POST", Some(_)) => answer(&mut out, "202 Accepted", r#"{"status":"accepted"}"#)?,
            ("POST", None) if path == "/v1/sessions" => answer(&mut out, "200 OK", &summary)?,
            ("GET", None) if path == "/v1/sessions" => answer(&mut out, "200 OK", "[]")?,
            ("GET", None) if path == "/health" => {
                answer(&mut out, "200 OK", r#"{"status":"ok","protocol_version":"1.0"}"#)?;
            }
            _ => answer(&mut out, "404 Not Found", r#"{"detail":"Not Found"}"#)?,
        }
    }
}

fn answer(out: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    out.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

fn send(out: &mut TcpStream, load: Load, rendered: &[u8]) -> std::io::Result<()> {
    match load {
        Load::Flood(count) if rendered.is_empty() => {
            let mix = Mix::new();
            let mut text = Vec::with_capacity(CHUNK + 64 * MEAN);
            for seq in 1..=count {
                mix.frame(seq, &mut text);
                if text.len() >= CHUNK || seq == count {
                    chunk(out, &text)?;
                    text.clear();
                }
            }
            Ok(())
        }
        Load::Flood(_) | Load::Large { .. } => rendered.chunks(CHUNK).try_for_each(|part| chunk(out, part)),
        Load::Paced { count, rate } => {
            let begun = Instant::now();
            let mut text = Vec::new();
            for seq in 1..=count {
                let due = begun + Duration::from_nanos(1_000_000_000 / rate * seq);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                text.clear();
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
                let (kind, payload) = match seq {
                    1 => ("turn_start", "{}".to_owned()),
                    _ => ("assistant.message.delta", format!(r#"{{"item_id":"m","delta":"at {now:020} "}}"#)),
                };
                mix::frame(seq, kind, &payload, &mut text);
                chunk(out, &text)?;
            }
            Ok(())
        }
    }
}

fn chunk(out: &mut TcpStream, text: &[u8]) -> std::io::Result<()> {
    let mut framed = Vec::with_capacity(text.len() + 16);
    write!(framed, "{:x}\r\n", text.len())?;
    framed.extend_from_slice(text);
    framed.extend_from_slice(b"\r\n");
    out.write_all(&framed)
}
