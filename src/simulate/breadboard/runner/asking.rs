//! A run asks for permission: when it need not, how it waits, what an answer leaves behind. Section 5 of the facts.

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::Run;
use crate::simulate::breadboard::permission::{self, PermissionAnswer, Rule};
use crate::simulate::breadboard::session::{Pending, push_to};
use crate::simulate::breadboard::{clock, python_json, talk};

impl Run {
    /// Asks and waits, for ever if nobody answers. A rule or an earlier `allow-always` of this run answers without a word.
    pub(super) async fn ask(&mut self, asked: &Map<String, Value>) -> (bool, bool) {
        self.permissions += 1;
        let (request, answer) = {
            let mut state = self.session.state();
            let request = permission::request(asked.clone(), self.permissions, state.next_inner());
            let matching = |rule: &&Rule| {
                request.get("category") == Some(&json!(rule.category))
                    && request.get("pattern") == Some(&json!(rule.pattern))
            };
            if let Some(rule) = state.rules.iter().find(matching) {
                return (rule.decision == "allow", false);
            }
            if self.allowed.contains(&subject(&request)) {
                return (true, false);
            }
            let (sender, answer) = oneshot::channel();
            let id = request.get("request_id").and_then(Value::as_str).unwrap_or_default().to_owned();
            push_to(
                &mut state.metadata,
                "pending_permissions",
                json!({"source": "session", "request_id": id, "request": request}),
            );
            state.pending = Some(Pending { request_id: id, answer: sender });
            (request, answer)
        };
        let turn = self.session.state().turn();
        let classes = talk::classification("permission_request");
        self.session.emit("permission_request", &python_json::text(&json!(request)), turn, &classes);
        // The sender is dropped only with the session.
        let answer = answer
            .await
            .unwrap_or_else(|_| PermissionAnswer { all: "reject".into(), ..PermissionAnswer::default() });
        let (responses, allowed) = permission::settled(&request, &answer);
        let seq = {
            let mut state = self.session.state();
            if let Some(list) = state.metadata.get_mut("pending_permissions").and_then(Value::as_array_mut) {
                list.clear();
            }
            state.next_inner()
        };
        let event = permission::response_event(&request, &responses, seq);
        self.session.emit("permission_response", &python_json::text(&event), turn, &classes);
        let (category, pattern) = subject(&request);
        if let Some(rule) = answer.rule {
            let decision = if answer.all == "always" { "allow" } else { "deny" };
            let updated_at_ms = u64::try_from(clock::now().as_millis()).unwrap_or(u64::MAX);
            let rule = Rule {
                category: category.clone(),
                pattern: rule,
                decision: decision.into(),
                scope: "project".into(),
                updated_at_ms,
            };
            permission::upsert_rule(&self.session.workspace, rule);
        }
        if allowed && answer.all == "always" {
            self.allowed.insert((category, pattern));
        }
        (allowed, answer.stop)
    }
}

fn subject(request: &Map<String, Value>) -> (String, String) {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("category"), text("pattern"))
}
