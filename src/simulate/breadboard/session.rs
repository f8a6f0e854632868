//! One session of the simulated engine: what it is, what was said in it, who listens.
//!
//! Owns the state behind one lock. Never waits and never decides what the agent does: `runner` does.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::chance::chance;
use super::log::{EventLog, LogStart, Logged, OutOfWindow};
use super::permission::{PermissionAnswer, Rule};
use super::{clock, python_json};

/// How many prompts the engine compares a new one with.
const PROMPTS_REMEMBERED: usize = 20;

/// What a session is made of.
pub(super) struct Birth {
    pub id: String,
    /// How many sessions this engine had before it.
    pub ordinal: u64,
    pub workspace: PathBuf,
    pub config_path: String,
    /// What the client sent, and `permission_mode`.
    pub metadata: Map<String, Value>,
    /// The wire of PR #40.
    pub pr40: bool,
    pub log_events: usize,
    pub fault_budget: u32,
    /// Everything that is logged is remembered.
    pub remember: bool,
}

/// A session. It outlives its place in the engine's list as long as someone holds it.
pub(super) struct SimulatedSession {
    pub id: String,
    pub ordinal: u64,
    pub workspace: PathBuf,
    pub config_path: String,
    pub pr40: bool,
    created: Duration,
    state: Mutex<SessionState>,
    /// An input came.
    pub wake: Notify,
    /// A run is under way.
    pub busy: watch::Sender<bool>,
}

/// What changes in a session.
pub(super) struct SessionState {
    pub status: &'static str,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub metadata: Map<String, Value>,
    pub completion: Value,
    /// A run began: there is a log of it on disk.
    pub has_run: bool,
    pub log: EventLog,
    /// Everything that was ever logged, where that was wished.
    pub history: Option<Vec<Arc<Logged>>>,
    listeners: Vec<mpsc::UnboundedSender<StreamItem>>,
    /// The session is over; its streams ended, and new ones hang.
    pub ended: bool,
    /// It was deleted before it had ended.
    pub cut_short: bool,
    /// A DELETE waits for the run to end.
    pub closing: bool,
    pub queue: VecDeque<QueuedInput>,
    /// What runs now.
    pub active: Option<QueuedInput>,
    /// The newest last.
    pub prompts: VecDeque<String>,
    pub pending: Option<Pending>,
    /// The run stops at its next step.
    pub stop: bool,
    /// It was a cancellation of PR #40.
    pub cancelled: bool,
    pub rules: Vec<Rule>,
    /// What was chosen with `set_skills`.
    pub skills: Option<Value>,
    /// Attachment id to its path in the workspace.
    pub attachments: BTreeMap<String, String>,
    pub checkpoints: Vec<SimulatedCheckpoint>,
    /// What the agent wrote: the number of the checkpoint before it, the file, what was in it.
    pub writes: Vec<(usize, PathBuf, Option<String>)>,
    /// Ordered prompts of the script that were used.
    pub script_at: usize,
    /// The counter that the engine puts into payloads. It is not the number of the event.
    pub inner_seq: u64,
    pub ctree_nodes: u64,
    /// How many more things may be broken in this session.
    pub fault_budget: u32,
    /// Streams that were opened.
    pub connections: u64,
    /// Answers to inputs by the client's message id; PR #40 only.
    pub admitted: BTreeMap<String, Value>,
    pub terminal_turns: Vec<Value>,
    last_activity: Duration,
    turn: Option<i64>,
}

/// An input that waits or runs.
#[derive(Debug, Clone, Default)]
pub(super) struct QueuedInput {
    pub text: String,
    pub input_id: String,
    pub turn_id: String,
}

/// A permission that waits for its answer.
pub(super) struct Pending {
    pub request_id: String,
    pub answer: oneshot::Sender<PermissionAnswer>,
}

/// A checkpoint, made before each run.
#[derive(Debug, Clone)]
pub(super) struct SimulatedCheckpoint {
    pub number: usize,
    pub created_at: u64,
    pub preview: String,
}

/// What reaches an open stream.
#[derive(Debug, Clone)]
pub(super) enum StreamItem {
    /// An event of the log.
    Event(Arc<Logged>),
    /// A frame that is in no log and has no `id:` line.
    Loose(Bytes),
    /// The connection breaks.
    Cut,
    /// The body ends as it should.
    End,
}

/// A stream just opened.
pub(super) struct StreamListener {
    pub history: Vec<Arc<Logged>>,
    pub live: mpsc::UnboundedReceiver<StreamItem>,
    /// How many streams this session had before.
    pub ordinal: u64,
}

impl SimulatedSession {
    pub(super) fn new(birth: Birth) -> Self {
        let now = clock::now();
        let text = |key: &str| birth.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let state = SessionState {
            status: "starting",
            model: text("model"),
            mode: text("mode"),
            completion: Value::Null,
            has_run: false,
            log: EventLog::new(birth.log_events),
            history: birth.remember.then(Vec::new),
            listeners: Vec::new(),
            ended: false,
            cut_short: false,
            closing: false,
            queue: VecDeque::new(),
            active: None,
            prompts: VecDeque::new(),
            pending: None,
            stop: false,
            cancelled: false,
            rules: Vec::new(),
            skills: None,
            attachments: BTreeMap::new(),
            checkpoints: Vec::new(),
            writes: Vec::new(),
            script_at: 0,
            inner_seq: 0,
            ctree_nodes: 0,
            fault_budget: birth.fault_budget,
            connections: 0,
            admitted: BTreeMap::new(),
            terminal_turns: Vec::new(),
            last_activity: now,
            turn: None,
            metadata: birth.metadata,
        };
        Self {
            id: birth.id,
            ordinal: birth.ordinal,
            workspace: birth.workspace,
            config_path: birth.config_path,
            pr40: birth.pr40,
            created: now,
            state: Mutex::new(state),
            wake: Notify::new(),
            busy: watch::Sender::new(false),
        }
    }

    /// The state, locked. Never hold it across a wait.
    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs an event and sends it to every open stream. The payload is JSON text, whatever is in it.
    pub(super) fn emit(
        &self,
        kind: &str,
        payload: &str,
        turn: Option<i64>,
        more: &Map<String, Value>,
    ) -> u64 {
        let mut state = self.state();
        let seq = state.log.head() + 1;
        let id = self.event_id(seq);
        let now = u64::try_from(clock::now().as_millis()).unwrap_or(u64::MAX);
        let mut envelope = json!({
            "id": id, "seq": seq, "type": kind, "session_id": self.id, "turn": turn, "timestamp": now,
            "timestamp_ms": now, "protocol_version": "1.0",
        });
        if self.pr40 {
            self.add_turn_ids(&mut envelope, &state, Some(seq));
        }
        let head = python_json::text(&envelope);
        let head = head.strip_suffix('}').unwrap_or(&head);
        let tail = if more.is_empty() {
            "}".to_owned()
        } else {
            python_json::text(&json!(more)).replacen('{', ",", 1)
        };
        let data = Bytes::from(format!("{head},\"payload\":{payload}{tail}"));
        state.deliver(Logged {
            seq,
            id,
            kind: kind.into(),
            payload: payload.into(),
            data,
            at: Instant::now(),
        });
        seq
    }

    /// A frame with this text as its data. Logged ones take the next number.
    pub(super) fn emit_raw(&self, text: &str, logged: bool) {
        let mut state = self.state();
        if !logged {
            state.tell(&StreamItem::Loose(Bytes::from(text.replace("$sid", &self.id))));
            return;
        }
        let seq = state.log.head() + 1;
        let text = text.replace("$seq", &seq.to_string()).replace("$sid", &self.id);
        let (id, data) = (self.event_id(seq), Bytes::from(text.clone()));
        state.deliver(Logged { seq, id, kind: "raw".into(), payload: text, data, at: Instant::now() });
    }

    /// Event ids follow from session and number.
    fn event_id(&self, seq: u64) -> String {
        let bytes = chance(&[fold(&self.id), seq]).u128(..).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// Members that PR #40 adds to an envelope.
    pub(super) fn add_turn_ids(&self, envelope: &mut Value, state: &SessionState, seq: Option<u64>) {
        if let Some(members) = envelope.as_object_mut() {
            let active = state.active.as_ref();
            members.insert("stable_cursor".into(), json!(seq.map(|seq| seq.to_string())));
            members.insert("input_id".into(), json!(active.map(|input| &input.input_id)));
            members.insert("turn_id".into(), json!(active.map(|input| &input.turn_id)));
        }
    }

    /// Opens a stream: the history asked for and everything after it, without a hole between.
    pub(super) fn subscribe(&self, wish: &LogStart) -> Result<StreamListener, OutOfWindow> {
        let mut state = self.state();
        let history = state.log.resume(wish)?;
        // Unbounded, as the engine's queues are: a slow client is never dropped. The script bounds what goes in.
        let (sender, live) = mpsc::unbounded_channel();
        state.listeners.push(sender);
        state.connections += 1;
        Ok(StreamListener { history, live, ordinal: state.connections })
    }

    /// Ends every open stream; new ones will hang. How it ended first stays.
    pub(super) fn end(&self, status: &'static str) {
        Self::end_now(&mut self.state(), status);
    }

    /// It is deleted, whether it had ended or not.
    pub(super) fn end_deleted(&self) {
        let mut state = self.state();
        state.cut_short = !state.ended;
        Self::end_now(&mut state, "stopped");
    }

    fn end_now(state: &mut SessionState, status: &'static str) {
        if !state.ended {
            state.status = status;
        }
        state.ended = true;
        state.tell(&StreamItem::End);
        state.listeners.clear();
    }

    /// Breaks every open stream.
    pub(super) fn cut_streams(&self) {
        let mut state = self.state();
        state.tell(&StreamItem::Cut);
        state.listeners.clear();
    }

    /// Ends every open stream without ending the session.
    pub(super) fn close_streams(&self, last_words: Option<Bytes>) {
        let mut state = self.state();
        if let Some(words) = last_words {
            state.tell(&StreamItem::Loose(words));
        }
        state.tell(&StreamItem::End);
        state.listeners.clear();
    }

    /// SessionSummary, section 2 of the facts. It says `running` while idle, too.
    pub(super) fn summary(&self) -> Value {
        let state = self.state();
        let mut metadata = state.metadata.clone();
        metadata.insert("config_path".into(), json!(self.config_path));
        // What nobody chose is not there.
        let chosen = [("model", &state.model), ("mode", &state.mode)];
        metadata
            .extend(chosen.into_iter().filter_map(|(key, word)| Some((key.into(), json!(word.as_ref()?)))));
        if let Some(skills) = &state.skills {
            metadata.insert("skills_selection".into(), skills.clone());
        }
        if !state.rules.is_empty() {
            metadata.insert("permission_rules".into(), json!(state.rules));
        }
        let mut summary = json!({
            "session_id": self.id, "status": state.status, "created_at": clock::iso(self.created),
            "last_activity_at": clock::iso(state.last_activity), "model": state.model, "mode": state.mode,
            "completion_summary": state.completion, "reward_summary": null,
            "logging_dir": state.has_run.then(|| format!("logging/sim_{}", self.ordinal)), "metadata": metadata,
        });
        if self.pr40
            && let Some(members) = summary.as_object_mut()
        {
            let active = state.active.as_ref();
            members.insert("turn_admission".into(), json!(if active.is_some() { "active" } else { "idle" }));
            members.insert("active_turn_id".into(), json!(active.map(|input| &input.turn_id)));
            members.insert("queued_turn_count".into(), json!(state.queue.len()));
            members.insert("headSequence".into(), json!(state.log.head()));
            members.insert("terminalTurns".into(), json!(state.terminal_turns));
        }
        summary
    }

    /// When it was created, ISO 8601.
    pub(super) fn created_at(&self) -> String {
        clock::iso(self.created)
    }
}

impl SessionState {
    fn deliver(&mut self, event: Logged) {
        let event = Arc::new(event);
        self.last_activity = clock::now();
        self.log.push(Arc::clone(&event));
        if let Some(history) = &mut self.history {
            history.push(Arc::clone(&event));
        }
        self.tell(&StreamItem::Event(event));
    }

    fn tell(&mut self, item: &StreamItem) {
        self.listeners.retain(|listener| listener.send(item.clone()).is_ok());
    }

    /// The turn of the run.
    pub(super) fn turn(&self) -> Option<i64> {
        self.turn
    }

    /// A turn began, or the run ended.
    pub(super) fn set_turn(&mut self, turn: Option<i64>) {
        self.turn = turn;
    }

    /// The next number of the counter inside payloads.
    pub(super) fn next_inner(&mut self) -> u64 {
        self.inner_seq += 1;
        self.inner_seq
    }

    /// What of a prompt reaches the agent: a prefix that equals one of the last twenty prompts is cut, section 6. A prompt
    /// that would be empty then stays whole.
    pub(super) fn admit_prompt(&mut self, text: &str) -> String {
        let cut = self.prompts.iter().rev().filter(|old| !old.is_empty()).find_map(|old| {
            let rest = text.strip_prefix(old.as_str())?.trim_start();
            (!rest.is_empty()).then(|| (old.chars().count(), rest.to_owned()))
        });
        if let Some((characters, _)) = &cut {
            let repair = json!({"kind": "stale_editor_prefix", "removed_chars": characters});
            push_to(&mut self.metadata, "input_boundary_repairs", repair);
        }
        let admitted = cut.map_or_else(|| text.to_owned(), |(_, rest)| rest);
        self.prompts.push_back(admitted.clone());
        while self.prompts.len() > PROMPTS_REMEMBERED {
            self.prompts.pop_front();
        }
        admitted
    }
}

/// Appends to a list in the metadata.
pub(super) fn push_to(metadata: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some(list) = metadata.entry(key).or_insert_with(|| json!([])).as_array_mut() {
        list.push(value);
    }
}

/// Text as a seed.
fn fold(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
