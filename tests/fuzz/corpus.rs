//! The corpora: what of them is made from our fixtures and recorded runs, and reading them.
//!
//! Owns the files `fuzz/corpus/<target>/seed-*`, which `BREADBOARD_UPDATE=1` writes anew. Other files there were found by
//! libFuzzer, or failed once and have a sentence as their name; nobody writes them but people.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::testing::app::ports::{BatchRow, EngineCursor};
use breadboard_ls::testing::store::front_records::{Record, write};
use serde_json::{Value, json};

use crate::written;

/// Longest input that is made, in bytes. Longer ones make mutations slow and find no more.
const LONGEST: usize = 3_000;

/// Every input of a target, in the order of their names.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    named(target).into_values().collect()
}

/// Fails where the files that are made are not what the fixtures say; `BREADBOARD_UPDATE=1` writes them instead.
pub fn is_made_from_the_fixtures(target: &str) {
    let made: BTreeMap<String, Vec<u8>> =
        seeds(target).into_iter().map(|(name, bytes)| (format!("seed-{name}"), bytes)).collect();
    let place = place(target);
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        fs::create_dir_all(&place).unwrap();
        for name in named(target).keys().filter(|name| name.starts_with("seed-")) {
            fs::remove_file(place.join(name)).unwrap();
        }
        for (name, bytes) in &made {
            fs::write(place.join(name), bytes).unwrap();
        }
    }
    let mut there = named(target);
    there.retain(|name, _| name.starts_with("seed-"));
    assert!(
        there == made,
        "fuzz/corpus/{target} is not what the fixtures say; BREADBOARD_UPDATE=1 cargo test --test fuzz writes it"
    );
}

fn named(target: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(place(target)).into_iter().flatten().map(|file| file.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect()
}

fn place(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

type Seeds = Vec<(String, Vec<u8>)>;

fn seeds(target: &str) -> Seeds {
    let mut seeds: Seeds = written::inputs(target)
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("written-{at:02}"), text.to_vec()))
        .collect();
    seeds.extend(match target {
        "acp" => conversations(|line| line["msg"].to_string(), "\n"),
        "agent_lines" => conversations(|line| line["msg"].to_string(), "\r\n").into_iter().take(3).collect(),
        "breadboard" => events("breadboard_", frame),
        "sse" => events("breadboard_", frame).into_iter().take(6).collect(),
        "desktop" => events("a_", message),
        "diff" => diffs(),
        "editor" => {
            requests(|request| format!("{}\n{}", request["method"].as_str().unwrap(), request["params"]))
        }
        "frames" => requests(|request| {
            let mut message = request.clone();
            message["jsonrpc"] = json!("2.0");
            let body = message.to_string();
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        }),
        "front" => fronts(),
        "lenient_json" => events("acp_", |event| format!("{}\n", event["payload"])),
        "imports" | "redact" => Vec::new(),
        other => panic!("{other} has no seeds"),
    });
    seeds
}

/// What agents said in recorded conversations.
fn conversations(text: fn(&Value) -> String, end: &str) -> Seeds {
    let said = |path: &Path| {
        let lines = fs::read_to_string(path).unwrap();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        joined(lines.filter(|line| line["dir"] == "a2c").map(|line| text(&line) + end))
    };
    fixtures("acp", "").iter().map(|path| (stem(path), said(path))).collect()
}

/// What engines said in the fixtures of the reducers.
fn events(prefix: &str, text: fn(&Value) -> String) -> Seeds {
    let said = |path: &Path| {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let events = fixture["events"].as_array().unwrap().clone();
        joined(events.into_iter().filter(|event| event["origin"] == "engine").map(|event| text(&event)))
    };
    fixtures("reducers", prefix).iter().map(|path| (short(path), said(path))).collect()
}

/// As the engine's stream has it.
fn frame(event: &Value) -> String {
    let envelope = json!({"id": format!("e-{}", event["seq"]), "seq": event["seq"], "session_id": "s",
        "type": event["type"], "turn": event["turn"], "timestamp_ms": event["ts"], "payload": event["payload"]});
    format!("id: {}\ndata: {envelope}\n\n", event["seq"])
}

/// As a message of the desktop dialect.
fn message(event: &Value) -> String {
    let mut message = json!({ "type": event["type"] });
    message.as_object_mut().unwrap().extend(event["payload"].as_object().cloned().unwrap());
    format!("{message}\n")
}

/// Requests of a recorded run.
fn requests(text: impl Fn(&Value) -> String) -> Seeds {
    let transcript = fs::read_to_string(root().join("src/core/protocol/transcript.md")).unwrap();
    let requests = transcript.lines().filter_map(|line| line.strip_prefix("→ "));
    let requests = requests.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut seeds = BTreeMap::new();
    for request in requests.filter(|request| request["method"].is_string()) {
        let name = request["method"].as_str().unwrap().replace('/', "-");
        seeds.entry(name).or_insert_with(|| text(&request).into_bytes());
    }
    seeds.into_iter().collect()
}

/// Diffs that the fixtures hold.
fn diffs() -> Seeds {
    let mut found = BTreeMap::new();
    for path in fixtures("reducers", "") {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        collect_diffs(&fixture, &mut found, &short(&path));
    }
    found.into_iter().map(|(diff, name)| (name, diff.into_bytes())).collect()
}

fn collect_diffs(value: &Value, found: &mut BTreeMap<String, String>, name: &str) {
    match value {
        Value::String(text) if text.contains("@@ -") && text.len() <= LONGEST => {
            let name = format!("{name}-{}", found.len());
            found.entry(text.clone()).or_insert(name);
        }
        Value::Array(items) => items.iter().for_each(|item| collect_diffs(item, found, name)),
        Value::Object(map) => map.values().for_each(|value| collect_diffs(value, found, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whole front files, of no, one and several batches.
fn fronts() -> Seeds {
    let record = |session_id: &str, from_seq: u64, to_seq: u64, cursor: Option<u64>| Record {
        session_id: session_id.to_owned(),
        batch: BatchRow { from_seq, to_seq, events: format!("{{\"seq\":{from_seq}}}").into_bytes() },
        cursor: cursor.map(|seq| EngineCursor { seq, id: format!("id-{seq}") }),
    };
    let several = [
        record("s", 1, 2, None),
        record("ü", 1, 1, Some(7)),
        record("s", 3, 9, Some(u64::MAX)),
        record("", 1, 1, None),
    ];
    let file = |count: usize| (format!("of-{count}"), write(&several[..count]).unwrap());
    [0, 1, several.len()].into_iter().map(file).collect()
}

fn fixtures(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("tests/fixtures").join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| stem(path).starts_with(prefix));
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Names of fixtures are sentences.
fn short(path: &Path) -> String {
    stem(path).chars().take(40).collect()
}

/// As many as fit; one that does not fit is left out.
fn joined(parts: impl Iterator<Item = String>) -> Vec<u8> {
    let mut all = String::new();
    for part in parts {
        if all.len() + part.len() <= LONGEST {
            all.push_str(&part);
        }
    }
    all.into_bytes()
}
