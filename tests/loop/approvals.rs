//! Asks are settled exactly once, durably, and never without trust (wire.md section 3, Permission).

use serde_json::{Value, json};

use crate::desk::{Desk, Setup, types};

async fn waiting(desk: &Desk, session: &str) -> Value {
    desk.prompt(session, "go").await;
    desk.ask_to_run(session, "permission_1", "cargo test").await;
    let events = desk.events(session).await;
    let event = events.iter().find(|event| event["class"] == "permission.request").unwrap();
    event["permission"].clone()
}

fn answer(session: &str, permission: &Value, decision: &str) -> Value {
    json!({"sessionId": session, "requestId": permission["requestId"], "decision": decision})
}

#[tokio::test]
async fn r000_28_an_answer_counts_once_and_is_said_as_an_event() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let permission = waiting(&desk, &session).await;
    let mut params = answer(&session, &permission, "allow_once");
    params["digest"] = permission["digest"].clone();
    let first = desk.ask("bb/approvePermission", params.clone()).await.unwrap();
    assert_eq!(first["outcome"], "recorded");
    params["decision"] = json!("deny");
    let second = desk.ask("bb/approvePermission", params).await.unwrap();
    let expected = json!({"requestId": permission["requestId"], "outcome": "already_resolved",
        "resolution": "allowed", "resolvedBy": "user"});
    assert_eq!(second, expected);
    assert_eq!(desk.engine_heard(), ["start 1 go", "answer permission_1 true"]);
    let events = desk.events(&session).await;
    assert_eq!(types(&events), ["local.prompt", "command.request_approval", "local.permission_settled"]);
    assert_eq!(events[2]["payload"]["status"], "allowed");
}

#[tokio::test]
async fn refusals_come_in_the_order_of_the_wire_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { trusted: false, ..Setup::default() });
    let session = desk.session().await;
    let permission = waiting(&desk, &session).await;
    let code =
        async |params: Value| desk.ask("bb/approvePermission", params).await.unwrap_err().code.as_str();
    assert_eq!(code(json!({"requestId": "r", "decision": "yes"})).await, "invalid_params");
    assert_eq!(code(json!({"requestId": "r", "decision": "deny"})).await, "invalid_params");
    assert_eq!(
        code(json!({"sessionId": "no", "requestId": "r", "decision": "deny"})).await,
        "unknown_session"
    );
    assert_eq!(
        code(json!({"sessionId": session, "requestId": "r", "decision": "deny"})).await,
        "unknown_request"
    );
    let mut wrong = answer(&session, &permission, "allow_once");
    wrong["digest"] = json!("sha256:0");
    assert_eq!(code(wrong.clone()).await, "untrusted_workspace");
    wrong["decision"] = json!("deny");
    assert_eq!(code(wrong).await, "conflict");
    assert_eq!(desk.engine_heard(), ["start 1 go"]);
    let denied = desk.ask("bb/approvePermission", answer(&session, &permission, "deny")).await.unwrap();
    assert_eq!((&denied["outcome"], &denied["resolution"]), (&json!("recorded"), &json!("denied")));
}

#[tokio::test]
async fn a_saved_rule_covers_the_same_command_and_no_longer_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let permission = waiting(&desk, &session).await;
    let mut wider = answer(&session, &permission, "allow_rule");
    wider["ruleUpdate"] = json!({"pattern": "run: cargo"});
    let refused = desk.ask("bb/approvePermission", wider).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_params");
    let mut narrower = answer(&session, &permission, "allow_rule");
    narrower["ruleUpdate"] = json!({"scope": "session"});
    desk.ask("bb/approvePermission", narrower).await.unwrap();
    // The settlement says what was chosen, and the rule as it was saved
    let settled = desk.events(&session).await.pop().unwrap();
    let option =
        permission["options"].as_array().unwrap().iter().find(|one| one["kind"] == "allow_rule").unwrap();
    let chosen = json!({"optionId": option["optionId"], "label": option["label"],
        "rule": {"pattern": option["rule"]["pattern"], "scope": "session", "holder": "server"}});
    assert_eq!(settled["payload"]["chosen"], chosen);
    desk.ask_to_run(&session, "permission_2", "cargo test").await;
    desk.ask_to_run(&session, "permission_3", "cargo test && rm -r x").await;
    desk.caught_up().await;
    assert_eq!(desk.engine_heard(), ["start 1 go", "answer permission_1 true", "answer permission_2 true"]);
    // What a rule settled nobody chose
    let events = desk.events(&session).await;
    let by_rule = events.iter().find(|event| event["payload"]["resolvedBy"] == "rule").unwrap();
    assert_eq!(by_rule["payload"].get("chosen"), None);
}

#[tokio::test]
async fn a_stop_settles_what_waits_so_that_it_cannot_hang_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let permission = waiting(&desk, &session).await;
    desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    assert_eq!(desk.engine_heard(), ["start 1 go", "answer permission_1 false", "stop"]);
    let late = desk.ask("bb/approvePermission", answer(&session, &permission, "allow_once")).await.unwrap();
    assert_eq!((&late["resolution"], &late["resolvedBy"]), (&json!("cancelled"), &json!("stop")));
}
