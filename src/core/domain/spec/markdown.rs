//! A Markdown file that is imported into the form: which are taken, and how their bytes become text.
//!
//! Owns the limit and the sentences of seed 004. Never guesses an encoding itself: the guess is a parameter.

use encoding_rs::Encoding;

use crate::domain::edits::text::{NotText, decode};

/// Bytes of a file, inclusive: 512 KiB (R004-20).
pub const MARKDOWN_BYTES: u64 = 512 * 1_024;

/// The warning that goes with an empty file.
pub const EMPTY: &str = "The selected file is empty.";

/// Why a file is not imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkdownFault {
    /// Its name does not end in `.md`.
    NotMarkdown,
    /// It is larger than `MARKDOWN_BYTES`.
    TooLarge,
    /// There is no such regular file, or it cannot be read.
    Unreadable,
    /// Its name lies in the workspace and its file outside.
    LeadsOut,
    /// It is no text, or in an encoding that is not known.
    NotText,
    /// Too much waits already.
    Busy,
}

impl MarkdownFault {
    /// The error of `create-spec/import-markdown:result`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotMarkdown => "Only Markdown files (.md) can be imported.",
            Self::TooLarge => "File exceeds the 512 KB limit.",
            Self::Unreadable => "Failed to read the selected file.",
            Self::LeadsOut => {
                "The selected file is a link that leads out of the workspace; choose the file itself."
            }
            Self::NotText => {
                "The selected file is not text in a known encoding; save it as UTF-8 and import it again."
            }
            Self::Busy => "Too many file requests are waiting; import the file again in a moment.",
        }
    }
}

/// Text that goes into the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The text, without a byte order mark.
    pub content: String,
    /// What is worth saying about it.
    pub warning: Option<&'static str>,
}

/// Whether a file of this name may be imported. The picker filters too, but not every editor's does.
pub fn is_markdown(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, kind)| kind.eq_ignore_ascii_case("md"))
}

/// Reads the bytes of a file. `guess` is asked only when they have no mark and are not UTF-8.
pub fn import(
    bytes: &[u8],
    guess: impl FnOnce(&[u8]) -> &'static Encoding,
) -> Result<Imported, MarkdownFault> {
    if bytes.len() as u64 > MARKDOWN_BYTES {
        return Err(MarkdownFault::TooLarge);
    }
    let decoded = decode(bytes, guess).map_err(|NotText| MarkdownFault::NotText)?;
    // Text with holes in it is worse than none.
    if decoded.malformed || memchr::memchr(0, decoded.text.as_bytes()).is_some() {
        return Err(MarkdownFault::NotText);
    }
    let warning = decoded.text.is_empty().then_some(EMPTY);
    Ok(Imported { content: decoded.text, warning })
}

#[cfg(test)]
mod tests {
    use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

    use super::{EMPTY, Imported, MARKDOWN_BYTES, MarkdownFault, import, is_markdown};

    fn never(_: &[u8]) -> &'static Encoding {
        panic!("no guess is needed")
    }

    fn text(content: &str) -> Result<Imported, MarkdownFault> {
        Ok(Imported { content: content.to_owned(), warning: None })
    }

    #[test]
    fn r004_22_text_is_decoded_by_its_mark_as_utf8_or_by_a_guess() {
        assert_eq!(import("# Grün 😀\r\n".as_bytes(), never), text("# Grün 😀\r\n"));
        assert_eq!(import(b"\xef\xbb\xbf# A", never), text("# A"));
        assert_eq!(import(b"\xff\xfe#\0 \0A\0", never), text("# A"));
        assert_eq!(import(b"\xfe\xff\0#\0 \0A", never), text("# A"));
        assert_eq!(import(b"caf\xe9", |_| WINDOWS_1252), text("café"));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_instead_of_replaced() {
        let mut late = vec![b'a'; 10_000];
        late.push(0);
        for bytes in [&b"\x89PNG\r\n\0\0"[..], b"#\0 \0A\0", b"\xff\xfe#\0\xd8", &late] {
            assert_eq!(import(bytes, never), Err(MarkdownFault::NotText), "{bytes:?}");
        }
        assert_eq!(import(b"a\xff\xff", |_| UTF_8), Err(MarkdownFault::NotText));
    }

    #[test]
    fn r004_20_524288_bytes_fit_and_one_more_does_not() {
        let mut bytes = vec![b'a'; 524_288];
        assert_eq!(MARKDOWN_BYTES, 524_288);
        assert_eq!(import(&bytes, never).map(|imported| imported.content.len()), Ok(524_288));
        bytes.push(b'a');
        assert_eq!(import(&bytes, never), Err(MarkdownFault::TooLarge));
        assert_eq!(MarkdownFault::TooLarge.reason(), "File exceeds the 512 KB limit.");
    }

    #[test]
    fn r004_21_an_empty_file_is_empty_content_with_a_warning() {
        let empty = Ok(Imported { content: String::new(), warning: Some(EMPTY) });
        assert_eq!(import(b"", never), empty);
        assert_eq!(import(b"\xef\xbb\xbf", never), empty);
    }

    #[test]
    fn r004_60_a_name_ends_in_md_however_it_is_written() {
        for name in ["a.md", "README.MD", "a.b.Md", ".md"] {
            assert!(is_markdown(name), "{name}");
        }
        for name in ["a.txt", "md", "a.md.txt", "a.mdx", ""] {
            assert!(!is_markdown(name), "{name}");
        }
    }
}
