//! Two people at terminals, on one session of our host: one asks, the other goes on with the session and answers.

use std::process::Command;

use serde_json::json;

use crate::ask_terminal::Session;
use crate::desktop_host::Host;
use crate::model::{Model, Reply, Step, says};

const QUESTION: &str = "Answer (y, a, 1, n, e):";

/// `ask` with these words, at this host.
fn person(host: &Host, words: &[&str]) -> Session {
    let place = || tempfile::tempdir().expect("a directory");
    let state = place();
    let mut command = Command::new("env");
    command.args([&format!("BREADBOARD_API_TOKEN={}", host.token), "NO_PROXY=127.0.0.1"]);
    command.args([env!("CARGO_BIN_EXE_breadboard-ls"), "ask"]).args(words).arg("--trust");
    command.arg(format!("--engine=desktop:{}", host.url)).arg("--workspace").arg(host.workspace.path());
    command.arg("--state-dir").arg(state.path().join("state"));
    Session::of(command, 200, place(), state)
}

#[test]
fn i14_done_of_two_people_one_asks_and_the_other_answers_and_each_reads_the_answer_once() {
    let wish = json!({ "file_path": "new.txt", "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n", "rationale": "It greets." });
    let asks = vec![Step::Text("I look around. ".to_owned()), Step::Call("propose_patch", wish)];
    let model = Model::start(vec![Reply::Stream(asks), says("It greets you now.")]);
    let host = Host::of(&model);
    // Given a question on the terminal of the one who asked
    let mut first = person(&host, &["write it"]);
    first.wait_for(QUESTION);
    // When the other goes on with the session, and allows it
    let mut second = person(&host, &["--continue"]);
    second.wait_for(QUESTION);
    second.type_line("y");
    assert_eq!(second.end(), Some(0), "{}", second.shown);
    assert_eq!(first.end(), Some(0), "{}", first.shown);
    // Then both read the answer once, and the first by whom it was allowed
    for (who, shown) in [("first", &first.shown), ("second", &second.shown)] {
        assert_eq!(shown.matches("It greets you now.").count(), 1, "{who}: {shown}");
    }
    assert!(
        !second.shown.contains("I look around."),
        "what was said before is not said again: {}",
        second.shown
    );
    for line in ["· allowed elsewhere", "breadboard-ls ask allowed what was asked."] {
        assert!(first.shown.contains(line), "{line}: {}", first.shown);
    }
    let written = std::fs::read_to_string(host.workspace.path().join("new.txt")).expect("the file");
    assert_eq!(written, "hello\n");
}

#[test]
fn whoever_has_no_token_is_told_how_to_pair() {
    let model = Model::start(vec![]);
    let host = Host::of(&model);
    let place = tempfile::tempdir().expect("a directory");
    let asked = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["ask", "where is it?", "--trust", "--workspace"])
        .arg(host.workspace.path())
        .arg(format!("--engine=desktop:{}", host.url))
        .arg("--state-dir")
        .arg(place.path().join("state"))
        .env_remove("BREADBOARD_API_TOKEN")
        .env("NO_PROXY", "127.0.0.1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&asked.stderr);
    let how = format!("`export BREADBOARD_API_TOKEN=$(breadboard-ls pair {})`", host.url);
    assert!(said.contains("wants a token") && said.contains(&how), "{said}");
}
