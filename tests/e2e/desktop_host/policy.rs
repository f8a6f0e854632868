//! The policy over the wire: what it lets be done, what never, for every tool; and that it outlives the host.
//!
//! Each hole that was proved in the public source of the protocol is a story here that a policy of texts and prefixes fails.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Host, Socket, command, prompt};
use crate::model::{Model, calls, says};

/// What became of what an agent wanted.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The user was asked, and said no.
    Asked,
    /// The policy allowed it.
    Allowed,
    /// The policy denied it.
    Denied,
}

use Outcome::{Allowed, Asked, Denied};

/// A host, a session, and a client that says no to everything that it is asked.
fn outcome(client: &mut Socket<'_>, model: &Model, tool: &'static str, args: Value) -> Outcome {
    model.then(calls(tool, args));
    model.then(says("Over."));
    client.say(&prompt("do it"));
    let mut settled = None;
    loop {
        let message = client.next().unwrap_or_else(|code| panic!("closed with {code}: {:#?}", client.heard));
        match message["type"].as_str().expect("a type") {
            "tool.request_approval" | "command.request_approval" => {
                client.say(&json!({ "type": "client.approval_response", "request_id": message["request_id"], "approved": false,
                                    "scope": "all" }));
            }
            "approval.settled" if settled.is_none() => settled = Some(message),
            "assistant.message_final" => break,
            _ => {}
        }
    }
    // The model heard how it went; what it says next is for the next call.
    model.asked();
    model.asked();
    let settled = settled.unwrap_or_else(|| panic!("nothing was asked: {:#?}", client.heard));
    match (settled["status"].as_str(), settled["by"].is_null()) {
        (Some("allowed"), true) => Allowed,
        (Some("denied"), true) => Denied,
        (Some("denied"), false) => Asked,
        other => panic!("{other:?}: {settled}"),
    }
}

/// What a tool that asks nobody gave the model.
fn told(client: &mut Socket<'_>, model: &Model, tool: &'static str, args: Value) -> String {
    model.then(calls(tool, args));
    model.then(says("Over."));
    client.say(&prompt("do it"));
    client.wait("assistant.message_final");
    model.asked();
    model.asked().tool_result()
}

fn put(host: &Host, change: Value) -> (u16, Value) {
    host.ask("put", &format!("/v1/workspaces/{}/policy", host.workspace_id()), Some(change))
}

fn set(host: &Host, change: Value) -> Value {
    let (status, policy) = put(host, change);
    assert_eq!(status, 200, "{policy}");
    policy
}

fn run(command: &str) -> Value {
    json!({ "command": command, "reason": "r" })
}

#[cfg(unix)]
#[test]
fn r002_93_94_a_list_of_commands_covers_what_was_parsed_and_no_prefix_substring_or_spelling() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    std::fs::write(host.workspace.path().join("a.txt"), "a\n").expect("a file");
    let lists = json!({ "command_approval": "prompt", "allowed_commands": ["ls *"], "blocked_commands": ["rm -rf", "sudo", "curl"], "network_enabled": false });
    set(&host, lists);
    for (line, wanted) in [
        ("ls a.txt", Allowed),
        // A prefix of the text would let all of these through.
        ("ls && touch made", Asked),
        ("ls; touch made", Asked),
        ("lsof", Asked),
        // A substring would miss these …
        ("rm  -rf  sub", Denied),
        ("rm -RF sub", Denied),
        ("ls && rm -rf sub", Denied),
        // … and hit this one.
        ("echo sudoku", Asked),
        // A list of words for "network" would miss these.
        ("git push origin main", Denied),
        ("npm ci", Denied),
        ("python3 -c 'import urllib.request'", Asked),
    ] {
        assert_eq!(outcome(&mut client, &model, "run_command", run(line)), wanted, "{line}");
    }
    assert!(!host.workspace.path().join("made").exists());
}

#[cfg(unix)]
#[test]
fn r002_93_always_prompt_and_never_are_three_different_words() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    set(&host, json!({ "allowed_commands": ["ls *"], "command_approval": "always" }));
    assert_eq!(outcome(&mut client, &model, "run_command", run("ls .")), Asked);
    set(&host, json!({ "command_approval": "prompt" }));
    assert_eq!(outcome(&mut client, &model, "run_command", run("ls .")), Allowed);
    let (status, refused) = put(&host, json!({ "command_approval": "never" }));
    assert_eq!((status, &refused["error"]["details"]["key"]), (501, &json!("command_approval")));
    // What would be forgotten is refused.
    let (status, refused) =
        put(&host, json!({ "command_approval": "always", "auto_approve_simple_changes": true }));
    assert_eq!((status, &refused["error"]["details"]["key"]), (422, &json!("auto_approve_simple_changes")));
}

#[test]
fn r002_93_changes_that_need_no_question_are_made_and_kept_files_are_changed_by_nobody() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    let folder = host.workspace.path();
    for path in ["src/a.txt", "docs/a.txt", "vault/a.txt"] {
        std::fs::create_dir_all(folder.join(path).parent().expect("a folder")).expect("a folder");
        std::fs::write(folder.join(path), "text\n").expect("a file");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.join("vault"), folder.join("src/link")).expect("a link");
    let edit = |path: &str| json!({ "file_path": path, "rationale": "r", "edits": [{ "old_text": "text", "new_text": "new" }] });
    set(
        &host,
        json!({ "command_approval": "prompt", "auto_approve_simple_changes": true, "allowed_write_globs": ["src/**"], "blocked_globs": ["Vault/**"] }),
    );
    assert_eq!(outcome(&mut client, &model, "propose_patch", edit("src/a.txt")), Allowed);
    assert_eq!(std::fs::read_to_string(folder.join("src/a.txt")).expect("a file"), "new\n");
    // Readable, and not to be changed.
    assert_eq!(outcome(&mut client, &model, "propose_patch", edit("docs/a.txt")), Denied);
    for path in ["vault/a.txt", "./vault/a.txt", "src/link/a.txt"] {
        let said = told(&mut client, &model, "propose_patch", edit(path));
        assert!(!said.contains("text\n"), "{path}: {said}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("vault/a.txt")).expect("a file"), "text\n");
    assert_eq!(std::fs::read_to_string(folder.join("docs/a.txt")).expect("a file"), "text\n");
    #[cfg(unix)]
    for line in [
        "echo x > docs/a.txt",
        "cat vault/a.txt",
        "cat src/../vault/a.txt",
        "cat src/link/a.txt",
        "cp src/a.txt docs/c.txt",
    ] {
        assert_eq!(outcome(&mut client, &model, "run_command", run(line)), Denied, "{line}");
    }
}

#[test]
fn r002_93_a_file_that_is_kept_is_read_listed_and_found_by_no_tool_and_no_route() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let folder = host.workspace.path();
    let secret = "the_word_that_nobody_reads";
    for path in
        ["open.txt", ".git/config", ".env", "node_modules/x.js", "web/node_modules/y.js", "vault/z.txt"]
    {
        std::fs::create_dir_all(folder.join(path).parent().expect("a folder")).expect("a folder");
        let text = if path == "open.txt" { "fn open_word() {}\n" } else { secret };
        std::fs::write(folder.join(path), text).expect("a file");
    }
    let session = host.session();
    let mut client = host.client(&session, "one");
    // Before it is kept, it is found: the story can tell.
    let before = told(&mut client, &model, "search_text", json!({ "pattern": secret }));
    assert!(before.contains("vault/z.txt"), "{before}");
    set(&host, json!({ "blocked_globs": [".git/**", ".env", "node_modules/**", "vault/**"] }));
    for path in [
        ".git/config",
        "./.git/config",
        ".env",
        "node_modules/x.js",
        "web/node_modules/y.js",
        "vault/z.txt",
        "VAULT/z.txt",
    ] {
        let said = told(&mut client, &model, "read_file", json!({ "path": path }));
        assert!(!said.contains(secret), "{path}: {said}");
    }
    let listed = told(&mut client, &model, "list_files", json!({ "path": "" }));
    assert!(listed.contains("open.txt") && listed.contains("web/"), "{listed}");
    for kept in [".git", "node_modules", "vault", ".env"] {
        assert!(!listed.contains(kept), "{kept}: {listed}");
    }
    let found = told(&mut client, &model, "search_text", json!({ "pattern": "word" }));
    assert!(
        found.contains("open.txt") && !found.contains("node_modules") && !found.contains("vault"),
        "{found}"
    );
    let route = format!("/v1/workspaces/{}/search", host.workspace_id());
    let (status, places) = host.ask("post", &route, Some(json!({ "query": secret })));
    assert_eq!(status, 200, "{places}");
    assert!(!places.to_string().contains("vault"), "{places}");
    // What may be read is a list, too.
    set(&host, json!({ "allowed_read_globs": ["src/**"] }));
    let said = told(&mut client, &model, "read_file", json!({ "path": "open.txt" }));
    assert!(!said.contains("open_word"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_policy_outlives_a_kill_is_merged_by_key_and_one_that_was_damaged_starts_no_host() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let id = host.workspace_id();
    set(
        &host,
        json!({ "blocked_globs": ["*.key"], "allowed_commands": ["ls *"], "blocked_tools": ["delete_everything"] }),
    );
    let whole = set(&host, json!({ "blocked_commands": ["sudo"], "auto_approve_tests": true }));
    assert_eq!(whole["blocked_globs"], json!(["*.key"]));
    // What is refused changes nothing of it.
    for bad in [
        json!({ "blocked_globs": ["*.{a,b}"] }),
        json!({ "allowed_read_globs": ["../x"] }),
        json!({ "no_key": 1 }),
    ] {
        assert_eq!(put(&host, bad.clone()).0, 422, "{bad}");
    }
    let (workspace, state) = (Arc::clone(&host.workspace), Arc::clone(&host.state));
    let file = state.path().join("host/policies").join(format!("{id}.json"));
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(std::fs::metadata(&file).expect("the file").mode() & 0o777, 0o600);
    }
    // Dropped, it is killed.
    drop(host);
    let host = Host::start_in(Arc::clone(&workspace), Arc::clone(&state), &model);
    assert_eq!(host.get(&format!("/v1/workspaces/{id}/policy")), whole);
    drop(host);
    // What the command line forbids is forbidden beside it.
    let words: Vec<String> = ["--trust", "--deny=curl"].into_iter().map(str::to_owned).collect();
    let host = Host::with(Arc::clone(&workspace), Arc::clone(&state), &words);
    assert_eq!(host.get(&format!("/v1/workspaces/{id}/policy"))["blocked_commands"], json!(["sudo", "curl"]));
    drop(host);
    let text = std::fs::read_to_string(&file).expect("the file");
    for damaged in [&text[..text.len() / 2], "[]", r#"{"blocked_globs":["[x]"]}"#] {
        std::fs::write(&file, damaged).expect("is written");
        let refused = command(&workspace, &state).arg("--listen=127.0.0.1:0").output().expect("ends");
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{words}");
        assert!(words.contains(&format!("{id}.json")) && words.contains("delete it"), "{words}");
    }
}

#[test]
fn a_tool_that_is_blocked_is_denied_and_one_that_is_approved_is_not_asked_about() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let policy = set(&host, json!({ "blocked_tools": ["fetch_page"], "auto_approve_tools": ["look_up"] }));
    assert_eq!(
        (&policy["blocked_tools"], &policy["auto_approve_tools"]),
        (&json!(["fetch_page"]), &json!(["look_up"]))
    );
    let policy = set(&host, json!({ "blocked_tools": [] }));
    assert_eq!((&policy["blocked_tools"], &policy["auto_approve_tools"]), (&json!([]), &json!(["look_up"])));
}
