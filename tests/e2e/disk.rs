//! The state directory in every bad shape: one sentence for the user, and everything goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::flood::{Answer, Model};
use super::harness::client::Client;
use super::harness::{Options, Server};

fn model() -> Model {
    Model::start(|_, _| Answer::Text(vec!["An ".to_owned(), "answer.".to_owned()]))
}

fn options(model: &Model) -> Options {
    Options { options: json!({ "model": model.setting() }), keep_frames: true, ..Options::default() }
}

/// The sentence that the user was shown.
fn shown(server: &Server, part: &str) -> Value {
    let message = server.wait_notification("window/showMessage", |params| {
        params["message"].as_str().is_some_and(|text| text.contains(part))
    });
    assert_eq!(message["params"]["type"], 2, "{message}");
    message["params"]["message"].clone()
}

/// A session, a whole turn and every way to read it; gives the epoch.
fn assert_all_works(server: &mut Server) -> Value {
    let init = server.ask("bb/init", json!({}));
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let mut client = Client::new(&session);
    client.view = Some(server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone());
    server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "A question." }));
    server.wait_notification("bb/events", |params| {
        params["sessionId"] == session
            && params["events"].as_array().unwrap().iter().any(|event| event["class"] == "run.finished")
    });
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    client.take(&server.frames());
    let told: Vec<Value> = (1..=client.seq()).map(|seq| client.event(seq)).collect();
    assert_eq!(read["events"], Value::from(told));
    assert_eq!(client.view.as_ref(), Some(&selected["view"]));
    let listed = server.ask("bb/listSessions", json!({}));
    assert!(listed["sessions"].as_array().unwrap().iter().any(|entry| entry["sessionId"] == session));
    init["epoch"].clone()
}

fn start(state: &Path, model: &Model) -> Server {
    let mut options = options(model);
    options.options["stateDir"] = json!(state);
    Server::ready(options)
}

fn database(state: &Path) -> PathBuf {
    state.join("sessions.sqlite3")
}

/// Databases that were set aside, without their logs.
fn set_aside(state: &Path, why: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.contains(why) && !["-wal", "-shm", ".front"].iter().any(|end| name.ends_with(end))
        })
        .collect()
}

#[test]
fn a_state_directory_that_cannot_be_had_is_said_and_the_window_works_without() {
    let (model, place) = (model(), TempDir::new().unwrap());
    let file = place.path().join("a-file");
    std::fs::write(&file, "in its place").unwrap();
    let mut cases = vec![file.clone(), file.join("below")];
    if cfg!(target_os = "linux") {
        // Nobody, not even root, can make a directory here.
        cases.push(PathBuf::from("/proc/breadboard-ls"));
    }
    for state in cases {
        let mut server = start(&state, &model);
        let said = shown(&server, "will not be kept when it closes");
        assert!(said.as_str().unwrap().contains(&state.display().to_string()), "{said}");
        assert_all_works(&mut server);
        assert!(server.shut_down().success());
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "in its place");
}

#[test]
fn a_damaged_journal_is_kept_and_a_new_one_begun() {
    let (model, state) = (model(), TempDir::new().unwrap());
    let mut server = start(state.path(), &model);
    let before = assert_all_works(&mut server);
    assert!(server.shut_down().success());
    let damaged = vec![0x5a; 64 << 10];
    std::fs::write(database(state.path()), &damaged).unwrap();
    // The log alone could restore everything.
    std::fs::write(state.path().join("sessions.sqlite3-wal"), &damaged).unwrap();

    let mut server = start(state.path(), &model);
    let said = shown(&server, "was kept as");
    let after = assert_all_works(&mut server);
    assert_ne!(before, after, "another journal has another epoch");
    assert!(server.shut_down().success());
    let kept = set_aside(state.path(), ".damaged-");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(said.as_str().unwrap().contains(&kept[0].display().to_string()), "{said}");
    assert_eq!(std::fs::read(&kept[0]).unwrap(), damaged);

    let mut server = start(state.path(), &model);
    assert_eq!(assert_all_works(&mut server), after, "the new journal is kept");
    assert!(server.shut_down().success());
}

#[test]
fn a_journal_of_a_newer_version_is_left_as_it_is() {
    let (model, state) = (model(), TempDir::new().unwrap());
    let mut server = start(state.path(), &model);
    assert_all_works(&mut server);
    assert!(server.shut_down().success());
    let newer = rusqlite::Connection::open(database(state.path())).unwrap();
    newer.pragma_update(None, "user_version", 999).unwrap();
    newer.close().unwrap();

    let mut server = start(state.path(), &model);
    shown(&server, "written by a newer breadboard-ls (schema 999)");
    assert_all_works(&mut server);
    assert!(server.shut_down().success());
    let aside = set_aside(state.path(), ".newer-");
    let newer = rusqlite::Connection::open(&aside[0]).unwrap();
    let sessions: i64 = newer.query_row("SELECT count(*) FROM session", [], |row| row.get(0)).unwrap();
    assert_eq!(sessions, 1);
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_said_once_and_the_stream_goes_on() {
    // 450 pieces of 4 KiB do not fit into a journal whose three files may have 900 blocks of 512 bytes each; an empty one has
    // room in it.
    let model = Model::start(|_, _| Answer::Flood("x".repeat(4_096), 450));
    let mut options = options(&model);
    let shell = "trap '' XFSZ; ulimit -f 900; exec \"$0\" \"$@\"";
    options.launcher = vec!["sh".to_owned(), "-c".to_owned(), shell.to_owned()];
    let (workspace, state) = (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()));
    let mut server = Server::start_in(workspace, state, options);
    server.shake_hands();
    assert_all_works(&mut server);
    let message = server.wait_notification("window/showMessage", |_| true);
    let said = message["params"]["message"].as_str().unwrap();
    assert!(
        said.contains("Sessions go on and are kept in memory") && message["params"]["type"] == 1,
        "{message}"
    );
    let id = server.request("bb/listFiles", json!({ "sessionId": server_session(&server), "path": "" }));
    assert!(server.wait_response(&id).get("result").is_some());
    assert_all_works(&mut server);
    let errors = server
        .received()
        .iter()
        .filter(|message| message["method"] == "window/showMessage" && message["params"]["type"] == 1)
        .count();
    assert_eq!(errors, 1, "it is said once");
    assert!(server.shut_down().success());
}

/// The session of the last `bb/events`.
#[cfg(unix)]
fn server_session(server: &Server) -> Value {
    let received = server.received();
    let events = received.iter().rfind(|message| message["method"] == "bb/events").expect("events came");
    events["params"]["sessionId"].clone()
}
