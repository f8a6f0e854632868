//! One file that may answer a question: its score as a whole, and its best places.
//!
//! Owns what counts within a file: terms that stand together more than scattered ones, definitions and their doc comments more
//! than mentions, code more than tests and generated text. Never compares files.

use std::sync::atomic::AtomicBool;

use super::kinds::{kind_of_file, names_path, path_terms};
use super::meaning::NearPiece;
use super::question::SearchQuestion;
use super::scan::Scan;
use super::symbols::symbols_of;
use super::walk::SourceFile;
use super::windows::{DEFINITION, Scorer, Stretch, snippet, symbol_around, without_overlap};
use super::{Place, Symbol};

/// Most places of one file in an answer, so that one file does not hide the others.
pub(super) const PLACES_PER_FILE: usize = 3;

/// What a further place of a file counts, so that places of other files come before it.
const FURTHER_PLACE: [f64; PLACES_PER_FILE] = [1.0, 0.8, 0.65];

/// Further definitions of a file that are named beside its best place: between neighbours that speak of the same things, a reader
/// knows better than a ranking.
const FURTHER_NAMED: usize = 4;

/// What one of these must score against the best.
const WORTH_NAMING: f64 = 0.35;

/// What a place that is only near in meaning counts of the best place of its file by words.
const NEAR_ONLY: f64 = 0.35;

/// Lines that are shown of a file of which only the path fits.
const BEGINNING: usize = 12;

/// What a file is worth as a whole.
pub(super) struct FileWorth {
    /// Score of the file as a whole.
    whole: f64,
    /// What kind of file it is.
    damp: f64,
    /// What its path says, by term.
    around: Vec<f32>,
}

impl FileWorth {
    /// Of a file with so many bytes and lines, which a program wrote or not, by the sums of its terms and its path. `mean`: bytes
    /// of such files.
    pub(super) fn new(
        (bytes, lines, is_generated): (usize, u32, bool),
        sums: &[f32],
        rel: &str,
        question: &SearchQuestion,
        scorer: &Scorer,
        mean: f64,
    ) -> Self {
        let length = 0.25 + 0.75 * bytes as f64 / mean.max(1.0);
        let mut whole = 0.0;
        for (sum, weight) in sums[..scorer.terms].iter().zip(&scorer.weights) {
            let sum = f64::from(*sum);
            whole += weight * sum * 2.2 / (sum + 1.2 * length);
        }
        whole *= 0.3;
        let mut around = vec![0.0; scorer.terms];
        for (term, factor) in path_terms(rel, question) {
            around[term] = factor.max(0.0) as f32;
            // The name of a file says what it is about, even by a word that all files mention.
            whole += scorer.weights[term].max(1.0) * factor;
        }
        if names_path(rel, question) {
            whole += 3.0 * scorer.weights.iter().copied().fold(1.0, f64::max);
        }
        let mut damp = kind_of_file(rel, question);
        if is_generated {
            damp *= 0.4;
        }
        if lines > 0 && bytes / lines as usize > 300 {
            damp *= 0.15;
        }
        Self { whole, damp, around }
    }

    /// What it may score at most, if all that is counted stood in one place.
    pub(super) fn promise(&self, scorer: &Scorer, sums: &[f32]) -> f64 {
        self.of_place(scorer.score_of_sums(sums, &self.around))
    }

    fn of_place(&self, local: f64) -> f64 {
        (local + self.whole) * self.damp
    }
}

/// One file that may answer.
pub(super) struct Candidate<'a> {
    /// Its place in the tree.
    pub at: usize,
    scan: &'a Scan,
    windows: Vec<Stretch>,
    worth: FileWorth,
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

/// A place with what speaks for it.
pub(super) struct CandidatePlace {
    /// Its score is that of its words.
    pub place: Place,
    /// How near it is in meaning, 0 to 1.
    near: f64,
}

impl CandidatePlace {
    fn new(place: Place, near: &[NearPiece]) -> Self {
        let around =
            near.iter().filter(|piece| place.start_line <= piece.end && place.end_line >= piece.start);
        let near = around.map(|piece| piece.near).fold(0.0, f64::max);
        Self { place, near }
    }

    /// The place with the score of both; `most`: what the nearest of all adds.
    pub(super) fn weighed(mut self, most: f64) -> Place {
        let score = self.place.score + self.near * most;
        self.place.score = (score * 1_000.0).round() / 1_000.0;
        self.place
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

    /// Its best places, best first.
    pub(super) fn places(
        &self,
        candidate: &Candidate<'_>,
        question: &SearchQuestion,
        scorer: &Scorer,
        near: &[NearPiece],
        root: Option<String>,
    ) -> Vec<CandidatePlace> {
        let lines: Vec<&str> = self.text.lines().collect();
        let stretches = self.stretches(candidate, question, scorer, &lines);
        let mut places: Vec<Place> = without_overlap(stretches.clone(), PLACES_PER_FILE)
            .into_iter()
            .zip(FURTHER_PLACE)
            .map(|(stretch, counts)| {
                let score = candidate.worth.of_place(stretch.score) * counts;
                self.place(stretch, score, &lines, root.clone())
            })
            .collect();
        let by_words = places.len();
        // In a file that fits, a place without a word of the question fits as its file does.
        let base = places.first().map_or(0.0, |best| best.score * NEAR_ONLY);
        for piece in near {
            let is_shown = |place: &Place| place.start_line <= piece.end && place.end_line >= piece.start;
            if !places.iter().any(is_shown) {
                places.push(self.place(self.of_piece(piece), base, &lines, root.clone()));
            }
        }
        let further = self.further(stretches, &places[..by_words]);
        if let Some(best) = places.first_mut() {
            best.further = further;
        }
        places.into_iter().map(|place| CandidatePlace::new(place, near)).collect()
    }

    /// The lines of a piece that are shown: as many as of a definition.
    fn of_piece(&self, piece: &NearPiece) -> Stretch {
        let within = |symbol: &Symbol| (piece.start..=piece.end).contains(&symbol.start_line);
        let symbol = self.symbols.iter().position(within);
        let focus = symbol.map_or(piece.start, |at| self.symbols[at].start_line);
        let end = piece.end.min(piece.start + DEFINITION - 1).max(focus);
        Stretch { start: piece.start, end, focus, score: 0.0, symbol }
    }

    /// Definitions that fit and are neither shown nor around what is shown, best first.
    fn further(&self, mut stretches: Vec<Stretch>, places: &[Place]) -> Vec<Symbol> {
        stretches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.start.cmp(&b.start)));
        let best = stretches.first().map_or(0.0, |stretch| stretch.score);
        let mut named: Vec<Symbol> = Vec::new();
        for stretch in stretches.iter().filter(|stretch| stretch.score > best * WORTH_NAMING) {
            let Some(symbol) = stretch.symbol.and_then(|at| self.symbols.get(at)) else { continue };
            let is_shown = places.iter().any(|place| {
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

    fn stretches(
        &self,
        candidate: &Candidate<'_>,
        question: &SearchQuestion,
        scorer: &Scorer,
        lines: &[&str],
    ) -> Vec<Stretch> {
        let mut stretches = candidate.windows.clone();
        let mut definitions =
            scorer.definitions(&candidate.scan.hits, &candidate.worth.around, question, &self.symbols, lines);
        candidate.damp_tests(&mut definitions);
        stretches.append(&mut definitions);
        if stretches.is_empty() {
            // Only the path fits: show how the file begins.
            let end = lines.len().clamp(1, BEGINNING) as u64;
            stretches.push(Stretch { start: 1, end, focus: 1, score: 0.0, symbol: None });
        }
        stretches
    }

    fn place(&self, stretch: Stretch, score: f64, lines: &[&str], root: Option<String>) -> Place {
        let Stretch { start, end, mut focus, symbol, score: _ } = stretch;
        let symbol =
            symbol.or_else(|| symbol_around(&self.symbols, lines, focus)).map(|at| &self.symbols[at]);
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
            snippet: snippet(lines, start, end),
            score: (score * 1_000.0).round() / 1_000.0,
            symbol: symbol.cloned(),
            further: Vec::new(),
        }
    }
}
