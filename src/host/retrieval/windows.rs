//! Stretches of lines of one file: their score, the best of them, and what they show.
//!
//! Owns proximity: terms count together when they stand within a few lines. Never compares files.

use std::collections::HashSet;

use super::lines::shown;
use super::scan::Hit;
use super::{Symbol, SymbolKind};

/// Lines of a stretch that is not a definition.
const WINDOW: u32 = 12;

/// Most lines of a definition that are shown, its doc comment included.
pub(super) const DEFINITION: u64 = 24;

/// What a term counts in the name of a definition.
const IN_NAME: f64 = 2.2;

/// A stretch of lines, from 1, inclusive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretch {
    /// First line.
    pub start: u64,
    /// Last line.
    pub end: u64,
    /// The line with most of the question; of a definition the line that defines.
    pub focus: u64,
    /// How well it answers.
    pub score: f64,
    /// Which of the file's definitions it is, or lies in.
    pub symbol: Option<usize>,
}

/// What each term counts in this search.
pub(super) struct Scorer {
    /// Per term, then per pair.
    pub weights: Vec<f64>,
    /// Number of terms, without pairs.
    pub terms: usize,
    /// Identifiers that the question names, in lower case.
    pub named: HashSet<String>,
}

impl Scorer {
    /// Score of the hits of one stretch. A term's further occurrences add less and less; stretches with more of the
    /// question in them gain over those that repeat one word.
    pub(super) fn score(&self, hits: &[Hit]) -> f64 {
        self.score_within(hits, &[])
    }

    /// The same of a stretch that stands where `around` is said of it, by term.
    fn score_within(&self, hits: &[Hit], around: &[f32]) -> f64 {
        let mut sums = vec![0.0f64; self.weights.len()];
        for hit in hits {
            sums[hit.term as usize] += f64::from(hit.weight) * if hit.in_name { IN_NAME } else { 1.0 };
        }
        self.of_sums(sums, around)
    }

    /// The score of a stretch in which each term counts so much, as if each stood in a name.
    pub(super) fn score_of_sums(&self, sums: &[f32], around: &[f32]) -> f64 {
        let mut all = vec![0.0f64; self.weights.len()];
        for (sum, one) in all.iter_mut().zip(sums) {
            *sum = f64::from(*one) * IN_NAME;
        }
        self.of_sums(all, around)
    }

    fn of_sums(&self, mut sums: Vec<f64>, around: &[f32]) -> f64 {
        for (sum, more) in sums.iter_mut().zip(around) {
            *sum += f64::from(*more);
        }
        let (mut score, mut covered, mut whole) = (0.0, 0.0, 0.0);
        for (term, (sum, weight)) in sums.iter().zip(&self.weights).enumerate() {
            score += weight * 1.6 * sum / (sum + 0.6);
            if term < self.terms {
                covered += weight * sum.min(1.0);
                whole += weight;
            }
        }
        if whole > 0.0 { score * (0.2 + covered / whole) } else { 0.0 }
    }

    /// The best few windows of a file that do not overlap, best first.
    pub(super) fn windows(&self, hits: &[Hit], around: &[f32], lines: u32, most: usize) -> Vec<Stretch> {
        let mut all = Vec::new();
        let mut from = 0;
        while from < hits.len() {
            let line = hits[from].line;
            let to = from + hits[from..].partition_point(|hit| hit.line < line + WINDOW);
            let last = hits[to - 1].line;
            all.push((self.score_within(&hits[from..to], around), line, last, self.densest(&hits[from..to])));
            from += hits[from..].partition_point(|hit| hit.line == line);
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<Stretch> = Vec::new();
        for (score, first, last, densest) in all {
            let start = u64::from(first.saturating_sub(1)) + 1;
            let end = u64::from((last + 2).min(lines.saturating_sub(1))) + 1;
            if chosen.iter().all(|other| end < other.start || start > other.end) {
                chosen.push(Stretch { start, end, focus: u64::from(densest) + 1, score, symbol: None });
                if chosen.len() == most {
                    break;
                }
            }
        }
        chosen
    }

    /// The line to jump to of a definition: where it begins; of a type whose member says more, that member.
    pub(super) fn focus(&self, hits: &[Hit], symbol: &Symbol) -> u64 {
        let head = hits.partition_point(|hit| u64::from(hit.line) < symbol.start_line);
        let is_type = !matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
            && !self.named.contains(&symbol.name.to_lowercase());
        let member = self.densest(&hits[head..]);
        let of_member: Vec<Hit> = hits[head..].iter().filter(|hit| hit.line == member).copied().collect();
        if is_type && self.score(&of_member) > self.score(&hits[..head]) {
            u64::from(member) + 1
        } else {
            symbol.start_line
        }
    }

    /// The first of the lines that have most of the question.
    fn densest(&self, hits: &[Hit]) -> u32 {
        let (mut best, mut line) = (f64::MIN, 0);
        for on_line in hits.chunk_by(|a, b| a.line == b.line) {
            let score = self.score(on_line);
            if score > best {
                (best, line) = (score, on_line[0].line);
            }
        }
        line
    }
}

/// First line of the comments, attributes and decorators right above a line; both from 1.
pub(super) fn doc_start(lines: &[&str], line: u64) -> u64 {
    let mut start = line;
    while start > 1 && line - start < 16 {
        let above = lines.get(start as usize - 2).map_or("", |line| line.trim_start());
        let belongs = ["//", "/*", "*", "#", "@", "--"].iter().any(|mark| above.starts_with(mark));
        if !belongs || above.starts_with("//!") || above.starts_with("#!") || above.starts_with("#include") {
            break;
        }
        start -= 1;
    }
    start
}

/// The lines of a stretch as they are shown.
pub(super) fn snippet(lines: &[&str], start: u64, end: u64) -> String {
    let from = (start as usize - 1).min(lines.len());
    let to = (end as usize).clamp(from, lines.len());
    lines[from..to].iter().map(|line| shown(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(line: u32, term: u16) -> Hit {
        Hit { line, term, weight: 1.0, in_name: false }
    }

    #[test]
    fn terms_close_together_beat_one_term_repeated_and_names_beat_text() {
        let scorer = Scorer { weights: vec![1.0, 1.0], terms: 2, named: HashSet::new() };
        let both = scorer.score(&[hit(0, 0), hit(3, 1)]);
        let repeated = scorer.score(&[hit(0, 0), hit(1, 0), hit(2, 0), hit(3, 0)]);
        let name = scorer.score(&[Hit { in_name: true, ..hit(0, 0) }]);
        assert!(both > repeated && name > scorer.score(&[hit(0, 0)]));
        let windows = scorer.windows(&[hit(0, 0), hit(50, 0), hit(52, 1)], &[], 60, 5);
        let found: Vec<_> = windows.iter().map(|w| (w.start, w.end, w.focus)).collect();
        assert_eq!(found, [(50, 55, 51), (1, 3, 1)]);
    }

    #[test]
    fn a_definition_shows_its_doc_comment() {
        let lines = ["//! Header", "", "/// Doc.", "#[inline]", "fn f() {", "}"];
        assert_eq!(doc_start(&lines, 5), 3);
        assert_eq!(snippet(&lines, 5, 99), "fn f() {\n}");
    }
}
