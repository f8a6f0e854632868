//! What agent processes tell of themselves: an exit, a session that is open again, an ask that is withdrawn.
//!
//! Owns what becomes of the sessions, the turns and the asks of an agent that ended. Never starts or stops a process: the
//! adapter does, and reports.

use serde_json::{Map, Value};

use super::client::ClientId;
use super::inbox::Reply;
use super::ports::{AgentCall, AgentReport, EngineCall, TerminalPiece};
use super::prompter::Prompter;
use super::record::Settler;
use super::state::App;
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::remedy::Remedy;
use crate::domain::sentence::sentence;
use crate::protocol::notification::ConnectionParams;
use crate::protocol::request::{ConnectionStatus, Resume, ResumeVerdict};
use crate::protocol::settings::EngineKind;
use crate::protocol::tab::AgentRestartResult;

/// How an agent process ended.
struct AgentExit {
    generation: u64,
    code: Option<i32>,
    /// One sentence.
    message: String,
    /// Whether we ended it on purpose.
    expected: bool,
}

impl App {
    /// What only agents say.
    pub(super) fn on_agent_report(&mut self, report: AgentReport) {
        match report {
            AgentReport::Process { agent, process } => self.agent_process(agent, process),
            AgentReport::Changed { session_id, change, command } => {
                self.agent_changed(&session_id, change);
                if let Some(done) = command {
                    done.reply.answer(done.result);
                }
            }
            AgentReport::Exited { agent, generation, code, sessions, message, expected } => {
                tracing::warn!(agent, generation, ?code, expected, "an agent ended");
                self.agent_exited(&sessions, &AgentExit { generation, code, message, expected });
            }
            AgentReport::Rebound { session_id, at_agent, lost } => self.rebound(&session_id, at_agent, lost),
            AgentReport::Terminal { session_id, piece } => self.terminal_said(&session_id, piece),
            AgentReport::AskWithdrawn { session_id, engine_request_id } => {
                self.ask_withdrawn(&session_id, &engine_request_id);
            }
        }
    }

    /// A terminal of an agent printed something, began or ended.
    fn terminal_said(&mut self, session_id: &str, piece: TerminalPiece) {
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        self.release(session_id);
        let mut payload = Map::new();
        payload.insert("terminalId".to_owned(), Value::from(piece.terminal_id));
        if piece.began {
            payload.insert("began".to_owned(), Value::from(true));
        }
        if !piece.text.is_empty() {
            payload.insert("text".to_owned(), Value::from(piece.text));
        }
        if piece.skipped > 0 {
            payload.insert("skipped".to_owned(), Value::from(piece.skipped));
        }
        if let Some((code, signal)) = piece.exit {
            payload.insert("ended".to_owned(), Value::from(true));
            payload.extend(code.map(|code| ("exitCode".to_owned(), Value::from(code))));
            payload.extend(signal.map(|signal| ("signal".to_owned(), Value::from(signal))));
        }
        let now = self.ambient.now_ms();
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Terminal, turn, now, payload));
    }

    /// An agent ended. What it had said stays; what it was asked and what it asked is settled; the queues wait for the user.
    fn agent_exited(&mut self, sessions: &[String], exit: &AgentExit) {
        for session_id in sessions {
            if !self.may_record(session_id) || self.load(session_id).is_err() {
                continue;
            }
            self.release(session_id);
            self.keep_process(session_id);
            let now = self.ambient.now_ms();
            let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
            let mut payload = Map::new();
            payload.insert("generation".to_owned(), Value::from(exit.generation));
            if let Some(code) = exit.code {
                payload.insert("code".to_owned(), Value::from(code));
            }
            payload.insert("message".to_owned(), Value::from(exit.message.as_str()));
            payload.insert("expected".to_owned(), Value::from(exit.expected));
            let unanswered = self.why_unanswered(session_id, "The agent ended");
            self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Exit);
            if let Some(sentence) = unanswered {
                self.notice(session_id, "warning", &sentence);
            }
            self.record_event(session_id, NormalizedEvent::local(LocalKind::AgentExited, turn, now, payload));
            if let Some(turn) = turn {
                self.turn_ended(session_id, turn, Some(exit.message.clone().into()));
            }
            self.flush(session_id);
            if !exit.expected {
                self.tab_agent_exited(session_id, exit.generation, exit.code);
                self.of_session(session_id, ConnectionStatus::Error, Some(exit.message.clone()), None);
            }
        }
        self.state_changed = true;
    }

    /// What is said of requests of an agent that nobody will answer any more, and how one goes on. `None`: nothing waited, or no
    /// agent asked it.
    pub(super) fn why_unanswered(&mut self, session_id: &str, what_happened: &str) -> Option<String> {
        if self.live_mut(session_id)?.asks.is_empty() {
            return None;
        }
        let held = self.known(session_id).ok()?.record.held.as_ref()?;
        let agent = held.agent.as_ref()?;
        let here = self.engines.processes.get(agent).and_then(|process| process.hello.as_ref());
        let kept = held.snapshot.as_ref().and_then(|snapshot| snapshot.process.hello.as_ref());
        let opens_again = here.or(kept).is_some_and(|hello| {
            let can = &hello.capabilities;
            can.load_session || can.session_capabilities.resume
        });
        let next = if opens_again {
            "continue, and the agent opens this session again with what it remembers"
        } else {
            "the agent keeps no sessions, so it begins anew with the next prompt"
        };
        Some(format!(
            "{what_happened} before you answered what `{agent}` asked, so that was not done; {next}."
        ))
    }

    /// A session is open at a new process of its agent.
    fn rebound(&mut self, session_id: &str, at_agent: String, lost: Option<String>) {
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        if let Ok(record) = self.record_mut(session_id) {
            record.held.get_or_insert_default().at_agent = Some(at_agent);
        }
        if let Some(reason) = &lost {
            let now = self.ambient.now_ms();
            let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
            let mut payload = Map::new();
            payload.insert("reason".to_owned(), Value::from(sentence(reason)));
            self.record_event(session_id, NormalizedEvent::local(LocalKind::Gap, turn, now, payload));
        }
        self.flush(session_id);
        self.tab_agent_back(session_id);
        let verdict = if lost.is_some() { ResumeVerdict::Lost } else { ResumeVerdict::Complete };
        let resume =
            Resume { verdict, events: None, from: None, to: None, reason: lost.as_deref().map(sentence) };
        self.of_session(session_id, ConnectionStatus::Connected, None, Some(resume));
    }

    /// The agent does not wait for this answer any more.
    fn ask_withdrawn(&mut self, session_id: &str, engine_request_id: &str) {
        if let Some((request_id, _)) = self.same_id(session_id, engine_request_id) {
            self.settle_ask(session_id, &request_id, PermissionStatus::Cancelled, "", Settler::Engine);
            self.flush(session_id);
        }
    }

    /// `bb/agent/restart`: the adapter answers.
    pub(super) fn restart_agent(
        &mut self,
        client: ClientId,
        agent: Option<String>,
        reply: Reply<AgentRestartResult>,
    ) {
        if let Err(error) = self.may_run(Prompter::Client(client), EngineKind::Acp) {
            return reply.refuse(error);
        }
        match self.engine_for(EngineKind::Acp) {
            Ok(engine) => engine.call(EngineCall::Agent(AgentCall::Restart { agent, reply })),
            Err(_) => reply.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "There are no agents here to restart; choose one in the settings.",
            )),
        }
    }

    /// What the adapter noticed.
    pub(super) fn noticed(&mut self, session_id: &str, level: &str, text: &str, remedy: &Remedy) {
        if self.load(session_id).is_ok() {
            self.release(session_id);
            self.notice_with(session_id, level, text, remedy);
            self.flush(session_id);
        }
    }

    fn of_session(
        &mut self,
        session_id: &str,
        status: ConnectionStatus,
        last_error: Option<String>,
        resume: Option<Resume>,
    ) {
        let lost = resume.as_ref().is_some_and(|resume| resume.verdict == ResumeVerdict::Lost);
        self.connection(ConnectionParams {
            status,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error,
            cause: None,
            gap_detected: lost.then_some(true),
            resume,
        });
    }
}
