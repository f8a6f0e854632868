//! `breadboard-ls ask --mode`, and `breadboard-ls logs` of what the agent then wrote.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn run(words: &[&str], state: &Path) -> (String, String, Option<i32>) {
    let mut command = Command::new(PROGRAM);
    command.args(words).arg("--state-dir").arg(state).stdin(Stdio::null());
    command.env_remove("BREADBOARD_API_URL").env("BREADBOARD_MODEL_TOKEN", "s3cret-of-the-model");
    let output = command.output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(place.path().join("w")).expect("a workspace");
        Self(place)
    }

    fn state(&self) -> std::path::PathBuf {
        self.0.path().join("state")
    }

    fn ask(&self, agent: &Value, flags: &[&str]) -> (String, String, Option<i32>) {
        let script = json!({ "agent": agent, "prompts": [{ "steps": [{ "chunk": "Hello" }] }],
            "on": { "session/set_mode": [{ "stderr": "set" }],
                    "session/set_config_option": [{ "stderr": "option set" }] } });
        let file = self.0.path().join("script.json");
        std::fs::write(&file, script.to_string()).expect("a script");
        let kept = self.0.path().join("sessions.json");
        let engine = format!(
            "--engine=acp:'{PROGRAM}' simulate acp --script \"{}\" --sessions \"{}\"",
            file.display(),
            kept.display()
        );
        let workspace = format!("--workspace={}", self.0.path().join("w").display());
        let mut words = vec!["ask", "go", "--trust", &engine, &workspace];
        words.extend(flags);
        run(&words, &self.state())
    }

    fn log(&self) -> String {
        run(&["logs", "breadboard-ls"], &self.state()).0
    }
}

fn text(out: &str, err: &str, code: i32) -> (String, String, Option<i32>) {
    (out.to_owned(), err.to_owned(), Some(code))
}

#[test]
fn a_mode_of_the_agent_is_set_before_the_prompt() {
    let place = Place::new();
    let modes = json!({ "modes": { "currentModeId": "ask",
        "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "plan", "name": "Plan" }] } });
    assert_eq!(place.ask(&modes, &["--mode", "plan"]), text("Hello\n", "", 0));
    assert_eq!(place.log(), "set\n");
    assert_eq!(place.ask(&modes, &["--mode=plan", "--continue"]), text("Hello\n", "", 0));
    assert_eq!(place.log(), "set\nset\n");
}

#[test]
fn a_mode_behind_an_option_is_set_too() {
    let place = Place::new();
    let option = json!({ "configOptions": [{ "id": "m", "name": "Mode", "category": "mode", "type": "select",
        "currentValue": "ask", "options": [{ "value": "ask", "name": "Ask" }, { "value": "plan", "name": "Plan" }] }] });
    assert_eq!(place.ask(&option, &["--mode", "plan"]), text("Hello\n", "", 0));
    assert_eq!(place.log(), "option set\n");
}

#[test]
fn an_unknown_mode_names_those_there_are_and_leaves_no_session() {
    let place = Place::new();
    let modes = json!({ "modes": { "currentModeId": "ask",
        "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "plan", "name": "Plan" }] } });
    let said = "breadboard-ls: There is no mode `fly`; there are `ask`, `plan`.\n";
    assert_eq!(place.ask(&modes, &["--mode", "fly"]), text("", said, 1));
    let none = "breadboard-ls: The agent `breadboard-ls` has no modes; leave --mode out.\n";
    assert_eq!(place.ask(&json!({}), &["--mode", "plan"]), text("", none, 1));
    let workspace = place.0.path().join("w");
    let embedded =
        run(&["ask", "go", "--mode=x", "--workspace", workspace.to_str().expect("is text")], &place.state());
    let own = "breadboard-ls: There is no mode `x`; there are `ask`, `plan`, `agent`.\n";
    assert_eq!(embedded, text("", own, 1));
    let listed = run(&["sessions", "--workspace", workspace.to_str().expect("is text")], &place.state());
    assert_eq!(listed, text("There are no sessions of this workspace yet.\n", "", 0));
}

#[test]
fn logs_are_listed_and_shown_without_secrets() {
    let place = Place::new();
    let nothing = run(&["logs"], &place.state());
    let agents = place.state().join("agents");
    let first =
        "The server writes no log of its own: its editor has it, as the output of the language server.\n";
    assert_eq!(
        nothing,
        text(&format!("{first}Agents write theirs to {}; there is none yet.\n", agents.display()), "", 0)
    );
    std::fs::create_dir_all(&agents).expect("a directory");
    let file = agents.join("mine.log");
    std::fs::write(&file, "one\ntwo\nkey s3cret-of-the-model\x1b[2J\n").expect("a log");
    let (out, err, code) = run(&["logs", "--lines=2"], &place.state());
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.starts_with(&format!("{first}Logs of agents, newest first:\n")), "{out}");
    assert!(out.contains(&format!("0 KiB  {}\n", file.display())), "{out}");
    let shown = out.split_once("The last lines of mine:\n").expect("the end of the newest").1;
    assert!(shown.starts_with("two\nkey ") && shown.ends_with("⟨U+001B⟩[2J\n"), "{shown}");
    assert!(!out.contains("s3cret"), "{out}");
    let other = run(&["logs", "other"], &place.state());
    assert_eq!(other, text("", "breadboard-ls: There is no log of `other`; there are those of `mine`.\n", 1));
}
