//! How an edit that is decided change by change stands, as clients read it: in a list, whole, and as what a decision came to.
//!
//! Owns the words of the wire, made safe to show. Never decides and never writes.

use crate::app::record::Ask;
use crate::domain::approval::{
    ConflictSides, FileOutcome, PermissionStatus, Proposal, ProposedFile, ProposedHunk, WriterTells,
};
use crate::domain::edits::diff::changed_lines;
use crate::domain::edits::patch;
use crate::domain::shown::{Kind, show};
use crate::protocol::patch::*;

/// How each file of the edit of a request stands.
pub(in crate::app) fn patch_outcomes(ask: &Ask) -> PatchFilesResult {
    let files = ask.proposal.iter().flat_map(|proposal| &proposal.files);
    PatchFilesResult {
        patch_id: ask.permission.patch_id.clone().unwrap_or_default(),
        files: files
            .map(|file| PatchFileOutcome {
                file_path: show(&file.file_path, Kind::Code).into_owned(),
                root: file.root.clone(),
                outcome: outcome(ask, file),
                applied_hash: file.applied_hash.clone(),
                message: file.problem.clone(),
                conflict: file.conflict.as_ref().map(shown_conflict),
            })
            .collect(),
    }
}

/// Both sides of a conflict, safe to show.
fn shown_conflict(sides: &ConflictSides) -> ConflictSides {
    ConflictSides {
        there: sides.there.as_ref().map(|there| show(there, Kind::Lines).into_owned()),
        wanted: show(&sides.wanted, Kind::Lines).into_owned(),
        ..sides.clone()
    }
}

/// What was accepted as a whole is written by whoever asked, who may tell what came of it; what nobody decided any more was not made.
fn outcome(ask: &Ask, file: &ProposedFile) -> FileOutcome {
    let tells = ask.proposal.as_ref().map(|proposal| proposal.writer).unwrap_or_default();
    match (file.outcome(), ask.answered.unwrap_or(ask.status)) {
        (FileOutcome::Pending, PermissionStatus::Allowed) if tells == WriterTells::Nothing => {
            FileOutcome::Applied
        }
        (
            FileOutcome::Pending,
            PermissionStatus::Denied | PermissionStatus::Expired | PermissionStatus::Cancelled,
        ) => FileOutcome::Rejected,
        (outcome, _) => outcome,
    }
}

fn whole_outcome(ask: &Ask, proposal: &Proposal) -> FileOutcome {
    let outcomes: Vec<FileOutcome> = proposal.files.iter().map(|file| outcome(ask, file)).collect();
    let all = |wanted: FileOutcome| outcomes.iter().all(|outcome| *outcome == wanted);
    if outcomes.contains(&FileOutcome::Pending) {
        FileOutcome::Pending
    } else if outcomes.contains(&FileOutcome::Conflict) {
        FileOutcome::Conflict
    } else if all(FileOutcome::Applied) {
        FileOutcome::Applied
    } else if all(FileOutcome::Rejected) {
        FileOutcome::Rejected
    } else if all(FileOutcome::Reverted) {
        FileOutcome::Reverted
    } else {
        FileOutcome::Partly
    }
}

pub(super) fn summary(ask: &Ask) -> Option<PatchSummary> {
    let proposal = ask.proposal.as_ref()?;
    let of_file = |file: &ProposedFile| {
        let counts = file.hunks.iter().map(|hunk| changed_lines(&hunk.diff));
        let (added, removed) = counts.fold((0, 0), |sum, (added, removed)| (sum.0 + added, sum.1 + removed));
        ListedPatchFile {
            file_path: show(&file.file_path, Kind::Code).into_owned(),
            root: file.root.clone(),
            added,
            removed,
            outcome: outcome(ask, file),
        }
    };
    Some(PatchSummary {
        patch_id: ask.permission.patch_id.clone()?,
        request_id: ask.permission.request_id.clone(),
        status: whole_outcome(ask, proposal),
        files: proposal.files.iter().map(of_file).collect(),
    })
}

pub(super) fn whole(session_id: String, ask: &Ask) -> Option<ProposedPatch> {
    let proposal = ask.proposal.as_ref()?;
    let path = |path: &str| show(path, Kind::Code).into_owned();
    let of_file = |file: &ProposedFile| PatchFile {
        file_path: path(&file.file_path),
        root: file.root.clone(),
        change: file.change,
        old_path: file.old_path.as_deref().map(path),
        base_hash: file.base_hash.clone(),
        outcome: outcome(ask, file),
        applied_hash: file.applied_hash.clone(),
        message: file.problem.clone(),
        conflict: file.conflict.as_ref().map(shown_conflict),
        hunks: file.hunks.iter().filter_map(|hunk| shown_hunk(file, hunk)).collect(),
    };
    Some(ProposedPatch {
        patch_id: ask.permission.patch_id.clone()?,
        session_id,
        request_id: ask.permission.request_id.clone(),
        digest: ask.permission.digest.clone(),
        status: whole_outcome(ask, proposal),
        rationale: ask.permission.subject.reason.clone(),
        acceptance_criteria: ask.permission.subject.acceptance_criteria.clone(),
        files: proposal.files.iter().map(of_file).collect(),
    })
}

fn shown_hunk(file: &ProposedFile, hunk: &ProposedHunk) -> Option<PatchHunkState> {
    let mut shown = PatchHunkState {
        id: hunk.id.clone(),
        part: hunk.part,
        label: file.label(hunk).map(|words| show(&words, Kind::Code).into_owned()),
        old_start: 0,
        old_lines: 0,
        new_start: 0,
        new_lines: 0,
        content: String::new(),
        state: hunk.state,
        reason: hunk.reason.clone(),
        edited: hunk.edited,
    };
    if hunk.diff.is_empty() {
        return Some(shown);
    }
    let files = patch::parse(&hunk.diff).ok()?;
    let read = files.first()?.hunks.first()?;
    let count = |not: patch::LineKind| read.lines.iter().filter(|line| line.kind != not).count() as u64;
    let (_, content) = hunk.diff.split_once('\n')?;
    (shown.old_start, shown.old_lines) = (read.old_start, count(patch::LineKind::Added));
    (shown.new_start, shown.new_lines) = (read.new_start, count(patch::LineKind::Removed));
    shown.content = show(content, Kind::Lines).into_owned();
    Some(shown)
}
