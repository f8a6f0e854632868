//! Retrieval: finding and reading places of the workspace for the embedded agent.
//!
//! Owns search by text, by symbol and by question, outlines, and bounded reads. All of it is blocking and bounded;
//! callers run it on a blocking thread and can cancel it. Never writes, never follows a link out of a root. The tree as it is
//! now, with open buffers over it, is the only truth: what the index knows of a file is believed of the version that was read.

mod candidate;
mod code_search;
mod content;
mod embedding;
mod evidence;
mod features;
mod file_hash;
mod file_terms;
mod file_worth;
mod indexing;
mod kinds;
mod known_files;
mod languages;
mod line_kind;
mod lines;
pub(crate) mod listwise;
mod meaning;
mod outline;
mod packing;
mod passages;
mod paths;
mod pieces;
mod question;
mod rank;
mod ranking;
mod read;
mod reading;
mod related;
mod rerank;
mod scan;
mod symbol_search;
mod symbols;
mod terms;
mod text_search;
mod vocabulary;
mod walk;
mod windows;
mod workers;

use std::fmt;

use crate::domain::dialect::desktop::message::BY_WORDS;
use crate::host::counted;

pub(crate) use code_search::Retrieval;
pub(crate) use file_hash::file_hashes;
pub use indexing::new_indexes;
pub(crate) use outline::outline;
pub(crate) use paths::resolve;
pub use rank::find_places;
pub(crate) use read::{ReadText, list_dir, read_lines};
pub(crate) use symbol_search::search_symbols;
pub(crate) use text_search::{TextQuery, search_text};

/// A piece of a file that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Name of the root; only when several roots are open.
    pub root: Option<String>,
    /// Relative to its root, with `/`.
    pub path: String,
    /// First line, from 1.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// The line to jump to, within the others: the definition that is shown, else where most of the question stands.
    pub line: u64,
    /// Those lines, each cut to 300 characters.
    pub snippet: String,
    /// Its odds against the best place of the answer, which has 1; where a reranker put them in order, one divided by its place.
    /// Comparable only within one answer.
    pub score: f64,
    /// The definition that the place shows or lies in, where one is known.
    pub symbol: Option<Symbol>,
    /// Further definitions of the file that fit, best first; only with the best place of a file.
    pub further: Vec<Symbol>,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// First line, from 1, without its doc comment.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// The type, class, trait or module it is defined in.
    pub container: Option<String>,
    /// First line of the definition, cut to 300 characters.
    pub signature: String,
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A free function, or a macro.
    Function,
    /// A function of a type.
    Method,
    /// A struct or union.
    Struct,
    /// A class.
    Class,
    /// An enum.
    Enum,
    /// A trait.
    Trait,
    /// An interface.
    Interface,
    /// A module or namespace.
    Module,
    /// A constant.
    Constant,
    /// A type alias or other named type.
    Type,
    /// A variable.
    Variable,
}

impl SymbolKind {
    /// The word for a person or a model.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Struct => "struct",
            Self::Class => "class",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Type => "type",
            Self::Variable => "variable",
        }
    }
}

/// One line that matches a text search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextHit {
    /// Name of the root; only when several roots are open.
    pub root: Option<String>,
    /// Relative to its root, with `/`.
    pub path: String,
    /// Line, from 1.
    pub line: u64,
    /// The line, cut to 300 characters around the match.
    pub text: String,
}

/// The ranked answer to a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Best first.
    pub places: Vec<Place>,
    /// Definitions whose names match.
    pub symbols_found: u64,
    /// Lines that match.
    pub text_found: u64,
    /// Pieces that are near in meaning, where the user has a model that says so.
    pub near_found: u64,
    /// Files that were read.
    pub files_searched: u64,
    /// Whether the workspace has more files than one search reads.
    pub truncated: bool,
    /// What a person is told of the models that searches ask, where there is something to tell: a sentence or more.
    pub told: Option<String>,
    /// What became of having the user's reranker read passages; `None`: there is none, or it may not.
    pub read: Option<PassagesRead>,
}

impl Found {
    /// How many places were put in order, and by whom: words, meanings too, or a model that read. One sentence.
    pub fn ranked(&self) -> String {
        let places = counted(self.places.len() as u64, "place");
        let unread = if self.near_found > 0 { "words and meanings" } else { BY_WORDS };
        match &self.read {
            None => format!("{places} ranked by {unread}."),
            Some(PassagesRead::Unread(why)) => format!("{places} ranked by {unread} alone: {why}"),
            Some(PassagesRead::Ordered { by, passages, tokens, cost }) => {
                let read = counted(*passages, "passage");
                let spent = match (tokens, cost) {
                    (Some(tokens), Some(cost)) => format!(" ({tokens} tokens, {cost:.4})"),
                    (Some(tokens), None) => format!(" ({tokens} tokens)"),
                    (None, Some(cost)) => format!(" ({cost:.4})"),
                    (None, None) => String::new(),
                };
                format!("{places} ranked by {by}, which read {read}{spent}.")
            }
        }
    }
}

/// What a search is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the definitions of the best files.
    SymbolSearch,
    /// Reading files.
    TextSearch,
    /// Comparing meanings, where the user has a model for it.
    VectorSearch,
    /// Having a model of the user's read passages together with the question.
    Reading,
    /// Merging and ranking.
    Reranking,
}

/// What became of having a reranker read passages.
#[derive(Debug, Clone, PartialEq)]
pub enum PassagesRead {
    /// It put them in order.
    Ordered {
        /// What a person calls it.
        by: String,
        /// How many it read.
        passages: u64,
        /// Tokens that it took, where that is known.
        tokens: Option<u64>,
        /// What that cost, where that is known.
        cost: Option<f64>,
    },
    /// It did not, and the places stand as without it. Why, in a sentence.
    Unread(String),
}

/// Why there is no answer. Its text is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalError {
    /// The pattern or glob cannot be used; why.
    BadPattern(String),
    /// There is no such file or directory; the path.
    NotFound(String),
    /// The file is not text, or larger than any text we read; the path.
    NotText(String),
    /// The path leads out of the workspace; the path.
    OutsideWorkspace(String),
    /// The user's lists keep it from agents; the path.
    Kept(String),
    /// The caller cancelled.
    Cancelled,
}

impl RetrievalError {
    /// The stable code of the refusal, in the words of the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadPattern(_) => "invalid_params",
            Self::NotFound(_) => "not_found",
            Self::NotText(_) => "not_text",
            Self::OutsideWorkspace(_) | Self::Kept(_) => "path_outside_workspace",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RetrievalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPattern(why) => {
                write!(
                    out,
                    "The pattern cannot be used ({}); correct it and search again.",
                    lines::one_line(why)
                )
            }
            Self::NotFound(path) => write!(
                out,
                "There is no `{}` in the workspace; list the directory or search for the name.",
                lines::one_line(path)
            ),
            Self::NotText(path) => write!(
                out,
                "`{}` is not a text file of at most 16 MiB, so it cannot be read; choose another file.",
                lines::one_line(path)
            ),
            Self::OutsideWorkspace(path) => write!(
                out,
                "`{}` leads out of the workspace; use a path relative to a workspace folder.",
                lines::one_line(path)
            ),
            Self::Kept(path) => write!(
                out,
                "`{}` is kept from agents by the user's lists of files; go on without it, or ask the user.",
                lines::one_line(path)
            ),
            Self::Cancelled => out.write_str("The search was cancelled; ask again to search anew."),
        }
    }
}

impl std::error::Error for RetrievalError {}
