//! What a file is worth as a whole for a question: by its words, its length, its path and its kind.
//!
//! Never looks at where in the file something stands, and compares no files.

use super::kinds::{kind_of_file, names_path, path_terms};
use super::question::SearchQuestion;
use super::windows::Scorer;

/// What a file is worth as a whole.
pub(super) struct FileWorth {
    /// Score of the file as a whole by its words.
    pub whole: f64,
    /// What kind of file it is.
    pub damp: f64,
    /// What its path says, by term.
    pub around: Vec<f32>,
    /// Whether the question names it.
    pub is_named: bool,
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
        let is_named = names_path(rel, question);
        if is_named {
            whole += 3.0 * scorer.weights.iter().copied().fold(1.0, f64::max);
        }
        let mut damp = kind_of_file(rel, question);
        if is_generated {
            damp *= 0.4;
        }
        if lines > 0 && bytes / lines as usize > 300 {
            damp *= 0.15;
        }
        Self { whole, damp, around, is_named }
    }

    /// What it may score at most, if all that is counted stood in one place.
    pub(super) fn promise(&self, scorer: &Scorer, sums: &[f32]) -> f64 {
        self.of_place(scorer.score_of_sums(sums, &self.around))
    }

    /// The same with a place of such a score in it.
    pub(super) fn of_place(&self, local: f64) -> f64 {
        (local + self.whole) * self.damp
    }
}
