//! The worked transcript of PROTOCOL.md is a recorded run: this story runs it again and compares.
//!
//! `BREADBOARD_UPDATE=1 cargo test --test e2e transcript` writes `src/core/protocol/transcript.md`; the test of PROTOCOL.md then
//! wants to be updated too. Ids, times and digests are replaced by short names, and batches are put together, since how a
//! stream falls into batches is a matter of time.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::{Options, Server};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/core/protocol/transcript.md");

const INTRODUCTION: &str = "A recorded run, checked by `tests/e2e/transcript.rs`. `→` is sent by the editor, `←` by the \
server. Framing and `jsonrpc` are left out, ids, times and digests are shortened, and neighbouring batches of one session \
are shown as one. The workspace holds one file, `src/lib.rs`; it is trusted, and no model is configured.\n";

struct Recorder {
    server: Server,
    text: String,
    names: Vec<(String, &'static str)>,
}

impl Recorder {
    fn name(&mut self, value: &Value, short: &'static str) -> String {
        let long = value.as_str().unwrap().to_owned();
        self.names.push((long.clone(), short));
        long
    }

    fn line(&mut self, arrow: &str, message: &Value) {
        writeln!(self.text, "{arrow} {message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.server.request(method, params.clone());
        self.line("→", &json!({"id": id, "method": method, "params": params}));
        let mut response = self.server.wait_response(&id);
        response.as_object_mut().unwrap().shift_remove("jsonrpc");
        self.line("←", &response);
        response["result"].clone()
    }

    /// All events of the session up to one that fits, as one batch.
    fn events(&mut self, from: u64, last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        let mut frame = Value::Null;
        while !events.iter().any(&last) {
            let batch =
                self.server.wait_notification("bb/events", |params| params["fromSeq"].as_u64() >= Some(from));
            events.extend(batch["params"]["events"].as_array().unwrap().iter().cloned());
            frame = batch;
        }
        let params = &frame["params"];
        writeln!(
            self.text,
            "← {{\"method\":\"bb/events\",\"params\":{{\"sessionId\":{},\"epoch\":{},\"fromSeq\":{from},\"toSeq\":{},\"events\":[",
            params["sessionId"],
            params["epoch"],
            events.last().unwrap()["seq"]
        )
        .unwrap();
        let lines: Vec<String> = events.iter().map(|event| format!("    {event}")).collect();
        writeln!(self.text, "{}]}}}}", lines.join(",\n")).unwrap();
        events
    }

    fn shortened(&self) -> String {
        let mut text = self.text.clone();
        for (long, short) in &self.names {
            text = text.replace(long, short);
        }
        let mut short = String::new();
        let mut rest = text.as_str();
        // What a run makes up: times, hashes, the ids of calls and patches.
        let times = [
            "\"ts\":",
            "\"updatedAt\":",
            "\"expiresAt\":",
            "\"receivedAt\":",
            "\"startedAt\":",
            "\"durationMs\":",
        ];
        while let Some((at, pattern)) = times.iter().filter_map(|p| Some((rest.find(p)?, *p))).min() {
            let end = at + pattern.len();
            short.push_str(&rest[..end]);
            short.push('0');
            rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_digit());
        }
        short.push_str(rest);
        short
    }
}

#[test]
fn the_transcript_of_the_protocol_is_a_real_run() {
    // Given a trusted workspace with one file and a client that hears events only.
    let options = Options { options: json!({"workspaceTrusted": true}), ..Options::default() };
    let server = Server::start(options);
    std::fs::create_dir(server.workspace.path().join("src")).unwrap();
    std::fs::write(server.workspace.path().join("src/lib.rs"), "pub fn retries() -> u32 {\n    3\n}\n")
        .unwrap();
    let mut run = Recorder { server, text: String::new(), names: Vec::new() };
    run.server.shake_hands();

    // When it asks for a change and allows it.
    let init = run.ask("bb/init", json!({"subscribe": {"events": true, "view": false}}));
    run.name(&init["epoch"], "e1");
    let session = run.ask("bb/createSession", json!({}))["sessionId"].clone();
    run.name(&session, "s1");
    let prompt = json!({"sessionId": session, "messageId": "m1", "text": "replace `retries` with `attempts` in src/lib.rs"});
    run.ask("bb/sendMessage", prompt);
    let asked = run.events(1, |event| event["class"] == "permission.request");
    let request = asked.last().unwrap();
    let permission = &request["permission"];
    let call = asked.iter().find(|event| event["type"] == "tool.execute").unwrap();
    run.name(&call["payload"]["call_id"], "c1");
    for call in asked.iter().filter(|event| event["type"] == "tool.execute").skip(1) {
        run.names.push((call["payload"]["call_id"].as_str().unwrap().to_owned(), "c2"));
    }
    run.name(&permission["requestId"], "p1");
    run.name(&permission["digest"], "sha256:d1");
    run.name(&request["payload"]["args"]["patch_id"], "patch1");
    run.name(&request["payload"]["request_id"], "r1");
    let answer = json!({"sessionId": session, "requestId": permission["requestId"], "decision": "allow_once",
        "digest": permission["digest"]});
    run.ask("bb/approvePermission", answer);
    let next = request["seq"].as_u64().unwrap() + 1;
    run.events(next, |event| event["type"] == "local.changes");
    let view = run.ask("bb/selectSession", json!({"sessionId": session}));

    // Then the file is changed, and the recorded text is the one in the repository.
    let changed = std::fs::read_to_string(run.server.workspace.path().join("src/lib.rs")).unwrap();
    assert_eq!(changed, "pub fn attempts() -> u32 {\n    3\n}\n");
    assert_eq!(view["view"]["lanes"]["chat"]["blocks"][0]["kind"], "user");
    let text = format!("{INTRODUCTION}\n```jsonc\n{}```\n", run.shortened());
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let kept = std::fs::read_to_string(FILE).unwrap();
    assert!(
        kept == text,
        "the run differs from {FILE}; look at it, then set BREADBOARD_UPDATE=1 to keep it:\n{text}"
    );
}
