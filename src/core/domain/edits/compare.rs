//! Two sides of `bb/openDiff` compared: a unified diff of bounded length, whole counts, and whether something is missing.
//!
//! Owns what a cut does to a diff. Never reads a side, and never cuts a text itself: whoever reads it says so.

use imara_diff::InternedInput;

use super::changes::{Change, changes};
use super::diff::{file_header, hunks, write_hunk};
use crate::domain::dialect::desktop::message::PatchHunk;

/// One side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side<'a> {
    /// Its text; `None`: there is no such file.
    pub text: Option<&'a str>,
    /// Whether more follows that was not read.
    pub cut: bool,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The diff with its two header lines; empty when the sides are equal. A diff that is cut still fits its headers.
    pub unified: String,
    /// Lines added, of all that were compared.
    pub added: u64,
    /// Lines removed, of all that were compared.
    pub removed: u64,
    /// Whether a side was cut, or `unified`.
    pub truncated: bool,
}

/// Compares two sides of the file `path`; `unified` gets at most `most_bytes`.
pub fn compare(path: &str, left: Side<'_>, right: Side<'_>, most_bytes: usize) -> Comparison {
    let input = InternedInput::new(left.text.unwrap_or(""), right.text.unwrap_or(""));
    let mut changes = changes(&input).changes;
    drop_the_cut(&mut changes, (input.before.len(), left.cut), (input.after.len(), right.cut));
    let count = |of: fn(&Change) -> usize| changes.iter().map(|change| of(change) as u64).sum();
    let (removed, added) = (count(|change| change.0.len()), count(|change| change.1.len()));
    let mut unified = String::new();
    let mut truncated = left.cut || right.cut;
    // Whether a side is there at all differs from an empty one in the header alone.
    if !changes.is_empty() || left.text.is_some() != right.text.is_some() {
        file_header(&mut unified, path, left.text.is_some(), right.text.is_some());
    }
    for hunk in hunks(&input, &changes) {
        // Room for `@@ -n,n +n,n @@`.
        let room = most_bytes.saturating_sub(unified.len() + 64);
        let whole = hunk.content.len();
        let hunk = shortened(hunk, room);
        let is_whole = hunk.content.len() == whole;
        if !hunk.content.is_empty() {
            write_hunk(&mut unified, &hunk);
        }
        if !is_whole {
            truncated = true;
            break;
        }
    }
    Comparison { unified, added, removed, truncated }
}

/// Where one side was cut, what the other one still has there is no change: a line put in at the top pushes the last ones
/// past the cut.
fn drop_the_cut(
    changes: &mut Vec<Change>,
    (before_len, before_cut): (usize, bool),
    (after_len, after_cut): (usize, bool),
) {
    let Some((before, after)) = changes.last() else { return };
    let at_the_end = before.end as usize == before_len && after.end as usize == after_len;
    if at_the_end && ((after_cut && after.is_empty()) || (before_cut && before.is_empty())) {
        changes.pop();
    }
}

/// As many lines of a hunk as fit, its counts those of the lines that are left.
fn shortened(mut hunk: PatchHunk, room: usize) -> PatchHunk {
    if hunk.content.len() <= room {
        return hunk;
    }
    let mut end = 0;
    let (mut old, mut new) = (0, 0);
    let mut lines = hunk.content.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        // The note about a missing line end belongs to its line.
        let note = lines.next_if(|next| next.starts_with('\\')).map_or(0, str::len);
        if end + line.len() + note > room {
            break;
        }
        end += line.len() + note;
        old += u64::from(!line.starts_with('+'));
        new += u64::from(!line.starts_with('-'));
    }
    hunk.content.truncate(end);
    PatchHunk { old_lines: old, new_lines: new, ..hunk }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::edits::patch;

    const ALL: usize = usize::MAX / 2;

    fn side(text: &str) -> Side<'_> {
        Side { text: Some(text), cut: false }
    }

    fn cut(text: &str) -> Side<'_> {
        Side { text: Some(text), cut: true }
    }

    const NOTHING: Side<'static> = Side { text: None, cut: false };

    #[test]
    fn r000_32_sides_that_are_not_there_are_dev_null() {
        let gone = compare("a", side("x\n"), NOTHING, ALL);
        assert_eq!(gone.unified, "--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
        assert_eq!((gone.added, gone.removed, gone.truncated), (0, 1, false));
        assert_eq!(compare("a", NOTHING, side(""), ALL).unified, "--- /dev/null\n+++ b/a\n");
        let same = Comparison { unified: String::new(), added: 0, removed: 0, truncated: false };
        assert_eq!(compare("a", side("x\n"), side("x\n"), ALL), same);
    }

    #[test]
    fn r000_32_line_ends_are_a_change() {
        let found = compare("a", side("x\r\n"), side("x\n"), ALL);
        assert_eq!(found.unified, "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\r\n+x\n");
    }

    #[test]
    fn r000_32_lines_past_a_cut_are_no_change() {
        let found = compare("a", cut("1\n2\n3\n"), cut("0\n1\n2\n"), ALL);
        assert_eq!((found.added, found.removed, found.truncated), (1, 0, true));
        assert_eq!(found.unified, "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n+0\n 1\n 2\n 3\n");
        let all = compare("a", cut("1\n2\n"), cut("3\n4\n"), ALL);
        assert_eq!((all.added, all.removed), (2, 2), "a change is one on both sides");
    }

    #[test]
    fn a_diff_that_is_cut_still_counts_its_lines() {
        let found = compare("a", side("1\n2\n3\n4"), side("5\n6\n7\n8"), 20 + 64 + 4 + 4 + 1);
        assert_eq!((found.added, found.removed, found.truncated), (4, 4, true));
        assert!(found.unified.len() < 93, "{}", found.unified);
        let read = patch::parse(&found.unified).unwrap();
        assert_eq!(read[0].warnings, Vec::<String>::new(), "{}", found.unified);
        assert_eq!(compare("a", side("1\n"), side("2\n"), 0).unified, "--- a/a\n+++ b/a\n");
    }

    proptest! {
        #[test]
        fn r000_32_no_diff_is_longer_than_its_bound_or_lies_about_its_lines(
            left in "[ab\\\\+-]{0,3}(\n[ab\\\\+-]{0,3}){0,12}\n?",
            right in "[ab\\\\+-]{0,3}(\n[ab\\\\+-]{0,3}){0,12}\n?",
            room in 90..300_usize,
        ) {
            let found = compare("a", side(&left), side(&right), room);
            prop_assert!(found.unified.len() <= room);
            let mut left_of = Vec::new();
            for line in found.unified.lines() {
                if let Some(rest) = line.strip_prefix("@@ -") {
                    let count = |part: &str| part.trim_start_matches('+').split_once(',').unwrap().1.parse::<i64>().unwrap();
                    let mut ranges = rest.split(' ');
                    left_of.push((count(ranges.next().unwrap()), count(ranges.next().unwrap())));
                } else if let Some((old, new)) = left_of.last_mut() {
                    match line.as_bytes()[0] {
                        b'-' => *old -= 1,
                        b'+' => *new -= 1,
                        b' ' => (*old, *new) = (*old - 1, *new - 1),
                        other => prop_assert_eq!(other, b'\\'),
                    }
                }
            }
            prop_assert!(left_of.iter().all(|left| *left == (0, 0)), "{}", found.unified);
        }
    }
}
