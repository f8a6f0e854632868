//! Links against an engine that says what the test tells it, with a clock that stands still until nothing else happens.

mod backlog;
mod breaks;
mod ends;
mod heads;
mod holes;
mod lost_turns;
mod orders;
mod silence;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::client::From;
use super::super::engine_error::{EngineError, ErrorWindow};
use super::source::Chunks;
use super::*;
use crate::app::ports::{ResumedLink, StreamReport};
use crate::domain::event::EngineEvent;
use crate::http::Unreached;

/// What a stream does next. Behind the last step it hangs open.
#[derive(Clone)]
enum Step {
    /// One chunk.
    Send(String),
    /// Milliseconds.
    Wait(u64),
    /// The body's own end.
    End,
    /// The connection breaks.
    Break,
}
use Step::{Break, End, Send as Say, Wait};

/// What the engine answers to the next opening.
enum Opening {
    Stream(Vec<Step>),
    Refuse(EngineError),
    /// No answer.
    Never,
}

/// What the engine answers to the next question for the session.
#[derive(Clone)]
enum Standing {
    Is(Value),
    Fails(EngineError),
    Never,
}

/// An engine that follows a script.
#[derive(Default)]
struct Scripted {
    /// The last one stays.
    standings: Mutex<VecDeque<Standing>>,
    /// Behind the last one every stream is silent.
    openings: Mutex<VecDeque<Opening>>,
    /// What was asked.
    asked: Mutex<Vec<String>>,
    /// What it says that its newest event is.
    newest: Mutex<Option<u64>>,
}

impl Scripted {
    fn new(openings: Vec<Opening>) -> Arc<Self> {
        Self::standing(vec![running()], openings)
    }

    fn standing(standings: Vec<Standing>, openings: Vec<Opening>) -> Arc<Self> {
        Arc::new(Self {
            standings: Mutex::new(standings.into()),
            openings: Mutex::new(openings.into()),
            asked: Mutex::default(),
            newest: Mutex::default(),
        })
    }

    /// What was asked since this was last asked.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The openings among it.
    fn opened(&self) -> Vec<String> {
        self.asked().into_iter().filter(|asked| asked != "session").collect()
    }
}

impl Source for Scripted {
    type Stream = ScriptedStream;

    async fn session(&self, _: &str) -> Result<Value, EngineError> {
        self.asked.lock().unwrap().push("session".to_owned());
        let standing = {
            let mut standings = self.standings.lock().unwrap();
            if standings.len() > 1 { standings.pop_front() } else { standings.front().cloned() }
        };
        match standing {
            Some(Standing::Is(summary)) => Ok(summary),
            Some(Standing::Fails(trouble)) => Err(trouble),
            Some(Standing::Never) | None => std::future::pending().await,
        }
    }

    async fn open(&self, session_id: &str, from: From) -> Result<ScriptedStream, EngineError> {
        assert_eq!(session_id, "s");
        self.asked.lock().unwrap().push(match from {
            From::Start => "start".to_owned(),
            From::After(id) => format!("after {id}"),
            From::Newest => "newest".to_owned(),
            From::Live => "live".to_owned(),
        });
        let opening = self.openings.lock().unwrap().pop_front();
        match opening {
            None => Ok(ScriptedStream::default()),
            Some(Opening::Stream(steps)) => Ok(ScriptedStream { steps: steps.into(), until: None }),
            Some(Opening::Refuse(trouble)) => Err(trouble),
            Some(Opening::Never) => std::future::pending().await,
        }
    }

    async fn newest(&self, _: &str, _: Duration) -> Option<u64> {
        *self.newest.lock().unwrap()
    }

    fn say(&self, trouble: &EngineError) -> String {
        trouble.told("http://127.0.0.1:9099").message
    }
}

#[derive(Default)]
struct ScriptedStream {
    steps: VecDeque<Step>,
    /// End of the wait in progress.
    until: Option<Instant>,
}

impl Chunks for ScriptedStream {
    async fn next(&mut self) -> Option<Result<Bytes, EngineError>> {
        loop {
            match self.steps.front().cloned() {
                None => std::future::pending().await,
                Some(Wait(ms)) => {
                    let until = *self.until.get_or_insert(Instant::now() + Duration::from_millis(ms));
                    tokio::time::sleep_until(until).await;
                    self.until = None;
                    self.steps.pop_front();
                }
                Some(Say(text)) => {
                    self.steps.pop_front();
                    return Some(Ok(Bytes::from(text)));
                }
                Some(End) => return None,
                Some(Break) => return Some(Err(unreachable())),
            }
        }
    }
}

fn unreachable() -> EngineError {
    EngineError::Unreachable { why: Unreached::Connection("it closed the connection".to_owned()), sent: true }
}

fn window_exceeded() -> Opening {
    Opening::Refuse(EngineError::WindowExceeded(ErrorWindow::default()))
}

fn gone() -> EngineError {
    EngineError::Gone { detail: "session not found".to_owned() }
}

fn is(status: &str) -> Standing {
    Standing::Is(json!({ "session_id": "s", "status": status, "metadata": {} }))
}

fn running() -> Standing {
    is("running")
}

fn stream(steps: Vec<Step>) -> Opening {
    Opening::Stream(steps)
}

/// A frame as the engine writes it, of the type `e`.
fn frame(seq: u64) -> String {
    typed(seq, "e", &json!({}))
}

fn typed(seq: u64, kind: &str, payload: &Value) -> String {
    let data = json!({
        "id": format!("uuid-{seq}"), "seq": seq, "type": kind, "session_id": "s", "turn": null, "timestamp": 1,
        "payload": payload,
    });
    format!("id: {seq}\ndata: {data}\n\n")
}

/// A frame without a place in the log, as newer engines write it.
fn loose(kind: &str, payload: &Value) -> String {
    let data = json!({ "type": kind, "session_id": "s", "payload": payload });
    format!("data: {data}\n\n")
}

/// Frames as one chunk.
fn frames(seqs: impl IntoIterator<Item = u64>) -> Step {
    Say(seqs.into_iter().map(frame).collect())
}

fn cursor(seq: u64) -> Option<EngineCursor> {
    (seq > 0).then(|| EngineCursor { seq, id: seq.to_string() })
}

/// Links of one session to a scripted engine.
struct Bench {
    links: Links<Scripted>,
    reports: mpsc::Receiver<EngineReport>,
    engine: Arc<Scripted>,
    /// How far the wall clock was moved, in milliseconds.
    moved: Arc<AtomicI64>,
}

impl Bench {
    fn new(engine: &Arc<Scripted>) -> Self {
        Self::with_room(engine, 100_000)
    }

    fn with_room(engine: &Arc<Scripted>, room: usize) -> Self {
        let (sender, reports) = mpsc::channel(room);
        let moved = Arc::new(AtomicI64::new(0));
        let (start, offset) = (Instant::now(), Arc::clone(&moved));
        let now_ms: WallClock = Arc::new(move || {
            1_700_000_000_000
                + i64::try_from(start.elapsed().as_millis()).unwrap()
                + offset.load(Ordering::Relaxed)
        });
        let links =
            Links::new(Arc::clone(engine), sender, Handle::current(), now_ms, LinkTiming::default(), 1);
        Self { links, reports, engine: Arc::clone(engine), moved }
    }

    fn attached(engine: &Arc<Scripted>, seq: u64) -> Self {
        let bench = Self::new(engine);
        bench.links.attach("s", cursor(seq));
        bench
    }

    /// Everything that is said within the next so many milliseconds.
    async fn hear(&mut self, ms: u64) -> Vec<String> {
        sleep(Duration::from_millis(ms)).await;
        let mut heard = Vec::new();
        while let Ok(report) = self.reports.try_recv() {
            heard.extend(words(report));
        }
        heard
    }
}

/// Attaches behind `seq` and hears for so many milliseconds.
async fn told(engine: &Arc<Scripted>, seq: u64, ms: u64) -> Vec<String> {
    Bench::attached(engine, seq).hear(ms).await
}

/// A report in a few words: the number of an event, and its type where that is not `e`.
fn words(report: EngineReport) -> Vec<String> {
    let said = |session_id: &str, event: &EngineEvent, cursor: Option<EngineCursor>| {
        assert_eq!(session_id, "s");
        match cursor {
            None => format!("- {}", event.kind),
            Some(cursor) => {
                assert_eq!(cursor.id, event.id, "the cursor is the engine's own token");
                if event.kind == "e" {
                    cursor.seq.to_string()
                } else {
                    format!("{} {}", cursor.seq, event.kind)
                }
            }
        }
    };
    let one = match report {
        EngineReport::SaidMany { session_id, events } => {
            return events.into_iter().map(|(event, cursor)| said(&session_id, &event, cursor)).collect();
        }
        EngineReport::Said { session_id, event, cursor } => said(&session_id, &event, cursor),
        EngineReport::Stream(StreamReport::Link { news, .. }) => match news {
            LinkNews::Connecting { retry, error: None } => format!("connecting {retry}"),
            LinkNews::Connecting { retry, error: Some(error) } => format!("connecting {retry}: {error}"),
            LinkNews::Resumed(ResumedLink::Complete) => "complete".to_owned(),
            LinkNews::Resumed(ResumedLink::Replayed { events, from, to }) => {
                format!("replayed {events}: {from}..{to}")
            }
            LinkNews::Resumed(ResumedLink::Resynced { from, to }) => format!("resynced {from}..{to}"),
            LinkNews::Resumed(ResumedLink::Lost { from, to, reason }) => {
                format!("lost {from}..{}: {reason}", open(to))
            }
            LinkNews::Gap { from, to, reason } => format!("gap {from}..{}: {reason}", open(to)),
            LinkNews::Waiting(ids) => format!("waiting {ids:?}"),
            LinkNews::NoTurnRuns => "no turn runs".to_owned(),
            LinkNews::TurnLost { turn } => format!("turn {turn} lost"),
            LinkNews::Ended { status, .. } => format!("ended {status}"),
            LinkNews::Gone { .. } => "gone".to_owned(),
        },
        other => panic!("a link never says {other:?}"),
    };
    vec![one]
}

fn open(to: Option<u64>) -> String {
    to.map(|to| to.to_string()).unwrap_or_default()
}

/// Numbers as they are heard.
fn heard(seqs: impl IntoIterator<Item = u64>) -> Vec<String> {
    seqs.into_iter().map(|seq| seq.to_string()).collect()
}

const ENDED_BY_ENGINE: &str = "The engine ended the stream of this session; it is opened again.";
const BROKEN: &str = "The connection to the BreadBoard engine at http://127.0.0.1:9099 broke: it closed the connection; \
                      try again.";
const EVICTED: &str = "the engine keeps only the last 1000 events of a session";
const LEFT_OUT: &str = "the engine's stream left them out each time it was asked for them";
