//! Decisions on an edit, part by part, and what an accepted part makes of a text.

use proptest::prelude::*;

use super::*;
use crate::domain::approval::{BaseFile, ChangeKind, FileChange, FileEdit, FileOutcome, HunkWay};
use crate::domain::edits::text::content_hash;

const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

fn proposal(changes: Vec<FileChange>) -> Proposal {
    Proposal::of(&Subject::new(Action::Edit { files: changes })).unwrap()
}

/// Two hunks in `a`, one in `b`.
fn three_hunks() -> Proposal {
    let new = OLD.replace("2\n3\n", "two\n3\n").replace("18\n", "eighteen\n");
    proposal(vec![FileChange::of_texts("a", Some(OLD), &new), FileChange::of_texts("b", Some("x\n"), "y\n")])
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
    proposed.files[0].is_applied(Some("sha256:1"));
    proposed.files[1].is_conflict("It changed.", None);
    assert_eq!(
        proposed.files.iter().map(ProposedFile::outcome).collect::<Vec<_>>(),
        [FileOutcome::Partly, FileOutcome::Conflict]
    );
}

/// A text with what was accepted of a file, or without what stands in it.
fn done(file: &ProposedFile, way: HunkWay, text: &str) -> String {
    let base = BaseFile { text: Ok(text.to_owned()), hash: content_hash(text.as_bytes()) };
    match file.edit(way, Some(&base)) {
        Ok(FileEdit::Text { text, .. }) => text,
        other => panic!("{other:?}"),
    }
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
    assert_eq!(done(&proposed.files[0], HunkWay::In, OLD), made);
    // And it comes back as it was made
    proposed.files[0].is_applied(None);
    assert_eq!(done(&proposed.files[0], HunkWay::Out, &made), OLD);
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
    assert_eq!(done(&kept.files[0], HunkWay::In, "a\n\nb\n"), "A\n\nb\n");
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
    let made = done(&proposed.files[0], HunkWay::In, &old);
    assert_eq!(made, old.replace("2\r\n3", "zwei\r\ndue\r\n3"));
}

#[test]
fn what_was_not_told_whole_is_taken_or_left_as_a_whole() {
    let untold = FileChange::untold("a", ChangeKind::Modify);
    let rewritten = FileChange::rewritten("a", "new\n");
    let cut = FileChange { truncated: true, ..FileChange::of_texts("a", Some("x\n"), "y\n") };
    let link =
        FileChange { mode: Some("120000".to_owned()), ..FileChange::of_texts("a", None, "/etc/passwd") };
    let twice = FileChange::of_texts("c", Some("z\n"), "y\n");
    for change in [untold, rewritten, cut, link, twice] {
        let whole = FileChange::of_texts("c", None, "z\n");
        let subject = Subject::new(Action::Edit { files: vec![whole, change.clone()] });
        assert_eq!(Proposal::of(&subject), None, "{change:?}");
    }
    let edit = || Action::Edit { files: vec![FileChange::of_texts("c", None, "z\n")] };
    assert_eq!(Proposal::of(&Subject::unknown(edit())), None);
    assert!(Proposal::of(&Subject::new(edit())).is_some());
}

#[test]
fn r002_45_a_deletion_a_rename_a_mode_and_a_file_that_is_no_text_are_parts_of_their_own() {
    // Given
    let diff = "diff --git a/old b/new\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-x\n+y\n\
                diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n\
                diff --git a/logo.png b/logo.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nzcmZ\n\n\
                diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                diff --git a/empty b/empty\nnew file mode 100644\n";
    let subject = Subject::editing(FileChange::of_diff(diff, None));
    // When
    let mut proposed = Proposal::of(&subject).unwrap();
    // Then
    let parts: Vec<_> = proposed
        .files
        .iter()
        .flat_map(|file| {
            file.hunks.iter().map(move |hunk| (file.file_path.as_str(), hunk.part, hunk.diff.as_str()))
        })
        .collect();
    let whole = HunkPart::File;
    assert_eq!(
        parts,
        [
            ("new", whole, ""),
            ("new", HunkPart::Lines, "@@ -1,1 +1,1 @@\n-x\n+y\n"),
            ("tool", whole, ""),
            ("logo.png", HunkPart::Content, ""),
            ("gone", whole, "@@ -1,1 +0,0 @@\n-x\n"),
            ("empty", whole, ""),
        ]
    );
    let words: Vec<String> = proposed.files.iter().map(ProposedFile::what).collect();
    assert_eq!(words[0], "Rename `old` to `new`");
    assert_eq!(words[1], "Make `tool` executable");
    assert_eq!(words[3..], ["Delete `gone`", "Make the empty file `empty`"]);
    let ids: std::collections::BTreeSet<&str> = proposed.hunks().map(|hunk| hunk.id.as_str()).collect();
    assert_eq!(ids.len(), 6);
    // And of the one that is no text it is known that only the engine can write it
    proposed.decide(Decided::File { path: "logo.png", root: None }, true, None).unwrap();
    assert_eq!(proposed.beyond_us().map(|file| file.file_path.as_str()), Some("logo.png"));
}

#[test]
fn a_file_that_is_told_in_several_parts_is_one_file_whose_parts_are_found_by_their_lines() {
    // Given two parts of one file, each with its own line numbers
    let parts = vec![
        FileChange::of_parts("a", Some("18\n19\n"), "eighteen\n19\n"),
        FileChange::of_parts("a", Some("2\n3\n"), "two\n3\n"),
    ];
    let mut proposed = proposal(parts);
    assert_eq!((proposed.files.len(), proposed.hunks().count()), (1, 2));
    // When both are accepted
    proposed.settle(true);
    let base = BaseFile { text: Ok(OLD.to_owned()), hash: content_hash(OLD.as_bytes()) };
    let edit = proposed.files[0].edit(HunkWay::In, Some(&base));
    // Then each stands where its lines were
    let Ok(FileEdit::Text { text, .. }) = edit else { panic!("{edit:?}") };
    assert_eq!(text, OLD.replace("\n2\n", "\ntwo\n").replace("18", "eighteen"));
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
    fn r002_45_79_an_accepted_subset_equals_the_reference_and_comes_back(
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
        let any = file.has(HunkState::Accepted);
        let base = |text: &str| BaseFile { text: Ok(text.to_owned()), hash: content_hash(text.as_bytes()) };
        let edited = |edit| match edit {
            Ok(FileEdit::Text { text, .. }) => text,
            other => panic!("{other:?}"),
        };
        if !any {
            return Ok(());
        }
        let made = edited(file.edit(HunkWay::In, Some(&base(&old))));
        file.is_applied(Some(&content_hash(made.as_bytes())));
        // Then
        prop_assert_eq!(&made, &text(&|place| changed[place] == (true, true)));
        prop_assert_eq!(edited(file.edit(HunkWay::Out, Some(&base(&made)))), old);
    }
}
