//! What a desktop host hears of the workspace while nobody prompts it: files that change, and what changes in front of the user.

use breadboard_ls::testing::domain::edits::text::content_hash;
use breadboard_ls::testing::simulate::desktop::HostDialect;
use serde_json::{Value, json};

use crate::breadboard_desk::{connected, until};
use crate::desktop_desk::HostDesk;
use crate::harness::{Options, Server, uri};

/// An editor that can be asked to watch files, at this host.
fn watching(desk: &HostDesk, trusted: bool) -> Server {
    let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut server = Server::start(Options { capabilities, ..desk.chosen(trusted) });
    server.shake_hands();
    let asked = server.wait_request("client/registerCapability");
    let registered = &asked["params"]["registrations"][0];
    assert_eq!(registered["method"], "workspace/didChangeWatchedFiles", "{asked}");
    assert_eq!(registered["registerOptions"], json!({ "watchers": [{ "globPattern": "**/*" }] }));
    server.answer(&asked["id"], Value::Null);
    server
}

fn change(server: &Server, path: &str, kind: u64) -> Value {
    json!({ "uri": uri(&server.workspace.path().join(path)), "type": kind })
}

fn changed(server: &mut Server, changes: Vec<Value>) {
    server.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
}

/// What a host heard of changed files, as type and path.
fn told(desk: &HostDesk) -> Vec<String> {
    let messages = desk.all_heard("client.file_changes");
    let changes =
        messages.iter().flat_map(|message| message["changes"].as_array().cloned().unwrap_or_default());
    let word = |change: &Value, name: &str| change[name].as_str().unwrap_or_default().to_owned();
    changes.map(|change| format!("{} {}", word(&change, "type"), word(&change, "file_path"))).collect()
}

#[test]
fn r002_101_52_53_files_that_change_here_are_told_to_the_host_and_no_secrets_and_nothing_from_outside() {
    // Given a session at a host, of an editor that watches files
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": [{ "say": "Hello." }] }]));
    let mut server = watching(&desk, true);
    connected(&server);
    let session = server.session();
    server.turn(&session, "hello");
    // When files change on the disk
    server.write("src/new.rs", "fn new() {}\n");
    let mut changes = vec![
        change(&server, "src/new.rs", 1),
        change(&server, "src/new.rs", 2),
        change(&server, "old.rs", 3),
        change(&server, ".env", 2),
        change(&server, ".git/index", 2),
        json!({ "uri": "file:///etc/passwd", "type": 2 }),
    ];
    changed(&mut server, std::mem::take(&mut changes));
    // Then the host hears what became of each, once, with the hash of what is there
    let message = desk.heard("client.file_changes");
    let of = |at: usize| message["changes"][at].clone();
    assert_eq!((&of(0)["type"], &of(0)["file_path"]), (&json!("deleted"), &json!("old.rs")), "{message}");
    assert_eq!((&of(1)["type"], &of(1)["file_path"]), (&json!("created"), &json!("src/new.rs")), "{message}");
    assert_eq!(of(1)["content_hash"], content_hash(b"fn new() {}\n"), "{message}");
    assert!(of(1)["timestamp"].as_str().is_some_and(|moment| moment.ends_with('Z')), "{message}");
    assert_eq!(of(2), Value::Null, "{message}");
    // And what the user saves in the editor
    server.open("src/new.rs", "fn new() {}\n");
    let saved = json!({ "textDocument": { "uri": uri(&server.workspace.path().join("src/new.rs")) } });
    server.notify("textDocument/didSave", saved);
    until("the saved file", || told(&desk).contains(&"modified src/new.rs".to_owned()).then_some(()));
}

#[test]
fn r002_101_without_a_socket_the_route_for_it_is_used_and_very_many_changes_become_one_comparison() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([]));
    let mut server = watching(&desk, true);
    connected(&server);
    let asked = |route: &str| {
        let requests = desk.host.requests();
        requests.iter().any(|request| request.contains(&format!("/index/{route}"))).then_some(())
    };
    // The host knows the folder once a session was made there; a session that nobody opened again has no socket.
    server.session();
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.kill();
    let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut next = Server::start_in(workspace, state, Options { capabilities, ..desk.chosen(true) });
    next.shake_hands();
    connected(&next);
    next.write("a.rs", "");
    let one = vec![change(&next, "a.rs", 1)];
    changed(&mut next, one);
    until("the incremental update", || asked("incremental"));
    // A storm of changes is not told one by one.
    let many = (0..10_000).map(|at| change(&next, &format!("gen/{at}.rs"), 1)).collect();
    changed(&mut next, many);
    until("the comparison", || asked("refresh"));
    assert!(told(&desk).is_empty());
    next.assert_alive();
}

#[test]
fn nothing_of_a_folder_that_is_not_trusted_is_told() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": [{ "say": "Hello." }] }]));
    let mut server = watching(&desk, false);
    connected(&server);
    server.write("a.rs", "");
    let one = vec![change(&server, "a.rs", 1)];
    changed(&mut server, one.clone());
    // What is told once there is trust comes after it, and is alone.
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    let session = server.session();
    server.turn(&session, "hello");
    let other = vec![change(&server, "b.rs", 3)];
    changed(&mut server, other);
    until("the other file", || (!told(&desk).is_empty()).then_some(()));
    assert_eq!(told(&desk), ["deleted b.rs"]);
    let requests = desk.host.requests();
    assert!(!requests.iter().any(|request| request.contains("/index/incremental")), "{requests:?}");
}

#[test]
fn r002_43_what_changed_in_front_of_the_user_while_a_tool_ran_is_told_in_mid_turn() {
    // Given an editor that says what is in front of its user, and a turn whose tool ends
    let tool = |status: &str| {
        json!({ "send": { "type": "tool.execute", "tool_name": "read_file", "args": { "file_path": "a.rs" },
            "status": status, "result": {} } })
    };
    let steps = json!([tool("started"), { "hold": "tool" }, tool("completed"), { "wait": "client.context_update" }, { "say": "I see." }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let capabilities = json!({ "experimental": { "breadboard": { "contextProvide": true } } });
    let mut server = Server::ready(Options { capabilities, ..desk.chosen(true) });
    connected(&server);
    server.write("a.rs", "one\n");
    let session = server.session();
    server.prompt(&session, "fix it");
    let problem = |server: &Server, message: &str| {
        json!({ "diagnostics": [{ "file_path": server.file("a.rs"), "severity": "error", "message": message,
            "line": 1, "character": 0, "source": "rustc" }] })
    };
    let asked = server.wait_request("bb/context/provide");
    let before = problem(&server, "the first");
    server.answer(&asked["id"], before);
    until("the prompt", || desk.all_heard("client.user_message").pop());
    // When its problems are others afterwards
    desk.host.release("tool");
    let asked = server.wait_request("bb/context/provide");
    let after = problem(&server, "the second");
    server.answer(&asked["id"], after);
    // Then the host hears them, and the turn goes on
    let update = desk.heard("client.context_update");
    assert_eq!(update["updates"]["diagnostics"][0]["message"], "the second", "{update}");
    assert_eq!(update["updates"]["diagnostics"][0]["file_path"], "a.rs", "{update}");
    assert_eq!(server.wait_end(&session)["payload"]["message"], "I see.");
}
