//! The routes: each answers what the document says, nothing without the token, and nothing is lost by a restart.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Host, command, prompt};
use crate::harness::own_time::OwnTime;
use crate::model::{Model, says};

/// Every route of the document, with places that lead somewhere.
fn asked(host: &Host) -> Vec<(String, String, String)> {
    let (workspace, session) = (host.workspace_id(), host.session());
    let document = host.get("/v1/openapi.json");
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let real = path.replace("{workspace_id}", &workspace).replace("{session_id}", &session);
            all.push((method.clone(), path.clone(), real));
        }
    }
    // What deletes comes last.
    all.sort_by_key(|(method, ..)| method == "delete");
    all
}

#[test]
fn r002_02_10_11_13_14_19_22_24_25_every_route_answers_as_its_document_says() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let document = host.get("/v1/openapi.json");
    let mut on_disk = document.clone();
    on_disk["components"]["schemas"]["answer"] = Value::Null;
    for (method, path, real) in asked(&host) {
        let (status, body) = host.ask(&method, &real, None);
        let answers = &document["paths"][&path][&method]["responses"];
        let answer = &answers[status.to_string()];
        assert!(answer.is_object(), "{method} {path} answers {status}, which is not in its document: {body}");
        assert_ne!(status, 500, "{method} {path}: {body}");
        let Some(schema) = answer["content"]["application/json"].get("schema") else { continue };
        let mut whole = schema.clone();
        whole["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&whole).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?} {body}");
    }
}

#[test]
fn r002_06_09_no_route_answers_without_the_token() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let wrong = "Bearer 0123456789012345678901234567890123456789012";
    for (method, _, real) in asked(&host) {
        for headers in [&[][..], &[("authorization", wrong)][..]] {
            let (status, body) = host.ask_with(&method, &real, None, headers);
            assert_eq!((status, &body["error"]["code"]), (401, &json!("UNAUTHORIZED")), "{method} {real}");
        }
        let (status, _) = host.ask_with(&method, &format!("{real}?token={}", host.token), None, &[]);
        assert_eq!(status, 401, "a token in the address opens {method} {real}");
    }
    assert_eq!(host.connect(&host.session(), &[]).err(), Some(401));
}

#[test]
fn r002_20_21_22_23_sessions_are_made_listed_by_workspace_and_deleted() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let (workspace, session) = (host.workspace_id(), host.session());
    let listed = host.get(&format!("/v1/sessions?workspace_id={workspace}"));
    assert_eq!((&listed[0]["id"], &listed[0]["workspace_id"]), (&json!(session), &json!(workspace)));
    let (status, refused) = host.ask("get", "/v1/sessions?workspace_id=ws_other", None);
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("NOT_FOUND")));
    let unknown = json!({ "workspace_id": "ws_other" });
    assert_eq!(host.ask("post", "/v1/sessions", Some(unknown)).0, 404);
    let path = format!("/v1/sessions/{session}");
    assert_eq!(host.ask("delete", &path, None), (200, json!({ "success": true })));
    assert_eq!(host.ask("delete", &path, None).0, 404);
    assert_eq!(host.ask("get", &path, None).0, 404);
    assert_eq!(host.connect(&session, &[("authorization", &host.bearer())]).err(), Some(404));
}

#[test]
fn r002_12_only_folders_that_the_host_was_started_with_are_registered() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let register = |path: &str| host.ask("post", "/v1/workspaces/register", Some(json!({ "path": path })));
    let own = host.workspace.path().to_str().expect("text").to_owned();
    let (status, known) = register(&own);
    assert_eq!((status, &known["id"]), (200, &json!(host.workspace_id())));
    assert_eq!(register(&format!("{own}/.")).1["id"], known["id"]);
    let beside = format!("{own}-evil");
    std::fs::create_dir(&beside).expect("a folder");
    for other in [beside.as_str(), "/", &format!("{own}/.."), "nowhere", ""] {
        let (status, refused) = register(other);
        assert_eq!((status, &refused["error"]["code"]), (403, &json!("POLICY_VIOLATION")), "{other}");
    }
    std::fs::remove_dir(beside).expect("is removed");
}

#[test]
fn r002_15_the_policy_is_merged_and_checked() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let policy = format!("/v1/workspaces/{}/policy", host.workspace_id());
    let put = |change: Value| host.ask("put", &policy, Some(change));
    assert_eq!(host.get(&policy)["command_approval"], "always");
    let (status, merged) = put(
        json!({ "command_approval": "prompt", "allowed_commands": ["cargo test *"], "network_enabled": false }),
    );
    assert_eq!(status, 200, "{merged}");
    let (_, merged) = put(json!({ "blocked_commands": ["rm -rf *"], "auto_approve_tools": ["look"] }));
    let wanted = json!({
        "allowed_read_globs": ["**/*"], "allowed_write_globs": ["**/*"], "blocked_globs": [],
        "command_approval": "prompt", "allowed_commands": ["cargo test *"], "blocked_commands": ["rm -rf *"],
        "network_enabled": false, "auto_approve_simple_changes": false, "auto_approve_tests": false,
        "auto_approve_tools": ["look"], "blocked_tools": [],
    });
    assert_eq!(merged, wanted);
    for (change, status) in [
        (json!({ "command_approval": "never" }), 501),
        (json!({ "blocked_globs": ["*.{key,pem}"] }), 422),
        (json!({ "allowed_write_globs": ["../src/**"] }), 422),
        (json!({ "command_approval": "sometimes" }), 422),
        (json!({ "allowed_commands": [""] }), 422),
        (json!({ "unknown_key": true }), 422),
        (json!([]), 422),
    ] {
        assert_eq!(put(change.clone()).0, status, "{change}");
    }
    assert_eq!(host.get(&policy), wanted, "a refused change changed something");
}

#[test]
fn a_search_reads_the_files_as_they_are() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let path = format!("/v1/workspaces/{}/search", host.workspace_id());
    let search = || host.ask("post", &path, Some(json!({ "query": "where is the lantern lit" }))).1;
    assert_eq!(search()["places"], json!([]));
    std::fs::write(host.workspace.path().join("a.rs"), "/// Lights the lantern.\nfn light_lantern() {}\n")
        .expect("a file");
    assert_eq!(search()["places"][0]["file_path"], "a.rs");
}

#[test]
fn r002_26_the_model_is_chosen_over_http() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    assert_eq!(host.get("/v1/models/current")["model_name"], "story");
    let choose = |body: Value| host.ask("put", "/v1/models/current", Some(body));
    assert_eq!(choose(json!({ "model_name": "other" })).1["model_name"], "other");
    assert_eq!(choose(json!({ "model_name": "" })).0, 422);
    assert_eq!(choose(json!({ "model_name": "x", "url": "file:///etc" })).0, 422);
    assert_eq!(host.get("/v1/models/current")["model_name"], "other");
}

#[cfg(unix)]
#[test]
fn the_history_survives_a_restart_and_a_client_that_comes_back_is_told_what_it_missed() {
    let model = Model::start(vec![says("The first answer."), says("The second answer.")]);
    let mut host = Host::of(&model);
    let session = host.session();
    let mut client = host.client(&session, "one");
    client.say(&prompt("the first question"));
    client.wait("assistant.message_final");
    let cursor =
        client.wait_for("session.state", |state| state["state"]["running"] == false)["state"]["cursor"]
            .clone();
    drop(client);
    let mut again = host.client(&session, "two");
    again.say(&prompt("the second question"));
    again.wait("assistant.message_final");
    drop(again);
    let (took, code) = host.stop();
    assert!(took < Duration::from_secs(5) && code == Some(0), "{took:?} {code:?}");

    let host = Host::start_in(Arc::clone(&host.workspace), Arc::clone(&host.state), &model);
    let history = host.get(&format!("/v1/sessions/{session}/messages"));
    let said: Vec<(&str, &str)> = history["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|entry| entry["role"] == "user" || entry["role"] == "assistant")
        .map(|entry| (entry["role"].as_str().expect("a role"), entry["content"].as_str().expect("a text")))
        .collect();
    assert_eq!(
        said,
        [
            ("user", "the first question"),
            ("assistant", "The first answer."),
            ("user", "the second question"),
            ("assistant", "The second answer."),
        ]
    );
    let mut back = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    let mut hello = super::hello("one");
    hello["last_seen"] = cursor;
    back.say(&hello);
    let snapshot = back.wait("session.snapshot");
    assert!(snapshot["messages"].to_string().contains("The second answer."), "{snapshot}");
    let state = back.wait("session.state");
    assert!(state["state"]["resume"]["verdict"].is_string(), "{state}");
    assert_eq!(state["state"]["cursor"], snapshot["cursor"]);
}

#[cfg(unix)]
#[test]
fn the_host_ends_within_five_seconds_with_clients_attached_and_closes_them_as_going_away() {
    let gate = crate::model::Gate::default();
    let model = Model::start(vec![crate::model::says_and_waits("half", &gate, "")]);
    let mut host = Host::of(&model);
    let session = host.session();
    let pid = host.child.id();
    let mut client = host.client(&session, "one");
    client.say(&prompt("a question"));
    client.wait("assistant.token");
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("is told");
    let mut time = OwnTime::of_programs();
    let code = loop {
        if let Err(code) = client.next() {
            break code;
        }
    };
    assert_eq!(code, 1001);
    drop(client);
    assert_eq!(host.child.wait().expect("ends").code(), Some(0));
    let took = time.taken();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn r002_04_05_an_address_that_others_reach_needs_tls_and_the_default_is_this_machine_at_3199() {
    let (workspace, state) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let refused = command(&workspace, &state).arg("--listen=0.0.0.0:0").output().expect("ends");
    let words = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(words.contains("--tls-cert") && words.contains("127.0.0.1"), "{words}");
    assert!(!state.path().join("host").exists(), "something was made");
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["engine", "--help"])
        .output()
        .expect("help");
    assert!(String::from_utf8_lossy(&help.stdout).contains("[default: 127.0.0.1:3199]"));
}
