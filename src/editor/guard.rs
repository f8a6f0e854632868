//! The frame guard: bytes in, whole messages or refusals out.
//!
//! Owns headers, the cap and finding the next frame after a bad one. Never stops at something malformed, never keeps more
//! than one message within the cap, and never answers: what it refuses is a value.

use std::io::{BufRead, ErrorKind};

use super::frame::{self, Message, PARSE_ERROR, Refusal};
use super::skim::{Skimmed, Skimmer};

/// Largest message that is taken, in bytes: a file of 10 MB as JSON with room to spare.
pub(super) const MAX_FRAME: u64 = 32 << 20;

/// Above this a length is taken for damage, not for a message to be skipped.
const MAX_CREDIBLE: u64 = 1 << 30;

/// Largest header block.
const MAX_HEADER: usize = 8 << 10;

/// How much of a line's end is kept while looking for a header; longer than any `Content-Length` that counts.
const TAIL: usize = 64;

const CONTENT_LENGTH: &[u8] = b"content-length:";

/// What came.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound {
    /// A message.
    Message(Message),
    /// Something to be answered with an error.
    Refused(Refusal),
    /// A message above the cap; it was skipped.
    TooLarge {
        /// What could be told of it.
        skimmed: Skimmed,
        /// Its size.
        bytes: u64,
    },
    /// The stream ended.
    End,
}

/// Reads frames from a stream. See the module.
pub struct Guard<R> {
    reader: R,
    max_frame: u64,
    /// The next header block begins on a line that was already read, with this length.
    resumed: Option<u64>,
    /// A bad header was answered; what comes before the next good one is not worth another answer.
    lost: bool,
}

/// One line, or why there is none.
enum HeaderLine {
    /// Without its end.
    Whole(Vec<u8>),
    /// Longer than `MAX_HEADER`; nothing of it was consumed beyond that, and the rest is still to be skipped.
    TooLong,
    End,
}

/// What a header line says.
enum HeaderField {
    Length(u64),
    Other,
    Bad(&'static str),
}

/// A header block, read.
enum Header {
    Length(u64),
    Bad { reason: &'static str, line: Option<Vec<u8>> },
    End,
}

impl<R: BufRead> Guard<R> {
    /// A guard with the cap of the contract.
    pub fn new(reader: R) -> Self {
        Self::with_cap(reader, MAX_FRAME)
    }

    /// A guard with another cap in bytes.
    pub fn with_cap(reader: R, max_frame: u64) -> Self {
        Self { reader, max_frame, resumed: None, lost: false }
    }

    /// Waits for what comes next.
    #[expect(
        clippy::should_implement_trait,
        reason = "the end is a value of its own, so this never gives `None`"
    )]
    pub fn next(&mut self) -> Inbound {
        if self.lost {
            match self.find_header() {
                Some(length) => self.resumed = Some(length),
                None => return Inbound::End,
            }
            self.lost = false;
        }
        match self.read_header() {
            Header::End => Inbound::End,
            Header::Length(length) if length > self.max_frame => self.skip(length),
            Header::Length(length) => match self.read_body(length).map(|body| frame::sort(&body)) {
                Some(Ok(message)) => Inbound::Message(message),
                Some(Err(refusal)) => Inbound::Refused(refusal),
                None => Inbound::End,
            },
            Header::Bad { reason, line } => {
                // A frame may be glued to the garbage before it.
                match line.as_deref().and_then(trailing_length) {
                    Some(length) if length <= MAX_CREDIBLE => self.resumed = Some(length),
                    Some(_) | None => self.lost = true,
                }
                let goes_on = "reading goes on at the next `Content-Length` header";
                Inbound::Refused(Refusal::new(PARSE_ERROR, format!("{reason}; {goes_on}.")))
            }
        }
    }

    fn read_header(&mut self) -> Header {
        let mut length = self.resumed.take();
        let mut any_field = length.is_some();
        let mut size = 0;
        loop {
            let line = match self.read_line() {
                HeaderLine::Whole(line) => line,
                HeaderLine::TooLong => return Header::Bad { reason: "A header line had no end", line: None },
                HeaderLine::End => return Header::End,
            };
            size += line.len() + 2;
            if size > MAX_HEADER {
                return Header::Bad { reason: "A header was longer than 8 KiB", line: Some(line) };
            }
            if line.is_empty() {
                match (any_field, length) {
                    // Empty lines between frames do no harm.
                    (false, _) => size = 0,
                    (true, Some(length)) => return Header::Length(length),
                    (true, None) => {
                        return Header::Bad { reason: "A header had no `Content-Length`", line: None };
                    }
                }
                continue;
            }
            any_field = true;
            match read_field(&line) {
                HeaderField::Length(value) => length = Some(value),
                HeaderField::Other => {}
                // A bare bad length must not be found again by the search, or it would loop.
                HeaderField::Bad(reason) => return Header::Bad { reason, line: Some(line) },
            }
        }
    }

    fn read_line(&mut self) -> HeaderLine {
        let mut line = Vec::new();
        loop {
            let available = match self.fill() {
                Some(available) => available,
                None => return HeaderLine::End,
            };
            let room = MAX_HEADER + 2 - line.len();
            let window = &available[..available.len().min(room)];
            match memchr::memchr(b'\n', window) {
                Some(at) => {
                    line.extend_from_slice(&window[..at]);
                    self.reader.consume(at + 1);
                    if line.last() == Some(&b'\r') {
                        line.pop();
                    }
                    return HeaderLine::Whole(line);
                }
                None => {
                    let taken = window.len();
                    line.extend_from_slice(window);
                    self.reader.consume(taken);
                    if line.len() >= MAX_HEADER + 2 {
                        return HeaderLine::TooLong;
                    }
                }
            }
        }
    }

    /// Reads up to and with a line that ends in a credible `Content-Length: n`, wherever on the line that begins: a bad
    /// frame rarely ends with a line break. Inside JSON the words can stand, but never with a line break right after.
    fn find_header(&mut self) -> Option<u64> {
        let mut tail: Vec<u8> = Vec::with_capacity(TAIL);
        loop {
            let available = self.fill()?;
            let (piece, ended) = match memchr::memchr(b'\n', available) {
                Some(at) => (&available[..at], true),
                None => (available, false),
            };
            let kept = &piece[piece.len().saturating_sub(TAIL)..];
            let overflow = (tail.len() + kept.len()).saturating_sub(TAIL);
            tail.drain(..overflow.min(tail.len()));
            tail.extend_from_slice(kept);
            let consumed = piece.len() + usize::from(ended);
            self.reader.consume(consumed);
            if ended {
                let length = trailing_length(&tail);
                tail.clear();
                if let Some(length) = length.filter(|length| *length <= MAX_CREDIBLE) {
                    return Some(length);
                }
            }
        }
    }

    fn read_body(&mut self, length: u64) -> Option<Vec<u8>> {
        // Grows as bytes come, so that a length alone costs nothing.
        let mut body = Vec::with_capacity(length.min(64 << 10) as usize);
        self.take_bytes(length, |piece| body.extend_from_slice(piece))?;
        Some(body)
    }

    fn skip(&mut self, length: u64) -> Inbound {
        let mut skimmer = Skimmer::default();
        match self.take_bytes(length, |piece| skimmer.feed(piece)) {
            Some(()) => Inbound::TooLarge { skimmed: skimmer.finish(), bytes: length },
            None => Inbound::End,
        }
    }

    fn take_bytes(&mut self, length: u64, mut each: impl FnMut(&[u8])) -> Option<()> {
        let mut left = length;
        while left > 0 {
            let available = self.fill()?;
            let taken = available.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            each(&available[..taken]);
            self.reader.consume(taken);
            left -= taken as u64;
        }
        Some(())
    }

    /// Bytes that are there, at least one; `None` at the end. A stream that fails has ended.
    fn fill(&mut self) -> Option<&[u8]> {
        loop {
            match self.reader.fill_buf() {
                Ok([]) => return None,
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        // Asked again because the borrow of a loop's answer cannot leave the loop; nothing is read twice.
        self.reader.fill_buf().ok()
    }
}

fn read_field(line: &[u8]) -> HeaderField {
    let Some(colon) = memchr::memchr(b':', line) else {
        return HeaderField::Bad("Text that is no header stood where a header must begin");
    };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.is_empty()
        || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_')
    {
        return HeaderField::Bad("Text that is no header stood where a header must begin");
    }
    let known = &CONTENT_LENGTH[..CONTENT_LENGTH.len() - 1];
    if name.len() < known.len() || !name[name.len() - known.len()..].eq_ignore_ascii_case(known) {
        return HeaderField::Other;
    }
    if name.len() > known.len() {
        return HeaderField::Bad("A `Content-Length` was glued to other text");
    }
    match digits(value) {
        Some(length) if length <= MAX_CREDIBLE => HeaderField::Length(length),
        Some(_) => HeaderField::Bad("A `Content-Length` was above 1 GiB"),
        None => HeaderField::Bad("A `Content-Length` was not a number"),
    }
}

/// The length, when a line ends with a whole `Content-Length: n`.
fn trailing_length(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_end();
    let at =
        line.windows(CONTENT_LENGTH.len()).rposition(|window| window.eq_ignore_ascii_case(CONTENT_LENGTH))?;
    digits(line[at + CONTENT_LENGTH.len()..].trim_ascii())
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
