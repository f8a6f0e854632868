//! The index of a workspace over the wire: built, refreshed, told of changes, kept over a restart, and never out of date.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Host;
use crate::model::Model;

/// How long a small index may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn address(host: &Host, step: &str) -> String {
    format!("/v1/workspaces/{}/index/{step}", host.workspace_id())
}

fn status(host: &Host) -> Value {
    host.get(&address(host, "status"))
}

/// Asks until the index stands so.
fn wait(host: &Host, stands: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let status = status(host);
        if stands(&status) {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "the index stands so: {status}");
        std::thread::yield_now();
    }
}

fn has(files: u64) -> impl Fn(&Value) -> bool {
    move |status| status["index_status"] == "complete" && status["indexed_files"] == files
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn found(host: &Host, question: &str) -> Vec<String> {
    let path = format!("/v1/workspaces/{}/search", host.workspace_id());
    let (_, body) = host.ask("post", &path, Some(json!({ "query": question })));
    let places = body["places"].as_array().expect("places");
    places.iter().map(|place| place["file_path"].as_str().expect("a path").to_owned()).collect()
}

fn workspace() -> Arc<TempDir> {
    let workspace = tempfile::tempdir().expect("a folder");
    write(workspace.path(), "src/lamp.rs", "/// Lights the lantern.\npub fn light_lantern() {}\n");
    write(workspace.path(), "src/door.rs", "pub fn open_door() {}\n");
    write(workspace.path(), "build/out.rs", "pub fn light_lantern_out() {}\n");
    write(workspace.path(), ".gitignore", "build/\n");
    Arc::new(workspace)
}

#[test]
fn r002_16_17_19_the_index_is_built_rebuilt_and_refreshed_and_says_how_it_stands() {
    let model = Model::start(Vec::new());
    let workspace = workspace();
    let host = Host::start_in(Arc::clone(&workspace), Arc::new(tempfile::tempdir().expect("state")), &model);
    let built = wait(&host, has(2));
    assert_eq!((&built["total_files"], &built["index_progress"]), (&json!(2), &json!(1.0)));
    assert_eq!(built["searches_are_complete"], true);
    assert!(
        built["last_indexed_at"].is_string() && built["index_message"] == "2 files are indexed.",
        "{built}"
    );
    write(workspace.path(), "src/new.rs", "pub fn polish_mirror() {}\n");
    assert_eq!(found(&host, "polish mirror"), ["src/new.rs"], "a search waits for the index");
    let (code, answer) = host.ask("post", &address(&host, "refresh"), None);
    assert_eq!(code, 200, "{answer}");
    wait(&host, has(3));
    let (code, answer) = host.ask("post", &address(&host, "rebuild"), None);
    assert_eq!(code, 200, "{answer}");
    let rebuilt =
        wait(&host, |status| has(3)(status) && status["last_indexed_at"] != built["last_indexed_at"]);
    assert_eq!(host.get("/v1/workspaces")[0]["indexed_files"], rebuilt["indexed_files"]);
}

#[test]
fn r002_18_53_102_changes_that_a_client_tells_are_taken_in_without_a_rebuild() {
    let model = Model::start(Vec::new());
    let workspace = workspace();
    let host = Host::start_in(Arc::clone(&workspace), Arc::new(tempfile::tempdir().expect("state")), &model);
    let built = wait(&host, has(2));
    std::fs::remove_file(workspace.path().join("src/door.rs")).expect("it goes");
    let gone = json!({ "changes": [{ "type": "deleted", "file_path": "src/door.rs" }] });
    assert_eq!(host.ask("post", &address(&host, "incremental"), Some(gone)).0, 200);
    let after = wait(&host, has(1));
    assert_eq!(after["last_indexed_at"], built["last_indexed_at"], "every file was compared for one change");
    write(workspace.path(), "src/new.rs", "pub fn polish_mirror() {}\n");
    let mut socket = host.client(&host.session(), "watcher");
    socket.say(&json!({ "type": "client.file_changes", "changes": [
        { "type": "created", "file_path": "src/new.rs", "timestamp": "2026-01-01T00:00:00Z" }] }));
    wait(&host, has(2));
    assert_eq!(found(&host, "polish mirror"), ["src/new.rs"]);
    for path in ["../x", "/etc/passwd"] {
        let outside = json!({ "changes": [{ "type": "modified", "file_path": path }] });
        let (code, refused) = host.ask("post", &address(&host, "incremental"), Some(outside));
        assert_eq!((code, &refused["error"]["code"]), (403, &json!("POLICY_VIOLATION")), "{path}");
    }
}

#[test]
fn a_storm_of_changes_is_taken_in_and_the_host_answers_meanwhile() {
    let model = Model::start(Vec::new());
    let workspace = workspace();
    let host = Host::start_in(Arc::clone(&workspace), Arc::new(tempfile::tempdir().expect("state")), &model);
    wait(&host, has(2));
    write(workspace.path(), "src/new.rs", "pub fn polish_mirror() {}\n");
    for part in 0..5 {
        let changes: Vec<Value> = (0..2_000)
            .map(|at| json!({ "type": "modified", "file_path": format!("src/{part}/{at}.rs") }))
            .collect();
        let (code, answer) =
            host.ask("post", &address(&host, "incremental"), Some(json!({ "changes": changes })));
        assert_eq!(code, 200, "{answer}");
    }
    wait(&host, has(3));
    assert_eq!(found(&host, "polish mirror"), ["src/new.rs"]);
}

#[test]
fn an_index_is_kept_over_a_restart_and_a_damaged_one_is_made_anew() {
    let model = Model::start(Vec::new());
    let (workspace, state) = (workspace(), Arc::new(tempfile::tempdir().expect("state")));
    let mut host = Host::start_in(Arc::clone(&workspace), Arc::clone(&state), &model);
    wait(&host, has(2));
    host.stop();
    drop(host);
    let directory = state.path().join("host/index");
    let file = std::fs::read_dir(&directory)
        .expect("the index is kept")
        .map(|entry| entry.expect("it can be listed").path())
        .find(|path| path.extension().is_some_and(|end| end == "sqlite"))
        .expect("a file of the index");
    for text in ["", "this is no index, and long enough to be looked at"] {
        std::fs::write(&file, text).expect("it is damaged");
        let mut host = Host::start_in(Arc::clone(&workspace), Arc::clone(&state), &model);
        wait(&host, has(2));
        assert_eq!(found(&host, "light the lantern"), ["src/lamp.rs"]);
        host.stop();
    }
}
