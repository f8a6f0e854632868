//! The passages of one file that may answer: definitions, stretches within long ones, and stretches outside of any.
//!
//! Owns where they are cut, and which lines of each are shown. Each line belongs to the innermost definition around it, so that a
//! function that holds others, and a class with its methods, speak for themselves only. Never judges them.

use super::line_kind::is_comment;
use super::meaning::NearPiece;
use super::scan::Hit;
use super::windows::{DEFINITION, Scorer, Stretch, doc_start};
use super::{Symbol, SymbolKind};

/// Stretches of a definition that is longer than what is shown of it, beside its head.
const WITHIN: usize = 2;

/// Stretches outside of definitions: of a document, or of a language without a grammar, all there are.
const OUTSIDE: usize = 6;

/// Passages of one file that are compared, those first in which most of the question stands: a file with more is a table.
const MOST: usize = 64;

/// Lines that are shown of a file of which only the path fits.
const BEGINNING: usize = 12;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    /// The lines that are shown, and the definition.
    pub stretch: Stretch,
    /// How many lines are its own.
    pub lines: u64,
    /// What of the question stands in them.
    pub hits: Vec<Hit>,
    /// Whether the lines that are shown begin with the definition, or with what the file says of itself.
    pub is_head: bool,
}

/// The passages of a file in which something of the question stands, or whose name `says_something` of it, or which are near in
/// meaning; where there is none, how the file begins.
pub(super) fn passages_of(
    symbols: &[Symbol],
    lines: &[&str],
    hits: &[Hit],
    near: &[NearPiece],
    scorer: &Scorer,
    says_something: impl Fn(&Symbol) -> bool,
) -> Vec<Passage> {
    let owners = owners(symbols, lines);
    let mut own: Vec<Vec<Hit>> = vec![Vec::new(); symbols.len()];
    let mut outside = Vec::new();
    for hit in hits {
        match owners.get(hit.line as usize).copied().flatten() {
            Some(at) => own[at as usize].push(*hit),
            None => outside.push(*hit),
        }
    }
    let mut sizes = vec![0u64; symbols.len()];
    for at in owners.iter().flatten() {
        sizes[*at as usize] += 1;
    }
    let mut found = Vec::new();
    for (at, hits) in own.into_iter().enumerate() {
        if sizes[at] > 0 && (!hits.is_empty() || says_something(&symbols[at])) {
            of_definition((at, &symbols[at]), lines, sizes[at], hits, scorer, &mut found);
        }
    }
    for stretch in scorer.windows(&outside, &[], lines.len() as u32, OUTSIDE) {
        let shown = stretch.start..=stretch.end;
        let hits = outside.iter().filter(|hit| shown.contains(&(u64::from(hit.line) + 1))).copied().collect();
        // What a file says of itself at its beginning is to the file what a doc comment is to a definition.
        let is_head = stretch.start <= BEGINNING as u64
            && lines.get(stretch.start as usize - 1).is_some_and(|line| is_comment(line.trim_start()));
        let lines = stretch.end - stretch.start + 1;
        found.push(Passage { stretch, lines, hits, is_head });
    }
    if found.len() > MOST {
        found.sort_by_cached_key(|passage| std::cmp::Reverse((scorer.score(&passage.hits) * 1e6) as u64));
        found.truncate(MOST);
    }
    of_meaning(near, symbols, &mut found);
    if found.is_empty() {
        let end = lines.len().clamp(1, BEGINNING) as u64;
        let stretch = Stretch { start: 1, end, focus: 1, score: 0.0, symbol: None };
        found.push(Passage { stretch, lines: end, hits: Vec::new(), is_head: false });
    }
    found
}

/// The head of a definition, and what stands further down in it.
fn of_definition(
    (at, symbol): (usize, &Symbol),
    lines: &[&str],
    size: u64,
    hits: Vec<Hit>,
    scorer: &Scorer,
    found: &mut Vec<Passage>,
) {
    let start = doc_start(lines, symbol.start_line);
    let end = symbol.end_line.min(start + DEFINITION - 1).max(symbol.start_line);
    if symbol.end_line > end {
        for mut stretch in scorer.windows(&hits, &[], lines.len() as u32, WITHIN) {
            if stretch.start > end {
                stretch.end = stretch.end.min(symbol.end_line).max(stretch.start);
                stretch.symbol = Some(at);
                found.push(Passage { stretch, lines: size, hits: hits.clone(), is_head: false });
            }
        }
    }
    let shown = hits.partition_point(|hit| u64::from(hit.line) < end);
    let focus = scorer.focus(&hits[..shown], symbol);
    let stretch = Stretch { start, end, focus, score: 0.0, symbol: Some(at) };
    found.push(Passage { stretch, lines: size, hits, is_head: true });
}

/// What is near in meaning and has no word of the question.
fn of_meaning(near: &[NearPiece], symbols: &[Symbol], found: &mut Vec<Passage>) {
    for piece in near {
        if found.iter().any(|passage| piece.meets(&passage.stretch)) {
            continue;
        }
        let within = |symbol: &Symbol| (piece.start..=piece.end).contains(&symbol.start_line);
        let symbol = symbols.iter().position(within);
        let focus = symbol.map_or(piece.start, |at| symbols[at].start_line);
        let end = piece.end.min(piece.start + DEFINITION - 1).max(focus);
        let stretch = Stretch { start: piece.start, end, focus, score: 0.0, symbol };
        let lines = piece.end - piece.start + 1;
        found.push(Passage { stretch, lines, hits: Vec::new(), is_head: true });
    }
}

/// Per line, from 0, the innermost definition around it, its doc comment included.
fn owners(symbols: &[Symbol], lines: &[&str]) -> Vec<Option<u32>> {
    let mut owners = vec![None; lines.len()];
    // In order of their start, the outer ones first.
    for (at, symbol) in symbols.iter().enumerate() {
        // A module is a place for definitions, and they stand here themselves.
        if symbol.kind == SymbolKind::Module && symbol.end_line > symbol.start_line {
            continue;
        }
        let from = doc_start(lines, symbol.start_line) as usize - 1;
        let to = (symbol.end_line as usize).min(owners.len());
        if let Some(own) = owners.get_mut(from..to) {
            own.fill(Some(at as u32));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::host::retrieval::question::SearchQuestion;
    use crate::host::retrieval::scan::scan;
    use crate::host::retrieval::symbols::symbols_of;

    fn passages(
        rel: &str,
        text: &str,
        asked: &str,
        near: &[NearPiece],
    ) -> Vec<(u64, u64, Option<String>, u64)> {
        let question = SearchQuestion::read(asked);
        let weights = vec![1.0; question.terms.len() + question.pairs.len()];
        let scorer = Scorer { weights, terms: question.terms.len(), named: HashSet::new() };
        let symbols = symbols_of(rel, text, &AtomicBool::new(false)).unwrap();
        let hits = scan(text, &question, 999).map(|scan| scan.hits).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let mut found = passages_of(&symbols, &lines, &hits, near, &scorer, |_| false);
        found.sort_by_key(|passage| passage.stretch.start);
        let one = |passage: Passage| {
            let Stretch { start, end, symbol, .. } = passage.stretch;
            (start, end, symbol.map(|at| symbols[at].name.clone()), passage.lines)
        };
        found.into_iter().map(one).collect()
    }

    #[test]
    fn a_class_and_its_methods_and_what_stands_around_them_speak_for_themselves() {
        let text = "# The door.\nimport door\n\n\nclass Door:\n    door = 1\n\n    def open_door(self):\n        pass\n";
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(
            passages("a.py", text, "door", &[]),
            [(1, 4, None, 4), (5, 9, named("Door"), 3), (8, 9, named("open_door"), 2)]
        );
    }

    #[test]
    fn a_long_definition_has_its_head_and_what_stands_further_down() {
        let text = format!("fn long() {{\n{}    door();\n}}\n", "    work();\n".repeat(60));
        let long = Some("long".to_owned());
        assert_eq!(passages("a.rs", &text, "door", &[]), [(1, 24, long.clone(), 63), (61, 63, long, 63)]);
    }

    #[test]
    fn what_is_only_near_in_meaning_is_a_passage_and_else_the_file_begins() {
        let text = "fn one() {}\n\nfn two() {\n    work();\n}\n";
        let near = NearPiece { start: 3, end: 5, near: 1.0 };
        assert_eq!(passages("a.rs", text, "door", &[near]), [(3, 5, Some("two".to_owned()), 3)]);
        assert_eq!(passages("a.rs", text, "door", &[]), [(1, 5, None, 5)]);
    }
}
