//! Lines of an agent: its output cut at line ends, with a bound for each line.
//!
//! Owns the bytes of a line until it is whole. Reading may be dropped at any time and goes on where it was. Never looks
//! into a line.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Bytes of one line. A whole file as a diff, or an image, fits; more would have to be held several times over. What is
/// longer is skipped to its end and told as `Oversized`.
pub(crate) const LINE_BYTES: usize = 32 << 20;

/// Bytes that are kept of a line that is too long, to tell what it was.
const HEAD_BYTES: usize = 4 << 10;

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A whole one.
    Whole(Vec<u8>),
    /// One that was too long: how it begins, and how long it was.
    Oversized {
        /// Its first bytes.
        head: Vec<u8>,
        /// All its bytes.
        bytes: u64,
    },
    /// What stood behind the last line end when the output ended.
    Half(Vec<u8>),
}

/// The lines of a stream.
#[derive(Debug)]
pub struct LineReader<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    /// Bytes that were skipped of a line that is too long.
    skipped: u64,
    most: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Lines of at most `LINE_BYTES`.
    pub fn new(source: R) -> Self {
        Self::bounded(source, LINE_BYTES)
    }

    /// Lines of at most `most` bytes.
    pub fn bounded(source: R, most: usize) -> Self {
        Self { source: BufReader::with_capacity(64 << 10, source), line: Vec::new(), skipped: 0, most }
    }

    /// The next line; `None` at the end. Blank lines are passed over. May be dropped while it waits.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let (used, ended) = {
                let bytes = self.source.fill_buf().await?;
                if bytes.is_empty() {
                    return Ok(self.rest());
                }
                let end = memchr::memchr(b'\n', bytes);
                let piece = &bytes[..end.unwrap_or(bytes.len())];
                let room = self.most.saturating_sub(self.line.len());
                if self.skipped == 0 && piece.len() <= room {
                    self.line.extend_from_slice(piece);
                } else {
                    if self.skipped == 0 {
                        let wanted = HEAD_BYTES.saturating_sub(self.line.len()).min(piece.len());
                        self.skipped = self.line.len() as u64;
                        self.line.extend_from_slice(&piece[..wanted]);
                        self.line.truncate(HEAD_BYTES);
                        self.line.shrink_to_fit();
                    }
                    self.skipped += piece.len() as u64;
                }
                (end.map_or(bytes.len(), |end| end + 1), end.is_some())
            };
            self.source.consume(used);
            if ended && let Some(line) = self.taken(Line::Whole) {
                return Ok(Some(line));
            }
        }
    }

    fn rest(&mut self) -> Option<Line> {
        self.taken(Line::Half)
    }

    fn taken(&mut self, kind: fn(Vec<u8>) -> Line) -> Option<Line> {
        let line = std::mem::take(&mut self.line);
        let bytes = std::mem::take(&mut self.skipped);
        if bytes > 0 {
            return Some(Line::Oversized { head: line, bytes });
        }
        (!line.trim_ascii().is_empty()).then(|| kind(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], most: usize) -> Vec<Line> {
        let mut reader = LineReader::bounded(text, most);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_blank_ones_are_passed_over() {
        assert_eq!(lines(b"a\r\n\n  \nbc\n", 100).await, [whole("a\r"), whole("bc")]);
        assert_eq!(lines(b"", 100).await, []);
    }

    #[tokio::test]
    async fn half_a_line_at_the_end_is_told() {
        assert_eq!(lines(b"a\n{\"half", 100).await, [whole("a"), Line::Half(b"{\"half".to_vec())]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_to_its_end_and_told() {
        let oversized = |head: &[u8], bytes| Line::Oversized { head: head.to_vec(), bytes };
        assert_eq!(
            lines(b"12345\n123456\nab\n1234567", 5).await,
            [whole("12345"), oversized(b"123456", 6), whole("ab"), oversized(b"1234567", 7)]
        );
        let long = vec![b'x'; 300_000];
        let text = [&long[..], b"\nnext\n"].concat();
        assert_eq!(lines(&text, 100_000).await, [oversized(&long[..HEAD_BYTES], 300_000), whole("next")]);
    }

    #[tokio::test]
    async fn a_read_that_is_dropped_loses_nothing() {
        use tokio::io::AsyncWriteExt;
        let (mut writer, reader) = tokio::io::duplex(64);
        let mut reader = LineReader::new(reader);
        writer.write_all(b"first ha").await.unwrap();
        assert!(futures::FutureExt::now_or_never(reader.next()).is_none());
        writer.write_all(b"lf\n").await.unwrap();
        assert_eq!(reader.next().await.unwrap(), Some(whole("first half")));
    }
}
