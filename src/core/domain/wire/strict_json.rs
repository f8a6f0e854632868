//! JSON that every strict parser reads, walked once and without building anything.
//!
//! Owns the one pass that an engine's text gets where nobody looks inside: grammar, surrogate pairs, range of numbers and
//! nesting together. Says `None` to whatever is unusual (control characters, exponents, very long numbers), valid or not:
//! the caller then takes the slow way, which tells them apart. Never repairs: `lenient_json` does. What it is worth: an event of a
//! BreadBoard stream costs 0.39 µs to decode instead of 0.64, and 1.6 instead of 1.9 from its bytes to the bytes that are stored,
//! a seventh (`benches/parts.rs`, `engine_stream_1000`).

use memchr::memchr2;

use super::lenient_json::{Escape, MAX_DEPTH, unit};

/// Times a byte: that byte eight times.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Digits of a whole number that surely fits 64 bits.
const SURELY_WHOLE: usize = 18;

/// Digits of a number that is surely finite as an `f64`.
const SURELY_FINITE: usize = 300;

/// The text of an object that was walked: strict JSON from its first to its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object<'a>(&'a str);

impl<'a> Object<'a> {
    /// The text.
    pub(crate) fn text(self) -> &'a str {
        self.0
    }
}

/// A walk through one text.
pub(in crate::domain) struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    /// At the start of a text without control characters, so without line ends too; `None` for any other.
    pub(in crate::domain) fn new(text: &'a str) -> Option<Self> {
        // Looked at as a whole; a string is then searched for its end alone.
        (!has_control(text.as_bytes())).then_some(Self { text, at: 0 })
    }

    /// Takes this byte, behind any spaces; whether it stands there.
    pub(in crate::domain) fn take(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes `null`.
    pub(in crate::domain) fn take_null(&mut self) -> bool {
        self.skip_spaces();
        // Nearly always something else stands there.
        self.peek() == Some(b'n') && self.take_word("null").is_some()
    }

    /// Whether nothing but spaces is left.
    pub(in crate::domain) fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.at == self.text.len()
    }

    /// Takes a string without escapes; what stands between its quotes.
    pub(in crate::domain) fn plain_string(&mut self) -> Option<&'a str> {
        if !self.take(b'"') {
            return None;
        }
        let from = self.at;
        let end = from + quote_or_escape(self.rest())?;
        self.at = end + 1;
        (self.text.as_bytes().get(end) == Some(&b'"')).then(|| self.text.get(from..end)).flatten()
    }

    /// Takes a whole number, not below zero, of up to 18 digits.
    pub(in crate::domain) fn whole_number(&mut self) -> Option<u64> {
        self.skip_spaces();
        let digits = digits(self.rest());
        let number = self.rest().get(..digits)?;
        self.at += digits;
        let leading_zero = digits > 1 && number.first() == Some(&b'0');
        let goes_on = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if digits == 0 || digits > SURELY_WHOLE || leading_zero || goes_on {
            return None;
        }
        Some(number.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
    }

    /// Takes an object.
    pub(in crate::domain) fn object(&mut self) -> Option<Object<'a>> {
        self.skip_spaces();
        let from = self.at;
        if self.peek() != Some(b'{') {
            return None;
        }
        self.value()?;
        self.text.get(from..self.at).map(Object)
    }

    /// Takes any value.
    pub(in crate::domain) fn value(&mut self) -> Option<()> {
        // One bit a level: whether it is an object. `MAX_DEPTH` levels fit.
        let (mut depth, mut objects) = (0, 0_u128);
        loop {
            self.skip_spaces();
            let open = self.peek()?;
            match open {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    self.at += 1;
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return None;
                    }
                    objects = objects << 1 | u128::from(open == b'{');
                    // An empty one is at its end already.
                    if !self.take(if open == b'{' { b'}' } else { b']' }) {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                    depth -= 1;
                    objects >>= 1;
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.take_word("true")?,
                b'f' => self.take_word("false")?,
                b'n' => self.take_word("null")?,
                _ => return None,
            }
            // Behind a value: the next one, or the end of what it stands in.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let in_object = objects & 1 == 1;
                if self.take(b',') {
                    if in_object {
                        self.key()?;
                    }
                    break;
                }
                if !self.take(if in_object { b'}' } else { b']' }) {
                    return None;
                }
                depth -= 1;
                objects >>= 1;
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        self.skip_spaces();
        if self.peek() != Some(b'"') {
            return None;
        }
        self.string()?;
        self.take(b':').then_some(())
    }

    /// Takes a string, at its quote.
    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += quote_or_escape(self.rest())?;
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Some(());
            }
            let escape = match self.rest().get(1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' => {
                    unit(self.rest())?;
                    let escape = Escape::at(self.rest());
                    if escape.lone {
                        return None;
                    }
                    escape.bytes
                }
                _ => return None,
            };
            self.at += escape;
        }
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let whole = digits(self.rest());
        if whole == 0 || (whole > 1 && self.peek() == Some(b'0')) {
            return None;
        }
        self.at += whole;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = digits(self.rest());
            if fraction == 0 {
                return None;
            }
            self.at += fraction;
        }
        // Only with an exponent, or with so many digits, may a number be out of range.
        (whole <= SURELY_FINITE && !matches!(self.peek(), Some(b'e' | b'E'))).then_some(())
    }

    fn take_word(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

/// Whether a byte below the space is among them. Eight are looked at at once, which a compiler that builds small does not do by
/// itself.
fn has_control(text: &[u8]) -> bool {
    // The highest bit of each byte that is below the space; a byte behind such a one may have it too.
    let below = |word: u64| word.wrapping_sub(EACH * 0x20) & !word & (EACH << 7);
    let (words, rest) = text.as_chunks();
    let found = words.iter().fold(0, |found, bytes| found | below(u64::from_le_bytes(*bytes)));
    found != 0 || rest.iter().any(|byte| *byte < b' ')
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Where the first quote or backslash stands. Most strings are short: for those eight bytes are looked at at once, since to
/// begin a search costs more than it saves.
fn quote_or_escape(text: &[u8]) -> Option<usize> {
    const SHORT: usize = 40;
    // The highest bit of the first byte that is zero, and of none before it.
    let zero = |word: u64| word.wrapping_sub(EACH) & !word & (EACH << 7);
    let mut at = 0;
    while at < SHORT
        && let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk)
    {
        let word = u64::from_le_bytes(*bytes);
        let found = zero(word ^ (EACH * 0x22)) | zero(word ^ (EACH * 0x5C));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Some(at + memchr2(b'"', b'\\', text.get(at..)?)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::{Value, json};

    use super::super::lenient_json::is_strict;
    use super::*;

    proptest! {
        #[test]
        fn a_control_character_is_found_wherever_it_stands(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            prop_assert_eq!(has_control(&bytes), bytes.iter().any(|byte| *byte < b' '));
        }

        #[test]
        fn one_control_character_is_enough(length in 1_usize..70, at in any::<prop::sample::Index>(), byte in 0..b' ') {
            let mut bytes = vec![b'x'; length];
            prop_assert!(!has_control(&bytes));
            *at.get_mut(&mut bytes) = byte;
            prop_assert!(has_control(&bytes));
        }
    }

    fn walks(text: &str) -> bool {
        Walk::new(text).is_some_and(|mut walk| walk.value().is_some() && walk.is_at_end())
    }

    #[test]
    fn what_strict_parsers_read_is_walked_to_its_end() {
        for text in [
            "{}",
            "[]",
            " [ ] ",
            "0",
            "-1.50",
            "true",
            "null",
            "\"\"",
            "[1,[2,{\"a\":[]}],\"b\"]",
            r#"{"a":"\u00e9\ud83d\ude00\n\"\\\/","b":{"c":[false,{}]}}"#,
            r#" { "a" : 1 , "b" : [ 1 , 2 ] } "#,
        ] {
            assert!(walks(text), "{text}");
        }
        let long = json!({ "text": "a long text, with a quote \" far behind its beginning".repeat(40) });
        assert!(walks(&long.to_string()));
    }

    #[test]
    fn what_is_broken_or_unusual_is_left_to_the_slow_way() {
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
        let long = "1".repeat(SURELY_FINITE + 1);
        for text in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e5",
            "nul",
            "tru",
            "\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "[1}",
            "{\"a\":1]",
            "1 2",
            "[1]]",
            "{\"a\":1}\n",
            "\"\t\"",
            "NaN",
            &deep,
            &long,
        ] {
            assert!(!walks(text), "{text}");
        }
        let deepest = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(walks(&deepest));
    }

    #[test]
    fn numbers_and_strings_are_taken_when_they_are_plain() {
        let number = |text| Walk::new(text).and_then(|mut walk| walk.whole_number());
        assert_eq!(
            (number(" 0"), number("12,"), number("999999999999999999")),
            (Some(0), Some(12), Some(999_999_999_999_999_999))
        );
        for text in ["", "-1", "01", "1.5", "1e3", "1000000000000000000", "x"] {
            assert_eq!(number(text), None, "{text}");
        }
        let string = |text| Walk::new(text).and_then(|mut walk| walk.plain_string());
        assert_eq!((string(r#" "a b"c"#), string(r#""""#)), (Some("a b"), Some("")));
        for text in ["", "a", "\"a", r#""a\n""#] {
            assert_eq!(string(text), None, "{text}");
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"",
            "\\",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "1",
            "-",
            ".",
            "0",
            "e5",
            " ",
            "true",
            "null",
            "é",
            "\"a\":",
            "\"a long string that goes on\"",
        ]);
        prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
    }

    proptest! {
        /// Whoever walks to the end has strict JSON before him; and of strict JSON only exponents, long numbers and control
        /// characters are not walked.
        #[test]
        fn the_walk_agrees_with_the_parser(text in texts()) {
            let strict = serde_json::from_str::<IgnoredAny>(&text).is_ok() && is_strict(&text);
            if walks(&text) {
                prop_assert!(strict, "{}", text);
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            } else if !text.contains('e') {
                prop_assert!(!strict, "{}", text);
            }
        }
    }
}
