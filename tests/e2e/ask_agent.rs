//! `breadboard-ls ask` with an agent process: by its command line, without trust, and when it asks or is not there.

use std::io::BufRead;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// What is said of an agent of which no mode is known.
const MAY_EDIT: &str = "The agent `breadboard-ls` may edit files and run commands without asking; what it asks is up to its own \
                        settings.\n";

fn ask(script: &Value, flags: &[&str]) -> Output {
    let place = tempfile::tempdir().expect("a directory");
    let (workspace, file) = (place.path().join("w"), place.path().join("script.json"));
    std::fs::create_dir(&workspace).expect("a workspace");
    std::fs::write(&file, script.to_string()).expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script \"{}\"", file.display());
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "go", &engine, "--workspace"]).arg(workspace).args(flags);
    command.arg("--state-dir").arg(place.path().join("state")).stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    command.output().expect("the binary runs")
}

fn said(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn an_agent_answers_by_its_command_line() {
    let (out, err, code) = said(&ask(&json!([{ "chunk": "Hello " }, { "chunk": "you" }]), &["--trust"]));
    assert_eq!((out.trim(), code), ("Hello you", Some(0)), "{err}");
}

#[test]
fn r000_63_without_trust_no_agent_is_started() {
    let (out, err, code) = said(&ask(&json!([{ "chunk": "x" }]), &[]));
    assert_eq!((out.as_str(), code), ("", Some(4)));
    assert!(err.contains("not trusted") && err.contains("pass --trust"), "{err}");
}

#[test]
fn what_an_agent_asks_is_denied_where_nobody_can_be_asked() {
    let script = json!([
        { "ask": { "toolCall": { "toolCallId": "c", "rawInput": { "command": "rm x" }, "kind": "execute" } },
          "on": { "reject_once": [{ "chunk": "then not" }] } },
    ]);
    let (out, err, code) = said(&ask(&script, &["--trust"]));
    assert_eq!((out.trim(), code), ("then not", Some(4)), "{err}");
    assert!(err.contains("Run rm x"), "{err}");
}

#[test]
fn an_agent_that_ends_or_is_not_there_fails_in_one_sentence() {
    let (_, err, code) =
        said(&ask(&json!([{ "chunk": "x" }, { "stderr": "no key" }, { "exit": 9 }]), &["--trust"]));
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(err.matches("ended with exit code 9 (its last words: no key)").count(), 1, "{err}");
    let output = Command::new(PROGRAM)
        .args(["ask", "go", "--engine=acp:/nowhere/agent", "--trust", "--workspace", "/", "--state-dir"])
        .arg(tempfile::tempdir().expect("a directory").path().join("state"))
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let (_, err, code) = said(&output);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("/nowhere/agent"), "{err}");
}

#[test]
fn each_way_in_which_a_turn_ends_badly_is_one_sentence_and_exit_code_1() {
    let rows = [
        (json!({ "answer": "refusal" }), "The agent refused to go on; it may not remember this prompt.\n"),
        (
            json!({ "answer": "max_tokens" }),
            "The turn ended at the model's limit of tokens; the answer may be cut.\n",
        ),
        (
            json!({ "answer": "max_turn_requests" }),
            "The turn ended at the agent's limit of model requests in one turn.\n",
        ),
        (
            json!({ "answer": "cancelled" }),
            "The agent `breadboard-ls` ended its turn before it was done, and nobody had stopped it.\n",
        ),
    ];
    for (end, sentence) in rows {
        let (out, err, code) = said(&ask(&json!([{ "chunk": "Hello" }, end]), &["--trust"]));
        assert_eq!((out.as_str(), err, code), ("Hello\n", format!("{MAY_EDIT}{sentence}"), Some(1)), "{end}");
    }
}

#[test]
fn calls_are_named_and_a_failed_and_a_denied_one_and_the_plan_are_told() {
    let script = json!([
        { "chunk": "Let me read." },
        { "tool_call": { "toolCallId": "a", "title": "Read a.rs", "kind": "read", "status": "pending" } },
        { "tool_call_update": { "toolCallId": "a", "status": "completed" } },
        { "tool_call": { "toolCallId": "b", "title": "ls -l", "kind": "execute", "status": "pending" } },
        { "tool_call_update": { "toolCallId": "b", "status": "failed",
            "content": [{ "type": "content", "content": { "type": "text", "text": "no such file" } }] } },
        { "plan": [{ "content": "look", "status": "completed", "priority": "high" },
                   { "content": "act", "status": "in_progress", "priority": "high" }] },
        { "chunk": "Now I act." },
        { "ask": { "toolCall": { "toolCallId": "c", "rawInput": { "command": "rm x" }, "kind": "execute" } },
          "on": { "else": [{ "tool_call_update": { "toolCallId": "c", "status": "failed" } }, { "chunk": "Then not." }] } },
    ]);
    let (out, err, code) = said(&ask(&script, &["--trust"]));
    assert_eq!((out.as_str(), code), ("Let me read.\n\nNow I act.\n\nThen not.\n", Some(4)), "{err}");
    let wanted = "· Read a.rs\n✗ execute ls -l failed: no such file\nplan:\n  [x] look\n  [>] act\n\
        Permission needed: Run rm x\n  command: rm x\n  in: .\n\
        denied: nobody can be asked here; run it in a terminal to decide.\n· execute rm x: denied\n";
    assert_eq!(err, format!("{MAY_EDIT}{wanted}"));
}

#[test]
fn a_denial_that_ends_the_turn_is_told_as_that_and_neither_as_a_stop_nor_as_done() {
    for ends in [json!([{ "answer": "cancelled" }]), json!([{ "answer": "end_turn" }])] {
        let script = json!([
            { "ask": { "toolCall": { "toolCallId": "c", "rawInput": { "command": "rm x" }, "kind": "execute" } },
              "on": { "else": ends } },
        ]);
        let (out, err, code) = said(&ask(&script, &["--trust"]));
        assert_eq!((out.as_str(), code), ("", Some(4)), "{err}");
        assert!(
            err.ends_with(
                "· execute rm x: denied\nThe request was denied, and the agent `breadboard-ls` ended its turn.\n"
            ),
            "{err}"
        );
    }
}

#[cfg(unix)]
#[test]
fn d13_that_an_agent_takes_its_time_is_said_before_it_greets() {
    // Given an agent that does not begin before something is written into a pipe
    let place = tempfile::tempdir().expect("a directory");
    let pipe = place.path().join("begin");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .expect("a pipe");
    let script = place.path().join("script.json");
    std::fs::write(&script, json!([{ "chunk": "Hello" }]).to_string()).expect("a script");
    let late = place.path().join("late");
    let lines = format!(
        "read -r word < '{}'\nexec '{PROGRAM}' simulate acp --script '{}'\n",
        pipe.display(),
        script.display()
    );
    std::fs::write(&late, lines).expect("an agent");
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "go", &format!("--engine=acp:sh '{}'", late.display()), "--trust", "--workspace"]);
    command.arg(place.path()).arg("--state-dir").arg(place.path().join("state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("BREADBOARD_API_URL");
    let mut asking = command.spawn().expect("the binary runs");
    let mut err = std::io::BufReader::new(asking.stderr.take().expect("a pipe"));
    // When nothing is heard of it, then that is said while it is waited for
    let mut first = String::new();
    err.read_line(&mut first).expect("a line");
    assert_eq!(first, "Waiting up to 200 s for the agent to start.\n");
    // And when it begins, its answer comes
    std::fs::write(&pipe, "now\n").expect("the agent reads it");
    let (out, _, code) = said(&asking.wait_with_output().expect("it ends"));
    assert_eq!((out.as_str(), code), ("Hello\n", Some(0)));
}

#[cfg(unix)]
#[test]
fn an_agent_that_never_greets_is_said_and_given_up_in_time() {
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "go", "--engine=acp:sleep 100", "--trust", "--timeout=3", "--workspace"]);
    command.arg(place.path()).arg("--state-dir").arg(place.path().join("state")).stdin(Stdio::null());
    command.env_remove("BREADBOARD_API_URL");
    let began = std::time::Instant::now();
    let (out, err, code) = said(&command.output().expect("the binary runs"));
    assert_eq!((out.as_str(), code), ("", Some(1)), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert_eq!(lines[0], "Waiting up to 3 s for the agent to start.");
    assert!(lines[1].contains("There was no session within 3 s") && lines[1].contains("--timeout"), "{err}");
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}
