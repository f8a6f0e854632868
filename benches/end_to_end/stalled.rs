//! An editor that stops reading while two million events come: memory stays bounded, and nothing is lost.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::client::{Program, Server};
use super::memory::{mebibytes, peak, settled};
use super::model::Model;
use super::table::{Figure, Table, Target};

/// An answer may have 1 MiB, so the events come in several turns.
const TURNS: usize = 4;
const PIECES: usize = 500_000;

/// Pieces of a first turn that is read, so that what is measured is the stall, and not the first use of the model's
/// client and of the code around it.
const WARM: usize = 10_000;

/// Long enough for a slow machine; a server that makes no progress for this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Option<Params>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default)]
    from_seq: u64,
    #[serde(default)]
    to_seq: u64,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    seq: u64,
    class: String,
}

pub fn stalled(table: &mut Table) {
    let model = Model::start(WARM, PIECES);
    let state = tempfile::tempdir().expect("a directory");
    let root = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&Program::ours());
    let options = json!({
        "stateDir": state.path(), "workspaceTrusted": true,
        "model": { "provider": "openai", "name": "bench", "url": model.url },
    });
    server.initialize(root.path(), options);
    server.greet();
    let session = server.request("bb/createSession", json!({}))["sessionId"].clone();
    let prompt = |server: &mut Server, turn: usize| {
        let id = format!("00000000-0000-4000-8000-00000000000{turn}");
        server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "go on", "messageId": id }));
    };
    prompt(&mut server, TURNS);
    let mut read = Read { next: 1, deltas: 0, lost: 0, ended: 0 };
    read.until_ended(&mut server, 1);
    assert!(read.deltas >= WARM, "the model works: {} pieces", read.deltas);
    let pid = server.child.id();
    let before = settled(pid);

    // From here on nothing is read.
    for turn in 0..TURNS {
        prompt(&mut server, turn);
    }
    let begun = Instant::now();
    let mut written = WARM;
    let mut progressed = Instant::now();
    while written < WARM + TURNS * PIECES && progressed.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
        let now = model.written.load(Ordering::Relaxed);
        if now != written {
            written = now;
            progressed = Instant::now();
        }
    }
    // What the model wrote last is still on its way.
    let _ = settled(pid);
    let took = begun.elapsed().as_secs_f64();
    let after = peak(pid);

    read.until_ended(&mut server, 1 + TURNS);
    server.stop();
    let all = TURNS * PIECES;
    let deltas = read.deltas - WARM;
    let lost = read.lost;
    table.add(Figure {
        what: format!("editor stalled over {all} events: events lost"),
        ours: (all.saturating_sub(deltas) as u64 + lost) as f64,
        peer: None,
        floor: None,
        targets: vec![Target::exact("none", deltas >= all && lost == 0)],
    });
    table.add(Figure {
        what: "editor stalled: events/s taken meanwhile".to_owned(),
        ours: (written - WARM) as f64 / took,
        peer: None,
        floor: None,
        targets: Vec::new(),
    });
    if let (Some(before), Some(after)) = (before, after) {
        let grown = mebibytes(after.saturating_sub(before));
        table.add(Figure {
            what: "editor stalled: memory grows by, MiB".to_owned(),
            ours: grown,
            peer: None,
            floor: None,
            targets: vec![Target::exact("at most 16", grown <= 16.0)],
        });
    }
}

/// What was read so far.
struct Read {
    next: u64,
    /// Pieces of answers.
    deltas: usize,
    /// Events that are missing in between.
    lost: u64,
    /// Turns that ended.
    ended: usize,
}

impl Read {
    fn until_ended(&mut self, server: &mut Server, turns: usize) {
        while self.ended < turns {
            let body = server.frames.next().expect("a frame").expect("the server lives");
            let message: Message = serde_json::from_slice(body).expect("JSON");
            let Some(params) = message.params.filter(|_| message.method == "bb/events") else { continue };
            assert!(params.from_seq >= self.next, "event {} came twice", params.from_seq);
            self.lost += params.from_seq - self.next;
            for (event, seq) in params.events.iter().zip(params.from_seq..) {
                assert_eq!(event.seq, seq, "events are in order");
                self.deltas += usize::from(event.class == "transcript.assistant_stream");
                self.ended += usize::from(event.class == "run.finished");
            }
            self.next = params.to_seq + 1;
        }
    }
}
