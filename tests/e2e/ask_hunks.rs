//! `breadboard-ls ask` on a real terminal, where an edit is decided change by change (R002-45).

use std::process::Command;

use crate::ask_terminal::Session;

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");
const WHOLE: &str = "Answer (y, a, 1, n, s):";
const CHANGE: &str = "(1/3) Make this change [y,n,a,d,q,e,j,?]?";
const ANSWERS: &str = "   y  Make this change\r\n   n  Leave it out\r\n   \
                       a  Make this and all further changes of the file\r\n   \
                       d  Leave out this and all further changes of the file\r\n   \
                       q  Leave out this and everything that is left\r\n   \
                       e  Edit this change, and make it as edited\r\n   \
                       j  Leave it undecided for now, and show the next one that is\r\n   \
                       ?  Show this list";

/// Three lines that are far enough apart to be three changes.
fn text(words: [&str; 3]) -> String {
    let between = "-\n".repeat(12);
    words.map(|word| format!("{word} thing\n")).join(&between)
}

fn apart() -> Session {
    let before = text(["red"; 3]);
    let mut session = Session::over(&before, "replace red with green in a.txt", &[], 100);
    session.wait_for(WHOLE);
    assert!(session.shown.contains("   s  Decide change by change\r\n"), "{}", session.shown);
    session.type_line("s");
    session
}

/// Answers one change after the other, each once it is asked about.
fn answer(session: &mut Session, words: &[&str]) {
    for (at, word) in words.iter().enumerate() {
        session.wait_for(&format!("change {} of 3", at + 1));
        let behind = session.shown.split(&format!("change {} of 3", at + 1)).count();
        assert_eq!(behind, 2, "{}", session.shown);
        session.type_line(word);
    }
}

#[test]
fn r002_45_each_change_is_shown_and_asked_about_and_the_file_has_what_was_taken() {
    // Given an edit of three changes, which is taken apart
    let mut session = apart();
    session.wait_for(CHANGE);
    let (_, shown) = session.shown.split_once("a.txt, change 1 of 3").expect("the first change");
    let shown =
        shown.replace("\x1b[0m", "").replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[2m", "");
    assert!(shown.contains("@@ -1,4 +1,4 @@\r\n-red thing\r\n+green thing\r\n -\r\n -\r\n -\r\n"), "{shown}");
    assert!(!shown.contains("Leave it out"), "{shown}");
    // When a word is no answer, or the keys are asked for, then they are shown and the same one is asked about again
    session.type_line("perhaps");
    session.wait_for("perhaps is no answer; type one of these:");
    session.type_line("?");
    session.wait_for("Show this list\x1b[0m\r\n(1/3)");
    assert!(session.shown.contains(ANSWERS), "{}", session.shown);
    // When the first and the last are taken
    session.type_line("y");
    session.wait_for("change 2 of 3");
    session.type_line("n");
    session.wait_for("change 3 of 3");
    assert_eq!(session.file(), text(["red"; 3]), "nothing is written before all is decided");
    session.type_line("y");
    // Then they are made, and that is said
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert_eq!(session.file(), text(["green", "red", "green"]));
    assert!(session.shown.contains("a.txt was changed in part."), "{}", session.shown);
}

#[test]
fn r002_45_the_rest_of_a_file_is_taken_or_left_by_one_key() {
    for (words, file, code) in [
        (&["a"][..], ["green", "green", "green"], Some(0)),
        (&["y", "d"], ["green", "red", "red"], Some(0)),
        (&["n", "a"], ["red", "green", "green"], Some(0)),
        (&["y", "q"], ["green", "red", "red"], Some(0)),
        (&["q"], ["red", "red", "red"], Some(1)),
        (&["n", "n", "n"], ["red", "red", "red"], Some(1)),
    ] {
        let mut session = apart();
        answer(&mut session, words);
        assert_eq!(session.end(), code, "{words:?}: {}", session.shown);
        assert_eq!(session.file(), text(file), "{words:?}: {}", session.shown);
    }
}

/// In a folder with this text, with an editor that is this script: `$1` is what it edits.
fn with_editor(before: &str, script: &str) -> Session {
    let (workspace, state) =
        (tempfile::tempdir().expect("a workspace"), tempfile::tempdir().expect("a directory"));
    std::fs::write(workspace.path().join("a.txt"), before).expect("a file");
    let editor = state.path().join("editor");
    std::fs::write(&editor, script).expect("a script");
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "replace red with green in a.txt", "--trust", "--workspace"]).arg(workspace.path());
    command.arg("--state-dir").arg(state.path().join("state"));
    command.env_remove("VISUAL").env("EDITOR", format!("sh {}", editor.display()));
    Session::of(command, 100, workspace, state)
}

#[test]
fn r002_45_a_change_is_edited_in_the_persons_editor_and_the_file_has_what_came_of_it() {
    // Given an editor that first makes nonsense of a change, and then writes another word
    let mut session = with_editor(
        &text(["red"; 3]),
        "cp \"$1\" \"$1.seen\"; [ -t 0 ] || exit 7; grep -q '^-red' \"$1\" && ! [ -e \"$0.again\" ] && \
         { touch \"$0.again\"; sed -i 's/^-red/-other/' \"$1\"; exit 0; }; \
         sed -i -e 's/^-other/-red/' -e 's/^+green/+blue/' \"$1\"",
    );
    session.wait_for(WHOLE);
    session.type_line("s");
    session.wait_for(CHANGE);
    // When what came of it fits nowhere, then that is said, and nothing is lost
    session.type_line("e");
    session.wait_for("must stay as they were");
    session.wait_for(CHANGE);
    session.type_line("e");
    // When it does, then the next change is asked about, and the one that was left for later behind it
    session.wait_for("(2/3) Make this change");
    session.type_line("j");
    session.wait_for("(3/3) Make this change");
    session.type_line("y");
    session.wait_for("(2/3) Make this change [y,n,a,d,q,e,k,?]?");
    session.type_line("n");
    // Then the file holds what was edited
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert_eq!(session.file(), text(["blue", "red", "green"]));
}

#[test]
fn r002_45_the_only_change_of_an_edit_is_edited_from_the_question_itself() {
    for (script, said, file) in [
        ("sed -i 's/^+green/+pink/' \"$1\"", None, "pink and blue\n"),
        ("exit 1", Some("failed, so nothing was changed."), "green and blue\n"),
        (": > \"$1\"", Some("nothing was changed."), "green and blue\n"),
    ] {
        let mut session = with_editor("red and blue\n", script);
        session.wait_for("   e  Edit the change, and make it as edited\r\nAnswer (y, a, 1, n, e):");
        session.type_line("e");
        if let Some(said) = said {
            session.wait_for(said);
            session.wait_for("(1/1) Make this change [y,n,a,d,q,e,?]?");
            session.type_line("y");
        }
        assert_eq!(session.end(), Some(0), "{script}: {}", session.shown);
        assert_eq!(session.file(), file, "{script}: {}", session.shown);
    }
}

#[test]
fn r002_45_silence_accepts_nothing() {
    let mut session = apart();
    answer(&mut session, &["y"]);
    session.wait_for("change 2 of 3");
    session.no_more_lines();
    assert_eq!(session.end(), Some(4), "{}", session.shown);
    assert_eq!(session.file(), text(["red"; 3]));
}

#[test]
fn a_turn_that_waited_over_a_restart_is_asked_about_as_a_whole_again() {
    // Given an edit that waited when its process ended
    let mut first = Session::over(&text(["red"; 3]), "replace red with green in a.txt", &[], 100);
    first.wait_for(WHOLE);
    first.child.kill().expect("it can be killed");
    first.child.wait().expect("it can be waited for");
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "--continue", "--trust", "--workspace"]).arg(first.workspace.path());
    command.arg("--state-dir").arg(first._state.path().join("state"));
    let own = || tempfile::tempdir().expect("a directory");
    let mut next = Session::of(command, 100, own(), own());
    // When a part of it is taken
    next.wait_for(WHOLE);
    next.type_line("s");
    answer(&mut next, &["y", "q"]);
    // Then it says why that cannot be, writes nothing, and asks again
    next.wait_for("the answer was not taken: The turn waited over a restart, so its edit can only be allowed or denied as a whole.");
    next.wait_for("Permission needed");
    assert_eq!(first.file(), text(["red"; 3]));
    next.type_line("y");
    assert_eq!(next.end(), Some(0), "{}", next.shown);
    assert_eq!(first.file(), text(["green"; 3]));
}
