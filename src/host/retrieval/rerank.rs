//! The last ranking: passages of the best files, compared by everything that is known of them.
//!
//! Owns what each feature counts, and which passages make up an answer. Never reads a text. Equal scores keep the order of files and
//! lines, so the same question has the same answer.

use super::features::Features;

/// Most places of one file in an answer, so that one file does not hide the others.
pub(super) const PLACES_PER_FILE: usize = 3;

/// What each further place of a file must be better than one of another file: a reader of the first sees its neighbours anyway.
const AGAIN: f64 = 0.4;

/// What is so much behind the best is noise, and an agent would read it.
const FAR: f64 = 6.0;

// What the features count, in logarithms of odds: a difference of 0.7 says that one of two passages answers twice as often. They
// were fitted to seventy questions on five repositories (a softmax over the passages of each question, small weights preferred) and
// rounded; see docs/decisions/0052.

/// The name of a definition says what it does, and most of all a name of which the question has every word.
const NAME: f64 = 2.0;
const WHOLE_NAME: f64 = 1.9;
/// Whoever writes an identifier or a path wants that one. No question of the seventy does; so much beats everything else together.
const NAMED: f64 = 6.0;
const NAMED_FILE: f64 = 6.0;
const CONTAINER: f64 = 0.7;
const PATH: f64 = 0.6;
const COMMENTS: f64 = 0.6;
const SHOWN: f64 = 2.3;
/// How much of the question is there at all, how much of what is rare in it, and how often: three sides of the same.
const ANY: f64 = 1.4;
const RARE: f64 = 1.9;
const OFTEN: f64 = 3.2;
const PAIRS: f64 = 0.8;
/// The file as a whole: its words by BM25, its length and its name.
const FILE: f64 = 3.5;
const IN_FILE: f64 = 1.1;
/// Tests, documents and examples speak of everything that the code does: the fourth power of what their kind counts.
const KIND: f64 = 4.0;
const TEST: f64 = -0.6;
/// Questions ask what happens, and functions do it.
const FUNCTION: f64 = 1.8;
const TYPE: f64 = -1.6;
const LENGTH: f64 = 0.6;
const HEAD: f64 = 2.2;
/// Nearness in meaning, where a model says so: as much as words in a name, so that neither a weak model nor unlucky words decide alone.
const NEAR: f64 = 2.5;

/// How well a passage answers; more is better, and differences are what counts.
pub(super) fn score(features: &Features) -> f64 {
    let is = |yes: bool| f64::from(u8::from(yes));
    let Features { name, whole_name, container, path, comments, shown, any, rare, often, pairs, .. } =
        *features;
    let words = NAME * name
        + WHOLE_NAME * whole_name
        + NAMED * is(features.is_named)
        + CONTAINER * container
        + PATH * path
        + NAMED_FILE * is(features.is_named_file)
        + COMMENTS * comments
        + SHOWN * shown
        + ANY * any
        + RARE * rare
        + OFTEN * often
        + PAIRS * pairs;
    let file = FILE * features.file + IN_FILE * features.in_file + KIND * features.kind;
    let shape = FUNCTION * is(features.is_function)
        + TYPE * is(features.is_type)
        + LENGTH * features.length
        + HEAD * is(features.is_head)
        + TEST * is(features.is_test);
    words + file + shape + NEAR * features.near
}

/// A passage as the choice sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    /// Its file, by rank.
    pub file: usize,
    /// The lines that are shown.
    pub lines: (u64, u64),
    /// The definition that it is or lies in, by its place in the file.
    pub symbol: Option<usize>,
    /// How well it answers.
    pub score: f64,
}

impl Ranked {
    /// Whether these lines are those of the other one.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.file == other.file && self.lines.0 <= other.lines.1 && self.lines.1 >= other.lines.0
    }

    /// Whether it shows the lines or the definition of the other one.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let is_same = self.file == other.file && self.symbol.is_some() && self.symbol == other.symbol;
        is_same || self.overlaps(other)
    }
}

/// The passages of an answer, best first, by their place among all: no definition twice, no lines twice, few of one file.
pub(super) fn choose(all: &[Ranked], limit: usize) -> Vec<usize> {
    let best = all.iter().map(|one| one.score).fold(f64::NEG_INFINITY, f64::max);
    let mut left: Vec<usize> = (0..all.len()).filter(|at| all[*at].score >= best - FAR).collect();
    left.sort_by_key(|at| (all[*at].file, all[*at].lines));
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < limit {
        let of_file = |file: usize| chosen.iter().filter(|at| all[**at].file == file).count();
        let worth = |at: usize| all[at].score - AGAIN * of_file(all[at].file) as f64;
        // The first of equals: `max_by` would give the last.
        let next = left.iter().copied().rev().max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        let Some(next) = next else { break };
        chosen.push(next);
        let is_full = chosen.iter().filter(|at| all[**at].file == all[next].file).count() >= PLACES_PER_FILE;
        left.retain(|at| {
            let (one, other) = (&all[*at], &all[next]);
            one.file != other.file || !is_full && !one.repeats(other)
        });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_and_its_lines_are_shown_once_and_a_file_leaves_room_for_others() {
        let ranked = |file, first, symbol, score| Ranked { file, lines: (first, first + 9), symbol, score };
        let all = [
            ranked(0, 1, Some(0), 9.0),
            ranked(0, 40, Some(0), 8.9),
            ranked(0, 5, None, 8.8),
            ranked(1, 1, None, 8.7),
            ranked(0, 60, Some(1), 8.6),
            ranked(0, 80, Some(2), 8.5),
            ranked(0, 99, Some(3), 8.4),
            ranked(2, 1, None, 8.3),
            ranked(3, 1, None, 9.0 - FAR - 0.1),
        ];
        assert_eq!(choose(&all, 9), [0, 3, 7, 4, 5]);
        assert_eq!(choose(&all, 2), [0, 3]);
        assert_eq!(choose(&[], 2), Vec::<usize>::new());
    }

    #[test]
    fn of_equal_passages_the_first_file_comes_first() {
        let ranked = |file| Ranked { file, lines: (1, 2), symbol: None, score: 1.0 };
        assert_eq!(choose(&[ranked(2), ranked(0), ranked(1)], 5), [1, 2, 0]);
    }

    #[test]
    fn code_that_the_question_names_beats_a_test_that_has_all_its_words() {
        let words =
            Features { any: 1.0, rare: 1.0, often: 0.8, shown: 1.0, pairs: 1.0, ..Features::default() };
        let test = Features { kind: 0.4_f64.ln(), is_function: true, ..words };
        let named = Features { name: 0.5, is_named: true, is_function: true, ..Features::default() };
        assert!(score(&named) > score(&test));
        assert!(score(&Features { kind: 0.0, ..test }) > score(&test));
    }
}
