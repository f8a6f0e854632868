//! Parts of the way from the engine to the editor, as processes that can be measured beside the whole.
//!
//! `pass`: the adapter, normalisation, batching and the outbox of the product; a payload stays the text that came. `typed`:
//! the same with redaction and the reducers, which read payloads. `kept`: the same with the journal, which has a batch before it
//! is sent. `copy` is the floor: bytes are
//! decoded into events and forwarded in batches, and nobody looks whether they are JSON. `each` is the floor of latency:
//! the same without batches.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use breadboard_ls::testing::app::ports::{BatchRow, Commit, EngineCursor, EngineReport, Journal, Outbox};
use breadboard_ls::testing::app::wire_out;
use breadboard_ls::testing::domain::delivery::batch::Batcher;
use breadboard_ls::testing::domain::dialect::{Dialect, normalize};
use breadboard_ls::testing::domain::event::EngineEvent;
use breadboard_ls::testing::domain::policy::redact::Redactor;
use breadboard_ls::testing::domain::view::{DirtyBlocks, ViewState};
use breadboard_ls::testing::domain::wire::sse::{SseDecoder, SseItem};
use breadboard_ls::testing::editor::FrameOutbox;
use breadboard_ls::testing::engine::breadboard::client::{Client, EngineTimeouts};
use breadboard_ls::testing::engine::breadboard::link::{LinkTiming, Links};
use breadboard_ls::testing::http::BaseUrl;
use breadboard_ls::testing::store::SqliteJournal;
use tokio::sync::mpsc;

use super::egress::stdout;
use super::mix::SESSION;

const EPOCH: &str = "0123456789abcdef0123456789abcdef";
const EVENTS: usize = 64;
const BYTES: usize = 256 << 10;

/// Runs until the reader of stdout is gone.
pub fn child(arguments: &[String]) {
    let [kind, url, dir] = arguments else { panic!("through <kind> <url> <directory>") };
    match kind.as_str() {
        "pass" => product(url, Way::new(false, None)),
        "typed" => product(url, Way::new(true, None)),
        "kept" => product(url, Way::new(true, Some(SqliteJournal::open(Some(dir.as_ref()))))),
        "copy" => forward(url, EVENTS),
        "each" => forward(url, 1),
        other => panic!("no way {other}"),
    }
}

fn product(url: &str, mut way: Way) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (reports, mut said) = mpsc::channel(64);
    let place = BaseUrl::parse(url).expect("an address");
    let client = Client::new(place, None, None, EngineTimeouts::default());
    let now_ms = Arc::new(|| 0);
    let links =
        Links::new(Arc::new(client), reports, runtime.handle().clone(), now_ms, LinkTiming::default(), 1);
    links.attach(SESSION, None);
    runtime.block_on(async {
        let mut taken = Vec::new();
        loop {
            let due = way.batcher.due_us().map(|due| way.begun + Duration::from_micros(due));
            let wait = tokio::time::sleep_until(due.unwrap_or(way.begun).into());
            tokio::select! {
                count = said.recv_many(&mut taken, 256) => {
                    if count == 0 {
                        return;
                    }
                    for report in taken.drain(..) {
                        match report {
                            EngineReport::Said { event, .. } => way.take(event),
                            EngineReport::SaidMany { events, .. } => {
                                events.into_iter().for_each(|(event, _)| way.take(event));
                            }
                            _ => {}
                        }
                    }
                    if way.batcher.due_us().is_some_and(|due| due <= way.now_us()) {
                        way.flush();
                    }
                }
                () = wait, if due.is_some() => way.flush(),
            }
        }
    });
}

/// What the loop does with an event.
struct Way {
    typed: bool,
    journal: Option<SqliteJournal>,
    begun: Instant,
    head: u64,
    batcher: Batcher,
    redactor: Redactor,
    view: ViewState,
    dirty: DirtyBlocks,
    outbox: Arc<FrameOutbox>,
    room: Arc<(Mutex<bool>, Condvar)>,
}

impl Way {
    fn new(typed: bool, journal: Option<SqliteJournal>) -> Self {
        let room = Arc::new((Mutex::new(false), Condvar::new()));
        let heard = Arc::clone(&room);
        let on_drained = move || {
            *heard.0.lock().expect("a lock") = true;
            heard.1.notify_one();
            true
        };
        let mut redactor = Redactor::default();
        redactor.add("sk-this-is-not-in-any-event");
        Self {
            typed,
            journal,
            begun: Instant::now(),
            head: 0,
            batcher: Batcher::new(4, EVENTS, BYTES),
            redactor,
            view: ViewState::default().speaking(Dialect::Breadboard),
            dirty: DirtyBlocks::default(),
            outbox: FrameOutbox::start(stdout(), on_drained, || std::process::exit(0)),
            room,
        }
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn take(&mut self, event: EngineEvent) {
        self.head += 1;
        let event = normalize(Dialect::Breadboard, event).event.sequenced(self.head);
        let text = event.to_json();
        if self.typed {
            assert!(matches!(self.redactor.scrub(&text), std::borrow::Cow::Borrowed(_)));
            let changes = self.view.apply(&event);
            self.dirty.absorb(&changes, 0, &mut |_, _| None);
            if self.dirty.bytes() > 8 << 20 {
                self.dirty.clear();
            }
        }
        if self.batcher.push(&text, self.head) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let now = self.now_us();
        while let Some(batch) = self.batcher.take(now) {
            let (from_seq, to_seq) = (batch.from_seq, batch.to_seq);
            let commit = Commit {
                session_id: SESSION.to_owned(),
                batch: Some(BatchRow { from_seq, to_seq, events: batch.events }),
                cursor: Some(EngineCursor { seq: to_seq, id: to_seq.to_string() }),
                ..Commit::default()
            };
            if let Some(journal) = &mut self.journal {
                journal.commit(&commit).expect("the journal takes it");
            }
            let row = commit.batch.expect("a batch");
            while !self.outbox.push(wire_out::events(SESSION, EPOCH, &row).into()) {
                let mut drained = self.room.0.lock().expect("a lock");
                while !*drained {
                    drained = self.room.1.wait(drained).expect("a lock");
                }
                *drained = false;
            }
        }
    }
}

/// Decodes the stream and forwards `data` as it is.
fn forward(url: &str, most: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let url = format!("{url}/v1/sessions/{SESSION}/events?replay=true");
    runtime.block_on(async {
        // Without a provider the client refuses to be built, although no TLS is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .tls_certs_only([])
            .build()
            .expect("a client");
        let mut response = client.get(url).send().await.expect("a stream");
        let mut decoder = SseDecoder::new(32 << 20);
        let mut batch = Batch { out: stdout(), seq: 0, count: 0, events: Vec::new(), frame: Vec::new() };
        loop {
            let chunk = match batch.count {
                0 => response.chunk().await.expect("a chunk"),
                _ => match tokio::time::timeout(Duration::from_millis(4), response.chunk()).await {
                    Ok(chunk) => chunk.expect("a chunk"),
                    Err(_) => {
                        batch.flush();
                        continue;
                    }
                },
            };
            let Some(chunk) = chunk else { return };
            decoder.feed(&chunk, &mut |item| {
                if let SseItem::Frame(frame) = item {
                    batch.push(frame.data, most);
                }
            });
        }
    });
}

struct Batch {
    out: std::fs::File,
    seq: u64,
    count: usize,
    events: Vec<u8>,
    frame: Vec<u8>,
}

impl Batch {
    fn push(&mut self, data: &[u8], most: usize) {
        if self.count > 0 {
            self.events.push(b',');
        }
        self.events.extend_from_slice(data);
        self.seq += 1;
        self.count += 1;
        if self.count >= most || self.events.len() >= BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let from = self.seq + 1 - self.count as u64;
        let head = format!(
            r#"{{"jsonrpc":"2.0","method":"bb/events","params":{{"sessionId":"{SESSION}","epoch":"{EPOCH}","fromSeq":{from},"toSeq":{},"events":["#,
            self.seq
        );
        let length = head.len() + self.events.len() + 3;
        self.frame.clear();
        write!(self.frame, "Content-Length: {length}\r\n\r\n{head}").expect("memory");
        self.frame.extend_from_slice(&self.events);
        self.frame.extend_from_slice(b"]}}");
        if self.out.write_all(&self.frame).is_err() {
            std::process::exit(0);
        }
        self.events.clear();
        self.count = 0;
    }
}
