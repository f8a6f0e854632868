//! What is to be done to a file for what was accepted of it, or to take that back.
//!
//! Owns the way from hunks and the file that is there to a whole new file, and both sides of a change that does not fit.
//! Never writes.

use super::change::ChangeKind;
use super::proposed_file::{ConflictSides, FileMode, HunkState, ProposedFile, ProposedHunk};
use crate::domain::edits::apply::{LineNumbers, apply_numbered};
use crate::domain::edits::patch::{Hunk, LineKind, parse};
use crate::domain::edits::place::around;
use crate::domain::edits::text::{content_hash, plain_hash};

/// Bytes of a hunk that a conflict shows as wanted; the rest stands in the edit.
const WANTED: usize = 8 * 1_024;

/// Which way hunks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkWay {
    /// Into the files: they were accepted.
    In,
    /// Out of them.
    Out,
}

/// A file as it is before it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseFile {
    /// Its text, or why it has none.
    pub text: Result<String, String>,
    /// Hash of its bytes, or of its buffer's text.
    pub hash: String,
}

/// What is to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEdit {
    /// It gets a text, or comes with it where there is no base.
    Text {
        /// Hash of what may be replaced.
        base_hash: Option<String>,
        /// The whole text.
        text: String,
        /// The mode that it gets after.
        mode: Option<FileMode>,
    },
    /// It goes.
    Delete {
        /// Hash of what may go.
        base_hash: String,
    },
    /// It gets another path, and perhaps another text.
    Move {
        /// The new path.
        to: String,
        /// Hash of what may be moved.
        base_hash: String,
        /// The whole new text, where it changes.
        text: Option<String>,
        /// The mode that it gets.
        mode: Option<FileMode>,
    },
    /// It gets another mode.
    Mode {
        /// Hash of what is there.
        base_hash: String,
        /// Which.
        mode: FileMode,
    },
}

/// Why nothing is done to a file: one clause, and both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMade {
    /// The end of a sentence that says that the file was left as it is.
    pub why: String,
    /// What is there and what was wanted.
    pub sides: ConflictSides,
}

impl ProposedFile {
    /// Where the file is before what was accepted is made, or taken back.
    pub fn place(&self, way: HunkWay) -> &str {
        match (way, self.change, &self.old_path) {
            (HunkWay::In, ChangeKind::Rename, Some(old)) => old,
            (HunkWay::Out, ChangeKind::Rename, Some(old)) if self.whole_in(HunkState::Applied).is_none() => {
                old
            }
            (_, _, _) => &self.file_path,
        }
    }

    /// Whether what lies on disk counts, also where the file is open: it goes, or gets another path.
    pub fn is_about_the_disk(&self) -> bool {
        match self.change {
            ChangeKind::Delete | ChangeKind::Rename => true,
            ChangeKind::Modify | ChangeKind::Create => false,
        }
    }

    /// Whether what is there now, if anything is, is what was there when the edit was asked for. What was not looked at then
    /// counts as the same, but for a file that was to be new.
    pub fn is_as_shown(&self, now: Option<&str>) -> bool {
        match (self.base_hash.as_deref(), now) {
            (Some(base), Some(now)) => base == now,
            (None, None) => true,
            (Some(_), None) => false,
            (None, Some(_)) => self.change != ChangeKind::Create,
        }
    }

    /// What was to be made, or taken back, was; the bytes of the file have this hash, if it is there.
    pub fn is_made(&mut self, way: HunkWay, hash: Option<&str>) {
        match way {
            HunkWay::In => self.is_applied(hash),
            HunkWay::Out => self.is_reverted(hash),
        }
    }

    /// What was to be made, or taken back, was not.
    pub fn is_left(&mut self, way: HunkWay, problem: &str, sides: Option<ConflictSides>) {
        match way {
            HunkWay::In => self.is_conflict(problem, sides),
            // What stands in the file stands there.
            HunkWay::Out => (self.problem, self.conflict) = (Some(problem.to_owned()), sides),
        }
    }

    /// What is to be done for the hunks that were accepted, or to take back those that stand in the file.
    pub fn edit(&self, way: HunkWay, found: Option<&BaseFile>) -> Result<FileEdit, NotMade> {
        match way {
            HunkWay::In => self.edit_in(found),
            HunkWay::Out => self.edit_out(found),
        }
    }

    fn edit_in(&self, found: Option<&BaseFile>) -> Result<FileEdit, NotMade> {
        let whole = self.whole_in(HunkState::Accepted);
        let lines = self.lines_in(HunkState::Accepted);
        let Some(found) = found else {
            return match self.change {
                ChangeKind::Create => {
                    let text = self.applied("", &lines, LineNumbers::Hold)?;
                    Ok(FileEdit::Text { base_hash: None, text, mode: self.mode })
                }
                ChangeKind::Modify | ChangeKind::Delete | ChangeKind::Rename => Err(self.gone(&lines)),
            };
        };
        let base_hash = found.hash.clone();
        let text = || -> Result<Option<String>, NotMade> {
            if lines.is_empty() {
                return Ok(None);
            }
            let text = found.text.as_ref().map_err(|why| self.not_made(why, None, &lines))?;
            self.applied(text, &lines, self.numbers(found)).map(Some)
        };
        match (self.change, whole) {
            (ChangeKind::Create, Some(_)) => Err(self.not_made("It is there already.", Some(found), &lines)),
            (ChangeKind::Delete, Some(whole)) => {
                self.still_as_shown(whole, found)?;
                Ok(FileEdit::Delete { base_hash })
            }
            (ChangeKind::Rename, Some(_)) => {
                let to = self.file_path.clone();
                Ok(FileEdit::Move { to, base_hash, text: text()?, mode: self.mode })
            }
            (ChangeKind::Modify, Some(_)) => match (text()?, self.mode) {
                (Some(text), mode) => Ok(FileEdit::Text { base_hash: Some(base_hash), text, mode }),
                (None, Some(mode)) => Ok(FileEdit::Mode { base_hash, mode }),
                (None, None) => Err(self.not_made("Nothing of it was accepted.", Some(found), &lines)),
            },
            (_, None) => match text()? {
                Some(text) => Ok(FileEdit::Text { base_hash: Some(base_hash), text, mode: None }),
                None => Err(self.not_made("Nothing of it was accepted.", Some(found), &lines)),
            },
        }
    }

    fn edit_out(&self, found: Option<&BaseFile>) -> Result<FileEdit, NotMade> {
        let whole = self.whole_in(HunkState::Applied);
        let lines = reversed(self.lines_in(HunkState::Applied));
        let back = self.mode_before;
        let Some(found) = found else {
            return match (self.change, whole) {
                (ChangeKind::Delete, Some(whole)) => self.brought_back(whole),
                (_, _) => Err(self.gone(&lines)),
            };
        };
        let base_hash = found.hash.clone();
        let text = || -> Result<Option<String>, NotMade> {
            if lines.is_empty() {
                return Ok(None);
            }
            let text = found.text.as_ref().map_err(|why| self.not_made(why, None, &lines))?;
            let written = self.applied_hash.as_deref();
            let numbers = match written.is_none_or(|hash| hash == found.hash) {
                true => LineNumbers::Hold,
                false => LineNumbers::Unsure,
            };
            self.applied(text, &lines, numbers).map(Some)
        };
        match (self.change, whole) {
            (ChangeKind::Delete, Some(_)) => Err(self.not_made("It is there again.", Some(found), &lines)),
            (ChangeKind::Create, _) => match text()? {
                None if found.hash == content_hash(b"") => Ok(FileEdit::Delete { base_hash }),
                Some(rest) if rest.is_empty() => Ok(FileEdit::Delete { base_hash }),
                // What was written into it since is not ours to delete.
                Some(_) | None => Err(self.not_made("More was written into it since.", Some(found), &lines)),
            },
            (ChangeKind::Rename, Some(_)) => match self.old_path.clone() {
                Some(to) => Ok(FileEdit::Move { to, base_hash, text: text()?, mode: back }),
                None => Err(self.not_made("Where it was before is not known.", Some(found), &lines)),
            },
            (ChangeKind::Modify, Some(_)) => match (text()?, back) {
                (Some(text), mode) => Ok(FileEdit::Text { base_hash: Some(base_hash), text, mode }),
                (None, Some(mode)) => Ok(FileEdit::Mode { base_hash, mode }),
                (None, None) => Err(self.not_made("Its mode before is not known.", Some(found), &lines)),
            },
            (_, None) => match text()? {
                Some(text) => Ok(FileEdit::Text { base_hash: Some(base_hash), text, mode: None }),
                None => Err(self.not_made("Nothing of it stands there.", Some(found), &lines)),
            },
        }
    }

    /// The text of a file that this edit deleted, where it is known to the byte.
    fn brought_back(&self, whole: &ProposedHunk) -> Result<FileEdit, NotMade> {
        let lines =
            hunks_of(&whole.diff).into_iter().map(|hunk| (whole.id.as_str(), hunk.reversed())).collect();
        let text = self.applied("", &lines, LineNumbers::Hold);
        match text {
            Ok(text) if self.base_hash.as_ref().is_none_or(|hash| *hash == content_hash(text.as_bytes())) => {
                Ok(FileEdit::Text { base_hash: None, text, mode: self.mode_before })
            }
            Ok(_) | Err(_) => {
                Err(self.not_made("What it held is not known here to the byte.", None, &Vec::new()))
            }
        }
    }

    /// Whether a file that goes is the one that was shown.
    fn still_as_shown(&self, whole: &ProposedHunk, found: &BaseFile) -> Result<(), NotMade> {
        if self.base_hash.as_ref() == Some(&found.hash) {
            return Ok(());
        }
        let lines: Vec<(&str, Hunk)> =
            hunks_of(&whole.diff).into_iter().map(|hunk| (whole.id.as_str(), hunk)).collect();
        let is_shown = match (&found.text, lines.is_empty()) {
            (Ok(text), false) => {
                apply_numbered(text, &bare(&lines), LineNumbers::Hold).is_ok_and(|rest| rest.is_empty())
            }
            (Ok(_) | Err(_), _) => false,
        };
        // Nobody said what it held, and nothing was read when it was asked about: it was taken as it is.
        let is_unseen = self.base_hash.is_none() && lines.is_empty();
        if is_shown || is_unseen {
            return Ok(());
        }
        Err(self.not_made("Its text changed.", Some(found), &lines))
    }

    /// Whether the hunks count the lines of the file that is there.
    fn numbers(&self, found: &BaseFile) -> LineNumbers {
        let same = match (&self.counts_in, &found.text) {
            (Some(counted), Ok(text)) => *counted == plain_hash(text),
            (Some(_), Err(_)) => false,
            (None, _) => self.base_hash.as_ref().is_none_or(|hash| *hash == found.hash),
        };
        if same { LineNumbers::Hold } else { LineNumbers::Unsure }
    }

    fn applied(&self, text: &str, lines: &NamedHunks<'_>, numbers: LineNumbers) -> Result<String, NotMade> {
        apply_numbered(text, &bare(lines), numbers).map_err(|conflict| {
            let hunk = lines.get(conflict.number.saturating_sub(1));
            let (line, there) = hunk.map(|(_, hunk)| around(text, hunk)).unzip();
            let sides = ConflictSides {
                hunk_id: hunk.map(|(id, _)| (*id).to_owned()),
                line,
                there,
                wanted: self.wanted(hunk.map_or(&[], std::slice::from_ref)),
            };
            NotMade { why: conflict.reason, sides }
        })
    }

    fn gone(&self, lines: &NamedHunks<'_>) -> NotMade {
        self.not_made("The file is gone.", None, lines)
    }

    fn not_made(&self, why: &str, found: Option<&BaseFile>, lines: &NamedHunks<'_>) -> NotMade {
        let whole = Hunk { old_start: 1, new_start: 1, lines: Vec::new() };
        let shown = lines.first().map_or(&whole, |(_, hunk)| hunk);
        let there = found.and_then(|found| found.text.as_deref().ok()).map(|text| around(text, shown));
        let (line, there) = there.unzip();
        let hunk_id = lines.first().map(|(id, _)| (*id).to_owned());
        NotMade {
            why: why.to_owned(),
            sides: ConflictSides { hunk_id, line, there, wanted: self.wanted(lines) },
        }
    }

    /// The same for a file that turned out to be another one while it was written.
    pub fn sides(&self, way: HunkWay, found: Option<&BaseFile>) -> ConflictSides {
        let lines = match way {
            HunkWay::In => self.lines_in(HunkState::Accepted),
            HunkWay::Out => reversed(self.lines_in(HunkState::Applied)),
        };
        self.not_made("", found, &lines).sides
    }

    fn wanted(&self, lines: &[(&str, Hunk)]) -> String {
        let mut wanted: String =
            lines.iter().map(|(_, hunk)| crate::domain::edits::diff::hunk_body(hunk)).collect();
        if wanted.is_empty() {
            return format!("{}.", self.what());
        }
        if wanted.len() > WANTED {
            wanted.truncate(wanted.floor_char_boundary(WANTED));
            wanted.push_str("\n[…]\n");
        }
        wanted
    }
}

type NamedHunks<'a> = Vec<(&'a str, Hunk)>;

fn bare(lines: &[(&str, Hunk)]) -> Vec<Hunk> {
    lines.iter().map(|(_, hunk)| hunk.clone()).collect()
}

fn hunks_of(diff: &str) -> Vec<Hunk> {
    // It was written by `hunk_body`, or is empty.
    parse(diff).unwrap_or_default().into_iter().flat_map(|file| file.hunks).collect()
}

/// The hunks that stand in a file, turned round. Where a hunk stands depends on those that were applied before it, and not on
/// those that were not.
fn reversed(lines: NamedHunks<'_>) -> NamedHunks<'_> {
    let mut moved = 0_i64;
    let turn = |(id, mut hunk): (_, Hunk)| {
        if hunk.old_start > 0 {
            hunk.new_start = hunk.old_start.saturating_add_signed(moved);
        }
        let of_kind = |kind| hunk.lines.iter().filter(|line| line.kind == kind).count() as i64;
        moved += of_kind(LineKind::Added) - of_kind(LineKind::Removed);
        (id, hunk.reversed())
    };
    lines.into_iter().map(turn).collect()
}

#[cfg(test)]
#[path = "file_edit_tests.rs"]
mod tests;
