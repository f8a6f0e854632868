//! The passages of the best files side by side, and the places that are made of them.
//!
//! Owns what belongs to which. Never decides an order: `rerank` does by what is known of each, `reading` by what a model says.

use std::collections::BTreeSet;

use super::Place;
use super::candidate::{Candidate, CloserLook};
use super::meaning::NearPiece;
use super::question::SearchQuestion;
use super::rerank::{Ranked, choose, score};
use super::windows::{Scorer, Stretch};

/// See the module.
pub(super) struct Ranking<'a> {
    looked: Vec<(usize, CloserLook<'a>)>,
    /// What the root of each of these files is called.
    roots: Vec<Option<String>>,
    stretches: Vec<Stretch>,
    ranked: Vec<Ranked>,
}

impl<'a> Ranking<'a> {
    /// Of these files, by rank. `near`: what is near in meaning in a file of the tree; `root`: what its root is called.
    pub(super) fn of<'n>(
        files: &[Candidate<'_>],
        looked: Vec<(usize, CloserLook<'a>)>,
        asked: (&SearchQuestion, &Scorer),
        near: impl Fn(usize) -> &'n [NearPiece],
        root: impl Fn(usize) -> Option<String>,
    ) -> Self {
        let best_file = files.iter().map(|file| file.worth.whole).fold(f64::MIN_POSITIVE, f64::max);
        let (mut stretches, mut ranked) = (Vec::new(), Vec::new());
        for (nth, (at, look)) in looked.iter().enumerate() {
            for (passage, mut features) in look.passages(&files[*at], asked, near(files[*at].at)) {
                features.file /= best_file;
                let Stretch { start, end, symbol, .. } = passage.stretch;
                ranked.push(Ranked { file: nth, lines: (start, end), symbol, score: score(&features) });
                stretches.push(passage.stretch);
            }
        }
        let roots = looked.iter().map(|(at, _)| root(files[*at].at)).collect();
        Self { looked, roots, stretches, ranked }
    }

    /// All passages.
    pub(super) fn ranked(&self) -> &[Ranked] {
        &self.ranked
    }

    /// The path of a passage's file, within its root.
    pub(super) fn path(&self, at: usize) -> &str {
        self.looked[self.ranked[at].file].1.path()
    }

    /// What tells a passage from all others, in whichever ranking: its root, its path and its lines.
    pub(super) fn key(&self, at: usize) -> (Option<String>, String, (u64, u64)) {
        let one = &self.ranked[at];
        (self.roots[one.file].clone(), self.path(at).to_owned(), one.lines)
    }

    /// What is shown of a passage, with its score.
    pub(super) fn place(&self, at: usize, score: f64) -> Place {
        let file = self.ranked[at].file;
        self.looked[file].1.place(&self.stretches[at], score, self.roots[file].clone())
    }

    /// The best places by what is known of each passage.
    pub(super) fn best(&self, limit: usize) -> Vec<Place> {
        let chosen = choose(&self.ranked, limit);
        let best = chosen.first().map_or(0.0, |at| self.ranked[*at].score);
        self.places(chosen.into_iter().map(|at| (at, (self.ranked[at].score - best).exp())).collect())
    }

    /// These places, in this order, which somebody else made: each counts less by its place alone.
    pub(super) fn in_order(&self, chosen: &[usize]) -> Vec<Place> {
        self.places(chosen.iter().enumerate().map(|(nth, at)| (*at, 1.0 / (nth + 1) as f64)).collect())
    }

    fn places(&self, chosen: Vec<(usize, f64)>) -> Vec<Place> {
        let of_file: Vec<usize> = chosen.iter().map(|(at, _)| self.ranked[*at].file).collect();
        let mut places: Vec<Place> = chosen.into_iter().map(|(at, score)| self.place(at, score)).collect();
        self.name_further(&mut places, &of_file);
        places
    }

    /// Names with the best place of each file what else of the file fits.
    fn name_further(&self, places: &mut [Place], of_file: &[usize]) {
        let mut named = BTreeSet::new();
        for at in 0..places.len() {
            let file = of_file[at];
            if named.insert(file) {
                let shown: Vec<&Place> = places
                    .iter()
                    .zip(of_file)
                    .filter(|(_, other)| **other == file)
                    .map(|(place, _)| place)
                    .collect();
                let passages = self.ranked.iter().filter(|one| one.file == file).copied().collect();
                places[at].further = self.looked[file].1.further(passages, &shown);
            }
        }
    }
}
