//! Taking a turn back: what it would do, and doing it.
//!
//! Owns that a revert is a set of changes itself, on disk before the first file is touched, so that it can be taken back too. Files
//! that are open in an editor are only prepared here: the loop has them changed there.

use std::collections::BTreeMap;

use crate::app::ports::{RevertedFile, TurnRevert};
use crate::domain::approval::ChangeKind;
use crate::domain::coded_error::CodedError;
use crate::domain::edits::diff::{changed_lines, unified_diff};
use crate::domain::edits::take_back::Clash;
use crate::domain::shown::{Kind, show};
use crate::domain::undo::{
    BeforeSource, ChangedBy, ChangedFile, ChangesKind, FileImage, FilePlan, ImageForm, NowContent,
    PlannedChange, TurnRecord,
};
use crate::protocol::turn::{RevertConflict, RevertOutcome, TurnRevertFile, TurnRevertResult};
use crate::workspace::write::write;

use super::contents::{UndoDesk, bits};
use super::restore;
use super::shown::{FileSides, is_meant, record_of, shown, unknown_turn};

/// Bytes of a side of a conflict that is told.
const SIDE: usize = 16 * 1_024;

/// Characters of a diff that is told with its file.
const DIFF: usize = 256 * 1_024;

/// Plans a revert, file by file. `None`: it was answered, since nothing is to be done.
pub(super) fn plan(desk: &UndoDesk<'_>, mut revert: TurnRevert) -> Option<TurnRevert> {
    match planned(desk, &mut revert) {
        Ok(record) => {
            let is_something = !record.files.is_empty();
            revert.record = Some(record);
            if is_something && !revert.params.preview {
                return Some(revert);
            }
            let result = result(&revert, None);
            revert.reply.answer(result);
        }
        Err(error) => revert.reply.refuse(error),
    }
    None
}

/// What is told of a revert.
pub(super) fn result(revert: &TurnRevert, undo: Option<u64>) -> TurnRevertResult {
    TurnRevertResult {
        turn: revert.params.turn,
        preview: revert.params.preview,
        undo,
        files: revert.files.iter().map(|file| file.told.clone()).collect(),
    }
}

fn planned(desk: &UndoDesk<'_>, revert: &mut TurnRevert) -> Result<TurnRecord, CodedError> {
    let params = &revert.params;
    let record = record_of(desk, &revert.session_id, Some(params.turn))?;
    let meant =
        |file: &&ChangedFile| is_meant(desk, file, params.file_path.as_deref(), params.root.as_deref());
    let mut changes = TurnRecord {
        session_id: record.session_id.clone(),
        turn: 0,
        kind: ChangesKind::Revert,
        of: Some(record.turn),
        number: record.number,
        at: record.at,
        text: record.text.clone(),
        running: false,
        files: Vec::new(),
        uncovered: Vec::new(),
    };
    for file in record.files.iter().filter(meant) {
        let (told, change) =
            plan_one(desk, &revert.session_id, file, params.hunks.as_deref(), params.preview);
        changes.files.extend(change);
        revert.files.push(told);
    }
    if revert.files.is_empty() {
        return Err(unknown_turn());
    }
    Ok(changes)
}

/// What comes of one file, and the change that it is.
fn plan_one(
    desk: &UndoDesk<'_>,
    session_id: &str,
    file: &ChangedFile,
    only: Option<&[String]>,
    is_preview: bool,
) -> (RevertedFile, Option<ChangedFile>) {
    let mut reverted = RevertedFile {
        told: TurnRevertFile {
            file_path: shown(&file.path),
            root: desk.told_root(&file.root),
            old_path: file.old_path.as_deref().map(shown),
            outcome: RevertOutcome::Conflict,
            change: None,
            added: 0,
            removed: 0,
            diff: None,
            open: false,
            kept: 0,
            message: None,
            conflicts: Vec::new(),
        },
        root: file.root.clone(),
        path: file.path.clone(),
        in_editor: None,
    };
    let sides = match FileSides::read(desk, session_id, file) {
        Ok(sides) => sides,
        Err(error) => {
            reverted.told.message = Some(error.message);
            return (reverted, None);
        }
    };
    reverted.told.open = sides.is_open;
    match sides.plan(desk, file, only) {
        FilePlan::Nothing { kept } => {
            reverted.told.outcome = RevertOutcome::Unchanged;
            reverted.told.kept = kept as u64;
            (reverted, None)
        }
        FilePlan::Conflict { message, clashes } => {
            reverted.told.message = Some(show(&message, Kind::Sentence).into_owned());
            reverted.told.conflicts = clashes.iter().map(conflict).collect();
            (reverted, None)
        }
        FilePlan::Change { change, kept } => {
            reverted.told.outcome = RevertOutcome::Reverted;
            reverted.told.kept = kept as u64;
            let made = made(desk, session_id, file, &sides, change, &mut reverted, is_preview);
            match made {
                Ok(change) => (reverted, change),
                Err(error) => {
                    reverted.told.outcome = RevertOutcome::Conflict;
                    reverted.told.message = Some(error.message);
                    (reverted, None)
                }
            }
        }
    }
}

fn conflict(clash: &Clash) -> RevertConflict {
    let side = |text: &str| {
        let cut = &text[..text.floor_char_boundary(SIDE)];
        show(cut, Kind::Lines).into_owned()
    };
    RevertConflict {
        id: clash.id.clone(),
        line: clash.line,
        yours: side(&clash.yours),
        theirs: side(&clash.theirs),
    }
}

/// What a change does to a file that holds this now.
fn kind_of(change: &PlannedChange, now: &NowContent) -> ChangeKind {
    match (change, now) {
        (PlannedChange::Remove, _) => ChangeKind::Delete,
        (PlannedChange::MoveBack, _) => ChangeKind::Rename,
        (PlannedChange::Restore | PlannedChange::Rewrite(_), NowContent::Absent) => ChangeKind::Create,
        (PlannedChange::Restore | PlannedChange::Rewrite(_), _) => ChangeKind::Modify,
    }
}

/// The change that a revert makes of a file. Of a preview nothing is kept.
fn made(
    desk: &UndoDesk<'_>,
    session_id: &str,
    file: &ChangedFile,
    sides: &FileSides,
    change: PlannedChange,
    reverted: &mut RevertedFile,
    is_preview: bool,
) -> Result<Option<ChangedFile>, CodedError> {
    let then = match &change {
        PlannedChange::Restore => sides.before.clone(),
        PlannedChange::Rewrite(text) => NowContent::Text(text.clone()),
        PlannedChange::Remove => NowContent::Absent,
        PlannedChange::MoveBack => sides.now.clone(),
    };
    let kind = kind_of(&change, &sides.now);
    tell_diff(&mut reverted.told, &sides.now, &then, kind);
    if is_preview {
        return Ok(None);
    }
    let place = desk.place(session_id).ok_or_else(unknown_turn)?;
    let keep = |bytes: &[u8], form, mode| {
        place.keep(bytes, form, mode).map(Some).map_err(|error| {
            tracing::warn!(%error, "what a revert replaces cannot be kept");
            CodedError::internal()
        })
    };
    let text = |content: &NowContent| match content {
        NowContent::Text(text) => Some(text.clone()),
        NowContent::Absent | NowContent::Bytes(_) => None,
    };
    // An open file is changed in its editor; one that comes or goes is none that is edited there.
    if let (true, ChangeKind::Modify, Some(now), Some(then)) =
        (sides.is_open, kind, text(&sides.now), text(&then))
    {
        let before = keep(now.as_bytes(), ImageForm::Buffer, None)?;
        let after = keep(then.as_bytes(), ImageForm::Buffer, None)?;
        reverted.in_editor = Some((now, then));
        return Ok(Some(changed(file, &file.path, None, kind, (before, after), &reverted.told)));
    }
    let mode = mode_now(desk, &file.root, &file.path);
    let before = match &sides.disk {
        Some(bytes) => keep(bytes, ImageForm::Disk, mode)?,
        None => None,
    };
    let after = match &change {
        PlannedChange::Restore => file.before.clone(),
        PlannedChange::Rewrite(text) => keep(text.as_bytes(), ImageForm::Buffer, mode)?,
        PlannedChange::Remove => None,
        PlannedChange::MoveBack => before.clone(),
    };
    Ok(Some(match (&change, &file.old_path) {
        (PlannedChange::MoveBack, Some(old)) => {
            changed(file, old, Some(file.path.clone()), kind, (before, after), &reverted.told)
        }
        (_, _) => changed(file, &file.path, None, kind, (before, after), &reverted.told),
    }))
}

fn changed(
    file: &ChangedFile,
    path: &str,
    old_path: Option<String>,
    change: ChangeKind,
    (before, after): (Option<FileImage>, Option<FileImage>),
    told: &TurnRevertFile,
) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        root: file.root.clone(),
        old_path,
        change,
        by: ChangedBy::Server,
        source: BeforeSource::WrittenHere,
        before,
        after,
        added: told.added,
        removed: told.removed,
        // Of folders that a deletion took along, as many come again and go with it.
        new_folders: file.new_folders,
        marks: BTreeMap::new(),
        remark: None,
    }
}

fn tell_diff(told: &mut TurnRevertFile, now: &NowContent, then: &NowContent, kind: ChangeKind) {
    told.change = Some(kind);
    let text = |content: &NowContent| match content {
        NowContent::Text(text) => Some(text.clone()),
        NowContent::Absent => Some(String::new()),
        NowContent::Bytes(_) => None,
    };
    let (Some(old), Some(new)) = (text(now), text(then)) else { return };
    let old = (*now != NowContent::Absent).then_some(old.as_str());
    let diff = unified_diff(&told.file_path, old, &new).unified;
    (told.added, told.removed) = changed_lines(&diff);
    if diff.len() <= DIFF {
        told.diff = Some(show(&diff, Kind::Lines).into_owned());
    }
}

fn mode_now(desk: &UndoDesk<'_>, root: &str, path: &str) -> Option<u32> {
    use crate::workspace::root::{open_regular, parse};
    let path = parse(path).ok()?;
    let root = desk.roots.choose(Some(root)).ok()?;
    let place = root.locate(&path).ok()??;
    let (_, metadata) = open_regular(&*root.dir().ok()?, &place, &path).ok()?;
    bits(&metadata)
}

/// Takes back what was planned, but for files that are open in an editor. What cannot be written becomes a conflict, and no change
/// of the revert.
pub(super) fn take_back(desk: &UndoDesk<'_>, mut revert: TurnRevert, named: u64, at: i64) -> TurnRevert {
    let Some(mut record) = revert.record.take() else { return revert };
    (record.turn, record.at) = (named, at);
    let Some(place) = desk.place(&revert.session_id) else { return revert };
    let saved = place.save(&record);
    let session_id = revert.session_id.clone();
    for file in &mut revert.files {
        if file.in_editor.is_some() || file.told.outcome != RevertOutcome::Reverted {
            continue;
        }
        let outcome = match &saved {
            Ok(()) => write_one(desk, &session_id, &record, file),
            Err(error) => {
                tracing::warn!(%error, "a revert cannot be kept, so it is not made");
                Err(CodedError::internal())
            }
        };
        if let Err(error) = outcome {
            file.told.outcome = RevertOutcome::Conflict;
            file.told.message = Some(error.message);
            record.files.retain(|change| !is_change_of(change, file));
        }
    }
    if saved.is_ok() && place.save(&record).is_err() {
        tracing::warn!("the record of a revert names files that it did not change");
    }
    revert
}

fn is_change_of(change: &ChangedFile, file: &RevertedFile) -> bool {
    change.root == file.root && (change.path == file.path || change.old_path.as_deref() == Some(&file.path))
}

fn write_one(
    desk: &UndoDesk<'_>,
    session_id: &str,
    record: &TurnRecord,
    file: &RevertedFile,
) -> Result<(), CodedError> {
    let change =
        record.files.iter().find(|change| is_change_of(change, file)).ok_or_else(CodedError::internal)?;
    let name = (change.root.as_str(), change.path.as_str());
    let expected = change.before.as_ref().map(|image| image.hash.as_str());
    if change.change == ChangeKind::Rename {
        return restore::name(desk.roots, &change.root, (&file.path, &change.path), change.new_folders);
    }
    let Some(after) = &change.after else {
        return restore::absence(desk.roots, name, expected.unwrap_or_default(), change.new_folders);
    };
    let bytes = desk.kept_bytes(session_id, after)?;
    match (after.form, expected) {
        // A text that was made of what is there: it is written as that file is.
        (ImageForm::Buffer, Some(expected)) => {
            let text = String::from_utf8_lossy(&bytes);
            write(desk.roots, Some(name.0), name.1, Some(expected), &text, &|_| {}).map(drop)
        }
        (ImageForm::Buffer | ImageForm::Disk, expected) => {
            restore::bytes(desk.roots, name, expected, &bytes, after.mode)
        }
    }
}

/// A file of a revert that an editor did not change is no change of it.
pub(super) fn not_taken_back(desk: &UndoDesk<'_>, session_id: &str, named: u64, (root, path): (&str, &str)) {
    let Some(place) = desk.place(session_id) else { return };
    let Some(mut record) = place.load(named) else { return };
    record.files.retain(|file| file.root != root || file.path != path);
    if place.save(&record).is_err() {
        tracing::warn!("the record of a revert names a file that it did not change");
    }
}
