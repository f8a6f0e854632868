//! Newline-delimited text, decoded from bytes.
//!
//! Owns the half-read line between two reads, and the limit on it. Never looks into a line. Each byte is looked at once and
//! copied once (growth of the buffer aside).

use memchr::memchr;

/// How much of the buffer is kept for the next line; a larger one is given back.
const KEPT_BYTES: usize = 256 * 1024;

/// The decoder. One per stream.
#[derive(Debug)]
pub(super) struct LineDecoder {
    limit: usize,
    line: Vec<u8>,
}

/// A line passed the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl LineDecoder {
    /// A decoder of lines of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new() }
    }

    /// Bytes that are held of the line in progress.
    pub(super) fn held_bytes(&self) -> usize {
        self.line.len()
    }

    /// Takes the next bytes and gives out each line that they complete, without its end. Blank lines are passed over.
    ///
    /// # Errors
    /// When a line is longer than the limit. Lines before it were given out.
    pub(super) fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some((piece, behind)) = memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end)) {
            self.keep(piece)?;
            emit(&self.line, sink);
            self.line.clear();
            if self.line.capacity() > KEPT_BYTES {
                self.line = Vec::new();
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        self.keep(rest)
    }

    /// The end of the stream also ends its last line.
    pub(super) fn end(&mut self, sink: &mut impl FnMut(&[u8])) {
        emit(&std::mem::take(&mut self.line), sink);
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + piece.len() > self.limit {
            self.line = Vec::new();
            return Err(TooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }
}

fn emit(line: &[u8], sink: &mut impl FnMut(&[u8])) {
    if !line.trim_ascii().is_empty() {
        sink(line.trim_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limit: usize, chunks: &[&str]) -> (Vec<String>, Result<(), TooLong>) {
        let mut decoder = LineDecoder::new(limit);
        let mut found = Vec::new();
        let mut sink = |line: &[u8]| found.push(String::from_utf8_lossy(line).into_owned());
        let fed = chunks.iter().try_for_each(|chunk| decoder.feed(chunk.as_bytes(), &mut sink));
        decoder.end(&mut sink);
        (found, fed)
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = "{\"a\":1}\r\n\n  \n{\"b\":2}\nlast";
        let expected = ["{\"a\":1}", "{\"b\":2}", "last"].map(str::to_owned).to_vec();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(lines(100, &[head, tail]), (expected.clone(), Ok(())), "cut at {at}");
        }
    }

    #[test]
    fn the_limit_counts_one_line_and_not_what_came_before_it() {
        assert_eq!(lines(3, &["abc\nabc\na", "bc\n"]).1, Ok(()));
        assert_eq!(lines(3, &["abc\nab", "cd"]), (vec!["abc".to_owned()], Err(TooLong)));
    }
}
