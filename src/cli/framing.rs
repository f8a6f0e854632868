//! Frames of the wire as the client writes and reads them.
//!
//! Owns the header and the bounds of a message. Never looks into a message.

use std::io::{BufRead, Read};

use serde_json::Value;

/// Largest message we take, in bytes; the server's own cap on what it accepts is the same.
const MAX_MESSAGE: usize = 32 << 20;
/// Longest header in bytes.
const MAX_HEADER: u64 = 8 << 10;

/// A message with its header, as bytes.
pub(super) fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads one message. `None` at a clean end between two messages; an error names what is wrong in one sentence.
pub(super) fn read_frame(input: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut length: Option<usize> = None;
    let mut first = true;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line);
        let read = read.map_err(|error| format!("Reading from the server failed: {error}."))?;
        if read == 0 && first {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err("The server sent a broken header.".to_owned());
        }
        first = false;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            break;
        }
        let Some((name, value)) = text.split_once(':') else {
            return Err("The server sent text that is not the protocol.".to_owned());
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
    }
    let length = length.ok_or("The server sent a message without its length.")?;
    if length > MAX_MESSAGE {
        return Err(format!("The server sent a message of {length} bytes, more than {MAX_MESSAGE}."));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).map_err(|_| "The server ended in the middle of a message.".to_owned())?;
    String::from_utf8(body).map(Some).map_err(|_| "The server sent a message that is not UTF-8.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Cursor};

    use serde_json::json;

    #[test]
    fn frames_are_read_back_as_they_were_written() {
        let messages = [json!({"id": 1, "text": "ä\r\n\r\n€"}), json!({}), json!([1, 2])];
        let bytes: Vec<u8> = messages.iter().flat_map(frame).collect();
        // A buffer of one byte splits headers and bodies at every place.
        let mut input = BufReader::with_capacity(1, Cursor::new(bytes));
        for message in &messages {
            assert_eq!(read_frame(&mut input), Ok(Some(message.to_string())));
        }
        assert_eq!(read_frame(&mut input), Ok(None));
    }

    #[test]
    fn extra_headers_are_skipped_and_broken_input_is_named() {
        let read = |text: &str| read_frame(&mut Cursor::new(text.as_bytes().to_vec()));
        assert_eq!(read("Content-Type: x\r\ncontent-length: 2\r\n\r\n{}"), Ok(Some("{}".to_owned())));
        for (text, part) in [
            ("hello\r\n\r\n", "not the protocol"),
            ("Content-Type: x\r\n\r\n{}", "without its length"),
            ("Content-Length: 9\r\n\r\n{}", "middle of a message"),
            ("Content-Length: 99999999999\r\n\r\n", "more than"),
            ("Content-Le", "broken header"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
