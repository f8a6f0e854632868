//! Two states of a file compared and opened as documents, and artifacts brought to disk.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use breadboard_ls::testing::domain::edits::text::content_hash;
use breadboard_ls::testing::simulate::breadboard::{Simulator, SimulatorOptions};
use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

fn git(at: &Path, words: &[&str]) {
    let done = Command::new("git").current_dir(at).args(words).output().expect("git");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn commit(at: &Path) {
    git(at, &["init", "-q", "-b", "main"]);
    git(at, &["add", "-A"]);
    git(at, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "first"]);
}

/// A side's text, by either name of the request.
fn text(server: &mut Server, side: &Value) -> String {
    let uri = json!({ "uri": side["uri"] });
    let document = server.ask("bb/textDocument", uri.clone());
    let standard = server.ask("workspace/textDocumentContent", uri);
    assert_eq!(standard, json!({ "text": document["text"] }), "the standard has one field");
    document["text"].as_str().expect("a text").to_owned()
}

#[test]
fn r000_32_a_changed_a_new_and_a_deleted_file_are_compared_with_the_last_commit() {
    let mut server = Server::start(Options {
        capabilities: json!({ "workspace": { "textDocumentContent": {} } }),
        ..Options::default()
    });
    let announced = server.shake_hands();
    let workspace = &announced["result"]["capabilities"]["workspace"];
    assert_eq!(workspace["textDocumentContent"], json!({ "schemes": ["bb-diff"] }));
    let session = server.session();
    server.write("src/ü a.rs", "one\r\ntwo\r\n");
    server.write("old.txt", "moved\n");
    commit(server.workspace.path());
    let ask = |path: &str| json!({ "sessionId": session, "filePath": path });

    server.open("src/ü a.rs", "one\r\n2\r\n");
    let changed = server.ask("bb/openDiff", ask("src/ü a.rs"));
    assert_eq!(
        changed,
        json!({
            "title": "src/ü a.rs (git:HEAD ↔ buffer)",
            "left": { "uri": format!("bb-diff:/{session}/~/git~3AHEAD/src/%C3%BC%20a.rs") },
            "right": { "uri": server.file("src/ü a.rs") },
            "unified": "--- a/src/ü a.rs\n+++ b/src/ü a.rs\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n",
            "added": 1, "removed": 1, "truncated": false,
        })
    );
    assert_eq!(text(&mut server, &changed["left"]), "one\r\ntwo\r\n");

    std::fs::rename(server.workspace.path().join("old.txt"), server.workspace.path().join("new.txt"))
        .expect("renamed");
    let new = server.ask("bb/openDiff", ask("new.txt"));
    assert_eq!((&new["added"], &new["removed"]), (&json!(1), &json!(0)));
    assert_eq!(text(&mut server, &new["left"]), "");
    let gone = server.ask("bb/openDiff", ask("old.txt"));
    assert_eq!((&gone["added"], &gone["removed"]), (&json!(0), &json!(1)));
    assert_eq!(text(&mut server, &gone["right"]), "");
    assert_eq!(text(&mut server, &gone["left"]), "moved\n");
    let none = server.refused("bb/openDiff", ask("none.txt"));
    assert_eq!(none["data"]["code"], "not_found");
    let mut unknown = ask("new.txt");
    unknown["beforeRef"] = json!("git:nowhere");
    assert_eq!(server.refused("bb/openDiff", unknown)["data"]["code"], "not_found");
}

#[test]
fn r000_32_36_large_files_are_cut_binaries_named_and_links_out_refused() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("secret"), "what lies outside\n").expect("a file");
    symlink(outside.path().join("secret"), server.workspace.path().join("link")).expect("a link");
    let long: String = (0..700_000).map(|n| format!("line {}\n", n % 50_000)).collect();
    server.write("long.txt", &long);
    server.write("image.bin", "\0\u{1}");
    let mut ask = |path: &str, before: &str, after: &str| {
        let params =
            json!({ "sessionId": session, "filePath": path, "beforeRef": before, "afterRef": after });
        let id = server.request("bb/openDiff", params);
        let answer = server.wait_response(&id);
        answer.get("result").cloned().unwrap_or_else(|| answer["error"]["data"]["code"].clone())
    };
    assert_eq!(ask("long.txt", "git:HEAD", "buffer"), "not_found", "there is no repository");
    assert_eq!(ask("image.bin", "disk", "buffer"), "not_text");
    assert_eq!(ask("link", "disk", "buffer"), "path_outside_workspace");
    assert_eq!(ask("../x", "disk", "buffer"), "path_outside_workspace");
    assert_eq!(ask("long.txt", "svn:1", "buffer"), "invalid_params");
    assert_eq!(ask("long.txt", "artifact:x", "buffer"), "unsupported", "the embedded engine has none");
    server.open("long.txt", &long.to_uppercase());
    let params = json!({ "sessionId": session, "filePath": "long.txt", "beforeRef": "disk" });
    let found = server.ask("bb/openDiff", params);
    assert_eq!(found["truncated"], true);
    assert!(found["unified"].as_str().is_some_and(|text| text.len() <= 1 << 20 && text.len() > 1_000_000));
    let shown = text(&mut server, &found["left"]);
    assert!(long.starts_with(&shown) && shown.len() > 4_000_000, "{}", shown.len());
}

#[test]
fn r000_32_36_git_is_started_without_our_secrets_and_starts_nothing_of_the_repository() {
    let bin = tempfile::tempdir().expect("a folder");
    let marker = bin.path().join("started");
    let real = std::env::var("PATH").expect("a path");
    let shim = format!("#!/bin/sh\nenv >> '{}/env'\nPATH='{real}' exec git \"$@\"\n", bin.path().display());
    std::fs::write(bin.path().join("git"), shim).expect("a program");
    std::fs::set_permissions(bin.path().join("git"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:.:{real}", bin.path().display());
    let options = Options::default()
        .env("PATH", &path)
        .env("BREADBOARD_API_TOKEN", "hidden-1-0123456789")
        .env("STORY_TOKEN", "hidden-2-0123456789")
        .env("GIT_EXTERNAL_DIFF", "hidden-3-0123456789");
    let mut server = Server::ready(options);
    let session = server.session();
    server.write("a.txt", "one\n");
    server.write(".gitattributes", "* filter=evil diff=evil\n");
    commit(server.workspace.path());
    let touch = format!("touch '{}'", marker.display());
    for name in ["core.fsmonitor", "core.pager", "diff.external", "diff.evil.textconv", "filter.evil.smudge"]
    {
        git(server.workspace.path(), &["config", name, &touch]);
    }
    server.write("a.txt", "two\n");
    let found = server.ask("bb/openDiff", json!({ "sessionId": session, "filePath": "a.txt" }));
    assert_eq!((&found["added"], &found["removed"]), (&json!(1), &json!(1)));
    let seen = std::fs::read_to_string(bin.path().join("env")).expect("git was started by its name");
    assert!(!seen.contains("hidden-") && !seen.to_uppercase().contains("BREADBOARD_"), "{seen}");
    assert!(seen.contains("GIT_NO_LAZY_FETCH=1"), "{seen}");
    assert!(!marker.exists());
}

#[test]
fn r000_32_a_patch_that_waits_is_compared_with_the_file_it_changes() {
    let wish = json!({ "file_path": "a.txt", "rationale": "shorter", "edits": [{ "old_text": "two", "new_text": "2" }] });
    let model = Model::start(vec![calls("propose_patch", wish), says("done")]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.write("a.txt", "one\ntwo\n");
    server.prompt(&session, "make it shorter");
    let proposed = server.wait_event(&session, "a patch", |event| event["class"] == "patch.proposed");
    let id = proposed["payload"]["patch_id"].as_str().expect("an id").to_owned();
    let ask = server.wait_ask(&session);
    let params = json!({ "sessionId": session, "filePath": "a.txt", "beforeRef": "disk", "afterRef": format!("patch:{id}") });
    let found = server.ask("bb/openDiff", params.clone());
    assert_eq!(found["unified"], proposed["payload"]["diff"]);
    assert_eq!(text(&mut server, &found["right"]), "one\n2\n");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    assert_eq!(server.ask("bb/openDiff", params)["unified"], "", "it is in the file now");
    assert_eq!(text(&mut server, &found["right"]), "one\n2\n");
}

#[test]
fn r000_33_an_artifact_comes_to_disk_byte_for_byte_and_goes_with_its_session() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let simulator = Simulator::start(SimulatorOptions::default(), runtime.handle()).expect("a simulator");
    let engine =
        json!({ "kind": "breadboard", "url": simulator.base_url(), "configPath": "agent_configs/x.yaml" });
    let options = json!({ "engine": engine, "workspaceTrusted": true });
    let mut server = Server::ready(Options { options, ..Options::default() });
    let made = server.ask("bb/createSession", json!({}));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::create_dir_all(server.workspace.path().join("out")).expect("a folder");
    std::fs::write(server.workspace.path().join("out/data.bin"), &bytes).expect("an artifact");
    let ask = |path: &str| json!({ "sessionId": session, "artifactPath": path, "workDoneToken": "t" });
    let got = server.ask("bb/downloadArtifact", ask("out/data.bin"));
    let place =
        url::Url::parse(got["uri"].as_str().expect("a uri")).expect("a uri").to_file_path().expect("a file");
    assert_eq!((&got["bytes"], &got["artifactPath"]), (&json!(3_000_000), &json!("out/data.bin")));
    assert_eq!(format!("sha256:{}", got["sha256"].as_str().expect("a hash")), content_hash(&bytes));
    assert!(std::fs::read(&place).expect("the artifact") == bytes);
    assert!(place.starts_with(server.state.path()) && place.ends_with("data.bin"));
    assert_eq!(server.refused("bb/downloadArtifact", ask("none"))["data"]["code"], "not_found");

    server.write("a.txt", "new\n");
    server.write("out/a.txt", "old\n");
    let params = json!({ "sessionId": session, "filePath": "a.txt", "beforeRef": "artifact:out/a.txt" });
    let found = server.ask("bb/openDiff", params);
    assert_eq!(found["unified"], "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n");
    assert_eq!(text(&mut server, &found["left"]), "old\n");
    let kept = place.parent().and_then(Path::parent).expect("a folder").to_owned();
    let left: Vec<_> = std::fs::read_dir(&kept).expect("the folder of the session").collect();
    assert_eq!(left.len(), 1, "what was fetched to be compared is gone: {left:?}");
    server.ask("bb/deleteSession", json!({ "sessionId": session }));
    // The folder goes a moment after the answer.
    let until = std::time::Instant::now() + crate::harness::PATIENCE;
    while kept.exists() {
        assert!(std::time::Instant::now() < until, "the artifacts stay");
        server.assert_alive();
    }
}
