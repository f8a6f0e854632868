//! `GET …/events`: what a connection gets, and its bytes. Section 3 of the facts.
//!
//! Owns the frames. What goes wrong with them on purpose, `faults` decides.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::answer::{self, HttpAnswer};
use super::engine::SimulatedEngine;
use super::faults::Mischief;
use super::log::{LogStart, Logged};
use super::server::AskedRequest;
use super::session::{SimulatedSession, StreamItem};
use super::{clock, python_json, talk};

/// What a stream does next.
#[derive(Debug)]
pub(super) enum Out {
    /// Writes these bytes as a chunk of their own.
    Bytes(Bytes),
    /// Nothing is sent for so long.
    Pause(Duration),
    /// Breaks the connection.
    Cut,
    /// Forgets every session and breaks every connection.
    Restart,
    /// Ends the body.
    End,
}

/// Opens a stream.
pub(super) fn connect(
    engine: &Arc<SimulatedEngine>,
    session: Option<Arc<SimulatedSession>>,
    asked: &AskedRequest,
) -> HttpAnswer {
    let id = asked.parameter("from_id").or_else(|| asked.header("last-event-id").map(str::to_owned));
    let replay = asked.parameter("replay").is_some_and(|word| truthy(&word));
    let Ok(limit) = asked.parameter("limit").map(|word| word.parse::<usize>()).transpose() else {
        let input = json!(asked.parameter("limit"));
        let place = ["query", "limit"];
        return answer::unprocessable("int_parsing", &place, "Input should be a valid integer", input);
    };
    let Some(session) = session else {
        return if id.is_some() || engine.options.pr40 { answer::no_session() } else { empty_stream() };
    };
    let wish = match id {
        Some(id) => LogStart::After { id, limit },
        None if replay => LogStart::Replay { limit },
        None => LogStart::Live,
    };
    if session.pr40 && matches!(wish, LogStart::Replay { .. }) && truncated(&session) {
        return answer::out_of_window(window(&session, None));
    }
    let Ok(opened) = session.subscribe(&wish) else {
        let detail = if session.pr40 {
            let id = if let LogStart::After { id, .. } = &wish { Some(id.as_str()) } else { None };
            window(&session, id)
        } else {
            json!("resume window exceeded or event id not found")
        };
        return answer::out_of_window(detail);
    };
    let mut streamer = Streamer {
        engine: Arc::clone(engine),
        mischief: Mischief::new(engine, opened.ordinal),
        waiting: opened.history.into(),
        live: opened.live,
        out: VecDeque::new(),
        over: false,
        session,
    };
    streamer.greet(&wish);
    let body = stream::unfold(streamer, |mut streamer| async move {
        let next = streamer.next().await?;
        Some((next.map(Frame::data), streamer))
    });
    let mut response = Response::new(StreamBody::new(body).boxed_unsync());
    *response.status_mut() = StatusCode::OK;
    if let Ok(kind) = "text/event-stream; charset=utf-8".parse() {
        response.headers_mut().insert("content-type", kind);
    }
    response
}

/// Where no id was asked for, the engine finds out too late that there is no such session: the headers are out, the body is
/// empty, the connection closes.
fn empty_stream() -> HttpAnswer {
    let mut empty = answer::bytes(200, "text/event-stream; charset=utf-8", "");
    if let Ok(close) = "close".parse() {
        empty.headers_mut().insert("connection", close);
    }
    empty
}

/// What the framework takes for true.
fn truthy(word: &str) -> bool {
    ["1", "true", "on", "t", "y", "yes"].contains(&word.to_lowercase().as_str())
}

struct Streamer {
    engine: Arc<SimulatedEngine>,
    session: Arc<SimulatedSession>,
    mischief: Mischief,
    /// History that was not sent yet.
    waiting: VecDeque<Arc<Logged>>,
    live: UnboundedReceiver<StreamItem>,
    out: VecDeque<Out>,
    /// Nothing comes after what is in `out`.
    over: bool,
}

impl Streamer {
    /// What comes before everything else, and has no number.
    fn greet(&mut self, wish: &LogStart) {
        if self.session.pr40 {
            let head = self.session.state().log.head();
            let open = loose(
                &self.session,
                "stream.open",
                &json!({"headSequence": head, "protocol_version": "1.0"}),
            );
            self.out.push_back(Out::Bytes(framed_loose(&open)));
        }
        if *wish == LogStart::Live && self.session.workspace.join(".breadboard/todos.json").exists() {
            let call_id = format!("todo:snapshot:connect:{:08x}", uuid::Uuid::new_v4().as_fields().0);
            let payload = talk::todo_snapshot(&call_id);
            let data = loose(&self.session, "tool_result", &payload);
            if self.session.pr40 {
                self.out.push_back(Out::Bytes(framed_loose(&data)));
            } else {
                // Its id is a fresh UUID that is in no log: whoever takes up after it gets 409.
                let id = data_id(&data);
                self.out.push_back(Out::Bytes(Bytes::from(format!("id: {id}\n"))));
                self.out.push_back(Out::Bytes(framed_loose(&data)));
            }
        }
    }

    /// The next chunk; nothing when the body ends as it should.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            while let Some(out) = self.out.pop_front() {
                match out {
                    Out::Bytes(bytes) => {
                        // Makes every chunk a write of its own, as the engine's are.
                        tokio::task::yield_now().await;
                        return Some(Ok(bytes));
                    }
                    Out::Pause(time) => tokio::time::sleep(time).await,
                    Out::Cut => {
                        // What was said before still goes out.
                        tokio::task::yield_now().await;
                        return Some(Err(io::ErrorKind::ConnectionReset.into()));
                    }
                    Out::Restart => {
                        tokio::task::yield_now().await;
                        if self.engine.restart_by_fault() {
                            return Some(Err(io::ErrorKind::ConnectionReset.into()));
                        }
                    }
                    Out::End => return None,
                }
            }
            if self.over {
                return None;
            }
            self.fetch().await;
        }
    }

    /// Waits for something to say and says it into `out`.
    async fn fetch(&mut self) {
        if let Some(event) = self.waiting.pop_front() {
            return self.say(&event).await;
        }
        let item = match self.mischief.patience() {
            None => self.live.recv().await,
            Some(patience) => match tokio::time::timeout(patience, self.live.recv()).await {
                Ok(item) => item,
                // Nothing came to swap places with.
                Err(_) => return self.mischief.give_up(&mut self.out),
            },
        };
        match item {
            Some(StreamItem::Event(event)) => self.say(&event).await,
            Some(StreamItem::Loose(data)) => self.out.push_back(Out::Bytes(framed_loose(&data))),
            Some(StreamItem::Cut) => {
                self.out.push_back(Out::Bytes(Bytes::from_static(b"data: {\"id\":\"")));
                self.out.push_back(Out::Cut);
            }
            Some(StreamItem::End) => {
                self.mischief.give_up(&mut self.out);
                self.out.push_back(Out::End);
                self.over = true;
            }
            // A stream that was opened after the session had ended hangs open for ever.
            None => std::future::pending().await,
        }
    }

    async fn say(&mut self, event: &Arc<Logged>) {
        let latency = self.engine.options.latency;
        if !latency.is_zero() {
            let due = event.at + latency;
            tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        }
        self.mischief.pass(&self.session, event, &mut self.out);
    }
}

/// An event as two chunks: `id:` line, then `data:` line and the end of the frame.
pub(super) fn framed(event: &Logged) -> [Bytes; 2] {
    let mut data = Vec::with_capacity(event.data.len() + 8);
    data.extend_from_slice(b"data: ");
    data.extend_from_slice(&event.data);
    data.extend_from_slice(b"\n\n");
    [Bytes::from(format!("id: {}\n", event.seq)), Bytes::from(data)]
}

fn framed_loose(data: &[u8]) -> Bytes {
    Bytes::from([b"data: ", data, b"\n\n"].concat())
}

/// The text of an event that is in no log.
fn loose(session: &SimulatedSession, kind: &str, payload: &Value) -> Bytes {
    let now = u64::try_from(clock::now().as_millis()).unwrap_or(u64::MAX);
    let mut envelope = json!({
        "id": uuid::Uuid::new_v4().to_string(), "seq": null, "type": kind, "session_id": session.id, "turn": null,
        "timestamp": now, "timestamp_ms": now, "protocol_version": "1.0", "payload": payload,
    });
    if session.pr40 {
        let state = session.state();
        session.add_turn_ids(&mut envelope, &state, None);
        if let Some(members) = envelope.as_object_mut() {
            members.shift_remove("id");
            members.shift_remove("seq");
        }
    }
    Bytes::from(python_json::text(&envelope))
}

fn data_id(data: &[u8]) -> String {
    let envelope: Value = serde_json::from_slice(data).unwrap_or(Value::Null);
    envelope.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The last words of a stream that was too slow; PR #40 only.
pub(super) fn gap(session: &SimulatedSession) -> Bytes {
    let head = session.state().log.head();
    let payload = json!({
        "last_safely_delivered_cursor": head.to_string(), "recovery": {"action": "reconnect_from_cursor"},
    });
    loose(session, "stream.gap", &payload)
}

fn truncated(session: &SimulatedSession) -> bool {
    let state = session.state();
    state.log.head() > 0 && state.log.first() != Some(1)
}

/// The detail that PR #40 leaves in its 409.
fn window(session: &SimulatedSession, asked_for: Option<&str>) -> Value {
    let state = session.state();
    let first = state.log.first();
    json!({
        "message": "resume window exceeded or event id not found", "last_event_id": asked_for,
        "first_retained_sequence": first, "last_retained_sequence": first.map(|_| state.log.head()),
        "recovery": {"action": "refetch_session_then_stream_live"},
        "replayRetention": {"maxEvents": state.log.max(), "maxAgeMs": 86_400_000},
        "earliestRetainedSequence": first, "headSequence": state.log.head(),
        "retainedHistory": if first == Some(1) { "complete" } else { "partial" },
    })
}
