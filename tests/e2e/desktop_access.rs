//! Who may speak with a desktop host, and what the command line makes of one: tokens, `ask`, `doctor`, missing routes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use breadboard_ls::testing::simulate::desktop::{HostDialect, HostOptions};
use serde_json::json;

use crate::breadboard_desk::{connected, until};
use crate::desktop_desk::{BOTH, HostDesk, chosen, scripted};
use crate::harness::Server;

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

#[test]
fn r002_06_08_a_token_that_was_typed_by_hand_opens_routes_and_sockets_and_stands_in_no_output() {
    const TOKEN: &str = "desk-token-4711-abcdef";
    let options =
        HostOptions { token: Some(TOKEN.to_owned()), ..scripted(&json!([{ "steps": [{ "say": "Hi." }] }])) };
    let desk = HostDesk::start(options);
    // Without one the host is not connected, and says why.
    let server = Server::ready(desk.chosen(true));
    let refused = server.wait_notification("bb/connection", |params| params["status"] == "error");
    assert!(refused["params"]["lastError"].as_str().unwrap().contains("wants a token"), "{refused}");
    // With it everything works, and it stands in nothing that is said.
    let mut server = Server::ready(desk.chosen(true).env("BREADBOARD_API_TOKEN", TOKEN));
    connected(&server);
    let session = server.session();
    server.prompt(&session, &format!("my token is {TOKEN}"));
    server.wait_end(&session);
    for message in server.received() {
        assert!(!message.to_string().contains(TOKEN), "{message}");
    }
    // One that was given for another place goes nowhere.
    let mut elsewhere =
        desk.chosen(true).env("BREADBOARD_API_TOKEN", TOKEN).env("BREADBOARD_API_URL", "http://127.0.0.1:1");
    elsewhere.args.push(format!("--engine=desktop:{}", desk.host.base_url()));
    let server = Server::ready(elsewhere);
    let refused = server.wait_notification("bb/connection", |params| params["status"] == "error");
    assert!(refused["params"]["lastError"].as_str().unwrap().contains("wants a token"), "{refused}");
}

#[test]
fn r002_06_a_token_that_the_editor_gives_behind_its_greeting_is_waited_for() {
    const TOKEN: &str = "desk-token-4711-abcdef";
    let options = HostOptions { token: Some(TOKEN.to_owned()), ..scripted(&json!([])) };
    let desk = HostDesk::start(options);
    // Given an editor that starts the server without a token, and gives it as soon as it may
    let mut server = Server::ready(desk.chosen(true));
    server.ask("bb/setCredentials", json!({ "scope": "engine", "token": TOKEN }));
    // Then the host is connected, and nobody was told that a token is missing
    connected(&server);
    let told: Vec<_> =
        server.received().into_iter().filter(|message| message["params"]["status"] == "error").collect();
    assert_eq!(told, Vec::<serde_json::Value>::new());
}

#[test]
fn r002_04_a_token_never_goes_in_the_clear_to_another_machine() {
    let options = chosen("http://192.0.2.1:3199", true).env("BREADBOARD_API_TOKEN", "secret-4711");
    let server = Server::ready(options);
    let refused = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let why = refused["params"]["lastError"].as_str().unwrap();
    assert!(why.contains("would be readable on the way"), "{why}");
}

#[test]
fn a_prompt_needs_a_trusted_workspace() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([]));
    let mut server = Server::ready(desk.chosen(false));
    connected(&server);
    let session = server.session();
    let refused = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "go" }));
    assert_eq!(refused["data"]["code"], "untrusted_workspace", "{refused}");
    assert!(desk.all_heard("client.user_message").is_empty());
}

#[test]
fn r002_14_15_16_19_24_25_26_routes_are_used_where_a_host_has_them_and_said_where_not() {
    for dialect in BOTH {
        let desk = HostDesk::scripted(dialect, &json!([{ "when": "go", "steps": [{ "say": "Hi." }] }]));
        let mut server = desk.server();
        let session = server.session();
        // That the index is not ready is said, by the route of the seed or by what the workspace says.
        server.wait_event(&session, "the index", |event| {
            event["type"] == "local.notice"
                && event["payload"]["text"].as_str().unwrap().contains("indexing (50 %)")
        });
        let command = |server: &mut Server, command: &str, args: serde_json::Value| {
            server.ask("bb/command", json!({ "sessionId": session, "command": command, "args": args }))
        };
        let set = command(&mut server, "policy_set", json!({ "network_enabled": true }));
        assert_eq!(set["detail"]["network_enabled"], true, "{set}");
        let read = command(&mut server, "policy_get", json!({}));
        assert_eq!(read["detail"], set["detail"]);
        let rebuild = json!({ "sessionId": session, "command": "index_rebuild" });
        match dialect {
            HostDialect::Seed => assert_eq!(server.ask("bb/command", rebuild)["status"], "accepted"),
            HostDialect::Source => {
                let refused = server.refused("bb/command", rebuild);
                assert_eq!(refused["data"]["code"], "unsupported", "{refused}");
            }
        }
        let listed = server.ask("bb/models/list", json!({}));
        assert_eq!(listed["models"][0]["name"], "Simulated 1", "{listed}");
        server.ask("bb/models/set", json!({ "name": "simulated-1" }));
        server.prompt(&session, "go");
        server.wait_end(&session);
        let wanted = match dialect {
            HostDialect::Seed => "PUT /v1/models/current",
            HostDialect::Source => "POST /v1/models/switch",
        };
        assert!(desk.host.requests().iter().any(|request| request == wanted), "{:?}", desk.host.requests());
    }
}

#[test]
fn r002_21_23_sessions_of_the_folder_are_listed_and_deleted_at_the_host() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([]));
    let mut server = desk.server();
    let session = server.session();
    let listed = server.ask("bb/listSessions", json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    let requests = desk.host.requests();
    assert!(
        requests.iter().any(|request| request.starts_with("GET /v1/sessions?workspace_id=")),
        "{requests:?}"
    );
    server.ask("bb/deleteSession", json!({ "sessionId": session }));
    assert_eq!(desk.host.sessions(), Vec::<String>::new());
}

/// `simulate desktop` as a process, which ends with this value.
struct Simulated {
    child: Child,
    url: String,
}

impl Simulated {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "desktop"]).args(flags).env_remove("BREADBOARD_API_TOKEN");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the host starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the first line");
        let url = line.trim().strip_prefix("listening on ").expect("the address").to_owned();
        Self { child, url }
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(words: &[&str], url: &str, place: &tempfile::TempDir) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(words).arg(format!("--engine=desktop:{url}")).arg("--workspace").arg(place.path());
    command.arg("--state-dir").arg(place.path().join("state")).stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN"] {
        command.env_remove(name);
    }
    command.output().expect("the binary runs")
}

#[test]
fn ask_and_doctor_know_a_desktop_host_in_both_dialects() {
    for dialect in ["seed", "source"] {
        let simulated = Simulated::start(&["--dialect", dialect]);
        let place = tempfile::tempdir().expect("a place");
        let asked = run(&["ask", "hello there", "--trust"], &simulated.url, &place);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(text(&asked.stdout).starts_with("You said: hello there"), "{asked:?}");
        assert_eq!(asked.status.code(), Some(0), "{asked:?}");
        let looked = run(&["doctor", "--trust"], &simulated.url, &place);
        let said = text(&looked.stdout);
        assert!(said.contains("desktop is connected"), "{said}");
        assert_eq!(looked.status.code(), Some(0), "{said}");
    }
}

#[test]
fn doctor_says_what_to_do_about_a_host_that_does_not_answer() {
    let place = tempfile::tempdir().expect("a place");
    let looked = run(&["doctor", "--trust"], "http://127.0.0.1:1", &place);
    let said = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(said.contains("cannot be reached"), "{said}");
    assert!(said.contains("start the host, or correct --engine desktop:<url>"), "{said}");
    assert_ne!(looked.status.code(), Some(0));
}

#[test]
fn a_session_that_the_host_lost_is_said_to_be_gone() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([]));
    let mut server = desk.server();
    let session = server.session();
    // Another client deletes it.
    desk.host.forget(&session);
    until("it is gone", || desk.host.sessions().is_empty().then_some(()));
    let gone = server.wait_notification("bb/connection", |params| {
        params["sessionId"] == session.as_str() && params["status"] == "error"
    });
    assert!(gone["params"]["lastError"].as_str().unwrap().contains("does not have this session"), "{gone}");
    let refused = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "go" }));
    assert_eq!(refused["data"]["code"], "engine_rejected", "{refused}");
}
