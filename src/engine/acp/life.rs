//! The life of an agent's process: when it is started, greeted, ended and started anew, and what becomes of the sessions.
//!
//! Starts and ends nothing itself: it lays down what is to be done. How the process stands: `process_state`; a session: `session`.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::agent::Agent;
use super::outgoing::Effect;
use super::own_request::OwnRequest;
use super::process::ExitNote;
use super::process_state::{EndReason, LastEnd, ProcessPhase};
use super::sentence::{last_words, one_line};
use super::session::{Claim, Session};
use crate::app::inbox::Reply;
use crate::app::ports::{AgentReport, EngineReport};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::client_method::ClientMethod;
use crate::domain::dialect::acp::decode::{AcpError, RpcId};
use crate::domain::dialect::acp::encode::{self, ClientCapabilities, PROTOCOL_VERSION};
use crate::domain::dialect::acp::results::{InitializeResult, read};
use crate::domain::payload::Payload;
use crate::protocol::tab::AgentRestartResult;
use crate::protocol::version::SERVER_VERSION;

impl Agent {
    /// Sees to it that there is a process, or will be one.
    pub(super) fn ensure_process(&mut self) -> Result<(), CodedError> {
        match self.process.phase() {
            ProcessPhase::Starting | ProcessPhase::Ready => Ok(()),
            // A new one follows the old one for whoever waits then.
            ProcessPhase::Ending(_) | ProcessPhase::Down(_) if !self.is_trusted() => Err(self.not_trusted()),
            ProcessPhase::Ending(_) => Ok(()),
            ProcessPhase::Down(_) => {
                self.start();
                Ok(())
            }
        }
    }

    fn not_trusted(&self) -> CodedError {
        CodedError::new(
            ErrorCode::UntrustedWorkspace,
            format!(
                "The agent `{}` is not started, because this workspace is not trusted; trust it first.",
                self.name()
            ),
        )
    }

    fn start(&mut self) {
        self.process.starts();
        self.tell_process();
        self.lay_down(Effect::Start);
    }

    /// The process was started, or could not be.
    pub(super) fn started(&mut self, outcome: Result<(), CodedError>) {
        match outcome {
            Ok(()) if self.process.is_ending() => {}
            Ok(()) => {
                let params = encode::initialize(self.offered(), SERVER_VERSION);
                self.ask("initialize", &params, OwnRequest::Initialize, Some(self.timeouts.start));
            }
            Err(error) => self.gone(None, error, false),
        }
    }

    /// What this agent may ask of us.
    fn offered(&self) -> ClientCapabilities {
        ClientCapabilities {
            read_text_file: self.serves(ClientMethod::Read),
            write_text_file: self.serves(ClientMethod::Write),
            terminal: self.serves(ClientMethod::Create),
            elicitation_form: true,
            elicitation_url: true,
            notices: true,
            compaction: true,
            boolean_options: true,
        }
    }

    /// Sends a request. Without a time it may take for ever.
    pub(super) fn ask(&mut self, method: &str, params: &Value, asked: OwnRequest, time: Option<Duration>) {
        let until = time.map(|time| self.now + time);
        let id = self.rpc.own.add(asked, until);
        self.write(encode::request(&RpcId::number(id), method, params));
    }

    pub(super) fn initialized(&mut self, outcome: Result<Payload, AcpError>) {
        if !self.process.is_starting() {
            return;
        }
        let hello: InitializeResult = match outcome {
            Ok(result) => read(&result),
            Err(error) => {
                let why = format!(
                    "The agent `{}` refused to begin ({}); look into its log or try another agent.",
                    self.name(),
                    one_line(&error.message)
                );
                return self.refuse_process(why);
            }
        };
        if hello.protocol_version != Some(PROTOCOL_VERSION) {
            let version = hello
                .protocol_version
                .map_or("no version".to_owned(), |version| format!("version {version}"));
            let why = format!(
                "The agent `{}` speaks {version} of the Agent Client Protocol and breadboard-ls speaks version \
                 {PROTOCOL_VERSION}; install a release of it that speaks that.",
                self.name()
            );
            return self.refuse_process(why);
        }
        self.process.greeted(hello);
        self.tell_process();
        for reply in self.process.take_restarts() {
            reply.answer(AgentRestartResult { generation: self.process.generation() });
        }
        for session_id in self.sessions.that_wait() {
            self.open(&session_id);
        }
        self.end_if_idle();
    }

    /// The loop hears how the process stands.
    fn tell_process(&mut self) {
        let (agent, process) = (self.line.name.clone(), self.process.told());
        self.report(EngineReport::Agent(AgentReport::Process { agent, process }));
    }

    fn refuse_process(&mut self, why: String) {
        let error = CodedError::new(ErrorCode::EngineRejected, why);
        self.end_process(EndReason::Refused(error));
    }

    /// Ends the process; `exited` follows.
    pub(super) fn end_process(&mut self, why: EndReason) {
        if self.process.ends(why) {
            self.tell_process();
            self.lay_down(Effect::End);
        }
    }

    /// Ends a process that nobody uses.
    pub(super) fn end_if_idle(&mut self) {
        let works = |id: &str| self.sessions.get(id).is_some_and(|session| session.turn.is_some());
        let used = self.sessions.values().any(Session::uses_the_process) || self.rpc.own.any_wanted(works);
        if self.process.is_ready() && !used && !self.process.is_awaited() {
            self.end_process(EndReason::Idle);
        }
    }

    /// Starts the agent anew.
    pub(super) fn restart(&mut self, reply: Reply<AgentRestartResult>) {
        if !self.is_trusted() {
            return reply.refuse(self.not_trusted());
        }
        self.process.await_new(reply);
        match self.process.phase() {
            ProcessPhase::Down(_) => {
                for (_, session) in self.sessions.iter_mut() {
                    session.state.comes_back();
                }
                self.start();
            }
            ProcessPhase::Starting | ProcessPhase::Ready => self.end_process(EndReason::Restart),
            ProcessPhase::Ending(_) => {}
        }
    }

    /// The process does not read what we write, or closed its output: it is of no more use.
    pub(super) fn broke(&mut self, what: &str) {
        let why = format!("The agent `{}` {what}; send the prompt again to start it anew.", self.name());
        self.end_process(EndReason::Refused(CodedError::new(ErrorCode::AgentExited, why)));
    }

    /// The process ended, and everything that it said was heard.
    pub(super) fn exited(&mut self, note: &ExitNote) {
        let on_purpose = match self.process.phase() {
            ProcessPhase::Ending(why) => Some(why.clone()),
            ProcessPhase::Down(_) | ProcessPhase::Starting | ProcessPhase::Ready => None,
        };
        let error = |text: String| CodedError::new(ErrorCode::AgentExited, text);
        let name = self.name();
        let (error, expected) = match on_purpose {
            Some(EndReason::Refused(error)) => (error, false),
            Some(EndReason::Idle) => {
                (error(format!("The agent `{name}` was ended, since no session uses it.")), true)
            }
            Some(EndReason::Restart) => {
                (error(format!("The agent `{name}` was ended to be started anew.")), true)
            }
            None => {
                let how = match (note.code, note.signal) {
                    (_, Some(signal)) => format!("was ended by signal {signal}"),
                    (Some(code), None) => format!("ended with exit code {code}"),
                    (None, None) => "ended".to_owned(),
                };
                let words = last_words(&note.stderr_tail);
                let words = words.map(|words| format!(" (its last words: {words})")).unwrap_or_default();
                (error(format!("The agent `{name}` {how}{words}; send a prompt to start it anew.")), false)
            }
        };
        self.gone(note.code, error, expected);
    }

    /// There is no process any more: everything that waits for it hears of it.
    fn gone(&mut self, code: Option<i32>, error: CodedError, expected: bool) {
        let end = if expected { LastEnd::ClientRequests } else { LastEnd::Unexpected };
        let ending = self.process.ended(end);
        let restarting = matches!(ending, ProcessPhase::Ending(EndReason::Restart))
            || (expected && self.process.is_awaited());
        self.tell_process();
        self.lose_work();
        self.sessions.process_ended();
        self.rpc.asks.clear();
        for asked in self.rpc.own.take_all() {
            asked.refuse(&error);
        }
        let mut sessions = Vec::new();
        let mut unmade = Vec::new();
        let mut waited = Vec::new();
        for (session_id, session) in self.sessions.iter_mut() {
            let used = session.claim == Claim::Used && session.state.needs_the_process();
            if (used || session.turn.is_some()) && !session.state.is_for_the_next() {
                sessions.push(session_id.clone());
            }
            waited.extend(session.left(&error, restarting));
            if session.at_agent.is_none() && !session.uses_the_process() {
                unmade.push(session_id.clone());
            }
        }
        for session_id in unmade {
            self.drop_session(&session_id);
        }
        self.report(EngineReport::Agent(AgentReport::Exited {
            agent: self.line.name.clone(),
            generation: self.process.generation(),
            code,
            sessions,
            message: error.message.clone(),
            expected,
        }));
        for (wish, reply) in waited {
            // To the loop, not to the reply alone: a tab hears of it by what the loop makes of it.
            self.report(EngineReport::SessionMade { wish, outcome: Err(error.clone()), reply });
        }
        if !restarting {
            for reply in self.process.take_restarts() {
                reply.refuse(error.clone());
            }
        }
        let waiting = self.sessions.values().any(|session| session.state.waits());
        if restarting || waiting {
            self.start_for_those_who_wait();
        }
    }

    fn start_for_those_who_wait(&mut self) {
        if let Err(error) = self.ensure_process() {
            for reply in self.process.take_restarts() {
                reply.refuse(error.clone());
            }
            for session_id in self.sessions.that_wait() {
                self.not_open(&session_id, &error);
            }
        }
    }

    /// When something has to be looked at next, without any event.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let turns = self.sessions.iter().filter_map(|(id, session)| self.turn_deadline(id, session));
        turns.chain(self.rpc.own.deadline()).min()
    }

    /// Time has passed.
    pub(super) fn passed(&mut self) {
        for (id, asked) in self.rpc.own.take_late(self.now) {
            tracing::warn!(agent = self.name(), id, "an agent did not answer in time");
            self.too_late(asked);
        }
        self.look_at_turns();
    }

    fn too_late(&mut self, asked: OwnRequest) {
        if matches!(asked, OwnRequest::Initialize) {
            let why = format!(
                "The agent `{}` did not say hello within {} seconds; check its command line.",
                self.name(),
                self.timeouts.start.as_secs()
            );
            return self.refuse_process(why);
        }
        let error = AcpError {
            code: AcpError::INTERNAL,
            message: "it did not answer in time".to_owned(),
            data: None,
            whole: Payload::default(),
        };
        self.settle(asked, Err(error));
    }
}
