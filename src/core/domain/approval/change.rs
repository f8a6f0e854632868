//! One file of an edit that waits for permission.
//!
//! Owns how a change becomes a diff that a person reads: from two texts, or from a diff that the engine wrote, which is read
//! and counted and not believed. Never applies one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::edits::diff::{changed_lines, cut_out, diff_body, hunk_body, replacing_body};
use crate::domain::edits::git_header::HeaderChange;
use crate::domain::edits::patch::{self, FilePatch};
use crate::domain::edits::text::plain_hash;
use crate::domain::shown::{Kind, show};

/// Texts longer than this together are shown as taken out and put in whole: comparing them could hold up the loop.
const COMPARED: usize = 1 << 20;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Its text changes.
    Modify,
    /// It is new.
    Create,
    /// It goes.
    Delete,
    /// It gets another path, and perhaps another text.
    Rename,
}

/// One file of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Relative to the workspace root; absolute outside of it.
    pub file_path: String,
    /// Name of the workspace folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What happens to it.
    pub change: ChangeKind,
    /// Where it is now, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Lines added; absent when the engine did not tell the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed; absent when the engine did not tell what is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// The change as the hunks of a unified diff, without the lines that name the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// True when the diff was cut, or left out for its length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// True of a file that is no text: then there is no diff of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Its mode after, as git writes it (`100755`), where that changes or the file is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `sha256:<hex>` of what the change was made from, where the engine tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hash: Option<String>,
    /// Hash of the text whose lines the diff counts, its line ends aside: of a part of a file those are not the file's.
    #[serde(skip)]
    #[schemars(skip)]
    pub counts_in: Option<String>,
}

impl FileChange {
    /// A file whose new text the engine did not tell.
    pub fn untold(path: &str, change: ChangeKind) -> Self {
        Self {
            file_path: path.to_owned(),
            root: None,
            change,
            old_path: None,
            added: None,
            removed: None,
            diff: None,
            truncated: false,
            binary: false,
            mode: None,
            base_hash: None,
            counts_in: None,
        }
    }

    /// A file that goes, with the text that it has.
    pub fn deleted(path: &str, old: &str) -> Self {
        Self { change: ChangeKind::Delete, ..Self::of_texts(path, Some(old), "") }
    }

    /// A file that gets another path.
    pub fn renamed(from: &str, to: &str) -> Self {
        Self { old_path: Some(from.to_owned()), ..Self::untold(to, ChangeKind::Rename) }
    }

    /// The same change of the file that the request names.
    pub fn at(self, path: &str) -> Self {
        Self { file_path: path.to_owned(), ..self }
    }

    /// One text in place of another. `old` is `None` for a file that does not exist yet.
    pub fn of_texts(path: &str, old: Option<&str>, new: &str) -> Self {
        let change = if old.is_none() { ChangeKind::Create } else { ChangeKind::Modify };
        Self::untold(path, change).with_diff(compared(0, old.unwrap_or_default(), new))
    }

    /// A part of a file in place of another part. `old` is `None` where the file does not exist yet.
    pub(crate) fn of_parts(path: &str, old: Option<&str>, new: &str) -> Self {
        let Some(old) = old else { return Self::of_texts(path, None, new) };
        let counts_in = Some(plain_hash(old));
        let (old, new) = cut_out(old, new);
        Self { counts_in, ..Self::of_texts(path, Some(&old), &new) }
    }

    /// Lines of a file in place of others, of which the first is this one, from 1.
    pub(crate) fn of_lines(path: &str, first: u64, old: &str, new: &str) -> Self {
        Self::untold(path, ChangeKind::Modify).with_diff(compared(first.saturating_sub(1), old, new))
    }

    /// A whole new text for a file, where nobody told what stands there now, if anything.
    pub fn rewritten(path: &str, new: &str) -> Self {
        Self { change: ChangeKind::Modify, removed: None, ..Self::of_texts(path, None, new) }
    }

    /// The files of a unified diff. `named` is the path where the diff has none. Empty: it is no diff.
    pub fn of_diff(diff: &str, named: Option<&str>) -> Vec<Self> {
        let Ok(files) = patch::parse(diff) else { return Vec::new() };
        files.iter().map(|file| Self::of_patch(file, named)).collect()
    }

    fn of_patch(file: &FilePatch, named: Option<&str>) -> Self {
        let (path, change, old_path) = match (&file.old_path, &file.new_path, named) {
            (Some(old), Some(new), _) if file.header.change == HeaderChange::Copied => {
                (new.as_str(), ChangeKind::Create, Some(old.clone()))
            }
            (Some(old), Some(new), _) if old != new => (new.as_str(), ChangeKind::Rename, Some(old.clone())),
            (Some(old), None, _) => (old.as_str(), ChangeKind::Delete, None),
            (None, Some(new), _) => (new.as_str(), ChangeKind::Create, None),
            (Some(_), Some(new), _) => (new.as_str(), ChangeKind::Modify, None),
            (None, None, named) => (named.unwrap_or("a file without a name"), ChangeKind::Modify, None),
        };
        let header = &file.header;
        let change = Self {
            old_path,
            mode: header.new_mode.clone(),
            binary: header.is_binary,
            ..Self::untold(path, change)
        };
        // What a copy is made from, and what a file that is no text gets, the hunks do not say.
        if header.is_binary || header.change == HeaderChange::Copied {
            return change;
        }
        let diff: String = file.hunks.iter().map(hunk_body).collect();
        match (change.change, diff.is_empty()) {
            (ChangeKind::Delete | ChangeKind::Rename, true) => change,
            (_, _) => change.with_diff(diff),
        }
    }

    fn with_diff(self, diff: String) -> Self {
        let (added, removed) = changed_lines(&diff);
        Self { added: Some(added), removed: Some(removed), diff: Some(diff), ..self }
    }

    /// Whether the engine did not tell the text that it would write.
    pub(super) fn is_untold(&self) -> bool {
        self.diff.is_none() && matches!(self.change, ChangeKind::Modify | ChangeKind::Create)
    }

    /// Makes its text safe to show. Must be called once.
    pub(super) fn make_safe(&mut self) {
        self.file_path = show(&self.file_path, Kind::Code).into_owned();
        self.old_path = self.old_path.take().map(|path| show(&path, Kind::Code).into_owned());
        self.mode = self.mode.take().map(|mode| show(&mode, Kind::Code).into_owned());
        self.base_hash = self.base_hash.take().map(|hash| show(&hash, Kind::Code).into_owned());
        self.diff = self.diff.take().map(|diff| show(&diff, Kind::Lines).into_owned());
    }

    pub(super) fn place(&mut self, place: &impl Fn(&str) -> (String, Option<String>)) {
        (self.file_path, self.root) = place(&self.file_path);
        self.old_path = self.old_path.take().map(|path| place(&path).0);
    }

    /// Cuts its diff, behind a line, to what is left for all files.
    pub(super) fn cut(&mut self, left: &mut usize) {
        let Some(diff) = &mut self.diff else { return };
        if diff.len() > *left {
            let start = diff.get(..diff.floor_char_boundary(*left)).unwrap_or_default();
            let end = start.rfind('\n').map_or(0, |at| at + 1);
            diff.truncate(end);
            self.truncated = true;
            *left = 0;
        } else {
            *left -= diff.len();
        }
        if diff.is_empty() {
            self.diff = None;
        }
    }

    pub(super) fn for_each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        change(&mut self.file_path);
        self.old_path.iter_mut().for_each(&mut *change);
        self.diff.iter_mut().for_each(&mut *change);
    }
}

/// The change from one text to another, under so many lines of the file.
fn compared(above: u64, old: &str, new: &str) -> String {
    if old.len() + new.len() <= COMPARED {
        diff_body(above, old, new)
    } else {
        replacing_body(above, old, new)
    }
}
