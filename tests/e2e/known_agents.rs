//! `breadboard-ls agents` on the real binary.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Options, Server};

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

/// What `ask` says on stderr where there is nothing on PATH and nobody to ask for trust, and how it ends.
fn asked(flags: &[&str]) -> (String, Option<i32>) {
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command.args(["ask", "go", "--workspace"]).arg(place.path()).args(flags);
    command.arg("--state-dir").arg(place.path().join("state")).env("PATH", place.path()).stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn ask_names_the_command_that_installs_a_known_agent_before_it_speaks_of_trust() {
    let said =
        "breadboard-ls: The program `goose` was not found; install it with `brew install block-goose-cli`.\n";
    for flags in [&["--agent=goose"][..], &["--agent=goose", "--trust"]] {
        assert_eq!(asked(flags), (said.to_owned(), Some(1)), "{flags:?}");
    }
    let said = "breadboard-ls: The program `/nowhere/mine` was not found; install it, or give another --agent or --engine \
                acp:\"<command line>\".\n";
    assert_eq!(asked(&["--engine=acp:/nowhere/mine x"]), (said.to_owned(), Some(1)));
}

#[test]
fn ask_refuses_an_agent_that_nobody_knows_as_wrong_usage() {
    let (said, code) = asked(&["--agent=nobody"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("breadboard-ls: There is no agent `nobody`"), "{said}");
}

#[test]
fn an_editor_is_told_what_installs_a_known_agent() {
    let place = tempfile::tempdir().expect("a directory");
    let options = json!({ "engine": { "kind": "acp", "name": "goose" }, "workspaceTrusted": true });
    let options = Options { options, ..Options::default() };
    let mut server = Server::ready(options.env("PATH", place.path().to_str().expect("UTF-8")));
    let refused = server.refused("bb/createSession", json!({}));
    assert_eq!(
        refused["message"],
        "The program `goose` was not found; install it with `brew install block-goose-cli`."
    );
}
