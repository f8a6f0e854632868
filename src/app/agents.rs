//! What agent processes tell of themselves: an exit, a session that is open again, an ask that is withdrawn.
//!
//! Owns what becomes of the sessions, the turns and the asks of an agent that ended. Never starts or stops a process: the
//! adapter does, and reports.

use serde_json::{Map, Value};

use super::client::ClientId;
use super::inbox::Reply;
use super::ports::EngineCall;
use super::prompter::Prompter;
use super::record::Settler;
use super::state::App;
use crate::domain::approval::PermissionStatus;
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::protocol::agent::SessionInfoResult;
use crate::protocol::notification::ConnectionParams;
use crate::protocol::request::{ConnectionStatus, Resume, ResumeVerdict};
use crate::protocol::settings::EngineKind;
use crate::protocol::{ErrorCode, WireError};

/// How an agent process ended.
pub(super) struct Exit {
    pub generation: u64,
    pub code: Option<i32>,
    /// One sentence.
    pub message: String,
    /// Whether we ended it on purpose.
    pub expected: bool,
}

impl App {
    /// An agent ended. What it had said stays; what it was asked and what it asked is settled; the queues wait for the user.
    pub(super) fn agent_exited(&mut self, sessions: &[String], exit: &Exit) {
        for session_id in sessions {
            if !self.may_record(session_id) || self.load(session_id).is_err() {
                continue;
            }
            self.release(session_id);
            let now = self.ambient.now_ms();
            let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
            let mut payload = Map::new();
            payload.insert("generation".to_owned(), Value::from(exit.generation));
            if let Some(code) = exit.code {
                payload.insert("code".to_owned(), Value::from(code));
            }
            payload.insert("message".to_owned(), Value::from(exit.message.as_str()));
            payload.insert("expected".to_owned(), Value::from(exit.expected));
            self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Exit);
            self.record_event(session_id, NormalizedEvent::local(LocalKind::AgentExited, turn, now, payload));
            if let Some(turn) = turn {
                self.turn_ended(session_id, turn, Some(exit.message.clone()));
            }
            self.flush(session_id);
            if !exit.expected {
                self.tab_agent_exited(session_id, exit.generation, exit.code);
                self.of_session(session_id, ConnectionStatus::Error, Some(exit.message.clone()), None);
            }
        }
        self.state_changed = true;
    }

    /// A session is open at a new process of its agent.
    pub(super) fn rebound(&mut self, session_id: &str, at_agent: String, lost: Option<String>) {
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
            payload.insert("reason".to_owned(), Value::from(reason.as_str()));
            self.record_event(session_id, NormalizedEvent::local(LocalKind::Gap, turn, now, payload));
        }
        self.flush(session_id);
        self.tab_agent_back(session_id);
        let verdict = if lost.is_some() { ResumeVerdict::Lost } else { ResumeVerdict::Complete };
        let resume = Resume { verdict, events: None, from: None, to: None, reason: lost };
        self.of_session(session_id, ConnectionStatus::Connected, None, Some(resume));
    }

    /// The agent does not wait for this answer any more.
    pub(super) fn ask_withdrawn(&mut self, session_id: &str, engine_request_id: &str) {
        if let Some((request_id, _)) = self.same_id(session_id, engine_request_id) {
            self.settle_ask(session_id, &request_id, PermissionStatus::Cancelled, "", Settler::Engine);
            self.flush(session_id);
        }
    }

    /// `bb/agent/restart`: the adapter answers.
    pub(super) fn restart_agent(&mut self, client: ClientId, agent: Option<String>, reply: Reply) {
        if let Err(error) = self.may_run(Prompter::Client(client), EngineKind::Acp) {
            return reply.refuse(error);
        }
        match self.engine_for(EngineKind::Acp) {
            Ok(engine) => engine.call(EngineCall::RestartAgent { agent, reply }),
            Err(_) => reply.refuse(WireError::new(
                ErrorCode::Unsupported,
                "There are no agents here to restart; name one in the setting `agents`.",
            )),
        }
    }

    /// `bb/session/info`: the adapter answers; of a session that no agent holds there is nothing to tell.
    pub(super) fn session_info(&mut self, session_id: &str, reply: Reply) {
        match self.known(session_id) {
            Ok(session) if session.record.engine != EngineKind::Acp => {
                reply.answer(&SessionInfoResult::default());
            }
            Ok(_) => {
                let call = EngineCall::SessionInfo { session_id: session_id.to_owned(), reply };
                self.call_engine(session_id, call);
            }
            Err(error) => reply.refuse(error),
        }
    }

    /// What the adapter noticed.
    pub(super) fn noticed(&mut self, session_id: &str, level: &str, text: &str) {
        if self.load(session_id).is_ok() {
            self.release(session_id);
            self.notice(session_id, level, text);
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
            gap_detected: lost.then_some(true),
            resume,
        });
    }
}
