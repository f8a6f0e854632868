//! Four tabs that stream from an agent at once, one whose client acknowledges nothing and one that is hidden: requests are not
//! delayed, and memory stays bounded.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Program, Server};
use super::memory::{mebibytes, peak, settled};
use super::table::{Figure, Table, Target};

/// Pieces a second of each tab, and for how long.
const RATE: usize = 1_000;
const SECONDS: usize = 8;

/// A client acknowledges after so many messages.
const ACK_EVERY: u64 = 64;

/// Requests before anything streams.
const PINGS: usize = 2_000;

/// A user asks now and then: with more requests than this the requests themselves would be the load.
const BETWEEN: Duration = Duration::from_millis(2);

const STREAMING: usize = 4;
const SILENT: usize = 2;
const HIDDEN: usize = 3;

fn tab_id(at: usize) -> String {
    format!("00000000-0000-4000-8000-00000000000{at}")
}

pub fn tabs(table: &mut Table) {
    let (state, root) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let script = json!([{ "repeat": RATE * SECONDS, "steps": [{ "chunk": "another word of the answer " }] }]);
    let warm = json!([{ "repeat": RATE / 4, "steps": [{ "chunk": "another word of the answer " }] }]);
    let script = json!({ "prompts": [{ "when": "warm", "steps": warm }, { "when": "go", "steps": script }] });
    let program = Program::ours();
    let mut server = Server::start(&program);
    server.initialize(
        root.path(),
        json!({
            "stateDir": state.path(), "workspaceTrusted": true,
            "engine": {
                "kind": "acp", "name": "simulated", "command": program.program.to_string_lossy(),
                "args": ["simulate", "acp", "--rate", RATE.to_string(), "--script", script.to_string()],
            },
        }),
    );
    server.notify("initialized", json!({}));
    server.request("bb/init", json!({ "subscribe": { "events": false, "view": false, "tabs": true } }));
    let mut desk = Desk { server, acked: [0; STREAMING], heard: [0; STREAMING], complete: 0, ready: 0 };
    for at in 0..STREAMING {
        desk.server.ask("bb/tab/open", json!({ "tabId": tab_id(at) }));
    }
    desk.until(|desk| desk.ready == STREAMING);
    // Code and buffers that the first turn touches are no part of what a stream costs.
    desk.prompt_all(1, "warm");
    desk.until(|desk| desk.complete == STREAMING);
    desk.server.request("bb/tab/ack", json!({ "tabId": tab_id(SILENT), "index": desk.heard[SILENT] }));
    desk.server.request("bb/tab/visibility", json!({ "tabId": tab_id(HIDDEN), "visible": false }));

    let pid = desk.server.child.id();
    let calm = (0..PINGS).map(|_| {
        // As far apart as those under load: whoever slept wakes in both.
        std::thread::sleep(BETWEEN);
        desk.ping()
    });
    let calm: Vec<f64> = calm.collect();
    let before = settled(pid);
    let hidden_before = desk.heard[HIDDEN];
    desk.complete = 0;
    desk.prompt_all(2, "go");
    let begun = Instant::now();
    let mut loaded = Vec::new();
    // The last second is left out: the tabs need not end at the same moment.
    while begun.elapsed() < Duration::from_secs(SECONDS as u64 - 1) {
        loaded.push(desk.ping());
        desk.read_for(BETWEEN);
    }
    let after = peak(pid);
    let streamed = desk.heard[0];
    let hidden = desk.heard[HIDDEN] - hidden_before;
    desk.server.stop();

    let (calm, busy) = (p99(calm), p99(loaded));
    table.add(Figure {
        what: format!("{STREAMING} tabs at {RATE}/s: ping p99 against its unloaded figure, µs"),
        ours: busy,
        peer: None,
        floor: Some(calm),
        targets: vec![Target::at_most("at most 3x unloaded", busy, Some(3.0 * calm))],
    });
    table.add(Figure {
        what: "messages that the hidden tab got".to_owned(),
        ours: hidden as f64,
        peer: None,
        floor: None,
        targets: vec![Target::exact("none", hidden == 0 && streamed > 100)],
    });
    if let (Some(before), Some(after)) = (before, after) {
        let grown = mebibytes(after.saturating_sub(before));
        table.add(Figure {
            what: format!("{STREAMING} tabs at {RATE}/s: memory grows by, MiB"),
            ours: grown,
            peer: None,
            floor: None,
            targets: vec![Target::exact("at most 16", grown <= 16.0)],
        });
    }
}

fn p99(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took[took.len() * 99 / 100]
}

struct Desk {
    server: Server,
    /// Last acknowledged index of each tab.
    acked: [u64; STREAMING],
    /// Last heard index of each tab.
    heard: [u64; STREAMING],
    /// Answers that were completed.
    complete: usize,
    /// Tabs that have a session.
    ready: usize,
}

impl Desk {
    fn prompt_all(&mut self, turn: usize, text: &str) {
        for at in 0..STREAMING {
            let id = format!("00000000-0000-4000-8000-0000000000{turn}{at}");
            let params = json!({ "tabId": tab_id(at), "messageId": id, "text": text });
            self.server.ask("bb/tab/prompt", params);
        }
    }

    /// Reads one message and acknowledges as a client does; its id when it is an answer.
    fn read(&mut self) -> Option<u64> {
        let body = self.server.frames.next().expect("a frame").expect("the server lives");
        let message: Value = serde_json::from_slice(body).expect("JSON");
        if message["method"] != "bb/tab" {
            assert!(message.get("error").is_none(), "{message}");
            return message["id"].as_u64();
        }
        let params = &message["params"];
        let at = (0..STREAMING).find(|at| params["tabId"] == tab_id(*at)).expect("one of the tabs");
        self.heard[at] = params["index"].as_u64().expect("an index");
        match params["kind"].as_str() {
            Some("session-created") => self.ready += 1,
            Some("response-complete") => self.complete += 1,
            Some("error") => panic!("{params}"),
            _ => {}
        }
        if at != SILENT && self.heard[at] >= self.acked[at] + ACK_EVERY {
            self.acked[at] = self.heard[at];
            self.server.ask("bb/tab/ack", json!({ "tabId": tab_id(at), "index": self.heard[at] }));
        }
        None
    }

    fn until(&mut self, met: impl Fn(&Self) -> bool) {
        while !met(self) {
            self.read();
        }
    }

    /// Microseconds until the answer.
    fn ping(&mut self) -> f64 {
        let begun = Instant::now();
        let id = self.server.ask("bb/listSessions", json!({}));
        while self.read() != Some(id) {}
        begun.elapsed().as_secs_f64() * 1e6
    }

    /// Reads what comes within this time; at this rate something always comes.
    fn read_for(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.read();
        }
    }
}
