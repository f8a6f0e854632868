//! How a changed file stands now, and what taking it back makes of it.
//!
//! Owns the choice between all of a file and nothing of it. A file that is as the turn left it gets the bytes that it had; in one
//! that went on the hunks are taken out of what is there now. Never writes.

use crate::domain::approval::ChangeKind;
use crate::domain::edits::take_back::{ChangedHunk, Clash, HunkStanding, TakeBack, changed_hunks};

use super::record::{ChangedFile, FileState, ReviewMark};

/// What a file holds, as far as it can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NowContent {
    /// There is none.
    Absent,
    /// A text, and the hash of the file's bytes where it was read from disk.
    Text(String),
    /// Bytes that are no text, by their hash.
    Bytes(String),
}

/// What is to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedChange {
    /// The bytes from before take the place of what is there, which is as the turn left it.
    Restore,
    /// This text takes the place of what is there.
    Rewrite(String),
    /// The file goes.
    Remove,
    /// It gets its old path again.
    MoveBack,
}

/// What taking a file back comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePlan {
    /// Something is to be done.
    Change {
        /// What is done to the file.
        change: PlannedChange,
        /// Hunks that are left alone because they are kept.
        kept: usize,
    },
    /// There is nothing to take back: it was before, or it is kept.
    Nothing {
        /// Hunks that are left alone because they are kept.
        kept: usize,
    },
    /// It went on, so nothing of it is changed.
    Conflict {
        /// One sentence.
        message: String,
        /// The hunks that it is about, where there are some.
        clashes: Vec<Clash>,
    },
}

/// The mark of a hunk of a file.
fn mark(file: &ChangedFile, hunk: &str) -> ReviewMark {
    file.marks.get(hunk).copied().unwrap_or_default()
}

/// How a file stands, from what it held before and after and holds now; `old_now` is what is at the old path of a rename.
pub fn file_state(
    file: &ChangedFile,
    before: &NowContent,
    after: &NowContent,
    now: &NowContent,
    old_now: &NowContent,
) -> FileState {
    if file.change == ChangeKind::Rename {
        return match (now, old_now) {
            (NowContent::Absent, there) if there == before => FileState::Reverted,
            (there, NowContent::Absent) if *there != NowContent::Absent => FileState::AsLeft,
            (_, _) => FileState::MovedOn,
        };
    }
    if now == after {
        return FileState::AsLeft;
    }
    if now == before {
        return FileState::Reverted;
    }
    let (NowContent::Text(before), NowContent::Text(after), NowContent::Text(now)) = (before, after, now)
    else {
        return FileState::MovedOn;
    };
    let compared = TakeBack::compare(None, &file.path, before, after, now);
    let standings: Vec<HunkStanding> =
        compared.hunks().iter().map(|hunk| compared.standing(hunk).standing).collect();
    let all = |wanted| standings.iter().all(|standing| *standing == wanted);
    if all(HunkStanding::AsLeft) {
        FileState::AsLeft
    } else if all(HunkStanding::Reverted) {
        FileState::Reverted
    } else if standings.contains(&HunkStanding::MovedOn) {
        FileState::MovedOn
    } else {
        FileState::Partly
    }
}

/// What taking back a file comes to: of these hunks, or of all that are not kept. `root` is its folder's name where several are
/// open.
pub fn plan_file(
    file: &ChangedFile,
    root: Option<&str>,
    (before, after): (&NowContent, &NowContent),
    (now, old_now): (&NowContent, &NowContent),
    only: Option<&[String]>,
) -> FilePlan {
    let conflict = |message: String| FilePlan::Conflict { message, clashes: Vec::new() };
    let path = &file.path;
    let change = match file_state(file, before, after, now, old_now) {
        FileState::Reverted => return FilePlan::Nothing { kept: 0 },
        _ if file.change == ChangeKind::Modify => return plan_hunks(file, root, (before, after, now), only),
        _ if mark(file, "") == ReviewMark::Kept || whole_is_kept(file, root, before, after) => {
            return FilePlan::Nothing { kept: 1 };
        }
        FileState::AsLeft => match file.change {
            ChangeKind::Create => PlannedChange::Remove,
            ChangeKind::Delete | ChangeKind::Modify => PlannedChange::Restore,
            ChangeKind::Rename => PlannedChange::MoveBack,
        },
        FileState::MovedOn | FileState::Partly => {
            return conflict(match file.change {
                ChangeKind::Create => format!(
                    "`{path}` was made by this turn and changed since, so it was left as it is; delete it if you do not want it."
                ),
                ChangeKind::Delete => format!(
                    "`{path}` was deleted by this turn, and there is another file of that name now, so it was left as it is."
                ),
                ChangeKind::Rename => format!(
                    "`{path}` was renamed by this turn, and one of its two names is used otherwise now, so it was left as it is."
                ),
                ChangeKind::Modify => format!("`{path}` changed since, so it was left as it is."),
            });
        }
    };
    FilePlan::Change { change, kept: 0 }
}

/// A file that came or went is one hunk, if it is a text.
fn whole_is_kept(file: &ChangedFile, root: Option<&str>, before: &NowContent, after: &NowContent) -> bool {
    let hunks = hunks_of(file, root, before, after);
    !hunks.is_empty() && hunks.iter().all(|hunk| mark(file, &hunk.id) == ReviewMark::Kept)
}

/// The hunks of a file, where it was a text, or nothing, before and after.
pub fn hunks_of(
    file: &ChangedFile,
    root: Option<&str>,
    before: &NowContent,
    after: &NowContent,
) -> Vec<ChangedHunk> {
    let text = |content: &NowContent| match content {
        NowContent::Absent => Some(String::new()),
        NowContent::Text(text) => Some(text.clone()),
        NowContent::Bytes(_) => None,
    };
    match (text(before), text(after)) {
        (Some(before), Some(after)) => changed_hunks(root, &file.path, &before, &after),
        (_, _) => Vec::new(),
    }
}

fn plan_hunks(
    file: &ChangedFile,
    root: Option<&str>,
    (before, after, now): (&NowContent, &NowContent, &NowContent),
    only: Option<&[String]>,
) -> FilePlan {
    let path = &file.path;
    let conflict = |message: String| FilePlan::Conflict { message, clashes: Vec::new() };
    let (NowContent::Text(before), NowContent::Text(after), NowContent::Text(text)) = (before, after, now)
    else {
        if mark(file, "") == ReviewMark::Kept {
            return FilePlan::Nothing { kept: 1 };
        }
        return match now {
            now if now == after => FilePlan::Change { change: PlannedChange::Restore, kept: 0 },
            NowContent::Absent => {
                conflict(format!("`{path}` is gone, so there is nothing to take back in it."))
            }
            NowContent::Text(_) | NowContent::Bytes(_) => conflict(format!(
                "`{path}` changed since and cannot be compared line by line, so it was left as it is."
            )),
        };
    };
    let compared = TakeBack::compare(root, path, before, after, text);
    if compared.hunks().is_empty() {
        // Not its text, but how it lies on disk.
        return match mark(file, "") {
            ReviewMark::Kept => FilePlan::Nothing { kept: 1 },
            ReviewMark::Open | ReviewMark::Reviewed => {
                FilePlan::Change { change: PlannedChange::Restore, kept: 0 }
            }
        };
    }
    let is_kept = |hunk: &ChangedHunk| mark(file, &hunk.id) == ReviewMark::Kept;
    let named = |hunk: &ChangedHunk| only.is_none_or(|only| only.contains(&hunk.id));
    let taken = |hunk: &ChangedHunk| named(hunk) && !is_kept(hunk);
    let kept = compared.hunks().iter().filter(|hunk| named(hunk) && is_kept(hunk)).count();
    let all = compared.hunks().iter().all(&taken);
    match compared.without(taken) {
        Ok(same) if same == *text => FilePlan::Nothing { kept },
        // Nothing of it went on: its very bytes come back.
        Ok(_) if all && text == after => FilePlan::Change { change: PlannedChange::Restore, kept },
        Ok(text) => FilePlan::Change { change: PlannedChange::Rewrite(text), kept },
        Err(clashes) => FilePlan::Conflict {
            message: format!(
                "Somebody changed lines of `{path}` since that this would take back, so it was left as it is."
            ),
            clashes,
        },
    }
}
