//! `breadboard-ls ask` with the simulated BreadBoard engine: what it does, how it ends, and what goes wrong on the way.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// A simulated engine, which ends with this value.
struct Engine {
    child: Child,
    url: String,
    place: tempfile::TempDir,
}

impl Engine {
    fn start(steps: &Value, flags: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("script.json");
        std::fs::create_dir(place.path().join("w")).expect("a workspace");
        std::fs::write(&file, json!({ "prompts": [steps] }).to_string()).expect("a script");
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "breadboard", "--script"]).arg(&file).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.env_remove("BREADBOARD_API_TOKEN");
        let mut child = command.spawn().expect("the engine starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("the first line");
        let url = line.trim().strip_prefix("listening on ").expect("the address").to_owned();
        Self { child, url, place }
    }

    /// What `ask` says on stdout and stderr, and its exit code.
    fn ask(&self, flags: &[&str]) -> (String, String, Option<i32>) {
        said(&self.command(&["ask", "go", "--trust"]).args(flags).output().expect("the binary runs"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--engine-url", &self.url, "--workspace"]).arg(self.place.path().join("w"));
        command.arg("--state-dir").arg(self.place.path().join("state")).stdin(Stdio::null());
        for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

fn message(text: &str) -> Value {
    json!({ "type": "assistant_message",
        "payload": { "text": text, "message": { "role": "assistant", "content": text } } })
}

fn end(summary: Value) -> [Value; 2] {
    [
        json!({ "type": "completion", "payload": { "summary": summary } }),
        json!({ "type": "run_finished", "payload": { "eventCount": 9 } }),
    ]
}

fn run(begin: &[Value], summary: Value) -> Value {
    let start = json!({ "type": "turn_start", "payload": {} });
    let steps: Vec<Value> = [&[start][..], begin, &end(summary)].concat();
    json!({ "bare": true, "steps": steps })
}

#[test]
fn a_run_that_was_not_done_says_why_once_and_exits_with_1() {
    let rows = [
        (
            json!({ "completed": false, "reason": "max_steps_exhausted", "max_steps": 7 }),
            "The turn ended at its limit of 7 steps.\n",
        ),
        (
            json!({ "completed": false, "reason": "stopped_by_user", "exit_kind": "stopped" }),
            "The turn was stopped.\n",
        ),
        (
            json!({ "completed": false, "reason": "run_loop_exception" }),
            "The turn failed: the engine's run loop broke.\n",
        ),
        (
            json!({ "completed": false, "reason": "provider_error", "error": { "message": "401 from the model" } }),
            "error: The turn failed: 401 from the model\n",
        ),
    ];
    for (summary, sentence) in rows {
        let engine = Engine::start(&run(&[message("Hello")], summary.clone()), &[]);
        let (out, err, code) = engine.ask(&[]);
        assert_eq!((out.as_str(), err.as_str(), code), ("Hello\n", sentence, Some(1)), "{summary}");
    }
}

#[test]
fn calls_warnings_and_a_denied_edit_are_told_by_what_they_do() {
    let call = |name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "type": "tool_call", "payload": { "call": { "id": null, "function": function }, "tool": name, "call_id": null } })
    };
    let result = |name: &str, ok: bool, text: &str| json!({ "type": "tool_result", "payload": { "tool": name, "success": ok, "result": text } });
    let steps = [
        message("I look first."),
        call("run_shell", json!({ "command": "python sort.py" })),
        result("run_shell", true, "1 2 3"),
        call("run_shell", json!({ "command": "rm -rf build" })),
        result("run_shell", false, "rm: not permitted"),
        json!({ "type": "warning", "payload": { "message": "The budget is nearly used up." } }),
        call("create_file", json!({ "path": "a.py", "content": "x" })),
        json!({ "ask": { "category": "edit", "pattern": "a.py", "metadata": { "path": "a.py", "function": "create_file" } },
            "on_allow": [], "on_deny": [] }),
        message("Then not."),
    ];
    let engine = Engine::start(&run(&steps, json!({ "completed": true })), &[]);
    let (out, err, code) = engine.ask(&[]);
    assert_eq!((out.as_str(), code), ("I look first.\n\nThen not.\n", Some(4)), "{err}");
    for line in [
        "· run_shell python sort.py\n",
        "✗ run_shell rm -rf build failed: rm: not permitted\n",
        "The budget is nearly used up.\n",
        "· create_file a.py: denied\n",
    ] {
        assert_eq!(err.matches(line).count(), 1, "{line:?} in {err}");
    }
}

#[test]
fn a_turn_that_says_nothing_is_told_so() {
    let engine = Engine::start(&run(&[], json!({ "completed": true })), &[]);
    let (out, err, code) = engine.ask(&[]);
    assert_eq!(
        (out.as_str(), err.as_str(), code),
        ("", "The turn is done; the engine gave no answer.\n", Some(0))
    );
}
