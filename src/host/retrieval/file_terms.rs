//! The words of a whole text with what they count, packed for the index, and a question compared with them.
//!
//! Owns the packing: entries in order of a hash of 24 bits, each as the distance from the one before, then the sum outside of
//! tests and, where there are any, the sum within them, in twentieths. Two words may share a hash; a file that only seems to
//! answer is read, and then it does not.

use std::collections::BTreeMap;

use super::line_kind::{IN_TESTS, LineKinds};
use super::packing::{put, take};
use super::question::SearchQuestion;
use super::terms::{stem_into, words};

/// What a word counts is a whole number of these.
const UNIT: f32 = 0.05;

/// Different words of one text that are kept: more is no code.
const MOST_WORDS: usize = 60_000;

/// Packs the words of a text; gives its number of lines with it.
pub(super) fn pack(text: &str) -> (Vec<u8>, u32) {
    let mut sums: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let mut kinds = LineKinds::new();
    let mut stem = String::new();
    for line in text.split_inclusive('\n') {
        let (_, factor) = kinds.next(line);
        let units = (factor / UNIT).round() as u32;
        let in_tests = kinds.tests_from.is_some();
        let mut add = |hash: u32| {
            if sums.len() < MOST_WORDS || sums.contains_key(&hash) {
                let (code, tests) = sums.entry(hash).or_default();
                let sum = if in_tests { tests } else { code };
                *sum = sum.saturating_add(units);
            }
        };
        words(line, |_, word| {
            if word.len() > 1 {
                stem_into(word, &mut stem);
                add(hash_of(b'w', stem.as_bytes()));
            }
        });
        for name in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if name.len() > 2 && has_parts(name) {
                add(hash_of(b'n', name.to_ascii_lowercase().as_bytes()));
            }
        }
    }
    let mut packed = Vec::with_capacity(sums.len() * 4);
    let mut before = 0;
    for (hash, (code, tests)) in sums {
        put(&mut packed, hash - before);
        before = hash;
        put(&mut packed, code << 1 | u32::from(tests > 0));
        if tests > 0 {
            put(&mut packed, tests);
        }
    }
    (packed, kinds.lines)
}

/// A question, ready to be compared with packed words.
pub(super) struct TermLookup {
    terms: usize,
    about_tests: bool,
    /// In order of the hash.
    wanted: Vec<(u32, usize, f32)>,
}

impl TermLookup {
    /// Of a question; `None` where packed words cannot say whether it is answered: where it quotes a text.
    pub(super) fn of(question: &SearchQuestion) -> Option<Self> {
        if !question.phrases.is_empty() {
            return None;
        }
        let words = question.stems.iter().flat_map(|(stem, terms)| {
            let hash = hash_of(b'w', stem.as_bytes());
            terms.iter().map(move |(term, weight)| (hash, *term, *weight))
        });
        let names =
            question.identifiers.iter().map(|(name, term)| (hash_of(b'n', name.as_bytes()), *term, 1.0));
        let mut wanted: Vec<(u32, usize, f32)> = words.chain(names).collect();
        wanted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
        Some(Self { terms: question.terms.len(), about_tests: question.about_tests, wanted })
    }

    /// Per term the sum of its weights; `None` where there is nothing of the question.
    pub(super) fn sums(&self, packed: &[u8]) -> Option<Vec<f32>> {
        let mut sums: Option<Vec<f32>> = None;
        let mut wanted = self.wanted.as_slice();
        let mut rest = packed;
        let mut hash = 0;
        while let Some((distance, code)) = take(&mut rest).zip(take(&mut rest)) {
            let tests = if code & 1 == 1 { take(&mut rest).unwrap_or_default() } else { 0 };
            hash = u32::wrapping_add(hash, distance);
            while wanted.first().is_some_and(|(first, ..)| *first < hash) {
                wanted = &wanted[1..];
            }
            let Some((next, ..)) = wanted.first() else { break };
            if *next != hash {
                continue;
            }
            let in_tests = if self.about_tests { 1.0 } else { IN_TESTS };
            let sum = ((code >> 1) as f32 + tests as f32 * in_tests) * UNIT;
            let sums = sums.get_or_insert_with(|| vec![0.0; self.terms]);
            for (_, term, weight) in wanted.iter().take_while(|(same, ..)| *same == hash) {
                sums[*term] += sum * weight;
            }
        }
        sums
    }
}

/// Names of one word stand among the words.
fn has_parts(name: &str) -> bool {
    let mut parts = 0;
    words(name, |_, _| parts += 1);
    parts > 1
}

/// FNV-1a, folded to 24 bits.
fn hash_of(kind: u8, text: &[u8]) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in std::iter::once(&kind).chain(text) {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
    (hash >> 24) ^ (hash & 0x00ff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::scan::scan;

    #[test]
    fn packed_words_say_what_a_pass_over_the_text_says() {
        let text = "//! Frames, guarded.\nuse a::frame;\nfn frame_guard(frame: Frame) {}\n\nlet refused = OpenDocument;\n\
                    #[cfg(test)]\nmod t {\n    let guards = open_document();\n    frame();\n}\n";
        for asked in [
            "where is the frame guard?",
            "which tests cover the frame guard?",
            "who rejects an OpenDocument or `open_document`",
            "zebra",
        ] {
            let question = SearchQuestion::read(asked);
            let (packed, lines) = pack(text);
            let sums = TermLookup::of(&question).unwrap().sums(&packed);
            let scanned = scan(text, &question, 999);
            assert_eq!(lines, 10);
            assert_eq!(sums.is_some(), scanned.is_some(), "{asked}");
            for (sum, scanned) in sums.iter().flatten().zip(scanned.iter().flat_map(|scan| &scan.sums)) {
                assert!((sum - scanned).abs() < 0.01, "{asked}: {sum} {scanned}");
            }
        }
    }

    #[test]
    fn any_bytes_are_unpacked_to_an_end() {
        let question = SearchQuestion::read("frame guard");
        let lookup = TermLookup::of(&question).unwrap();
        for seed in 0..500u32 {
            let bytes: Vec<u8> =
                (0..seed % 40).map(|at| (seed.wrapping_mul(2_654_435_761).rotate_left(at)) as u8).collect();
            lookup.sums(&bytes);
        }
        assert!(TermLookup::of(&SearchQuestion::read("\"quoted text here\"")).is_none());
    }
}
