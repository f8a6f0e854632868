//! The fingerprint of streamed text: enough to know later whether a final message repeats it.
//!
//! Keeps length and a 64-bit FNV-1a hash instead of the text, so that the state stays small however long a turn is. It
//! guards against printing twice, not against an adversary: a collision would only leave the streamed text as it is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Length and hash of text that came in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    /// Bytes so far.
    pub(in crate::domain) bytes: u64,
    hash: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { bytes: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Fingerprint {
    /// Of a whole text.
    pub(super) fn of(text: &str) -> Self {
        let mut print = Self::default();
        print.feed(text);
        print
    }

    /// Adds a piece.
    pub(super) fn feed(&mut self, piece: &str) {
        self.bytes += piece.len() as u64;
        for byte in piece.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// What follows this text in `whole`, when `whole` starts with it.
    pub(super) fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (start, rest) = whole.split_at_checked(usize::try_from(self.bytes).ok()?)?;
        (Self::of(start) == *self).then_some(rest)
    }
}

/// The longest key.
const LONGEST: usize = 96;

/// A key for text that an engine chose: short text is its own key, long text its start and its hash.
pub(in crate::domain) fn key(text: &str) -> String {
    short(Cow::Borrowed(text)).into_owned()
}

/// The same, without a copy of text that is its own key.
pub(in crate::domain) fn short(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return text;
    }
    let start = super::cut::start_of(&text, LONGEST - 17);
    Cow::Owned(format!("{start}~{:016x}", Fingerprint::of(&text).hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_fingerprint_of_the_whole_and_tell_the_rest() {
        let mut print = Fingerprint::default();
        print.feed("He");
        print.feed("llo");
        assert_eq!(print, Fingerprint::of("Hello"));
        assert_eq!(print.rest_of("Hello"), Some(""));
        assert_eq!(print.rest_of("Hello world"), Some(" world"));
        assert_eq!(print.rest_of("Hallo world"), None);
        assert_eq!(print.rest_of("Hel"), None);
        assert_eq!(Fingerprint::of("a").rest_of("é"), None);
    }

    #[test]
    fn long_keys_are_bounded_and_still_differ() {
        let long = "x".repeat(5_000);
        assert_eq!(key("call_1"), "call_1");
        assert!(key(&long).len() <= 96);
        assert_ne!(key(&long), key(&format!("{long}y")));
    }
}
