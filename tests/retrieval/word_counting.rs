//! What a search is compared with: stretches of lines, by how often the words of the question stand in them.

use std::collections::HashSet;
use std::path::Path;

use super::FoundPlace;

/// Lines of a stretch, as many as our own places have at most; the next one begins half as many later.
const LINES: usize = 24;

/// Files that are larger are data.
const LARGEST: u64 = 1 << 20;

/// Every stretch of a tree, with its words in lower case.
pub struct Chunks(Vec<(FoundPlace, Vec<String>)>);

impl Chunks {
    /// Reads a tree; hidden files, and what is no text, are left out.
    pub fn of(tree: &Path) -> Self {
        let mut chunks = Vec::new();
        let mut waiting = vec![tree.to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder can be listed").flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if entry.file_name().to_string_lossy().starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_file() && entry.metadata().is_ok_and(|meta| meta.len() <= LARGEST) {
                    let rel =
                        path.strip_prefix(tree).expect("it lies in the tree").to_string_lossy().into_owned();
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    let lines: Vec<&str> = text.lines().collect();
                    for start in (0..lines.len()).step_by(LINES / 2) {
                        let end = (start + LINES).min(lines.len());
                        let lines_of = (start as u64 + 1, end as u64);
                        let place = FoundPlace { path: rel.clone(), lines: lines_of, named: Vec::new() };
                        chunks.push((place, words(&lines[start..end].join("\n")).collect()));
                    }
                }
            }
        }
        chunks.sort();
        Self(chunks)
    }

    /// The stretches in which words of the question stand most often.
    pub fn best(&self, question: &str, most: usize) -> Vec<FoundPlace> {
        let wanted: HashSet<String> = words(question).filter(|word| word.len() > 3).collect();
        let count = |have: &[String]| have.iter().filter(|word| wanted.contains(*word)).count();
        let mut ranked: Vec<(usize, &FoundPlace)> =
            self.0.iter().map(|(place, have)| (count(have), place)).collect();
        ranked.sort_by(|(a, first), (b, second)| b.cmp(a).then(first.cmp(second)));
        ranked.into_iter().take(most).map(|(_, place)| place.clone()).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
