//! A line between a client and a host that can be cut.
//!
//! Owns the connections through it. While it is cut nobody gets through.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// See the module.
pub struct Relay {
    /// Where clients connect to.
    pub url: String,
    line: Arc<Mutex<Line>>,
}

#[derive(Default)]
struct Line {
    is_cut: bool,
    /// What clients say is taken and lost.
    is_deaf: bool,
    /// Bytes of clients that were lost so far.
    lost: usize,
    open: Vec<TcpStream>,
}

impl Relay {
    /// To a host at this address.
    pub fn to(host_url: &str) -> Self {
        let host = host_url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let line = Arc::<Mutex<Line>>::default();
        let served = Arc::clone(&line);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut line = served.lock().expect("the line");
                // A client that is dropped here meets a closed connection.
                if line.is_cut {
                    continue;
                }
                let Ok(host) = TcpStream::connect(&host) else { continue };
                line.open
                    .extend([client.try_clone().expect("a socket"), host.try_clone().expect("a socket")]);
                let (back, forth) =
                    (host.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
                let deaf = Arc::clone(&served);
                std::thread::spawn(move || pass(client, host, Some(&deaf)));
                std::thread::spawn(move || pass(back, forth, None));
            }
        });
        Self { url, line }
    }

    /// Ends every connection, and lets none through.
    pub fn cut(&self) {
        let mut line = self.line.lock().expect("the line");
        line.is_cut = true;
        for socket in line.open.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Takes what clients say from now on, and loses it.
    pub fn goes_deaf(&self) {
        self.line.lock().expect("the line").is_deaf = true;
    }

    /// Bytes of clients that were lost so far.
    pub fn lost(&self) -> usize {
        self.line.lock().expect("the line").lost
    }

    /// Lets everything through again.
    pub fn mend(&self) {
        let mut line = self.line.lock().expect("the line");
        (line.is_cut, line.is_deaf) = (false, false);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, line: Option<&Mutex<Line>>) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(line) = line {
            let mut line = line.lock().expect("the line");
            if line.is_deaf {
                line.lost += count;
                continue;
            }
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
