//! The ledger of asks: who asks, how long an ask waits, which rules hold where, and how one is taken back.

use serde_json::{Value, json};
use std::time::Duration;

use crate::desk::{Desk, Setup};

async fn asked(desk: &Desk, session: &str, id: &str, command: &str) -> Value {
    desk.ask_to_run(session, id, command).await;
    desk.caught_up().await;
    let listed = desk.ask("bb/permission/list", json!({ "sessionId": session })).await.unwrap();
    let pending = listed["pending"].as_array().unwrap().clone();
    assert_eq!(pending.len(), 1, "{listed}");
    pending[0].clone()
}

async fn decide(desk: &Desk, session: &str, pending: &Value, option: &str) -> Value {
    let params = json!({
        "sessionId": session, "requestId": pending["permission"]["requestId"], "decision": "allow_rule",
        "optionId": option, "digest": pending["permission"]["digest"],
    });
    desk.ask("bb/approvePermission", params).await.unwrap()
}

async fn rules(desk: &Desk) -> Vec<(String, String, Value)> {
    let listed = desk.ask("bb/permission/list", json!({})).await.unwrap();
    let rules = listed["rules"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rules.map(|rule| (text(&rule["pattern"]), text(&rule["scope"]), rule["ruleId"].clone())).collect()
}

#[tokio::test]
async fn what_waits_is_listed_with_who_asks_and_until_when() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { expire_after_seconds: Some(60), ..Setup::default() });
    let session = desk.session().await;
    desk.prompt(&session, "go").await;
    let pending = asked(&desk, &session, "permission_1", "cargo test").await;
    assert_eq!(
        (&pending["sessionId"], &pending["source"], pending.get("generation")),
        (&json!(session), &json!("embedded"), None)
    );
    let asked_at = pending["askedAt"].as_i64().unwrap();
    assert_eq!(pending["permission"]["expiresAt"], json!(asked_at + 60_000));
    assert_eq!(desk.ask("bb/permission/list", json!({})).await.unwrap()["pending"][0], pending);
    let other = desk.session().await;
    let none = desk.ask("bb/permission/list", json!({ "sessionId": other })).await.unwrap();
    let files = json!({ "read": ["**/*"], "change": ["**/*"], "never": [] });
    let approvals =
        json!({ "mode": "ask", "classes": {}, "patterns": [], "runner": "local_terminal", "files": files });
    assert_eq!(none, json!({ "pending": [], "rules": [], "approvals": approvals }));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_nobody_answers_in_time_is_denied_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { expire_after_seconds: Some(60), ..Setup::default() });
    let session = desk.session().await;
    desk.prompt(&session, "go").await;
    let pending = asked(&desk, &session, "permission_1", "cargo test").await;
    tokio::time::advance(Duration::from_secs(59)).await;
    desk.caught_up().await;
    assert_eq!(desk.engine_heard(), ["start 1 go"]);
    tokio::time::advance(Duration::from_secs(2)).await;
    let events = desk.events(&session).await;
    let settled = events.iter().find(|event| event["type"] == "local.permission_settled").unwrap();
    assert_eq!(
        settled["payload"],
        json!({
            "requestId": pending["permission"]["requestId"], "status": "expired", "optionId": "deny",
            "resolvedBy": "expiry"
        })
    );
    assert_eq!(desk.engine_heard(), ["start 1 go", "answer permission_1 false"]);
    let late = decide(&desk, &session, &pending, "allow_once").await;
    assert_eq!(
        late,
        json!({
            "requestId": pending["permission"]["requestId"], "outcome": "already_resolved",
            "resolution": "expired", "resolvedBy": "expiry"
        })
    );
}

#[tokio::test]
async fn a_rule_of_the_workspace_holds_in_its_other_sessions_and_after_a_restart_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "go").await;
    let pending = asked(&desk, &session, "permission_1", "cargo test").await;
    decide(&desk, &session, &pending, "allow_rule_workspace").await;
    let pattern = "run: cargo test (in .)".to_owned();
    let saved = rules(&desk).await;
    assert_eq!(
        saved.iter().map(|(p, s, _)| (p.clone(), s.as_str())).collect::<Vec<_>>(),
        [(pattern, "workspace")]
    );
    desk.close().await;

    let again = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    let other = again.session().await;
    again.prompt(&other, "go").await;
    again.ask_to_run(&other, "permission_1", "cargo test").await;
    again.caught_up().await;
    assert_eq!(again.engine_heard(), ["start 1 go", "answer permission_1 true"]);
    let rule_id = rules(&again).await[0].2.clone();
    assert_eq!(rule_id, saved[0].2);
    let revoked = again.ask("bb/permission/revoke", json!({ "ruleId": rule_id })).await.unwrap();
    assert_eq!(revoked, json!({ "ruleId": rule_id, "revoked": true }));
    assert_eq!(rules(&again).await, []);
    asked(&again, &other, "permission_2", "cargo test").await;
    let gone = again.ask("bb/permission/revoke", json!({ "ruleId": rule_id })).await.unwrap_err();
    assert_eq!(gone.code.as_str(), "not_found");
    again.close().await;
    let third = Desk::at(dir.path(), Setup { first_id: 200, ..Setup::default() });
    assert_eq!(rules(&third).await, []);
}

#[tokio::test]
async fn a_rule_of_a_session_holds_there_only_and_is_saved_once() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "go").await;
    let pending = asked(&desk, &session, "permission_1", "cargo test").await;
    decide(&desk, &session, &pending, "allow_rule").await;
    let other = desk.session().await;
    desk.prompt(&other, "go").await;
    asked(&desk, &other, "permission_1", "cargo test").await;
    let saved = rules(&desk).await;
    assert_eq!(saved.len(), 1);
    assert_eq!((saved[0].0.as_str(), saved[0].1.as_str()), ("run: cargo test (in .)", "session"));
    desk.ask("bb/permission/revoke", json!({ "ruleId": saved[0].2 })).await.unwrap();
    desk.ask_to_run(&session, "permission_2", "cargo test").await;
    desk.caught_up().await;
    let waiting = desk.ask("bb/permission/list", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(waiting["pending"].as_array().unwrap().len(), 1);
}
