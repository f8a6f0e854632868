//! What is kept of one file, and what is newly known of one.
//!
//! Never knows how its words were counted: `retrieval` packs and reads them.

use std::sync::Arc;

use super::stamp::FileStamp;

/// What is kept of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CountedFile {
    /// Which version was read.
    pub stamp: FileStamp,
    /// Whether no later change can have the same stamp.
    pub is_settled: bool,
    /// The first half of the SHA-256 of its bytes as they were read.
    pub hash: [u8; 16],
    /// What it says; `None`: it is no text.
    pub text: Option<IndexedText>,
}

/// What is kept of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedText {
    /// Bytes of the decoded text.
    pub bytes: u32,
    /// Lines of the text.
    pub lines: u32,
    /// Whether its start says that a program wrote it.
    pub is_generated: bool,
    /// Its words, packed.
    pub terms: Arc<[u8]>,
}

/// A file that was read.
pub(crate) struct ReadFile {
    /// What is kept of it.
    pub entry: CountedFile,
    /// Its definitions, packed.
    pub symbols: Vec<u8>,
}

/// What was found out of one file.
pub(crate) enum FileNews {
    /// It was read.
    Read(ReadFile),
    /// It has another stamp and the same bytes.
    Touched(FileStamp, bool),
    /// It is not there any more, or not for us.
    Gone,
}
