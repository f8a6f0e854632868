//! One task a session: takes inputs in order and does what the script says.
//!
//! Owns what a run is. Stops, failures and permissions are decided here, between steps, as the engine does.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::engine::SimulatedEngine;
use super::script::{EventStep, Prompt, Script, Step};
use super::session::{QueuedInput, SimulatedCheckpoint, SimulatedSession};
use super::{clock, configuration, listing, python_json, talk};

mod asking;

/// An input that begins so names a fixture file. It is never text.
const REPLAY: [&str; 3] = ["replay:", "/replay", "@replay"];
/// The modes in which the agent asks.
const ASKING: [&str; 3] = ["prompt", "ask", "interactive"];

/// How a run ended.
enum RunOutcome {
    Done,
    Stopped,
    /// The session is over, with this status.
    Over(&'static str),
}

/// What one run knows.
struct Run {
    engine: Arc<SimulatedEngine>,
    session: Arc<SimulatedSession>,
    replay: bool,
    asks: bool,
    permissions: u64,
    /// Category and pattern that are allowed until the run ends.
    allowed: BTreeSet<(String, String)>,
    first_seq: u64,
    steps: u64,
    began: Instant,
}

/// Runs a session until it ends. Aborted when the session is removed.
pub(super) async fn drive(engine: Arc<SimulatedEngine>, session: Arc<SimulatedSession>, task: String) {
    if let Err(reason) = configuration::read(&session.config_path) {
        fail(&session, &reason);
        session.end("failed");
        return;
    }
    {
        let mut state = session.state();
        // It may have been ended before it began.
        if !state.ended {
            state.status = "running";
        }
    }
    emit(&session, "skills_catalog", &listing::skills(&session), None);
    if engine.options.todo_store {
        let todo = talk::todo_snapshot("todo:snapshot:init");
        emit(&session, "tool_result", &todo, None);
        // The list itself, without what the stream has around it.
        let list = todo.get("todo").cloned().unwrap_or_default();
        session.state().metadata.insert("todo_last_update".into(), list);
    }
    if !task.trim().is_empty() {
        let input = QueuedInput { text: task, input_id: "input-0".into(), turn_id: "turn-0".into() };
        session.state().queue.push_back(input);
    }
    let once = {
        let state = session.state();
        let kind = state.metadata.get("cli_session_kind").and_then(Value::as_str);
        kind == Some("oneshot") || state.metadata.get("non_interactive_cli_session") == Some(&json!(true))
    };
    loop {
        let next = {
            let mut state = session.state();
            let next = if state.closing { None } else { state.queue.pop_front() };
            state.active.clone_from(&next);
            state.stop = false;
            state.cancelled = false;
            state.has_run |= next.is_some();
            session.busy.send_replace(next.is_some());
            next
        };
        let Some(input) = next else {
            session.wake.notified().await;
            continue;
        };
        let outcome = turn(&engine, &session, &input).await;
        let over = match outcome {
            RunOutcome::Over(status) => Some(status),
            RunOutcome::Done | RunOutcome::Stopped => once.then_some("completed"),
        };
        finish_turn(&session, &input, over);
        if let Some(status) = over {
            session.end(status);
            session.busy.send_replace(false);
            return;
        }
    }
}

/// PR #40 says how a turn ended.
fn finish_turn(session: &SimulatedSession, input: &QueuedInput, over: Option<&'static str>) {
    let mut state = session.state();
    let outcome = match over {
        Some("failed") => "failed",
        _ if state.cancelled => "cancelled",
        _ => "completed",
    };
    state.terminal_turns.push(json!({"turn_id": input.turn_id, "outcome": outcome}));
    state.set_turn(None);
    drop(state);
    if session.pr40 {
        let payload = json!({"turn_id": input.turn_id, "input_id": input.input_id});
        emit(session, &format!("turn_{outcome}"), &payload, None);
    }
    session.state().active = None;
}

async fn turn(
    engine: &Arc<SimulatedEngine>,
    session: &Arc<SimulatedSession>,
    input: &QueuedInput,
) -> RunOutcome {
    let replay = REPLAY.iter().find_map(|prefix| input.text.strip_prefix(prefix));
    let asks = {
        let state = session.state();
        let mode = state.metadata.get("permission_mode").and_then(Value::as_str);
        mode.is_some_and(|mode| ASKING.contains(&mode.to_lowercase().as_str()))
    };
    let mut run = Run {
        engine: Arc::clone(engine),
        session: Arc::clone(session),
        replay: replay.is_some(),
        asks,
        permissions: 0,
        allowed: BTreeSet::new(),
        first_seq: session.state().log.head(),
        steps: 0,
        began: Instant::now(),
    };
    if let Some(place) = replay {
        let path = session.workspace.join(place.trim_start_matches(':').trim());
        let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        return match read.and_then(|text| Script::fixture(&text)) {
            Ok(steps) => {
                session.state().metadata.insert("replay_fixture".into(), json!(path.to_string_lossy()));
                let outcome = run.perform(&steps).await;
                run.close(outcome, "replay", "").await
            }
            Err(reason) => {
                fail(session, &format!("replay fixture {}: {reason}", path.display()));
                RunOutcome::Over("failed")
            }
        };
    }
    let prompt = {
        let mut state = session.state();
        let prompt = state.admit_prompt(&input.text);
        let number = state.checkpoints.last().map_or(1, |last| last.number + 1);
        let preview: String = prompt.chars().take(80).collect();
        state.checkpoints.push(SimulatedCheckpoint { number, created_at: clock::now().as_secs(), preview });
        prompt
    };
    let script = run.script(&prompt);
    if !script.bare {
        let seq = session.state().next_inner();
        // The input is said before the agent's first step, and so also where a stop came before that.
        for step in talk::opening(&prompt, seq) {
            if let Step::Event(event) = step {
                run.event(&event).await;
            }
        }
    }
    let outcome = run.perform(&script.steps).await;
    if script.bare { outcome } else { run.close(outcome, "explicit_completion_marker", &prompt).await }
}

impl Run {
    /// What happens on this prompt: the first `when` that it contains, else the next in order, else the built-in talk.
    fn script(&self, prompt: &str) -> Prompt {
        let built_in = || Prompt { steps: talk::conversation(prompt, self.asks), ..Prompt::default() };
        let Some(script) = &self.engine.options.script else { return built_in() };
        let named = |entry: &&Prompt| entry.when.as_ref().is_some_and(|when| prompt.contains(when.as_str()));
        if let Some(entry) = script.prompts.iter().find(named) {
            return entry.clone();
        }
        let mut state = self.session.state();
        let at = state.script_at;
        state.script_at += 1;
        script.prompts.iter().filter(|entry| entry.when.is_none()).nth(at).cloned().unwrap_or_else(built_in)
    }

    async fn close(&mut self, outcome: RunOutcome, reason: &'static str, prompt: &str) -> RunOutcome {
        let reason = match outcome {
            RunOutcome::Over(_) => return outcome,
            RunOutcome::Stopped => "stopped_by_user",
            RunOutcome::Done => reason,
        };
        let (events, mode) = {
            let state = self.session.state();
            (state.log.head().saturating_sub(self.first_seq), state.mode.clone())
        };
        let ending = talk::RunEnding {
            reason,
            steps: self.steps,
            events,
            latency_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            prompt: prompt.to_owned(),
            session_ordinal: self.session.ordinal,
            mode,
        };
        for step in talk::closing(&ending) {
            if let Step::Event(event) = step {
                if event.kind == "completion" {
                    let payload: Value = serde_json::from_str(&event.payload).unwrap_or(Value::Null);
                    self.session.state().completion = payload.get("summary").cloned().unwrap_or(Value::Null);
                }
                self.event(&event).await;
            }
        }
        outcome
    }

    /// Does the steps. A stop is seen between two of them only, and by a fixture not at all.
    async fn perform(&mut self, steps: &[Step]) -> RunOutcome {
        for step in steps {
            if !self.replay && self.session.state().stop {
                return RunOutcome::Stopped;
            }
            self.steps += 1;
            let outcome = match step {
                Step::Event(event) => {
                    self.event(event).await;
                    RunOutcome::Done
                }
                Step::Raw { text, logged } => {
                    self.session.emit_raw(text, *logged);
                    RunOutcome::Done
                }
                Step::Ask { request, on_allow, on_deny } => {
                    let (allowed, stop) = self.ask(request).await;
                    if stop {
                        return RunOutcome::Stopped;
                    }
                    Box::pin(self.perform(if allowed { on_allow } else { on_deny })).await
                }
                Step::Error(message) => {
                    fail(&self.session, message);
                    RunOutcome::Over("failed")
                }
                Step::Repeat { times, steps } => self.repeat(*times, steps).await,
                Step::Ctree(count) => self.tree(*count).await,
                Step::Write { path, content } => {
                    self.write(path, content);
                    RunOutcome::Done
                }
                Step::Hold(name) => {
                    let mut released = self.engine.released.subscribe();
                    // It fails only when the simulator is gone.
                    let _ = released.wait_for(|released| released.contains(name)).await;
                    RunOutcome::Done
                }
                Step::Delay { ms } => {
                    tokio::time::sleep(Duration::from_millis(*ms)).await;
                    RunOutcome::Done
                }
                Step::End(status) => RunOutcome::Over(terminal_status(status)),
            };
            if !matches!(outcome, RunOutcome::Done) {
                return outcome;
            }
        }
        RunOutcome::Done
    }

    async fn repeat(&mut self, times: u64, steps: &[Step]) -> RunOutcome {
        for _ in 0..times {
            let outcome = Box::pin(self.perform(steps)).await;
            if !matches!(outcome, RunOutcome::Done) {
                return outcome;
            }
            // A long repetition must not keep the thread from the streams.
            tokio::task::yield_now().await;
        }
        RunOutcome::Done
    }

    async fn tree(&self, count: u64) -> RunOutcome {
        for _ in 0..count {
            let node = talk::tree_node(&mut self.session.state());
            self.event(&node).await;
            tokio::task::yield_now().await;
        }
        RunOutcome::Done
    }

    async fn event(&self, event: &EventStep) {
        if event.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(event.delay_ms)).await;
        }
        let stated =
            event.turn.unwrap_or_else(|| if self.replay { None } else { self.session.state().turn() });
        let mut turn = stated;
        if event.kind == "turn_start" {
            let payload: Value = serde_json::from_str(&event.payload).unwrap_or(Value::Null);
            turn = turn.or_else(|| payload.get("turn").and_then(Value::as_i64));
            self.session.state().set_turn(turn);
        }
        let payload = padded(&event.payload, event.pad_bytes);
        // Events of a fixture carry no classification; those of the runtime do.
        let mut more = if self.replay { Map::new() } else { talk::classification(&event.kind) };
        more.extend(event.envelope.clone());
        self.session.emit(&event.kind, &payload, turn, &more);
    }

    /// Writes into the workspace and nowhere else.
    fn write(&self, path: &str, content: &str) {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return;
        }
        let target: PathBuf = self.session.workspace.join(path);
        let before = std::fs::read_to_string(&target).ok();
        if let Some(folder) = target.parent() {
            // What cannot be written shows as a file that is not there.
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = std::fs::write(&target, content);
        let mut state = self.session.state();
        let checkpoint = state.checkpoints.last().map_or(1, |last| last.number);
        state.writes.push((checkpoint, target, before));
    }
}

/// A status that ends a session.
pub(super) fn terminal_status(word: &str) -> &'static str {
    match word {
        "failed" => "failed",
        "stopped" => "stopped",
        _ => "completed",
    }
}

/// The payload with a member of so many bytes more.
fn padded(payload: &str, bytes: usize) -> String {
    match payload.strip_suffix('}') {
        Some(open) if bytes > 0 => {
            let comma = if open.trim_end().ends_with('{') { "" } else { "," };
            format!("{open}{comma}\"pad\":\"{}\"}}", "p".repeat(bytes))
        }
        _ => payload.to_owned(),
    }
}

fn emit(session: &SimulatedSession, kind: &str, payload: &Value, turn: Option<i64>) {
    session.emit(kind, &python_json::text(payload), turn, &Map::new());
}

/// The event of a failure; the caller ends the session.
fn fail(session: &SimulatedSession, message: &str) {
    let turn = session.state().turn();
    emit(session, "error", &json!({"message": message}), turn);
}
