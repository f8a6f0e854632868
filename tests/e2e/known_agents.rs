//! `breadboard-ls agents` on the real binary.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn agents(path: &std::path::Path, flags: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .arg("agents")
        .args(flags)
        .env("PATH", path)
        .env_remove("BREADBOARD_API_URL")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[cfg(unix)]
#[test]
fn agents_are_listed_with_their_program_or_what_installs_it_and_the_login() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("codex-acp");
    std::fs::write(&program, "").expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("may be run");
    let (out, err, code) = agents(place.path(), &["--json", "--engine=acp:/nowhere/mine x"]);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let listed: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    let one = |name: &str| listed.iter().find(|agent| agent["name"] == name).expect(name).clone();
    assert_eq!(
        one("codex-acp"),
        json!({ "name": "codex-acp", "program": "codex-acp", "path": program,
            "install": "npm install -g @agentclientprotocol/codex-acp",
            "login": "with `codex login` in a shell, or set OPENAI_API_KEY in the environment" })
    );
    assert_eq!(one("goose")["path"], Value::Null);
    assert_eq!(
        one("mine"),
        json!({ "name": "mine", "program": "/nowhere/mine", "path": null, "install": null, "login": null })
    );
    let (out, _, _) = agents(place.path(), &[]);
    let wanted =
        format!("{:<20}  {}\n{:22}log in with `codex login` in a shell", "codex-acp", program.display(), "");
    assert!(out.contains(&wanted), "{out}");
    assert!(out.contains("opencode is not on PATH; install it: npm install -g opencode-ai\n"), "{out}");
}

#[test]
fn an_agent_that_is_named_and_unknown_is_wrong_usage() {
    let place = tempfile::tempdir().expect("a directory");
    let (out, err, code) = agents(place.path(), &["--agent=nobody"]);
    assert_eq!((out.as_str(), code), ("", Some(2)));
    assert!(err.starts_with("breadboard-ls: There is no agent `nobody`"), "{err}");
}

#[test]
fn ask_names_the_command_that_installs_a_known_agent() {
    // Given a PATH on which there is nothing
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command.args(["ask", "go", "--trust", "--agent=goose", "--workspace"]).arg(place.path());
    command.arg("--state-dir").arg(place.path().join("state")).env("PATH", place.path()).stdin(Stdio::null());
    // When an agent is asked that is known
    let output = command.output().expect("the binary runs");
    // Then what installs it is said
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("The program `goose` was not found; install it with `brew install block-goose-cli`."),
        "{said}"
    );
}
