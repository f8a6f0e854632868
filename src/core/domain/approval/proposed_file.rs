//! One file of an edit that waits for permission: its parts, each of which is accepted or rejected, and what became of them.
//!
//! Owns what a part is and how it is named: a change of lines, or what happens to the file as a whole. Never takes a decision:
//! that is `proposal`. What a decision makes of the file is `file_edit`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::change::{ChangeKind, FileChange};
use crate::domain::edits::diff::hunk_body;
use crate::domain::edits::patch::{self, Hunk};
use crate::domain::edits::text::hex;

/// What a part of an edit changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HunkPart {
    /// Lines of the file.
    #[default]
    Lines,
    /// The file as a whole: it goes, gets another path or mode, or comes without a line.
    File,
    /// Bytes of a file that is no text, which only the engine knows.
    Content,
}

/// What was decided of a hunk, and what became of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HunkState {
    /// Nothing yet.
    Proposed,
    /// It is to be made.
    Accepted,
    /// It is not to be made.
    Rejected,
    /// It stands in the file.
    Applied,
    /// It was accepted, and the file is not what it was made for: nothing of the file was changed.
    Conflict,
    /// It stood in the file and was taken back.
    Reverted,
}

/// What became of a file of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileOutcome {
    /// Some hunk is not decided, or an accepted one is not written yet.
    Pending,
    /// All of it stands in the file, or the engine was told to write it.
    Applied,
    /// Some hunks stand in the file and some were rejected.
    Partly,
    /// Nothing of it was accepted.
    Rejected,
    /// The file is not what the change was made for, so it was left as it is.
    Conflict,
    /// What was made was taken back.
    Reverted,
}

/// One hunk of a file. Its diff is in the engine's own characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedHunk {
    /// Made of what it changes, so that it stays while its neighbours come and go.
    pub id: String,
    /// What it changes.
    #[serde(default)]
    pub part: HunkPart,
    /// The hunk with its `@@` line; of a deletion the whole text, where it was told; else empty.
    pub diff: String,
    /// What was decided.
    pub state: HunkState,
    /// Why, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The user changed it before it was accepted: `diff` is what the user made of the engine's hunk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

/// Both sides of a change that does not fit its file. Nothing of either is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSides {
    /// The hunk that does not fit, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_id: Option<String>,
    /// First line of what is there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is there now, where the change was to go; absent where there is no file, or no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<String>,
    /// What was to be made: the hunk with its `@@` line, or a sentence.
    pub wanted: String,
}

/// Whether a file may be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileMode {
    /// It is only read.
    Plain,
    /// It may be run.
    Executable,
}

/// One file of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedFile {
    /// Relative to its folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What happens to it.
    pub change: ChangeKind,
    /// Where it is now, of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Its mode after, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FileMode>,
    /// `sha256:<hex>` of what it held when the edit was proposed: its bytes, or the buffer where it was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hash: Option<String>,
    /// Hash of the text whose lines the hunks count, line ends aside. `None`: the whole file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_in: Option<String>,
    /// What happens to it as a whole, then its lines in their order.
    pub hunks: Vec<ProposedHunk>,
    /// Hash of the file after what was accepted was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_hash: Option<String>,
    /// Its mode before this server changed it or took it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_before: Option<FileMode>,
    /// Why it could not be written, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What is there and what was wanted, where that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictSides>,
}

impl ProposedFile {
    pub(super) fn of(change: &FileChange) -> Option<Self> {
        let mode = match change.mode.as_deref() {
            None => None,
            Some("100644") => Some(FileMode::Plain),
            Some("100755") => Some(FileMode::Executable),
            // A link or another repository: nothing that is written as text.
            Some(_) => return None,
        };
        let mut file = Self {
            file_path: change.file_path.clone(),
            root: change.root.clone(),
            change: change.change,
            old_path: change.old_path.clone(),
            mode,
            base_hash: change.base_hash.clone(),
            counts_in: change.counts_in.clone(),
            hunks: Vec::new(),
            applied_hash: None,
            mode_before: None,
            problem: None,
            conflict: None,
        };
        let hunks = match (&change.diff, change.change) {
            (Some(_), _) if change.truncated => return None,
            // A file is whole only when its old text was told too.
            (Some(diff), _) if change.removed.is_some() => read_hunks(diff)?,
            (Some(_), _) => return None,
            (None, ChangeKind::Delete | ChangeKind::Rename) => Vec::new(),
            (None, ChangeKind::Modify | ChangeKind::Create) if change.binary => Vec::new(),
            (None, ChangeKind::Modify | ChangeKind::Create) => return None,
        };
        match change.change {
            ChangeKind::Delete => match hunks.as_slice() {
                [] => file.add(HunkPart::File, &[], String::new()),
                [only] => file.add(HunkPart::File, &[], hunk_body(only)),
                _ => return None,
            },
            ChangeKind::Rename => file.add(HunkPart::File, &[], String::new()),
            ChangeKind::Modify if mode.is_some() => file.add(HunkPart::File, &[], String::new()),
            ChangeKind::Create if hunks.is_empty() && !change.binary => {
                file.add(HunkPart::File, &[], String::new());
            }
            ChangeKind::Modify | ChangeKind::Create => {}
        }
        if change.binary && change.change != ChangeKind::Delete {
            file.add(HunkPart::Content, &[], String::new());
        }
        if change.change != ChangeKind::Delete {
            for hunk in &hunks {
                file.add(HunkPart::Lines, std::slice::from_ref(hunk), hunk_body(hunk));
            }
        }
        (!file.hunks.is_empty()).then_some(file)
    }

    /// Takes a part. The same change twice in a file: the second one is named as such.
    fn add(&mut self, part: HunkPart, lines: &[Hunk], diff: String) {
        let mut nth = 0;
        let mut id = self.hunk_id(part, lines, nth);
        while self.hunks.iter().any(|known| known.id == id) {
            nth += 1;
            id = self.hunk_id(part, lines, nth);
        }
        self.hunks.push(ProposedHunk {
            id,
            part,
            diff,
            state: HunkState::Proposed,
            reason: None,
            edited: false,
        });
    }

    /// Of the file and the lines that change and stay, and not of the line numbers, which others move.
    fn hunk_id(&self, part: HunkPart, hunks: &[Hunk], nth: u32) -> String {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(self.root.as_deref().unwrap_or_default());
        field(&self.file_path);
        match part {
            HunkPart::Lines => {}
            HunkPart::File | HunkPart::Content => {
                field(if part == HunkPart::File { "file" } else { "content" });
                field(self.what().as_str());
            }
        }
        for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
            field(match line.kind {
                patch::LineKind::Context => " ",
                patch::LineKind::Removed => "-",
                patch::LineKind::Added => "+",
            });
            field(&line.text);
        }
        hash.update(nth.to_le_bytes());
        hex(&hash.finalize()[..8])
    }

    /// Whether it is the same change of the same file, told in another part.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.file_path == other.file_path && self.root == other.root
    }

    /// The hunks of another part of the same file. `None`: the two cannot both be meant.
    pub(super) fn join(&mut self, other: Self) -> Option<()> {
        if self.change != ChangeKind::Modify || other.change != ChangeKind::Modify || other.mode != self.mode
        {
            return None;
        }
        if self.counts_in != other.counts_in {
            // The parts count their lines each for itself, which is as good as not at all.
            self.counts_in = Some(String::new());
        }
        for hunk in other.hunks {
            let lines = if hunk.part == HunkPart::Lines { read_hunks(&hunk.diff)? } else { Vec::new() };
            self.add(hunk.part, &lines, hunk.diff);
        }
        Some(())
    }

    /// What happens to the file as a whole, in words.
    pub fn what(&self) -> String {
        let path = &self.file_path;
        match (self.change, self.mode, &self.old_path) {
            (ChangeKind::Delete, ..) => format!("Delete `{path}`"),
            (ChangeKind::Rename, _, Some(old)) => format!("Rename `{old}` to `{path}`"),
            (ChangeKind::Rename, _, None) => format!("Rename `{path}`"),
            (ChangeKind::Create, ..) => format!("Make the empty file `{path}`"),
            (ChangeKind::Modify, Some(FileMode::Executable), _) => format!("Make `{path}` executable"),
            (ChangeKind::Modify, ..) => format!("Make `{path}` not executable"),
        }
    }

    /// What a part does, in words, where it is no change of lines.
    pub fn label(&self, hunk: &ProposedHunk) -> Option<String> {
        match hunk.part {
            HunkPart::Lines => None,
            HunkPart::File => Some(self.what()),
            HunkPart::Content => {
                Some(format!("Write `{}`, which is no text and is not shown", self.file_path))
            }
        }
    }

    /// The hunks in this state that change lines, in order.
    pub(super) fn lines_in(&self, state: HunkState) -> Vec<(&str, Hunk)> {
        let of_state = self.hunks.iter().filter(|hunk| hunk.state == state && hunk.part == HunkPart::Lines);
        let read = |hunk: &ProposedHunk| read_hunks(&hunk.diff).unwrap_or_default();
        of_state.flat_map(|hunk| read(hunk).into_iter().map(|lines| (hunk.id.as_str(), lines))).collect()
    }

    /// The hunk in this state that is about the file as a whole.
    pub(super) fn whole_in(&self, state: HunkState) -> Option<&ProposedHunk> {
        self.hunks.iter().find(|hunk| hunk.state == state && hunk.part == HunkPart::File)
    }

    /// Whether any of it is in this state.
    pub fn has(&self, state: HunkState) -> bool {
        self.hunks.iter().any(|hunk| hunk.state == state)
    }

    /// What was accepted was made; the bytes of the file have this hash, if it is there.
    pub fn is_applied(&mut self, hash: Option<&str>) {
        self.applied_hash = hash.map(str::to_owned);
        (self.problem, self.conflict) = (None, None);
        self.turn(HunkState::Accepted, HunkState::Applied);
    }

    /// What was accepted could not be written.
    pub fn is_conflict(&mut self, problem: &str, sides: Option<ConflictSides>) {
        self.problem = Some(problem.to_owned());
        self.conflict = sides;
        self.turn(HunkState::Accepted, HunkState::Conflict);
    }

    /// What stood in the file was taken back, and its bytes have this hash.
    pub(crate) fn is_reverted(&mut self, hash: Option<&str>) {
        self.applied_hash = hash.map(str::to_owned);
        (self.problem, self.conflict) = (None, None);
        self.turn(HunkState::Applied, HunkState::Reverted);
    }

    /// The engine was told to make all that was accepted. Whether it did shows when it is taken back.
    pub fn was_left_to_engine(&mut self) {
        self.turn(HunkState::Accepted, HunkState::Applied);
    }

    fn turn(&mut self, from: HunkState, into: HunkState) {
        for hunk in self.hunks.iter_mut().filter(|hunk| hunk.state == from) {
            hunk.state = into;
        }
    }

    /// What became of it.
    pub fn outcome(&self) -> FileOutcome {
        if self.has(HunkState::Proposed) || self.has(HunkState::Accepted) {
            FileOutcome::Pending
        } else if self.has(HunkState::Conflict) {
            FileOutcome::Conflict
        } else if self.has(HunkState::Reverted) && !self.has(HunkState::Applied) {
            FileOutcome::Reverted
        } else if !self.has(HunkState::Applied) {
            FileOutcome::Rejected
        } else if self.has(HunkState::Rejected) {
            FileOutcome::Partly
        } else {
            FileOutcome::Applied
        }
    }
}

/// The hunks of a diff of one file. `None`: it is of several, or none.
pub(super) fn read_hunks(diff: &str) -> Option<Vec<Hunk>> {
    if diff.is_empty() {
        return Some(Vec::new());
    }
    let mut files = patch::parse(diff).ok()?;
    let only = files.pop()?;
    files.is_empty().then_some(only.hunks)
}
