//! Servers of tools on the command line: `doctor` says how they stand, `ask` asks about a call.

use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::model::{Model, calls, says};

struct Shell {
    workspace: tempfile::TempDir,
    state: tempfile::TempDir,
    flag: String,
}

impl Shell {
    fn new() -> Self {
        let (workspace, state) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/mcp/server.py");
        let flag =
            format!("--mcp=docs=python3 '{}' '{}'", script.display(), state.path().join("heard").display());
        Self { workspace, state, flag }
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
        command.args(words).arg("--workspace").arg(self.workspace.path()).arg(&self.flag);
        command.arg("--state-dir").arg(self.state.path().join("state")).arg("--trust").stdin(Stdio::null());
        command.env_remove("BREADBOARD_API_URL").env("NO_PROXY", "127.0.0.1");
        command.output().expect("the binary runs")
    }
}

#[test]
fn doctor_says_of_each_server_what_it_offers_or_what_is_wrong_with_it() {
    let shell = Shell::new();
    let report = shell.run(&["doctor", "--json", "--mcp=none=there-is-no-such-program"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("a report");
    let checks = report["checks"].as_array().expect("checks").iter();
    let tools: Vec<_> = checks.filter(|check| check["id"] == "tools").cloned().collect();
    assert_eq!(
        json!(tools),
        json!([
            { "id": "tools", "mark": "ok", "found": "the tool server `docs` is ready; tools: 8, prompts: 1, resources: 1" },
            { "id": "tools", "mark": "fail", "found": "The tool server `none` could not be started. The program \
                `there-is-no-such-program` was not found; install it, or correct the command in the settings." },
        ])
    );
}

#[test]
fn ask_shows_which_tool_of_which_server_would_be_called_with_what_and_calls_nothing_that_nobody_allows() {
    let model = Model::start(vec![calls("mcp__docs__echo", json!({ "text": "hello" })), says("Well.")]);
    let url = model.options(true)["model"]["url"].as_str().expect("a URL").to_owned();
    let shell = Shell::new();
    let url = format!("--model-url={url}");
    let said = shell.run(&["ask", "say hello", "--model=story", "--model-provider=openai", &url]);
    let shown = String::from_utf8_lossy(&said.stderr).into_owned();
    for line in [
        "Call echo of the server docs with {\"text\":\"hello\"}",
        "of the server: docs",
        "text: hello",
        "denied",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let heard = std::fs::read_to_string(shell.state.path().join("heard")).expect("it was started");
    assert!(!heard.contains("tools/call"), "{heard}");
}
