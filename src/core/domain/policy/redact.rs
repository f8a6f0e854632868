//! Redaction: no secret leaves in a message, a log line or an error, however it is spelled there.
//!
//! Owns the known secrets and their spellings. Never prints one, not even in `Debug`.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::domain::shown::{Kind, show};

/// What stands where a secret stood.
const MARK: &[u8] = b"[redacted]";
/// Shorter text is not a secret but a word; hiding it would spoil every message that holds it.
const SHORTEST: usize = 6;
/// Spellings kept. A client that sets ever new tokens pushes out the oldest, which it replaced long ago.
const SPELLINGS: usize = 2_048;

/// Replaces known secrets in bytes that leave.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first.
    spellings: Vec<Spelling>,
    added: u64,
}

#[derive(Clone)]
struct Spelling {
    finder: memmem::Finder<'static>,
    age: u64,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("spellings", &self.spellings.len()).finish()
    }
}

impl Redactor {
    /// Hides this secret from now on: as it is, and as JSON writers spell it. Secrets under 6 bytes are ignored.
    pub fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        // Where the secret is part of a title, what could not be seen in it is written out.
        let shown = [Kind::Code, Kind::Sentence, Kind::Lines].map(|kind| show(secret, kind));
        let mut written: Vec<String> = shown.iter().flat_map(|shown| spellings(shown)).collect();
        written.extend(spellings(secret));
        for spelling in written {
            self.keep(memmem::Finder::new(&spelling).into_owned());
        }
        self.longest_first();
    }

    /// Hides what another one knows, too.
    pub fn add_all(&mut self, other: &Self) {
        let mut by_age: Vec<&Spelling> = other.spellings.iter().collect();
        by_age.sort_by_key(|spelling| spelling.age);
        for spelling in by_age {
            self.keep(spelling.finder.clone());
        }
        self.longest_first();
    }

    /// One more spelling, in place of the oldest where there is no room.
    fn keep(&mut self, finder: memmem::Finder<'static>) {
        if self.spellings.iter().any(|known| known.finder.needle() == finder.needle()) {
            return;
        }
        if self.spellings.len() >= SPELLINGS {
            let oldest = self.spellings.iter().enumerate().min_by_key(|(_, spelling)| spelling.age);
            if let Some(at) = oldest.map(|(at, _)| at) {
                self.spellings.remove(at);
            }
        }
        self.spellings.push(Spelling { finder, age: self.added });
        self.added += 1;
    }

    fn longest_first(&mut self) {
        self.spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.finder.needle().len()));
    }

    /// Whether there is anything to hide.
    pub fn knows_any(&self) -> bool {
        !self.spellings.is_empty()
    }

    /// The bytes with `[redacted]` for every secret. Secrets that overlap are hidden together, so that no end of one
    /// stays behind.
    pub fn scrub<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for spelling in &self.spellings {
            let mut from = 0;
            while let Some(at) = spelling.finder.find(&bytes[from..]) {
                let start = from + at;
                found.push(start..start + spelling.finder.needle().len());
                from = start + 1;
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        found.sort_by_key(|range| range.start);
        let mut clean = Vec::with_capacity(bytes.len());
        let mut done = 0;
        let mut ranges = found.into_iter().peekable();
        while let Some(mut range) = ranges.next() {
            while let Some(next) = ranges.next_if(|next| next.start < range.end) {
                range.end = range.end.max(next.end);
            }
            clean.extend_from_slice(&bytes[done..range.start]);
            clean.extend_from_slice(MARK);
            done = range.end;
        }
        clean.extend_from_slice(&bytes[done..]);
        Cow::Owned(clean)
    }
}

impl Redactor {
    /// How many bytes at the end of a piece of streamed text may be the beginning of a secret whose rest comes with the
    /// next piece. Always a whole number of characters.
    pub fn open_end(&self, text: &str) -> usize {
        let text = text.as_bytes();
        let begins = |spelling: &Spelling| {
            let needle = spelling.finder.needle();
            let longest = text.len().min(needle.len() - 1);
            (1..=longest).rev().find(|length| text.ends_with(&needle[..*length])).unwrap_or(0)
        };
        // A needle cut inside a character could match only text that is cut there as well, which a `str` never is.
        self.spellings.iter().map(begins).max().unwrap_or(0)
    }
}

/// Every spelling, and each once more inside of a JSON string: the arguments of a tool are JSON as text. Most secrets need no
/// escapes, and then there is one spelling.
fn spellings(secret: &str) -> Vec<String> {
    let mut all = written(secret);
    let nested: Vec<String> = all.iter().flat_map(|text| written(text)).collect();
    for text in nested {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Raw; in a JSON string; the same with `/` escaped, as some writers do; the same with ASCII only.
fn written(secret: &str) -> Vec<String> {
    let quoted = serde_json::Value::String(secret.to_owned()).to_string();
    let json = quoted[1..quoted.len() - 1].to_owned();
    let slashes = json.replace('/', "\\/");
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    let mut all = vec![secret.to_owned(), json, slashes, ascii];
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(secrets: &[&str], text: &str) -> String {
        let mut redactor = Redactor::default();
        for secret in secrets {
            redactor.add(secret);
        }
        String::from_utf8(redactor.scrub(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        assert_eq!(scrubbed(&["tok-123456"], "a tok-123456,tok-123456"), "a [redacted],[redacted]");
        assert!(matches!(Redactor::default().scrub(b"text"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_secret_is_hidden_in_every_json_spelling() {
        let secret = "a\"b\\c/dé";
        let json = serde_json::to_string(secret).unwrap();
        assert_eq!(scrubbed(&[secret], &json), "\"[redacted]\"");
        assert_eq!(scrubbed(&[secret], r#""a\"b\\c\/dé""#), "\"[redacted]\"");
        assert_eq!(scrubbed(&[secret], r#""a\"b\\c/d\u00e9""#), "\"[redacted]\"");
        assert_eq!(scrubbed(&[secret], secret), "[redacted]");
    }

    #[test]
    fn a_secret_is_hidden_in_json_inside_of_json() {
        let secret = "a\"b\\c/dé";
        let inner = serde_json::to_string(&[secret]).unwrap();
        let outer = serde_json::to_string(&[inner]).unwrap();
        assert_eq!(scrubbed(&[secret], &outer), r#"["[\"[redacted]\"]"]"#);
    }

    #[test]
    fn the_longest_secret_wins_and_overlaps_leave_nothing_behind() {
        assert_eq!(scrubbed(&["secret", "secret-long"], "my secret-long!"), "my [redacted]!");
        assert_eq!(scrubbed(&["abcdefgh", "defghijk"], "abcdefghijkl"), "[redacted]l");
        assert_eq!(scrubbed(&["aaaaaa"], "aaaaaaaaa."), "[redacted].");
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_of_a_piece_is_found() {
        let mut redactor = Redactor::default();
        redactor.add("tok-123456");
        redactor.add("ök-öööö");
        for (text, open) in [
            ("", 0),
            ("plain", 0),
            ("a t", 1),
            ("a tok-1", 5),
            ("tok-12345", 9),
            ("tok-123456", 0),
            ("tok-123456 tok", 3),
            ("tok-tok-", 4),
            ("ö", 2),
            ("ök-ö", 6),
        ] {
            assert_eq!(redactor.open_end(text), open, "{text}");
        }
    }

    #[test]
    fn short_words_are_left_alone_and_debug_shows_nothing() {
        assert_eq!(scrubbed(&["none", ""], "none"), "none");
        let mut redactor = Redactor::default();
        redactor.add("tok-123456");
        assert!(!format!("{redactor:?}").contains("tok-123456"));
    }

    #[test]
    fn the_bound_drops_the_oldest_only() {
        let mut redactor = Redactor::default();
        for n in 0..2_200 {
            redactor.add(&format!("token-{n:04}"));
        }
        assert_eq!(redactor.scrub(b"token-2199 token-0200"), &b"[redacted] [redacted]"[..]);
        assert_eq!(redactor.scrub(b"token-0001"), &b"token-0001"[..]);
    }
}
