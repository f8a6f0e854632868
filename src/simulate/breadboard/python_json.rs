//! JSON text as Python's encoder writes it: compact, every character outside ASCII escaped.
//!
//! Owns the spelling alone. What serde_json cannot say (`NaN`, lone surrogates) comes in as finished text.

use std::io;

use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

/// Escapes as `json.dumps` does: all but the printable ASCII characters.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut plain = 0;
        for (at, found) in fragment.char_indices().filter(|(_, found)| !(' '..='~').contains(found)) {
            writer.write_all(fragment.get(plain..at).unwrap_or_default().as_bytes())?;
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + found.len_utf8();
        }
        writer.write_all(fragment.get(plain..).unwrap_or_default().as_bytes())
    }
}

/// The text of a value.
pub(super) fn text(value: &Value) -> String {
    let mut out = Vec::with_capacity(256);
    let mut serializer = Serializer::with_formatter(&mut out, Ascii);
    // Writing a value into memory cannot fail; if it did, the frame would be empty and a client would say so.
    let _ = serde::Serialize::serialize(value, &mut serializer);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_compact_and_ascii_with_surrogate_pairs() {
        let value = json!({"a": [1, 1.5, null, true], "é\"": "x\u{1F600}y\u{7f}\n\u{0}"});
        assert_eq!(
            text(&value),
            "{\"a\":[1,1.5,null,true],\"\\u00e9\\\"\":\"x\\ud83d\\ude00y\\u007f\\n\\u0000\"}"
        );
    }
}
