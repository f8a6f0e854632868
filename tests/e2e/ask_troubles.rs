//! Troubles of a person at a terminal, on the real binary: what is said, where it goes, and the exit code.
//!
//! Each is a place where the program said something untrue, or nothing.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::flood::{Answer, Model};

/// A workspace with one file, beside a file that stands where a state directory would have to be made.
fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(place.path().join("work")).expect("a workspace");
    std::fs::write(place.path().join("work/retry.rs"), "pub const RETRY_DELAY: u64 = 5;\n").expect("a file");
    std::fs::write(place.path().join("file"), "in its place").expect("a file");
    place
}

/// A command in the workspace, without a terminal and without anything of this machine that changes settings.
fn command(place: &Path, state: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command.args(words).arg("--workspace").arg(place.join("work")).arg("--state-dir").arg(place.join(state));
    command.stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN", "OPENAI_API_KEY"] {
        command.env_remove(name);
    }
    command
}

fn run(place: &Path, state: &str, words: &[&str]) -> (String, String, Option<i32>) {
    told(&command(place, state, words).output().expect("the binary runs"))
}

fn told(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("is UTF-8");
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn a_session_that_cannot_be_kept_is_said_and_no_list_says_that_there_are_none() {
    let place = place();
    // Given a state directory that cannot be made, when somebody asks
    let (out, err, code) = run(place.path(), "file/below", &["ask", "where is RETRY_DELAY?"]);
    // Then the answer comes, and that it is not kept is said
    assert!(out.contains("retry.rs:1"), "{out}");
    assert!(err.contains("The sessions of this window will not be kept"), "{err}");
    assert_eq!(code, Some(0));
    // And the list says what it cannot know, instead of that there are none
    let (out, err, code) = run(place.path(), "file/below", &["sessions"]);
    assert_eq!((out.as_str(), code), ("", Some(1)), "{err}");
    assert!(err.contains("The sessions of this window will not be kept"), "{err}");
    // Where they can be kept, none of that is said
    let (_, err, code) = run(place.path(), "state", &["ask", "where is RETRY_DELAY?"]);
    assert!(!err.contains("kept") && code == Some(0), "{err}");
    let (out, err, code) = run(place.path(), "state", &["sessions"]);
    assert!(out.contains("where is RETRY_DELAY?"), "{out}");
    assert_eq!((err.as_str(), code), ("", Some(0)));
}

#[test]
fn a_search_that_finds_nothing_is_no_turn_that_failed() {
    let place = place();
    let (out, err, code) = run(place.path(), "state", &["ask", "where is zyzzyva?"]);
    assert!(out.contains("Nothing was found in 1 file: no definition"), "{out}");
    assert!(!err.contains("failed"), "{err}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_tool_that_needs_trust_ends_with_the_option_that_gives_it() {
    let place = place();
    for (words, told) in [(&[][..], true), (&["--trust"][..], false)] {
        let model = Model::start(|at, _| match at {
            0 => {
                let edit = json!({ "path": "new.txt", "new_text": "new\n", "reason": "as you asked" });
                Answer::Call(vec!["I write it.".to_owned()], "edit_file", edit)
            }
            _ => Answer::Text(vec!["I tried.".to_owned()]),
        });
        let url = format!("--model-url={}", model.url);
        let mut all = vec!["ask", "write new.txt", "--model=fake", "--model-provider=openai", &url];
        all.extend(words);
        let (out, err, _) = run(place.path(), "state", &all);
        assert!(out.ends_with("I tried.\n"), "{out} {err}");
        assert_eq!(err.contains("ask again with --trust"), told, "{err}");
        assert!(!place.path().join("work/new.txt").exists(), "nobody allowed it");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_goes_nowhere_is_a_failure_that_is_said() {
    let place = place();
    for words in [&["ask", "where is RETRY_DELAY?"][..], &["sessions"], &["doctor", "--json"]] {
        // Given a stdout that takes nothing, as a file on a full disk
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let output = command(place.path(), "state", words).stdout(full).output().expect("the binary runs");
        // Then the command failed and says why
        let (_, err, code) = told(&output);
        assert!(err.contains("The output could not be written (No space left on device"), "{words:?}: {err}");
        assert_eq!(code, Some(1), "{words:?}");
    }
}

#[test]
fn a_model_that_does_not_run_is_told_by_what_starts_it() {
    let place = place();
    // A port that was free a moment ago, and is none of those that the system gives out by itself.
    let words =
        ["ask", "hello", "--model=qwen3", "--model-provider=ollama", "--model-url=http://127.0.0.1:9"];
    let (_, err, code) = run(place.path(), "state", &words);
    assert!(err.starts_with("error: Ollama cannot be reached at http://127.0.0.1:9 ("), "{err}");
    assert!(err.ends_with("; start it with `ollama serve`, or correct the model's address.\n"), "{err}");
    assert_eq!(code, Some(1));
}

#[test]
fn the_short_help_fits_on_two_screens_and_the_long_one_has_everything() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_breadboard-ls")).args(words).output().expect("runs");
        told(&output).0
    };
    let (short, long) = (help(&["ask", "-h"]), help(&["ask", "--help"]));
    assert!(short.lines().count() < 50, "{short}");
    for option in ["--model ", "--agent ", "--trust", "--allow ", "--continue"] {
        assert!(short.contains(option), "{option}: {short}");
    }
    for option in
        ["--reranker-url ", "--embedding-model ", "--confine-commands ", "--mcp-config ", "--state-dir "]
    {
        assert!(!short.contains(option) && long.contains(option), "{option}");
    }
    assert!(help(&["--help"]).contains("Exit codes:\n  0    done\n"), "every command's exit codes are told");
}

#[test]
fn a_question_needs_no_quotes_and_one_without_its_command_is_told_which() {
    let place = place();
    let (out, err, code) = run(place.path(), "state", &["ask", "where", "is", "RETRY_DELAY?"]);
    assert!(out.contains("retry.rs:1"), "{out} {err}");
    assert_eq!(code, Some(0));
    let output =
        Command::new(env!("CARGO_BIN_EXE_breadboard-ls")).arg("where is it?").output().expect("runs");
    let (_, err, code) = told(&output);
    assert!(err.ends_with("To ask a question: breadboard-ls ask \"…\"\n"), "{err}");
    assert_eq!(code, Some(2));
}

#[test]
fn what_a_setting_allows_or_denies_is_nobodys_to_be_asked_and_the_exit_code_says_so() {
    let place = place();
    let file = place.path().join("work/retry.rs");
    let ask = |question: &str, flags: &[&str]| {
        let mut words = vec!["ask", question, "--trust"];
        words.extend(flags);
        run(place.path(), "state", &words)
    };
    // Given a setting that allows edits, when nobody sits at a terminal
    let (out, err, code) = ask("replace `RETRY_DELAY` with `WAIT` in retry.rs", &["--allow", "edits"]);
    // Then the edit is made, and nothing says that it was denied
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "pub const WAIT: u64 = 5;\n", "{out}{err}");
    assert!(err.contains("allowed by setting") && !err.contains("denied"), "{err}");
    assert_eq!(code, Some(0), "{err}");
    // Without it nobody can be asked, which is said and in the exit code
    let (_, err, code) = ask("replace `WAIT` with `DELAY` in retry.rs", &[]);
    assert!(err.contains("denied: nobody can be asked here"), "{err}");
    assert_eq!(code, Some(4), "{err}");
}
