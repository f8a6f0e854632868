//! A question in natural language as weighted terms.
//!
//! Owns what counts in a question: identifiers, quoted texts and paths whole, other words by their stem. Never looks at
//! a file.

use std::collections::HashMap;

use super::terms::{stem, words};
use super::vocabulary::{as_one_word, is_stop, is_weak, spellings, synonyms};

/// Most terms of one question; a longer text (a pasted log) is searched by its first ones.
const MOST_TERMS: usize = 24;

/// How much a synonym counts against the word itself.
const SYNONYM: f32 = 0.35;

/// How much a word counts that is in many questions whatever they ask.
const WEAK: f32 = 0.4;

/// How much another spelling of the word counts.
const SPELLING: f32 = 0.9;

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// As it is shown in tests and logs.
    pub text: String,
    /// How much it counts.
    pub weight: f32,
}

/// A question, ready to be compared with text.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchQuestion {
    /// What is asked for, in order.
    pub terms: Vec<Term>,
    /// Terms by the stem of a word, with how much it counts there.
    pub stems: HashMap<String, Vec<(usize, f32)>>,
    /// Terms by a whole identifier in lower case.
    pub identifiers: HashMap<String, usize>,
    /// Terms by a quoted text in lower case.
    pub phrases: Vec<(String, usize)>,
    /// Paths or file names, in lower case.
    pub paths: Vec<String>,
    /// Pairs of terms that stand next to each other in the question: first term, and the number of the pair.
    pub pairs: Vec<(usize, usize)>,
    /// Whether the question is about tests.
    pub about_tests: bool,
    /// Whether the question is about documents.
    pub about_docs: bool,
}

impl SearchQuestion {
    /// Reads a question.
    pub(super) fn read(text: &str) -> Self {
        let mut question = Self::default();
        let mut rest = String::new();
        for (at, piece) in text.split(['`', '"', '“', '”']).enumerate() {
            // Every second piece stands between quotes.
            let piece = piece.trim();
            if at % 2 == 1
                && piece.contains(char::is_whitespace)
                && (4..200).contains(&piece.len())
                && let Some(term) = question.term(piece, 2.5)
            {
                question.phrases.push((piece.to_ascii_lowercase(), term));
            }
            rest.push_str(piece);
            rest.push(' ');
        }
        question.read_words(&rest, false);
        if question.terms.is_empty() {
            question.read_words(&rest, true);
        }
        question
    }

    fn read_words(&mut self, text: &str, keep_stop_words: bool) {
        let mut previous: Option<usize> = None;
        let mut word_before: Option<(String, usize)> = None;
        for run in text.split(|c: char| c.is_whitespace() || ",;?!()[]{}<>'=".contains(c)) {
            let run = run.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            if run.is_empty() {
                continue;
            }
            let is_path = run.contains('/') || has_extension(run);
            if is_path {
                self.paths.push(run.trim_start_matches("./").to_ascii_lowercase());
            }
            for name in run.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let lower = name.to_ascii_lowercase();
                if name.is_empty() || (!keep_stop_words && is_stop(&lower)) {
                    continue;
                }
                self.about_tests |= matches!(lower.as_str(), "test" | "tests" | "tested" | "testing");
                self.about_docs |= matches!(
                    lower.as_str(),
                    "readme"
                        | "docs"
                        | "doc"
                        | "documentation"
                        | "changelog"
                        | "guide"
                        | "manual"
                        | "documented"
                );
                let whole = is_identifier(name);
                if whole && let Some(term) = self.term(&lower, 2.5) {
                    self.identifiers.insert(lower.clone(), term);
                }
                let weight = if whole || is_path { 0.6 } else { 1.0 };
                words(name, |_, word| {
                    let word = word.to_ascii_lowercase();
                    if (keep_stop_words || !is_stop(&word)) && word.len() > 1 {
                        let weight = if is_weak(&word) { weight * WEAK } else { weight };
                        let term = self.word(&word, weight);
                        if let (Some(before), Some(term)) = (previous, term)
                            && term == before + 1
                            && !self.pairs.iter().any(|(first, _)| *first == before)
                        {
                            self.pairs.push((before, self.pairs.len()));
                        }
                        previous = term;
                        if let (Some((before, first)), Some(second)) = (&word_before, term)
                            && let Some(one) = as_one_word(before, &word)
                        {
                            self.stems
                                .entry(one)
                                .or_default()
                                .extend([(*first, SPELLING), (second, SPELLING)]);
                        }
                        word_before = term.map(|term| (word, term));
                    }
                });
            }
        }
    }

    /// The term of a word, new or known.
    fn word(&mut self, word: &str, weight: f32) -> Option<usize> {
        let key = stem(word);
        if let Some(known) =
            self.stems.get(&key).and_then(|terms| terms.iter().find(|(_, factor)| *factor == 1.0))
        {
            return Some(known.0);
        }
        let term = self.term(word, weight)?;
        self.stems.entry(key).or_default().push((term, 1.0));
        for other in spellings(word) {
            self.stems.entry(other).or_default().push((term, SPELLING));
        }
        for other in synonyms(word) {
            let terms = self.stems.entry(other).or_default();
            if terms.iter().all(|(known, _)| *known != term) {
                terms.push((term, SYNONYM));
            }
        }
        Some(term)
    }

    fn term(&mut self, text: &str, weight: f32) -> Option<usize> {
        if self.terms.len() >= MOST_TERMS {
            return None;
        }
        self.terms.push(Term { text: text.to_owned(), weight });
        Some(self.terms.len() - 1)
    }
}

/// `snake_case`, `camelCase`, `CamelCase`, `SHOUTED_CASE`.
fn is_identifier(name: &str) -> bool {
    let inner = &name[name.chars().next().map_or(0, char::len_utf8)..];
    let mixed = inner.chars().any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    mixed || inner.trim_end_matches('_').contains('_')
}

fn has_extension(run: &str) -> bool {
    run.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.chars().any(|c| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(question: &SearchQuestion) -> Vec<&str> {
        question.terms.iter().map(|term| term.text.as_str()).collect()
    }

    #[test]
    fn a_question_keeps_what_is_asked_for() {
        let question = SearchQuestion::read("Where is the frame guard that refuses oversized frames?");
        assert_eq!(texts(&question), ["frame", "guard", "refuses", "oversized"]);
        assert_eq!(question.pairs, [(0, 0), (1, 1), (2, 2)]);
        assert!(question.stems["reject"].contains(&(2, SYNONYM)));
    }

    #[test]
    fn identifiers_quoted_texts_and_paths_stay_whole() {
        let question =
            SearchQuestion::read("does `char_at` in src/overlay.rs say \"no such place\" for OpenDocument?");
        assert_eq!(question.identifiers.keys().len(), 2);
        assert!(
            question.identifiers.contains_key("char_at") && question.identifiers.contains_key("opendocument")
        );
        assert_eq!(question.paths, ["src/overlay.rs"]);
        assert_eq!(
            question.phrases.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(),
            ["no such place"]
        );
    }

    #[test]
    fn a_question_of_stop_words_alone_is_still_asked_and_a_long_one_is_bounded() {
        assert_eq!(texts(&SearchQuestion::read("what is this?")), ["what", "is", "this"]);
        let long: String =
            (0..500u32).map(|i| format!("w{} ", "abcdefghij".repeat(i as usize % 40 + 1))).collect();
        assert!(SearchQuestion::read(&long).terms.len() <= MOST_TERMS);
        assert!(SearchQuestion::read("").terms.is_empty());
    }
}
