//! What a BreadBoard engine asks before it writes or runs: asked once, answered in its words, over when it says so.

use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::Server;

/// Payloads of the decisions that reached the engine.
fn decisions(desk: &Desk, session: &str) -> Vec<Value> {
    let all = desk.commands(session).into_iter().filter(|body| body["command"] == "permission_decision");
    all.map(|body| body["payload"].clone()).collect()
}

#[test]
fn fault_02_a_rule_arrives_as_a_rule() {
    let again = asks("make test", "made again", "not again");
    let desk = Desk::scripted(&json!([[asks("make all", "made", "not made"), again]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "build");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["title"], "make all", "{ask}");
    let rule = &ask["permission"]["options"][1]["rule"];
    assert_eq!(
        *rule,
        json!({ "pattern": "make *", "scope": "workspace", "holder": "engine",
        "keptIn": ".breadboard/permission_rules.json" }),
        "{ask}"
    );
    let mut wider = Server::decision(&session, &ask, "allow_rule");
    wider["ruleUpdate"] = json!({ "pattern": "*" });
    assert_eq!(server.refused("bb/approvePermission", wider)["data"]["code"], "invalid_params");
    assert_eq!(server.decide(&session, &ask, "allow_rule")["outcome"], "recorded");
    // The second ask of the same rule is none.
    server.wait_event(&session, "the second command", |event| event["payload"]["text"] == "made again");
    ran(&server, &session);
    let wanted = json!({ "request_id": "permission_1", "rule": "make *", "scope": "project", "decision": "allow-always" });
    assert_eq!(decisions(&desk, &session), [wanted]);
    let rules: Value = serde_json::from_str(&server.read(".breadboard/permission_rules.json")).unwrap();
    let rule = &rules["rules"][0];
    assert_eq!((&rule["pattern"], &rule["decision"]), (&json!("make *"), &json!("allow")), "{rules}");
    let cards = of_kind(&chat(&mut server, &session), "permission");
    let chosen = json!({ "optionId": cards[0]["permission"]["options"][1]["optionId"],
        "label": cards[0]["permission"]["options"][1]["label"],
        "rule": { "pattern": "make *", "scope": "workspace", "holder": "engine", "keptBy": "breadboard",
            "keptIn": ".breadboard/permission_rules.json" } });
    assert_eq!(
        (cards.len(), &cards[0]["status"], &cards[0]["chosen"]),
        (1, &json!("allowed"), &chosen),
        "{cards:#?}"
    );
}

#[test]
fn fault_08_an_answer_ends_its_own_ask_although_the_engine_repeats_its_ids() {
    let desk = Desk::scripted(&json!([
        { "when": "one", "steps": [asks("make one", "first done", "first not")] },
        { "when": "two", "steps": [asks("make two", "second done", "second not")] },
    ]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "one");
    let first = server.wait_ask(&session);
    let waiting = status(&server, &session, "waiting");
    assert_eq!(waiting["pendingPermissionCount"], 1);
    server.decide(&session, &first, "allow_once");
    ran(&server, &session);
    status(&server, &session, "idle");
    assert_eq!(listed(&mut server, &session).get("pendingPermissionCount"), None);

    server.prompt(&session, "two");
    let second = server.wait_ask(&session);
    assert_eq!(first["payload"]["request_id"], second["payload"]["request_id"], "the engine repeats its ids");
    let (old, new) = (&first["permission"]["requestId"], &second["permission"]["requestId"]);
    assert_ne!(old, new);
    // The old one again changes nothing.
    let again = server
        .ask("bb/approvePermission", json!({ "sessionId": session, "requestId": old, "decision": "deny" }));
    let wanted = json!({ "requestId": old, "outcome": "already_resolved", "resolution": "allowed", "resolvedBy": "user" });
    assert_eq!(again, wanted);
    assert_eq!(listed(&mut server, &session)["pendingPermissionCount"], 1);
    server.decide(&session, &second, "deny");
    server.wait_event(&session, "the denial", |event| event["payload"]["text"] == "second not");
    ran(&server, &session);
    let cards = of_kind(&chat(&mut server, &session), "permission");
    let shown: Vec<(&Value, &Value)> =
        cards.iter().map(|card| (&card["permission"]["requestId"], &card["status"])).collect();
    assert_eq!(shown, [(old, &json!("allowed")), (new, &json!("denied"))]);
    let words: Vec<Value> = decisions(&desk, &session).iter().map(|said| said["decision"].clone()).collect();
    assert_eq!(words, ["allow-once", "deny-once"]);
}

#[test]
fn fault_11_a_denial_is_a_denial_and_a_stop_denies() {
    let desk = Desk::scripted(&json!([
        { "when": "deny", "steps": [asks("rm -r a", "gone", "kept")] },
        { "when": "stop", "steps": [asks("rm -r b", "gone", "kept"), says("went on")] },
    ]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "deny");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "deny");
    server.wait_event(&session, "the denial", |event| event["payload"]["text"] == "kept");
    ran(&server, &session);
    status(&server, &session, "idle");
    server.prompt(&session, "stop");
    server.wait_ask(&session);
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], true);
    let end = ran(&server, &session);
    assert_eq!(end["payload"]["reason"], "stopped_by_user");
    let denial = |word: &str| json!({ "request_id": "permission_1", "decision": word });
    assert_eq!(decisions(&desk, &session), [denial("deny-once"), denial("deny-stop")]);
    let blocks = chat(&mut server, &session);
    let cards: Vec<Value> =
        of_kind(&blocks, "permission").iter().map(|card| card["status"].clone()).collect();
    assert_eq!(cards, ["denied", "denied"]);
    let said: Vec<Value> = of_kind(&blocks, "assistant").iter().map(|block| block["text"].clone()).collect();
    assert_eq!(said, ["kept"]);
}

#[test]
fn r003_43_a_denied_call_without_an_id_ends_with_the_denial_and_not_with_its_run() {
    // Given an engine whose calls have no id, in a numbered step and in none, and a run that waits behind the answer
    let run = |turn: Value| {
        let function = json!({ "name": "run_shell", "arguments": "{\"command\":\"make it\"}" });
        let call = json!({ "id": null, "type": "function", "function": function });
        let called = json!({ "call": call, "call_id": null, "tool": "run_shell", "action": null, "seq": 1 });
        let mut ask = asks("make it", "made", "not made");
        let after = [
            json!({ "type": "warning", "turn": turn, "payload": warning("went on") }),
            json!({ "hold": "the view was read" }),
        ];
        ask["on_deny"] = json!(after);
        json!([{ "type": "tool_call", "turn": turn, "payload": called }, ask])
    };
    let numbered = json!({ "when": "one", "steps": run(json!(1)) });
    let without = json!({ "when": "two", "bare": true, "steps": run(Value::Null) });
    for (prompt, script) in [("one", &numbered), ("two", &without)] {
        let desk = Desk::scripted(&json!([script]));
        let mut server = desk.server();
        let session = server.session();
        server.prompt(&session, prompt);
        let ask = server.wait_ask(&session);
        // When the user denies it
        server.decide(&session, &ask, "deny");
        warned(&server, &session, "went on");
        // Then the call has ended, although the run goes on
        let tools = of_kind(&chat(&mut server, &session), "tool");
        let shown: Vec<&Value> = tools.iter().map(|tool| &tool["status"]).collect();
        assert_eq!(shown, ["denied"], "{prompt}");
        desk.engine.release("the view was read");
    }
}

#[test]
fn r000_28_an_ask_that_another_client_answered_is_over_here_too() {
    let desk = Desk::scripted(&json!([[asks("make it", "made", "not made")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    let decision = json!({ "request_id": "permission_1", "decision": "allow-once" });
    let body = json!({ "command": "permission_decision", "payload": decision });
    assert_eq!(desk.post(&format!("/v1/sessions/{session}/command"), &body).0, 202);
    let settled = heard(&server, &session, "local.permission_settled");
    assert_eq!(
        (&settled["payload"]["status"], &settled["payload"]["resolvedBy"]),
        (&json!("allowed"), &json!("engine"))
    );
    let late = server.decide(&session, &ask, "deny");
    assert_eq!((&late["outcome"], &late["resolution"]), (&json!("already_resolved"), &json!("allowed")));
    ran(&server, &session);
    assert_eq!(decisions(&desk, &session).len(), 1, "only the other client's went out");
}

#[test]
fn r000_24_a_session_that_waits_for_an_answer_is_deleted() {
    let desk = Desk::scripted(&json!([[asks("make it", "made", "not made")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_ask(&session);
    let deleted = server.ask("bb/deleteSession", json!({ "sessionId": session }));
    assert_eq!(deleted, json!({ "sessionId": session, "deleted": true }));
    assert_eq!(desk.engine.sessions(), Vec::<String>::new());
    assert_eq!(server.ask("bb/listSessions", json!({})), json!({ "sessions": [] }));
    assert_eq!(decisions(&desk, &session)[0]["decision"], "deny-stop");
}

#[test]
fn r000_53_an_ask_waits_through_a_kill_and_is_the_same() {
    let desk = Desk::scripted(&json!([[asks("make it", "made", "not made")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.kill();
    let mut next = Server::start_in(server.workspace.clone(), server.state.clone(), desk.chosen(true));
    next.shake_hands();
    let blocks = chat(&mut next, &session);
    let cards = of_kind(&blocks, "permission");
    assert_eq!((cards.len(), &cards[0]["status"]), (1, &json!("pending")), "{cards:#?}");
    assert_eq!(cards[0]["permission"]["requestId"], ask["permission"]["requestId"]);
    assert_eq!(next.decide(&session, &ask, "allow_once")["outcome"], "recorded");
    next.wait_event(&session, "the command", |event| event["payload"]["text"] == "made");
    ran(&next, &session);
    let sent = desk.engine.sent(&session).len() as u64;
    assert_eq!(numbers(&journal(&mut next, &session)), (1..=sent).collect::<Vec<_>>(), "asked once");
}
