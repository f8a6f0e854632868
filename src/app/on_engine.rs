//! What happens on an engine's report: one path from `EngineEvent` to the journal, for every engine.

use serde_json::Value;

use super::ports::{EngineReport, LedgerRow};
use super::record::{Ask, Settler};
use super::state::App;
use crate::domain::approval::{
    Permission, PermissionAsk, PermissionOptionKind, PermissionStatus, digest_of, rule_allows,
};
use crate::domain::event::{EngineEvent, EventClass};
use crate::domain::normalize::{Dialect, normalize};

impl App {
    /// One report.
    pub(super) fn on_report(&mut self, report: EngineReport) {
        match report {
            EngineReport::Said { session_id, event } => self.said(&session_id, event),
            EngineReport::TurnEnded { session_id, turn, failure } => {
                if let Some(held) = self.live_mut(&session_id).and_then(|live| live.held.take()) {
                    self.take_in(&session_id, held);
                }
                self.turn_ended(&session_id, turn, failure)
            }
            EngineReport::Wants { session_id, want } => self.wanted(&session_id, want),
        }
    }

    fn said(&mut self, session_id: &str, event: EngineEvent) {
        // A session that was deleted while its engine still spoke.
        if self.load(session_id).is_err() {
            return;
        }
        for event in self.whole_words(session_id, event) {
            self.take_in(session_id, event);
        }
    }

    /// The events to take in now. A secret that a model streams in pieces would pass piece by piece, so text whose end
    /// may be the beginning of one waits for what comes next, in front of which it then stands.
    fn whole_words(&mut self, session_id: &str, mut event: EngineEvent) -> Vec<EngineEvent> {
        let Some(live) = self.sessions.get_mut(session_id).and_then(|session| session.live.as_deref_mut())
        else {
            return vec![event];
        };
        let mut ready = Vec::new();
        if let Some(mut held) = live.held.take() {
            let goes_on = held.kind == event.kind && held.payload.get("phase") == event.payload.get("phase");
            match (streamed(&mut held), streamed(&mut event)) {
                (Some(before), Some(text)) if goes_on => text.insert_str(0, before),
                (_, _) => ready.push(held),
            }
        }
        let open = streamed(&mut event).map_or(0, |text| self.redactor.open_end(text));
        if open > 0 {
            let mut rest = event.clone();
            if let (Some(text), Some(end)) = (streamed(&mut event), streamed(&mut rest)) {
                end.drain(..end.len() - open);
                text.truncate(text.len() - open);
            }
            live.held = Some(rest);
        }
        if open == 0 || streamed(&mut event).is_some_and(|text| !text.is_empty()) {
            ready.push(event);
        }
        ready
    }

    fn take_in(&mut self, session_id: &str, event: EngineEvent) {
        let normalized = normalize(Dialect::Desktop, event);
        let mut event = normalized.event;
        if event.class == EventClass::RunFinished
            && let Some(live) = self.live_mut(session_id)
        {
            live.turn_finished = true;
        }
        if event.kind == "tool.execute" {
            self.report_progress(session_id, &event.payload);
        }
        let Some(ask) = normalized.ask else {
            self.record_event(session_id, event);
            return;
        };
        let permission = Permission {
            request_id: self.ambient.fresh_id(),
            digest: digest_of(&ask.title, &ask.subject),
            title: ask.title,
            options: ask.options,
            rule: ask.rule,
            expires_at: None,
        };
        event.permission = Some(permission.clone());
        let ask = Ask {
            permission,
            engine_request_id: ask.engine_request_id,
            status: PermissionStatus::Pending,
            resolved_by: None,
        };
        self.ask(session_id, ask, event);
    }

    /// An ask: into the ledger with its event, then settled at once when a saved rule covers it.
    fn ask(&mut self, session_id: &str, ask: Ask, event: crate::domain::event::NormalizedEvent) {
        let request_id = ask.permission.request_id.clone();
        let covered = self.trusted
            && self
                .known(session_id)
                .is_ok_and(|session| rule_allows(&session.record.rules, ask.permission.rule.as_ref()));
        let by_rule = PermissionAsk::choose(
            &ask.permission.options,
            None,
            crate::domain::approval::Decision::AllowOnce,
        )
        .filter(|option| covered && option.kind != PermissionOptionKind::Deny);
        if let Some(live) = self.live_mut(session_id) {
            live.ledger.push(LedgerRow {
                request_id: request_id.clone(),
                status: ask.status,
                record: serde_json::to_vec(&ask).unwrap_or_default(),
            });
            live.asks.insert(request_id.clone(), ask);
        }
        self.state_changed = true;
        self.record_event(session_id, event);
        // The user waits for this one: no window for it.
        self.flush(session_id);
        if let Some(option) = by_rule {
            self.settle_ask(
                session_id,
                &request_id,
                PermissionStatus::Allowed,
                &option.option_id,
                Settler::Rule,
            );
        }
    }
}

/// The text of a piece of the answer, or of the reasoning before it.
fn streamed(event: &mut EngineEvent) -> Option<&mut String> {
    let field = match event.kind.as_str() {
        "assistant.token" => "token",
        "assistant.thinking" => "message",
        _ => return None,
    };
    match event.payload.get_mut(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
