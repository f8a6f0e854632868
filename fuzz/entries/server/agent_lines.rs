//! An agent's output, cut into lines.
//!
//! Cutting does not depend on how the bytes came, loses none, and holds no more than a line of the bound.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use breadboard_ls::testing::engine::acp::framing::{Line, LineReader};
use futures::FutureExt as _;
use tokio::io::{AsyncRead, ReadBuf};

use crate::entries::memory::peak_of;
use crate::entries::pieces::{Stream, once_in};

/// Bytes of a line here: some lines of an input are longer.
const LINE_BYTES: usize = 100;
/// Bytes that are kept of a line that is too long, at most.
const HEAD_BYTES: usize = 4 << 10;
/// What a reader may hold: its buffer, and a line.
const MOST_HELD: usize = 256 << 10;
/// More than it may hold.
const FILLER: usize = 2 << 20;

/// See the module.
pub fn run(data: &[u8]) {
    let whole = lines(Stream::whole(data));
    same_cuts(&lines(Stream::cut(data)), &whole);
    same_cuts(&expected(data), &whole);
    if once_in(data, 64) {
        let (_, held) = peak_of(|| lines(Stream::filled(data, FILLER, b'x')).len());
        assert!(held <= MOST_HELD + 2 * data.len(), "{held} bytes were held");
    }
}

fn lines(stream: Stream<'_>) -> Vec<Line> {
    let mut reader = LineReader::bounded(stream, LINE_BYTES);
    let mut lines = Vec::new();
    loop {
        match reader.next().now_or_never().expect("the stream never waits").expect("the stream never fails") {
            Some(line) => lines.push(line),
            None => return lines,
        }
    }
}

/// Every line, split off by its end; blank ones are passed over.
fn expected(data: &[u8]) -> Vec<Line> {
    let mut parts: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let rest = parts.pop().unwrap_or_default();
    let line = |part: &[u8], kind: fn(Vec<u8>) -> Line| {
        if part.len() > LINE_BYTES {
            let head = part[..part.len().min(HEAD_BYTES)].to_vec();
            return Some(Line::Oversized { head, bytes: part.len() as u64 });
        }
        (!part.trim_ascii().is_empty()).then(|| kind(part.to_vec()))
    };
    parts.into_iter().filter_map(|part| line(part, Line::Whole)).chain(line(rest, Line::Half)).collect()
}

/// How much is kept of a line that is too long depends on the pieces, and is some of its beginning.
fn same_cuts(one: &[Line], other: &[Line]) {
    assert_eq!(one.len(), other.len(), "{one:?}\n{other:?}");
    for pair in one.iter().zip(other) {
        match pair {
            (Line::Oversized { head, bytes }, Line::Oversized { head: kept, bytes: counted }) => {
                assert_eq!(bytes, counted);
                assert!(head.starts_with(kept) || kept.starts_with(head), "the head is not the line's");
                assert!(
                    head.len().min(kept.len()) > LINE_BYTES.min(HEAD_BYTES) / 2 && kept.len() <= HEAD_BYTES
                );
            }
            (one, other) => assert_eq!(one, other),
        }
    }
}

impl AsyncRead for Stream<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let shown = stream.show();
        let taken = shown.len().min(buffer.remaining());
        buffer.put_slice(&shown[..taken]);
        stream.pass(taken);
        Poll::Ready(Ok(()))
    }
}
