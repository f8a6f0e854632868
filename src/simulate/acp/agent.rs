//! The agent of a script: reads what the client sends, and plays.
//!
//! Owns which turn runs in which session. Each turn, and each message that the script has steps for, has its own thread.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::desk::{Desk, DeskReply};
use super::effects::{RequestEffect, SimulatedState, fault, no_session};
use super::player::Player;
use super::process;
use super::script::{Ignored, Script};
use super::sessions::{KeptSessions, whole};

struct SimulatedAgent {
    desk: Arc<Desk>,
    script: Script,
    state: Arc<Mutex<SimulatedState>>,
    /// The turn that runs in a session.
    running: Arc<Mutex<HashMap<String, u64>>>,
    turns: u64,
    /// How many of the prompts in order were played.
    used: usize,
}

/// Plays a script until stdin ends.
///
/// # Errors
/// One sentence when the process cannot be what the script wants.
pub(super) fn play(
    desk: &Arc<Desk>,
    script: Script,
    sessions: KeptSessions,
    heard: &Receiver<Vec<u8>>,
) -> Result<i32, String> {
    if script.agent.ignores.contains(&Ignored::Term) {
        process::ignore_term()?;
    }
    let keeps_living = script.agent.ignores.contains(&Ignored::Eof);
    let mut agent = SimulatedAgent {
        desk: Arc::clone(desk),
        state: Arc::new(Mutex::new(SimulatedState::new(script.agent.clone(), sessions))),
        running: Arc::default(),
        turns: 0,
        used: 0,
        script,
    };
    agent.play_out("start");
    while let Ok(line) = heard.recv() {
        agent.hear(&line);
    }
    agent.play_out("eof");
    if keeps_living {
        process::live_on();
    }
    Ok(0)
}

impl SimulatedAgent {
    /// Plays what belongs to no message, to its end.
    fn play_out(&mut self, moment: &str) {
        if let Some(steps) = self.script.on.get(moment) {
            Player::new(&self.desk, None, RequestEffect::default(), 0, true).play(steps, &[], None);
        }
    }

    fn hear(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.desk.answer(&Value::Null, &Err(fault(-32700, "Parse error")));
        };
        let id = message.get("id").cloned();
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("session/prompt"), Some(id)) => self.prompt(id, &params),
            (Some(method), id) => self.message(method, id, params),
            (None, Some(id)) => {
                let reply = match (message.get("result"), message.get("error")) {
                    (_, Some(error)) => DeskReply::Error(error.clone()),
                    (result, None) => DeskReply::Result(result.cloned().unwrap_or_default()),
                };
                self.desk.answered(&id, reply);
            }
            (None, None) => self.desk.answer(&Value::Null, &Err(fault(-32600, "Invalid request"))),
        }
    }

    /// A request that is no prompt, or a notification.
    fn message(&mut self, method: &str, id: Option<Value>, params: Value) {
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let running = session.as_ref().and_then(|session| lock(&self.running).get(session).copied());
        if method == "session/cancel"
            && let Some(turn) = running
        {
            self.desk.cancel(turn);
        }
        let mut effect = match id {
            Some(_) => lock(&self.state).effect(method, &params),
            None => RequestEffect::default(),
        };
        effect.session = effect.session.or(session);
        let steps = self.script.on.get(method).cloned();
        self.turns += 1;
        let mut player = Player::new(&self.desk, id, effect, self.turns, true);
        player.name("params", params.clone());
        if let Some(cwd) = params.get("cwd") {
            player.name("cwd", cwd.clone());
        }
        match steps {
            None => player.play(&[], &[], None),
            Some(steps) => spawn(move || player.play(&steps, &[], None)),
        }
    }

    fn prompt(&mut self, id: Value, params: &Value) {
        let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(cwd) = lock(&self.state).open.get(&session).cloned() else {
            return self.desk.answer(&id, &Err(no_session(&session)));
        };
        self.turns += 1;
        let turn = self.turns;
        if lock(&self.running).contains_key(&session) {
            return self.desk.answer(&id, &Err(fault(-32600, "A turn is running in this session")));
        }
        lock(&self.running).insert(session.clone(), turn);

        let blocks = params.get("prompt").and_then(Value::as_array).cloned().unwrap_or_default();
        let text: Vec<&str> =
            blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
        let text = text.join("\n");
        let asked = blocks
            .iter()
            .map(|block| json!({"sessionUpdate": "user_message_chunk", "content": block}))
            .collect();
        lock(&self.state).sessions.remember(&session, Some(&text), asked);

        let played = self.script.answering(&text, &mut self.used).cloned();
        let deaf = played.as_ref().is_some_and(|prompt| prompt.deaf);
        let effect = RequestEffect {
            answer: Some(Ok(json!({"stopReason": "end_turn"}))),
            session: Some(session.clone()),
            ..RequestEffect::default()
        };
        let mut player = Player::new(&self.desk, Some(id), effect, turn, deaf);
        player.name("cwd", json!(cwd));
        player.name("prompt", json!(text));
        player.name("params", params.clone());
        let (state, running) = (Arc::clone(&self.state), Arc::clone(&self.running));
        spawn(move || {
            let (steps, on_cancel) =
                played.map(|prompt| (prompt.steps, prompt.on_cancel)).unwrap_or_default();
            let ended = move |told| {
                lock(&running).remove(&session);
                lock(&state).sessions.remember(&session, None, whole(told));
            };
            player.before_the_answer(Box::new(ended));
            player.play(&steps, &on_cancel, Some(json!({"stopReason": "cancelled"})));
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name("steps".to_owned()).spawn(work) {
        super::complain(&format!("no thread could be started: {error}"));
    }
}
