//! An edit that waits for permission, hunk by hunk.
//!
//! Owns the names of its hunks, what was decided of each, and when everything is. Never applies a hunk: `edits::apply` does,
//! and never asks for one.

use serde::{Deserialize, Serialize};

use super::proposed_file::{HunkPart, HunkState, ProposedFile, ProposedHunk, read_hunks};
use super::subject::{Action, Subject};
use crate::domain::edits::diff::hunk_body;

/// An edit of an engine, in its own characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its files, each once.
    pub files: Vec<ProposedFile>,
    /// Whether it is told what came of it, where it is allowed as a whole.
    #[serde(default)]
    pub writer: WriterTells,
}

/// Whether whoever writes an edit that was allowed as a whole tells what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriterTells {
    /// No: what was allowed counts as made, and whether it was shows when it is taken back.
    #[default]
    Nothing,
    /// Yes: what was allowed is not made before the writer says so.
    Outcome,
}

/// A decision on some hunks of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided<'a> {
    /// On every hunk of it.
    All,
    /// On every hunk of a file, named as in the proposal, with the name of its folder where it has one.
    File {
        /// Its path.
        path: &'a str,
        /// Its folder.
        root: Option<&'a str>,
    },
    /// On this hunk.
    Hunk {
        /// Its id.
        id: &'a str,
    },
}

/// Why a decision was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotDecided {
    /// There is no such file or hunk.
    Unknown,
    /// It was decided before, otherwise.
    Twice,
}

impl Proposal {
    /// The proposal of a subject whose paths are placed. `None`: it is no edit, or one that can only be taken or left as a whole,
    /// since it was not told whole.
    pub fn of(subject: &Subject) -> Option<Self> {
        let Action::Edit { files: changes } = &subject.action else { return None };
        // What a file that is no text gets is never told; of such a file the whole is decided.
        let is_told = !subject.unknown || changes.iter().any(|change| change.binary);
        if !is_told || subject.truncated || changes.is_empty() {
            return None;
        }
        let mut files: Vec<ProposedFile> = Vec::new();
        for change in changes {
            let file = ProposedFile::of(change)?;
            match files.iter_mut().find(|known| known.is_same(&file)) {
                // Told in several parts, it is one file still: all that is accepted of it goes in, or nothing.
                Some(known) => known.join(file)?,
                None => files.push(file),
            }
        }
        Some(Self { files, writer: WriterTells::default() })
    }

    /// A file of which something was accepted and that cannot be written here: what it gets only the engine knows.
    pub fn beyond_us(&self) -> Option<&ProposedFile> {
        let accepted =
            |hunk: &ProposedHunk| hunk.state == HunkState::Accepted && hunk.part == HunkPart::Content;
        self.files.iter().find(|file| file.hunks.iter().any(accepted))
    }

    /// Every hunk.
    pub fn hunks(&self) -> impl Iterator<Item = &ProposedHunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    /// Whether every hunk is decided.
    pub fn is_decided(&self) -> bool {
        self.hunks().all(|hunk| hunk.state != HunkState::Proposed)
    }

    /// Whether every hunk was accepted as its engine proposed it.
    pub fn is_all(&self) -> bool {
        self.hunks()
            .all(|hunk| matches!(hunk.state, HunkState::Accepted | HunkState::Applied) && !hunk.edited)
    }

    /// Whether every hunk was rejected.
    pub fn is_none(&self) -> bool {
        self.hunks().all(|hunk| hunk.state == HunkState::Rejected)
    }

    /// Whether every hunk is decided, and not all of them in the same way.
    pub fn is_in_part(&self) -> bool {
        self.is_decided() && !self.is_all() && !self.is_none()
    }

    /// Takes a decision. The same one again changes nothing.
    pub fn decide(
        &mut self,
        decided: Decided<'_>,
        accepted: bool,
        reason: Option<&str>,
    ) -> Result<(), NotDecided> {
        let state = if accepted { HunkState::Accepted } else { HunkState::Rejected };
        let meant = |file: &ProposedFile, hunk: &ProposedHunk| match decided {
            Decided::All => true,
            Decided::File { path, root } => file.file_path == path && file.root.as_deref() == root,
            Decided::Hunk { id } => hunk.id == id,
        };
        let is_other = |hunk: &ProposedHunk| {
            hunk.state != HunkState::Proposed && (hunk.state == HunkState::Rejected) == accepted
        };
        // What was decided by hunk stays when the rest is decided together.
        let single = matches!(decided, Decided::Hunk { .. });
        let mut found = false;
        for file in &self.files {
            for hunk in file.hunks.iter().filter(|hunk| meant(file, hunk)) {
                found = true;
                if single && is_other(hunk) {
                    return Err(NotDecided::Twice);
                }
            }
        }
        if !found {
            return Err(NotDecided::Unknown);
        }
        for file in &mut self.files {
            let whole = file.clone();
            for hunk in &mut file.hunks {
                if hunk.state == HunkState::Proposed && meant(&whole, hunk) {
                    hunk.state = state;
                    hunk.reason = reason.map(str::to_owned);
                }
            }
        }
        Ok(())
    }

    /// Puts what the user made of a hunk in its place: `lines` with their ` `, `-` or `+`. What is there before stays as it
    /// was proposed, since it says where the hunk belongs. Nothing is decided by this.
    pub fn edit(&mut self, id: &str, lines: &str) -> Result<(), NotEdited> {
        let mut hunks = self.files.iter_mut().flat_map(|file| &mut file.hunks);
        let hunk = hunks.find(|hunk| hunk.id == id).ok_or(NotEdited::Unknown)?;
        let lines_of = (hunk.part == HunkPart::Lines).then(|| read_hunks(&hunk.diff)).flatten();
        let proposed = lines_of.and_then(|mut hunks| hunks.pop()).ok_or(NotEdited::Unknown)?;
        let edited = proposed.edited(lines).map_err(NotEdited::Unreadable)?;
        if edited.lines == proposed.lines {
            return Ok(());
        }
        if hunk.state != HunkState::Proposed {
            return Err(NotEdited::Decided);
        }
        (hunk.diff, hunk.edited) = (hunk_body(&edited), true);
        Ok(())
    }

    /// Every hunk that waits, decided alike: the request was answered as a whole.
    pub fn settle(&mut self, accepted: bool) {
        // Nothing of it can be decided twice: only what waits is touched.
        let _ = self.decide(Decided::All, accepted, None);
    }

    /// Files and hunks that were accepted, and all hunks: `(1, 2, 3)` of two hunks in one file out of three.
    pub fn counts(&self) -> ProposalCounts {
        let accepted = self
            .hunks()
            .filter(|hunk| matches!(hunk.state, HunkState::Accepted | HunkState::Applied))
            .count();
        let edited = self.hunks().filter(|hunk| hunk.edited).count();
        ProposalCounts { accepted, edited, hunks: self.hunks().count() }
    }
}

/// Why what the user made of a hunk was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotEdited {
    /// There is no such hunk.
    Unknown,
    /// It was decided before.
    Decided,
    /// One sentence: it is no hunk, or one of another place.
    Unreadable(&'static str),
}

/// How many hunks were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalCounts {
    /// Those that were.
    pub accepted: usize,
    /// Those that the user changed first.
    pub edited: usize,
    /// All of them.
    pub hunks: usize,
}

#[cfg(test)]
#[path = "proposal_tests.rs"]
mod tests;
