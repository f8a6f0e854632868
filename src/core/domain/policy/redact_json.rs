//! Redaction of a JSON message: strings lose their secrets, the message stays the message it was.
//!
//! Owns the difference between what is content and what is the protocol's own spelling. Never touches numbers, names of
//! fields made of letters, or the method of a message, so that a token that happens to be a word cannot break a frame.

use std::borrow::Cow;

use memchr::memmem;
use serde_json::{Map, Value};

use super::redact::Redactor;

/// Top-level fields of JSON-RPC that are not content.
const FRAME: [&str; 3] = ["jsonrpc", "method", "id"];

impl Redactor {
    /// The message with `[redacted]` for every secret in its strings. A message without one is not even parsed; one that is
    /// not JSON is treated as text.
    pub fn scrub_json<'a>(&self, message: &'a [u8]) -> Cow<'a, [u8]> {
        let text = self.scrub(message);
        if matches!(text, Cow::Borrowed(_)) && !self.is_spelled_otherwise(message) {
            return text;
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(message) else { return text };
        if let Value::Object(frame) = &mut value {
            for (key, value) in frame.iter_mut() {
                if !FRAME.contains(&key.as_str()) {
                    self.scrub_value(value);
                }
            }
        } else {
            self.scrub_value(&mut value);
        }
        serde_json::to_vec(&value).map_or(text, Cow::Owned)
    }

    /// Whether a secret stands in a message with some of its characters as `\u` escapes and others as they are: any character
    /// may be either (RFC 8259, section 7).
    fn is_spelled_otherwise(&self, message: &[u8]) -> bool {
        if !self.knows_any() || memmem::find(message, b"\\u").is_none() {
            return false;
        }
        matches!(self.scrub(&respelled(message)), Cow::Owned(_))
    }

    /// Every string of a value, and every key that is not a plain name.
    pub(crate) fn scrub_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.scrub_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_value(item)),
            Value::Object(map) => self.scrub_map(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// One string.
    pub fn scrub_text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.scrub(text.as_bytes()) {
            *text = String::from_utf8_lossy(&clean).into_owned();
        }
    }

    /// The name of a type: like a string, unless it is made of letters and dots only.
    pub fn scrub_name(&self, name: &mut String) {
        if !name.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.')) {
            self.scrub_text(name);
        }
    }

    /// The same for the fields of an object.
    pub fn scrub_map(&self, map: &mut Map<String, Value>) {
        let spoiled = map.keys().any(|key| self.spoils(key));
        if spoiled {
            *map = std::mem::take(map)
                .into_iter()
                .map(|(key, value)| {
                    let clean = if self.spoils(&key) {
                        self.scrub(key.as_bytes())
                    } else {
                        Cow::Borrowed(key.as_bytes())
                    };
                    (String::from_utf8_lossy(&clean).into_owned(), value)
                })
                .collect();
        }
        map.values_mut().for_each(|value| self.scrub_value(value));
    }

    fn spoils(&self, key: &str) -> bool {
        let plain = key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        !plain && matches!(self.scrub(key.as_bytes()), Cow::Owned(_))
    }
}

/// The message with each character that is written as a `\u` escape spelled as our own writer does. Half of a pair, and what is
/// no escape, stays as it is.
fn respelled(message: &[u8]) -> Vec<u8> {
    let mut respelled = Vec::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        respelled.extend_from_slice(before);
        let (character, length) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(high), Some(low)) if (0xd800..0xdc00).contains(&high) => {
                (char::decode_utf16([high, low]).next().and_then(Result::ok), 12)
            }
            (Some(single), _) => (char::from_u32(u32::from(single)), 6),
            (None, _) => (None, 2),
        };
        // One that is kept goes with the character behind its backslash, so that this begins none.
        let length = if character.is_none() { escape.len().min(2) } else { length };
        match character {
            Some(character) => {
                let quoted = Value::from(character.to_string()).to_string();
                respelled.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
            }
            None => respelled.extend_from_slice(&escape[..length]),
        }
        rest = &escape[length..];
    }
    respelled.extend_from_slice(rest);
    respelled
}

/// The unit of a `\u` escape at the beginning of a text.
fn unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor(secrets: &[&str]) -> Redactor {
        let mut redactor = Redactor::default();
        secrets.iter().for_each(|secret| redactor.add(secret));
        redactor
    }

    fn scrubbed(secrets: &[&str], message: &Value) -> Value {
        serde_json::from_slice(&redactor(secrets).scrub_json(message.to_string().as_bytes())).unwrap()
    }

    #[test]
    fn r000_62_strings_and_keys_of_content_lose_their_secrets_in_every_spelling() {
        let message = json!({"method": "bb/events", "params": {
            "text": "is tok-1\"2 3", "nested": "{\"t\":\"tok-1\\\"2 3\"}", "payload": {"tok-1\"2 3": 1}}});
        let expected = json!({"method": "bb/events", "params": {
            "text": "is [redacted]", "nested": "{\"t\":\"[redacted]\"}", "payload": {"[redacted]": 1}}});
        assert_eq!(scrubbed(&["tok-1\"2 3"], &message), expected);
    }

    #[test]
    fn r000_62_a_secret_is_hidden_however_many_of_its_characters_are_escaped() {
        let redactor = redactor(&["t\u{f6}k-\u{1f600}\"n"]);
        for spelled in [
            r#"{"a":"t\u00f6k-😀\"n"}"#,
            r#"{"a":"tök-\uD83D\uDE00\"n"}"#,
            r#"{"a":"\u0074\u00F6k\u002d\ud83d\ude00\u0022n"}"#,
            r#"{"a":"t\u00f6\u006b-😀\u0022n"}"#,
        ] {
            let clean = redactor.scrub_json(spelled.as_bytes());
            assert_eq!(std::str::from_utf8(&clean), Ok(r#"{"a":"[redacted]"}"#), "{spelled}");
        }
        // What only looks like one, or is half of a character, is left as it is
        for other in
            [r#"{"a":"t\\u00f6k-😀\"n \ud83d \u00e9"}"#, r#"{"a":"\ud83d\u0041"}"#, r#"{"a":"\u00"#, "\\"]
        {
            assert!(matches!(redactor.scrub_json(other.as_bytes()), Cow::Borrowed(_)), "{other}");
        }
    }

    #[test]
    fn a_token_that_is_a_word_or_a_number_of_the_protocol_breaks_no_message() {
        let message =
            json!({"jsonrpc": "2.0", "id": "jsonrpc", "method": "bb/events", "params": {"fromSeq": 1234567}});
        for token in ["jsonrpc", "method", "params", "bb/events", "fromSeq", "1234567"] {
            assert_eq!(scrubbed(&[token], &message), message, "{token}");
        }
    }

    #[test]
    fn a_message_without_a_secret_is_not_copied_and_text_is_text() {
        let redactor = redactor(&["secret-1"]);
        assert!(matches!(redactor.scrub_json(b"{}"), Cow::Borrowed(_)));
        assert_eq!(&*redactor.scrub_json(b"no json: secret-1"), b"no json: [redacted]");
    }
}
