//! Permission: what the engine asks is asked of the client, and its answer goes to the loop.
//!
//! Owns that each request is asked once and that an answer counts for what was shown. An answer that is none, or one that cannot
//! be taken, allows nothing. A request that is settled elsewhere is withdrawn from the client.

use std::rc::Rc;

use super::front::AcpFront;
use super::message::{RpcFault, TRUST};
use super::session::AcpSession;
use crate::domain::approval::{Decision, Permission, PermissionOptionKind, PermissionStatus};
use crate::domain::coded_error::ErrorCode;
use crate::domain::dialect::acp::agent_end::method;
use crate::domain::dialect::acp::agent_end::permission::{AcpAnswer, answer, request};
use crate::domain::dialect::acp::agent_end::updates::said;
use crate::domain::fact::NoticeLevel;
use crate::protocol::Request;
use crate::protocol::permission::{
    PermissionGetParams, PermissionGetResult, PermissionListParams, PermissionListResult,
};
use crate::protocol::request::{ApprovePermissionParams, ApprovePermissionResult, SessionParams};

impl AcpFront {
    /// Asks what waits in a session and was not asked.
    pub(super) async fn ask_what_waits(self: &Rc<Self>, session: &Rc<AcpSession>) {
        let list = PermissionListParams { session_id: Some(session.id.clone()), tab_id: None };
        let listed = session.root.root.call::<PermissionListResult>(Request::PermissionList(list)).await;
        for pending in listed.map(|listed| listed.pending).unwrap_or_default() {
            self.ask_client(session, &pending.permission.request_id);
        }
    }

    /// Asks the client, once.
    pub(super) fn ask_client(self: &Rc<Self>, session: &Rc<AcpSession>, request_id: &str) {
        let mut asks = session.asks.borrow_mut();
        if asks.contains_key(request_id) {
            return;
        }
        asks.insert(request_id.to_owned(), None);
        let (front, session, request_id) = (Rc::clone(self), Rc::clone(session), request_id.to_owned());
        tokio::task::spawn_local(async move { front.put_question(&session, &request_id).await });
    }

    async fn put_question(self: &Rc<Self>, session: &Rc<AcpSession>, request_id: &str) {
        // Events carry what fits in a view; who decides sees all of it.
        let get = PermissionGetParams {
            session_id: Some(session.id.clone()),
            tab_id: None,
            request_id: request_id.to_owned(),
        };
        let whole = session.root.root.call::<PermissionGetResult>(Request::PermissionGet(get)).await;
        let waits = |whole: &PermissionGetResult| whole.status == PermissionStatus::Pending;
        let Some(whole) = whole.ok().filter(waits) else {
            session.asks.borrow_mut().remove(request_id);
            return;
        };
        let permission = whole.permission;
        let known = session.updates.borrow().call_of(permission.tool_call_id.as_deref()).map(str::to_owned);
        let call = match known {
            Some(call) => call,
            None => {
                let call = own_call(request_id);
                let told = session.updates.borrow_mut().asked_call(&call, &permission.title);
                for update in &told {
                    self.tell_update(session, update).await;
                }
                call
            }
        };
        if !session.asks.borrow().contains_key(request_id) {
            return;
        }
        let params = request(&session.id, &session.root.root.path, &call, &permission);
        let ask = self.wire.ask(method::ASK, &params).await;
        let on_its_way = session.asks.borrow_mut().get_mut(request_id).map(|place| *place = Some(ask.id));
        if on_its_way.is_none() {
            // It was settled while it was written.
            return self.wire.withdraw(ask.id).await;
        }
        if let Some(outcome) = ask.answered().await {
            self.decide(session, &permission, outcome).await;
        }
    }

    async fn decide(
        self: &Rc<Self>,
        session: &Rc<AcpSession>,
        permission: &Permission,
        outcome: Result<serde_json::Value, RpcFault>,
    ) {
        session.asks.borrow_mut().remove(&permission.request_id);
        let chosen = match outcome.ok().as_ref().and_then(answer) {
            Some(AcpAnswer::Option(id)) => permission.options.iter().find(|option| option.option_id == id),
            Some(AcpAnswer::Nothing) | None => None,
        };
        let stopped = session.turn.borrow().as_ref().is_some_and(|turn| turn.cancelled);
        if chosen.is_none() && stopped {
            // The stop settles it.
            return;
        }
        let decision = match chosen.map(|option| option.kind) {
            Some(PermissionOptionKind::AllowOnce) => Decision::AllowOnce,
            Some(PermissionOptionKind::AllowRule) => Decision::AllowRule,
            Some(PermissionOptionKind::Deny) | None => Decision::Deny,
        };
        let option_id = chosen.map(|option| option.option_id.clone());
        let Err(error) = approve(session, permission, decision, option_id).await else { return };
        let mut sentence = format!("The answer was not taken: {}", error.message);
        if error.code == ErrorCode::UntrustedWorkspace {
            sentence = format!("{sentence} {TRUST}");
        }
        self.tell_update(session, &said(self.abilities().notices, NoticeLevel::Warning, &sentence)).await;
        // The engine still waits, and a client does not answer twice.
        if approve(session, permission, Decision::Deny, None).await.is_err() {
            let stop = Request::Stop(SessionParams { session_id: session.id.clone() });
            // Where even that is refused, the request was settled already.
            let _ = session.root.root.call::<serde_json::Value>(stop).await;
        }
    }

    /// A request was settled, by this client's answer or by something else.
    pub(super) async fn ask_settled(&self, session: &Rc<AcpSession>, request_id: &str, allowed: bool) {
        let asked = session.asks.borrow_mut().remove(request_id).flatten();
        if let Some(id) = asked {
            self.wire.withdraw(id).await;
        }
        let told = session.updates.borrow_mut().asked_call_over(&own_call(request_id), allowed);
        for update in &told {
            self.tell_update(session, update).await;
        }
    }
}

async fn approve(
    session: &AcpSession,
    permission: &Permission,
    decision: Decision,
    option_id: Option<String>,
) -> Result<ApprovePermissionResult, crate::domain::coded_error::CodedError> {
    let params = ApprovePermissionParams {
        session_id: Some(session.id.clone()),
        tab_id: None,
        request_id: permission.request_id.clone(),
        decision,
        option_id,
        digest: Some(permission.digest.clone()),
        rule_update: None,
        content: None,
    };
    session.root.root.call(Request::ApprovePermission(params)).await
}

/// The call that stands for a request of which the client knows no call.
fn own_call(request_id: &str) -> String {
    format!("ask-{request_id}")
}
