//! The decoder of event streams.
//!
//! Any pieces give the same events as the whole, and these are the events of a decoder that follows the standard line by line
//! over the whole text; no event passes the bound; memory stays small; a new connection begins anew.

use breadboard_core::domain::wire::sse::{MAX_FIELD_BYTES, SseDecoder, SseItem};

use super::memory::peak_of;
use super::pieces::{once_in, pieces};

/// Bounds of an event that are tried: some events of an input pass the small one, none the large one.
const LIMITS: [usize; 2] = [24, 1 << 20];
/// What a decoder with the small bound may hold.
const MOST_HELD: usize = 64 << 10;

/// An event, owned. `Err`: it had so many bytes and was too large.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    own_id: Option<String>,
    last_id: String,
    kind: Option<String>,
    data: Result<Vec<u8>, u64>,
}

/// See the module.
pub fn run(data: &[u8]) {
    for limit in LIMITS {
        let mut decoder = SseDecoder::new(limit);
        let whole = decode(&mut decoder, [data]);
        let mut cut = SseDecoder::new(limit);
        assert_eq!(decode(&mut cut, pieces(data)), whole, "the pieces change what comes");
        assert_eq!(cut.is_within_event(), decoder.is_within_event());
        if !has_long_line(data) {
            assert_eq!(whole, reference(data, limit));
        }
    }
    if once_in(data, 64) {
        memory_stays_small(data);
    }
}

fn decode<'a>(decoder: &mut SseDecoder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut events = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut |item| events.push(owned(item)));
    }
    events
}

fn owned(item: SseItem<'_>) -> Event {
    match item {
        SseItem::Frame(frame) => Event {
            own_id: frame.own_id.map(str::to_owned),
            last_id: frame.last_id.to_owned(),
            kind: frame.event.map(str::to_owned),
            data: Ok(frame.data.to_vec()),
        },
        // Of these no type is told.
        SseItem::TooLarge(event) => Event {
            own_id: event.own_id.map(str::to_owned),
            last_id: event.last_id.to_owned(),
            kind: None,
            data: Err(event.bytes),
        },
    }
}

/// A value that is too long spoils its event, which the reference does not know.
fn has_long_line(data: &[u8]) -> bool {
    data.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| line.len() > MAX_FIELD_BYTES)
}

/// WHATWG HTML, section 9.2.6, over the whole text at once.
fn reference(data: &[u8], limit: usize) -> Vec<Event> {
    let mut rest = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
    let mut events = Vec::new();
    let (mut last_id, mut own_id, mut kind, mut lines) = (String::new(), None, String::new(), Vec::new());
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let (line, behind) = rest.split_at(end);
        rest = behind.strip_prefix(b"\r\n").unwrap_or(&behind[1..]);
        if line.is_empty() {
            if let Some(id) = &own_id {
                last_id.clone_from(id);
            }
            if !lines.is_empty() {
                let data = lines.join(&b'\n');
                let fits = data.len() <= limit;
                events.push(Event {
                    own_id: own_id.clone(),
                    last_id: last_id.clone(),
                    kind: (fits && !kind.is_empty()).then(|| kind.clone()),
                    data: if fits { Ok(data) } else { Err(data.len() as u64) },
                });
            }
            own_id = None;
            kind.clear();
            lines.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = String::from_utf8_lossy(value).into_owned();
        match &line[..colon] {
            b"data" => lines.push(value.to_vec()),
            b"id" if !value.contains(&0) => own_id = Some(text),
            b"event" => kind = text,
            _ => {}
        }
    }
    events
}

fn memory_stays_small(data: &[u8]) {
    let mut decoder = SseDecoder::new(LIMITS[0]);
    let ((), held) = peak_of(|| {
        decoder.feed(data, &mut |_| {});
        for _ in 0..64 {
            decoder.feed(&[b'x'; 16 << 10], &mut |_| {});
        }
    });
    assert!(held <= MOST_HELD, "{held} bytes were held");
}
