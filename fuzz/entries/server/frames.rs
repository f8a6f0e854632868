//! The frame guard, and the scanner of messages that are too large.
//!
//! What comes out does not depend on how the bytes came; a good frame comes out as it is, also behind garbage; memory stays
//! small however much comes; the scanner finds what a parser finds.

use breadboard_ls::testing::editor::{Guard, Inbound, Message, RequestId, Skimmed, Skimmer};
use serde_json::Value;

use crate::entries::memory::peak_of;
use crate::entries::pieces::{Stream, once_in, pieces};

/// Largest message here.
const CAP: u64 = 2_000;
/// What a guard may hold: a message built from `CAP` bytes, a header, an error about them.
const MOST_HELD: usize = 512 << 10;
/// More than it may hold.
const FILLER: usize = 2 << 20;
/// Longest string that the scanner is sure to keep.
const SKIMMED_BYTES: usize = 8 << 10;

/// See the module.
pub fn run(data: &[u8]) {
    let whole = read(Stream::whole(data), data.len());
    assert_eq!(read(Stream::cut(data), data.len()), whole, "the pieces change what comes");
    good_frames_come_as_they_are(data, &whole);
    a_frame_behind_garbage_is_found(data);
    if once_in(data, 64) {
        memory_stays_small(data);
    }
    the_scanner_finds_what_a_parser_finds(data);
}

fn read(stream: Stream<'_>, bytes: usize) -> Vec<Inbound> {
    let mut guard = Guard::with_cap(stream, CAP);
    let mut all = Vec::new();
    loop {
        match guard.next() {
            Inbound::End => return all,
            inbound => all.push(inbound),
        }
        assert!(all.len() <= bytes, "more comes out than went in");
    }
}

/// Frames in the plainest spelling, one behind the other from the start, each with what must come of it.
fn good_frames_come_as_they_are(data: &[u8], all: &[Inbound]) {
    let mut rest = data;
    for inbound in all {
        let Some((body, behind)) = plain_frame(rest) else { return };
        rest = behind;
        if body.len() as u64 > CAP {
            assert!(matches!(inbound, Inbound::TooLarge { bytes, .. } if *bytes == body.len() as u64));
            continue;
        }
        let message =
            std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str::<Value>(text).ok());
        match message.as_ref().and_then(expected) {
            Some(message) => assert_eq!(*inbound, Inbound::Message(message)),
            None => {
                assert!(matches!(inbound, Inbound::Refused(_) | Inbound::Message(Message::Response { .. })))
            }
        }
    }
    assert!(plain_frame(rest).is_none(), "a whole frame was left out");
}

/// Body and rest, where the bytes begin with a whole frame.
fn plain_frame(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = data.strip_prefix(b"Content-Length: ")?;
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = std::str::from_utf8(&behind[..digits]).ok()?.parse().ok()?;
    let behind = behind[digits..].strip_prefix(b"\r\n\r\n")?;
    (length <= behind.len()).then(|| behind.split_at(length))
}

/// The request or notification that a message is.
fn expected(message: &Value) -> Option<Message> {
    let message = message.as_object()?;
    if message.get("jsonrpc")?.as_str()? != "2.0" {
        return None;
    }
    let method = message.get("method")?.as_str()?.to_owned();
    let params = message.get("params").filter(|params| !params.is_null()).cloned();
    match message.get("id") {
        None => Some(Message::Notification { method, params }),
        Some(id) => Some(Message::Request { id: RequestId::read(id)?, method, params }),
    }
}

/// Garbage without the name of the header claims no bytes behind it.
fn a_frame_behind_garbage_is_found(data: &[u8]) {
    let name = b"content-length";
    if data.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name)) {
        return;
    }
    let body = br#"{"jsonrpc":"2.0","method":"here"}"#;
    let frame = format!("\nContent-Length: {}\r\n\r\n", body.len());
    let stream = [data, frame.as_bytes(), body].concat();
    let here = Inbound::Message(Message::Notification { method: "here".to_owned(), params: None });
    assert_eq!(read(Stream::whole(&stream), stream.len()).last(), Some(&here));
}

fn memory_stays_small(data: &[u8]) {
    for filler in *b" x" {
        let mut guard = Guard::with_cap(Stream::filled(data, FILLER, filler), CAP);
        let ((), held) = peak_of(|| while guard.next() != Inbound::End {});
        assert!(held <= MOST_HELD, "{held} bytes were held");
    }
}

fn the_scanner_finds_what_a_parser_finds(data: &[u8]) {
    let whole = skim([data]);
    assert_eq!(skim(pieces(data)), whole, "the pieces change what is found");
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    // Written anew, so that no name stands there twice; what is too long is not kept.
    let text = value.to_string();
    if text.len() <= SKIMMED_BYTES {
        assert_eq!(skim(pieces(text.as_bytes())), parsed(&value));
    }
}

fn skim<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Skimmed {
    let mut skimmer = Skimmer::default();
    pieces.into_iter().for_each(|piece| skimmer.feed(piece));
    skimmer.finish()
}

fn parsed(value: &Value) -> Skimmed {
    let Value::Object(message) = value else { return Skimmed::default() };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let document = || message.get("params")?.as_object()?.get("textDocument")?.as_object();
    Skimmed {
        method: text(message.get("method")),
        id: message.get("id").and_then(RequestId::read),
        uri: text(document().and_then(|document| document.get("uri"))),
    }
}
