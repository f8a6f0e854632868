//! What speaks for each file of a search: read whole, or counted in the index.
//!
//! Owns which of the counted files are read. Never compares places.

use std::sync::atomic::AtomicBool;

use super::RetrievalError;
use super::file_terms::TermLookup;
use super::file_worth::FileWorth;
use super::kinds::{names_path, path_terms};
use super::known_files::KnownFiles;
use super::question::SearchQuestion;
use super::scan::{Scan, most_hits, scan};
use super::walk::WalkedTree;
use super::windows::Scorer;
use super::workers::spread;

/// Files of the index that are read for one question, several times as many as get a closer look: how words stand together
/// only the text tells.
const READ: usize = 200;

/// See the module.
pub(super) struct Evidence {
    /// Files that were read, by their place in the tree.
    pub scans: Vec<(usize, Scan)>,
    /// Mean length of the files in which something of the question stands, in bytes.
    pub mean_bytes: f64,
    /// Files that were not read: what the index counts, per term.
    counted: Vec<(usize, Vec<f32>)>,
}

/// What there is of one file.
enum FileEvidence {
    Read(Scan),
    Counted(Vec<f32>, usize),
}

impl Evidence {
    /// Every file in which something of the question stands, or whose path says something of it.
    pub(super) fn gather(
        tree: &WalkedTree,
        question: &SearchQuestion,
        known: &KnownFiles,
        cancel: &AtomicBool,
    ) -> Result<Self, RetrievalError> {
        let lookup = TermLookup::of(question);
        let found = spread(tree.files.len(), cancel, |at| {
            let file = &tree.files[at];
            let is_named = || !path_terms(&file.rel, question).is_empty() || names_path(&file.rel, question);
            if let (Some(lookup), Some(entry)) = (&lookup, known.entry(at)) {
                let text = entry.text.as_ref()?;
                let sums = lookup.sums(&text.terms);
                let sums = sums.or_else(|| is_named().then(|| vec![0.0; question.terms.len()]))?;
                return Some(FileEvidence::Counted(sums, text.bytes as usize));
            }
            match scan(&tree.text(file, cancel)?, question, most_hits(tree.files.len())) {
                Some(scan) => Some(FileEvidence::Read(scan)),
                None if is_named() => {
                    let sums = vec![0.0; question.terms.len() + question.pairs.len()];
                    Some(FileEvidence::Read(Scan { sums, ..Scan::default() }))
                }
                None => None,
            }
        })?;
        let bytes: f64 = found.iter().map(|(_, one)| one.bytes() as f64).sum();
        let mean_bytes = bytes / found.len().max(1) as f64;
        let mut evidence = Self { scans: Vec::new(), mean_bytes, counted: Vec::new() };
        for (at, one) in found {
            match one {
                FileEvidence::Read(scan) => evidence.scans.push((at, scan)),
                FileEvidence::Counted(sums, _) => evidence.counted.push((at, sums)),
            }
        }
        Ok(evidence)
    }

    /// Per file the sums of the terms.
    pub(super) fn sums(&self) -> impl Iterator<Item = &[f32]> {
        let read = self.scans.iter().map(|(_, scan)| scan.sums.as_slice());
        read.chain(self.counted.iter().map(|(_, sums)| sums.as_slice()))
    }

    /// Reads those of the counted files that may answer best.
    pub(super) fn read_best(
        &mut self,
        tree: &WalkedTree,
        question: &SearchQuestion,
        scorer: &Scorer,
        known: &KnownFiles,
        cancel: &AtomicBool,
    ) -> Result<(), RetrievalError> {
        let promise = |(at, sums): &(usize, Vec<f32>)| {
            let text = known.entry(*at)?.text.as_ref()?;
            let worth = FileWorth::new(
                (text.bytes as usize, text.lines, text.is_generated),
                sums,
                &tree.files[*at].rel,
                question,
                scorer,
                self.mean_bytes,
            );
            Some((worth.promise(scorer, sums), *at))
        };
        let mut best: Vec<(f64, usize)> = self.counted.iter().filter_map(promise).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.truncate(READ);
        let read = spread(best.len(), cancel, |nth| {
            let (_, at) = best[nth];
            let text = tree.text(&tree.files[at], cancel)?;
            let nothing =
                || Scan { sums: vec![0.0; question.terms.len() + question.pairs.len()], ..Scan::default() };
            Some((at, scan(&text, question, most_hits(READ)).unwrap_or_else(nothing)))
        })?;
        self.scans.extend(read.into_iter().map(|(_, scanned)| scanned));
        self.scans.sort_by_key(|(at, _)| *at);
        Ok(())
    }
}

impl Evidence {
    /// Reads these files too, where they are not.
    pub(super) fn read_also(
        &mut self,
        tree: &WalkedTree,
        question: &SearchQuestion,
        files: impl Iterator<Item = usize>,
        cancel: &AtomicBool,
    ) -> Result<(), RetrievalError> {
        let unread: Vec<usize> =
            files.filter(|at| self.scans.binary_search_by_key(at, |(read, _)| *read).is_err()).collect();
        let read = spread(unread.len(), cancel, |nth| {
            let text = tree.text(&tree.files[unread[nth]], cancel)?;
            let none = || Scan::of_nothing(question, &text);
            Some((unread[nth], scan(&text, question, most_hits(READ)).unwrap_or_else(none)))
        })?;
        self.scans.extend(read.into_iter().map(|(_, scanned)| scanned));
        self.scans.sort_by_key(|(at, _)| *at);
        Ok(())
    }
}

impl FileEvidence {
    fn bytes(&self) -> usize {
        match self {
            Self::Read(scan) => scan.bytes,
            Self::Counted(_, bytes) => *bytes,
        }
    }
}
