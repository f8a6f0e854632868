//! What an engine, and the card, are told of an edit that was decided in parts: what stands in which file, and what does not, and
//! why.
//!
//! Owns the words. Never sends them: `patches` and `on_request` do.

use std::fmt::Write as _;

use super::ports::{HunkRuling, PartMade};
use crate::domain::approval::{
    ChangeKind, FileOutcome, HunkPart, HunkState, Proposal, ProposedFile, ProposedHunk,
};

/// Bytes of the hunks that were not made, or were edited first, as the engine is told of them: it made them itself, so a reminder
/// is enough.
const REMINDER: usize = 8 * 1_024;

/// What the card says of an edit that was made here, whole or in part.
pub(super) fn part_label(proposal: &Proposal) -> Option<String> {
    let counts = proposal.counts();
    let is_written = proposal.hunks().any(|hunk| hunk.state == HunkState::Applied);
    let edited = match counts.edited {
        0 => String::new(),
        edited => format!(", {edited} as edited"),
    };
    is_written.then(|| match counts.accepted == counts.hunks && counts.edited == 0 {
        true => format!("Accept all {} changes", counts.hunks),
        false => format!("Accept {} of {} changes{edited}", counts.accepted, counts.hunks),
    })
}

/// What an engine is told whose edit was decided in parts.
pub(super) fn part_made(proposal: &Proposal) -> Option<PartMade> {
    let is_written = proposal.hunks().any(|hunk| hunk.state == HunkState::Applied);
    note(proposal).map(|note| PartMade { note, is_written, hunks: rulings(proposal) })
}

fn rulings(proposal: &Proposal) -> Vec<HunkRuling> {
    let of = |file: &ProposedFile, hunk: &ProposedHunk| HunkRuling {
        file_path: file.file_path.clone(),
        id: hunk.id.clone(),
        accepted: hunk.state == HunkState::Applied,
        content: hunk.diff.split_once('\n').filter(|_| hunk.edited).map(|(_, lines)| lines.to_owned()),
    };
    proposal.files.iter().flat_map(|file| file.hunks.iter().map(move |hunk| of(file, hunk))).collect()
}

/// What stands in which file, and what does not. `None`: it heard a plain answer, and there is no more to say.
fn note(proposal: &Proposal) -> Option<String> {
    let is_ours =
        proposal.files.iter().any(|file| file.has(HunkState::Applied) || file.has(HunkState::Conflict));
    let is_explained = proposal.is_none() && proposal.hunks().any(|hunk| hunk.reason.is_some());
    if !proposal.is_decided() || !(is_ours || is_explained) {
        return None;
    }
    let mut note = match proposal.is_none() {
        true => "The user rejected this edit, and no file was changed.".to_owned(),
        false => "The user decided on this edit change by change.".to_owned(),
    };
    if !proposal.is_none() {
        for file in &proposal.files {
            note.push(' ');
            note.push_str(&sentence(file));
        }
    }
    let lists = [
        (
            "Changes that the user edited first, as they stand in the files",
            listed(proposal, |hunk| hunk.edited && hunk.state == HunkState::Applied),
        ),
        ("Rejected changes", listed(proposal, |hunk| hunk.state == HunkState::Rejected)),
        ("Accepted changes that were not made", listed(proposal, |hunk| hunk.state == HunkState::Conflict)),
    ];
    for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        // Writing to a String cannot fail.
        let _ = write!(note, "{}{title}:\n{list}", if note.ends_with('\n') { "" } else { " " });
    }
    Some(note)
}

/// How a file stands.
fn sentence(file: &ProposedFile) -> String {
    let path = &file.file_path;
    let is_applied = |hunk: &&ProposedHunk| hunk.state == HunkState::Applied;
    let lines = |hunk: &&ProposedHunk| hunk.part == HunkPart::Lines;
    let made = file.hunks.iter().filter(lines).filter(is_applied).count();
    let of = file.hunks.iter().filter(lines).count();
    let whole = file.hunks.iter().any(|hunk| hunk.part == HunkPart::File && hunk.state == HunkState::Applied);
    let hash = file.applied_hash.as_ref().map_or(String::new(), |hash| format!(" and is now {hash}"));
    let at = match (file.change, &file.old_path) {
        (ChangeKind::Rename, Some(old)) if !whole => old,
        (_, _) => path,
    };
    match (file.outcome(), &file.problem) {
        (FileOutcome::Conflict, Some(problem)) => return problem.clone(),
        (FileOutcome::Conflict | FileOutcome::Rejected | FileOutcome::Pending | FileOutcome::Reverted, _) => {
            return format!("`{at}` was left as it is.");
        }
        (FileOutcome::Applied | FileOutcome::Partly, _) => {}
    }
    let done = match (whole, file.change, &file.old_path) {
        (true, ChangeKind::Delete, _) => return format!("`{path}` was deleted."),
        (true, ChangeKind::Rename, Some(old)) => format!("`{old}` was renamed to `{path}`. "),
        (true, ChangeKind::Modify, _) => format!("The mode of `{path}` was changed. "),
        (_, _, _) => String::new(),
    };
    let text = match (made, of) {
        (_, 0) => format!("`{at}` stands as proposed{hash}, so do not make that again."),
        (0, _) => format!("`{at}` has none of its {of} changes of text{hash}; leave them out."),
        (made, of) if made == of => {
            format!("`{at}` has all of its {of} changes{hash}, so do not make them again.")
        }
        (made, of) => {
            format!(
                "`{at}` has {made} of its {of} changes{hash}, so do not make those again, and leave the others out."
            )
        }
    };
    done + &text
}

/// Those changes, with their reasons, as far as a reminder goes.
fn listed(proposal: &Proposal, wanted: impl Fn(&ProposedHunk) -> bool) -> String {
    let mut list = String::new();
    for file in &proposal.files {
        for hunk in file.hunks.iter().filter(|hunk| wanted(hunk)) {
            let because = hunk.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
            let text = match hunk.part {
                HunkPart::Lines => format!("`{}`{because}:\n{}", file.file_path, hunk.diff),
                HunkPart::File => format!("{}{because}.\n", file.what()),
                HunkPart::Content => format!("The content of `{}`{because}.\n", file.file_path),
            };
            if list.len() + text.len() > REMINDER {
                list.push_str("and more.\n");
                return list;
            }
            list.push_str(&text);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{Action, Decided, FileChange, Subject};

    #[test]
    fn an_engine_is_told_what_stands_in_which_file_and_what_does_not() {
        // Given two changes in one file, one in each of two others
        let old = (1..30).map(|line| format!("{line}\n")).collect::<String>();
        let new = old.replace("\n3\n", "\nthree\n").replace("\n25\n", "\ntwenty-five\n");
        let files = vec![
            FileChange::of_texts("a", Some(&old), &new),
            FileChange::of_texts("b", Some("x\n"), "y\n"),
            FileChange::of_texts("c", Some("x\n"), "y\n"),
        ];
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files })).unwrap();
        assert_eq!((note(&proposal), part_label(&proposal)), (None, None));
        // When the second is rejected, and one file has changed
        let second = proposal.files[0].hunks[1].id.clone();
        proposal.decide(Decided::Hunk { id: &second }, false, Some("keep the number")).unwrap();
        proposal.settle(true);
        proposal.files[0].is_applied(Some("sha256:1"));
        proposal.files[1].is_applied(Some("sha256:2"));
        proposal.files[2].is_conflict("`c` is not what it was.", None);
        // Then
        assert_eq!(part_label(&proposal).as_deref(), Some("Accept 2 of 4 changes"));
        assert_eq!(
            note(&proposal).as_deref(),
            Some(
                "The user decided on this edit change by change. `a` has 1 of its 2 changes and is now sha256:1, so do not \
                 make those again, and leave the others out. `b` has all of its 1 changes and is now sha256:2, so do not make them again. `c` is not what it was. \
                 Rejected changes:\n`a` (keep the number):\n@@ -22,7 +22,7 @@\n 22\n 23\n 24\n-25\n+twenty-five\n 26\n 27\n 28\n\
                 Accepted changes that were not made:\n`c`:\n@@ -1,1 +1,1 @@\n-x\n+y\n"
            )
        );
    }

    #[test]
    fn an_engine_is_told_which_change_the_user_edited_and_how() {
        // Given one change, which the user edits and accepts
        let files = vec![FileChange::of_texts("b", Some("x\n"), "y\n")];
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files })).unwrap();
        let id = proposal.files[0].hunks[0].id.clone();
        proposal.edit(&id, "-x\n+z\n").unwrap();
        proposal.settle(true);
        proposal.files[0].is_applied(Some("sha256:1"));
        // Then
        assert_eq!(part_label(&proposal).as_deref(), Some("Accept 1 of 1 changes, 1 as edited"));
        assert_eq!(
            note(&proposal).as_deref(),
            Some(
                "The user decided on this edit change by change. `b` has all of its 1 changes and is now sha256:1, so do not make \
                 them again. Changes that the user edited first, as they stand in the files:\n`b`:\n@@ -1,1 +1,1 @@\n-x\n+z\n"
            )
        );
    }
}
