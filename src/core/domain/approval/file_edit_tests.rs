//! What accepted parts make of the file that is there, and what they are refused.

use proptest::prelude::*;

use super::*;
use crate::domain::approval::{Action, Decided, FileChange, Proposal, Subject};

fn base(text: &str) -> BaseFile {
    BaseFile { text: Ok(text.to_owned()), hash: content_hash(text.as_bytes()) }
}

/// The only file of an edit, all of it accepted.
fn accepted(change: FileChange) -> ProposedFile {
    let mut proposal = Proposal::of(&Subject::new(Action::Edit { files: vec![change] })).unwrap();
    proposal.settle(true);
    proposal.files.remove(0)
}

fn of_diff(diff: &str) -> FileChange {
    FileChange::of_diff(diff, None).remove(0)
}

#[test]
fn a_deletion_takes_what_was_shown_and_nothing_else() {
    let gone = accepted(FileChange::deleted("a", "x\ny\n"));
    let edit = FileEdit::Delete { base_hash: content_hash(b"x\ny\n") };
    assert_eq!(gone.edit(HunkWay::In, Some(&base("x\ny\n"))), Ok(edit));
    let refused = gone.edit(HunkWay::In, Some(&base("x\ntyped\n"))).unwrap_err();
    assert_eq!(refused.why, "Its text changed.");
    let sides = ConflictSides {
        hunk_id: Some(gone.hunks[0].id.clone()),
        line: Some(1),
        there: Some("x\ntyped\n".to_owned()),
        wanted: "@@ -1,2 +0,0 @@\n-x\n-y\n".to_owned(),
    };
    assert_eq!(refused.sides, sides);
    // One whose text nobody told is bound by what was read when it was asked for
    let mut untold = accepted(FileChange::untold("a", ChangeKind::Delete));
    assert!(untold.edit(HunkWay::In, Some(&base("anything"))).is_ok());
    untold.base_hash = Some(content_hash(b"read"));
    assert!(untold.edit(HunkWay::In, Some(&base("read"))).is_ok());
    assert_eq!(untold.edit(HunkWay::In, Some(&base("other"))).unwrap_err().why, "Its text changed.");
    let nothing = untold.edit(HunkWay::In, None).unwrap_err();
    assert_eq!((nothing.why.as_str(), nothing.sides.wanted.as_str()), ("The file is gone.", "Delete `a`."));
}

#[test]
fn a_rename_moves_the_file_with_the_accepted_lines_and_comes_back() {
    let diff =
        "diff --git a/old b/new\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-x\n+y\n";
    let mut both = accepted(of_diff(diff));
    assert_eq!(both.place(HunkWay::In), "old");
    let moved = FileEdit::Move {
        to: "new".to_owned(),
        base_hash: content_hash(b"x\n"),
        text: Some("y\n".to_owned()),
        mode: None,
    };
    assert_eq!(both.edit(HunkWay::In, Some(&base("x\n"))), Ok(moved));
    both.is_applied(Some(&content_hash(b"y\n")));
    assert_eq!(both.place(HunkWay::Out), "new");
    let back = FileEdit::Move {
        to: "old".to_owned(),
        base_hash: content_hash(b"y\n"),
        text: Some("x\n".to_owned()),
        mode: None,
    };
    assert_eq!(both.edit(HunkWay::Out, Some(&base("y\n"))), Ok(back));
    // The lines alone stay where the file is
    let subject = Subject::new(Action::Edit { files: vec![of_diff(diff)] });
    let mut lines = Proposal::of(&subject).unwrap();
    let id = lines.files[0].hunks[0].id.clone();
    lines.decide(Decided::Hunk { id: &id }, false, None).unwrap();
    lines.settle(true);
    assert_eq!(lines.files[0].place(HunkWay::In), "old");
    let edit = lines.files[0].edit(HunkWay::In, Some(&base("x\n")));
    let text = FileEdit::Text { base_hash: Some(content_hash(b"x\n")), text: "y\n".to_owned(), mode: None };
    assert_eq!(edit, Ok(text));
}

#[test]
fn a_new_file_is_taken_back_only_while_it_holds_what_was_made() {
    let mut new = accepted(FileChange::of_texts("a", None, "x\n"));
    let made = FileEdit::Text { base_hash: None, text: "x\n".to_owned(), mode: None };
    assert_eq!(new.edit(HunkWay::In, None), Ok(made));
    assert!(new.edit(HunkWay::In, Some(&base("there\n"))).is_err());
    new.is_applied(Some(&content_hash(b"x\n")));
    let gone = FileEdit::Delete { base_hash: content_hash(b"x\n") };
    assert_eq!(new.edit(HunkWay::Out, Some(&base("x\n"))), Ok(gone));
    let refused = new.edit(HunkWay::Out, Some(&base("x\nmore\n"))).unwrap_err();
    assert_eq!(refused.sides.there.as_deref(), Some("x\n"));
    assert!(new.edit(HunkWay::Out, None).is_err());
}

#[test]
fn a_deletion_comes_back_where_its_text_is_known_to_the_byte() {
    let mut gone = accepted(FileChange::deleted("a", "x\r\ny"));
    gone.base_hash = Some(content_hash(b"x\r\ny"));
    gone.is_applied(None);
    let back = FileEdit::Text { base_hash: None, text: "x\r\ny".to_owned(), mode: None };
    assert_eq!(gone.edit(HunkWay::Out, None), Ok(back));
    gone.base_hash = Some(content_hash(b"in another encoding"));
    assert!(gone.edit(HunkWay::Out, None).is_err());
}

#[test]
fn a_file_that_is_no_text_is_not_patched_and_is_moved_and_deleted_as_it_is() {
    let blob = BaseFile { text: Err("It is not text.".to_owned()), hash: "sha256:b".to_owned() };
    let text = accepted(FileChange::of_texts("a", Some("x\n"), "y\n"));
    assert_eq!(text.edit(HunkWay::In, Some(&blob)).unwrap_err().why, "It is not text.");
    let moved = accepted(FileChange::renamed("a", "b"));
    assert!(matches!(moved.edit(HunkWay::In, Some(&blob)), Ok(FileEdit::Move { text: None, .. })));
}

#[test]
fn a_file_that_changed_takes_a_hunk_whose_lines_are_there_once_and_no_other() {
    // Given a hunk of the second of two blocks that read the same
    let old = "fn a() {\n    x\n}\n".repeat(2);
    let new = format!("fn a() {{\n    x\n}}\n{}", "fn a() {\n    y\n}\n");
    let mut file = accepted(FileChange::of_texts("a", Some(&old), &new));
    file.base_hash = Some(content_hash(old.as_bytes()));
    let edit = file.edit(HunkWay::In, Some(&base(&old)));
    assert_eq!(edit, Ok(FileEdit::Text { base_hash: file.base_hash.clone(), text: new, mode: None }));
    // When three lines came above, so that the first block stands where the second one was
    let shifted = format!("fn a() {{\n    x\n}}\n{old}");
    // Then nobody knows which is meant
    let refused = file.edit(HunkWay::In, Some(&base(&shifted))).unwrap_err();
    assert!(refused.why.contains("other places"), "{}", refused.why);
    assert_eq!(refused.sides.hunk_id.as_deref(), Some(file.hunks[0].id.as_str()));
    assert!(refused.sides.wanted.contains("+    y"), "{:?}", refused.sides);
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a"), Just("b"), Just(""), Just("é"), Just("--- c"), Just("@@ d")];
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n")];
    (proptest::collection::vec((line, end), 0..40), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        if !ended && text.ends_with('\n') {
            text.pop();
        }
        text
    })
}

proptest! {
    /// Any texts, any accepted subset: what is made equals the old text with the accepted hunks put in at their line numbers, line
    /// ends and the missing last one included; and taken out again it is the old text.
    #[test]
    fn r002_45_79_any_accepted_subset_of_any_texts_equals_the_reference(
        old in lines(), new in lines(), chosen in proptest::collection::vec(any::<bool>(), 40),
    ) {
        prop_assume!(old != new && !old.is_empty());
        let change = FileChange::of_texts("a", Some(&old), &new);
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files: vec![change] })).unwrap();
        let hunks: Vec<(String, Hunk)> = proposal
            .hunks()
            .flat_map(|hunk| hunks_of(&hunk.diff).into_iter().map(move |read| (hunk.id.clone(), read)))
            .collect();
        for ((id, _), accept) in hunks.iter().zip(&chosen) {
            proposal.decide(Decided::Hunk { id }, *accept, None).unwrap();
        }
        let file = &mut proposal.files[0];
        prop_assume!(file.has(HunkState::Accepted));
        // Given the reference: whole lines, by number, from the last hunk to the first
        let mut expected: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
        for ((_, hunk), _) in hunks.iter().zip(&chosen).filter(|(_, accept)| **accept).rev() {
            let gone = hunk.lines.iter().filter(|line| line.kind != LineKind::Added).count();
            let from = usize::try_from(hunk.old_start.max(1) - 1).unwrap();
            let stays = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
            expected.splice(from..from + gone, stays.map(|line| line.text.clone()));
        }
        // When
        let edit = file.edit(HunkWay::In, Some(&base(&old)));
        // Then
        let Ok(FileEdit::Text { text, .. }) = edit else { panic!("{edit:?}") };
        prop_assert_eq!(&text, &expected.concat());
        file.is_applied(Some(&content_hash(text.as_bytes())));
        let back = file.edit(HunkWay::Out, Some(&base(&text)));
        let Ok(FileEdit::Text { text, .. }) = back else { panic!("{back:?}") };
        prop_assert_eq!(text, old);
    }

    /// A file that is another one by now: the accepted hunks stand in it once, what was written beside them is there still, or it
    /// is a conflict with both sides.
    #[test]
    fn what_was_written_elsewhere_stays_or_it_is_a_conflict_with_both_sides(
        old in lines(), new in lines(), above in "[xyz\n]{0,8}",
    ) {
        prop_assume!(old != new && !old.is_empty());
        let mut file = accepted(FileChange::of_texts("a", Some(&old), &new));
        file.base_hash = Some(content_hash(old.as_bytes()));
        let typed = format!("{above}\n{old}");
        match file.edit(HunkWay::In, Some(&base(&typed))) {
            Ok(FileEdit::Text { text, .. }) => prop_assert_eq!(text, format!("{above}\n{new}")),
            Ok(other) => panic!("{other:?}"),
            Err(not_made) => {
                prop_assert!(!not_made.why.is_empty() && !not_made.sides.wanted.is_empty());
                prop_assert!(not_made.sides.there.is_some());
            }
        }
    }
}
