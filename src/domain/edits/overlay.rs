//! The overlay of open buffers: what the editor shows, which wins over the disk.
//!
//! Owns incremental document sync (LSP 3.17, `textDocument/didChange`) in the three position encodings. Never reads a
//! file, and never guesses: a change that does not fit makes its document unknown until it is opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ropey::Rope;

use crate::domain::policy::uri::spelling;

/// How the editor counts characters in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units; the default of LSP.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

/// A place in a document: line and character from 0, the character in the negotiated encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line from 0.
    pub line: u32,
    /// Character from 0.
    pub character: u32,
}

/// One change of `didChange`: a range to replace, or the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentChange {
    /// What is replaced; `None` for everything.
    pub range: Option<(Position, Position)>,
    /// By what.
    pub text: String,
}

/// One open buffer.
#[derive(Debug, Clone)]
pub struct OpenDocument {
    /// Its language.
    pub language_id: String,
    /// Its version.
    pub version: i64,
    /// Its text.
    pub text: Rope,
}

/// All open buffers by URI. A snapshot is an `Arc`; cloning a document shares its text.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    documents: BTreeMap<Arc<str>, Arc<OpenDocument>>,
    /// Bytes of all texts.
    bytes: usize,
}

/// Why a change was not taken; the document is then unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeRefused {
    /// The document is not open, or is unknown.
    NotOpen,
    /// A range ends before it begins or starts after the end of the text.
    BadRange,
}

impl Overlay {
    /// An empty overlay.
    pub fn new() -> Self {
        Self::default()
    }

    /// The open buffer of a URI.
    pub fn get(&self, uri: &str) -> Option<&Arc<OpenDocument>> {
        self.documents.get(uri)
    }

    /// Every open buffer, by URI.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<OpenDocument>)> {
        self.documents.iter().map(|(uri, document)| (&**uri, document))
    }

    /// Whether no buffer is open.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Adds the buffers of another editor, but for files that are open here, however the two spell them.
    pub fn lay_beneath(&mut self, below: &Self) {
        let known: BTreeSet<Vec<u8>> = self.documents.keys().map(|uri| spelling(uri)).collect();
        for (uri, document) in &below.documents {
            if !known.contains(&spelling(uri)) {
                self.bytes += document.text.len_bytes();
                self.documents.insert(uri.clone(), document.clone());
            }
        }
    }

    /// Bytes of all texts together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// `didOpen`; opening again replaces.
    pub fn open(&mut self, uri: &str, language_id: &str, version: i64, text: &str) {
        let document =
            OpenDocument { language_id: language_id.to_owned(), version, text: Rope::from_str(text) };
        self.bytes += document.text.len_bytes();
        let before = self.documents.insert(uri.into(), Arc::new(document));
        self.bytes -= before.map_or(0, |document| document.text.len_bytes());
    }

    /// `didClose`, or the buffer became unknown.
    pub fn close(&mut self, uri: &str) {
        let closed = self.documents.remove(uri);
        self.bytes -= closed.map_or(0, |document| document.text.len_bytes());
    }

    /// Every buffer became unknown.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// `didChange`: all changes in order, or none; when one does not fit the document is dropped.
    pub fn change(
        &mut self,
        uri: &str,
        version: i64,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<(), ChangeRefused> {
        let Some(document) = self.documents.get_mut(uri) else { return Err(ChangeRefused::NotOpen) };
        let document = Arc::make_mut(document);
        let before = document.text.len_bytes();
        document.version = version;
        for change in changes {
            let Some((start, end)) = change.range else {
                document.text = Rope::from_str(&change.text);
                continue;
            };
            // An end beyond the text can only mean all the rest; editors replace everything that way.
            let to = char_at(&document.text, end, encoding).unwrap_or(document.text.len_chars());
            let Some(from) = char_at(&document.text, start, encoding).filter(|from| *from <= to) else {
                self.documents.remove(uri);
                self.bytes -= before;
                return Err(ChangeRefused::BadRange);
            };
            document.text.remove(from..to);
            document.text.insert(from, &change.text);
        }
        self.bytes = self.bytes - before + document.text.len_bytes();
        Ok(())
    }
}

/// Char index of a position. A character past the end of its line means the end of the line (LSP 3.17, Position), a line
/// one past the last means the end of the text; further out there is no such place. A position inside a code point
/// counts as its start.
pub(crate) fn char_at(text: &Rope, position: Position, encoding: PositionEncoding) -> Option<usize> {
    let line = position.line as usize;
    if line >= text.len_lines() {
        return (line == text.len_lines() && position.character == 0).then(|| text.len_chars());
    }
    let start = text.line_to_char(line);
    let slice = text.line(line);
    let mut end = slice.len_chars();
    while end > 0 && matches!(slice.char(end - 1), '\n' | '\r') {
        end -= 1;
    }
    let wanted = position.character as usize;
    let within = match encoding {
        PositionEncoding::Utf32 => wanted.min(end),
        PositionEncoding::Utf8 => {
            let last = slice.char_to_byte(end);
            slice.byte_to_char(wanted.min(last))
        }
        PositionEncoding::Utf16 => {
            let last = slice.char_to_utf16_cu(end);
            slice.utf16_cu_to_char(wanted.min(last))
        }
    };
    Some(start + within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ropey::Rope;

    use super::{ChangeRefused, ContentChange, Overlay, Position, PositionEncoding, char_at};

    const URI: &str = "file:///w/a.rs";
    const ALL: [PositionEncoding; 3] =
        [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

    #[test]
    fn buffers_of_another_editor_are_seen_where_the_own_has_none_however_a_file_is_spelled() {
        // Given two editors, with one file open in both
        let (mut own, mut other) = (Overlay::new(), Overlay::new());
        own.open("file:///w/a%2Ers", "rust", 1, "own");
        other.open("file:///w/a.rs", "rust", 2, "other's");
        other.open("file:///w/b.rs", "rust", 3, "only there");
        // When the one is laid beneath the other
        own.lay_beneath(&other);
        // Then what is open in both is its own
        let seen: Vec<(&str, String)> = own.iter().map(|(uri, open)| (uri, open.text.to_string())).collect();
        assert_eq!(
            seen,
            [("file:///w/a%2Ers", "own".to_owned()), ("file:///w/b.rs", "only there".to_owned())]
        );
        assert_eq!(own.bytes(), "ownonly there".len());
    }

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    fn replace(start: Position, end: Position, text: &str) -> ContentChange {
        ContentChange { range: Some((start, end)), text: text.to_owned() }
    }

    /// The text after the changes, or why they were refused.
    fn changed(
        text: &str,
        encoding: PositionEncoding,
        changes: &[ContentChange],
    ) -> Result<String, ChangeRefused> {
        let mut overlay = Overlay::new();
        overlay.open(URI, "rust", 1, text);
        let outcome = overlay.change(URI, 2, changes, encoding);
        let bytes: usize = overlay.iter().map(|(_, document)| document.text.len_bytes()).sum();
        assert_eq!(overlay.bytes(), bytes);
        match outcome {
            Ok(()) => Ok(overlay.get(URI).map(|document| document.text.to_string()).unwrap()),
            Err(refused) => {
                assert!(overlay.get(URI).is_none(), "a refused change makes the document unknown");
                Err(refused)
            }
        }
    }

    #[test]
    fn characters_are_counted_in_the_negotiated_encoding() {
        // `a😀é|b`: the bar stands after 7 bytes, 4 UTF-16 units, 3 scalar values.
        for (encoding, character) in
            [(PositionEncoding::Utf8, 7), (PositionEncoding::Utf16, 4), (PositionEncoding::Utf32, 3)]
        {
            let here = at(1, character);
            assert_eq!(
                changed("x\na😀éb\n", encoding, &[replace(here, here, "|")]),
                Ok("x\na😀é|b\n".to_owned()),
                "{encoding:?}"
            );
        }
    }

    #[test]
    fn a_position_inside_a_code_point_counts_as_its_start() {
        for (encoding, inside) in [(PositionEncoding::Utf8, 3), (PositionEncoding::Utf16, 2)] {
            assert_eq!(
                changed("a😀b", encoding, &[replace(at(0, inside), at(0, inside), "|")]),
                Ok("a|😀b".to_owned()),
                "{encoding:?}"
            );
        }
    }

    #[test]
    fn a_character_past_the_end_of_its_line_means_the_end_of_the_line() {
        for encoding in ALL {
            for (text, then) in [("ab\ncd", "ab|\ncd"), ("ab\r\ncd", "ab|\r\ncd"), ("ab\rcd", "ab|\rcd")] {
                assert_eq!(
                    changed(text, encoding, &[replace(at(0, 99), at(0, 99), "|")]),
                    Ok(then.to_owned()),
                    "{encoding:?} {text:?}"
                );
            }
        }
    }

    #[test]
    fn the_end_of_the_text_can_be_written_to() {
        for encoding in ALL {
            for end in [at(2, 0), at(1, 0), at(1, 5)] {
                let then = changed("ab\n", encoding, &[replace(end, end, "c")]);
                assert_eq!(then, Ok("ab\nc".to_owned()), "{encoding:?} {end:?}");
            }
            assert_eq!(changed("", encoding, &[replace(at(0, 0), at(0, 0), "c")]), Ok("c".to_owned()));
        }
    }

    #[test]
    fn changes_apply_one_after_the_other() {
        let changes = [
            replace(at(0, 0), at(1, 0), ""),
            replace(at(0, 1), at(0, 2), "EE"),
            ContentChange { range: None, text: "new\r\n".to_owned() },
            replace(at(0, 3), at(1, 0), "!"),
        ];
        assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes[..1]), Ok("cde\n".to_owned()));
        assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes[..2]), Ok("cEEe\n".to_owned()));
        assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes), Ok("new!".to_owned()));
    }

    #[test]
    fn an_end_beyond_the_text_means_all_the_rest() {
        for end in [at(3, 0), at(2, 1), at(99, 0), at(u32::MAX, u32::MAX)] {
            for encoding in ALL {
                let then = changed("ab\ncd\n", encoding, &[replace(at(0, 1), end, "x")]);
                assert_eq!(then, Ok("ax".to_owned()), "{encoding:?} {end:?}");
            }
        }
    }

    #[test]
    fn a_change_that_does_not_fit_makes_the_document_unknown() {
        for (start, end) in
            [(at(0, 2), at(0, 1)), (at(1, 0), at(0, 0)), (at(9, 0), at(9, 0)), (at(2, 1), at(2, 1))]
        {
            assert_eq!(
                changed("ab\n", PositionEncoding::Utf16, &[replace(start, end, "x")]),
                Err(ChangeRefused::BadRange),
                "{start:?} {end:?}"
            );
        }
    }

    #[test]
    fn only_open_documents_change_and_a_snapshot_stays() {
        let mut overlay = Overlay::new();
        let whole = ContentChange { range: None, text: "new".to_owned() };
        assert_eq!(
            overlay.change(URI, 1, std::slice::from_ref(&whole), PositionEncoding::Utf8),
            Err(ChangeRefused::NotOpen)
        );
        overlay.open(URI, "rust", 1, "old");
        let before = overlay.clone();
        overlay.change(URI, 7, &[whole], PositionEncoding::Utf8).unwrap();
        let seen = |overlay: &Overlay| overlay.get(URI).map(|d| (d.version, d.text.to_string()));
        assert_eq!(seen(&before), Some((1, "old".to_owned())));
        assert_eq!(seen(&overlay), Some((7, "new".to_owned())));
        overlay.close(URI);
        assert_eq!(seen(&overlay), None);
        assert_eq!((overlay.iter().count(), overlay.bytes()), (0, 0));
    }

    /// Byte offset of a position by the letter of LSP 3.17, on a plain string.
    fn naive(text: &str, position: Position, encoding: PositionEncoding) -> Option<usize> {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            if bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        let line = position.line as usize;
        if line == starts.len() && position.character == 0 {
            return Some(text.len());
        }
        let start = *starts.get(line)?;
        let end = starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\r', '\n']);
        let mut left = position.character as usize;
        let mut offset = start;
        for c in content.chars() {
            let width = match encoding {
                PositionEncoding::Utf8 => c.len_utf8(),
                PositionEncoding::Utf16 => c.len_utf16(),
                PositionEncoding::Utf32 => 1,
            };
            if left < width {
                break;
            }
            left -= width;
            offset += c.len_utf8();
        }
        Some(offset)
    }

    proptest! {
        #[test]
        fn the_overlay_agrees_with_a_plain_string(
            text in "[aé😀\r\n]{0,24}",
            edits in proptest::collection::vec(((0..6_u32, 0..8_u32), (0..6_u32, 0..8_u32), "[b漢\r\n]{0,4}"), 1..5),
            which in 0..3_usize,
        ) {
            let encoding = ALL[which];
            let mut model = Some(text.clone());
            let mut changes = Vec::new();
            for ((line, character), (end_line, end_character), new) in edits {
                let (start, end) = (at(line, character), at(end_line, end_character));
                changes.push(replace(start, end, &new));
                model = model.and_then(|mut text| {
                    let from = naive(&text, start, encoding)?;
                    let to = naive(&text, end, encoding).unwrap_or(text.len());
                    (from <= to).then(|| {
                        text.replace_range(from..to, &new);
                        text
                    })
                });
            }
            prop_assert_eq!(changed(&text, encoding, &changes).ok(), model);
        }

        #[test]
        fn every_place_has_one_position(text in "[aé😀\r\n]{0,24}", line in 0..9_u32, character in 0..9_u32) {
            for encoding in ALL {
                let rope = Rope::from_str(&text);
                let place = char_at(&rope, at(line, character), encoding).map(|place| rope.char_to_byte(place));
                prop_assert_eq!(place, naive(&text, at(line, character), encoding));
            }
        }
    }
}
