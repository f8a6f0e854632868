//! The loop's side of the agents, held by a test, and the record of what one agent was told.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use breadboard_ls::testing::app::inbox::{Answer, Folder, Reply};
use breadboard_ls::testing::app::ports::{
    AgentCall, AgentProcess, AgentReport, AgentSession, Attachment, Engine, EngineCall, EngineDecision,
    EngineReport, EngineSession, NewSession, Prompt, Ruling, SessionReply,
};
use breadboard_ls::testing::domain::coded_error::CodedError;
use breadboard_ls::testing::domain::dialect::acp::state::AgentState;
use breadboard_ls::testing::domain::dialect::{Dialect, normalize};
use breadboard_ls::testing::domain::event::EngineEvent;
use breadboard_ls::testing::engine::acp::process::Secrets;
use breadboard_ls::testing::engine::acp::{AcpEngine, AgentTimeouts, Setup};
use breadboard_ls::testing::protocol::settings::{ModelSetting, Overrides, Settings};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Longest wait for anything; a test that meets it has failed.
pub const PATIENCE: Duration = Duration::from_secs(30);

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// Agents and their reports.
pub struct Desk {
    pub engine: AcpEngine,
    pub reports: mpsc::Receiver<EngineReport>,
    /// The workspace, and beside it what the agents leave.
    pub place: TempDir,
    /// What reports said of each session so far.
    pub told_of: HashMap<String, AgentState>,
    /// What they said of the process last.
    pub process: AgentProcess,
}

/// How a desk is laid out.
pub struct Layout {
    /// Script of the agent `sim`.
    pub script: Value,
    /// More arguments of it.
    pub args: Vec<String>,
    pub quiet: u64,
    /// What its setting says besides.
    pub given: Value,
    pub patience: AgentTimeouts,
    pub room: usize,
    pub trusted: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            script: json!({}),
            args: Vec::new(),
            quiet: 60,
            given: json!({}),
            patience: AgentTimeouts::default(),
            room: 1_024,
            trusted: true,
        }
    }
}

impl Desk {
    /// One agent `sim` that plays this script.
    pub fn of(script: Value) -> Self {
        Self::laid(Layout { script, ..Layout::default() })
    }

    pub fn laid(layout: Layout) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(place.path().join("w")).expect("a workspace");
        let log = place.path().join("sim.jsonl").display().to_string();
        let kept = place.path().join("kept.json").display().to_string();
        let script = layout.script.to_string();
        let mut args: Vec<String> =
            ["simulate", "acp", "--log", &log, "--sessions", &kept, "--script", &script]
                .map(str::to_owned)
                .to_vec();
        args.extend(layout.args);
        let mut options = json!({ "agents": {
            "sim": { "command": PROGRAM, "args": args, "quietSeconds": layout.quiet, "mode": "agent" },
            "nowhere": { "command": "/nowhere/at/all" },
        } });
        for (name, value) in layout.given.as_object().expect("members") {
            options["agents"]["sim"][name] = value.clone();
        }
        let options = serde_json::from_value(options).expect("options");
        let settings = Settings::layered(options, &Overrides::default());
        let setup = Setup {
            logs: Some(place.path().join("logs")),
            keys: BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk-of-the-environment".to_owned())]),
            hide: Secrets::default(),
            guard: PathBuf::from(PROGRAM),
            timeouts: layout.patience,
        };
        let (sender, reports) = mpsc::channel(layout.room);
        let engine = AcpEngine::new(sender, Handle::current(), &settings, setup);
        let path = place.path().join("w");
        let folder =
            Folder { uri: format!("file://{}", path.display()), name: "w".to_owned(), path: Some(path) };
        engine.call(EngineCall::SetFolders(vec![folder]));
        engine.call(EngineCall::SetTrust { trusted: layout.trusted });
        Self { engine, reports, place, told_of: HashMap::new(), process: AgentProcess::default() }
    }

    pub fn workspace(&self) -> PathBuf {
        self.place.path().join("w")
    }

    /// The next report.
    pub async fn next(&mut self) -> EngineReport {
        let mut report = tokio::time::timeout(PATIENCE, self.reports.recv())
            .await
            .expect("a report comes")
            .expect("the engine lives");
        match &mut report {
            EngineReport::Said { session_id, event, .. } => {
                self.told_of.entry(session_id.clone()).or_default().hear(&event.kind, &event.payload);
            }
            EngineReport::Agent(AgentReport::Changed { session_id, change, command }) => {
                self.told_of.entry(session_id.clone()).or_default().apply(change.clone());
                if let Some(done) = command.take() {
                    done.reply.answer(done.result);
                }
            }
            EngineReport::Agent(AgentReport::Process { process, .. }) => self.process = process.clone(),
            _ => {}
        }
        report
    }

    /// Takes reports until this answer came.
    pub async fn until_answered<T>(&mut self, mut answer: Answer<T>) -> Result<T, CodedError> {
        loop {
            if let Ok(answer) = answer.try_recv() {
                return answer;
            }
            self.next().await;
        }
    }

    /// The first report that `pick` takes; others are dropped.
    pub async fn wait<T>(&mut self, mut pick: impl FnMut(EngineReport) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(self.next().await) {
                return found;
            }
        }
    }

    /// Asks `agent` for a session of ours with this id.
    pub async fn try_make(&mut self, agent: &str, session_id: &str) -> Result<EngineSession, CodedError> {
        let (reply, _answer) = Reply::new();
        let wish = NewSession { agent: Some(agent.to_owned()), ..NewSession::default() };
        self.engine.call(EngineCall::MakeSession {
            session_id: session_id.to_owned(),
            wish,
            reply: SessionReply::Client(reply),
        });
        tokio::select! {
            answer = _answer => Err(answer.expect("an answer").expect_err("a refusal")),
            made = async {
                loop {
                    if let EngineReport::SessionMade { outcome, reply, .. } = self.next().await {
                        // The loop answers.
                        std::mem::forget(reply);
                        return outcome;
                    }
                }
            } => made,
        }
    }

    /// A session at `sim`; the agent's own id of it.
    pub async fn make(&mut self, session_id: &str) -> String {
        let made = self.try_make("sim", session_id).await.expect("a session");
        assert_eq!(made.session_id, session_id);
        made.at_agent.expect("an agent's session").1
    }

    /// What the loop remembers of a session.
    pub fn remember(&self, session_id: &str, at_agent: &str) {
        self.engine.call(EngineCall::Agent(AgentCall::Remember(AgentSession {
            session_id: session_id.to_owned(),
            agent: "sim".to_owned(),
            at_agent: at_agent.to_owned(),
            workspace: None,
        })));
    }

    pub fn start(&self, session_id: &str, turn: u64, text: &str) {
        self.start_with(session_id, turn, text, Vec::new());
    }

    pub fn start_with(&self, session_id: &str, turn: u64, text: &str, attachments: Vec<Attachment>) {
        let prompt = Prompt {
            message_id: format!("m{turn}"),
            text: text.to_owned(),
            attachments,
            context: Box::default(),
            mode: Default::default(),
        };
        let (session_id, model, history) = (session_id.to_owned(), None, Vec::new());
        self.engine.call(EngineCall::StartTurn {
            session_id,
            turn,
            prompt,
            model,
            history,
            memory: Vec::new(),
            looked_at: None,
        });
    }

    /// Starts a turn with this model.
    pub fn start_on(&self, session_id: &str, turn: u64, model: &str) {
        let prompt = Prompt {
            message_id: format!("m{turn}"),
            text: "x".to_owned(),
            attachments: Vec::new(),
            context: Box::default(),
            mode: Default::default(),
        };
        let model = Some(ModelSetting { provider: None, name: model.to_owned(), ..ModelSetting::default() });
        let (session_id, history) = (session_id.to_owned(), Vec::new());
        self.engine.call(EngineCall::StartTurn {
            session_id,
            turn,
            prompt,
            model,
            history,
            memory: Vec::new(),
            looked_at: None,
        });
    }

    pub fn stop(&self, session_id: &str) {
        self.engine.call(EngineCall::Stop { session_id: session_id.to_owned() });
    }

    pub fn answer(&self, session_id: &str, engine_request_id: &str, option_id: &str, allowed: bool) {
        self.answer_with(session_id, engine_request_id, option_id, allowed, None);
    }

    /// An answer with what the user filled in.
    pub fn answer_with(
        &self,
        session_id: &str,
        engine_request_id: &str,
        option_id: &str,
        allowed: bool,
        content: Option<Value>,
    ) {
        let ruling = match (option_id, allowed) {
            ("", _) => Ruling::Cancelled,
            (_, true) => Ruling::AllowOnce,
            (_, false) => Ruling::Deny,
        };
        let option_id = Some(option_id.to_owned()).filter(|id| !id.is_empty());
        self.engine.call(EngineCall::Decide {
            session_id: session_id.to_owned(),
            engine_request_id: engine_request_id.to_owned(),
            decision: EngineDecision { ruling, option_id, content, part: None },
            request_id: "ours".to_owned(),
            reply: None,
        });
    }

    /// Sends a call that answers for itself.
    pub async fn ask<T: Serialize>(
        &self,
        call: impl FnOnce(Reply<T>) -> EngineCall,
    ) -> Result<Value, CodedError> {
        let (reply, answer) = Reply::new();
        self.engine.call(call(reply));
        tokio::time::timeout(PATIENCE, answer)
            .await
            .expect("an answer comes")
            .expect("it is not dropped")
            .map(|result| json!(result))
    }

    pub async fn command(&self, session_id: &str, command: &str, args: Value) -> Result<Value, CodedError> {
        let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
        let (session_id, command) = (session_id.to_owned(), command.to_owned());
        self.ask(|reply| EngineCall::Command { session_id, command, args, reply }).await
    }

    /// Every report until the turn of this session ends, without those of the start; the failure.
    pub async fn turn(&mut self, session_id: &str) -> (Vec<Told>, Option<String>) {
        let mut told = Vec::new();
        loop {
            match self.next().await {
                EngineReport::TurnEnded { session_id: id, failure, .. } if id == session_id => {
                    return (told, failure.map(|failure| failure.message));
                }
                report => told.extend(Told::of(report)),
            }
        }
    }

    /// The next end of an agent, and what was told before it.
    pub async fn exit(&mut self) -> (Vec<Told>, Exit) {
        let mut told = Vec::new();
        loop {
            match self.next().await {
                EngineReport::Agent(AgentReport::Exited {
                    generation,
                    code,
                    sessions,
                    message,
                    expected,
                    ..
                }) => {
                    return (told, Exit { generation, code, sessions, message, expected });
                }
                report => told.extend(Told::of(report)),
            }
        }
    }

    /// The first ask that comes; its id.
    pub async fn asked(&mut self) -> String {
        self.wait(|report| match report {
            EngineReport::Said { event, .. } => {
                normalize(Dialect::Acp, event).ask.map(|ask| ask.engine_request_id)
            }
            _ => None,
        })
        .await
    }

    /// What `sim` was told so far: method or `answer`, and params or result.
    pub fn sent(&self) -> Vec<(String, Value)> {
        let text = std::fs::read_to_string(self.place.path().join("sim.jsonl")).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["dir"] == "c2a")
            .map(|line| {
                let message = &line["msg"];
                match message["method"].as_str() {
                    Some(method) => (method.to_owned(), message["params"].clone()),
                    None if message["error"].is_object() => {
                        (format!("error {}", message["id"]), message["error"]["code"].clone())
                    }
                    None => (format!("answer {}", message["id"]), message["result"].clone()),
                }
            })
            .collect()
    }

    /// The methods of that.
    pub fn methods(&self) -> Vec<String> {
        self.sent().into_iter().map(|(method, _)| method).collect()
    }

    /// Waits until `sim` was told something with this method; all of those.
    pub async fn until_sent(&self, method: &str) -> Vec<Value> {
        let found = async {
            loop {
                let sent = self.sent();
                if sent.iter().any(|(name, _)| name == method) {
                    return sent.into_iter().filter(|(name, _)| name == method).map(|(_, params)| params);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("it is sent").collect()
    }
}

/// How an agent ended.
#[derive(Debug, PartialEq)]
pub struct Exit {
    pub generation: u64,
    pub code: Option<i32>,
    pub sessions: Vec<String>,
    pub message: String,
    pub expected: bool,
}

/// A report that a session hears, as plain values.
#[derive(Debug, PartialEq)]
pub enum Told {
    /// Session, type, turn, payload.
    Event(String, String, Option<u64>, Value),
    /// Session, and what was lost.
    Rebound(String, Option<String>),
    /// Session and sentence.
    Notice(String, String),
    /// Session and id.
    Withdrawn(String, String),
}

impl Told {
    pub fn of(report: EngineReport) -> Option<Self> {
        match report {
            EngineReport::Said { session_id, event, .. } if event.kind != "agent/log" => {
                let EngineEvent { kind, turn, payload, .. } = event;
                Some(Self::Event(session_id, kind, turn, Value::Object(payload.into())))
            }
            EngineReport::Agent(AgentReport::Rebound { session_id, lost, .. }) => {
                Some(Self::Rebound(session_id, lost))
            }
            EngineReport::Noticed { session_id, text, .. } => Some(Self::Notice(session_id, text)),
            EngineReport::Agent(AgentReport::AskWithdrawn { session_id, engine_request_id }) => {
                Some(Self::Withdrawn(session_id, engine_request_id))
            }
            _ => None,
        }
    }
}

/// A piece of an answer.
pub fn piece(session_id: &str, turn: u64, text: &str) -> Told {
    let content = json!({ "type": "text", "text": text });
    Told::Event(
        session_id.to_owned(),
        "agent_message_chunk".to_owned(),
        Some(turn),
        json!({ "sessionUpdate": "agent_message_chunk", "content": content }),
    )
}

/// The agent's end of a turn.
pub fn end(session_id: &str, turn: u64, reason: &str) -> Told {
    Told::Event(
        session_id.to_owned(),
        "session/prompt".to_owned(),
        Some(turn),
        json!({ "stopReason": reason }),
    )
}

/// A line that is no message.
pub fn junk(session_id: &str, turn: Option<u64>, raw: &str) -> Told {
    Told::Event(session_id.to_owned(), "unknown".to_owned(), turn, json!({ "raw": raw }))
}
