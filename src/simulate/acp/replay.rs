//! Plays the agent's side of a recording: one JSON line a message, with its direction.
//!
//! Owns the recording and the place in it. Requests of the client are matched by method and in order, its answers by id;
//! whatever it says beyond the recording is answered "method not found" or left.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::desk::Desk;
use super::effects::unknown;
use super::process;

/// A recording, as far as the agent's side needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recording(Vec<RecordedLine>);

#[derive(Debug, Clone, PartialEq)]
enum RecordedLine {
    /// The agent said this.
    Said(Value),
    /// The agent said this, and it is no JSON.
    SaidRaw(String),
    /// The agent complained.
    Stderr(String),
    /// The client asked or told this; the id under which it was recorded.
    Heard(String, Option<Value>),
    /// The client answered the request with this id.
    Answered(Value),
    /// The client closed stdin.
    Closed,
    /// The agent did not end when its stdin did.
    OutlivedStdin,
    /// The agent ended: a code, or below zero a signal.
    Ended(i32),
}

impl Recording {
    /// Reads the lines of a recording: the part of its `process`-th process, counted from 1.
    ///
    /// # Errors
    /// One sentence that names the line.
    pub(crate) fn parse(text: &str, process: usize) -> Result<Self, String> {
        let mut entries = Vec::new();
        let mut started = 0;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record: Value = serde_json::from_str(line)
                .map_err(|error| format!("Line {} is no record: {error}.", number + 1))?;
            let message = &record["msg"];
            if message.get("spawned_pid").is_some() {
                started += 1;
            }
            // What was noted before the first start is of the first.
            if started.max(1) != process {
                continue;
            }
            match record["dir"].as_str() {
                Some("a2c") => entries.push(match record["raw"].as_str() {
                    Some(raw) => RecordedLine::SaidRaw(raw.to_owned()),
                    None => RecordedLine::Said(message.clone()),
                }),
                Some("a2c-stderr") => {
                    entries.push(RecordedLine::Stderr(message.as_str().unwrap_or_default().to_owned()));
                }
                Some("c2a") => entries.extend(heard(message)),
                Some("meta") => entries.extend(happened(message)),
                _ => return Err(format!("Line {} has no direction; `dir` is a2c or c2a.", number + 1)),
            }
        }
        if process > started.max(1) {
            return Err(format!("There are {started} processes in it; choose another --process."));
        }
        Ok(Self(entries))
    }
}

fn heard(message: &Value) -> Option<RecordedLine> {
    let id = message.get("id").filter(|id| !id.is_null());
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), id) => Some(RecordedLine::Heard(method.to_owned(), id.cloned())),
        (None, Some(id)) => Some(RecordedLine::Answered(id.clone())),
        // No message of the protocol: a client that keeps to it never sends one.
        (None, None) => None,
    }
}

fn happened(message: &Value) -> Option<RecordedLine> {
    if message.get("did_not_exit_on_stdin_eof_after_s").is_some() {
        return Some(RecordedLine::OutlivedStdin);
    }
    let action = message.get("action").and_then(Value::as_str).unwrap_or_default();
    if action.contains("closes stdin") {
        return Some(RecordedLine::Closed);
    }
    let code = message.get("exit_code").and_then(Value::as_i64)?;
    Some(RecordedLine::Ended(i32::try_from(code).unwrap_or(1)))
}

/// What the client sent and nobody waited for yet.
struct Ears<'a> {
    heard: &'a Receiver<Vec<u8>>,
    waiting: VecDeque<Value>,
    /// How often each method is still to come.
    left: HashMap<String, usize>,
    desk: &'a Desk,
}

impl Ears<'_> {
    /// Waits for a message; nothing: stdin has ended.
    fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.waiting.iter().position(&fits) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.next()?;
            if fits(&message) {
                return Some(message);
            }
            self.keep(message);
        }
    }

    fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.heard.recv().ok()?;
            // A line that is no JSON is no part of any recording.
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
    }

    /// A message for later; a request that the recording does not have is refused at once, so that nobody waits for it.
    fn keep(&mut self, message: Value) {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) if self.left.get(method).is_none_or(|left| *left == 0) => {
                self.desk.answer(id, &Err(unknown(method)));
            }
            _ => self.waiting.push_back(message),
        }
    }

    fn wait_for_the_end(&mut self) {
        while let Some(message) = self.next() {
            self.keep(message);
        }
    }
}

/// Plays a recording to its end.
///
/// # Errors
/// One sentence when the process cannot be what the recording was.
pub(super) fn play(
    desk: &Arc<Desk>,
    recording: &Recording,
    heard: &Receiver<Vec<u8>>,
) -> Result<i32, String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    for entry in &recording.0 {
        if let RecordedLine::Heard(method, Some(_)) = entry {
            *left.entry(method.clone()).or_default() += 1;
        }
    }
    let mut ears = Ears { heard, waiting: VecDeque::new(), left, desk };
    // Recorded ids of the client's requests, and what they are now.
    let mut ids: HashMap<String, Value> = HashMap::new();
    let mut outlives_stdin = false;
    for entry in &recording.0 {
        match entry {
            RecordedLine::Said(message) => said(desk, message, &ids),
            RecordedLine::SaidRaw(text) => desk.bytes(format!("{text}\n").as_bytes()),
            RecordedLine::Stderr(text) => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            RecordedLine::Heard(method, id) => {
                let fits = |message: &Value| {
                    message["method"] == *method && message.get("id").is_some() == id.is_some()
                };
                let Some(message) = ears.wait_for(fits) else { return Ok(0) };
                if let (Some(recorded), Some(now)) = (id, message.get("id")) {
                    ids.insert(recorded.to_string(), now.clone());
                    if let Some(left) = ears.left.get_mut(method) {
                        *left -= 1;
                    }
                }
            }
            RecordedLine::Answered(id) => {
                let fits = |message: &Value| message.get("method").is_none() && message.get("id") == Some(id);
                if ears.wait_for(fits).is_none() {
                    return Ok(0);
                }
            }
            RecordedLine::Closed => ears.wait_for_the_end(),
            RecordedLine::OutlivedStdin => outlives_stdin = true,
            RecordedLine::Ended(_) if outlives_stdin => break,
            RecordedLine::Ended(0) => ears.wait_for_the_end(),
            RecordedLine::Ended(code) if *code < 0 => process::die_by(-code)?,
            RecordedLine::Ended(code) => return Ok(*code),
        }
    }
    ears.wait_for_the_end();
    if outlives_stdin {
        process::live_on();
    }
    Ok(0)
}

fn said(desk: &Desk, message: &Value, ids: &HashMap<String, Value>) {
    let mut message = message.clone();
    if message.get("method").is_some() {
        desk.pace(0, true);
    } else if let Some(now) = message.get("id").and_then(|id| ids.get(&id.to_string())).cloned() {
        message["id"] = json!(now);
    }
    desk.send(&message);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::sync::{Mutex, PoisonError};

    use super::super::desk::Output;
    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn played(recording: &str, client: &[Value]) -> (Vec<Value>, Result<i32, String>) {
        let sink = Sink::default();
        let desk = Arc::new(Desk::new(Output::to(sink.clone()), None, 0));
        let (lines, heard) = sync_channel(64);
        for message in client {
            lines.send(message.to_string().into_bytes()).expect("there is room");
        }
        drop(lines);
        let recording = Recording::parse(recording, 1).expect("a recording");
        let ended = play(&desk, &recording, &heard);
        let text = String::from_utf8(sink.0.lock().expect("alone").clone()).expect("text");
        (text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), ended)
    }

    #[test]
    fn answers_take_the_ids_of_today_and_wait_for_their_requests() {
        let recording = r#"
            {"dir":"meta","msg":{"spawned_pid":7}}
            {"dir":"c2a","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
            {"dir":"a2c","msg":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}
            {"dir":"a2c","msg":{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{}}}
            {"dir":"c2a","msg":{"jsonrpc":"2.0","id":0,"result":{}}}
            {"dir":"c2a","msg":{"jsonrpc":"2.0","method":"session/cancel","params":{}}}
            {"dir":"a2c","msg":null,"raw":"7"}
            {"dir":"meta","msg":{"exit_code":3}}"#;
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {}});
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {}});
        let (said, ended) = played(
            recording,
            &[
                json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {}}),
                // Earlier than recorded: it is kept.
                cancel,
                // Not in the recording: it is refused.
                json!({"jsonrpc": "2.0", "id": 5, "method": "session/list", "params": {}}),
                json!({"jsonrpc": "2.0", "id": 0, "result": {}}),
            ],
        );
        assert_eq!(
            said,
            [
                json!({"jsonrpc": "2.0", "id": "init", "result": {"protocolVersion": 1}}),
                ask,
                json!({"jsonrpc": "2.0", "id": 5, "error": unknown("session/list")}),
                json!(7),
            ]
        );
        assert_eq!(ended, Ok(3));
    }

    #[test]
    fn a_client_that_goes_ends_the_play() {
        let recording = r#"{"dir":"c2a","msg":{"id":0,"method":"initialize"}}
            {"dir":"a2c","msg":{"id":0,"result":{}}}"#;
        assert_eq!(played(recording, &[]), (Vec::new(), Ok(0)));
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        assert_eq!(
            Recording::parse("\n{\"dir\":\"up\"}", 1),
            Err("Line 2 has no direction; `dir` is a2c or c2a.".to_owned())
        );
        assert_eq!(
            Recording::parse("{\"dir\":\"meta\",\"msg\":{\"spawned_pid\":7}}", 2),
            Err("There are 1 processes in it; choose another --process.".to_owned())
        );
        assert!(
            Recording::parse("x", 1).is_err_and(|sentence| sentence.starts_with("Line 1 is no record: "))
        );
    }
}
