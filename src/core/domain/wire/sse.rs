//! Server-Sent Events, decoded from bytes (WHATWG HTML, section 9.2.6 "Interpreting an event stream").
//!
//! Owns the half-read event between two reads of the socket: lines, line ends, fields, the size bound. Never looks into
//! `data`, never keeps a resume cursor (the engine's stream must not move it without a line of its own) and never
//! reads a socket. A `retry` line is passed over: how long to wait is the link's to say.
//!
//! Each byte is looked at once and copied at most once (growth of the buffer aside); an event that lies whole in one
//! chunk is not copied at all.

use std::mem;

use memchr::memchr2;

/// Most bytes of an `id` or `event` value. An engine's ids have up to 36; the bound keeps a hostile line from
/// filling memory. A longer value makes its event too large.
pub const MAX_FIELD_BYTES: usize = 4 * 1024;

/// How much of the buffer is kept for the next event; a larger one is given back.
const KEPT_BYTES: usize = 256 * 1024;

/// The longest field name that has a meaning (`event`).
const LONGEST_NAME: usize = 5;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What the stream said, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// A whole event.
    Frame(SseFrame<'a>),
    /// An event that passed the bound. It came whole, is gone, and the stream goes on behind it.
    TooLarge(SseTooLarge<'a>),
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseFrame<'a> {
    /// The value of this event's own `id:` line; `None` where it had none. Only this may move a resume cursor.
    pub own_id: Option<&'a str>,
    /// The last event id as the standard keeps it: the own one, or that of an earlier event, or `""`.
    pub last_id: &'a str,
    /// The event type; `None` stands for the standard's `message`.
    pub event: Option<&'a str>,
    /// The data lines, joined with LF. Bytes as they came: not necessarily UTF-8.
    pub data: &'a [u8],
}

/// What is known of an event that was too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseTooLarge<'a> {
    /// Its own `id:` line; `None` where it had none, or where the id itself was longer than [`MAX_FIELD_BYTES`].
    pub own_id: Option<&'a str>,
    /// The last event id, as in [`SseFrame::last_id`].
    pub last_id: &'a str,
    /// Bytes of data that it had.
    pub bytes: u64,
    /// The bound that was set.
    pub limit: usize,
}

/// The decoder. One per stream.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// Bytes of a byte order mark seen so far; `None` once the start of the stream is behind.
    bom: Option<usize>,
    /// The last line ended with CR at the end of a chunk: an LF now belongs to it.
    after_cr: bool,
    line: SseLine,
    /// Value of the `id` or `event` line in progress.
    field: Vec<u8>,
    /// Data of the event in progress, where it could not be borrowed.
    data: Vec<u8>,
    data_lines: u64,
    data_bytes: u64,
    too_large: bool,
    /// The id of the event in progress; its own only where `has_own_id`.
    id: String,
    has_own_id: bool,
    last_id: String,
    event: String,
    /// Bytes looked at plus bytes copied: what a decode costs, without a clock.
    #[cfg(test)]
    pub(super) work: u64,
}

/// How far the line in progress is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SseLine {
    /// Its field is not known yet: the bytes so far.
    Name { bytes: [u8; LONGEST_NAME + 1], len: usize },
    /// In the value. `fresh`: no byte of it came yet, so that a space would be the separator.
    Value { field: SseField, fresh: bool },
    /// A comment, or a field without a meaning.
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SseField {
    Data,
    Id,
    Event,
}

const NEW_LINE: SseLine = SseLine::Name { bytes: [0; LONGEST_NAME + 1], len: 0 };

impl SseDecoder {
    /// A decoder at the start of a stream. `max_event_bytes` bounds the data of one event, and so the memory.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            bom: Some(0),
            after_cr: false,
            line: NEW_LINE,
            field: Vec::new(),
            data: Vec::new(),
            data_lines: 0,
            data_bytes: 0,
            too_large: false,
            id: String::new(),
            has_own_id: false,
            last_id: String::new(),
            event: String::new(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Whether an event, or a line, has begun and not ended. At the end of the stream that is what was cut off, and the
    /// standard throws it away.
    pub fn is_within_event(&self) -> bool {
        self.line != NEW_LINE
            || self.data_lines > 0
            || self.too_large
            || self.has_own_id
            || !self.event.is_empty()
    }

    /// Whether the event in progress has passed the bound already, so that a reader need not wait for its end.
    pub fn is_past_limit(&self) -> bool {
        self.too_large
    }

    /// Bytes of data that are held for the event in progress.
    pub fn held_bytes(&self) -> usize {
        self.data.len()
    }

    /// Takes the next bytes and gives out every event that they complete. Total: no bytes are an error.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(SseItem<'_>)) {
        let mut rest = self.without_bom(bytes);
        // Data of the event in progress that lies in this chunk and has not been copied.
        let mut borrowed: Option<&[u8]> = None;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while !rest.is_empty() {
            let end = memchr2(b'\n', b'\r', rest);
            self.count(end.map_or(rest.len(), |end| end + 1));
            let (piece, behind) = match end.and_then(|end| rest.split_at_checked(end)) {
                None => (rest, None),
                Some((line, end)) => {
                    let behind = end.strip_prefix(b"\r\n").or_else(|| end.get(1..)).unwrap_or_default();
                    self.after_cr = behind.is_empty() && end == b"\r";
                    (line, Some(behind))
                }
            };
            let blank = piece.is_empty() && self.line == NEW_LINE;
            if blank {
                self.dispatch(borrowed.take(), sink);
            } else {
                self.take(piece, &mut borrowed);
                if behind.is_some() {
                    self.end_line(&mut borrowed);
                }
            }
            rest = behind.unwrap_or_default();
        }
        if let Some(data) = borrowed {
            self.keep(data);
        }
    }

    /// The bytes behind a byte order mark, which counts only at the very start and may come in pieces.
    fn without_bom<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while let Some(seen) = self.bom
            && let Some((first, behind)) = bytes.split_first()
        {
            if BOM.get(seen) == Some(first) {
                bytes = behind;
                self.bom = (seen + 1 < BOM.len()).then_some(seen + 1);
            } else {
                // Part of a mark is the beginning of a line, and no field begins so.
                if seen > 0 {
                    self.line = SseLine::Ignored;
                }
                self.bom = None;
            }
        }
        bytes
    }

    /// A piece of the line in progress, line end excluded.
    fn take<'b>(&mut self, piece: &'b [u8], borrowed: &mut Option<&'b [u8]>) {
        match self.line {
            SseLine::Ignored => {}
            SseLine::Value { field, fresh } => self.take_value(field, fresh, piece, borrowed),
            SseLine::Name { mut bytes, len } => {
                let mut filled = len;
                for (slot, byte) in bytes.iter_mut().skip(len).zip(piece) {
                    *slot = *byte;
                    filled += 1;
                }
                let head = bytes.get(..filled).unwrap_or_default();
                match head.iter().position(|byte| *byte == b':') {
                    Some(colon) => {
                        let value = piece.get(colon + 1 - len..).unwrap_or_default();
                        match head.get(..colon).and_then(field_named) {
                            Some(field) => {
                                self.begin_value(field, borrowed);
                                self.take_value(field, true, value, borrowed);
                            }
                            None => self.line = SseLine::Ignored,
                        }
                    }
                    // Once full, it stays as it is: the name of no field that we know.
                    None => self.line = SseLine::Name { bytes, len: filled },
                }
            }
        }
    }

    fn begin_value(&mut self, field: SseField, borrowed: &mut Option<&[u8]>) {
        self.line = SseLine::Value { field, fresh: true };
        match field {
            SseField::Id | SseField::Event => self.field.clear(),
            SseField::Data => {
                self.data_lines += 1;
                if self.data_lines > 1 {
                    if let Some(first) = borrowed.take() {
                        self.keep(first);
                    }
                    if self.fits(1) {
                        self.keep(b"\n");
                    }
                }
            }
        }
    }

    fn take_value<'b>(
        &mut self,
        field: SseField,
        fresh: bool,
        piece: &'b [u8],
        borrowed: &mut Option<&'b [u8]>,
    ) {
        if piece.is_empty() {
            return;
        }
        self.line = SseLine::Value { field, fresh: false };
        let piece = if fresh { piece.strip_prefix(b" ").unwrap_or(piece) } else { piece };
        match field {
            SseField::Id | SseField::Event => {
                if self.field.len() + piece.len() > MAX_FIELD_BYTES {
                    self.leave_field(field);
                } else {
                    self.count(piece.len());
                    self.field.extend_from_slice(piece);
                }
            }
            SseField::Data => {
                if self.fits(piece.len()) {
                    if self.data_lines == 1 && self.data.is_empty() {
                        *borrowed = Some(piece);
                    } else {
                        self.keep(piece);
                    }
                }
            }
        }
    }

    fn end_line(&mut self, borrowed: &mut Option<&[u8]>) {
        let line = mem::replace(&mut self.line, NEW_LINE);
        let field = match line {
            SseLine::Ignored => return,
            SseLine::Value { field, .. } => field,
            // A line without a colon is a field with an empty value.
            SseLine::Name { bytes, len } => {
                let Some(field) = bytes.get(..len).and_then(field_named) else { return };
                self.begin_value(field, borrowed);
                self.line = NEW_LINE;
                field
            }
        };
        match field {
            SseField::Data => {}
            SseField::Id if self.field.contains(&0) => {}
            SseField::Id => {
                self.id.clear();
                self.id.push_str(&String::from_utf8_lossy(&self.field));
                self.has_own_id = true;
            }
            SseField::Event => {
                self.event.clear();
                self.event.push_str(&String::from_utf8_lossy(&self.field));
            }
        }
    }

    /// The blank line.
    fn dispatch(&mut self, borrowed: Option<&[u8]>, sink: &mut impl FnMut(SseItem<'_>)) {
        if self.has_own_id {
            mem::swap(&mut self.id, &mut self.last_id);
        }
        let last_id = self.last_id.as_str();
        let own_id = self.has_own_id.then_some(last_id);
        if self.too_large {
            sink(SseItem::TooLarge(SseTooLarge {
                own_id,
                last_id,
                bytes: self.data_bytes,
                limit: self.limit,
            }));
        } else if self.data_lines > 0 {
            sink(SseItem::Frame(SseFrame {
                own_id,
                last_id,
                event: (!self.event.is_empty()).then_some(self.event.as_str()),
                data: borrowed.unwrap_or(&self.data),
            }));
        }
        self.has_own_id = false;
        self.event.clear();
        self.too_large = false;
        self.data_lines = 0;
        self.data_bytes = 0;
        self.data.clear();
        if self.data.capacity() > KEPT_BYTES {
            self.data = Vec::new();
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.count(piece.len());
        self.data.extend_from_slice(piece);
    }

    /// Counts so much more data. Past the bound, data is only counted from here to the blank line; an id is still read.
    fn fits(&mut self, bytes: usize) -> bool {
        self.data_bytes += bytes as u64;
        if self.data_bytes > self.limit as u64 {
            self.grow_too_large();
        }
        !self.too_large
    }

    fn grow_too_large(&mut self) {
        self.too_large = true;
        self.data = Vec::new();
    }

    /// The value in progress passed its bound.
    fn leave_field(&mut self, field: SseField) {
        self.line = SseLine::Ignored;
        match field {
            SseField::Data | SseField::Event => self.grow_too_large(),
            SseField::Id => {
                self.has_own_id = false;
                self.grow_too_large();
            }
        }
    }

    #[cfg(test)]
    fn count(&mut self, bytes: usize) {
        self.work += bytes as u64;
    }

    #[cfg(not(test))]
    fn count(&mut self, _bytes: usize) {}
}

fn field_named(name: &[u8]) -> Option<SseField> {
    match name {
        b"data" => Some(SseField::Data),
        b"id" => Some(SseField::Id),
        b"event" => Some(SseField::Event),
        _ => None,
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
