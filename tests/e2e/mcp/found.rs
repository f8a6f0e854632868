//! Who starts a server: the user's settings and his word, never a repository, and nothing without trust.

use serde_json::{Value, json};

use super::place::{HARBOUR, Place, setting};
use crate::ask_terminal::Session;
use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

#[test]
fn a_workspace_that_is_not_trusted_starts_no_server() {
    let notes = tempfile::tempdir().expect("a folder");
    let model = Model::start(vec![says("hello")]);
    let chosen = model.chosen(false);
    let mut options = chosen.options.clone();
    options["mcpServers"] = json!({ "docs": setting(notes.path(), "docs", json!({})) });
    let mut server = Server::ready(Options { options, ..chosen });
    let session = server.session();
    server.turn(&session, "hello");
    let asked = model.asked().body["tools"].to_string();
    assert!(!asked.contains("mcp__"), "{asked}");
    let listed = server.ask("bb/mcp/list", json!({}));
    assert_eq!(listed["servers"][0]["status"], "stopped", "{listed}");
    let refused = server.refused("bb/mcp/restart", json!({ "server": "docs" }));
    assert_eq!(refused["data"]["code"], "untrusted_workspace");
    assert!(!notes.path().join("docs").exists(), "it was started");
    // And trust starts it
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    let began = std::time::Instant::now();
    while server.ask("bb/mcp/list", json!({}))["servers"][0]["status"] != "ready" {
        assert!(began.elapsed() < crate::harness::PATIENCE, "it does not start");
    }
}

#[test]
fn a_file_of_the_workspace_starts_nothing_without_the_users_word_for_this_content() {
    // Given a repository that names a server
    let mut place = Place::of(vec![says("one"), says("two"), says("three")], |_| json!({}));
    let session = place.session.clone();
    let notes = place.notes();
    let write = |place: &Place, env: Value| {
        let servers = json!({ "mcpServers": { "found": setting(&notes, "found", env) } });
        place.server.write(".mcp.json", &servers.to_string());
    };
    write(&place, json!({ "LEVEL": "one" }));
    // When a turn runs
    place.server.turn(&session, "hello");
    // Then it was not started, and the user was told of it
    assert!(!place.model.asked().body["tools"].to_string().contains("mcp__found"));
    let told = place.server.events(&session).iter().any(|event| {
        event["type"] == "local.notice" && event["payload"]["text"].to_string().contains("`found`")
    });
    assert!(told && place.heard("found").is_empty());
    let state = place.standing("found");
    assert_eq!((&state["status"], &state["source"]), (&json!("unasked"), &json!("workspace")));
    assert!(state["definition"].as_str().expect("a line").contains("LEVEL=one"), "{state}");
    // And the word for another content is none
    let wrong = json!({ "server": "found", "digest": "sha256:0" });
    assert_eq!(place.server.refused("bb/mcp/allow", wrong)["data"]["code"], "conflict");
    // When the user allows it as it was shown, then it is used
    place.server.ask("bb/mcp/allow", json!({ "server": "found", "digest": state["digest"] }));
    place.until("found", "ready");
    place.server.turn(&session, "again");
    assert!(place.model.asked().body["tools"].to_string().contains("mcp__found__echo"));
    // And when its content changes, it is asked about again, and the old one ends
    write(&place, json!({ "LEVEL": "two" }));
    place.server.turn(&session, "and again");
    assert!(!place.model.asked().body["tools"].to_string().contains("mcp__found"));
    assert_eq!(place.standing("found")["status"], "unasked");
    // And the rule can be seen and taken back
    let rules = place.server.ask("bb/permission/list", json!({}))["rules"].clone();
    let rule = rules.as_array().expect("rules").first().expect("a rule").clone();
    assert!(rule["pattern"].as_str().expect("a pattern").starts_with("start: tool server found"), "{rule}");
    write(&place, json!({ "LEVEL": "one" }));
    place.until("found", "ready");
    place.server.ask("bb/permission/revoke", json!({ "ruleId": rule["ruleId"] }));
    place.until("found", "unasked");
}

/// The user allowed a server that takes a variable of ours: what is in it is a secret, whatever it is called.
#[test]
fn what_an_allowed_server_of_a_file_takes_from_our_environment_is_hidden_when_it_is_said() {
    // Given a file of the workspace that names a server with such a variable, and the user's word for it
    let mut place = Place::of(vec![calls("mcp__found__environment", json!({})), says("ok")], |_| json!({}));
    let (session, notes) = (place.session.clone(), place.notes());
    let servers =
        json!({ "mcpServers": { "found": setting(&notes, "found", json!({ "BERTH": "${HARBOUR}" })) } });
    place.server.write(".mcp.json", &servers.to_string());
    let digest = place.standing("found")["digest"].clone();
    place.server.ask("bb/mcp/allow", json!({ "server": "found", "digest": digest }));
    place.until("found", "ready");
    // When it says what it was given
    place.server.prompt(&session, "look");
    place.model.asked();
    place.allow();
    let told = place.model.asked().tool_result();
    place.server.wait_end(&session);
    // Then nobody reads it
    assert!(told.contains("BERTH="), "{told}");
    place.assert_nowhere(HARBOUR);
}

#[test]
fn a_session_has_servers_of_its_own_by_its_clients_word() {
    let mut place = Place::of(vec![says("one"), says("two")], |_| json!({}));
    let session = place.session.clone();
    let notes = place.notes();
    let servers = json!({ "own": setting(&notes, "own", json!({ "API_KEY": "canary-of-a-session" })) });
    place.server.ask("bb/mcp/set", json!({ "sessionId": session, "mcpServers": servers }));
    place.server.turn(&session, "hello");
    assert!(place.model.asked().body["tools"].to_string().contains("mcp__own__echo"));
    // And another session does not have them
    let other = place.server.session();
    place.server.turn(&other, "hello");
    assert!(!place.model.asked().body["tools"].to_string().contains("mcp__own"));
    let unknown = json!({ "sessionId": "none", "mcpServers": {} });
    assert_eq!(place.server.refused("bb/mcp/set", unknown)["data"]["code"], "unknown_session");
    place.assert_nowhere("canary-of-a-session");
}

/// Issue 15: `ask` asks for the word that a server of a repository needs, for exactly what it shows.
#[test]
fn ask_asks_about_a_server_of_the_repository_once_for_each_content() {
    let notes = tempfile::tempdir().expect("a folder");
    let state = tempfile::tempdir().expect("a folder");
    let workspace = tempfile::tempdir().expect("a folder").keep();
    let write = |name: &str| {
        let servers = json!({ "mcpServers": { "docs": setting(notes.path(), name, json!({})) } });
        std::fs::write(workspace.join(".mcp.json"), servers.to_string()).expect("a file");
    };
    let model = Model::start((0..4).map(|_| says("Hello.")).collect());
    let url = model.options(true)["model"]["url"].as_str().expect("a URL").to_owned();
    let ask = |typed: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
        command.args(["ask", "hello", "--trust", "--model=story", "--model-provider=openai", "--workspace"]);
        command.arg(&workspace).arg(format!("--model-url={url}")).arg("--state-dir").arg(state.path());
        command.env("NO_PROXY", "127.0.0.1");
        let folder = || tempfile::tempdir().expect("a folder");
        let mut session = Session::of(command, 400, folder(), folder());
        if let Some(typed) = typed {
            session.wait_for("[y/N]");
            session.type_line(typed);
        }
        assert_eq!(session.end(), Some(0), "{}", session.shown);
        let tools = model.asked().body["tools"].to_string();
        (session.shown.clone(), tools.contains("mcp__docs__echo"))
    };
    write("one");
    // When it is refused it does not run, and is asked about again; allowed it runs, and is not
    let (shown, offered) = ask(Some("n"));
    assert!(shown.contains("names the tool server docs:") && shown.contains("server.py"), "{shown}");
    assert!(!offered, "{shown}");
    assert!(ask(Some("y")).1);
    let (shown, offered) = ask(None);
    assert!(offered && !shown.contains("[y/N]"), "{shown}");
    // Another content is another server
    write("two");
    assert!(!ask(Some("")).1);
    std::fs::remove_dir_all(workspace).expect("it is gone");
}
