//! What each key decides of an edit of three changes in two files, and what an editor may make of one.

use crate::domain::approval::{ChangeKind, FileOutcome, HunkPart, HunkState, Subject};
use crate::protocol::patch::PatchFile;

use super::*;

fn review() -> HunkReview {
    let hunk = |id: &str, content: &str| PatchHunkState {
        id: id.to_owned(),
        part: HunkPart::Lines,
        label: None,
        old_start: 1,
        old_lines: 2,
        new_start: 1,
        new_lines: 2,
        content: content.to_owned(),
        state: HunkState::Proposed,
        reason: None,
        edited: false,
    };
    let file = |path: &str, hunks| PatchFile {
        file_path: path.to_owned(),
        root: None,
        change: ChangeKind::Modify,
        old_path: None,
        base_hash: None,
        outcome: FileOutcome::Pending,
        applied_hash: None,
        message: None,
        conflict: None,
        hunks,
    };
    let patch = ProposedPatch {
        patch_id: "p".to_owned(),
        session_id: "s".to_owned(),
        request_id: "r".to_owned(),
        digest: "d".to_owned(),
        status: FileOutcome::Pending,
        rationale: None,
        acceptance_criteria: Vec::new(),
        files: vec![
            file("a", vec![hunk("1", " k\n-x\n+y\n"), hunk("2", " k\n-x\n+y\n")]),
            file("b", vec![hunk("3", " k\n-x\n+y\n")]),
        ],
    };
    let permission = Permission {
        request_id: "r".to_owned(),
        digest: "d".to_owned(),
        title: "Edit".to_owned(),
        subject: Subject::new(Action::Edit { files: Vec::new() }),
        options: Vec::new(),
        tool_call_id: None,
        patch_id: Some("p".to_owned()),
        parts: None,
        expires_at: None,
        policy: None,
    };
    HunkReview::new(permission, patch)
}

/// What was decided: `y`, `n`, or `e` of an edited one, and `.` of none.
fn so_far(review: &HunkReview) -> String {
    let letter = |one: &Option<HunkDecision>| match one {
        None => '.',
        Some(HunkDecision { content: Some(_), .. }) => 'e',
        Some(HunkDecision { accepted: true, .. }) => 'y',
        Some(_) => 'n',
    };
    review.decided.iter().map(letter).collect()
}

#[test]
fn r002_45_the_keys_of_git_add_p_decide_what_they_decide_there() {
    for (words, decided) in [
        ("y", "y.."),
        ("n y", "ny."),
        ("a", "yy."),
        ("d y", "nny"),
        ("y q", "ynn"),
        // What was left for later is asked about behind the others, and left out by `q` too.
        ("j y", ".y."),
        ("j y y n", "nyy"),
        ("j q", "nnn"),
        // Back to one that was decided, which is decided anew; what was decided by itself stays.
        ("y k n", "n.."),
        ("y n k k a", "yn."),
    ] {
        let mut review = review();
        for word in words.split(' ') {
            assert_eq!(review.typed(word), Typed::Taken, "{words}: {word}");
        }
        assert_eq!(so_far(&review), decided, "{words}");
    }
    let mut first = review();
    assert_eq!(
        ["k", "?", "e", "perhaps", ""].map(|word| first.typed(word)),
        [Typed::Nowhere, Typed::Help, Typed::Edit, Typed::NoAnswer, Typed::NoAnswer]
    );
    assert_eq!(first.question(), "(1/3) Make this change [y,n,a,d,q,e,j,?]?");
    first.typed("y");
    first.typed("y");
    assert_eq!(first.question(), "(3/3) Make this change [y,n,a,d,q,e,k,?]?");
    assert_eq!(first.typed("j"), Typed::Nowhere);
}

#[test]
fn r002_45_a_change_is_edited_and_sent_as_it_was_edited() {
    // Given
    let mut edits = review();
    let begins = edits.to_edit().expect("a change");
    assert!(
        begins.starts_with("# a, change 1 of 3: @@ -1,2 +1,2 @@\n k\n-x\n+y\n# ---\n# To keep"),
        "{begins}"
    );
    // When it is saved as it was, then it is accepted as it was
    assert_eq!(edits.edited(&begins), Ok(true));
    assert_eq!(so_far(&edits), "y..");
    // When all is deleted, then it waits on
    assert_eq!(edits.edited("# nothing\n\n"), Ok(false));
    assert_eq!(so_far(&edits), "y..");
    // When it cannot be taken, then that is said, and the next edit goes on from there
    assert!(edits.edited("# \n k\n-other\n+z\n").is_err_and(|why| why.contains("must stay as they were")));
    assert!(edits.to_edit().expect("a change").contains("\n k\n-other\n+z\n# ---\n"));
    // When it is put right, then it is made so
    assert_eq!(edits.edited("# \n k\n-x\n+z\n"), Ok(true));
    assert_eq!(so_far(&edits), "ye.");
    assert_eq!(edits.typed("n"), Typed::Taken);
    assert!(edits.is_decided() && edits.accepts());
    let (_, _, decisions) = edits.decisions();
    let content = decisions.iter().map(|one| one.content.as_deref()).collect::<Vec<_>>();
    assert_eq!(content, [None, Some(" k\n-x\n+z\n"), None]);
}
