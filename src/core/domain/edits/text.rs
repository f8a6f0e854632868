//! Bytes and text: encodings, byte order marks, line ends, hashes.
//!
//! Owns how bytes become text and the same bytes again. Never reads a file and never guesses an encoding: the guess is a
//! parameter, made by the edge.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use sha2::{Digest, Sha256};

/// How far into the bytes a NUL is looked for; one there means that they are no text.
pub(crate) const BINARY_PROBE: usize = 8 * 1_024;

/// How a text lies on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFormat {
    /// Its encoding.
    pub encoding: &'static Encoding,
    /// Whether it begins with a byte order mark.
    pub bom: bool,
}

/// UTF-8 without mark: what a new file gets.
pub const PLAIN: TextFormat = TextFormat { encoding: UTF_8, bom: false };

impl TextFormat {
    /// Name of the encoding where it is not UTF-8.
    pub fn odd_name(self) -> Option<&'static str> {
        (self.encoding != UTF_8).then(|| self.encoding.name())
    }
}

/// Bytes that were read as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without byte order mark.
    pub text: String,
    /// How it lies on disk.
    pub format: TextFormat,
    /// Whether some bytes did not fit the encoding and became U+FFFD; such a text cannot be written back.
    pub malformed: bool,
}

/// The bytes are no text: they have a NUL near their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText;

/// The encoding of the file has no such character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoesNotFit {
    /// Name of the encoding.
    pub encoding: &'static str,
}

/// Length of a byte order mark, and what it announces.
pub fn mark(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    Encoding::for_bom(bytes)
}

/// Whether bytes without a UTF-16 mark are no text.
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PROBE)]).is_some()
}

/// Reads bytes as text. `guess` is asked only when they have no mark and are not UTF-8.
pub fn decode(bytes: &[u8], guess: impl FnOnce(&[u8]) -> &'static Encoding) -> Result<Decoded, NotText> {
    if let Some((encoding, length)) = mark(bytes) {
        return Ok(decode_as(&bytes[length..], TextFormat { encoding, bom: true }));
    }
    if is_binary(bytes) {
        return Err(NotText);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Decoded { text: text.to_owned(), format: PLAIN, malformed: false });
    }
    Ok(decode_as(bytes, TextFormat { encoding: guess(bytes), bom: false }))
}

/// Reads bytes, their mark already taken off, in a known format.
pub fn decode_as(bytes: &[u8], format: TextFormat) -> Decoded {
    let (text, malformed) = format.encoding.decode_without_bom_handling(bytes);
    Decoded { text: text.into_owned(), format, malformed }
}

/// Writes text in a format; a mark at the start of `text` is not doubled. Refused when a character does not fit.
pub fn encode(text: &str, format: TextFormat) -> Result<Vec<u8>, DoesNotFit> {
    let text = if format.bom { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
    let marked = format.bom.then_some('\u{feff}');
    if format.encoding == UTF_16LE {
        return Ok(units(marked, text).flat_map(u16::to_le_bytes).collect());
    }
    if format.encoding == UTF_16BE {
        return Ok(units(marked, text).flat_map(u16::to_be_bytes).collect());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len() + 3);
    if marked.is_some() {
        bytes.extend_from_slice("\u{feff}".as_bytes());
    }
    let (encoded, used, unmappable) = format.encoding.encode(text);
    if unmappable || used != format.encoding {
        return Err(DoesNotFit { encoding: format.encoding.name() });
    }
    bytes.extend_from_slice(&encoded);
    Ok(bytes)
}

fn units(marked: Option<char>, text: &str) -> impl Iterator<Item = u16> {
    marked.map(|_| 0xfeff).into_iter().chain(text.encode_utf16())
}

/// The identity of a file's content, by which contents are compared: `sha256:` and 64 hexadecimal digits.
pub fn content_hash(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The hash of a text by which it is known again whatever its line ends and its mark are.
pub(crate) fn plain_hash(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    content_hash(text.replace("\r\n", "\n").as_bytes())
}

/// Hexadecimal digits, lower case.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use encoding_rs::{Encoding, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
    use proptest::prelude::*;

    use super::{Decoded, DoesNotFit, NotText, PLAIN, TextFormat, content_hash, decode, encode};

    fn never(_: &[u8]) -> &'static Encoding {
        panic!("no guess is needed")
    }

    fn read(bytes: &[u8]) -> Result<Decoded, NotText> {
        decode(bytes, never)
    }

    fn text(text: &str, encoding: &'static Encoding, bom: bool) -> Result<Decoded, NotText> {
        Ok(Decoded { text: text.to_owned(), format: TextFormat { encoding, bom }, malformed: false })
    }

    #[test]
    fn utf8_and_marks_are_known_without_a_guess() {
        assert_eq!(read(b""), text("", UTF_8, false));
        assert_eq!(read("gr\u{fc}n 😀".as_bytes()), text("grün 😀", UTF_8, false));
        assert_eq!(read(b"\xef\xbb\xbfx\n"), text("x\n", UTF_8, true));
        assert_eq!(read(b"\xff\xfea\0\n\0"), text("a\n", UTF_16LE, true));
        assert_eq!(read(b"\xfe\xff\0a\xd8\x3d\xde\0"), text("a😀", UTF_16BE, true));
    }

    #[test]
    fn a_nul_near_the_start_is_no_text() {
        let mut late = vec![b'a'; super::BINARY_PROBE];
        late.push(0);
        assert_eq!(read(b"ELF\0\x01"), Err(NotText));
        assert_eq!(read(&late).map(|decoded| decoded.text.len()), Ok(super::BINARY_PROBE + 1));
    }

    #[test]
    fn other_encodings_are_guessed_and_come_back_as_the_same_bytes() {
        let bytes = b"caf\xe9\r\n";
        let decoded = decode(bytes, |_| WINDOWS_1252).unwrap();
        assert_eq!(Ok(decoded.clone()), text("café\r\n", WINDOWS_1252, false));
        assert_eq!(decoded.format.odd_name(), Some("windows-1252"));
        assert_eq!(encode(&decoded.text, decoded.format), Ok(bytes.to_vec()));
    }

    #[test]
    fn a_character_that_does_not_fit_is_refused() {
        let format = TextFormat { encoding: WINDOWS_1252, bom: false };
        assert_eq!(encode("日本", format), Err(DoesNotFit { encoding: "windows-1252" }));
        let format = TextFormat { encoding: SHIFT_JIS, bom: false };
        assert_eq!(encode("日本", format), Ok(b"\x93\xfa\x96\x7b".to_vec()));
    }

    #[test]
    fn a_mark_is_kept_and_not_doubled() {
        let format = TextFormat { encoding: UTF_8, bom: true };
        assert_eq!(encode("x", format), Ok(b"\xef\xbb\xbfx".to_vec()));
        assert_eq!(encode("\u{feff}x", format), Ok(b"\xef\xbb\xbfx".to_vec()));
        assert_eq!(encode("x", PLAIN), Ok(b"x".to_vec()));
    }

    #[test]
    fn a_hash_is_named_and_lower_case() {
        assert_eq!(
            content_hash(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    proptest! {
        #[test]
        fn every_text_survives_every_unicode_format(content in "\\PC{0,40}", which in 0..4_usize) {
            let (encoding, bom) = [(UTF_8, false), (UTF_8, true), (UTF_16LE, true), (UTF_16BE, true)][which];
            let format = TextFormat { encoding, bom };
            prop_assume!(!content.starts_with('\u{feff}'));
            let bytes = encode(&content, format).unwrap();
            prop_assert_eq!(read(&bytes), text(&content, encoding, bom));
        }
    }
}
