//! The overlay of open buffers: what the editor shows, which wins over the disk.
//!
//! Owns incremental document sync (LSP 3.17, `textDocument/didChange`) in the three position encodings. Never reads a
//! file, and never guesses: a change that does not fit, or that comes behind a later one, makes its document unknown until its
//! whole text comes again. What is unknown is remembered as open, so that nobody takes the file on disk for it when he writes.

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

/// A buffer that an editor has open, with a text that is not known.
#[derive(Debug, Clone)]
struct UnknownDocument {
    language_id: String,
    /// The newest version that was heard of.
    version: i64,
    disk: DiskText,
}

/// How what an editor shows stands to its file, where only the file is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskText {
    /// It was saved, and not changed since.
    Same,
    /// It may be another text.
    MayDiffer,
}

/// All open buffers by URI. A snapshot is an `Arc`; cloning a document shares its text.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    documents: BTreeMap<Arc<str>, Arc<OpenDocument>>,
    /// Buffers whose text is not known; none of them is in `documents`, and there are as many as the editor has open at most.
    unknown: BTreeMap<Arc<str>, UnknownDocument>,
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
    /// It is older than one that was taken before, so that the two stand in the wrong order.
    OutOfOrder,
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
        self.documents.is_empty() && self.unknown.is_empty()
    }

    /// Whether a file, however it is spelled, is open with a text that nobody here knows and that may not be the saved one.
    pub fn hides(&self, uri: &str) -> bool {
        if self.unknown.is_empty() {
            return false;
        }
        let wanted = spelling(uri);
        let differs = |document: &UnknownDocument| document.disk == DiskText::MayDiffer;
        self.unknown.iter().any(|(open, document)| differs(document) && spelling(open) == wanted)
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
        for (uri, document) in &below.unknown {
            if !self.documents.contains_key(uri) {
                self.unknown.entry(uri.clone()).or_insert_with(|| document.clone());
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
        self.unknown.remove(uri);
        self.bytes += document.text.len_bytes();
        let before = self.documents.insert(uri.into(), Arc::new(document));
        self.bytes -= before.map_or(0, |document| document.text.len_bytes());
    }

    /// `didClose`.
    pub fn close(&mut self, uri: &str) {
        self.unknown.remove(uri);
        self.take(uri);
    }

    /// `didSave`: the file holds what is open, until it is changed again.
    pub fn saved(&mut self, uri: &str) {
        if let Some(document) = self.unknown.get_mut(uri) {
            document.disk = DiskText::Same;
        }
    }

    /// A buffer is open, and its text is not known.
    pub fn give_up(&mut self, uri: &str) {
        let before = self.take(uri);
        let (language_id, version) = match (&before, self.unknown.get(uri)) {
            (Some(document), _) => (document.language_id.clone(), document.version),
            (None, Some(document)) => (document.language_id.clone(), document.version),
            (None, None) => (String::new(), 0),
        };
        self.unknown.insert(uri.into(), UnknownDocument { language_id, version, disk: DiskText::MayDiffer });
    }

    /// Every buffer became unknown.
    pub fn give_up_all(&mut self) {
        let open: Vec<Arc<str>> = self.documents.keys().chain(self.unknown.keys()).cloned().collect();
        for uri in open {
            self.give_up(&uri);
        }
    }

    fn take(&mut self, uri: &str) -> Option<Arc<OpenDocument>> {
        let taken = self.documents.remove(uri);
        self.bytes -= taken.as_ref().map_or(0, |document| document.text.len_bytes());
        taken
    }

    /// `didChange`: all changes in order, or none; when one does not fit the document is given up. An editor that gives its
    /// documents no versions, or always 0, is believed to keep the order; so is one that says a version twice, as Neovim does
    /// where one command changes two places.
    pub fn change(
        &mut self,
        uri: &str,
        version: i64,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<(), ChangeRefused> {
        let changes = self.known_again(uri, version, changes);
        let Some(document) = self.documents.get_mut(uri) else { return Err(ChangeRefused::NotOpen) };
        if version != 0 && version < document.version {
            self.give_up(uri);
            return Err(ChangeRefused::OutOfOrder);
        }
        let document = Arc::make_mut(document);
        let before = document.text.len_bytes();
        document.version = version;
        let changed = changes.iter().try_for_each(|change| change.apply(&mut document.text, encoding));
        self.bytes = self.bytes - before + document.text.len_bytes();
        if changed.is_err() {
            self.give_up(uri);
        }
        changed
    }

    /// An unknown document is known again when its whole text comes, unless that is older than what was heard of it. Gives the
    /// changes that are left to be made.
    fn known_again<'a>(
        &mut self,
        uri: &str,
        version: i64,
        changes: &'a [ContentChange],
    ) -> &'a [ContentChange] {
        let Some(unknown) = self.unknown.get_mut(uri) else { return changes };
        let is_late = version != 0 && version < unknown.version;
        let whole = changes.iter().rposition(|change| change.range.is_none()).filter(|_| !is_late);
        let Some((at, change)) = whole.and_then(|at| Some((at, changes.get(at)?))) else {
            unknown.version = unknown.version.max(version);
            unknown.disk = DiskText::MayDiffer;
            return changes;
        };
        let language_id = std::mem::take(&mut unknown.language_id);
        self.open(uri, &language_id, version, &change.text);
        changes.get(at + 1..).unwrap_or_default()
    }
}

impl ContentChange {
    fn apply(&self, text: &mut Rope, encoding: PositionEncoding) -> Result<(), ChangeRefused> {
        let Some((start, end)) = self.range else {
            *text = Rope::from_str(&self.text);
            return Ok(());
        };
        // An end beyond the text can only mean all the rest; editors replace everything that way.
        let to = char_at(text, end, encoding).unwrap_or(text.len_chars());
        let Some(from) = char_at(text, start, encoding).filter(|from| *from <= to) else {
            return Err(ChangeRefused::BadRange);
        };
        text.remove(from..to);
        text.insert(from, &self.text);
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

#[cfg(test)]
#[path = "overlay_tests.rs"]
mod tests;
