//! The whole way: an engine on loopback, HTTP, the server, its stdout, a client that counts.
//!
//! `http` is throughput, `latency` the time of a single token, `large` events of 4 MiB, `reopen` a session of 100,000 events
//! after `kill -9`, `slope` the cost of an event after a million others.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::client::{Frames, Program, Server};
use super::length::Length;
use super::memory::{mebibytes, settled};
use super::mix::SESSION;
use super::peer;
use super::source::{Load, Source};
use super::table::{Figure, Table, Target, median};

const ROUNDS: usize = 3;

/// Throughput with and without a journal.
pub fn http(table: &mut Table, length: Length) {
    let events = length.pick(150_000, 90_000);
    let for_peer = length.pick(60_000, 30_000);
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); 7];
    for _ in 0..ROUNDS {
        let source = Source::start(Load::Flood(events));
        for (at, kind) in ["copy", "pass", "typed", "kept"].into_iter().enumerate() {
            let mut part = Part::start(kind, &source.url);
            rates[at].push(rate(&mut part.frames, events));
        }
        rates[4].push(whole(events, &json!({})).rate);
        let slower = Source::start(Load::Flood(for_peer));
        for (at, journal) in [(5, false), (6, true)] {
            if let Some(mut peer) = Part::peer(&slower, journal) {
                rates[at].push(rate(&mut peer.frames, for_peer));
            }
        }
    }
    let mut figures = rates.into_iter().map(|rates| (!rates.is_empty()).then(|| median(rates)));
    let mut next = || figures.next().flatten();
    let (floor, pass, typed, kept, whole) = (next(), next(), next(), next(), next());
    let (peer, journalling) = (next(), next());
    for (what, ours, over_peer, of_floor) in [
        ("HTTP to stdout, journal off, pass-through, events/s", pass, 5.0, 0.5),
        ("HTTP to stdout, journal off, typed, events/s", typed, 3.0, 0.25),
    ] {
        let ours = ours.unwrap_or_default();
        table.add(Figure {
            what: what.to_owned(),
            ours,
            peer,
            floor,
            targets: vec![
                Target::at_least(
                    format!("at least {over_peer}x the peer"),
                    ours,
                    peer.map(|peer| over_peer * peer),
                ),
                Target::at_least(
                    format!("at least {of_floor} of the floor"),
                    ours,
                    floor.map(|floor| of_floor * floor),
                ),
            ],
        });
    }
    let kept = kept.unwrap_or_default();
    table.add(Figure {
        what: "HTTP to stdout, journal on, typed, events/s".to_owned(),
        ours: kept,
        peer: journalling,
        floor,
        targets: vec![Target::at_least(
            "at least 3x the peer with a journal",
            kept,
            journalling.map(|peer| 3.0 * peer),
        )],
    });
    let whole = whole.unwrap_or_default();
    table.add(Figure {
        // No peer: it has no view that it reduces, stores and sends.
        what: "HTTP to stdout, the whole server: journal, view and its checkpoints, events/s".to_owned(),
        ours: whole,
        peer: None,
        floor,
        targets: vec![Target::at_least("at least 50000", whole, Some(50_000.0))],
    });
}

/// Time from the engine's write to the client's read.
pub fn latency(table: &mut Table, length: Length) {
    for rate in [200, 5_000] {
        let count = rate * length.pick(4, 3);
        let load = Load::Paced { count, rate };
        let source = Source::start(load);
        let (floor50, floor99) = delays(&mut Part::start("each", &source.url).frames, count);
        let mut server = OnEngine::start(&source, &json!({}));
        let (p50, p99) = delays(&mut server.server.frames, count);
        server.stop();
        let bound = |ours: f64, floor: f64, times: f64| {
            // The target is the one at 200; at 5,000 events share a window on purpose.
            if rate == 200 {
                vec![Target::at_most(
                    format!("at most {times}x the unbatched floor"),
                    ours,
                    Some(times * floor),
                )]
            } else {
                Vec::new()
            }
        };
        for (name, ours, floor, times) in [("p50", p50, floor50, 2.0), ("p99", p99, floor99, 4.0)] {
            table.add(Figure {
                what: format!("added latency at {rate} events/s, {name}, µs"),
                ours,
                peer: None,
                floor: Some(floor),
                targets: bound(ours, floor, times),
            });
        }
    }
}

/// Events of 4 MiB through the whole server.
pub fn large(table: &mut Table, length: Length) {
    let (count, bytes) = (length.pick(24, 12), 4 << 20);
    let rates = (0..ROUNDS).map(|_| {
        let source = Source::start(Load::Large { count, bytes });
        let mut server = OnEngine::start(&source, &json!({}));
        let mut begun = Instant::now();
        let mut seen = 0;
        while seen < count + 1 {
            seen = next_to(&mut server.server.frames).0;
            if seen <= 2 {
                begun = Instant::now();
            }
        }
        let took = begun.elapsed().as_secs_f64();
        server.stop();
        ((count - 1) * bytes) as f64 / 1e6 / took
    });
    let ours = median(rates.collect());
    table.add(Figure {
        what: "4-MiB events: HTTP to stdout, journal on, MB/s".to_owned(),
        ours,
        peer: None,
        floor: None,
        targets: vec![Target::at_least("at least 200", ours, Some(200.0))],
    });
}

/// A session of 100,000 events whose server was killed: from the start of a new one to its view.
pub fn reopen(table: &mut Table, length: Length) {
    let events = 100_000;
    let state = tempfile::tempdir().expect("a directory");
    let root = tempfile::tempdir().expect("a directory");
    let source = Source::start(Load::Flood(events));
    let mut server = OnEngine::at(&source, state.path(), root.path(), &json!({}));
    while next_to(&mut server.server.frames).0 < events {}
    server.server.child.kill().expect("a child");
    server.server.child.wait().expect("a child");
    let copies: Vec<tempfile::TempDir> = (0..length.pick(5, 3))
        .map(|_| {
            let copy = tempfile::tempdir().expect("a directory");
            for file in std::fs::read_dir(state.path()).expect("a directory").flatten() {
                std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("a copy");
            }
            copy
        })
        .collect();
    let mut starts = Vec::new();
    let mut views = Vec::new();
    let mut resident = Vec::new();
    for copy in &copies {
        let begun = Instant::now();
        let mut server = Server::start(&Program::ours());
        // Without its engine: what is measured is ours.
        server.initialize(root.path(), json!({ "stateDir": copy.path(), "workspaceTrusted": true }));
        server.greet();
        let asked = Instant::now();
        let selected = server.request("bb/selectSession", json!({ "sessionId": SESSION }));
        views.push(asked.elapsed().as_secs_f64() * 1e3);
        starts.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(selected["seq"].as_u64().expect("a number") >= events);
        assert!(selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").len() > 10);
        resident.extend(settled(server.child.id()).map(mebibytes));
        server.stop();
    }
    let start = median(starts);
    table.add(Figure {
        what: format!("reopen {events} events after kill -9: start to first view, ms"),
        ours: start,
        peer: None,
        floor: None,
        targets: vec![Target::at_most("at most 100", start, Some(100.0))],
    });
    table.add(Figure {
        what: "reopen: `bb/selectSession` to its answer, ms".to_owned(),
        ours: median(views),
        peer: None,
        floor: None,
        targets: Vec::new(),
    });
    if !resident.is_empty() {
        let resident = median(resident);
        table.add(Figure {
            what: "reopen: resident memory afterwards, MiB".to_owned(),
            ours: resident,
            peer: None,
            floor: None,
            targets: vec![Target::exact("at most 40", resident <= 40.0)],
        });
    }
}

/// The last tenth of a million events (in a short run fewer) against the second. The first is left out: caches and compilers are cold in it.
pub fn slope(table: &mut Table, length: Length) {
    let events = length.pick(1_000_000, 300_000);
    let run = whole(events, &json!({}));
    let ratio = run.last_tenth / run.second_tenth;
    table.add(Figure {
        what: format!("cost of an event, last tenth of {events} over the second tenth"),
        ours: ratio,
        peer: None,
        floor: None,
        targets: vec![Target::at_most("at most 1.25", ratio, Some(1.25))],
    });
    table.add(Figure {
        what: format!("HTTP to stdout, journal on, over {events} events, events/s"),
        ours: run.rate,
        peer: None,
        floor: None,
        targets: vec![Target::at_least("at least 50000", run.rate, Some(50_000.0))],
    });
}

/// A run of the whole server.
struct Run {
    rate: f64,
    second_tenth: f64,
    last_tenth: f64,
}

fn whole(events: u64, wishes: &Value) -> Run {
    let source = Source::start(Load::Flood(events));
    let mut server = OnEngine::start(&source, wishes);
    let mut marks = vec![Instant::now()];
    let mut seen = 0;
    while seen < events {
        seen = next_to(&mut server.server.frames).0;
        while seen >= events / 10 * marks.len() as u64 && marks.len() <= 10 {
            marks.push(Instant::now());
        }
    }
    server.stop();
    let tenth = |at: usize| (marks[at] - marks[at - 1]).as_secs_f64();
    Run {
        rate: (events - events / 10) as f64 / (marks[10] - marks[1]).as_secs_f64(),
        second_tenth: tenth(2),
        last_tenth: tenth(10),
    }
}

/// Our server on a source.
struct OnEngine {
    server: Server,
    dirs: Vec<tempfile::TempDir>,
}

impl OnEngine {
    fn start(source: &Source, wishes: &Value) -> Self {
        let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().expect("a directory")).collect();
        let mut started = Self::at(source, dirs[0].path(), dirs[1].path(), wishes);
        started.dirs = dirs;
        started
    }

    fn at(source: &Source, state: &Path, root: &Path, wishes: &Value) -> Self {
        let mut server = Server::start(&Program::ours());
        let options = json!({
            "stateDir": state, "workspaceTrusted": true,
            "engine": { "kind": "breadboard", "url": source.url },
        });
        server.initialize(root, options);
        server.notify("initialized", json!({}));
        server.request("bb/init", wishes.clone());
        server.ask("bb/createSession", json!({}));
        Self { server, dirs: Vec::new() }
    }

    /// At once: what it still has to say is of no interest.
    fn stop(mut self) {
        let _ = self.server.child.kill();
        let _ = self.server.child.wait();
        drop(self.dirs);
    }
}

/// A process that streams frames by itself: a part of ours, or the peer.
struct Part {
    child: Child,
    frames: Frames<ChildStdout>,
    _dir: Option<tempfile::TempDir>,
}

impl Part {
    fn start(kind: &str, url: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(std::env::current_exe().expect("this bench"));
        command.args(["--child", "through", kind, url]).arg(dir.path());
        Self::spawn(command, Some(dir))
    }

    /// The peer; `None` where it cannot be had.
    fn peer(source: &Source, journal: bool) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut command =
            peer::http(&source.stream_url(), journal.then(|| dir.path().join("journal.sqlite3")))?;
        command.stdin(Stdio::piped());
        Some(Self::spawn(command, Some(dir)))
    }

    fn spawn(mut command: Command, dir: Option<tempfile::TempDir>) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("a child");
        let frames = Frames::new(child.stdout.take().expect("a pipe"));
        Self { child, frames, _dir: dir }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Events a second; the clock starts after a tenth, when compilers and caches are warm.
fn rate<R: Read>(frames: &mut Frames<R>, events: u64) -> f64 {
    let mut begun = None;
    let mut from = 0;
    loop {
        let (seen, _) = next_to(frames);
        if begun.is_none() && seen >= events / 10 {
            (begun, from) = (Some(Instant::now()), seen);
        }
        if seen >= events {
            let took = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
            return (events - from) as f64 / took.as_secs_f64();
        }
    }
}

/// The last number of the next `bb/events`, and its body.
fn next_to<R: Read>(frames: &mut Frames<R>) -> (u64, &[u8]) {
    loop {
        let body = frames.next().expect("a frame").expect("the server lives");
        if let Some(to_seq) = to_seq(body) {
            return (to_seq, frames.body());
        }
    }
}

/// `toSeq` of a `bb/events`, without reading the events.
fn to_seq(body: &[u8]) -> Option<u64> {
    let head = &body[..body.len().min(300)];
    find(head, b"\"bb/events\"")?;
    let at = find(head, b"\"toSeq\":")? + b"\"toSeq\":".len();
    let digits =
        head[at..].iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0'));
    Some(digits.fold(0, |number, digit| number * 10 + digit))
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// p50 and p99 of the time from write to read, in microseconds.
fn delays<R: Read>(frames: &mut Frames<R>, events: u64) -> (f64, f64) {
    let mut delays = Vec::new();
    loop {
        let (seen, body) = next_to(frames);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let mut rest = body;
        while let Some(at) = find(rest, b"\"at ") {
            let digits = rest[at + 4..at + 24].iter().map(|byte| u64::from(byte - b'0'));
            let written = digits.fold(0u64, |number, digit| number * 10 + digit);
            delays.push(now.saturating_sub(written) as f64 / 1e3);
            rest = &rest[at + 24..];
        }
        if seen >= events {
            break;
        }
    }
    // The first tenth opens connections and files.
    let mut delays = delays.split_off(delays.len() / 10);
    delays.sort_by(f64::total_cmp);
    (delays[delays.len() / 2], delays[delays.len() * 99 / 100])
}
