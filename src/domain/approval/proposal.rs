//! An edit that waits for permission, hunk by hunk.
//!
//! Owns the names of its hunks, what was decided of each, and when everything is. Never applies a hunk: `edits::apply` does,
//! and never asks for one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::change::{ChangeKind, FileChange};
use super::subject::{Action, Subject};
use crate::domain::edits::diff::hunk_body;
use crate::domain::edits::patch::{self, Hunk};
use crate::domain::edits::text::hex;

/// What was decided of a hunk, and what became of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HunkState {
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
pub(crate) enum FileOutcome {
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
pub(crate) struct ProposedHunk {
    /// Made of what it changes, so that it stays while its neighbours come and go.
    pub id: String,
    /// The hunk with its `@@` line.
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

/// One file of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposedFile {
    /// Relative to its folder.
    pub file_path: String,
    /// Name of the folder, where several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// What happens to it.
    pub change: ChangeKind,
    /// In the order of the file.
    pub hunks: Vec<ProposedHunk>,
    /// Hash of the file after what was accepted was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_hash: Option<String>,
    /// Why it could not be written, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An edit of an engine, in its own characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// Its files, each once.
    pub files: Vec<ProposedFile>,
}

/// A decision on some hunks of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided<'a> {
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
pub(crate) enum NotDecided {
    /// There is no such file or hunk.
    Unknown,
    /// It was decided before, otherwise.
    Twice,
}

impl Proposal {
    /// The proposal of a subject whose paths are placed. `None`: it is no edit, or one that can only be taken or left as a whole,
    /// since it was not told whole or does more than change text.
    pub(crate) fn of(subject: &Subject) -> Option<Self> {
        let Action::Edit { files } = &subject.action else { return None };
        if subject.unknown || subject.truncated || files.is_empty() {
            return None;
        }
        let files = files.iter().map(ProposedFile::of).collect::<Option<Vec<_>>>()?;
        Some(Self { files })
    }

    /// Every hunk.
    pub(crate) fn hunks(&self) -> impl Iterator<Item = &ProposedHunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    /// Whether every hunk is decided.
    pub(crate) fn is_decided(&self) -> bool {
        self.hunks().all(|hunk| hunk.state != HunkState::Proposed)
    }

    /// Whether every hunk was accepted as its engine proposed it.
    pub(crate) fn is_all(&self) -> bool {
        self.hunks()
            .all(|hunk| matches!(hunk.state, HunkState::Accepted | HunkState::Applied) && !hunk.edited)
    }

    /// Whether every hunk was rejected.
    pub(crate) fn is_none(&self) -> bool {
        self.hunks().all(|hunk| hunk.state == HunkState::Rejected)
    }

    /// Takes a decision. The same one again changes nothing.
    pub(crate) fn decide(
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
    pub(crate) fn edit(&mut self, id: &str, lines: &str) -> Result<(), NotEdited> {
        let mut hunks = self.files.iter_mut().flat_map(|file| &mut file.hunks);
        let hunk = hunks.find(|hunk| hunk.id == id).ok_or(NotEdited::Unknown)?;
        let proposed = read_hunk(&hunk.diff).pop().ok_or(NotEdited::Unknown)?;
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
    pub(crate) fn settle(&mut self, accepted: bool) {
        // Nothing of it can be decided twice: only what waits is touched.
        let _ = self.decide(Decided::All, accepted, None);
    }

    /// Files and hunks that were accepted, and all hunks: `(1, 2, 3)` of two hunks in one file out of three.
    pub(crate) fn counts(&self) -> ProposalCounts {
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
pub(crate) enum NotEdited {
    /// There is no such hunk.
    Unknown,
    /// It was decided before.
    Decided,
    /// One sentence: it is no hunk, or one of another place.
    Unreadable(&'static str),
}

/// How many hunks were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProposalCounts {
    /// Those that were.
    pub accepted: usize,
    /// Those that the user changed first.
    pub edited: usize,
    /// All of them.
    pub hunks: usize,
}

impl ProposedFile {
    fn of(change: &FileChange) -> Option<Self> {
        let whole = match change.change {
            ChangeKind::Modify | ChangeKind::Create => {
                change.diff.as_deref().filter(|_| !change.truncated)?
            }
            ChangeKind::Delete | ChangeKind::Rename => return None,
        };
        // A file is whole only when its old text was told too.
        change.removed?;
        let read = patch::parse(whole).ok()?;
        let [only] = read.as_slice() else { return None };
        let mut hunks: Vec<ProposedHunk> = Vec::new();
        for hunk in &only.hunks {
            let diff = hunk_body(hunk);
            let mut id = hunk_id(change, hunk, 0);
            // The same change twice in a file: the second one is named as such.
            let mut nth = 1;
            while hunks.iter().any(|known| known.id == id) {
                id = hunk_id(change, hunk, nth);
                nth += 1;
            }
            hunks.push(ProposedHunk { id, diff, state: HunkState::Proposed, reason: None, edited: false });
        }
        Some(Self {
            file_path: change.file_path.clone(),
            root: change.root.clone(),
            change: change.change,
            hunks,
            applied_hash: None,
            problem: None,
        })
    }

    /// The accepted hunks, to be applied.
    pub(crate) fn accepted(&self) -> Vec<Hunk> {
        let accepted = self.hunks.iter().filter(|hunk| hunk.state == HunkState::Accepted);
        accepted.flat_map(|hunk| read_hunk(&hunk.diff)).collect()
    }

    /// The hunks that stand in the file, turned round.
    pub(crate) fn applied_reversed(&self) -> Vec<Hunk> {
        let applied = self.hunks.iter().filter(|hunk| hunk.state == HunkState::Applied);
        // Where a hunk stands depends on those that were applied before it, and not on those that were not.
        let mut moved = 0_i64;
        let mut reversed = Vec::new();
        for mut hunk in applied.flat_map(|hunk| read_hunk(&hunk.diff)) {
            if hunk.old_start > 0 {
                hunk.new_start = hunk.old_start.saturating_add_signed(moved);
            }
            let of_kind = |kind| hunk.lines.iter().filter(|line| line.kind == kind).count() as i64;
            moved += of_kind(patch::LineKind::Added) - of_kind(patch::LineKind::Removed);
            reversed.push(hunk.reversed());
        }
        reversed
    }

    /// What was accepted stands in the file, whose bytes have this hash.
    pub(crate) fn is_applied(&mut self, hash: &str) {
        self.applied_hash = Some(hash.to_owned());
        self.turn(HunkState::Accepted, HunkState::Applied);
    }

    /// What was accepted could not be written.
    pub(crate) fn is_conflict(&mut self, problem: &str) {
        self.problem = Some(problem.to_owned());
        self.turn(HunkState::Accepted, HunkState::Conflict);
    }

    /// What stood in the file was taken back, and its bytes have this hash.
    pub(crate) fn is_reverted(&mut self, hash: &str) {
        (self.applied_hash, self.problem) = (Some(hash.to_owned()), None);
        self.turn(HunkState::Applied, HunkState::Reverted);
    }

    /// The engine was told to make all that was accepted. Whether it did shows when it is taken back.
    pub(crate) fn was_left_to_engine(&mut self) {
        self.turn(HunkState::Accepted, HunkState::Applied);
    }

    fn turn(&mut self, from: HunkState, into: HunkState) {
        for hunk in self.hunks.iter_mut().filter(|hunk| hunk.state == from) {
            hunk.state = into;
        }
    }

    /// What became of it.
    pub(crate) fn outcome(&self) -> FileOutcome {
        let any = |state: HunkState| self.hunks.iter().any(|hunk| hunk.state == state);
        if any(HunkState::Proposed) || any(HunkState::Accepted) {
            FileOutcome::Pending
        } else if any(HunkState::Conflict) {
            FileOutcome::Conflict
        } else if any(HunkState::Reverted) && !any(HunkState::Applied) {
            FileOutcome::Reverted
        } else if !any(HunkState::Applied) {
            FileOutcome::Rejected
        } else if any(HunkState::Rejected) {
            FileOutcome::Partly
        } else {
            FileOutcome::Applied
        }
    }
}

fn read_hunk(diff: &str) -> Vec<Hunk> {
    // It was written by `hunk_body`.
    patch::parse(diff).unwrap_or_default().into_iter().flat_map(|file| file.hunks).collect()
}

/// Of the file and the lines that change and stay, and not of the line numbers, which others move.
fn hunk_id(change: &FileChange, hunk: &Hunk, nth: u32) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    part(change.root.as_deref().unwrap_or_default());
    part(&change.file_path);
    for line in &hunk.lines {
        part(match line.kind {
            patch::LineKind::Context => " ",
            patch::LineKind::Removed => "-",
            patch::LineKind::Added => "+",
        });
        part(&line.text);
    }
    hash.update(nth.to_le_bytes());
    hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::edits::apply::apply_hunks;

    const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

    fn proposal(changes: Vec<FileChange>) -> Proposal {
        Proposal::of(&Subject::new(Action::Edit { files: changes })).unwrap()
    }

    /// Two hunks in `a`, one in `b`.
    fn three_hunks() -> Proposal {
        let new = OLD.replace("2\n3\n", "two\n3\n").replace("18\n", "eighteen\n");
        proposal(vec![
            FileChange::of_texts("a", Some(OLD), &new),
            FileChange::of_texts("b", Some("x\n"), "y\n"),
        ])
    }

    fn states(proposal: &Proposal) -> Vec<HunkState> {
        proposal.hunks().map(|hunk| hunk.state).collect()
    }

    #[test]
    fn r002_45_a_decision_is_on_all_on_a_file_or_on_a_hunk_and_the_first_one_counts() {
        use HunkState::{Accepted, Proposed, Rejected};
        // Given
        let mut proposed = three_hunks();
        let ids: Vec<String> = proposed.hunks().map(|hunk| hunk.id.clone()).collect();
        assert_eq!(states(&proposed), [Proposed; 3]);
        // When one hunk is rejected, and the rest of its file accepted
        proposed.decide(Decided::Hunk { id: &ids[1] }, false, Some("not that one")).unwrap();
        proposed.decide(Decided::File { path: "a", root: None }, true, None).unwrap();
        // Then what was decided first stays
        assert_eq!(states(&proposed), [Accepted, Rejected, Proposed]);
        assert_eq!(proposed.files[0].hunks[1].reason.as_deref(), Some("not that one"));
        // And nothing is decided twice, unless in the same way
        let twice = proposed.decide(Decided::Hunk { id: &ids[0] }, false, None);
        assert_eq!(twice, Err(NotDecided::Twice));
        assert_eq!(proposed.decide(Decided::Hunk { id: &ids[0] }, true, None), Ok(()));
        for unknown in [Decided::Hunk { id: "z" }, Decided::File { path: "c", root: None }] {
            assert_eq!(proposed.decide(unknown, true, None), Err(NotDecided::Unknown));
        }
        assert!(!proposed.is_decided());
        proposed.settle(true);
        assert_eq!(states(&proposed), [Accepted, Rejected, Accepted]);
        assert!(proposed.is_decided() && !proposed.is_all() && !proposed.is_none());
        assert_eq!(proposed.counts(), ProposalCounts { accepted: 2, edited: 0, hunks: 3 });
        // And a file is one outcome
        assert_eq!(proposed.files[0].outcome(), FileOutcome::Pending);
        proposed.files[0].is_applied("sha256:1");
        proposed.files[1].is_conflict("It changed.");
        assert_eq!(
            proposed.files.iter().map(ProposedFile::outcome).collect::<Vec<_>>(),
            [FileOutcome::Partly, FileOutcome::Conflict]
        );
    }

    #[test]
    fn r002_45_a_hunk_that_the_user_changes_is_made_as_changed_and_is_not_the_engines_any_more() {
        // Given
        let mut proposed = three_hunks();
        let ids: Vec<String> = proposed.hunks().map(|hunk| hunk.id.clone()).collect();
        let lines = |new: &str| format!(" 1\n-2\n{new} 3\n 4\n 5\n");
        // When one is changed, then it keeps its name and its place
        assert_eq!(proposed.edit(&ids[0], &lines("+zwei\n+due\n")), Ok(()));
        proposed.settle(true);
        assert_eq!(proposed.hunks().map(|hunk| hunk.id.clone()).collect::<Vec<_>>(), ids);
        assert!(proposed.is_decided() && !proposed.is_all());
        assert_eq!(proposed.counts(), ProposalCounts { accepted: 3, edited: 1, hunks: 3 });
        let made = OLD.replace("2\n3\n", "zwei\ndue\n3\n").replace("18\n", "eighteen\n");
        assert_eq!(apply_hunks(OLD, &proposed.files[0].accepted()).unwrap(), made);
        // And it comes back as it was made
        proposed.files[0].is_applied("sha256:");
        assert_eq!(apply_hunks(&made, &proposed.files[0].applied_reversed()).unwrap(), OLD);
        // And what was decided is changed no more, and what was not changed is the engine's
        assert_eq!(proposed.edit(&ids[0], &lines("+x\n")), Err(NotEdited::Decided));
        let mut same = three_hunks();
        assert_eq!(same.edit(&ids[0], &lines("+two\n")), Ok(()));
        assert_eq!(same, three_hunks());
        assert_eq!(same.edit("z", &lines("+x\n")), Err(NotEdited::Unknown));
    }

    #[test]
    fn a_hunk_that_was_changed_into_no_hunk_of_its_place_is_refused() {
        let mut proposed = three_hunks();
        let id = proposed.files[0].hunks[0].id.clone();
        for no in [
            "",
            "\n",
            " 1\n-2\n+two\n 3\n 4\n",
            " 1\n-2\n+two\n 3\n 4\n 6\n",
            " 1\n 2\n 3\n 4\n 5\n",
            " 1\n-2\n+two\n 3\n 4\n 5\n@@ -9,1 +9,1 @@\n-9\n+nine\n",
        ] {
            assert!(matches!(proposed.edit(&id, no), Err(NotEdited::Unreadable(_))), "{no:?}");
        }
        assert_eq!(proposed, three_hunks());
        // A blank context line may have lost its space, and a line that goes may stay after all
        let kept = proposal(vec![FileChange::of_texts("a", Some("a\n\nb\n"), "A\n\nB\n")]);
        let id = kept.files[0].hunks[0].id.clone();
        let mut kept = kept;
        assert_eq!(kept.edit(&id, "-a\n+A\n\n b\n"), Ok(()));
        kept.settle(true);
        assert_eq!(apply_hunks("a\n\nb\n", &kept.files[0].accepted()).unwrap(), "A\n\nb\n");
    }

    #[test]
    fn what_the_user_types_into_a_hunk_has_the_line_ends_of_its_file() {
        let old = OLD.replace('\n', "\r\n");
        let mut proposed =
            proposal(vec![FileChange::of_texts("a", Some(&old), &old.replace("2\r\n3", "two\r\n3"))]);
        let id = proposed.files[0].hunks[0].id.clone();
        // An editor of the user may have written the hunk with either.
        assert_eq!(proposed.edit(&id, " 1\n-2\n+zwei\n+due\n 3\r\n 4\n 5\n"), Ok(()));
        proposed.settle(true);
        let made = apply_hunks(&old, &proposed.files[0].accepted()).unwrap();
        assert_eq!(made, old.replace("2\r\n3", "zwei\r\ndue\r\n3"));
    }

    #[test]
    fn what_was_not_told_whole_or_is_no_text_is_taken_or_left_as_a_whole() {
        let untold = FileChange::untold("a", ChangeKind::Modify);
        let rewritten = FileChange::rewritten("a", "new\n");
        let gone = FileChange { change: ChangeKind::Delete, ..FileChange::of_texts("a", Some("x\n"), "") };
        let cut = FileChange { truncated: true, ..FileChange::of_texts("a", Some("x\n"), "y\n") };
        for change in [untold, rewritten, gone, FileChange::renamed("a", "b"), cut] {
            let whole = FileChange::of_texts("c", None, "z\n");
            let subject = Subject::new(Action::Edit { files: vec![whole, change.clone()] });
            assert_eq!(Proposal::of(&subject), None, "{change:?}");
        }
        let edit = || Action::Edit { files: vec![FileChange::of_texts("c", None, "z\n")] };
        assert_eq!(Proposal::of(&Subject::unknown(edit())), None);
        assert!(Proposal::of(&Subject::new(edit())).is_some());
    }

    #[test]
    fn a_hunk_keeps_its_id_when_others_come_before_it_and_two_of_a_kind_have_two() {
        // Given the last change alone, and behind others that move it
        let alone = proposal(vec![FileChange::of_texts("a", Some(OLD), &OLD.replace("18\n", "eighteen\n"))]);
        let behind = three_hunks();
        assert_eq!(alone.files[0].hunks[0].id, behind.files[0].hunks[1].id);
        // And of two changes that read the same each has a name
        let block = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let old = block.repeat(2);
        let twice = proposal(vec![FileChange::of_texts("a", Some(&old), &old.replace("d\n", "D\n"))]);
        let ids: Vec<&str> = twice.hunks().map(|hunk| hunk.id.as_str()).collect();
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1]);
    }

    proptest! {
        /// Any accepted subset equals the reference: the new lines at the accepted places, the old ones elsewhere; and turned
        /// round it gives the old text back.
        #[test]
        fn an_accepted_subset_equals_the_reference_and_comes_back(
            changed in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..8),
            line_end in prop_oneof![Just("\n"), Just("\r\n")],
            is_last_bare in any::<bool>(),
        ) {
            // Given places ten lines apart, each changed or not, accepted or not
            let text = |at: &dyn Fn(usize) -> bool| {
                let mut lines: Vec<String> = Vec::new();
                for place in 0..changed.len() {
                    lines.extend((0..10).map(|line| match (line, at(place)) {
                        (5, true) => format!("new {place}{line_end}"),
                        _ => format!("{place} {line}{line_end}"),
                    }));
                }
                let mut text = lines.concat();
                if is_last_bare {
                    text.truncate(text.len() - line_end.len());
                }
                text
            };
            let old = text(&|_| false);
            let new = text(&|place| changed[place].0);
            prop_assume!(old != new);
            let mut proposed = proposal(vec![FileChange::of_texts("a", Some(&old), &new)]);
            let places: Vec<usize> = (0..changed.len()).filter(|place| changed[*place].0).collect();
            prop_assert_eq!(proposed.hunks().count(), places.len());
            let ids: Vec<String> = proposed.hunks().map(|hunk| hunk.id.clone()).collect();
            for (id, place) in ids.iter().zip(&places) {
                proposed.decide(Decided::Hunk { id }, changed[*place].1, None).unwrap();
            }
            // When
            let file = &mut proposed.files[0];
            let made = apply_hunks(&old, &file.accepted()).unwrap();
            file.is_applied("sha256:");
            // Then
            prop_assert_eq!(&made, &text(&|place| changed[place] == (true, true)));
            prop_assert_eq!(apply_hunks(&made, &file.applied_reversed()).unwrap(), old);
        }
    }
}
