//! Sessions of one agent: made, and opened again at a new process.
//!
//! Owns these steps, and what is said to be lost when a session is opened again. How one stands: `session`; how it is closed:
//! `closing`; what the agent tells of it: `incoming`.

use std::sync::Arc;

use super::agent::Agent;
use super::own_request::OwnRequest;
use super::sentence::one_line;
use super::session::{Claim, How, Memory, Session, SessionReplay, State};
use super::turn::Turn;
use crate::app::ports::{
    AgentReport, AgentSession, CommandDone, EngineReport, EngineSession, NewSession, SessionReply,
    TurnFailure,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::decode::{AcpError, log_event};
use crate::domain::dialect::acp::encode;
use crate::domain::dialect::acp::results::{SessionResult, read};
use crate::domain::dialect::acp::state::AgentChange;
use crate::domain::dialect::acp::tool_servers;
use crate::domain::payload::Payload;
use crate::domain::remedy::{PromptTaken, Remedy, Retry, RetryWhen};

/// Begins the agent's id of a session that it has not made yet, because it wants a login first.
const UNOPENED: &str = "unopened:";

impl Agent {
    /// Makes a session for somebody who waits.
    pub(super) fn make(&mut self, session_id: String, mut wish: NewSession, reply: SessionReply) {
        wish.workspace = wish.workspace.take().or_else(|| self.folder());
        let mut session = Session::new(wish.workspace.clone(), None);
        session.making = Some((wish, reply));
        self.sessions.add(&session_id, session);
        self.want(&session_id);
    }

    /// What the loop remembers of a session.
    pub(super) fn remember(&mut self, known: AgentSession) {
        let session = self.sessions.known_or_new(&known.session_id);
        session.claim = Claim::Used;
        session.workspace = session.workspace.take().or(known.workspace);
        if session.at_agent.is_none() && !known.at_agent.starts_with(UNOPENED) {
            session.at_agent = Some(known.at_agent);
        }
    }

    /// Sees to it that the session will be open.
    pub(super) fn want(&mut self, session_id: &str) {
        let ending = self.process.is_ending();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        if !session.state.is_used(ending) {
            return;
        }
        match self.ensure_process() {
            Ok(()) if self.process.is_ready() => self.open(session_id),
            Ok(()) => {}
            Err(error) => self.not_open(session_id, &error),
        }
    }

    /// Opens it at the process, which is ready.
    pub(super) fn open(&mut self, session_id: &str) {
        let can = self.process.can();
        let (load, resume) = (can.load_session, can.session_capabilities.resume);
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        // The journal has nothing of a session that was not used here before: the replay is all that there is.
        let first = session.turn.as_ref().is_some_and(|turn| turn.number == 1);
        let how = match &session.at_agent {
            None => How::Make { lost: None },
            Some(_) if load && (first || !resume) => How::Load { tell: first },
            Some(_) if resume => How::Resume,
            Some(_) => How::Make {
                lost: Some(format!(
                    "the agent `{}` cannot open a session again, so it knows nothing of what was said before",
                    self.line.name
                )),
            },
        };
        self.open_by(session_id, how);
    }

    fn open_by(&mut self, session_id: &str, how: How) {
        let folder = self.folder();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(cwd) = session.workspace.clone().or(folder).filter(|cwd| cwd.is_absolute()) else {
            let error = CodedError::new(
                ErrorCode::Unsupported,
                "An agent works in a folder, and none is open; open one and try again.",
            );
            return self.not_open(session_id, &error);
        };
        let cwd = cwd.to_string_lossy();
        let (method, mut params) = match (&how, &session.at_agent) {
            (How::Load { .. }, Some(id)) => ("session/load", encode::open_session(id, &cwd)),
            (How::Resume, Some(id)) => ("session/resume", encode::open_session(id, &cwd)),
            (How::Load { .. } | How::Resume, None) | (How::Make { .. }, _) => {
                ("session/new", encode::new_session(&cwd))
            }
        };
        let known = session.at_agent.clone().filter(|_| !matches!(how, How::Make { .. }));
        session.state = State::Opening(match (&how, &known) {
            (How::Load { tell: false }, Some(_)) => SessionReplay::Of(0),
            (How::Load { .. } | How::Resume | How::Make { .. }, _) => SessionReplay::None,
        });
        if let Some(id) = known {
            self.sessions.name(id, session_id);
        }
        let (servers, _) =
            tool_servers::for_session(&self.tool_servers, self.process.can().mcp_capabilities.http);
        params["mcpServers"] = servers.into();
        self.ask(
            method,
            &params,
            OwnRequest::Open { session_id: session_id.to_owned(), how },
            Some(self.timeouts.open),
        );
    }

    /// The agent answered to that.
    pub(super) fn opened(&mut self, session_id: &str, how: How, outcome: Result<Payload, AcpError>) {
        match outcome {
            Ok(result) => self.opened_well(session_id, how, &read(&result)),
            // The next process will be asked.
            Err(_)
                if self.sessions.get(session_id).is_some_and(|session| session.state.is_for_the_next()) => {}
            Err(error) => self.opened_badly(session_id, how, &error),
        }
    }

    fn opened_well(&mut self, session_id: &str, how: How, result: &SessionResult) {
        let Some(session) = self.sessions.get(session_id) else {
            // Forgotten meanwhile: the agent need not keep it.
            return self.close_unknown(result.session_id.as_deref());
        };
        let first = session.making.is_some() || matches!(how, How::Load { tell: true });
        let at_agent = match self.id_at_agent(session_id, session, &how, result) {
            Ok(at_agent) => at_agent,
            Err(error) => return self.not_open(session_id, &error),
        };
        let change = AgentChange::Opened(result.clone());
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let memory = std::mem::replace(&mut session.memory, Memory::Whole);
        let was = session.state;
        session.at_agent = Some(at_agent.clone());
        session.state.opened();
        session.facts.apply(change.clone());
        let making = session.making.take();
        self.sessions.name(at_agent.clone(), session_id);
        if let State::Opening(SessionReplay::Of(replayed)) = was {
            tracing::info!(session_id, replayed, "an agent told again what the journal has");
        }
        match making {
            Some((wish, reply)) => {
                self.tell_made(session_id, &at_agent, wish, reply);
                self.tell_left_out(session_id);
            }
            None => self.tell_rebound(session_id, &at_agent, how, memory),
        }
        self.tell_change(session_id, change, None);
        self.link_log(session_id);
        self.place_waiting(session_id, None);
        self.place_waiting(session_id, Some(&at_agent));
        let session = self.sessions.get(session_id);
        if session.is_some_and(|session| session.claim == Claim::Released && !session.uses_the_process()) {
            // Its tab was closed while it was opened again.
            return self.close(session_id);
        }
        if !self.prepares(session_id, first) {
            self.now_open(session_id);
        }
    }

    /// Says which of the user's tool servers the agent did not get.
    fn tell_left_out(&mut self, session_id: &str) {
        let servers = Arc::clone(&self.tool_servers);
        let (_, left_out) = tool_servers::for_session(&servers, self.process.can().mcp_capabilities.http);
        if !left_out.is_empty() {
            let why = format!(
                "The agent `{}` takes no tool servers that have an address, so `{}` was not given to it.",
                self.name(),
                left_out.join("`, `")
            );
            self.notice(session_id, "info", why);
        }
    }

    /// The agent's id of a session that it opened: of one that it made the new one, which must be its own.
    fn id_at_agent(
        &self,
        session_id: &str,
        session: &Session,
        how: &How,
        result: &SessionResult,
    ) -> Result<String, CodedError> {
        let made = matches!(how, How::Make { .. });
        let named = result.session_id.clone().filter(|id| made && !id.is_empty());
        let Some(at_agent) = named.or_else(|| session.at_agent.clone().filter(|_| !made)) else {
            return Err(CodedError::new(
                ErrorCode::EngineRejected,
                format!(
                    "The agent `{}` made a session without an id; try another release of it.",
                    self.line.name
                ),
            ));
        };
        if made && self.is_open_as(&at_agent, session_id) {
            return Err(CodedError::new(
                ErrorCode::EngineRejected,
                format!(
                    "The agent `{}` gave two sessions one id; close the other tab or try another release of it.",
                    self.line.name
                ),
            ));
        }
        Ok(at_agent)
    }

    /// Somebody waits for the session.
    fn tell_made(&mut self, session_id: &str, at_agent: &str, wish: NewSession, reply: SessionReply) {
        let made = EngineSession {
            session_id: session_id.to_owned(),
            status: "running".to_owned(),
            workspace: self.sessions.get(session_id).and_then(|session| session.workspace.clone()),
            at_agent: Some((self.line.name.clone(), at_agent.to_owned())),
            ..EngineSession::default()
        };
        let model = wish.model.clone();
        self.report(EngineReport::SessionMade { wish, outcome: Ok(made), reply });
        if let Some(model) = model {
            self.set_model_quietly(session_id, &model);
        }
    }

    /// The session was there before, and may have lost something on the way.
    fn tell_rebound(&mut self, session_id: &str, at_agent: &str, how: How, memory: Memory) {
        let lost = match how {
            How::Make { lost } => lost,
            How::Resume | How::Load { .. } => (memory == Memory::CutShort).then(|| {
                format!(
                    "the agent `{}` ended in the middle of an answer and does not remember what it had said of it",
                    self.line.name
                )
            }),
        };
        self.report(EngineReport::Agent(AgentReport::Rebound {
            session_id: session_id.to_owned(),
            at_agent: at_agent.to_owned(),
            lost,
        }));
    }

    /// An answer says how a session stands: the adapter needs it for the next request, the loop for whoever asks.
    pub(super) fn changed(
        &mut self,
        session_id: &str,
        change: AgentChange,
        command: Option<Box<CommandDone>>,
    ) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.facts.apply(change.clone());
        }
        self.tell_change(session_id, change, command);
    }

    fn tell_change(&mut self, session_id: &str, change: AgentChange, command: Option<Box<CommandDone>>) {
        let session_id = session_id.to_owned();
        self.report(EngineReport::Agent(AgentReport::Changed { session_id, change, command }));
    }

    /// Whether another session is open under this id of the agent's. What the agent told of one would be told in the other.
    fn is_open_as(&self, at_agent: &str, session_id: &str) -> bool {
        let other = self.sessions.ours(at_agent).filter(|other| *other != session_id);
        let other = other.and_then(|other| self.sessions.get(other));
        other.is_some_and(|other| other.state.is_there() && other.claim == Claim::Used)
    }

    fn opened_badly(&mut self, session_id: &str, how: How, error: &AcpError) {
        if !self.sessions.contains(session_id) {
            return;
        }
        if error.code == AcpError::AUTH_REQUIRED {
            return self.login_wanted(session_id, &how, error);
        }
        let said = one_line(&error.message);
        let load = self.process.can().load_session;
        match how {
            How::Make { .. } => {
                let error = CodedError::new(
                    ErrorCode::EngineRejected,
                    format!(
                        "The agent `{}` made no session ({said}); look into its log or try again.",
                        self.line.name
                    ),
                );
                self.not_open(session_id, &error);
            }
            How::Resume if load => self.open_by(session_id, How::Load { tell: false }),
            How::Resume | How::Load { .. } => {
                let lost = format!(
                    "the agent `{}` could not open the session again ({said}), so it knows nothing of what was said before",
                    self.line.name
                );
                self.open_by(session_id, How::Make { lost: Some(lost) });
            }
        }
    }

    /// A session that is made is there all the same, so that `authenticate` can be said to it.
    fn login_wanted(&mut self, session_id: &str, how: &How, error: &AcpError) {
        let refusal = self.login(error);
        let offers = !self.process.hello().auth_methods.is_empty();
        let session = self.sessions.get_mut(session_id);
        let making = session.and_then(|session| session.making.take_if(|_| offers));
        if let (How::Make { .. }, Some((wish, reply))) = (how, making) {
            let made = EngineSession {
                session_id: session_id.to_owned(),
                status: "running".to_owned(),
                workspace: wish.workspace.clone(),
                at_agent: Some((self.line.name.clone(), format!("{UNOPENED}{session_id}"))),
                ..EngineSession::default()
            };
            self.report(EngineReport::SessionMade { wish, outcome: Ok(made), reply });
            let remedy = Remedy { retry: None, ..refusal.remedy() };
            self.notice_with(session_id, "warning", refusal.message.clone(), remedy);
        }
        self.stays(session_id, State::LoginWanted, &refusal);
    }

    /// It could not be opened: whoever waits for it hears why.
    pub(super) fn not_open(&mut self, session_id: &str, error: &CodedError) {
        self.stays(session_id, State::Closed, error);
    }

    fn stays(&mut self, session_id: &str, state: State, error: &CodedError) {
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        session.state = state;
        let commands = std::mem::take(&mut session.commands);
        let turn = session.turn.take();
        let making = session.making.take();
        for (_, reply) in commands {
            reply.refuse(error.clone());
        }
        if let Some(turn) = turn {
            let failure = Some(unsent(&turn, error));
            self.report(EngineReport::TurnEnded {
                session_id: session_id.to_owned(),
                turn: turn.number,
                failure,
                cancelled: turn.is_stopping(),
            });
        }
        if let Some((wish, reply)) = making {
            self.drop_session(session_id);
            self.report(EngineReport::SessionMade { wish, outcome: Err(error.clone()), reply });
        }
        self.end_if_idle();
    }

    /// What waited for it goes out.
    pub(super) fn now_open(&mut self, session_id: &str) {
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        for (command, reply) in std::mem::take(&mut session.commands) {
            self.send_command(session_id, command, reply);
        }
        self.begin_prompt(session_id);
    }

    /// One event about where the agent's own log is, for each process.
    fn link_log(&mut self, session_id: &str) {
        let Some(file) = self.log_file() else { return };
        let Ok(uri) = url::Url::from_file_path(&file) else { return };
        let label = format!("Log of the agent {}", self.line.name);
        self.said(session_id, log_event(uri.as_str(), &label));
    }
}

/// Why a turn ends whose session is not open. One that was not sent was not taken.
fn unsent(turn: &Turn, error: &CodedError) -> TurnFailure {
    let mut remedy = error.remedy();
    if !turn.is_sent() {
        remedy.retry = remedy.retry.or(Some(Retry::not_taken(RetryWhen::Changed)));
    } else if let Some(retry) = &mut remedy.retry {
        retry.taken = PromptTaken::Perhaps;
    }
    TurnFailure::new(error.message.clone(), remedy)
}
