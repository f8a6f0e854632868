//! Lines of the client: its input cut at line ends, with a bound for each line.
//!
//! Owns the thread that reads and the queue behind it. Never looks into a line.

use std::io::{self, BufRead, BufReader, Read};

use tokio::sync::mpsc;

/// Bytes of one line. A prompt with a picture or a whole file fits; what is longer is skipped to its end and told.
const LINE_BYTES: usize = 32 << 20;

/// Lines that wait to be handled. The reader waits for a place, and so does the client: nothing is lost.
const LINES: usize = 4;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientLine {
    /// A line without its end.
    Whole(Vec<u8>),
    /// One that was longer than any may be.
    TooLong,
}

/// Starts the reader. The queue ends with the input.
///
/// # Errors
/// The system gives no thread.
pub(super) fn read_lines(input: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<ClientLine>> {
    let (sender, receiver) = mpsc::channel(LINES);
    std::thread::Builder::new().name("acp-lines".to_owned()).spawn(move || {
        let mut input = BufReader::with_capacity(64 << 10, input);
        while let Ok(Some(line)) = next_line(&mut input, LINE_BYTES) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// The next line that is not blank; `None` at the end. Half a line at the end is a line.
fn next_line(input: &mut impl BufRead, most: usize) -> io::Result<Option<ClientLine>> {
    let mut line = Vec::new();
    let mut skipped = false;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let at_end = bytes.is_empty();
        let end = memchr::memchr(b'\n', bytes);
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        if line.len() + piece.len() > most {
            skipped = true;
            line = Vec::new();
        }
        if !skipped {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(bytes.len(), |end| end + 1);
        input.consume(used);
        if end.is_none() && !at_end {
            continue;
        }
        if skipped {
            return Ok(Some(ClientLine::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(ClientLine::Whole(line)));
        }
        if at_end {
            return Ok(None);
        }
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_their_ends_and_long_ones_are_told() {
        let mut input = &b"a\r\n\n 123456789\nbc\nhalf"[..];
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input, 5).expect("is read") {
            lines.push(line);
        }
        let whole = |text: &str| ClientLine::Whole(text.as_bytes().to_vec());
        assert_eq!(lines, [whole("a\r"), ClientLine::TooLong, whole("bc"), whole("half")]);
    }
}
