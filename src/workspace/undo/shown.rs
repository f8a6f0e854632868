//! What turns changed, as clients are told: listed, in full, and marked.
//!
//! Owns how a record becomes what is shown, with names and lines safe to show. How a file stands is read from the file.

use crate::app::ports::TurnTold;
use crate::domain::approval::ChangeKind;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::diff::{changed_lines, unified_diff};
use crate::domain::edits::take_back::{ChangedHunk, TakeBack};
use crate::domain::fact::ChangedFileSummary;
use crate::domain::shown::{Kind, show};
use crate::domain::undo::{
    ChangedFile, FilePlan, FileState, NowContent, ReviewMark, TurnRecord, UncoveredFile, file_state,
    hunks_of, plan_file,
};
use crate::protocol::turn::*;

use super::contents::UndoDesk;
use super::images::{LIMITS, storage};

/// Characters of a diff that is told with its file. The hunks have all of it.
const DIFF: usize = 256 * 1_024;

/// The three contents of a file.
pub(super) struct FileSides {
    pub(super) before: NowContent,
    pub(super) after: NowContent,
    pub(super) now: NowContent,
    /// What is at the old path of a rename.
    pub(super) old_now: NowContent,
    /// It is open in an editor.
    pub(super) is_open: bool,
    /// The bytes on disk.
    pub(super) disk: Option<Vec<u8>>,
}

impl FileSides {
    /// Reads them.
    pub(super) fn read(
        desk: &UndoDesk<'_>,
        session_id: &str,
        file: &ChangedFile,
    ) -> Result<Self, CodedError> {
        let now = desk.now(&file.root, &file.path)?;
        let old_now = match &file.old_path {
            Some(old) => desk.now(&file.root, old)?.content,
            None => NowContent::Absent,
        };
        Ok(Self {
            before: desk.kept(session_id, file.before.as_ref())?,
            after: desk.kept(session_id, file.after.as_ref())?,
            now: now.content,
            old_now,
            is_open: now.is_open,
            disk: now.disk,
        })
    }

    pub(super) fn state(&self, file: &ChangedFile) -> FileState {
        file_state(file, &self.before, &self.after, &self.now, &self.old_now)
    }

    pub(super) fn plan(&self, desk: &UndoDesk<'_>, file: &ChangedFile, only: Option<&[String]>) -> FilePlan {
        let root = desk.told_root(&file.root);
        let (kept, now) = ((&self.before, &self.after), (&self.now, &self.old_now));
        plan_file(file, root.as_deref(), kept, now, only)
    }
}

/// Lines that came and went.
pub(super) fn counts(file: &ChangedFile, before: &NowContent, after: &NowContent) -> (u64, u64) {
    let hunks = hunks_of(file, None, before, after);
    let lines = |mark: char| {
        let marked = |hunk: &ChangedHunk| hunk.content.lines().filter(|line| line.starts_with(mark)).count();
        hunks.iter().map(marked).sum::<usize>() as u64
    };
    (lines('+'), lines('-'))
}

/// A path as it is shown.
pub(super) fn shown(path: &str) -> String {
    show(path, Kind::Code).into_owned()
}

/// Whether a request means this file.
pub(super) fn is_meant(
    desk: &UndoDesk<'_>,
    file: &ChangedFile,
    path: Option<&str>,
    root: Option<&str>,
) -> bool {
    let Some(path) = path else { return true };
    let same_root = match root {
        Some(root) => file.root == root,
        None => desk.root_name(None).is_ok_and(|first| file.root == first),
    };
    same_root && (file.path == path || shown(&file.path) == path)
}

/// The refusal of a turn of which nothing is kept.
pub(super) fn unknown_turn() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "Nothing is kept of such a turn: it changed no files, or it was too long ago; list the turns and choose one.",
    )
}

pub(super) fn no_such_file() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "The turn did not change this file; look at its changes again and choose one of them.",
    )
}

/// Answers `bb/turn/list`.
pub(super) fn list(desk: &UndoDesk<'_>, session_id: &str, limit: usize) -> TurnListResult {
    let Some(place) = desk.place(session_id) else { return TurnListResult { turns: Vec::new() } };
    let records = place.turns().into_iter().filter_map(|turn| place.load(turn));
    let listed = records.filter(|record| record.running || !record.is_empty()).take(limit).map(|record| {
        let sum = |count: fn(&ChangedFile) -> u64| record.files.iter().map(count).sum();
        ListedTurn {
            turn: record.turn,
            kind: record.kind,
            of: record.of,
            at: record.at,
            files: record.files.len() as u64,
            added: sum(|file| file.added),
            removed: sum(|file| file.removed),
            running: record.running,
            text: show(&record.text, Kind::Sentence).into_owned(),
        }
    });
    TurnListResult { turns: listed.collect() }
}

/// The record of a turn; without a number of the newest that changed something.
pub(super) fn record_of(
    desk: &UndoDesk<'_>,
    session_id: &str,
    turn: Option<u64>,
) -> Result<TurnRecord, CodedError> {
    let place = desk.place(session_id).ok_or_else(unknown_turn)?;
    let found = match turn {
        Some(turn) => place.load(turn),
        None => {
            place.turns().into_iter().find_map(|turn| place.load(turn).filter(|record| !record.is_empty()))
        }
    };
    found.ok_or_else(unknown_turn)
}

/// Answers `bb/turn/changes`.
pub(super) fn changes(
    desk: &UndoDesk<'_>,
    session_id: &str,
    params: &TurnChangesParams,
) -> Result<TurnChangesResult, CodedError> {
    let record = record_of(desk, session_id, params.turn)?;
    let meant =
        |file: &&ChangedFile| is_meant(desk, file, params.file_path.as_deref(), params.root.as_deref());
    let files: Vec<TurnFile> =
        record.files.iter().filter(meant).map(|file| turn_file(desk, session_id, file)).collect();
    if params.file_path.is_some() && files.is_empty() {
        return Err(no_such_file());
    }
    let uncovered = record.uncovered.iter().map(|file| UncoveredFile {
        path: file.path.as_deref().map(shown),
        root: file.root.as_deref().and_then(|root| desk.told_root(root)),
        reason: file.reason,
        files: file.files,
        message: show(&file.message, Kind::Sentence).into_owned(),
    });
    Ok(TurnChangesResult {
        turn: record.turn,
        kind: record.kind,
        of: record.of,
        running: record.running,
        files,
        uncovered: uncovered.collect(),
        storage: storage(desk.state_dir, &LIMITS),
    })
}

fn turn_file(desk: &UndoDesk<'_>, session_id: &str, file: &ChangedFile) -> TurnFile {
    let mut told = TurnFile {
        file_path: shown(&file.path),
        root: desk.told_root(&file.root),
        old_path: file.old_path.as_deref().map(shown),
        change: file.change,
        added: file.added,
        removed: file.removed,
        diff: None,
        truncated: false,
        binary: false,
        by: file.by,
        source: file.source,
        state: FileState::MovedOn,
        review: ReviewMark::Open,
        can_revert: false,
        message: file.remark.as_ref().map(|remark| show(remark, Kind::Sentence).into_owned()),
        hunks: Vec::new(),
    };
    let sides = match FileSides::read(desk, session_id, file) {
        Ok(sides) => sides,
        Err(error) => {
            told.message = Some(error.message);
            return told;
        }
    };
    told.state = sides.state(file);
    told.review = review_of(desk, file, &sides.before, &sides.after);
    match sides.plan(desk, file, None) {
        FilePlan::Change { .. } => told.can_revert = true,
        FilePlan::Nothing { .. } => {}
        FilePlan::Conflict { message, .. } => {
            told.message = Some(show(&message, Kind::Sentence).into_owned())
        }
    }
    let text = |content: &NowContent| match content {
        NowContent::Text(text) => Some(text.clone()),
        NowContent::Absent => Some(String::new()),
        NowContent::Bytes(_) => None,
    };
    let (Some(before), Some(after)) = (text(&sides.before), text(&sides.after)) else {
        told.binary = true;
        return told;
    };
    let old = (sides.before != NowContent::Absent).then_some(before.as_str());
    let diff = unified_diff(&told.file_path, old, &after).unified;
    (told.added, told.removed) = changed_lines(&diff);
    if diff.len() <= DIFF {
        told.diff = Some(show(&diff, Kind::Lines).into_owned());
    } else {
        told.truncated = true;
    }
    let now = text(&sides.now).unwrap_or_default();
    let compared = TakeBack::compare(told.root.as_deref(), &file.path, &before, &after, &now);
    told.hunks = compared.hunks().iter().map(|hunk| turn_hunk(file, &compared, hunk)).collect();
    told
}

fn turn_hunk(file: &ChangedFile, compared: &TakeBack<'_>, hunk: &ChangedHunk) -> TurnHunk {
    let standing = compared.standing(hunk);
    TurnHunk {
        id: hunk.id.clone(),
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        content: show(&hunk.content, Kind::Lines).into_owned(),
        state: standing.standing,
        review: file.marks.get(&hunk.id).copied().unwrap_or_default(),
        at: standing.at.filter(|_| file.change != ChangeKind::Delete).map(|lines| TurnHunkPlace {
            start_line: u64::from(lines.start) + 1,
            end_line: u64::from(lines.end),
        }),
    }
}

/// The least mark of a file's hunks, or its own, where it has none.
pub(super) fn review_of(
    desk: &UndoDesk<'_>,
    file: &ChangedFile,
    before: &NowContent,
    after: &NowContent,
) -> ReviewMark {
    let mark = |id: &str| file.marks.get(id).copied().unwrap_or_default();
    let root = desk.told_root(&file.root);
    let hunks = hunks_of(file, root.as_deref(), before, after);
    hunks.iter().map(|hunk| mark(&hunk.id)).min().unwrap_or_else(|| mark(""))
}

/// How the files of a turn stand, for the event that tells of it.
pub(super) fn told(desk: &UndoDesk<'_>, session_id: &str, turn: u64) -> Option<TurnTold> {
    record_of(desk, session_id, Some(turn)).ok().map(|record| told_of(desk, &record))
}

/// The same, of a record that was read.
pub(super) fn told_of(desk: &UndoDesk<'_>, record: &TurnRecord) -> TurnTold {
    let of_file = |file: &ChangedFile| {
        let sides = FileSides::read(desk, &record.session_id, file).ok();
        ChangedFileSummary {
            file_path: file.path.clone(),
            root: desk.told_root(&file.root),
            old_path: file.old_path.clone(),
            change: file.change,
            added: file.added,
            removed: file.removed,
            by: file.by,
            state: sides.as_ref().map_or(FileState::MovedOn, |sides| sides.state(file)),
            review: sides
                .map_or(ReviewMark::Open, |sides| review_of(desk, file, &sides.before, &sides.after)),
        }
    };
    TurnTold {
        turn: record.turn,
        number: record.number,
        of: record.of,
        files: record.files.iter().map(of_file).collect(),
        uncovered: record.uncovered.len() as u64,
    }
}
