//! Sessions of one agent are closed, deleted there, and forgotten here.
//!
//! Owns these steps. A process is not started for any of them.

use std::time::Duration;

use super::agent::Agent;
use super::own_request::OwnRequest;
use super::sentence::one_line;
use super::session::{Claim, State};
use crate::app::inbox::Reply;
use crate::app::ports::EngineReport;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::decode::AcpError;
use crate::domain::dialect::acp::encode;
use crate::domain::payload::Payload;
use crate::protocol::request::DeleteSessionResult;

/// How long the agent may take for one of them.
const SHORT: Duration = Duration::from_secs(10);

impl Agent {
    /// The session is not used any more: it is closed at the agent, and a process that nobody uses ends.
    pub(super) fn close(&mut self, session_id: &str) {
        self.stop(session_id);
        self.cancel_work(session_id, true);
        let can_close = self.process.is_ready() && self.process.can().session_capabilities.close;
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        session.claim = Claim::Released;
        if session.state.is_open()
            && can_close
            && let Some(at_agent) = session.at_agent.clone()
        {
            // What is asked next comes after it.
            session.state = State::Closed;
            let asked = OwnRequest::Close { session_id: session_id.to_owned() };
            self.ask("session/close", &encode::of_session(&at_agent), asked, Some(SHORT));
        }
        self.end_if_idle();
    }

    /// Deletes it at the agent, where that can; a process is not started for it.
    pub(super) fn delete(&mut self, session_id: &str, reply: Reply<DeleteSessionResult>) {
        self.stop(session_id);
        let can = self.process.is_ready() && self.process.can().session_capabilities.delete;
        let at_agent = self.sessions.get(session_id).and_then(|session| session.at_agent.clone());
        match at_agent.filter(|_| can) {
            Some(at_agent) => {
                let asked = OwnRequest::Delete { session_id: session_id.to_owned(), reply };
                self.ask("session/delete", &encode::of_session(&at_agent), asked, Some(SHORT));
            }
            None => self.deleted(session_id, Ok(Payload::default()), reply),
        }
    }

    pub(super) fn deleted(
        &mut self,
        session_id: &str,
        outcome: Result<Payload, AcpError>,
        reply: Reply<DeleteSessionResult>,
    ) {
        let outcome = match outcome {
            // It is not there any more, which is what was wanted.
            Err(error) if error.code == AcpError::NOT_FOUND => Ok(()),
            Err(error) => Err(CodedError::new(
                ErrorCode::EngineRejected,
                format!(
                    "The agent `{}` did not delete the session ({}); try again.",
                    self.line.name,
                    one_line(&error.message)
                ),
            )),
            Ok(_) => Ok(()),
        };
        if let (Ok(()), Some(session)) = (&outcome, self.sessions.get_mut(session_id)) {
            session.state = State::Closed;
            self.cancel_work(session_id, true);
        }
        self.report(EngineReport::SessionDeleted { session_id: session_id.to_owned(), outcome, reply });
    }

    /// The loop knows it no more.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.close(session_id);
        self.drop_session(session_id);
        self.end_if_idle();
    }

    /// Takes it out of everything. What the agent still tells of it goes nowhere.
    pub(super) fn drop_session(&mut self, session_id: &str) {
        self.sessions.remove(session_id);
        self.routes.remove(session_id);
    }

    /// It was forgotten while it was made: the agent need not keep it.
    pub(super) fn close_unknown(&mut self, at_agent: Option<&str>) {
        if let Some(at_agent) = at_agent {
            self.sessions.disown(at_agent);
            if self.process.can().session_capabilities.close {
                let asked = OwnRequest::Close { session_id: String::new() };
                self.ask("session/close", &encode::of_session(at_agent), asked, Some(SHORT));
            }
        }
        self.end_if_idle();
    }
}
