//! One file that may answer a question: its score before its definitions are known, and what of it may be shown.
//!
//! Never compares files or passages.

use std::sync::atomic::AtomicBool;

use super::features::{Features, FileContext};
use super::file_worth::FileWorth;
use super::kinds::terms_of_name;
use super::meaning::NearPiece;
use super::passages::{Passage, passages_of};
use super::question::SearchQuestion;
use super::rerank::Ranked;
use super::scan::Scan;
use super::symbols::symbols_of;
use super::walk::SourceFile;
use super::windows::{Scorer, Stretch, snippet};
use super::{Place, Symbol};

/// Further definitions of a file that are named beside its best place: between neighbours that speak of the same things, a reader
/// knows better than a ranking.
const FURTHER_NAMED: usize = 4;

/// How far behind the best of its file one of these may be, as `rerank` counts.
const WORTH_NAMING: f64 = 3.0;

/// One file that may answer.
pub(super) struct Candidate<'a> {
    /// Its place in the tree.
    pub at: usize,
    scan: &'a Scan,
    windows: Vec<Stretch>,
    /// What it is worth as a whole.
    pub worth: FileWorth,
    /// First line of its tests, from 0, when the question is not about tests.
    tests_from: Option<u32>,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(
        at: usize,
        scan: &'a Scan,
        rel: &str,
        question: &SearchQuestion,
        scorer: &Scorer,
        mean: f64,
    ) -> Self {
        let size = (scan.bytes, scan.lines, scan.generated);
        let worth = FileWorth::new(size, &scan.sums, rel, question, scorer, mean);
        let mut windows = scorer.windows(&scan.hits, &worth.around, scan.lines, 6);
        let tests_from = scan.tests_from.filter(|_| !question.about_tests);
        let candidate = Self { at, scan, windows: Vec::new(), worth, tests_from };
        candidate.damp_tests(&mut windows);
        Self { windows, ..candidate }
    }

    /// How it compares with other files before its definitions are known.
    pub(super) fn score(&self) -> f64 {
        self.worth.of_place(self.windows.iter().map(|window| window.score).fold(0.0, f64::max))
    }

    fn damp_tests(&self, stretches: &mut [Stretch]) {
        let Some(from) = self.tests_from else { return };
        for stretch in stretches.iter_mut().filter(|stretch| stretch.end > u64::from(from)) {
            stretch.score *= 0.35;
        }
    }
}

/// A file with its text and its definitions.
pub(super) struct CloserLook<'a> {
    path: &'a str,
    text: String,
    symbols: Vec<Symbol>,
}

impl<'a> CloserLook<'a> {
    /// `None` when the search was cancelled.
    pub(super) fn at(file: &'a SourceFile, text: String, cancel: &AtomicBool) -> Option<Self> {
        let symbols = symbols_of(&file.rel, &text, cancel).ok()?;
        Some(Self { path: &file.rel, text, symbols })
    }

    /// With definitions that are known.
    pub(super) fn with(file: &'a SourceFile, text: String, symbols: Vec<Symbol>) -> Self {
        Self { path: &file.rel, text, symbols }
    }

    /// Its path within its root.
    pub(super) fn path(&self) -> &str {
        self.path
    }

    /// What of it may answer, with what speaks for each.
    pub(super) fn passages(
        &self,
        candidate: &Candidate<'_>,
        (question, scorer): (&SearchQuestion, &Scorer),
        near: &[NearPiece],
    ) -> Vec<(Passage, Features)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let says_something = |symbol: &Symbol| !terms_of_name(&symbol.name, question).is_empty();
        let hits = &candidate.scan.hits;
        let passages = passages_of(&self.symbols, &lines, hits, near, scorer, says_something);
        let file = FileContext {
            worth: &candidate.worth,
            sums: &candidate.scan.sums,
            tests_from: candidate.tests_from,
            lines: &lines,
            symbols: &self.symbols,
            near,
        };
        let with_features = |passage: Passage| {
            let features = Features::of(&passage, &file, question, scorer);
            (passage, features)
        };
        passages.into_iter().map(with_features).collect()
    }

    /// Definitions that fit and are neither shown nor around what is shown, best first.
    pub(super) fn further(&self, mut ranked: Vec<Ranked>, shown: &[&Place]) -> Vec<Symbol> {
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.lines.cmp(&b.lines)));
        let best = ranked.first().map_or(0.0, |one| one.score);
        let mut named: Vec<Symbol> = Vec::new();
        for one in ranked.iter().filter(|one| one.score > best - WORTH_NAMING) {
            let Some(symbol) = one.symbol.and_then(|at| self.symbols.get(at)) else { continue };
            let is_shown = shown.iter().any(|place| {
                let begins_there = (place.start_line..=place.end_line).contains(&symbol.start_line);
                begins_there || place.symbol.as_ref() == Some(symbol)
            });
            if !is_shown && !named.contains(symbol) {
                named.push(symbol.clone());
            }
            if named.len() == FURTHER_NAMED {
                break;
            }
        }
        named
    }

    /// The place that shows a stretch.
    pub(super) fn place(&self, stretch: &Stretch, score: f64, root: Option<String>) -> Place {
        let lines: Vec<&str> = self.text.lines().collect();
        let Stretch { start, end, mut focus, symbol, score: _ } = *stretch;
        let symbol = symbol.map(|at| &self.symbols[at]);
        // What a doc comment says, it says of its definition.
        if let Some(symbol) = symbol
            && (start..=end).contains(&symbol.start_line)
            && focus < symbol.start_line
        {
            focus = symbol.start_line;
        }
        let end = end.min(lines.len().max(1) as u64);
        Place {
            root,
            path: self.path.to_owned(),
            start_line: start,
            end_line: end,
            line: focus.clamp(start, end.max(start)),
            snippet: snippet(&lines, start, end),
            score: (score * 1_000.0).round() / 1_000.0,
            symbol: symbol.cloned(),
            further: Vec::new(),
        }
    }
}
