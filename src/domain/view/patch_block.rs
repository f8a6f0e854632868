//! The block of a proposed patch: its files with lines added and removed, and the start of its diff.
//!
//! Never applies a patch and never trusts a count that the engine gives: it counts.

use super::block::{BlockBody, PatchFileSummary};
use crate::domain::cut;
use crate::domain::fact::Patch;
use crate::domain::fingerprint::key;

/// A diff longer than this is read in the diff view, not in a transcript.
const DIFF: usize = 16 * 1024;
const RATIONALE: usize = 4 * 1024;
const PATH: usize = 4 * 1024;

/// Id of the block of a patch, in the lane of the chat.
pub fn patch_block_id(patch_id: &str) -> String {
    format!("patch-{}", key(patch_id))
}

/// The body of the block of a patch.
pub(super) fn body(patch: Patch<'_>) -> BlockBody {
    let (added, removed) = count(patch.diff);
    BlockBody::Patch {
        patch_id: cut::line(patch.id, PATH),
        files: vec![PatchFileSummary { file_path: cut::line(patch.file_path, PATH), added, removed }],
        rationale: (!patch.rationale.is_empty()).then(|| cut::line(patch.rationale, RATIONALE)),
        diff: Some(cut::line(patch.diff, DIFF)),
    }
}

/// Lines added and removed. Inside a hunk every line counts as what its first character says, so that an added line
/// `++ x` is not taken for a header; outside, nothing counts.
fn count(diff: &str) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for line in diff.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some((old, new)) = hunk_lengths(line) {
                (old_left, new_left) = (old, new);
            }
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => {
                added += 1;
                new_left = new_left.saturating_sub(1);
            }
            Some(b'-') => {
                removed += 1;
                old_left = old_left.saturating_sub(1);
            }
            Some(b'\\') => {}
            Some(_) | None => {
                old_left = old_left.saturating_sub(1);
                new_left = new_left.saturating_sub(1);
            }
        }
    }
    (added, removed)
}

/// Lengths from `@@ -a,b +c,d @@`; a length that is not written is 1.
fn hunk_lengths(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let length = |range: &str| {
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        start.parse::<u64>().ok().and_then(|_| length.parse().ok())
    };
    let old = length(words.next()?)?;
    let new = length(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_inside_hunks_only() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n--- b\n+++ c\n+d\n\
                    \\ No newline at end of file\n@@ -9 +10,0 @@ fn\n-e\n--- not in a hunk\n";
        assert_eq!(count(diff), (2, 2));
        assert_eq!(count(""), (0, 0));
        assert_eq!(count("@@ -x +y @@\n+a"), (0, 0));
    }
}
