//! The engine's commands, its artifacts and the files of a session, through our own surface.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::breadboard_desk::*;
use crate::harness::Server;

fn command(session: &str, name: &str, args: Value) -> Value {
    json!({ "sessionId": session, "command": name, "args": args })
}

#[test]
fn r000_27_checkpoints_are_listed_and_restored() {
    let desk = Desk::scripted(&json!([
        [{ "write": "a.txt", "content": "first\n" }], [{ "write": "a.txt", "content": "second\n" }],
    ]));
    let mut server = desk.server();
    let session = server.session();
    for prompt in ["one", "two"] {
        server.prompt(&session, prompt);
        ran(&server, &session);
        status(&server, &session, "idle");
    }
    assert_eq!(server.read("a.txt"), "second\n");
    let listed = server.ask("bb/command", command(&session, "list_checkpoints", json!({})));
    let wanted =
        json!({ "sessionId": session, "status": "accepted", "detail": { "status": "ok", "count": 2 } });
    assert_eq!(listed, wanted);
    let list = heard(&server, &session, "checkpoint_list");
    assert_eq!(list["payload"]["checkpoints"][0]["checkpoint_id"], "ckpt-2", "{list}");
    let restored = server
        .ask("bb/command", command(&session, "restore_checkpoint", json!({ "checkpoint_id": "ckpt-2" })));
    assert_eq!(restored["detail"]["checkpoint_id"], "ckpt-2", "{restored}");
    let event = heard(&server, &session, "checkpoint_restored");
    assert_eq!((&event["class"], &event["payload"]["mode"]), (&json!("checkpoint.restored"), &json!("code")));
    assert_eq!(server.read("a.txt"), "first\n");
    let blocks =
        server.ask("bb/selectSession", json!({ "sessionId": session }))["view"]["lanes"]["run"]["blocks"]
            .clone();
    assert!(!of_kind(blocks.as_array().unwrap(), "checkpoint").is_empty(), "{blocks:#}");
}

#[test]
fn r000_27_a_command_is_passed_on_and_its_refusal_is_one_sentence() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    let set = server.ask("bb/command", command(&session, "set_model", json!({ "model": "simulator/large" })));
    assert_eq!(set["detail"], json!({ "status": "ok", "model": "simulator/large" }));
    let sent = json!({ "command": "set_model", "payload": { "model": "simulator/large" } });
    assert_eq!(desk.commands(&session), [sent]);
    for (name, args, code, word) in [
        ("dance", json!({}), "unsupported", "`dance`"),
        ("run_tests", json!({}), "unsupported", "`run_tests`"),
        ("apply_diff", json!({}), "unsupported", "`apply_diff`"),
        ("restore_checkpoint", json!({ "checkpoint_id": "ckpt-9" }), "engine_rejected", "ckpt-9"),
        ("set_model", json!({}), "engine_rejected", "model is required"),
        ("permission_decision", json!({}), "invalid_params", "where it is shown"),
        (" ", json!({}), "invalid_params", "blank"),
    ] {
        let error = server.refused("bb/command", command(&session, name, args));
        assert_eq!(error["data"]["code"], code, "{error}");
        let sentence = error["message"].as_str().unwrap();
        assert!(sentence.contains(word) && sentence.ends_with('.'), "{sentence}");
    }
    let error = server.refused("bb/command", command("nobody", "list_checkpoints", json!({})));
    assert_eq!(error["data"]["code"], "unknown_session");
}

#[test]
fn r000_27_a_stop_by_command_is_a_stop() {
    let desk = Desk::scripted(&json!([[asks("make it", "made", "not made"), says("went on")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_ask(&session);
    let stopped = server.ask("bb/command", command(&session, "stop", json!({})));
    assert_eq!(stopped["detail"], json!({ "stopping": true }));
    assert_eq!(ran(&server, &session)["payload"]["reason"], "stopped_by_user");
}

/// Files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn r000_33_an_artifact_comes_byte_by_byte_as_it_is() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    // Nothing that text would survive: every byte, CRLF, no UTF-8.
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at * 7 + at / 251) as u8).collect();
    std::fs::create_dir_all(server.workspace.path().join("out")).unwrap();
    std::fs::write(server.workspace.path().join("out/log.bin"), &bytes).unwrap();
    let artifact = json!({ "sessionId": session, "artifactPath": "out/log.bin", "workDoneToken": "t" });
    let came = server.ask("bb/downloadArtifact", artifact);
    let path = url::Url::parse(came["uri"].as_str().unwrap()).unwrap().to_file_path().unwrap();
    assert!(path.starts_with(server.state.path()), "{came}");
    assert!(std::fs::read(&path).unwrap() == bytes, "other bytes");
    assert_eq!((&came["artifactPath"], &came["bytes"]), (&json!("out/log.bin"), &json!(bytes.len())));
    assert_eq!(came["sha256"], format!("{:x}", Sha256::digest(&bytes)));
    for (path, code) in [("out/nothing.bin", "not_found"), ("", "invalid_params")] {
        let error =
            server.refused("bb/downloadArtifact", json!({ "sessionId": session, "artifactPath": path }));
        assert_eq!(error["data"]["code"], code, "{error}");
    }
    let outside =
        server.refused("bb/downloadArtifact", json!({ "sessionId": session, "artifactPath": "../secret" }));
    assert!(
        ["engine_rejected", "path_outside_workspace"].contains(&outside["data"]["code"].as_str().unwrap()),
        "{outside}"
    );
    assert_eq!(files(&server.state.path().join("artifacts")), [path]);
}

/// An engine whose artifact of 1,000,000 bytes comes in pieces of a thousand, the last only once `done` is said.
fn slow(done: &Arc<AtomicBool>) -> Socket {
    let done = Arc::clone(done);
    Socket::start(move |line, out| {
        if !line.starts_with(&format!("GET /v1/sessions/{ONLY}/download?")) {
            return Ok(false);
        }
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n")?;
        let mut left = 1_000;
        while left > 0 {
            if left > 1 || done.load(Ordering::SeqCst) {
                out.write_all(&[b'x'; 1_000])?;
                out.flush()?;
                left -= 1;
            }
            if !done.load(Ordering::SeqCst) {
                // A slow line, not a wait for something.
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
        Ok(true)
    })
}

fn progress(server: &Server, kind: &str) -> Value {
    let told = server
        .wait_notification("$/progress", |params| params["token"] == "t" && params["value"]["kind"] == kind);
    told["params"]["value"].clone()
}

#[test]
fn r000_33_progress_is_told_while_an_artifact_comes() {
    let done = Arc::new(AtomicBool::new(false));
    let socket = slow(&done);
    let mut server = Server::ready(chosen(&socket.url, true));
    connected(&server);
    let session = server.session();
    let asked = json!({ "sessionId": session, "artifactPath": "a.bin", "workDoneToken": "t" });
    let id = server.request("bb/downloadArtifact", asked);
    progress(&server, "begin");
    let report = progress(&server, "report");
    assert!(report["percentage"].as_u64().is_some_and(|part| part < 100), "{report}");
    done.store(true, Ordering::SeqCst);
    let answer = server.wait_response(&id);
    assert_eq!(answer["result"]["bytes"], 1_000_000, "{answer}");
    assert_eq!(answer["result"]["sha256"], format!("{:x}", Sha256::digest(vec![b'x'; 1_000_000])));
    progress(&server, "end");
}

#[test]
fn r000_33_a_cancelled_download_leaves_nothing() {
    let done = Arc::new(AtomicBool::new(false));
    let socket = slow(&done);
    let mut server = Server::ready(chosen(&socket.url, true));
    connected(&server);
    let session = server.session();
    let asked = json!({ "sessionId": session, "artifactPath": "a.bin", "workDoneToken": "t" });
    let id = server.request("bb/downloadArtifact", asked);
    progress(&server, "report");
    assert!(!files(&server.state.path().join("artifacts")).is_empty(), "it is being written");
    server.notify("$/cancelRequest", json!({ "id": id }));
    let answer = server.wait_response(&id);
    assert_eq!(answer["error"]["code"], -32800, "{answer}");
    progress(&server, "end");
    until("the piece is gone", || files(&server.state.path().join("artifacts")).is_empty().then_some(()));
    server.assert_alive();
}

#[test]
fn r000_30_31_files_of_a_session_are_listed_and_read() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    server.write("src/main.rs", "fn main() {}\r\n// end\n");
    let listed = server.ask("bb/listFiles", json!({ "sessionId": session, "path": "src" }));
    let wanted = json!([{ "path": "src/main.rs", "name": "main.rs", "type": "file", "size": 21 }]);
    assert_eq!((&listed["entries"], &listed["truncated"]), (&wanted, &json!(false)));
    let read = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "src/main.rs" }));
    // The engine would say LF: this is the file as it is.
    assert_eq!(
        (&read["content"], &read["totalBytes"]),
        (&json!("fn main() {}\r\n// end\n"), &json!(21)),
        "{read}"
    );
    server.open("src/main.rs", "unsaved\n");
    let buffer = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "src/main.rs" }));
    assert_eq!((&buffer["content"], &buffer["source"]), (&json!("unsaved\n"), &json!("buffer")));
    for (path, code) in [("../x", "path_outside_workspace"), ("none.rs", "not_found")] {
        let error = server.refused("bb/readFileSnippet", json!({ "sessionId": session, "path": path }));
        assert_eq!(error["data"]["code"], code, "{error}");
    }
}

#[test]
fn models_of_the_engine_are_listed_and_chosen() {
    let desk = Desk::scripted(&json!([[says("ok")]]));
    let mut server = desk.server();
    let models = server.ask("bb/models/list", json!({}));
    let ids: Vec<&Value> = models["models"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["simulator/small", "simulator/large"]);
    server.ask("bb/models/set", json!({ "name": "simulator/large" }));
    let session = server.session();
    server.prompt(&session, "hi");
    ran(&server, &session);
    let made = desk.asked("POST /v1/sessions").remove(0);
    let told = desk.commands(&session);
    let at_birth = made.body.contains("simulator/large");
    assert!(
        at_birth || told.iter().any(|body| body["payload"]["model"] == "simulator/large"),
        "{} {told:?}",
        made.body
    );
}
