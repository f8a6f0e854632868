//! Subjects: what a view carries of them, and that nothing hides in them.

use serde_json::json;

use super::*;
use crate::domain::approval::ChangeKind;

#[test]
fn r000_29_a_subject_on_the_wire_names_its_kind_and_leaves_out_what_is_not_there() {
    // Given
    let edit =
        Subject::new(Action::Edit { files: vec![FileChange::of_texts("a", Some("x\ny\n"), "x\nz\n")] });
    let command = Action::Command { command: "ls".into(), cwd: ".".into(), env: None };
    let untold = Subject::unknown(Action::Edit { files: vec![FileChange::untold("b", ChangeKind::Modify)] });
    // When and then
    let wire = |subject: &Subject| serde_json::to_value(subject).unwrap();
    assert_eq!(
        wire(&edit),
        json!({"kind": "edit", "files": [{"filePath": "a", "change": "modify", "added": 1, "removed": 1,
            "diff": "@@ -1,2 +1,2 @@\n x\n-y\n+z\n"}]})
    );
    assert_eq!(
        wire(&Subject::new(command).because(Some("to look"))),
        json!({"kind": "command", "command": "ls", "cwd": ".", "reason": "to look"})
    );
    assert_eq!(
        wire(&untold),
        json!({"kind": "edit", "files": [{"filePath": "b", "change": "modify"}], "unknown": true})
    );
    assert_eq!(serde_json::from_value::<Subject>(wire(&edit)).unwrap(), edit);
}

#[test]
fn what_is_cut_says_so_at_a_line_and_the_rest_is_left_whole() {
    // Given a change of 3,000 lines, a short one behind it, and a command longer than a view carries
    let long: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
    let files = vec![FileChange::of_texts("long", None, &long), FileChange::of_texts("short", None, "s\n")];
    let edit = Subject::new(Action::Edit { files });
    // When
    let cut = edit.clone().cut();
    // Then
    let Action::Edit { files } = &cut.action else { panic!("no edit: {cut:?}") };
    let [long, short] = files.as_slice() else { panic!("two files: {files:?}") };
    let diff = long.diff.as_deref().unwrap();
    assert!(diff.len() <= DIFFS && diff.ends_with('\n'), "{} bytes", diff.len());
    assert_eq!((long.added, long.removed, long.truncated), (Some(3_000), Some(0), true));
    assert_eq!((short.added, short.diff.as_deref(), short.truncated), (Some(1), None, true));
    assert!(cut.truncated);
    let small = Subject::new(Action::Edit { files: vec![FileChange::of_texts("short", None, "s\n")] });
    assert_eq!(small.clone().cut(), small);

    let command = "x".repeat(WORDS + 1);
    let cut = Subject::new(Action::Command { command, cwd: ".".into(), env: None }).cut();
    let Action::Command { command, .. } = &cut.action else { panic!("no command: {cut:?}") };
    assert!(cut.truncated && command.contains("⟨… 1 more characters, sha256 "), "{command}");

    let input = json!({"text": "y".repeat(INPUT + 1)});
    assert!(
        Subject::new(Action::Tool { name: "t".into(), server: None, input: Some(input) }).cut().truncated
    );
}

#[test]
fn nothing_hides_in_a_subject() {
    // Given
    let env = json!({"LD\u{202e}": "a\u{200b}"}).as_object().cloned();
    let command = Action::Command { command: "ls\u{1b}[8m".into(), cwd: "a\rb".into(), env };
    // When
    let shown = Subject::new(command).because(Some("be\u{202e}cause")).shown();
    // Then
    assert_eq!(
        serde_json::to_value(&shown).unwrap(),
        json!({"kind": "command", "command": "ls⟨U+001B⟩[8m", "cwd": "a␍b", "env": {"LD⟨U+202E⟩": "a⟨U+200B⟩"},
            "reason": "be⟨U+202E⟩cause"})
    );
    let files = vec![FileChange::of_texts("a\u{200b}b", None, "x\u{202e}y\n")];
    let shown = Subject::new(Action::Edit { files }).shown();
    let Action::Edit { files } = shown.action else { panic!("no edit") };
    assert_eq!(files[0].file_path, "a⟨U+200B⟩b");
    assert_eq!(files[0].diff.as_deref(), Some("@@ -0,0 +1,1 @@\n+x⟨U+202E⟩y\n"));
}
