//! Sessions from `bb/init` to `bb/deleteSession`: what a client is told, in which order, and what it can read again.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Gate, Model, calls, says, says_and_waits};

fn summary(server: &mut Server, session: &str) -> Value {
    let listed = server.ask("bb/listSessions", json!({}));
    let all = listed["sessions"].as_array().expect("sessions");
    all.iter()
        .find(|one| one["sessionId"] == session)
        .unwrap_or_else(|| panic!("not listed: {listed}"))
        .clone()
}

fn texts(blocks: &Value, kind: &str) -> Vec<String> {
    let blocks = blocks.as_array().expect("blocks");
    let wanted = blocks.iter().filter(|block| block["kind"] == kind);
    wanted.map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn r000_20_init_tells_the_whole_of_what_there_is() {
    let mut server = Server::ready(Options::default());
    let init = server.ask("bb/init", json!({}));
    let epoch = init["epoch"].as_str().expect("an epoch");
    assert!(!epoch.is_empty());
    assert_eq!(
        init,
        json!({
            "v": 1,
            "server": { "name": "breadboard-ls", "version": env!("CARGO_PKG_VERSION") },
            "epoch": epoch,
            "engine": { "kind": "embedded", "status": "connected", "capabilities":
                ["chat", "retrieval", "tools", "patches", "commands", "models", "stop"] },
            "sessions": [],
            "workspaceTrusted": false,
        })
    );
    let session = server.session();
    let again = server.ask("bb/init", json!({}));
    assert_eq!(again["epoch"], init["epoch"]);
    assert_eq!(again["activeSessionId"], session.as_str());
    assert_eq!(again["sessions"][0]["sessionId"], session.as_str());
}

#[test]
fn r000_21_a_session_is_created_with_every_option_with_none_and_without_params() {
    let mut server = Server::ready(Options::default());
    let all =
        json!({ "configPath": "a.yaml", "task": "where is main?", "model": "m", "permissionMode": "ask" });
    let first = server.ask("bb/createSession", all)["sessionId"].clone();
    let second = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    server.send(&json!({ "jsonrpc": "2.0", "id": "absent", "method": "bb/createSession" }));
    let third = server.wait_response(&json!("absent"))["result"]["sessionId"].clone();
    assert!(first != second && second != third && third.is_string(), "{first} {second} {third}");
    for wrong in [json!({ "task": 5 }), json!({ "model": [] }), json!({ "permissionMode": true }), json!("x")]
    {
        assert_eq!(server.refused("bb/createSession", wrong)["data"]["code"], "invalid_params");
    }
    // The task is the session's first prompt.
    server.wait_event(first.as_str().expect("an id"), "the task as a prompt", |event| {
        event["type"] == "local.prompt" && event["payload"]["text"] == "where is main?"
    });
    assert_eq!(summary(&mut server, first.as_str().expect("an id"))["title"], "where is main?");
}

#[test]
fn params_that_are_an_empty_list_or_null_count_as_an_empty_object() {
    let mut server = Server::ready(Options::default());
    for nothing in [json!([]), Value::Null] {
        server.ask("bb/init", nothing.clone());
        let session = server.ask("bb/createSession", nothing.clone())["sessionId"].clone();
        let listed = server.ask("bb/listSessions", nothing.clone());
        assert!(
            listed["sessions"].as_array().is_some_and(|all| all.iter().any(|s| s["sessionId"] == session))
        );
        let envelope =
            json!({ "v": 1, "kind": "req", "id": "a", "method": "bb.listSessions", "params": nothing });
        assert_eq!(server.ask("bb/rpc", envelope)["result"], listed);
    }
    // A list that holds something is no object, and what is required stays required.
    assert_eq!(server.refused("bb/init", json!([5]))["data"]["code"], "invalid_params");
    assert_eq!(server.refused("bb/stop", json!([]))["data"]["code"], "invalid_params");
}

#[test]
fn r000_22_a_list_tells_title_status_and_time() {
    let gate = Gate::default();
    let model = Model::start(vec![
        says_and_waits("one", &gate, " two"),
        calls("run_command", json!({ "command": "true", "reason": "to see" })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let fresh = summary(&mut server, &session);
    assert_eq!(fresh["status"], "idle");
    assert_eq!(fresh.get("title"), None);
    let created = fresh["updatedAt"].as_i64().expect("a time");
    assert!(created > 1_700_000_000_000, "{created} are no milliseconds of our time");

    server.prompt(&session, "  First line of it\nsecond line");
    model.asked();
    let running = summary(&mut server, &session);
    assert_eq!((&running["title"], &running["status"]), (&json!("First line of it"), &json!("running")));
    assert!(running["updatedAt"].as_i64() >= Some(created));
    gate.open();
    server.wait_end(&session);

    server.prompt(&session, "run something");
    let ask = server.wait_ask(&session);
    let waiting = summary(&mut server, &session);
    assert_eq!(waiting["status"], "waiting");
    assert_eq!(waiting["pendingPermissionCount"], 1);
    assert_eq!(waiting["title"], "First line of it");
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    // A turn's last event comes before the state that follows from it.
    server.wait_notification("bb/state", |state| {
        state["sessions"][0]["status"] == "idle" && state["sessions"][0]["title"] == "First line of it"
    });
    let idle = summary(&mut server, &session);
    assert_eq!(idle["status"], "idle");
    assert_eq!(idle.get("pendingPermissionCount"), None);
}

#[test]
fn newest_sessions_are_listed_first() {
    let mut server = Server::ready(Options::default());
    let (one, two) = (server.session(), server.session());
    for (asked, other) in [(&one, &two), (&two, &one), (&one, &two)] {
        server.turn(asked, "where is main?");
        let listed = server.ask("bb/listSessions", json!({}));
        let listed = listed["sessions"].as_array().expect("sessions");
        let ids: Vec<&Value> = listed.iter().map(|session| &session["sessionId"]).collect();
        assert_eq!(ids, [asked.as_str(), other.as_str()]);
    }
}

#[test]
fn r000_23_a_selected_session_is_seen_whole_and_heard_from_there_on() {
    let model = Model::start(vec![says("the answer"), says("another")]);
    let mut server = Server::ready(model.chosen(false));
    let (first, second) = (server.session(), server.session());
    let end = server.turn(&first, "a question");
    let selected = server.ask("bb/selectSession", json!({ "sessionId": first }));
    assert_eq!(selected["sessionId"], first.as_str());
    assert_eq!(selected["seq"], end["seq"]);
    assert_eq!(selected["view"]["seq"], end["seq"]);
    assert_eq!(selected["resume"]["verdict"], "complete");
    let chat = &selected["view"]["lanes"]["chat"];
    assert_eq!(chat["hasMore"], false);
    assert_eq!(texts(&chat["blocks"], "user"), ["a question"]);
    assert_eq!(texts(&chat["blocks"], "assistant"), ["the answer"]);
    assert_eq!(server.ask("bb/init", json!({}))["activeSessionId"], first.as_str());
    server.ask("bb/selectSession", json!({ "sessionId": second }));
    assert_eq!(server.ask("bb/init", json!({}))["activeSessionId"], second.as_str());

    // What follows `seq` comes as notifications, to the view as well.
    let from = selected["seq"].as_u64().expect("a number") + 1;
    server.ask("bb/selectSession", json!({ "sessionId": first }));
    server.turn(&first, "and another");
    let sent = server.events(&first);
    assert_eq!(sent.iter().filter(|event| event["seq"] == from).count(), 1);
    server.wait_notification("bb/view", |view| {
        view["sessionId"] == first.as_str()
            && view["fromSeq"].as_u64() <= Some(from)
            && view["toSeq"].as_u64() >= Some(from)
    });
}

#[test]
fn r000_24_a_deleted_session_is_gone_for_every_method() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("one", &gate, " two")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.prompt(&session, "a question");
    model.asked();
    let deleted = server.ask("bb/deleteSession", json!({ "sessionId": session }));
    assert_eq!(deleted, json!({ "sessionId": session, "deleted": true }));
    assert_eq!(server.ask("bb/listSessions", json!({})), json!({ "sessions": [] }));
    server.wait_notification("bb/state", |state| {
        state["sessions"] == json!([]) && state.get("activeSessionId").is_none()
    });
    let error = server.refused("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(error["data"]["code"], "unknown_session");
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.shut_down();
    let mut next = Server::start_in(workspace, state, Options::default());
    next.shake_hands();
    assert_eq!(next.ask("bb/init", json!({}))["sessions"], json!([]));
}

#[test]
fn r000_36_unknown_ids_are_refused_by_every_method_that_takes_them() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    for (method, more) in [
        ("bb/selectSession", json!({})),
        ("bb/deleteSession", json!({})),
        ("bb/sendMessage", json!({ "text": "t" })),
        ("bb/stop", json!({})),
        ("bb/queue/list", json!({})),
        ("bb/queue/edit", json!({ "messageId": "m", "text": "t" })),
        ("bb/queue/move", json!({ "messageId": "m" })),
        ("bb/queue/remove", json!({ "messageId": "m" })),
        ("bb/queue/resume", json!({})),
        ("bb/approvePermission", json!({ "requestId": "r", "decision": "deny" })),
        ("bb/listFiles", json!({ "path": "" })),
        ("bb/readFileSnippet", json!({ "path": "a" })),
        ("bb/events/read", json!({ "fromSeq": 1 })),
        ("bb/eventBody", json!({ "seq": 1 })),
        ("bb/view/page", json!({ "lane": "chat" })),
        ("bb/attachment/put", json!({ "name": "a", "base64": "" })),
    ] {
        let mut params = more.clone();
        params["sessionId"] = json!("nobody");
        let error = server.refused(method, params);
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32803), &json!("unknown_session")),
            "{method}"
        );
        let error = server.refused(method, more);
        assert_eq!(error["data"]["code"], "invalid_params", "{method} without a session");
    }
    for (method, params, code) in [
        ("bb/approvePermission", json!({ "requestId": "r", "decision": "deny" }), "unknown_request"),
        ("bb/eventBody", json!({ "seq": 99 }), "not_found"),
        ("bb/view/page", json!({ "lane": "chat", "before": "nothing" }), "not_found"),
        ("bb/queue/remove", json!({ "messageId": "m" }), "not_found"),
        ("bb/queue/edit", json!({ "messageId": "m", "text": "t" }), "not_found"),
        ("bb/queue/move", json!({ "messageId": "m" }), "not_found"),
        ("bb/sendMessage", json!({ "text": "t", "attachmentIds": ["a"] }), "not_found"),
        ("bb/readFileSnippet", json!({ "path": "nothing.rs" }), "not_found"),
        ("bb/listFiles", json!({ "path": "nothing" }), "not_found"),
        ("bb/sendMessage", json!({ "text": "  \n" }), "invalid_params"),
    ] {
        let mut params = params;
        params["sessionId"] = json!(session);
        assert_eq!(server.refused(method, params.clone())["data"]["code"], code, "{method} {params}");
    }
    assert_eq!(
        server.refused("bb/approvePermission", json!({ "requestId": "r", "decision": "deny", "tabId": "t" }))
            ["data"]["code"],
        "unknown_tab"
    );
}

#[test]
fn r000_35_missing_and_mistyped_params_are_refused_before_anything_happens() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    for (method, params) in [
        ("bb/sendMessage", json!({ "sessionId": session })),
        ("bb/sendMessage", json!({ "sessionId": session, "text": 5 })),
        ("bb/sendMessage", json!({ "sessionId": session, "text": "t", "attachmentIds": "a" })),
        ("bb/sendMessage", json!({ "sessionId": session, "text": "t", "attachmentIds": [5] })),
        ("bb/stop", json!({ "sessionId": 5 })),
        ("bb/selectSession", json!({ "sessionId": null })),
        ("bb/approvePermission", json!({ "sessionId": session, "requestId": "r", "decision": "allow" })),
        ("bb/events/read", json!({ "sessionId": session, "fromSeq": -1 })),
        ("bb/view/page", json!({ "sessionId": session, "lane": "files" })),
        ("bb/init", json!({ "subscribe": { "events": "yes" } })),
        ("bb/setCredentials", json!({ "scope": "all", "token": "t" })),
        ("bb/models/set", json!({})),
    ] {
        let error = server.refused(method, params.clone());
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32602), &json!("invalid_params")),
            "{method} {params}"
        );
    }
    assert_eq!(
        server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 })),
        json!({ "events": [], "hasMore": false })
    );
}

#[test]
fn a_client_hears_what_it_subscribed_to() {
    for (subscribe, events, view) in [
        (json!({ "view": false, "maxLatencyMs": 0 }), true, false),
        (json!({ "events": false }), false, true),
        (json!({ "events": false, "view": false, "tabs": false }), false, false),
    ] {
        let mut server = Server::ready(Options::default());
        server.ask("bb/init", json!({ "subscribe": subscribe }));
        let session = server.session();
        server.prompt(&session, "where is main?");
        // The state comes to everyone, and after the turn's own messages.
        server.wait_notification("bb/state", |state| state["running"] == true);
        server.wait_notification("bb/state", |state| {
            state["running"] == false && state["sessions"][0]["seq"] != 0
        });
        let heard = |method: &str| server.received().iter().any(|message| message["method"] == method);
        assert_eq!((heard("bb/events"), heard("bb/view")), (events, view), "{subscribe}");
    }
}

#[test]
fn r000_42_to_45_the_state_is_whole_true_and_said_once() {
    let gate = Gate::default();
    let model = Model::start(vec![
        says_and_waits("one", &gate, " two"),
        calls("run_command", json!({ "command": "true", "reason": "to see" })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    server.ask("bb/init", json!({}));
    let session = server.session();
    server.wait_notification("bb/state", |state| {
        state["activeSessionId"] == session.as_str()
            && state["running"] == false
            && state["pendingPermissionCount"] == 0
    });
    server.prompt(&session, "a question");
    server.wait_notification("bb/state", |state| {
        state["running"] == true && state["sessions"][0]["status"] == "running"
    });
    gate.open();
    server.wait_end(&session);
    server.prompt(&session, "another");
    let ask = server.wait_ask(&session);
    server.wait_notification("bb/state", |state| {
        state["pendingPermissionCount"] == 1 && state["sessions"][0]["status"] == "waiting"
    });
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    server.wait_notification("bb/state", |state| {
        state["running"] == false
            && state["pendingPermissionCount"] == 0
            && state["sessions"][0]["title"] == "a question"
    });
    let states: Vec<Value> = server
        .received()
        .into_iter()
        .filter(|message| message["method"] == "bb/state")
        .map(|message| message["params"].clone())
        .collect();
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "a state was said twice: {states:#?}");
    // Two turns with one ask: hundreds of events would not be hundreds of states.
    assert!(states.len() <= 12, "{} states: {states:#?}", states.len());
}

#[test]
fn in_a_terminal_a_session_is_read_and_deleted_by_the_beginning_of_its_id() {
    // Given two sessions
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path();
    std::fs::create_dir(place.join("w")).expect("a workspace");
    std::fs::write(place.join("w/main.rs"), "fn main() {}\nfn other() {}\n").expect("a file");
    for question in ["where is main?", "where is other?"] {
        let (_, err, code) = crate::branches::run(place, &["ask", question]);
        assert_eq!(code, Some(0), "{err}");
    }
    let run = |options: &[&str]| crate::branches::run(place, &[&["sessions"], options].concat());
    let listed = || -> Vec<(String, String)> {
        let (out, err, _) = run(&["--json"]);
        let all: Vec<Value> = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        all.iter().map(|one| (text(one, "sessionId"), text(one, "title"))).collect()
    };
    let all = listed();
    let id = &all.iter().find(|(_, title)| title == "where is main?").expect("listed").0;
    // When one is shown
    let (out, err, code) = run(&["--show", &id[..8]]);
    // Then all of the conversation is there, and nothing of the other one
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("# where is main?\n\n## You\n\nwhere is main?\n\n## Agent\n\n"), "{out}");
    assert!(out.contains("`main.rs:1`") && !out.contains("where is other?"), "{out}");
    let (out, _, _) = run(&["--show", id, "--json"]);
    let blocks: Vec<Value> = serde_json::from_str(&out).expect("blocks");
    assert_eq!(blocks[0]["text"], "where is main?");
    // When it is deleted, the other one is left, and this one is not there any more
    let (out, err, code) = run(&["--delete", &id[..8]]);
    assert_eq!((code, out.lines().count()), (Some(0), 1), "{err}");
    assert_eq!(listed().into_iter().map(|(_, title)| title).collect::<Vec<_>>(), ["where is other?"]);
    let (_, err, code) = run(&["--show", id]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.starts_with("breadboard-ls: "), "{err}");
    // And what could mean each of them means none
    let (_, err, code) = run(&["--delete", ""]);
    assert_ne!(code, Some(0), "{err}");
    assert_eq!(listed().len(), 1);
}
