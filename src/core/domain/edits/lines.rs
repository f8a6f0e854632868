//! Which lines of a text a snippet shows, within its bound of bytes.
//!
//! Pure: texts in, a selection out. A line ends with `\n`, `\r\n` or `\r`, as in LSP; what follows the last end is a line
//! when it is not empty.

use std::io::{self, Read};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines from 1, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineRange {
    /// First line.
    pub start_line: u64,
    /// Last line.
    pub end_line: u64,
}

/// The line between two ranges.
const BETWEEN: &str = "⋯\n";

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Most bytes of content.
    pub max_bytes: usize,
    /// Lines from the start.
    pub head: Option<u64>,
    /// Lines from the end.
    pub tail: Option<u64>,
}

/// As much of a text as was read.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// All.
    Whole(&'a str),
    /// Its two ends, each longer than `Wanted::max_bytes` where it was read at all, with something between them.
    Ends {
        /// From the start on.
        front: &'a str,
        /// Up to the end; may begin within a line.
        back: &'a str,
        /// How many lines the whole text has, where that is known.
        lines: Option<u64>,
    },
}

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Lines, the two ranges joined by one line `⋯`.
    pub content: String,
    /// Whether it is not all.
    pub truncated: bool,
    /// Lines in `content`, but for a tail whose numbers are not known.
    pub ranges: Vec<LineRange>,
}

/// Chooses the lines. Where head and tail do not fit together each gets at least half of what fits.
pub fn select(seen: Seen<'_>, wanted: Wanted) -> Selection {
    let (front, back, lines, whole) = match seen {
        Seen::Whole(text) => (text, text, Some(count(text)), true),
        Seen::Ends { front, back, lines } => (front, back, lines, false),
    };
    let head = match (wanted.head, wanted.tail) {
        (Some(lines), _) => &front[..end_of_line(front, lines)],
        (None, Some(_)) => "",
        (None, None) => front,
    };
    let tail = wanted.tail.map_or("", |lines| &back[start_of_last(back, lines)..]);
    if whole && head.len() + tail.len() >= front.len() && front.len() <= wanted.max_bytes {
        let ranges = range(1, count(front)).into_iter().collect();
        return Selection { content: front.to_owned(), truncated: false, ranges };
    }
    if tail.is_empty() || wanted.max_bytes <= BETWEEN.len() {
        let (head, tail) = if head.is_empty() { ("", tail) } else { (head, "") };
        return joined(cut_end(head, wanted.max_bytes), cut_start(tail, wanted.max_bytes), lines);
    }
    if head.is_empty() {
        return joined("", cut_start(tail, wanted.max_bytes), lines);
    }
    let room = wanted.max_bytes - BETWEEN.len();
    let for_tail = tail.len().min((room / 2).max(room.saturating_sub(head.len())));
    let tail = cut_start(tail, for_tail);
    joined(cut_end(head, room - tail.len()), tail, lines)
}

fn joined(head: &str, tail: &str, lines: Option<u64>) -> Selection {
    let mut content = String::with_capacity(head.len() + BETWEEN.len() + tail.len());
    content.push_str(head);
    if !head.is_empty() && !tail.is_empty() {
        if !head.ends_with(['\n', '\r']) {
            // Only a single line longer than its room has no end here; its last character gives way to one.
            content.pop();
            content.push('\n');
        }
        content.push_str(BETWEEN);
    }
    content.push_str(tail);
    let first = range(1, count(head));
    let last = lines
        .filter(|_| !tail.is_empty())
        .and_then(|lines| range((lines + 1).saturating_sub(count(tail)).max(1), lines));
    let ranges = match (first, last) {
        // Both are parts of one line that is longer than its room.
        (Some(first), Some(last)) if last.start_line <= first.end_line => {
            vec![LineRange { start_line: first.start_line, end_line: last.end_line }]
        }
        (first, last) => first.into_iter().chain(last).collect(),
    };
    Selection { content, truncated: true, ranges }
}

fn range(start_line: u64, end_line: u64) -> Option<LineRange> {
    (start_line <= end_line).then_some(LineRange { start_line, end_line })
}

/// Offset behind the line end that begins at or after `from`; `None` when the rest is one line without end.
fn next_end(bytes: &[u8], from: usize) -> Option<usize> {
    let at = from + memchr::memchr2(b'\n', b'\r', &bytes[from..])?;
    let pair = bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
    Some(at + 1 + usize::from(pair))
}

/// How many lines a text has.
pub fn count(text: &str) -> u64 {
    let mut counter = Counter::default();
    counter.feed(text.as_bytes());
    counter.finish()
}

/// Offset behind the first `lines` lines.
fn end_of_line(text: &str, lines: u64) -> usize {
    let mut end = 0;
    for _ in 0..lines {
        match next_end(text.as_bytes(), end) {
            Some(next) => end = next,
            None => return text.len(),
        }
    }
    end
}

/// Offset of the first of the last `lines` lines.
fn start_of_last(text: &str, lines: u64) -> usize {
    let bytes = text.as_bytes();
    let mut start = bytes.len();
    for _ in 0..lines {
        if start == 0 {
            break;
        }
        start = line_start(bytes, start);
    }
    start
}

/// Start of the line that ends at `end`, its own line end included.
fn line_start(bytes: &[u8], end: usize) -> usize {
    let mut body = end;
    if bytes[..body].ends_with(b"\r\n") {
        body -= 2;
    } else if bytes[..body].ends_with(b"\n") || bytes[..body].ends_with(b"\r") {
        body -= 1;
    }
    memchr::memrchr2(b'\n', b'\r', &bytes[..body]).map_or(0, |at| at + 1)
}

/// The start of a text up to `max` bytes: whole lines where one fits, else whole characters.
fn cut_end(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = text.floor_char_boundary(max);
    let bytes = text.as_bytes();
    let mut line = end;
    while let Some(at) = memchr::memrchr2(b'\n', b'\r', &bytes[..line]) {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') && at + 1 >= end {
            line = at;
            continue;
        }
        return &text[..=at];
    }
    &text[..end]
}

/// The end of a text up to `max` bytes: whole lines where one fits, else whole characters.
fn cut_start(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - max);
    let bytes = text.as_bytes();
    // A line begins at `start` itself when one ends just before it.
    let within_pair = start > 0 && bytes[start - 1] == b'\r' && bytes.get(start) == Some(&b'\n');
    let line = if start > 0 && matches!(bytes[start - 1], b'\n' | b'\r') && !within_pair {
        Some(start)
    } else {
        next_end(bytes, start)
    };
    match line {
        Some(line) if line < text.len() => &text[line..],
        _ => &text[start..],
    }
}

/// Counts lines piece by piece.
#[derive(Debug, Default)]
struct Counter {
    ends: u64,
    last: Option<u16>,
}

impl Counter {
    fn feed(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let before = if at == 0 { self.last } else { Some(u16::from(bytes[at - 1])) };
            if bytes[at] == b'\r' || before != Some(u16::from(b'\r')) {
                self.ends += 1;
            }
        }
        self.last = Some(u16::from(last));
    }

    fn feed_unit(&mut self, unit: u16) {
        if unit == u16::from(b'\r') || (unit == u16::from(b'\n') && self.last != Some(u16::from(b'\r'))) {
            self.ends += 1;
        }
        self.last = Some(unit);
    }

    fn finish(self) -> u64 {
        match self.last {
            None => 0,
            Some(last) if last == u16::from(b'\n') || last == u16::from(b'\r') => self.ends,
            Some(_) => self.ends + 1,
        }
    }
}

/// How a line end is written in the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One byte, as in UTF-8 and everything built on ASCII.
    Byte,
    /// Two bytes, the low one first.
    LittleEndian,
    /// Two bytes, the high one first.
    BigEndian,
}

/// Counts the lines of a stream in pieces of 64 KiB.
pub fn count_stream(source: &mut impl Read, unit: Unit) -> io::Result<u64> {
    let mut counter = Counter::default();
    let mut piece = vec![0; 64 * 1_024];
    loop {
        let mut filled = 0;
        while filled < piece.len() {
            match source.read(&mut piece[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match unit {
            Unit::Byte => counter.feed(&piece[..filled]),
            Unit::LittleEndian | Unit::BigEndian => {
                for pair in piece[..filled].chunks_exact(2) {
                    let pair = [pair[0], pair[1]];
                    counter.feed_unit(if unit == Unit::BigEndian {
                        u16::from_be_bytes(pair)
                    } else {
                        u16::from_le_bytes(pair)
                    });
                }
            }
        }
        if filled < piece.len() {
            return Ok(counter.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Seen, Selection, Unit, Wanted, count, count_stream, select};
    use crate::domain::edits::lines::LineRange;

    fn wanted(max_bytes: usize, head: Option<u64>, tail: Option<u64>) -> Wanted {
        Wanted { max_bytes, head, tail }
    }

    fn selection(content: &str, truncated: bool, ranges: &[(u64, u64)]) -> Selection {
        let ranges =
            ranges.iter().map(|&(start_line, end_line)| LineRange { start_line, end_line }).collect();
        Selection { content: content.to_owned(), truncated, ranges }
    }

    const FIVE: &str = "1\n2\n3\n4\n5\n";

    #[test]
    fn r000_34_lines_are_selected_from_both_ends() {
        let five = |head, tail| select(Seen::Whole(FIVE), wanted(1_000, head, tail));
        assert_eq!(five(None, None), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(five(Some(2), None), selection("1\n2\n", true, &[(1, 2)]));
        assert_eq!(five(None, Some(2)), selection("4\n5\n", true, &[(4, 5)]));
        assert_eq!(five(Some(1), Some(2)), selection("1\n⋯\n4\n5\n", true, &[(1, 1), (4, 5)]));
        assert_eq!(five(Some(3), Some(2)), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(five(Some(4), Some(4)), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(five(Some(9), None), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(five(None, Some(9)), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(five(Some(0), Some(0)), selection("", true, &[]));
        assert_eq!(five(Some(u64::MAX), Some(u64::MAX)), selection(FIVE, false, &[(1, 5)]));
        assert_eq!(select(Seen::Whole(""), wanted(9, Some(1), Some(1))), selection("", false, &[]));
    }

    #[test]
    fn r000_34_max_bytes_cuts_at_a_line_end_where_one_fits() {
        let cut = |text, max, head, tail| select(Seen::Whole(text), wanted(max, head, tail));
        assert_eq!(cut(FIVE, 5, None, None), selection("1\n2\n", true, &[(1, 2)]));
        assert_eq!(cut(FIVE, 5, None, Some(4)), selection("4\n5\n", true, &[(4, 5)]));
        assert_eq!(cut("é😀é", 3, None, None), selection("é", true, &[(1, 1)]));
        assert_eq!(cut("é😀é", 3, None, Some(1)), selection("é", true, &[(1, 1)]));
        assert_eq!(cut("é", 1, None, None), selection("", true, &[]));
        assert_eq!(cut("a\r\nb\r\n", 4, None, None), selection("a\r\n", true, &[(1, 1)]));
        assert_eq!(cut("a\r\nb\r\nc", 5, None, None), selection("a\r\n", true, &[(1, 1)]));
        assert_eq!(cut("a\rb\rc", 4, Some(9), None), selection("a\rb\r", true, &[(1, 2)]));
    }

    #[test]
    fn r000_34_head_and_tail_share_the_bound() {
        let text = "aaa\nbbb\nccc\nddd\neee\nfff\n";
        assert_eq!(
            select(Seen::Whole(text), wanted(20, Some(3), Some(3))),
            selection("aaa\nbbb\n⋯\neee\nfff\n", true, &[(1, 2), (5, 6)])
        );
        assert_eq!(
            select(Seen::Whole(text), wanted(16, Some(1), Some(5))),
            selection("aaa\n⋯\neee\nfff\n", true, &[(1, 1), (5, 6)])
        );
    }

    #[test]
    fn r000_34_two_parts_of_one_long_line_have_one_range() {
        assert_eq!(
            select(Seen::Whole("abcdefghijkl\n"), wanted(10, Some(1), Some(1))),
            selection("ab\n⋯\nkl\n", true, &[(1, 1)])
        );
    }

    #[test]
    fn a_tail_without_known_numbers_has_no_range() {
        let seen = Seen::Ends { front: "a\nb\n", back: "y\nz\n", lines: None };
        assert_eq!(select(seen, wanted(100, Some(1), Some(1))), selection("a\n⋯\nz\n", true, &[(1, 1)]));
        let seen = Seen::Ends { front: "a\nb\n", back: "y\nz\n", lines: Some(26) };
        assert_eq!(
            select(seen, wanted(100, Some(1), Some(2))),
            selection("a\n⋯\ny\nz\n", true, &[(1, 1), (25, 26)])
        );
    }

    #[test]
    fn lines_are_counted_across_pieces() {
        let mut text = "x".repeat(64 * 1_024 - 1);
        text.push_str("\r\ny\rz\n\nlast");
        assert_eq!(count(&text), 5);
        assert_eq!(count_stream(&mut text.as_bytes(), Unit::Byte).unwrap(), 5);
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(count_stream(&mut &bytes[..], Unit::LittleEndian).unwrap(), 5);
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(count_stream(&mut &bytes[..], Unit::BigEndian).unwrap(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn r000_34_content_never_exceeds_max_bytes(
            text in "[a漢\r\n]{0,30}",
            max in 0..60_usize,
            head in proptest::option::of(0..9_u64),
            tail in proptest::option::of(0..9_u64),
        ) {
            let selected = select(Seen::Whole(&text), wanted(max, head, tail));
            prop_assert!(selected.content.len() <= max);
            prop_assert_eq!(!selected.truncated, selected.content == text);
            let mut before = 0;
            for range in &selected.ranges {
                prop_assert!(range.start_line > before && range.start_line <= range.end_line);
                before = range.end_line;
            }
            prop_assert!(before <= count(&text));
        }
    }
}
