//! Answers to asks of an engine that holds sessions: sent in its words, confirmed by its events.
//!
//! Owns the time between the two. The engine's "taken" is not a settlement: it takes answers that it then throws away.

use serde_json::Value;

use super::approvals::Settling;
use crate::app::inbox::Reply;
use crate::app::patch_note::part_made;
use crate::app::ports::{EngineCall, EngineDecision, Ruling};
use crate::app::record::Settler;
use crate::app::state::App;
use crate::domain::approval::{
    PermissionOption, PermissionOptionKind, PermissionRule, PermissionStatus, RuleScope,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::fact::Confirmed;
use crate::protocol::request::*;

impl App {
    /// Sends a decision; the ask stays pending until the engine confirms it.
    pub(super) fn decide(
        &mut self,
        session_id: &str,
        request_id: &str,
        option: &PermissionOption,
        rule: Option<PermissionRule>,
        content: Option<Value>,
        reply: Reply<ApprovePermissionResult>,
    ) {
        let narrowed = rule.clone();
        let ruling = match (option.kind, rule) {
            (PermissionOptionKind::Deny, _) => Ruling::Deny,
            (PermissionOptionKind::AllowRule, Some(rule)) => {
                Ruling::AllowRule { pattern: rule.pattern, scope: scope_word(rule.scope).to_owned() }
            }
            (PermissionOptionKind::AllowRule | PermissionOptionKind::AllowOnce, _) => Ruling::AllowOnce,
        };
        let option_id = Some(option.option_id.clone()).filter(|id| !id.is_empty());
        let mut decision = EngineDecision { ruling, option_id, content, part: None };
        let status = super::approvals::status_of(option);
        if let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id)) {
            ask.given_rule = narrowed;
            // Why its parts were rejected, where the user said so.
            decision.part = ask.proposal.as_ref().and_then(part_made);
        }
        self.send_decision(session_id, request_id, decision, status, Some(reply));
    }

    /// Denies what waits and stops the turn with it: the engine hears no other stop while it waits.
    pub(super) fn deny_and_stop(&mut self, session_id: &str) {
        let waiting: Vec<String> =
            self.live_mut(session_id).map(|live| live.asks.keys().cloned().collect()).unwrap_or_default();
        for request_id in waiting {
            let decision = Ruling::DenyAndStop.into();
            self.send_decision(session_id, &request_id, decision, PermissionStatus::Denied, None);
        }
    }

    pub(in crate::app) fn send_decision(
        &mut self,
        session_id: &str,
        request_id: &str,
        decision: EngineDecision,
        status: PermissionStatus,
        reply: Option<Reply<ApprovePermissionResult>>,
    ) {
        let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id)) else {
            return;
        };
        ask.answered = Some(status);
        ask.given.clone_from(&decision.option_id);
        ask.sent = true;
        let ask = ask.clone();
        // Written first: after a crash the confirmation that is replayed is known as the user's own.
        self.note_ask(session_id, &ask);
        self.flush(session_id);
        let call = EngineCall::Decide {
            session_id: session_id.to_owned(),
            engine_request_id: ask.engine_request_id,
            decision,
            request_id: request_id.to_owned(),
            reply,
        };
        self.call_engine(session_id, call);
    }

    /// The engine took a decision, or refused it.
    pub(in crate::app) fn decision_taken(
        &mut self,
        session_id: &str,
        request_id: &str,
        outcome: Result<(), CodedError>,
        reply: Option<Reply<ApprovePermissionResult>>,
    ) {
        if let Err(error) = &outcome {
            let ask = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id));
            if let Some(ask) = ask {
                ask.answered = None;
                ask.given_by = None;
                ask.client = None;
                let ask = ask.clone();
                self.note_ask(session_id, &ask);
                if error.code == ErrorCode::Conflict {
                    // The engine waits for nothing any more.
                    let (status, by) = (PermissionStatus::Cancelled, Settler::Engine);
                    self.settle_ask(session_id, request_id, status, "", by);
                }
                self.flush(session_id);
            }
        }
        if let Some(reply) = reply {
            reply.settle(outcome.map(|()| ApprovePermissionResult {
                request_id: request_id.to_owned(),
                outcome: ApprovalOutcome::Recorded,
                resolution: None,
                resolved_by: None,
                client: None,
            }));
        }
    }

    /// The engine said that an ask is answered, by us or by another client.
    pub(in crate::app) fn confirmed(&mut self, session_id: &str, confirmed: Confirmed) {
        let Confirmed { engine_request_id, allowed, client, .. } = confirmed;
        let Some(live) = self.live_mut(session_id) else { return };
        // Engines repeat their ids; at most one of them waits.
        let waiting = live.asks.iter_mut().find(|(_, ask)| ask.engine_request_id == engine_request_id);
        let Some((request_id, ask)) = waiting else { return };
        let request_id = request_id.clone();
        let given_by = ask.given_by.unwrap_or(Settler::User);
        let (status, by) = match (allowed, ask.answered) {
            (true, Some(PermissionStatus::Allowed)) => (PermissionStatus::Allowed, given_by),
            (true, _) => (PermissionStatus::Allowed, Settler::Engine),
            (false, Some(PermissionStatus::Denied)) => (PermissionStatus::Denied, given_by),
            (false, Some(PermissionStatus::Expired)) => (PermissionStatus::Expired, Settler::Expiry),
            (false, _) => (PermissionStatus::Denied, Settler::Engine),
        };
        if by == Settler::Engine {
            ask.client = client;
        }
        let wanted = if allowed { PermissionOptionKind::AllowOnce } else { PermissionOptionKind::Deny };
        let option = ask.permission.options.iter().find(|option| option.kind == wanted);
        // The user's own answer may be another one of the same kind.
        let given = ask.given.clone().filter(|_| by == given_by);
        let rule = ask.given_rule.clone().filter(|_| given.is_some());
        let option_id = given.or(option.map(|option| option.option_id.clone())).unwrap_or_default();
        self.settle_with(session_id, &request_id, Settling { status, option_id, rule, content: None, by });
    }
}

/// A scope in the engine's word. It keeps rules for a project only; without one an answer holds for its run.
fn scope_word(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Workspace => "project",
        RuleScope::Session => "session",
    }
}
