//! State on disk that was cut, flipped, removed, replaced or is no regular file: said, and nothing of the rest lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Options, Server};
use crate::limits::{self, Random, attempts};
use crate::model::{Model, Reply, Step};

const DATABASE: &str = "sessions.sqlite3";
const LOG: &str = "sessions.sqlite3-wal";
const FRONT: &str = "window-0.front";

/// Bytes of a page of the database, and of a frame of its log with what is before its page.
const PAGE: usize = 16 << 10;
const FRAME: usize = PAGE + 24;

/// Longest time from the start to the answer of `bb/init`, whatever lies in the state directory.
const STARTED: Duration = Duration::from_secs(10);

/// What a killed server leaves, and what it told before.
struct Killed {
    files: BTreeMap<String, Vec<u8>>,
    epoch: Value,
    /// Every event that was told, by session.
    told: BTreeMap<String, Vec<Value>>,
    /// Sessions and records belong to the folder.
    workspace: Arc<TempDir>,
}

/// Two sessions with whole turns, then a kill in the middle of an answer, after so many messages of it.
fn killed(messages: usize, restarts: usize) -> Killed {
    let text = |count: usize| -> Reply {
        Reply::Stream((0..count).map(|at| Step::Text(format!("piece {at} of an answer "))).collect())
    };
    let (workspace, state) = (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()));
    let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut epoch = Value::Null;
    for round in 0..=restarts {
        let model = Model::start(vec![text(60), text(40), text(4_000)]);
        let mut options = model.chosen(true);
        options.options["delivery"] = json!({ "maxLatencyMs": 1, "maxEvents": 16 });
        options.keep_frames = true;
        let mut server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), options);
        server.shake_hands();
        epoch = server.ask("bb/init", json!({}))["epoch"].clone();
        let sessions = [server.session(), server.session()];
        for session in &sessions {
            server.turn(session, "Say something.");
        }
        server.prompt(&sessions[0], "Say very much.");
        for _ in 0..messages {
            server.wait_notification("bb/events", |params| params["sessionId"] == sessions[0]);
        }
        if round < restarts {
            assert!(server.shut_down().success());
            continue;
        }
        server.kill();
        while server.try_next().is_some() {}
        for frame in server.frames() {
            let message: Value = serde_json::from_slice(&frame).unwrap();
            if message["method"] == "bb/events" {
                let id = message["params"]["sessionId"].as_str().unwrap().to_owned();
                told.entry(id)
                    .or_default()
                    .extend(message["params"]["events"].as_array().unwrap().iter().cloned());
            }
        }
    }
    let files = std::fs::read_dir(state.path()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    let files = files.map(|path| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    });
    Killed { files: files.collect(), epoch, told, workspace }
}

/// One thing that happens to the files. Gives what it was.
fn mutate(directory: &Path, random: &mut Random, others: &Killed) -> String {
    let name = [DATABASE, LOG, FRONT][random.below(3)];
    let path = directory.join(name);
    if !path.is_file() {
        // What an attack before this one left is not read: it may be a pipe.
        return format!("{name} left as it is");
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len().max(1);
    let what = match random.below(10) {
        0 | 1 => {
            // At the boundaries at which files grow.
            let unit = [512, 4_096, PAGE, FRAME][random.below(4)];
            let cut = (random.below(length / unit + 1) * unit + if unit == FRAME { 32 } else { 0 })
                .min(bytes.len());
            bytes.truncate(cut);
            format!("cut to {cut}")
        }
        2 => {
            let cut = random.below(length);
            bytes.truncate(cut);
            format!("cut to {cut}")
        }
        3 | 4 => {
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1).max(1);
            let at = random.below(used.min(length));
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
            format!("a bit of byte {at}")
        }
        5 => {
            let (from, many) = (random.below(length), random.below(3_000));
            let end = (from + many).min(bytes.len());
            for byte in &mut bytes[from.min(end)..end] {
                *byte = u8::try_from(random.below(256)).unwrap();
            }
            format!("{many} random bytes at {from}")
        }
        6 => {
            let from = random.below(length);
            bytes.truncate(from);
            bytes.resize(length, 0);
            format!("zeros from {from}")
        }
        7 => {
            std::fs::remove_file(&path).unwrap();
            return format!("{name} removed");
        }
        8 => {
            bytes = others.files.get([DATABASE, LOG, FRONT][random.below(3)]).cloned().unwrap_or_default();
            "exchanged".to_owned()
        }
        _ => {
            std::fs::remove_file(&path).unwrap();
            return format!("{name}: {}", odd_kind(&path, random.below(4)));
        }
    };
    std::fs::write(&path, bytes).unwrap();
    format!("{name}: {what}")
}

#[cfg(unix)]
fn odd_kind(path: &Path, which: usize) -> &'static str {
    match which {
        0 => {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            "a pipe"
        }
        1 => {
            std::os::unix::fs::symlink("/dev/zero", path).unwrap();
            "a link to a device"
        }
        2 => {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
            "a socket"
        }
        _ => {
            std::fs::create_dir(path).unwrap();
            "a directory"
        }
    }
}

#[cfg(not(unix))]
fn odd_kind(path: &Path, _: usize) -> &'static str {
    std::fs::create_dir(path).unwrap();
    "a directory"
}

/// How an attack came out.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Outcome {
    Whole,
    Said,
}

/// Every event of a session, or why not all can be read.
fn read(server: &mut Server, session: &str) -> Result<Vec<Value>, Value> {
    let mut events = Vec::new();
    loop {
        let id =
            server.request("bb/events/read", json!({ "sessionId": session, "fromSeq": events.len() + 1 }));
        let answer = server.wait_response(&id);
        let Some(page) = answer.get("result") else { return Err(answer["error"].clone()) };
        let more = page["events"].as_array().unwrap();
        events.extend(more.iter().cloned());
        if page["hasMore"] != true || more.is_empty() {
            return Ok(events);
        }
    }
}

/// Starts over these files as a client that was told everything, and asserts that it is there or its loss said.
fn start_over(killed: &Killed, state: Arc<TempDir>, what: &str) -> Outcome {
    let options = Options { options: json!({ "workspaceTrusted": true }), ..Options::default() };
    let begun = Instant::now();
    let mut server = Server::start_in(Arc::clone(&killed.workspace), state, options);
    server.shake_hands();
    let seen: BTreeMap<&String, usize> = killed.told.iter().map(|(id, events)| (id, events.len())).collect();
    let init = server.ask("bb/init", json!({ "lastSeen": { "epoch": killed.epoch, "sessions": seen } }));
    assert!(begun.elapsed() < STARTED, "{what}: {:?}", begun.elapsed());
    let said = server.received().iter().any(|message| {
        message["method"] == "window/showMessage"
            && message["params"]["type"].as_u64().is_some_and(|level| level <= 2)
    });
    let same_epoch = init["epoch"] == killed.epoch;
    assert!(said || same_epoch, "{what}: a new epoch, and not a word");
    let mut is_whole = true;
    for (session, told) in &killed.told {
        let verdict = init["resume"][session]["verdict"].as_str().unwrap_or_default();
        if !same_epoch {
            assert_eq!(verdict, "lost", "{what}");
            is_whole = false;
            continue;
        }
        match read(&mut server, session) {
            Ok(events) => {
                assert!(
                    events.starts_with(told),
                    "{what}: told events are others, or gone, under the same epoch"
                );
                assert_ne!(verdict, "lost", "{what}");
            }
            Err(error) => {
                let names_it = error["message"].as_str().is_some_and(|text| text.contains("journal"));
                assert!(said || names_it, "{what}: {error}");
                is_whole = false;
            }
        }
    }
    // Everything goes on.
    let session = server.session();
    server.turn(&session, "And now?");
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, what);
    assert!(server.shut_down().success(), "{what}");
    if is_whole { Outcome::Whole } else { Outcome::Said }
}

fn place(killed: &Killed) -> Arc<TempDir> {
    let state = TempDir::new().unwrap();
    for (name, bytes) in &killed.files {
        std::fs::write(state.path().join(name), bytes).unwrap();
    }
    Arc::new(state)
}

#[test]
fn whatever_happens_to_the_files_after_a_kill_is_survived_and_every_loss_is_said() {
    let mut random = Random(limits::seed("damage"));
    let states = [killed(3, 0), killed(40, 0), killed(20, 1)];
    for killed in &states {
        assert_eq!(start_over(killed, place(killed), "a kill alone"), Outcome::Whole);
    }
    let tries = attempts(500);
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for at in 0..tries {
        let killed = &states[at % states.len()];
        let state = place(killed);
        let mut what = format!("attack {at}: ");
        for _ in 0..=random.below(8) / 7 {
            what += &mutate(state.path(), &mut random, &states[(at + 1) % states.len()]);
            what += "; ";
        }
        *counts.entry(start_over(killed, state, &what)).or_default() += 1;
    }
    println!("damage: {tries} tried, {counts:?}, 0 unsaid");
}

#[test]
fn a_byte_that_is_wrong_in_the_front_is_said_in_the_session_too() {
    let killed = killed(40, 0);
    let front = &killed.files[FRONT];
    let used = front.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(used > 5_000, "something waits in the front: {used}");
    let mut random = Random(limits::seed("flipped fronts"));
    for at in 0..attempts(100) {
        let state = place(&killed);
        let mut wrong = front.clone();
        let byte = 4_096 + random.below(used - 4_096);
        wrong[byte] ^= 1 << random.below(8);
        std::fs::write(state.path().join(FRONT), &wrong).unwrap();
        let options = Options { options: json!({ "workspaceTrusted": true }), ..Options::default() };
        let mut server = Server::start_in(Arc::clone(&killed.workspace), Arc::clone(&state), options);
        server.shake_hands();
        let said = server.wait_notification("window/showMessage", |params| params["type"] == 2);
        let said = said["params"]["message"].as_str().unwrap().to_owned();
        assert!(said.contains("damaged on disk") && said.contains(".stray-"), "{said}");
        let init = server.ask("bb/init", json!({}));
        assert_ne!(init["epoch"], killed.epoch, "{at}");
        // A client that knows nothing is not told that all is there, and reads it in the transcript.
        let longest = killed.told.iter().max_by_key(|(_, events)| events.len()).unwrap().0;
        let selected = server.ask("bb/selectSession", json!({ "sessionId": longest }));
        assert_eq!(selected["resume"]["verdict"], "lost", "{at}: {}", selected["resume"]);
        let chat = selected["view"]["lanes"]["chat"]["blocks"].to_string();
        assert!(chat.contains("Some events are missing here"), "{at}: {chat}");
        let kept = std::fs::read_dir(state.path()).unwrap().map(|entry| entry.unwrap().path());
        let kept: Vec<_> = kept.filter(|path| path.to_string_lossy().contains(".stray-")).collect();
        assert_eq!(kept.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>(), [wrong], "{at}");
        assert!(server.shut_down().success());
    }
}

#[cfg(unix)]
#[test]
fn a_state_directory_that_vanishes_is_said_once_and_the_window_works_on() {
    for replaced in [false, true] {
        let mut server = Server::ready(Options::default());
        let session = server.session();
        server.turn(&session, "Before.");
        let place = server.state.path().to_owned();
        std::fs::remove_dir_all(&place).unwrap();
        if replaced {
            std::fs::create_dir(&place).unwrap();
        }
        for _ in 0..3 {
            server.turn(&session, "After.");
        }
        server.ask("bb/init", json!({}));
        let all = server.received();
        let said: Vec<&Value> =
            all.iter().filter(|message| message["method"] == "window/showMessage").collect();
        assert_eq!(said.len(), 1, "{said:#?}");
        assert!(said[0]["params"]["message"].as_str().unwrap().contains("deleted or replaced"), "{said:#?}");
        assert!(server.shut_down().success());
    }
}

#[cfg(unix)]
#[test]
fn a_directory_keeps_its_mode_and_every_file_in_it_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    // `None`: it is gone, as a file is that was written to be renamed.
    let mode = |path: &Path| Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o7777);
    let place = TempDir::new().unwrap();
    let state = place.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = json!([{ "stderr": "a line" }, { "chunk": "x" }]).to_string();
    let agent = json!({ "command": env!("CARGO_BIN_EXE_breadboard-ls"), "args": ["simulate", "acp", "--script", script] });
    let options = json!({ "stateDir": state, "workspaceTrusted": true, "agents": { "sim": agent } });
    // Whatever the umask is.
    let launcher = ["sh", "-c", "umask 0; exec \"$0\" \"$@\""].map(str::to_owned).to_vec();
    let mut server = Server::ready(Options { options, launcher, ..Options::default() });
    let session =
        server.ask("bb/createSession", json!({ "agent": "sim" }))["sessionId"].as_str().unwrap().to_owned();
    server.ask("bb/attachment/put", json!({ "sessionId": session, "name": "n", "base64": "YWJj" }));
    server.turn(&session, "go");
    let mut files = Vec::new();
    let mut folders = vec![state.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                assert_eq!(mode(&path), Some(0o700), "{}", path.display());
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    assert!(files.len() >= 7, "database, log, index, front, lock, attachment, agent's log: {files:?}");
    for file in &files {
        assert!(matches!(mode(file), Some(0o600) | None), "{}", file.display());
    }
    assert_eq!(mode(&state), Some(0o755));
    assert!(server.shut_down().success());
}
