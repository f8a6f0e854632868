//! JSON as Python writes it: `NaN`, infinities, halves of surrogate pairs, broken UTF-8.
//!
//! Owns what is repaired and how (wire.md section 3), and what "strict" means for a body that is passed on unread. Never
//! guesses at text that is not JSON: the caller keeps that raw.

use memchr::memchr2;
use serde::de::IgnoredAny;
use serde_json::Number;

/// Deepest nesting of arrays and objects that counts as JSON. `serde_json` reads 127 levels; the rest is room for the
/// messages that we, and our clients, put around an event. Deeper text is kept raw.
pub const MAX_DEPTH: usize = 100;

/// Numbers with an exponent, or longer than this, may be out of range; all others cannot.
const SURELY_FINITE_BYTES: usize = 300;

/// Whether a text that keeps the grammar of JSON can also be read by every strict parser: no half of a surrogate pair, no
/// number past the range of an `f64`, no nesting past [`MAX_DEPTH`]. `serde_json` looks at none of the three when it
/// skips a value or keeps it as `RawValue`. For text that is not JSON the answer means nothing.
pub fn is_strict(text: &str) -> bool {
    let mut rest = text.as_bytes();
    let mut depth = 0_usize;
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b'"' => match behind_strict_string(behind) {
                Some(behind) => behind,
                None => return false,
            },
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
                behind
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                behind
            }
            // A sign in front changes nothing.
            b'0'..=b'9' => {
                let (word, behind) = word(rest);
                if is_out_of_range(word) {
                    return false;
                }
                behind
            }
            _ => behind,
        };
    }
    true
}

/// The text as strict JSON: non-finite numbers become `null`, lone surrogates `\ufffd`, bytes that are not UTF-8 U+FFFD.
/// `None` when it is no JSON even so. Strict JSON comes back as it was. To be called once a strict parse has failed,
/// or [`is_strict`] said no. The result has at most three times as many bytes.
pub fn repair(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b'"' => {
                out.push(b'"');
                repaired_string(behind, &mut out)
            }
            b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                let (word, behind) = word(rest);
                let lost = matches!(word, b"NaN" | b"Infinity" | b"-Infinity") || is_out_of_range(word);
                out.extend_from_slice(if lost { b"null" } else { word });
                behind
            }
            other => {
                out.push(*other);
                behind
            }
        };
    }
    let text = String::from_utf8(out).ok()?;
    serde_json::from_str::<IgnoredAny>(&text).ok()?;
    is_strict(&text).then_some(text)
}

/// What stands behind the closing quote; `None` at a lone surrogate.
fn behind_strict_string(mut rest: &[u8]) -> Option<&[u8]> {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let (_, found) = rest.split_at_checked(at)?;
        if let Some(behind) = found.strip_prefix(b"\"") {
            return Some(behind);
        }
        let escape = Escape::at(found);
        if escape.lone {
            return None;
        }
        rest = found.get(escape.bytes..).unwrap_or_default();
    }
    Some(&[])
}

/// Copies up to and with the closing quote; gives back what stands behind it.
fn repaired_string<'t>(mut rest: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
    while let Some((plain, found)) = memchr2(b'"', b'\\', rest).and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_slice(plain);
        if let Some(behind) = found.strip_prefix(b"\"") {
            out.push(b'"');
            return behind;
        }
        let escape = Escape::at(found);
        let (text, behind) = found.split_at_checked(escape.bytes).unwrap_or((found, &[]));
        out.extend_from_slice(if escape.lone { b"\\ufffd" } else { text });
        rest = behind;
    }
    out.extend_from_slice(rest);
    &[]
}

/// A backslash and what belongs to it.
pub(in crate::domain) struct Escape {
    pub(in crate::domain) bytes: usize,
    /// Half of a surrogate pair without the other half.
    pub(in crate::domain) lone: bool,
}

impl Escape {
    /// `text` begins with the backslash.
    pub(in crate::domain) fn at(text: &[u8]) -> Self {
        match unit(text) {
            Some(0xD800..=0xDBFF) => match text.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => Self { bytes: 12, lone: false },
                Some(_) | None => Self { bytes: 6, lone: true },
            },
            Some(0xDC00..=0xDFFF) => Self { bytes: 6, lone: true },
            Some(_) => Self { bytes: 6, lone: false },
            None => Self { bytes: 2, lone: false },
        }
    }
}

/// The UTF-16 unit of a `\u` escape.
pub(in crate::domain) fn unit(text: &[u8]) -> Option<u16> {
    let hex = text.strip_prefix(b"\\u")?.get(..4)?;
    hex.iter().try_fold(0_u16, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

/// A run of what numbers and words are made of, and what stands behind it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    let end = text.iter().position(|byte| !inside(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

/// A number by its grammar that no `f64` holds, as `serde_json` sees it.
fn is_out_of_range(word: &[u8]) -> bool {
    let number = word.first().is_some_and(|byte| *byte == b'-' || byte.is_ascii_digit());
    if !number || (word.len() <= SURELY_FINITE_BYTES && memchr2(b'e', b'E', word).is_none()) {
        return false;
    }
    serde_json::from_slice::<IgnoredAny>(word).is_ok() && serde_json::from_slice::<Number>(word).is_err()
}

#[cfg(test)]
#[path = "lenient_json_tests.rs"]
mod tests;
