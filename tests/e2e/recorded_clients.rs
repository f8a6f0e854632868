//! Clients of earlier releases against the server of today: what they sent is sent again, and all that they heard must still come.
//!
//! `tests/fixtures/clients` has a recording for each client and release, made by `tests/clients/record.sh`: a line for the client and
//! its workspace, then every message of both sides in order. What the server said then is what the client relies on: each field is
//! still there, with a value of the same type, and what a client decides by has the same value. More may come; the client ignores it.
//! Ids are those of this run: they are learned from the answers and events that stand where the recorded ones stood.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Options, Server};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/clients");

/// Fields by whose value a client decides what to do.
const DECIDED_BY: [&str; 12] = [
    "change",
    "class",
    "code",
    "decision",
    "disposition",
    "jsonrpc",
    "kind",
    "lane",
    "outcome",
    "resolution",
    "v",
    "verdict",
];

/// Kinds of messages of a tab that come each by itself, however busy the machine is.
const LASTING: [&str; 2] = ["session-created", "response-complete"];

/// What one side heard of the other, up to some message.
#[derive(Default)]
struct Heard {
    answers: BTreeMap<String, Value>,
    /// Each event, by session and number.
    events: BTreeMap<(String, u64), Value>,
    /// The newest state of each block, by session, lane and id.
    blocks: BTreeMap<(String, String, String), Value>,
    /// The sessions of which something was told, in order.
    sessions: Vec<String>,
    /// How far each session was told: by events, by the view.
    told: BTreeMap<(String, &'static str), u64>,
    /// How each session stands.
    status: BTreeMap<String, String>,
    /// Messages of tabs that never become one with another: by tab, kind, and how many of the kind came before.
    tabs: BTreeMap<(String, String, usize), Value>,
    /// Requests of the server: method and id.
    asked: Vec<(String, Value)>,
}

impl Heard {
    fn of<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut heard = Self::default();
        messages.into_iter().for_each(|message| heard.take(message));
        heard
    }

    fn take(&mut self, message: &Value) {
        let (params, id) = (&message["params"], message.get("id"));
        if matches!(message["method"].as_str(), Some("bb/events" | "bb/view")) {
            let session = text(&params["sessionId"]);
            if !self.sessions.contains(&session) {
                self.sessions.push(session);
            }
        }
        match (message["method"].as_str(), id) {
            (None, Some(id)) => drop(self.answers.insert(id.to_string(), message.clone())),
            (Some(method), Some(id)) => self.asked.push((method.to_owned(), id.clone())),
            (Some("bb/events"), None) => {
                let session = text(&params["sessionId"]);
                for event in list(&params["events"]) {
                    self.events.insert((session.clone(), number(&event["seq"])), event.clone());
                }
                self.told.insert((session, "events"), number(&params["toSeq"]));
            }
            (Some("bb/view"), None) => self.view(params),
            (Some("bb/state"), None) => {
                for session in list(&params["sessions"]) {
                    self.status.insert(text(&session["sessionId"]), text(&session["status"]));
                }
            }
            (Some("bb/tab"), None) if LASTING.iter().any(|kind| params["kind"] == *kind) => {
                let (tab, kind) = (text(&params["tabId"]), text(&params["kind"]));
                let before = self.tabs.keys().filter(|(of, one, _)| *of == tab && *one == kind).count();
                self.tabs.insert((tab, kind, before), params.clone());
            }
            _ => {}
        }
    }

    fn view(&mut self, params: &Value) {
        let session = text(&params["sessionId"]);
        for change in list(&params["changes"]) {
            let key = (session.clone(), text(&change["lane"]), text(&change["id"]));
            match change["op"].as_str() {
                Some("put") => drop(self.blocks.insert(key, change["block"].clone())),
                Some("remove") => drop(self.blocks.remove(&key)),
                _ => {}
            }
        }
        self.told.insert((session, "view"), number(&params["toSeq"]));
    }

    /// The blocks of a session that stand where a recorded one stood.
    fn standing_for<'a>(
        &'a self,
        session: &'a str,
        lane: &'a str,
        block: &'a Value,
    ) -> impl Iterator<Item = &'a Value> {
        let stands = move |((of, on, _), one): &(&(String, String, String), &Value)| {
            of == session && on == lane && one["seq"] == block["seq"] && one["kind"] == block["kind"]
        };
        self.blocks.iter().filter(stands).map(|(_, live)| live)
    }

    /// Whether everything that `other` heard, under the names of this run, was heard here too.
    fn is_as_far_as(&self, other: &Self, names: &Names) -> bool {
        other.answers.keys().all(|id| self.answers.contains_key(id))
            && other.told.iter().all(|((session, by), seq)| {
                self.told.get(&(names.now(session), by)).is_some_and(|told| told >= seq)
            })
            && other
                .tabs
                .keys()
                .all(|(tab, kind, at)| self.tabs.contains_key(&(names.now(tab), kind.clone(), *at)))
            // What runs may have ended meanwhile; what rests stays as it is until the client goes on.
            && other.status.iter().filter(|(_, status)| *status != "running").all(|(session, status)| {
                self.status.get(&names.now(session)) == Some(status)
            })
            && other.asked.iter().all(|asked| nth(&self.asked, asked, &other.asked).is_some())
    }
}

/// The request of the server that stands for a recorded one: the same method, as often asked before.
fn nth<'a>(
    live: &'a [(String, Value)],
    one: &(String, Value),
    recorded: &[(String, Value)],
) -> Option<&'a Value> {
    let of_method = |all: &'a [(String, Value)]| all.iter().filter(|(method, _)| *method == one.0);
    let at = recorded.iter().filter(|(method, _)| *method == one.0).position(|(_, id)| *id == one.1)?;
    of_method(live).nth(at).map(|(_, id)| id)
}

/// Whether a text is one that a run makes up: long, without a space, and with a digit in it.
fn is_id(text: &str) -> bool {
    text.len() >= 16 && !text.contains(' ') && text.contains(|one: char| one.is_ascii_digit())
}

/// What was called something in the recording, and is called otherwise now.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    fn now(&self, then: &str) -> String {
        self.0.get(then).cloned().unwrap_or_else(|| then.to_owned())
    }

    /// Learns from two values of which the second stands where the first one stood.
    fn learn(&mut self, then: &Value, now: &Value) {
        match (then, now) {
            (Value::String(then), Value::String(now)) if then != now && is_id(then) => {
                self.0.entry(then.clone()).or_insert_with(|| now.clone());
            }
            (Value::Array(then), Value::Array(now)) => {
                then.iter().zip(now).for_each(|(then, now)| self.learn(then, now));
            }
            (Value::Object(then), Value::Object(now)) => {
                then.iter().filter_map(|(key, then)| Some((then, now.get(key)?))).for_each(|(then, now)| {
                    self.learn(then, now);
                });
            }
            _ => {}
        }
    }

    fn learn_from(&mut self, then: &Heard, now: &Heard) {
        for (id, answer) in &then.answers {
            self.learn(answer, &now.answers[id]);
        }
        // Sessions that no answer named, in the order in which something was told of them.
        let unnamed = then.sessions.iter().filter(|session| !self.0.contains_key(*session));
        let new = now.sessions.iter().filter(|session| !self.0.values().any(|named| named == *session));
        let pairs: Vec<(String, String)> = unnamed.cloned().zip(new.cloned()).collect();
        self.0.extend(pairs);
        for ((session, seq), event) in &then.events {
            if let Some(live) = now.events.get(&(self.now(session), *seq)) {
                self.learn(event, live);
            }
        }
        for ((tab, kind, at), message) in &then.tabs {
            if let Some(live) = now.tabs.get(&(self.now(tab), kind.clone(), *at)) {
                self.learn(message, live);
            }
        }
        for ((session, lane, _), block) in &then.blocks {
            if let Some(live) = now.standing_for(&self.now(session), lane, block).next() {
                self.learn(block, live);
            }
        }
    }

    /// A recorded value as it is said now.
    fn said_now(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.now(text)),
            Value::Array(items) => items.iter().map(|item| self.said_now(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (self.now(key), self.said_now(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// What of `then` is not in `now`: the place, or nothing.
fn missing(then: &Value, now: &Value, place: &str) -> Option<String> {
    let name = place.rsplit('.').next().unwrap_or_default();
    match (then, now) {
        // Names of what is offered.
        (Value::Array(then), Value::Array(now)) if ["methods", "notifications"].contains(&name) => {
            then.iter().find(|one| !now.contains(one)).map(|one| format!("{place}: {one}"))
        }
        (Value::Array(then), Value::Array(now)) => then.iter().enumerate().find_map(|(at, one)| {
            let place = format!("{place}[{at}]");
            let is_there = now.iter().any(|other| missing(one, other, &place).is_none());
            (!is_there).then_some(place)
        }),
        (Value::Object(then), Value::Object(now)) => then.iter().find_map(|(key, value)| {
            let place = format!("{place}.{key}");
            now.get(key).map_or(Some(place.clone()), |other| missing(value, other, &place))
        }),
        _ if DECIDED_BY.contains(&name) => (then != now).then(|| format!("{place}: {then} is {now}")),
        _ => {
            let is_same = std::mem::discriminant(then) == std::mem::discriminant(now);
            (!is_same).then(|| format!("{place}: {then} is {now}"))
        }
    }
}

/// One start of the server in a recording: who said what, in order.
type Run = Vec<(bool, Value)>;

fn recording(path: &Path) -> (Value, Vec<Run>) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let mut runs: Vec<Run> = Vec::new();
    for line in lines {
        let is_client = line["from"] == "client";
        if is_client && line["message"]["method"] == "initialize" {
            runs.push(Run::new());
        }
        runs.last_mut()
            .expect("a recording begins with `initialize`")
            .push((is_client, line["message"].clone()));
    }
    (header, runs)
}

/// Sends what a client sent, as far as it had heard the same, and checks that it heard it all.
fn replay(mut server: Server, run: &Run, saved: &Value, names: &mut Names, what: &str) {
    for (at, (_, message)) in run.iter().enumerate().filter(|(_, (is_client, _))| *is_client) {
        let then =
            Heard::of(run[..at].iter().filter(|(is_client, _)| !is_client).map(|(_, message)| message));
        let heard = hears(&server, &then, names, what);
        let mut said = names.said_now(message);
        match message["method"].as_str() {
            Some("initialize") => said["params"]["processId"] = json!(std::process::id()),
            Some("exit") => break,
            Some(_) => {}
            // An answer of the client, to the request that stands for the recorded one.
            None => {
                let asked = then.asked.iter().find(|(_, id)| *id == message["id"]).expect("what is answered");
                said["id"] = nth(&heard.asked, asked, &then.asked).expect("that it was asked").clone();
                if asked.0 == "bb/document/save" {
                    write(server.workspace.path(), saved);
                }
            }
        }
        server.send(&said);
    }
    let then = Heard::of(run.iter().filter(|(is_client, _)| !is_client).map(|(_, message)| message));
    let now = hears(&server, &then, names, what);
    check(&then, &now, names, what);
    server.notify("exit", json!({}));
    assert!(server.wait_exit().success(), "{what}");
}

/// Waits until this run told what the recorded one had told, and learns its names.
fn hears(server: &Server, then: &Heard, names: &mut Names, what: &str) -> Heard {
    // An answer may name the session by which something else is recognised.
    server.wait_until(&format!("what {what} had heard"), |received| {
        let now = Heard::of(received);
        if !then.answers.keys().all(|id| now.answers.contains_key(id)) {
            return None;
        }
        names.learn_from(then, &now);
        now.is_as_far_as(then, names).then_some(now)
    })
}

fn check(then: &Heard, now: &Heard, names: &Names, what: &str) {
    let lacks = |then: &Value, now: &Value, place: &str| missing(&names.said_now(then), now, place);
    for (id, answer) in &then.answers {
        assert_eq!(lacks(answer, &now.answers[id], "answer"), None, "{what}: the answer to {id} lacks that");
    }
    for ((session, seq), event) in &then.events {
        let live = &now.events[&(names.now(session), *seq)];
        assert_eq!(lacks(event, live, "event"), None, "{what}: {event} is {live}");
    }
    for ((tab, kind, at), message) in &then.tabs {
        let live = &now.tabs[&(names.now(tab), kind.clone(), *at)];
        assert_eq!(lacks(message, live, "tab"), None, "{what}: {message} is {live}");
    }
    for ((session, lane, _), block) in &then.blocks {
        let session = names.now(session);
        let live = now.standing_for(&session, lane, block);
        let found: Vec<Option<String>> = live.map(|live| lacks(block, live, "block")).collect();
        assert!(found.contains(&None), "{what}: the block lacks {found:?}: {block}");
    }
}

/// Files with what is in them.
fn write(folder: &Path, files: &Value) {
    for (name, content) in files.as_object().unwrap() {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.as_str().unwrap()).unwrap();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[test]
fn r000_70_what_clients_of_earlier_releases_say_and_need_is_what_they_still_get() {
    let mut played = 0;
    let version = breadboard_ls::testing::protocol::version::WIRE_VERSION;
    let folder = Path::new(FOLDER).join(format!("v{version}"));
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        // Given a workspace as the client had it, and a server of today.
        let (header, runs) = recording(&file);
        let what = format!("{} {}", text(&header["client"]), text(&header["version"]));
        assert_eq!(header["wire"], version, "{what}");
        let workspace = Arc::new(TempDir::new().unwrap());
        let state = Arc::new(TempDir::new().unwrap());
        write(workspace.path(), &header["files"]);
        let mut names = Names::default();
        for run in &runs {
            // When the client says again what it said, then it hears what it heard.
            let place = |text: &str| {
                let (workspace, state) = (workspace.path().to_str().unwrap(), state.path().to_str().unwrap());
                text.replace("{workspace}", workspace).replace("{state}", state)
            };
            let run: Run = run
                .iter()
                .map(|(is_client, message)| {
                    (*is_client, serde_json::from_str(&place(&message.to_string())).unwrap())
                })
                .collect();
            let server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), Options::default());
            replay(server, &run, &header["saved"], &mut names, &what);
        }
        played += 1;
    }
    assert!(played >= 2, "there are recordings of the SDK and of Neovim");
}

#[test]
fn a_recording_is_not_played_where_something_that_it_had_is_gone_or_means_something_else() {
    let then =
        json!({ "kind": "tool", "name": "x", "methods": ["a", "b"], "files": [{ "path": "a" }], "n": 1 });
    let with = |change: fn(&mut Value)| {
        let mut now = then.clone();
        change(&mut now);
        missing(&then, &now, "block")
    };
    assert_eq!(with(|now| now["more"] = json!({})), None);
    assert_eq!(with(|now| now["name"] = json!("y")), None);
    assert_eq!(with(|now| now["files"] = json!([{ "path": "b", "new": true }, 1])), None);
    assert_eq!(with(|now| drop(now.as_object_mut().unwrap().remove("n"))), Some("block.n".to_owned()));
    assert_eq!(with(|now| now["n"] = json!("1")), Some("block.n: 1 is \"1\"".to_owned()));
    assert_eq!(with(|now| now["kind"] = json!("call")), Some("block.kind: \"tool\" is \"call\"".to_owned()));
    assert_eq!(with(|now| now["methods"] = json!(["a"])), Some("block.methods: \"b\"".to_owned()));
    assert_eq!(with(|now| now["files"] = json!([])), Some("block.files[0]".to_owned()));
}
