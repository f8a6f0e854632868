//! What an agent wants its client to do: read and write files, run commands in terminals.
//!
//! Owns which of it is switched on, what has to hold before it is done, and what the user is asked first: a write shows what
//! it would replace, a command where it would run. Every request is answered once. Does nothing itself: `client_side` does,
//! in tasks whose results come back here.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::agent::Agent;
use super::ask::AskKind;
use super::asks::cancelled;
use super::client_request::{Then, ToAsk, UnderWay};
use super::client_side::{CreateTerminal, Job, Printed, WorkOrder, WorkResult, WriteBase};
use super::outgoing::Effect;
use super::sentence::one_line;
use super::turn::Turn;
use crate::app::ports::{AgentReport, EngineReport, TerminalPiece};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::client_method::ClientMethod;
use crate::domain::dialect::acp::decode::{AcpError, RpcId, method_event};
use crate::domain::dialect::acp::encode;
use crate::domain::payload::Payload;

impl Agent {
    /// Whether this agent was given that.
    pub(super) fn serves(&self, method: ClientMethod) -> bool {
        if method.is_of_files() { self.line.file_system } else { self.line.has_terminals() }
    }

    /// The agent wants something done.
    pub(super) fn wants(
        &mut self,
        at_agent: Option<&str>,
        id: RpcId,
        (name, method): (&str, ClientMethod),
        params: Payload,
        repaired: bool,
    ) {
        let session_id = at_agent.and_then(|at_agent| self.sessions.ours(at_agent));
        let session_id = session_id.filter(|id| self.sessions.contains(id)).map(str::to_owned);
        let begins = self.may_begin(session_id.as_deref(), method).and_then(|()| begin(method, &params));
        let (session_id, (job, then)) = match (session_id, begins) {
            (Some(session_id), Ok(begins)) => (session_id, begins),
            (_, Err(error)) => {
                self.refuse_work(&id, &error);
                return self.tell_request(at_agent, name, params, repaired);
            }
            // Without a session nothing begins.
            (None, Ok(_)) => return,
        };
        if self.rpc.is_waited_for(&id) {
            // An id that is used twice is answered once.
            tracing::warn!(agent = self.name(), method = name, "an agent used the id of a request twice");
            return self.tell_request(at_agent, name, params, repaired);
        }
        let to_ask = match then {
            Some(then) => {
                self.heard_of(&session_id);
                Some(Box::new(ToAsk { method: name.to_owned(), params, repaired, then }))
            }
            None => {
                self.tell_request(at_agent, name, params, repaired);
                None
            }
        };
        self.order(&session_id, id, job, to_ask);
    }

    pub(super) fn order(&mut self, session_id: &str, id: RpcId, job: Job, to_ask: Option<Box<ToAsk>>) {
        let workspace = self.sessions.get(session_id).and_then(|session| session.workspace.clone());
        let folders = workspace.or_else(|| self.folder()).into_iter().collect();
        let ends_with_a_stop = to_ask.is_some() || matches!(job, Job::Read { .. } | Job::Create(..));
        let session_id = session_id.to_owned();
        let one = UnderWay { id, session_id: session_id.clone(), to_ask, ends_with_a_stop };
        let number = self.rpc.wanted.add(one);
        self.lay_down(Effect::Work(WorkOrder { number, session_id, folders, job }));
    }

    /// The event of a request that the user is not asked about.
    fn tell_request(&mut self, at_agent: Option<&str>, method: &str, params: Payload, repaired: bool) {
        let mut event = method_event(method, params);
        event.repaired = repaired;
        self.place_event(at_agent, event);
    }

    fn may_begin(&self, session_id: Option<&str>, method: ClientMethod) -> Result<(), CodedError> {
        let session = session_id.and_then(|session_id| self.sessions.get(session_id));
        let Some(session) = session else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "This names no session that is open here, so nothing was done; name the session.",
            ));
        };
        if method.needs_a_turn() {
            if !self.is_trusted() {
                return Err(CodedError::new(
                    ErrorCode::UntrustedWorkspace,
                    "This workspace is not trusted, so nothing was done; the user can trust it.",
                ));
            }
            if !session.turn.as_ref().is_some_and(Turn::is_running) {
                return Err(no_turn());
            }
        }
        if self.rpc.wanted.is_full() {
            return Err(CodedError::new(
                ErrorCode::Overloaded,
                "Too many requests are under way, so nothing was done; wait for an answer and ask again.",
            ));
        }
        Ok(())
    }

    /// A job is done.
    pub(super) fn work_done(&mut self, number: u64, outcome: Result<WorkResult, CodedError>) {
        let Some(one) = self.rpc.wanted.take(number) else { return };
        self.heard_of(&one.session_id);
        let UnderWay { id, session_id, to_ask, .. } = one;
        let method = to_ask.as_ref().and_then(|to_ask| ClientMethod::named(&to_ask.method));
        let outcome = outcome.and_then(|came| match method {
            // Its turn may be over by now.
            Some(method) => self.may_begin(Some(&session_id), method).map(|()| came),
            None => Ok(came),
        });
        match (to_ask, outcome) {
            (None, Ok(WorkResult::Answer(result))) => self.write(encode::answer(&id, &result)),
            (None, Ok(WorkResult::Known { answer, file })) => {
                if let Some(session) = self.sessions.get_mut(&session_id) {
                    session.known.add(file);
                }
                self.write(encode::answer(&id, &answer));
            }
            (Some(to_ask), outcome) if matches!(to_ask.then, Then::Permit) => {
                let found = match outcome {
                    Ok(WorkResult::Found(found)) => found,
                    // What was not found is said to be unread.
                    Ok(_) | Err(_) => Vec::new(),
                };
                let ToAsk { method, params, repaired, .. } = *to_ask;
                self.asks_with(&session_id, id, &method, params, repaired, found);
            }
            (Some(to_ask), Ok(came)) => self.ask_first(&session_id, id, *to_ask, came),
            (to_ask, outcome) => {
                self.refuse_work(&id, &outcome.err().unwrap_or_else(CodedError::internal));
                self.tell_unasked(&session_id, to_ask);
            }
        }
    }

    /// A terminal of a session printed something, began or ended.
    pub(super) fn terminal_printed(&mut self, printed: Printed) {
        let Printed { session_id, terminal_id, began, text, skipped, exit } = printed;
        self.heard_of(&session_id);
        let exit = exit.map(|exit| (exit.exit_code, exit.signal));
        let piece = TerminalPiece { terminal_id, began, text, skipped, exit };
        self.report(EngineReport::Agent(AgentReport::Terminal { session_id, piece }));
    }

    /// The user sees what would be done before it is.
    fn ask_first(&mut self, session_id: &str, id: RpcId, to_ask: ToAsk, came: WorkResult) {
        let ToAsk { method, mut params, repaired, then } = to_ask;
        let job = match (then, came) {
            (Then::Write(text), WorkResult::Base(base)) => {
                let drops = self.drops_unread(session_id, &base, &text);
                if drops || self.was_allowed(session_id, &params, &base, &text) {
                    let told = ToAsk { method, params, repaired, then: Then::Write(text.clone()) };
                    self.tell_unasked(session_id, Some(Box::new(told)));
                    if drops {
                        return self.refuse_work(&id, &unread(&base.path));
                    }
                    // The user saw this very change a moment ago, and allowed it.
                    return self.order(session_id, id, Job::Write { base, text }, None);
                }
                let old = base.now.as_ref().map(|(text, _)| text.clone());
                params.insert("oldText".to_owned(), old.map_or(Value::Null, Value::from));
                Job::Write { base, text }
            }
            (Then::Run(command), WorkResult::Place(place)) => {
                // Where it runs is shown, whatever links lead there.
                params.insert("cwd".to_owned(), Value::from(place.path().to_string_lossy()));
                Job::Create(command, place)
            }
            // No job answers otherwise.
            (Then::Write(_) | Then::Run(_) | Then::Permit, _) => {
                return self.refuse_work(&id, &CodedError::internal());
            }
        };
        self.asks_user(session_id, id, &method, params, repaired, AskKind::Work(Box::new(job)));
    }

    /// Whether a write would drop what the user typed and did not save, and what the agent never read.
    fn drops_unread(&self, session_id: &str, base: &WriteBase, text: &str) -> bool {
        self.sessions.get(session_id).is_some_and(|session| session.known.would_drop(base, text))
    }

    /// Whether the user allowed exactly this at the agent, in this turn.
    fn was_allowed(&mut self, session_id: &str, params: &Payload, base: &WriteBase, text: &str) -> bool {
        let folder = self.sessions.get(session_id).and_then(|session| session.workspace.clone());
        let folder = folder.or_else(|| self.folder());
        let Some(path) = params.get("path").and_then(Value::as_str).map(PathBuf::from) else { return false };
        let turn = self.sessions.get_mut(session_id).and_then(|session| session.turn.as_mut());
        turn.is_some_and(|turn| turn.allowed.covers(&path, folder.as_deref(), base, text))
    }

    /// The user allowed it.
    pub(super) fn allowed_work(&mut self, session_id: &str, id: RpcId, job: Job) {
        let method = if matches!(job, Job::Create(..)) { ClientMethod::Create } else { ClientMethod::Write };
        match self.may_begin(Some(session_id), method) {
            Ok(()) => self.order(session_id, id, job, None),
            Err(error) => self.refuse_work(&id, &error),
        }
    }

    /// Its turn is stopped: what did not begin to change anything does not any more. With `whole` the session is closed.
    pub(super) fn cancel_work(&mut self, session_id: &str, whole: bool) {
        let given_up = self.rpc.wanted.numbers_of(session_id, |one| whole || one.ends_with_a_stop);
        for number in given_up {
            self.give_up_work(number, &no_turn());
        }
        if whole {
            self.lay_down(Effect::EndTerminals(session_id.to_owned()));
        }
    }

    /// The agent takes a request back that is under way; its session.
    pub(super) fn withdraw_work(&mut self, id: &RpcId) -> Option<String> {
        let number = self.rpc.wanted.number_of(id)?;
        let session_id = self.rpc.wanted.session_of(number)?.to_owned();
        self.give_up_work(number, &CodedError::new(ErrorCode::Cancelled, "The request was taken back."));
        Some(session_id)
    }

    fn give_up_work(&mut self, number: u64, why: &CodedError) {
        let Some(one) = self.rpc.wanted.take(number) else { return };
        self.lay_down(Effect::GiveUp(number));
        match &one.to_ask {
            Some(to_ask) if matches!(to_ask.then, Then::Permit) => {
                self.write(cancelled(&one.id, &AskKind::Permission(Vec::new())));
            }
            Some(_) | None => self.refuse_work(&one.id, why),
        }
        self.tell_unasked(&one.session_id, one.to_ask);
    }

    /// The process is gone, and with it whoever waited. Nothing that it said is lost.
    pub(super) fn lose_work(&mut self) {
        for one in self.rpc.wanted.take_all() {
            self.tell_unasked(&one.session_id, one.to_ask);
        }
    }

    fn tell_unasked(&mut self, session_id: &str, to_ask: Option<Box<ToAsk>>) {
        if let Some(to_ask) = to_ask {
            let ToAsk { method, params, repaired, .. } = *to_ask;
            let mut event = method_event(&method, params);
            event.repaired = repaired;
            self.said(session_id, event);
        }
    }

    pub(super) fn refuse_work(&mut self, id: &RpcId, error: &CodedError) {
        self.write(encode::error_answer(id, code_of(error.code), &one_line(&error.message)));
    }
}

/// What is done first for a request, and what after the user allowed it.
fn begin(method: ClientMethod, params: &Payload) -> Result<(Job, Option<Then>), CodedError> {
    #[derive(Deserialize)]
    struct Read {
        path: PathBuf,
        line: Option<u64>,
        limit: Option<u64>,
    }
    #[derive(Deserialize)]
    struct WriteParams {
        path: PathBuf,
        content: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TerminalParams {
        terminal_id: String,
    }
    let of_terminal =
        |job: fn(String) -> Job| params.read().map(|TerminalParams { terminal_id }| (job(terminal_id), None));
    let begins = match method {
        ClientMethod::Read => {
            params.read().map(|Read { path, line, limit }| (Job::Read { path, line, limit }, None))
        }
        ClientMethod::Write => params
            .read()
            .map(|WriteParams { path, content }| (Job::Base { path }, Some(Then::Write(content)))),
        ClientMethod::Create => params.read().map(|command: CreateTerminal| {
            (Job::Place { wanted: command.cwd.clone() }, Some(Then::Run(command)))
        }),
        ClientMethod::Output => of_terminal(Job::Output),
        ClientMethod::Wait => of_terminal(Job::Wait),
        ClientMethod::Kill => of_terminal(Job::Kill),
        ClientMethod::Release => of_terminal(Job::Release),
    };
    begins.ok_or_else(|| {
        CodedError::new(
            ErrorCode::InvalidParams,
            "The parameters are not those of the Agent Client Protocol, so nothing was done; send what it says.",
        )
    })
}

fn unread(path: &str) -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        format!(
            "`{path}` has changes in the editor that are not saved and that you have not read, and this would drop them, so nothing was written; read the file through the client and make the change from that."
        ),
    )
}

pub(super) fn no_turn() -> CodedError {
    CodedError::new(
        ErrorCode::Cancelled,
        "No turn of this session runs any more, so nothing was done; ask in the next turn.",
    )
}

/// As an agent knows it.
fn code_of(code: ErrorCode) -> i64 {
    match code {
        ErrorCode::InvalidParams => AcpError::INVALID_PARAMS,
        ErrorCode::NotFound => AcpError::NOT_FOUND,
        ErrorCode::Cancelled => AcpError::REQUEST_CANCELLED,
        ErrorCode::Internal => AcpError::INTERNAL,
        _ => AcpError::REFUSED,
    }
}
