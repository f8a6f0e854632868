//! `breadboard-ls ask` on the real binary with its real server: what a person and what a script get.
//!
//! Everything here runs without a terminal; with one the same events pass `cli::render` and `cli::console`, whose exact
//! output their own tests fix.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const HEADER: &str = "/// Reads the header of a frame.\npub fn parse_frame_header(line: &str) -> Option<usize> {\n    \
                      line.strip_prefix(\"Length: \")?.parse().ok()\n}\n";

struct Place {
    workspace: tempfile::TempDir,
    state: tempfile::TempDir,
}

fn place() -> Place {
    let place = Place {
        workspace: tempfile::tempdir().expect("a workspace"),
        state: tempfile::tempdir().expect("a state directory"),
    };
    place.write("src/header.rs", HEADER);
    place.write("README.md", "# A parser of frames\n");
    place
}

impl Place {
    fn write(&self, name: &str, text: &str) {
        let path = self.workspace.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn ask(&self, question: &str, flags: &[&str]) -> Output {
        let mut command = binary();
        command.args(["ask", question, "--workspace"]).arg(self.workspace.path());
        command.arg("--state-dir").arg(self.state.path().join("state")).args(flags);
        command.output().expect("the binary runs")
    }
}

/// The binary without a terminal and without anything of this machine's environment that changes settings.
fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command.stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn obeyed(text: &str) -> Vec<char> {
    text.chars().filter(|ch| ch.is_control() && !matches!(ch, '\n' | '\t')).collect()
}

#[test]
fn an_answer_names_the_place_and_is_plain_when_piped() {
    let place = place();
    let output = place.ask("Where is parse_frame_header defined?", &[]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "stderr: {stderr}");
    assert!(stdout.contains("src/header.rs:2"), "{stdout}");
    assert!(stdout.ends_with('\n'), "{stdout:?}");
    assert_eq!((obeyed(&stdout), obeyed(&stderr)), (vec![], vec![]));
}

#[test]
fn json_is_one_message_a_line_with_every_event_in_order() {
    let output = place().ask("Where is parse_frame_header defined?", &["--json"]);
    assert_eq!(output.status.code(), Some(0), "stderr: {}", text(&output.stderr));
    let messages: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert!(messages.iter().all(|message| message["method"].is_string() && message["id"].is_null()));
    let events: Vec<&Value> = messages
        .iter()
        .filter(|message| message["method"] == "bb/events")
        .flat_map(|message| message["params"]["events"].as_array().expect("events are a list"))
        .collect();
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.last().map(|event| &event["class"]), Some(&Value::from("run.finished")));
}

#[test]
fn a_change_is_denied_with_its_own_exit_code_when_nobody_can_be_asked() {
    let place = place();
    let question = "replace `parse_frame_header` with `read_frame_header` in src/header.rs";
    let output = place.ask(question, &["--trust"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "stderr: {stderr}");
    assert!(
        stderr.contains("Permission needed: ") && stderr.contains("denied: nobody can be asked"),
        "{stderr}"
    );
    assert!(text(&output.stdout).contains("+pub fn read_frame_header"), "the diff is shown");
    let after = std::fs::read_to_string(place.workspace.path().join("src/header.rs")).expect("is there");
    assert_eq!(after, HEADER);
}

#[cfg(unix)]
#[test]
fn control_characters_of_a_hostile_repository_never_reach_the_terminal() {
    let place = place();
    place.write(
        "src/zebra\u{1b}[2Jcrossing.rs",
        "// zebra_marker \u{1b}]0;owned\u{7}\u{9b}31m\nfn zebra_marker() {}\n",
    );
    let output = place.ask("Where is zebra_marker?", &[]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(stdout.contains("zebra_marker"), "the file was found: {stdout} {stderr}");
    assert_eq!((obeyed(&stdout), obeyed(&stderr)), (vec![], vec![]));
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_wrong_on_stderr() {
    let place = place();
    let rows: [(&[&str], &str); 5] = [
        (&["--no-such-option"], "--no-such-option"),
        (&["ask"], "QUESTION"),
        (&["ask", "q", "--engine", "other"], "other"),
        (&["ask", "  "], "question is empty"),
        (&["ask", "q", "--workspace", "no-such-folder"], "no-such-folder"),
    ];
    for (words, part) in rows {
        let output = binary().current_dir(place.workspace.path()).args(words).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        assert!(text(&output.stderr).contains(part), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn help_tells_the_exit_codes() {
    let output = binary().args(["ask", "--help"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for line in ["4    a permission was denied", "130  stopped with Ctrl-C"] {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn without_a_model_it_names_its_own_flag_below_the_answer() {
    let place = place();
    let output = place.ask("where are frame headers parsed?", &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("To get answers from a model, choose one.") && !out.contains("--model"), "{out}");
    let advice = "Choose who answers with `breadboard-ls setup`, or a model for this question with --model, as in --model qwen3.\n";
    assert!(err.ends_with(advice), "{err}");
    // A script reads events, and a session that is taken up was told.
    for flags in [&["--json"][..], &["--continue"]] {
        let output = place.ask("where are frame headers parsed?", flags);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!err.contains("--model"), "{flags:?}: {err}");
        assert_eq!(out.contains("No model is configured"), flags == ["--json"], "{out}");
    }
}

#[test]
fn every_help_offers_every_engine_that_is_there_and_a_wrong_one_is_answered_with_them() {
    for words in [&["--help"][..], &["ask", "--help"], &["doctor", "--help"], &["sessions", "--help"]] {
        let output = binary().args(words).output().expect("runs");
        let help = text(&output.stdout);
        for engine in ["embedded", "breadboard", "desktop", "acp"] {
            assert!(help.contains(engine), "{words:?}: {help}");
        }
    }
    for wrong in ["desktops", "desktop:"] {
        let refused = binary().args(["ask", "q", "--engine", wrong]).output().expect("runs");
        let said = text(&refused.stderr);
        assert!(
            said.contains("there are embedded, breadboard, desktop, desktop:<url>, acp and acp:"),
            "{said}"
        );
    }
}

#[test]
fn the_doctor_finds_nothing_wrong_on_a_bare_machine_and_shows_no_token() {
    let place = place();
    let mut command = binary();
    command.args(["doctor", "--json", "--workspace"]).arg(place.workspace.path());
    command.arg("--state-dir").arg(place.state.path().join("state"));
    command
        .env("BREADBOARD_MODEL_TOKEN", "s3cret-token")
        .env("HTTPS_PROXY", "http://me:s3cret-token@127.0.0.1:9");
    let output = command.output().expect("runs");
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert!(!stdout.contains("s3cret-token"), "{stdout}");
    let report: Value = serde_json::from_str(&stdout).expect("is JSON");
    let mark = |id: &str| {
        let checks = report["checks"].as_array().expect("checks are a list");
        checks.iter().find(|check| check["id"] == id).map(|check| check["mark"].clone())
    };
    for id in ["version", "server", "engine", "workspace", "state", "window"] {
        assert_eq!(mark(id), Some(Value::from("ok")), "{id}: {stdout}");
    }
}

#[test]
fn what_is_piped_in_goes_along_and_a_dash_reads_the_question_from_there() {
    let place = place();
    let ask = |words: &[&str], piped: &[u8]| {
        let mut command = binary();
        command.args(["ask", "--workspace"]).arg(place.workspace.path()).arg("--state-dir");
        command.arg(place.state.path().join("state")).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        // One that refuses early does not read all.
        let _ = child.stdin.take().expect("a pipe").write_all(piped);
        let output = child.wait_with_output().expect("it ends");
        (text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let (out, err, code) = ask(&["-"], b"Where is parse_frame_header defined?\n");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("src/header.rs:2"), "{out}");
    let (out, err, code) = ask(&["--json", "Which file is this from?"], b"+pub fn parse_frame_header\n");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("Which file is this from?\\n\\nFrom stdin:\\n```\\n+pub fn parse_frame_header"),
        "{out}"
    );
    let (_, err, code) = ask(&["review"], &vec![b'a'; 600 << 10]);
    assert!(code == Some(2) && err.contains("more than the 512 KiB"), "{code:?} {err}");
    let (_, err, code) = ask(&["-"], b"");
    assert!(code == Some(2) && err.contains("pipe it into `ask -`"), "{code:?} {err}");
    let (_, err, code) = ask(&["q", "--engine=embedded", "--config=x"], b"");
    assert!(code == Some(2) && err.contains("--config belongs to a breadboard engine"), "{code:?} {err}");
}

#[test]
fn a_session_is_listed_and_goes_on() {
    let place = place();
    let first = place.ask("Where is parse_frame_header defined?", &["--json"]);
    let id_of = |output: &Output| {
        let line = text(&output.stdout).lines().find(|line| line.contains("bb/events")).map(str::to_owned);
        let message: Value = serde_json::from_str(&line.expect("events")).expect("is JSON");
        message["params"]["sessionId"].as_str().expect("an id").to_owned()
    };
    let id = id_of(&first);
    let mut command = binary();
    command.args(["sessions", "--workspace"]).arg(place.workspace.path()).arg("--state-dir");
    let listed = command.arg(place.state.path().join("state")).output().expect("the binary runs");
    let line = text(&listed.stdout);
    assert_eq!((listed.status.code(), line.lines().count()), (Some(0), 1), "{line}");
    assert!(line.starts_with(&id) && line.ends_with("Where is parse_frame_header defined?\n"), "{line}");
    for flags in [&["--continue", "--json"][..], &["--session", &id, "--json"]] {
        let next = place.ask("Where is parse_frame_header used?", flags);
        assert_eq!((next.status.code(), id_of(&next)), (Some(0), id.clone()), "{}", text(&next.stderr));
        assert_eq!(text(&next.stderr), "", "nothing is missing");
    }
    let next = place.ask("Where is parse_frame_header used?", &["--continue"]);
    assert!(
        !text(&next.stdout).contains("defined?"),
        "the history is not told again: {}",
        text(&next.stdout)
    );
    let gone = place.ask("q", &["--session", "none"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("There is no session none"), "{}", text(&gone.stderr));
}
