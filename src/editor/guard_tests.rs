//! The guard against good streams, bad streams and any cut of both.

use std::io::{BufReader, Read};

use proptest::prelude::*;
use serde_json::json;

use super::super::frame::{INVALID_REQUEST, RequestId};
use super::*;

/// Gives out a stream in pieces of the given sizes.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
    turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.sizes.get(self.turn % self.sizes.len().max(1)).copied().unwrap_or(1 << 20).max(1);
        self.turn += 1;
        let taken = size.min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..taken].copy_from_slice(&self.bytes[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}

fn read_all(bytes: &[u8], sizes: &[usize], cap: u64) -> Vec<Inbound> {
    let pieces = Pieces { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), turn: 0 };
    let mut guard = Guard::with_cap(BufReader::new(pieces), cap);
    let mut all = Vec::new();
    loop {
        match guard.next() {
            Inbound::End => return all,
            inbound => all.push(inbound),
        }
    }
}

fn read(bytes: impl AsRef<[u8]>) -> Vec<Inbound> {
    read_all(bytes.as_ref(), &[], MAX_FRAME)
}

fn note(method: &str) -> Inbound {
    Inbound::Message(Message::Notification { method: method.to_owned(), params: None })
}

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn note_frame(method: &str) -> String {
    framed(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#))
}

/// Numbers of refusals and methods of messages.
fn gist(all: &[Inbound]) -> Vec<String> {
    all.iter()
        .map(|inbound| match inbound {
            Inbound::Message(Message::Notification { method, .. } | Message::Request { method, .. }) => {
                method.clone()
            }
            Inbound::Message(Message::Response { id, .. }) => format!("response {id}"),
            Inbound::Refused(refusal) => refusal.number.to_string(),
            Inbound::TooLarge { bytes, .. } => format!("too large {bytes}"),
            Inbound::End => "end".to_owned(),
        })
        .collect()
}

#[test]
fn headers_are_read_leniently_where_it_does_no_harm() {
    let body = r#"{"jsonrpc":"2.0","method":"x"}"#;
    let n = body.len();
    for header in [
        format!("Content-Length: {n}\r\n\r\n"),
        format!("CONTENT-length:{n}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"),
        format!("Content-Type: x\nContent-Length:   {n}  \n\n"),
        format!("Content-Length: {n}\r\nContent-Length: {n}\r\n\r\n"),
        format!("\r\n\r\nContent-Length: {n}\r\n\r\n"),
    ] {
        assert_eq!(read(format!("{header}{body}{header}{body}")), [note("x"), note("x")], "{header:?}");
    }
}

#[test]
fn a_bad_header_is_answered_once_and_the_next_frame_is_found() {
    let bad_body = r#"{"jsonrpc":"2.0","method":"bad","text":"Content-Length: 5"}"#;
    let huge = "x".repeat(100_000);
    for bad in [
        format!("Content-Type: x\r\n\r\n{bad_body}"),
        format!("Content-Length: many\r\n\r\n{bad_body}"),
        format!("Content-Length: -5\r\n\r\n{bad_body}"),
        format!("Content-Length: 68719476736\r\n\r\n{bad_body}"),
        format!("Content-Length: 99999999999999999999999\r\n\r\n{bad_body}"),
        "warning: loaded\nnote to self\n".to_owned(),
        "some stray text\r\n".to_owned(),
        format!("{huge}\n"),
        huge,
        "X: ".to_owned() + &"y".repeat(9_000) + "\r\n\r\n",
        "glued".to_owned(),
    ] {
        let stream = format!("{}{bad}{}{}", note_frame("a"), note_frame("b"), note_frame("c"));
        assert_eq!(gist(&read(&stream)), ["a", "-32700", "b", "c"], "{:.60}", bad);
    }
}

#[test]
fn a_wrong_length_costs_the_frame_and_not_the_connection() {
    let short = format!("Content-Length: 5\r\n\r\n{}", r#"{"jsonrpc":"2.0","method":"x"}"#);
    assert_eq!(gist(&read(format!("{short}{}", note_frame("b")))), ["-32700", "-32700", "b"]);

    let long = format!("Content-Length: 40\r\n\r\n{}", r#"{"jsonrpc":"2.0","method":"x"}"#);
    let all = gist(&read(format!("{long}{}{}", note_frame("b"), note_frame("c"))));
    assert_eq!(all.first().map(String::as_str), Some("-32700"));
    assert_eq!(all.last().map(String::as_str), Some("c"));
}

#[test]
fn a_bad_body_is_answered_and_the_next_frame_is_read() {
    let stream =
        [framed("{"), framed("[{}]"), framed(r#"{"jsonrpc":"2.0","id":3}"#), note_frame("b")].concat();
    let all = read(stream);
    assert_eq!(gist(&all), ["-32700", "-32600", "-32600", "b"]);
    let Inbound::Refused(refusal) = &all[2] else { panic!("{all:?}") };
    assert_eq!((refusal.number, refusal.id.clone()), (INVALID_REQUEST, Some(RequestId::Number(3))));
}

#[test]
fn a_frame_above_the_cap_is_skipped_and_named() {
    let text = "Content-Length: 3\\r\\n".repeat(100);
    let body = json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": {
        "text": text, "uri": "file:///a" } } })
    .to_string();
    let stream = format!("{}{}{}", note_frame("a"), framed(&body), note_frame("b"));
    for sizes in [vec![1], vec![17, 3], vec![]] {
        assert_eq!(
            read_all(stream.as_bytes(), &sizes, 1_000),
            [
                note("a"),
                Inbound::TooLarge {
                    skimmed: Skimmed {
                        method: Some("textDocument/didOpen".to_owned()),
                        id: None,
                        uri: Some("file:///a".to_owned())
                    },
                    bytes: body.len() as u64
                },
                note("b"),
            ]
        );
    }
}

#[test]
fn an_end_in_the_middle_is_an_end() {
    let whole = note_frame("a");
    for cut in 0..whole.len() {
        assert_eq!(read(&whole[..cut]), [], "{cut}");
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z/]{1,12}".prop_map(|method| note_frame(&method).into_bytes()),
        1 => Just(b"Content-Length: x\r\n\r\n{}".to_vec()),
        1 => Just(framed("{").into_bytes()),
        1 => Just(framed("[]").into_bytes()),
        1 => Just(framed(&" ".repeat(3_000)).into_bytes()),
        1 => Just(b"Content-Type: q\r\n\r\n".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..30),
    ]
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_gives_the_same(
        pieces in prop::collection::vec(piece(), 0..12),
        sizes in prop::collection::vec(1_usize..50, 1..20),
    ) {
        let stream = pieces.concat();
        prop_assert_eq!(read_all(&stream, &sizes, 2_000), read_all(&stream, &[], 2_000));
    }

    #[test]
    fn garbage_never_hides_the_frame_after_it(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
        // Garbage that happens to hold a whole header would rightly claim bytes; random bytes do not.
        let stream = [garbage, b"\n".to_vec(), note_frame("here").into_bytes()].concat();
        let all = read(stream);
        prop_assert_eq!(all.last(), Some(&note("here")));
    }
}
