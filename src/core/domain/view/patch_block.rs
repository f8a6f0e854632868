//! The block of a proposed patch: its files with lines added and removed, and the start of its diff.
//!
//! Never applies a patch and never trusts a count that the engine gives: it counts.

use super::block::{BlockBody, PatchFileSummary};
use crate::domain::cut;
use crate::domain::edits::diff::changed_lines;
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
    let (added, removed) = changed_lines(patch.diff);
    BlockBody::Patch {
        patch_id: cut::line(patch.id, PATH),
        files: vec![PatchFileSummary { file_path: cut::line(patch.file_path, PATH), added, removed }],
        rationale: (!patch.rationale.is_empty()).then(|| cut::line(patch.rationale, RATIONALE)),
        diff: Some(cut::line(patch.diff, DIFF)),
    }
}
