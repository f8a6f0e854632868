//! How many bytes of JSON a value makes, without making it.
//!
//! Never keeps a byte of it.

use serde::Serialize;

/// Bytes of the value's JSON on one line.
pub(in crate::domain) fn json_bytes(value: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    // Counting takes everything.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

/// Counts the bytes of a text that nobody keeps.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::json_bytes;
    use serde_json::json;

    #[test]
    fn what_is_counted_is_what_would_be_written() {
        let value = json!({"a": [1, -2.5, null, true], "é\n\"": "\u{1}x", "b": {"c": ""}});
        assert_eq!(json_bytes(&value), value.to_string().len());
    }
}
