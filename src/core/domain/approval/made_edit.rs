//! What came of an edit that its engine was allowed to write as a whole, file by file, as the engine tells it.
//!
//! Owns how that becomes the state of a proposal's hunks. Never decides on a hunk, and never looks at a file.

use super::proposal::Proposal;
use super::proposed_file::HunkState;

/// What came of an edit: each of its files, or why none was written, in one sentence.
pub type MadeEdit = Result<Vec<MadeFile>, String>;

/// A file of an edit, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFile {
    /// Name of its root, where several are open.
    pub root: Option<String>,
    /// Relative to it, as it is called once all is done.
    pub path: String,
    /// What came of it.
    pub end: MadeEnd,
}

/// What came of a file of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeEnd {
    /// It is as the edit wanted it.
    Made {
        /// Hash of what it holds; `None`: it is gone.
        hash: Option<String>,
    },
    /// It is as the edit wanted it although the edit as a whole failed.
    Stands {
        /// Hash of what it holds; `None`: it is gone.
        hash: Option<String>,
        /// Why it was not taken back, one sentence.
        why: String,
    },
    /// It holds what it held before.
    Left {
        /// Why, one sentence.
        why: String,
    },
}

impl Proposal {
    /// The engine told what came of the files that it was allowed to write.
    pub fn was_made(&mut self, made: &MadeEdit) {
        for file in self.files.iter_mut().filter(|file| file.has(HunkState::Accepted)) {
            let made = match made {
                Ok(made) => made,
                Err(why) => {
                    file.is_conflict(why, None);
                    continue;
                }
            };
            let is_it = |made: &&MadeFile| made.path == file.file_path && made.root == file.root;
            match made.iter().find(is_it).map(|made| &made.end) {
                Some(MadeEnd::Made { hash }) => file.is_applied(hash.as_deref()),
                Some(MadeEnd::Stands { hash, why }) => {
                    file.is_applied(hash.as_deref());
                    file.problem = Some(why.clone());
                }
                Some(MadeEnd::Left { why }) => file.is_conflict(why, None),
                None => {}
            }
        }
    }

    /// Nobody will tell any more what came of what was allowed.
    pub fn stays_unknown(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.has(HunkState::Accepted)) {
            file.is_conflict(
                "The turn ended before it was said whether this was written; look at the file.",
                None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{Action, FileChange, FileOutcome, Subject};

    #[test]
    fn each_file_stands_as_its_writer_says_and_what_nobody_told_is_not_known() {
        // Given an edit of four files that is allowed
        let files = ["a", "b", "c", "d"]
            .map(|path| FileChange::of_texts(path, Some("x\n"), "y\n"))
            .into_iter()
            .collect();
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files })).unwrap();
        proposal.settle(true);
        // When one is made, one stands although it should not, one is left, and one belongs to another folder
        let told = |path: &str, root: Option<&str>, end| MadeFile {
            root: root.map(str::to_owned),
            path: path.to_owned(),
            end,
        };
        proposal.was_made(&Ok(vec![
            told("a", None, MadeEnd::Made { hash: Some("sha256:1".to_owned()) }),
            told("b", None, MadeEnd::Stands { hash: None, why: "It is locked.".to_owned() }),
            told("c", None, MadeEnd::Left { why: "It changed.".to_owned() }),
            told("d", Some("other"), MadeEnd::Made { hash: None }),
        ]));
        // Then
        let stands = |proposal: &Proposal| {
            let of = |file: &crate::domain::approval::ProposedFile| {
                (file.outcome(), file.applied_hash.clone(), file.problem.clone())
            };
            proposal.files.iter().map(of).collect::<Vec<_>>()
        };
        let expected = [
            (FileOutcome::Applied, Some("sha256:1".to_owned()), None),
            (FileOutcome::Applied, None, Some("It is locked.".to_owned())),
            (FileOutcome::Conflict, None, Some("It changed.".to_owned())),
            (FileOutcome::Pending, None, None),
        ];
        assert_eq!(stands(&proposal), expected);
        // And when nobody will say more, only the last one changes
        proposal.stays_unknown();
        let unknown = "The turn ended before it was said whether this was written; look at the file.";
        let last = (FileOutcome::Conflict, None, Some(unknown.to_owned()));
        assert_eq!(stands(&proposal)[..3], expected[..3]);
        assert_eq!(stands(&proposal)[3], last);
    }
}
