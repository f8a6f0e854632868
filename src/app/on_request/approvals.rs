//! `bb/approvePermission` and every other way an ask is settled: exactly once, durably, said as an event.

use serde_json::{Map, Value};

use crate::app::ports::EngineCall;
use crate::app::record::{Ask, Settler};
use crate::app::state::App;
use crate::domain::approval::{
    PermissionAsk, PermissionOptionKind, PermissionRule, PermissionStatus, RuleScope,
};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::protocol::request::*;
use crate::protocol::{ErrorCode, WireError};

impl App {
    /// Checked in this order: params, session, request, trust (allowing only), digest.
    pub(in crate::app) fn approve_permission(
        &mut self,
        params: ApprovePermissionParams,
    ) -> Result<ApprovePermissionResult, WireError> {
        let session_id = match (params.session_id, params.tab_id) {
            (Some(session_id), _) => session_id,
            (None, Some(_)) => {
                return Err(WireError::new(
                    ErrorCode::UnknownTab,
                    "There is no such tab; answer with the `sessionId`.",
                ));
            }
            (None, None) => {
                return Err(WireError::new(
                    ErrorCode::InvalidParams,
                    "The params of `bb/approvePermission` need a `sessionId` or a `tabId`.",
                ));
            }
        };
        self.load(&session_id)?;
        let Some(ask) =
            self.live_mut(&session_id).and_then(|live| live.asks.get(&params.request_id).cloned())
        else {
            return self.settled_before(&session_id, &params.request_id);
        };
        let Some(option) =
            PermissionAsk::choose(&ask.permission.options, params.option_id.as_deref(), params.decision)
        else {
            return Err(WireError::new(
                ErrorCode::InvalidParams,
                "This request has no such option; answer with one of its `options`.",
            ));
        };
        let allowed = option.kind != PermissionOptionKind::Deny;
        if allowed && !self.trusted {
            return Err(WireError::new(
                ErrorCode::UntrustedWorkspace,
                "This workspace is not trusted, so nothing may be written or run in it; trust it first, or deny.",
            ));
        }
        if params.digest.is_some_and(|digest| digest != ask.permission.digest) {
            return Err(WireError::new(
                ErrorCode::Conflict,
                "What is asked is not what was shown; look at the request again and answer that.",
            ));
        }
        if option.kind == PermissionOptionKind::AllowRule {
            let rule = narrowed(ask.permission.rule.as_ref(), params.rule_update)?;
            self.record_mut(&session_id)?.rules.push(rule);
        }
        let status = if allowed { PermissionStatus::Allowed } else { PermissionStatus::Denied };
        self.settle_ask(&session_id, &params.request_id, status, &option.option_id, Settler::User);
        self.flush(&session_id);
        Ok(ApprovePermissionResult {
            request_id: params.request_id,
            outcome: ApprovalOutcome::Recorded,
            resolution: Some(status),
            resolved_by: Some("user".to_owned()),
        })
    }

    fn settled_before(
        &mut self,
        session_id: &str,
        request_id: &str,
    ) -> Result<ApprovePermissionResult, WireError> {
        self.flush(session_id);
        let unwritten = self
            .unwritten
            .iter()
            .rev()
            .filter(|commit| commit.session_id == session_id)
            .flat_map(|commit| commit.ledger.iter().rev())
            .find(|row| row.request_id == request_id)
            .cloned();
        let row = match unwritten {
            Some(row) => Some(row),
            None => self.journal()?.ask(session_id, request_id).ok().flatten(),
        };
        let Some(row) = row else {
            return Err(WireError::new(
                ErrorCode::UnknownRequest,
                "There is no such permission request in this session; it may belong to another one.",
            ));
        };
        let resolved_by = serde_json::from_slice::<Ask>(&row.record)
            .ok()
            .and_then(|ask| ask.resolved_by)
            .map(|by| by.as_str().to_owned());
        Ok(ApprovePermissionResult {
            request_id: request_id.to_owned(),
            outcome: ApprovalOutcome::AlreadyResolved,
            resolution: Some(row.status),
            resolved_by,
        })
    }

    /// Settles one ask: engine, ledger, event.
    pub(in crate::app) fn settle_ask(
        &mut self,
        session_id: &str,
        request_id: &str,
        status: PermissionStatus,
        option_id: &str,
        by: Settler,
    ) {
        let now = self.ambient.now_ms();
        let Some(mut ask) = self.live_mut(session_id).and_then(|live| live.asks.remove(request_id)) else {
            return;
        };
        ask.status = status;
        ask.resolved_by = Some(by);
        self.note_ask(session_id, &ask);
        let turn = self.known(session_id).ok().and_then(|session| session.record.open_turn);
        let mut payload = Map::new();
        payload.insert("requestId".to_owned(), Value::from(request_id));
        payload.insert("status".to_owned(), serde_json::to_value(status).unwrap_or_default());
        if !option_id.is_empty() {
            payload.insert("optionId".to_owned(), Value::from(option_id));
        }
        payload.insert("resolvedBy".to_owned(), Value::from(by.as_str()));
        self.record_event(
            session_id,
            NormalizedEvent::local(LocalKind::PermissionSettled, turn, now, payload),
        );
        self.state_changed = true;
        // After a restart nobody waits for the answer any more.
        if let (Ok(engine), true) = (&self.engine, by != Settler::Restart) {
            engine.call(EngineCall::Answer {
                session_id: session_id.to_owned(),
                engine_request_id: ask.engine_request_id,
                option_id: option_id.to_owned(),
                allowed: status == PermissionStatus::Allowed,
            });
        }
    }

    /// Settles everything of a session that waits.
    pub(in crate::app) fn settle_asks(&mut self, session_id: &str, status: PermissionStatus, by: Settler) {
        let waiting: Vec<String> =
            self.live_mut(session_id).map(|live| live.asks.keys().cloned().collect()).unwrap_or_default();
        for request_id in waiting {
            self.settle_ask(session_id, &request_id, status, "", by);
        }
    }
}

/// The rule to save: what was shown, or narrower, never wider. Patterns are compared whole, so the only narrower pattern
/// is the same one; a session is narrower than a workspace.
fn narrowed(shown: Option<&PermissionRule>, update: Option<RuleUpdate>) -> Result<PermissionRule, WireError> {
    let Some(shown) = shown else {
        return Err(WireError::new(
            ErrorCode::InvalidParams,
            "This request offers no rule; allow it once or deny it.",
        ));
    };
    let update = update.unwrap_or_default();
    let pattern = update.pattern.unwrap_or_else(|| shown.pattern.clone());
    let scope = update.scope.unwrap_or(shown.scope);
    if pattern != shown.pattern || (scope == RuleScope::Workspace && shown.scope == RuleScope::Session) {
        return Err(WireError::new(
            ErrorCode::InvalidParams,
            "The rule would be wider than what was shown; save it as shown, or narrower.",
        ));
    }
    Ok(PermissionRule { pattern, scope })
}
