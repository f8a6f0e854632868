//! The overlay of open buffers: what the editor shows, which wins over the disk.
//!
//! Owns incremental document sync (LSP 3.17, `textDocument/didChange`) in the three position encodings. Never reads a
//! file, and never guesses: a change that does not fit makes its document unknown until it is opened again.

use std::collections::BTreeMap;
use std::sync::Arc;

use ropey::Rope;

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
    documents: BTreeMap<String, Arc<OpenDocument>>,
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
        self.documents.iter().map(|(uri, document)| (uri.as_str(), document))
    }

    /// `didOpen`; opening again replaces.
    pub fn open(&mut self, uri: &str, language_id: &str, version: i64, text: &str) {
        let document =
            OpenDocument { language_id: language_id.to_owned(), version, text: Rope::from_str(text) };
        self.documents.insert(uri.to_owned(), Arc::new(document));
    }

    /// `didClose`, or the buffer became unknown.
    pub fn close(&mut self, uri: &str) {
        self.documents.remove(uri);
    }

    /// Every buffer became unknown.
    pub fn clear(&mut self) {
        self.documents.clear();
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
        document.version = version;
        for change in changes {
            let Some((start, end)) = change.range else {
                document.text = Rope::from_str(&change.text);
                continue;
            };
            let (Some(from), Some(to)) =
                (char_at(&document.text, start, encoding), char_at(&document.text, end, encoding))
            else {
                self.documents.remove(uri);
                return Err(ChangeRefused::BadRange);
            };
            if from > to {
                self.documents.remove(uri);
                return Err(ChangeRefused::BadRange);
            }
            document.text.remove(from..to);
            document.text.insert(from, &change.text);
        }
        Ok(())
    }
}

/// Char index of a position. A character past the end of its line means the end of the line (LSP 3.17, Position), a line
/// one past the last means the end of the text; further out there is no such place. A position inside a code point
/// counts as its start.
pub fn char_at(text: &Rope, position: Position, encoding: PositionEncoding) -> Option<usize> {
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
