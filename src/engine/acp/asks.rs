//! What an agent asks of the user: permissions, forms, and what it wants its client to do, by the agent's ids.
//!
//! Owns who waits for an answer and how each kind is answered. Every one of them is answered once: by the user, or as
//! cancelled when the turn is stopped, the agent takes it back or nobody can answer.

use serde_json::Value;

use super::agent::Agent;
use super::ask::{Ask, AskKind};
use crate::app::ports::{AgentReport, EngineDecision, EngineReport};
use crate::domain::dialect::acp::decode::{AcpError, RpcId, ask_event, ask_id, asked_by, method_event};
use crate::domain::dialect::acp::encode::{self, ElicitationAnswer, PermissionOutcome};
use crate::domain::payload::Payload;

impl Agent {
    /// The agent asks the user of this session.
    pub(super) fn asks_user(
        &mut self,
        session_id: &str,
        id: RpcId,
        method: &str,
        params: Payload,
        repaired: bool,
        kind: AskKind,
    ) {
        let twice = self.rpc.asks.waits(&id);
        if twice || self.rpc.asks.is_full() {
            tracing::warn!(agent = self.name(), method, twice, "an agent asked what nobody will be asked");
            // An id that is used twice is answered once.
            if !twice {
                self.write(cancelled(&id, &kind));
            }
            let mut event = method_event(method, params);
            event.repaired = repaired;
            return self.said(session_id, event);
        }
        let mut event = ask_event(method, params, self.process.generation(), &id);
        event.repaired = repaired;
        self.said(session_id, event);
        self.rpc.asks.add(id, Ask { session_id: session_id.to_owned(), kind });
    }

    /// The user answered, or nobody did.
    pub(super) fn decide(&mut self, engine_request_id: &str, decision: EngineDecision) {
        let id = asked_by(engine_request_id);
        // Nobody waits in the process before.
        let id = id.filter(|(generation, _)| *generation == self.process.generation()).map(|(_, id)| id);
        let Some((id, ask)) = id.and_then(|id| self.rpc.asks.take(&id)) else { return };
        // The agent goes on: its silence begins now.
        self.heard_of(&ask.session_id);
        let allowed = decision.allows();
        self.note_denial(&ask, allowed);
        let Some(option_id) = decision.option_id else { return self.write(cancelled(&id, &ask.kind)) };
        let result = match ask.kind {
            AskKind::Work(job) if allowed => return self.allowed_work(&ask.session_id, id, *job),
            AskKind::Work(_) => {
                let text = "The user did not allow this, so it was not done.";
                return self.write(encode::error_answer(&id, AcpError::REFUSED, text));
            }
            AskKind::Permission(edits) => {
                let session = self.sessions.get_mut(&ask.session_id);
                if let Some(turn) = session.and_then(|session| session.turn.as_mut()).filter(|_| allowed) {
                    turn.allowed.add(edits);
                }
                encode::permission(PermissionOutcome::Selected(&option_id))
            }
            AskKind::Elicitation if allowed => {
                encode::elicitation(ElicitationAnswer::Accept(decision.content))
            }
            AskKind::Elicitation => encode::elicitation(ElicitationAnswer::Decline),
        };
        self.write(encode::answer(&id, &result));
    }

    /// Some agents end their turn when something is denied, and call it cancelled, or done.
    fn note_denial(&mut self, ask: &Ask, allowed: bool) {
        let asks_leave = !matches!(ask.kind, AskKind::Elicitation);
        let session = self.sessions.get_mut(&ask.session_id).filter(|_| asks_leave && !allowed);
        if let Some(turn) = session.and_then(|session| session.turn.as_mut()) {
            turn.denials.add();
        }
    }

    /// Answers everything of a session that waits as cancelled.
    pub(super) fn cancel_asks(&mut self, session_id: &str) {
        for (id, ask) in self.rpc.asks.take_of(session_id) {
            self.write(cancelled(&id, &ask.kind));
        }
    }

    /// The agent takes a request of its own back. It still gets its answer.
    pub(super) fn withdrawn(&mut self, params: &Payload) -> Option<String> {
        let id = params.get("requestId").map(Value::to_string).and_then(|json| RpcId::from_json(&json))?;
        let Some((_, ask)) = self.rpc.asks.take(&id) else { return self.withdraw_work(&id) };
        self.write(encode::error_answer(&id, AcpError::REQUEST_CANCELLED, "The request was taken back."));
        Some(ask.session_id)
    }

    /// Tells that an ask waits no more.
    pub(super) fn tell_withdrawn(&mut self, session_id: &str, params: &Payload) {
        let id = params.get("requestId").map(Value::to_string).and_then(|json| RpcId::from_json(&json));
        if let Some(id) = id {
            let engine_request_id = ask_id(self.process.generation(), &id);
            self.report(EngineReport::Agent(AgentReport::AskWithdrawn {
                session_id: session_id.to_owned(),
                engine_request_id,
            }));
        }
    }

    /// Nobody can be asked: there is no session to ask in.
    pub(super) fn nobody_to_ask(&mut self, id: &RpcId, method: &str) {
        self.write(cancelled(id, &AskKind::of(method, Vec::new())));
    }
}

/// The answer where nobody decided.
pub(super) fn cancelled(id: &RpcId, kind: &AskKind) -> String {
    let result = match kind {
        AskKind::Permission(_) => encode::permission(PermissionOutcome::Cancelled),
        AskKind::Elicitation => encode::elicitation(ElicitationAnswer::Cancel),
        AskKind::Work(_) => {
            let text = "Nobody allowed this before the turn ended, was stopped or the time for it was over, so it was not done.";
            return encode::error_answer(id, AcpError::REQUEST_CANCELLED, text);
        }
    };
    encode::answer(id, &result)
}
