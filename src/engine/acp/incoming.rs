//! What an agent says: each line to the one that it is for, and as an event to the session that it is about.
//!
//! Owns the routing of lines. Every line becomes an event, but for answers to our own requests other than `session/prompt`
//! and for the replay of what the journal has. Never changes a payload.

use serde_json::Value;

use super::agent::Agent;
use super::ask::{ELICITATION, PERMISSION};
use super::framing::Line;
use super::own_request::OwnRequest;
use super::session::{Session, SessionReplay, State};
use super::session_table::SessionOwner;
use super::turn::Turn;
use super::unplaced::UnplacedPiece;
use crate::app::ports::EngineReport;
use crate::domain::dialect::acp::client_method::ClientMethod;
use crate::domain::dialect::acp::decode::{
    AcpError, AcpLine, CANCEL, RpcId, UPDATE, method_event, read_line, session_of, unreadable_event,
    update_event,
};
use crate::domain::dialect::acp::encode;
use crate::domain::dialect::acp::state::{is_standing, tells_mode};
use crate::domain::dialect::acp::{goes_on, tells_a_call};
use crate::domain::event::EngineEvent;
use crate::domain::payload::Payload;

impl Agent {
    /// One line.
    pub(super) fn heard(&mut self, line: Line) {
        let bytes = match line {
            Line::Whole(bytes) | Line::Half(bytes) => bytes,
            Line::Oversized { head, bytes } => {
                let mut event = unreadable_event(&String::from_utf8_lossy(&head));
                event.payload.insert("bytes".to_owned(), Value::from(bytes));
                event.payload.insert("truncated".to_owned(), Value::from(true));
                return self.tell_all(event);
            }
        };
        let read = read_line(&bytes);
        match read.line {
            AcpLine::Request { id, method, params } => self.requested(id, &method, params, read.repaired),
            AcpLine::Notification { method, params } => self.notified(&method, params, read.repaired),
            AcpLine::Answer { id, outcome } => match id.as_number().and_then(|id| self.rpc.own.take(id)) {
                Some(OwnRequest::Prompt { session_id, turn }) => {
                    self.prompt_answered(&session_id, turn, &outcome, read.repaired);
                }
                Some(asked) => self.settle(asked, outcome),
                // An id that we never gave, or one that was answered before.
                None => self.tell_all(unreadable_event(&String::from_utf8_lossy(&bytes))),
            },
            AcpLine::Unreadable { raw } => self.tell_all(unreadable_event(&raw)),
        }
    }

    /// An answer to a request of ours.
    pub(super) fn settle(&mut self, asked: OwnRequest, outcome: Result<Payload, AcpError>) {
        match asked {
            OwnRequest::Initialize => self.initialized(outcome),
            OwnRequest::Open { session_id, how } => self.opened(&session_id, how, outcome),
            OwnRequest::Prompt { session_id, turn } => {
                self.prompt_answered(&session_id, turn, &outcome, false)
            }
            OwnRequest::Close { .. } => self.end_if_idle(),
            OwnRequest::Delete { session_id, reply } => self.deleted(&session_id, outcome, reply),
            OwnRequest::List { so_far, give } => self.listed(so_far, outcome, give),
            OwnRequest::Command { session_id, command, reply } => {
                self.command_answered(&session_id, command, outcome, reply);
            }
            OwnRequest::Model { session_id, model } => self.model_answered(&session_id, &model, outcome),
            OwnRequest::StartMode { session_id, mode } => {
                self.start_mode_answered(&session_id, &mode, outcome);
            }
        }
    }

    fn notified(&mut self, method: &str, params: Payload, repaired: bool) {
        if method == UPDATE
            && let Some((at_agent, mut event)) = update_event(&params)
        {
            event.repaired = repaired;
            return self.place(Some(at_agent), UnplacedPiece::Event(event));
        }
        let withdrawn = (method == CANCEL).then(|| self.withdrawn(&params)).flatten();
        let mut event = method_event(method, params.clone());
        event.repaired = repaired;
        if let Some(session_id) = withdrawn {
            self.said(&session_id, event);
            return self.tell_withdrawn(&session_id, &params);
        }
        self.place(session_of(&params), UnplacedPiece::Event(event));
    }

    fn requested(&mut self, id: RpcId, method: &str, params: Payload, repaired: bool) {
        let at_agent = session_of(&params).or_else(|| self.session_of_request(&params));
        if method == PERMISSION || method == ELICITATION {
            if at_agent.is_none() {
                self.nobody_to_ask(&id, method);
                return self.tell_all(method_event(method, params));
            }
            return self
                .place(at_agent, UnplacedPiece::Ask { id, method: method.to_owned(), params, repaired });
        }
        if let Some(wanted) = ClientMethod::named(method).filter(|wanted| self.serves(*wanted)) {
            return self.wants(at_agent.as_deref(), id, (method, wanted), params, repaired);
        }
        let text = format!("breadboard-ls does not serve `{}` here.", super::sentence::one_line(method));
        self.write(encode::error_answer(&id, AcpError::METHOD_NOT_FOUND, &text));
        let mut event = method_event(method, params);
        event.repaired = repaired;
        self.place(at_agent, UnplacedPiece::Event(event));
    }

    /// The agent's id of the session in which a request of ours is under way that this one is about.
    fn session_of_request(&self, params: &Payload) -> Option<String> {
        let id = params.get("requestId").map(Value::to_string).and_then(|json| RpcId::from_json(&json))?;
        let session_id = self.rpc.own.session_of(id.as_number()?)?;
        self.sessions.get(session_id)?.at_agent.clone()
    }

    /// To the session with this id of the agent's, or to wait for it.
    fn place(&mut self, at_agent: Option<String>, piece: UnplacedPiece) {
        let owner = at_agent.as_ref().and_then(|id| self.sessions.owner(id)).cloned();
        match (owner, piece) {
            (Some(SessionOwner::Session(session_id)), piece) => self.deliver(&session_id, piece),
            (Some(SessionOwner::Nobody), UnplacedPiece::Event(_)) => {}
            (Some(SessionOwner::Nobody), UnplacedPiece::Ask { id, method, .. }) => {
                self.nobody_to_ask(&id, &method)
            }
            // It is about no session: whoever works hears of it.
            (None, UnplacedPiece::Event(event)) if at_agent.is_none() => self.tell_all(event),
            (None, piece) => self.hold(at_agent, piece),
        }
    }

    /// An event to the session with this id of the agent's.
    pub(super) fn place_event(&mut self, at_agent: Option<&str>, event: EngineEvent) {
        self.place(at_agent.map(str::to_owned), UnplacedPiece::Event(event));
    }

    fn hold(&mut self, at_agent: Option<String>, piece: UnplacedPiece) {
        let named_soon = self.sessions.values().any(|session| matches!(session.state, State::Opening(_)));
        match piece {
            // No session comes that it could be about, and the agent would wait for ever.
            UnplacedPiece::Ask { id, method, params, repaired } if !named_soon => {
                self.nobody_to_ask(&id, &method);
                let mut event = method_event(&method, params);
                event.repaired = repaired;
                self.tell_all(event);
            }
            piece => {
                let refused = self.sessions.keep_unplaced(at_agent, piece);
                if let Err(UnplacedPiece::Ask { id, method, .. }) = refused {
                    self.nobody_to_ask(&id, &method);
                }
            }
        }
    }

    fn deliver(&mut self, session_id: &str, piece: UnplacedPiece) {
        self.heard_of(session_id);
        match piece {
            UnplacedPiece::Event(event) => {
                let Some(session) = self.sessions.get_mut(session_id) else { return };
                let mode = if tells_mode(&event.kind) { session.mode() } else { None };
                session.facts.hear(&event.kind, &event.payload);
                if let Some(turn) = session.turn.as_mut() {
                    if tells_a_call(&event.kind) {
                        turn.told.hear(&event.payload);
                    }
                    if goes_on(&event.kind, &event.payload) {
                        turn.denials.go_on();
                    }
                }
                let changed =
                    mode.filter(|before| session.mode().is_some_and(|now| now.current != before.current));
                if let State::Opening(SessionReplay::Of(replayed)) = &mut session.state
                    && is_history(&event.kind)
                {
                    *replayed += 1;
                    return;
                }
                self.said(session_id, event);
                if changed.is_some() {
                    self.mode_changed(session_id);
                }
            }
            UnplacedPiece::Ask { id, method, params, repaired } if self.sessions.contains(session_id) => {
                self.asks(session_id, id, &method, params, repaired);
            }
            // The session was deleted here.
            UnplacedPiece::Ask { id, method, .. } => self.nobody_to_ask(&id, &method),
        }
    }

    /// What was told of a session before it was named; `None`: of no session.
    pub(super) fn place_waiting(&mut self, session_id: &str, at_agent: Option<&str>) {
        let waiting = self.sessions.take_unplaced(at_agent);
        for piece in waiting.pieces {
            self.deliver(session_id, piece);
        }
        if waiting.lost > 0 {
            let text = format!(
                "The agent `{}` told so much before it named this session that {} messages were not kept.",
                self.name(),
                waiting.lost
            );
            self.notice(session_id, "warning", text);
        }
    }

    /// To every session that works or, where none does, that is open; without any it waits for the first.
    fn tell_all(&mut self, event: EngineEvent) {
        let some = |works: bool| -> Vec<String> {
            let fits = |session: &Session| {
                session.state.is_open() && (!works || session.turn.as_ref().is_some_and(Turn::is_sent))
            };
            self.sessions.iter().filter(|(_, session)| fits(session)).map(|(id, _)| id.clone()).collect()
        };
        let mut to = some(true);
        if to.is_empty() {
            to = some(false);
        }
        if to.is_empty() {
            return self.hold(None, UnplacedPiece::Event(event));
        }
        for session_id in to {
            self.heard_of(&session_id);
            self.said(&session_id, event.clone());
        }
    }

    /// An event of a session, in the turn that runs there.
    pub(super) fn said(&mut self, session_id: &str, mut event: EngineEvent) {
        let turn = self.sessions.get(session_id).and_then(|session| session.turn.as_ref());
        event.turn = turn.filter(|turn| turn.is_sent()).map(|turn| turn.number);
        self.said_as_is(session_id, event);
    }

    pub(super) fn said_as_is(&mut self, session_id: &str, event: EngineEvent) {
        self.report(EngineReport::Said { session_id: session_id.to_owned(), event, cursor: None });
    }
}

/// Whether an update tells of what was said and done, and not of how the session stands.
fn is_history(kind: &str) -> bool {
    !is_standing(kind) && !kind.contains('/')
}
