//! Where the lines of a hunk stand in a text.
//!
//! Owns the search: at the number that the hunk has, else at the one place where its lines are. Never guesses between two.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::patch::{Hunk, HunkLine};

/// Lines and bytes of a text that are shown where a hunk does not fit: what a person reads at a glance.
const SHOWN_LINES: usize = 40;
const SHOWN_BYTES: usize = 4 * 1_024;

/// A place that was found.
pub(super) struct HunkPosition {
    /// Lines before it.
    pub(super) at: usize,
    /// The line ends fit too.
    pub(super) exact: bool,
    /// It is not where the hunk says.
    pub(super) moved: bool,
}

/// The lines of a text, and where each of them stands.
pub(super) struct HunkPlaces<'a> {
    lines: &'a [&'a str],
    /// Made when a hunk is not where it says: a large patch that is where it says needs none.
    by_line: OnceCell<HashMap<&'a str, Vec<usize>>>,
}

impl<'a> HunkPlaces<'a> {
    pub(super) fn of(lines: &'a [&'a str]) -> Self {
        Self { lines, by_line: OnceCell::new() }
    }

    /// The place of a hunk. `moved`: its number says nothing.
    pub(super) fn locate(&self, hunk: &Hunk, moved: bool) -> Result<HunkPosition, String> {
        let lines = self.lines;
        let wanted: Vec<&HunkLine> = hunk.old_lines().collect();
        if wanted.is_empty() {
            return if lines.is_empty() {
                Ok(HunkPosition { at: 0, exact: true, moved: false })
            } else {
                Err("It only adds lines and shows none of those around them, so its place is not known."
                    .to_owned())
            };
        }
        let fits = |at: usize| {
            at + wanted.len() <= lines.len()
                && wanted.iter().zip(&lines[at..]).all(|(want, have)| body(&want.text) == body(have))
        };
        let exact = |at: usize| wanted.iter().zip(&lines[at..]).all(|(want, have)| want.text == **have);
        let said = usize::try_from(hunk.old_start.saturating_sub(1)).unwrap_or(usize::MAX).min(lines.len());
        if !moved && fits(said) {
            return Ok(HunkPosition { at: said, exact: exact(said), moved: false });
        }
        let mut found = self.candidates(&wanted).filter(|at| fits(*at));
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(HunkPosition { at, exact: exact(at), moved: at != said }),
            (Some(_), Some(_)) if moved && fits(said) => {
                Err(format!("Its lines are at line {} and at other places too.", hunk.old_start))
            }
            (Some(_), Some(_)) => {
                Err(format!("Its lines are not at line {} but at several other places.", hunk.old_start))
            }
            (None, _) => Err(format!(
                "Its lines are neither at line {} nor anywhere else in the file.",
                hunk.old_start
            )),
        }
    }

    /// Where the rarest line of a hunk puts its first one, from the top.
    fn candidates(&self, wanted: &[&HunkLine]) -> impl Iterator<Item = usize> {
        let by_line = self.by_line.get_or_init(|| {
            let mut by_line: HashMap<&str, Vec<usize>> = HashMap::new();
            for (at, line) in self.lines.iter().enumerate() {
                by_line.entry(body(line)).or_default().push(at);
            }
            by_line
        });
        let of_line = |line: &HunkLine| by_line.get(body(&line.text)).map_or(&[][..], Vec::as_slice);
        let rarest = wanted.iter().enumerate().min_by_key(|(_, line)| of_line(line).len());
        let (offset, places) = rarest.map_or((0, &[][..]), |(offset, line)| (offset, of_line(line)));
        places.iter().filter_map(move |at| at.checked_sub(offset))
    }
}

/// What stands where a hunk was to go: its line from 1, and the lines there.
pub fn around(text: &str, hunk: &Hunk) -> (u64, String) {
    let count = text.split_inclusive('\n').count();
    let wanted = hunk.old_lines().count().clamp(1, SHOWN_LINES);
    let said = usize::try_from(hunk.old_start.saturating_sub(1)).unwrap_or(usize::MAX);
    let from = said.min(count.saturating_sub(wanted));
    let mut there = String::new();
    for line in text.split_inclusive('\n').skip(from).take(wanted) {
        if there.len() + line.len() > SHOWN_BYTES {
            there.push_str("[…]\n");
            break;
        }
        there.push_str(line);
    }
    (from as u64 + 1, there)
}

/// A line without its end.
pub(super) fn body(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::super::patch::parse;
    use super::*;

    #[test]
    fn what_stands_where_a_hunk_was_to_go_is_shown_within_bounds() {
        let hunk = |diff: &str| parse(diff).unwrap().remove(0).hunks.remove(0);
        let two = hunk("@@ -2,2 +2,2 @@\n-x\n+y\n z\n");
        assert_eq!(around("a\nb\nc\nd\n", &two), (2, "b\nc\n".to_owned()));
        assert_eq!(around("a\n", &two), (1, "a\n".to_owned()));
        assert_eq!(around("", &two), (1, String::new()));
        let long = format!("{}\n", "é".repeat(5_000));
        assert_eq!(around(&long, &two).1, "[…]\n");
    }
}
