//! A text in pieces, each of which is compared with a question as a whole.
//!
//! Owns where they are cut: at definitions with their doc comments, and what is long once more. Every line is in one of them.

use super::windows::doc_start;
use super::{Symbol, SymbolKind};

/// Bytes of one piece: a few hundred tokens, which every model takes whole.
const PIECE_BYTES: usize = 1_600;

/// Lines of one piece.
const PIECE_LINES: u64 = 48;

/// Pieces of one file; what has more is data, and its rest is found by words.
const MOST_PIECES: usize = 400;

/// A stretch of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// First line, from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
    /// What is compared: where the lines stand, and the lines.
    pub text: String,
}

/// The pieces of a file.
pub(super) fn pieces_of(rel: &str, text: &str, symbols: &[Symbol]) -> Vec<Piece> {
    let lines: Vec<&str> = text.lines().collect();
    let mut pieces = Vec::new();
    let mut at = 1;
    for (start, end, symbol) in definitions(symbols, &lines) {
        if start < at {
            continue;
        }
        cut(rel, &lines, (at, start - 1), None, &mut pieces);
        cut(rel, &lines, (start, end), Some(symbol), &mut pieces);
        at = end + 1;
    }
    cut(rel, &lines, (at, lines.len() as u64), None, &mut pieces);
    pieces.truncate(MOST_PIECES);
    pieces
}

/// Functions, and types in which no function stands, with their doc comments; none lies in another.
fn definitions<'a>(symbols: &'a [Symbol], lines: &[&str]) -> Vec<(u64, u64, &'a Symbol)> {
    let is_function = |symbol: &Symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
    let holds_one = |symbol: &Symbol| {
        symbols.iter().any(|other| {
            is_function(other) && other.start_line > symbol.start_line && other.end_line <= symbol.end_line
        })
    };
    let last = lines.len() as u64;
    symbols
        .iter()
        .filter(|symbol| is_function(symbol) || symbol.end_line > symbol.start_line && !holds_one(symbol))
        .map(|symbol| (doc_start(lines, symbol.start_line), symbol.end_line.min(last), symbol))
        .filter(|(start, end, _)| start <= end)
        .collect()
}

/// Adds these lines in pieces that are short enough; blank ones alone are none.
fn cut(rel: &str, lines: &[&str], (from, to): (u64, u64), symbol: Option<&Symbol>, pieces: &mut Vec<Piece>) {
    let head = head(rel, symbol);
    let mut start = from;
    while start <= to && pieces.len() < MOST_PIECES {
        let (mut end, mut bytes) = (start, 0);
        for line in start..=to.min(start + PIECE_LINES - 1) {
            bytes += lines[line as usize - 1].len() + 1;
            if bytes > PIECE_BYTES && line > start {
                break;
            }
            end = line;
        }
        let of_piece = &lines[start as usize - 1..end as usize];
        if of_piece.iter().any(|line| line.chars().any(char::is_alphanumeric)) {
            let whole = format!("{head}{}", of_piece.join("\n"));
            let text = whole[..whole.floor_char_boundary(PIECE_BYTES + head.len())].to_owned();
            pieces.push(Piece { start, end, text });
        }
        start = end + 1;
    }
}

/// Where lines stand, for a model that sees nothing else of the file.
fn head(rel: &str, symbol: Option<&Symbol>) -> String {
    match symbol {
        Some(Symbol { name, container: Some(container), .. }) => format!("{rel}: {container}.{name}\n"),
        Some(Symbol { name, .. }) => format!("{rel}: {name}\n"),
        None => format!("{rel}\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::host::retrieval::symbols::symbols_of;

    fn pieces(rel: &str, text: &str) -> Vec<Piece> {
        let symbols = symbols_of(rel, text, &AtomicBool::new(false)).unwrap();
        pieces_of(rel, text, &symbols)
    }

    #[test]
    fn a_definition_is_a_piece_with_its_doc_comment_and_every_line_is_in_one() {
        let text = "//! Doors.\nuse a::b;\n\n/// Opens it.\nfn open() {\n    work();\n}\nstruct Door;\nimpl Door {\n    /// Shuts it.\n    fn shut(&self) {}\n}\n";
        let found: Vec<(u64, u64, String)> = pieces("src/door.rs", text)
            .into_iter()
            .map(|piece| (piece.start, piece.end, piece.text.lines().next().unwrap_or_default().to_owned()))
            .collect();
        let piece = |start, end, head: &str| (start, end, head.to_owned());
        assert_eq!(
            found,
            [
                piece(1, 3, "src/door.rs"),
                piece(4, 7, "src/door.rs: open"),
                piece(8, 9, "src/door.rs"),
                piece(10, 11, "src/door.rs: Door.shut"),
            ]
        );
    }

    #[test]
    fn what_is_long_is_cut_and_what_is_endless_is_bounded() {
        let long = format!("fn f() {{\n{}}}\n", "    call_something_with_a_name(1, 2, 3);\n".repeat(300));
        let found = pieces("a.rs", &long);
        assert!(found.len() > 6 && found.iter().all(|piece| piece.text.len() <= PIECE_BYTES + 16));
        let covered: u64 = found.iter().map(|piece| piece.end - piece.start + 1).sum();
        assert_eq!(covered, 302);
        assert_eq!(pieces("a.txt", &"ü".repeat(5_000)).len(), 1);
        assert_eq!(pieces("a.txt", &"one two\n".repeat(48 * 500)).len(), MOST_PIECES);
        assert_eq!(pieces("a.txt", "\n\n  \n"), []);
    }
}
