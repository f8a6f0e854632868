//! What a person marked of a turn's changes: read, or kept.
//!
//! Owns which hunks a mark is for. Never takes anything back.

use crate::domain::coded_error::CodedError;
use crate::domain::edits::take_back::ChangedHunk;
use crate::domain::undo::{ChangedFile, hunks_of};
use crate::protocol::turn::{ReviewedFile, ReviewedHunk, TurnReviewParams, TurnReviewResult};

use super::contents::UndoDesk;
use super::open_turns::OpenTurns;
use super::shown::{is_meant, no_such_file, review_of, shown, unknown_turn};

/// Answers `bb/turn/review`.
pub(super) fn review(
    desk: &UndoDesk<'_>,
    turns: &OpenTurns,
    session_id: &str,
    params: &TurnReviewParams,
) -> Result<TurnReviewResult, CodedError> {
    let place = desk.place(session_id).ok_or_else(unknown_turn)?;
    let amended = turns.amend(&place, (session_id, params.turn), |record| {
        let mut files = Vec::new();
        for file in &mut record.files {
            if is_meant(desk, file, params.file_path.as_deref(), params.root.as_deref()) {
                files.push(mark(desk, session_id, file, params)?);
            }
        }
        Ok(files)
    });
    let files: Vec<ReviewedFile> = amended.unwrap_or_else(|| Err(unknown_turn()))?;
    if files.is_empty() {
        return Err(no_such_file());
    }
    Ok(TurnReviewResult { turn: params.turn, files })
}

fn mark(
    desk: &UndoDesk<'_>,
    session_id: &str,
    file: &mut ChangedFile,
    params: &TurnReviewParams,
) -> Result<ReviewedFile, CodedError> {
    let before = desk.kept(session_id, file.before.as_ref())?;
    let after = desk.kept(session_id, file.after.as_ref())?;
    let root = desk.told_root(&file.root);
    let hunks = hunks_of(file, root.as_deref(), &before, &after);
    let named = |id: &String| params.hunks.as_ref().is_none_or(|only| only.contains(id));
    for hunk in hunks.iter().filter(|hunk| named(&hunk.id)) {
        file.marks.insert(hunk.id.clone(), params.mark);
    }
    if hunks.is_empty() && params.hunks.is_none() {
        file.marks.insert(String::new(), params.mark);
    }
    let of_hunk = |hunk: &ChangedHunk| ReviewedHunk {
        id: hunk.id.clone(),
        review: file.marks.get(&hunk.id).copied().unwrap_or_default(),
    };
    Ok(ReviewedFile {
        file_path: shown(&file.path),
        hunks: hunks.iter().map(of_hunk).collect(),
        review: review_of(desk, file, &before, &after),
        root,
    })
}
