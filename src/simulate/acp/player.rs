//! Plays steps: for one prompt, or around the answer to another message.
//!
//! Owns one run through a list of steps. Stops at a cancel, unless it is deaf to it; never answers for another run.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answers;
use super::desk::{Desk, DeskReply};
use super::effects::{RequestEffect, update};
use super::names::{Names, filled, filled_text};
use super::process;
use super::steps::{Request, Step, Wait};

const MIB: usize = 1024 * 1024;

/// One run through steps.
pub(super) struct Player {
    desk: Arc<Desk>,
    /// The request that is played, if it is one.
    id: Option<Value>,
    /// What it does without a script.
    effect: RequestEffect,
    turn: u64,
    deaf: bool,
    names: Names,
    /// Updates on its own session, for the history.
    told: Vec<Value>,
    ended: Option<PlayEnded>,
}

/// What is to be done with what was told, right before the answer.
pub(super) type PlayEnded = Box<dyn FnOnce(Vec<Value>) + Send>;

/// Why a run stopped early.
struct Stopped;

impl Player {
    /// A run. `turn` is what a cancel names; `id` what is answered.
    pub(super) fn new(
        desk: &Arc<Desk>,
        id: Option<Value>,
        effect: RequestEffect,
        turn: u64,
        deaf: bool,
    ) -> Self {
        let mut names = Map::new();
        names.insert("pid".to_owned(), json!(std::process::id()));
        names.insert("turn".to_owned(), json!(turn));
        if let Some(session) = &effect.session {
            names.insert("session".to_owned(), json!(session));
        }
        Self { desk: Arc::clone(desk), id, effect, turn, deaf, names, told: Vec::new(), ended: None }
    }

    /// A name that the steps may use.
    pub(super) fn name(&mut self, name: &str, value: Value) {
        self.names.insert(name.to_owned(), value);
    }

    /// Calls this once, right before the first answer: whoever reads the answer may ask again at once.
    pub(super) fn before_the_answer(&mut self, ended: PlayEnded) {
        self.ended = Some(ended);
    }

    /// Plays, then answers if no step did.
    pub(super) fn play(mut self, steps: &[Step], on_cancel: &[Step], cancelled: Option<Value>) {
        let stopped = self.steps(steps).is_err();
        if stopped {
            self.deaf = true;
            // A deaf run never stops; a stopped one is deaf from here on, so this cannot fail.
            let _ = self.steps(on_cancel);
            if let (Some(answer), Some(_)) = (cancelled, &self.effect.answer) {
                self.effect.answer = Some(Ok(answer));
            }
        }
        self.answer(None, None);
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Stopped> {
        for step in steps {
            if !self.deaf && self.desk.is_cancelled(self.turn) {
                return Err(Stopped);
            }
            self.step(step)?;
        }
        // Also what was cancelled within the last step.
        if !self.deaf && self.desk.is_cancelled(self.turn) { Err(Stopped) } else { Ok(()) }
    }

    fn step(&mut self, step: &Step) -> Result<(), Stopped> {
        match step {
            Step::Say { text, kind, message_id } => self.say(text, kind, message_id.as_deref())?,
            Step::Update { body, session } => {
                self.desk.pace(self.turn, self.deaf);
                let body = filled(body, &self.names);
                self.update(&body, session.as_deref());
            }
            Step::Notify { method, params } => {
                let params = filled(params, &self.names);
                // `$/…` is about messages, not about sessions.
                let params = if method.starts_with("$/") { params } else { self.with_session(params) };
                self.desk.notify(method, &params);
            }
            Step::Request(request) => self.request(request)?,
            Step::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.desk.bytes(filled_text(text, &self.names).as_bytes()),
                Err(_) => self.desk.bytes(bytes),
            },
            Step::Mib { mib, junk } => self.mib(usize::try_from(*mib).unwrap_or_default(), *junk),
            Step::Stderr { text, times } => {
                let line = format!("{}\n", filled_text(text, &self.names));
                let mut stderr = std::io::stderr().lock();
                for _ in 0..*times {
                    // Whoever started it may not read it.
                    let _ = stderr.write_all(line.as_bytes());
                }
            }
            Step::Wait(wait) => self.wait(wait),
            Step::Answer { answer, id } => {
                let answer = answer.as_ref().map(|answer| match answer {
                    Ok(result) => Ok(filled(result, &self.names)),
                    Err(error) => Err(filled(error, &self.names)),
                });
                self.answer(answer, id.clone());
            }
            Step::Exit(code) => process::exit(*code),
            Step::Signal(signal) => complain(process::die_by(*signal)),
            Step::CloseStdout => complain(process::close_stdout()),
            Step::Spawn(plan) => match process::start_child(plan) {
                Ok(id) => self.name("child", json!(id)),
                Err(sentence) => super::complain(&sentence),
            },
            Step::Write { path, content } => self.write(path, content),
            Step::Repeat { times, steps } => {
                for round in 0..*times {
                    self.name("round", json!(round));
                    self.steps(steps)?;
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, text: &str, kind: &str, message_id: Option<&str>) -> Result<(), Stopped> {
        let text = filled_text(text, &self.names);
        for word in text.split_inclusive(' ') {
            self.desk.pace(self.turn, self.deaf);
            if !self.deaf && self.desk.is_cancelled(self.turn) {
                return Err(Stopped);
            }
            let mut body = json!({"sessionUpdate": kind, "content": {"type": "text", "text": word}});
            if let Some(id) = message_id {
                body["messageId"] = json!(filled_text(id, &self.names));
            }
            self.update(&body, None);
        }
        Ok(())
    }

    fn update(&mut self, body: &Value, session: Option<&str>) {
        let session = session.map(|name| filled_text(name, &self.names));
        if session.is_none() {
            self.told.push(body.clone());
        }
        if let Some(session) = session.or_else(|| self.effect.session.clone()) {
            self.desk.notify("session/update", &update(&session, body));
        } else {
            super::complain("there is no session to update here; name one with \"session\"");
        }
    }

    fn request(&mut self, request: &Request) -> Result<(), Stopped> {
        let id = request.id.clone().unwrap_or_else(|| self.desk.next_id());
        let params = self.with_session(filled(&request.params, &self.names));
        self.name("request", id.clone());
        self.desk.send(&json!({"jsonrpc": "2.0", "id": id, "method": request.method, "params": params}));
        if !request.waits {
            return Ok(());
        }
        let reply = self.desk.wait_for_answer(&id, self.turn, self.deaf);
        if let DeskReply::Result(value) | DeskReply::Error(value) = &reply {
            self.name(request.name.as_deref().unwrap_or("answer"), value.clone());
        }
        match request.on.get(&answers::word(&reply)).or_else(|| request.on.get("else")) {
            Some(steps) => self.steps(steps),
            None => Ok(()),
        }
    }

    fn with_session(&self, mut params: Value) -> Value {
        if let (Some(session), Some(members)) = (&self.effect.session, params.as_object_mut()) {
            match members.get("sessionId") {
                None => drop(members.shift_insert(0, "sessionId".to_owned(), json!(session))),
                Some(Value::Null) => drop(members.shift_remove("sessionId")),
                Some(_) => {}
            }
        }
        params
    }

    fn wait(&self, wait: &Wait) {
        match wait {
            Wait::Time(ms) => self.desk.sleep(Duration::from_millis(*ms), self.turn, self.deaf),
            Wait::Cancel => self.desk.wait_for_cancel(self.turn),
            Wait::File(path) => {
                let path = filled_text(path, &self.names);
                self.desk.wait_for_file(&self.place(&path), self.turn, self.deaf);
            }
            Wait::ForEver => process::live_on(),
        }
    }

    fn mib(&mut self, mib: usize, junk: bool) {
        let pad = "x".repeat(mib * MIB);
        if junk {
            self.desk.bytes(format!("{pad}\n").as_bytes());
        } else {
            let body =
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": pad}});
            self.update(&body, None);
        }
    }

    /// Relative to the session's folder.
    fn place(&self, path: &str) -> std::path::PathBuf {
        let folder = self.names.get("cwd").and_then(Value::as_str).unwrap_or(".");
        Path::new(folder).join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.place(&filled_text(path, &self.names));
        // Whole or not at all: a test waits until it is there and reads it at once.
        let beside = path.with_extension("new");
        let written = std::fs::write(&beside, filled_text(content, &self.names))
            .and_then(|()| std::fs::rename(&beside, &path));
        if let Err(error) = written {
            super::complain(&format!("{} cannot be written: {error}", path.display()));
        }
    }

    /// Writes an answer: the given one, as often as it is given, or once the one of the effect.
    fn answer(&mut self, given: Option<Result<Value, Value>>, id: Option<Value>) {
        let is_given = given.is_some();
        let usual = self.effect.answer.take();
        let (Some(answer), Some(id)) = (given.or(usual), id.or_else(|| self.id.clone())) else { return };
        if let Some(ended) = self.ended.take() {
            ended(std::mem::take(&mut self.told));
        }
        let (before, after) =
            (std::mem::take(&mut self.effect.before), std::mem::take(&mut self.effect.after));
        for params in before.iter().filter(|_| !is_given) {
            self.desk.notify("session/update", params);
        }
        self.desk.answer(&id, &answer);
        for params in after.iter().filter(|_| !is_given) {
            self.desk.notify("session/update", params);
        }
    }
}

fn complain(done: Result<(), String>) {
    if let Err(sentence) = done {
        super::complain(&sentence);
    }
}
