//! Events out: how many a second leave through the outbox into a pipe that another process reads.
//!
//! Every writer does the same work: it serialises typed events, frames them and writes. The floor does that and nothing
//! else, once with one write a frame and once with writes of 64 KiB; the better of the two counts.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use breadboard_ls::testing::app::ports::{BatchRow, Outbox};
use breadboard_ls::testing::app::wire_out;
use breadboard_ls::testing::domain::event::SessionEvent;
use breadboard_ls::testing::editor::FrameOutbox;
use breadboard_ls::testing::protocol::notification::EventsParams;
use serde_json::json;

use super::client::{Frames, Program, Server};
use super::length::Length;
use super::table::{Figure, Table, Target, median};

const EVENT_BYTES: usize = 200;
const SESSION: &str = "5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11";
const EPOCH: &str = "0123456789abcdef0123456789abcdef";

/// Single events and batches of 64, against the peers and the floor.
pub fn egress(table: &mut Table, peers: &[Program], length: Length) {
    let part = length.pick(1, 2);
    for (size, ours_count, peer_count, over_peer) in
        [(1, 600_000 / part, 150_000 / part, 10.0), (64, 3_000_000 / part, 800_000 / part, 1.8)]
    {
        let mut ours = Vec::new();
        let mut floors = [Vec::new(), Vec::new()];
        let mut of_peers = vec![Vec::new(); peers.len()];
        for _ in 0..length.pick(5, 3) {
            ours.push(child_rate("outbox", size, ours_count));
            floors[0].push(child_rate("write-each", size, ours_count));
            floors[1].push(child_rate("write-64k", size, ours_count));
            for (index, peer) in peers.iter().enumerate() {
                of_peers[index].push(peer_rate(peer, size, peer_count));
            }
        }
        let ours = median(ours);
        let floor = floors.map(median).into_iter().reduce(f64::max);
        let peer = of_peers.into_iter().map(median).reduce(f64::max);
        table.add(Figure {
            what: format!("egress, {EVENT_BYTES} B x {size}, events/s"),
            ours,
            peer,
            floor,
            targets: vec![
                Target::at_least(
                    format!("at least {over_peer}x the peer"),
                    ours,
                    peer.map(|peer| over_peer * peer),
                ),
                Target::at_least("at least 0.5 of the floor", ours, floor.map(|floor| floor / 2.0)),
            ],
        });
    }
}

/// Events a second out of a child of this bench.
fn child_rate(kind: &str, size: usize, count: usize) -> f64 {
    let mut child = Command::new(std::env::current_exe().expect("this bench"))
        .args(["--child", kind, &size.to_string(), &count.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut frames = Frames::new(child.stdout.take().expect("a pipe"));
    let rate = rate(&mut frames, size, count);
    child.wait().expect("the child ends");
    rate
}

fn peer_rate(peer: &Program, size: usize, count: usize) -> f64 {
    let mut server = Server::start(peer);
    let root = tempfile::tempdir().expect("a directory");
    server.initialize(root.path(), json!({}));
    server.greet();
    server.notify("bench/send", json!({ "count": count, "size": size }));
    let rate = rate(&mut server.frames, size, count);
    server.stop();
    rate
}

/// Reads all frames; the clock starts after a tenth, when compilers and caches are warm.
fn rate<R: Read>(frames: &mut Frames<R>, size: usize, count: usize) -> f64 {
    let all = count.div_ceil(size);
    let warm = all / 10;
    let mut begun = Instant::now();
    let mut bytes = 0;
    for read in 0..all {
        if read == warm {
            begun = Instant::now();
        }
        bytes += frames.next().expect("a frame").expect("all frames").len();
    }
    let event = bytes / (all * size);
    assert!((EVENT_BYTES..EVENT_BYTES + 250 / size + 10).contains(&event), "{event} bytes an event");
    ((all - warm) * size) as f64 / begun.elapsed().as_secs_f64()
}

/// The writing end, in a process of its own.
pub fn child(arguments: &[String]) {
    let [kind, size, count] = arguments else { panic!("--child <kind> <size> <count>") };
    let (size, count): (usize, usize) = (size.parse().expect("a number"), count.parse().expect("a number"));
    let batches = Batches { events: vec![event(); size], seq: 0, left: count.div_ceil(size) };
    match kind.as_str() {
        "outbox" => through_outbox(batches),
        "write-each" => floor(batches, 0),
        "write-64k" => floor(batches, 64 << 10),
        other => panic!("no child {other}"),
    }
}

/// An event of `EVENT_BYTES` as JSON.
fn event() -> SessionEvent {
    let with = |text: &str| -> SessionEvent {
        let event = json!({
            "id": "", "type": "assistant.token", "turn": 1, "ts": 1_700_000_000_000_i64, "payload": { "token": text },
            "seq": 100_000, "class": "transcript.assistant_stream", "pane": ["chat"], "origin": "engine",
        });
        serde_json::from_value(event).expect("an event")
    };
    let shell = serde_json::to_string(&with("")).expect("JSON").len();
    with(&"x".repeat(EVENT_BYTES - shell))
}

/// Batches with the numbers they would have, one after the other.
struct Batches {
    events: Vec<SessionEvent>,
    seq: u64,
    left: usize,
}

impl Batches {
    fn next(&mut self) -> Option<&[SessionEvent]> {
        self.left = self.left.checked_sub(1)?;
        for event in &mut self.events {
            self.seq += 1;
            event.seq = self.seq;
        }
        Some(&self.events)
    }
}

/// Stdout as the server has it, for the floors too.
pub fn stdout() -> File {
    breadboard_ls::testing::editor::open_stdout().expect("stdout")
}

/// As the loop does it: each event serialised once, the batch spliced into its notification, and pushed.
fn through_outbox(mut batches: Batches) {
    let room = Arc::new((Mutex::new(false), Condvar::new()));
    let heard = Arc::clone(&room);
    let on_drained = move || {
        *heard.0.lock().expect("a lock") = true;
        heard.1.notify_one();
        true
    };
    let outbox = FrameOutbox::start(stdout(), on_drained, || std::process::exit(1));
    while let Some(events) = batches.next() {
        let mut text = Vec::with_capacity(events.len() * (EVENT_BYTES + 1));
        for event in events {
            if !text.is_empty() {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, event).expect("JSON");
        }
        let row = BatchRow { from_seq: events[0].seq, to_seq: events[events.len() - 1].seq, events: text };
        while !outbox.push(wire_out::events(SESSION, EPOCH, &row).into()) {
            let mut drained = room.0.lock().expect("a lock");
            while !*drained {
                drained = room.1.wait(drained).expect("a lock");
            }
            *drained = false;
        }
    }
    assert!(outbox.drain(Duration::from_secs(60)), "everything leaves");
}

/// Typed notifications straight into a buffer that is written when it holds `at_least` bytes.
fn floor(mut batches: Batches, at_least: usize) {
    #[derive(serde::Serialize)]
    struct Notification<'a> {
        jsonrpc: &'a str,
        method: &'a str,
        params: &'a EventsParams,
    }
    let mut out = stdout();
    let mut body = Vec::new();
    let mut buffer = Vec::new();
    let mut params = EventsParams {
        session_id: SESSION.to_owned(),
        epoch: EPOCH.to_owned(),
        from_seq: 0,
        to_seq: 0,
        events: batches.events.clone(),
    };
    while let Some(events) = batches.next() {
        params.from_seq = events[0].seq;
        params.to_seq = events[events.len() - 1].seq;
        for (event, numbered) in params.events.iter_mut().zip(events) {
            event.seq = numbered.seq;
        }
        body.clear();
        let message = Notification { jsonrpc: "2.0", method: "bb/events", params: &params };
        serde_json::to_writer(&mut body, &message).expect("JSON");
        write!(buffer, "Content-Length: {}\r\n\r\n", body.len()).expect("memory");
        buffer.extend_from_slice(&body);
        if buffer.len() >= at_least {
            out.write_all(&buffer).expect("a reader");
            buffer.clear();
        }
    }
    out.write_all(&buffer).expect("a reader");
}
