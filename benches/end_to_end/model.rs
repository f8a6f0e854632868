//! A model on loopback whose answers have a given number of one-byte pieces, written as fast as they are taken.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The model. It serves until the process ends.
pub struct Model {
    pub url: String,
    /// Pieces that were written so far.
    pub written: Arc<AtomicUsize>,
}

impl Model {
    /// Starts one whose first answer has `first` pieces, and every further one `pieces`.
    pub fn start(first: usize, pieces: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let written = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&written);
        std::thread::spawn(move || {
            for (answer, stream) in listener.incoming().flatten().enumerate() {
                let counter = Arc::clone(&counter);
                let pieces = if answer == 0 { first } else { pieces };
                // A client that goes away ends its own answer only.
                std::thread::spawn(move || serve(stream, pieces, &counter).ok());
            }
        });
        Self { url, written }
    }
}

fn serve(stream: TcpStream, pieces: usize, written: &AtomicUsize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0usize;
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
    std::io::copy(&mut reader.by_ref().take(length as u64), &mut std::io::sink())?;

    let mut out = BufWriter::with_capacity(32 << 10, stream);
    out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let shell = |delta: &str, end: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\
             \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{end}}}]}}\n\n"
        )
    };
    let piece = shell("{\"content\":\"x\"}", "null");
    for _ in 0..pieces {
        out.write_all(piece.as_bytes())?;
        written.fetch_add(1, Ordering::Relaxed);
    }
    out.write_all(shell("{}", "\"stop\"").as_bytes())?;
    out.write_all(b"data: [DONE]\n\n")?;
    out.flush()
}
