//! Sessions from `bb/init` to `bb/deleteSession`: what a client is told, in which order, and what it can read again.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Gate, Model, Reply, Step, calls, says, says_and_waits};

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
fn r000_25_one_message_id_is_one_prompt() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("one", &gate, " two"), says("three")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    let message = |id: &str| json!({ "sessionId": session, "text": "a question", "messageId": id });
    let started = json!({ "sessionId": session, "messageId": "m1", "disposition": "started" });
    let queued = json!({ "sessionId": session, "messageId": "m2", "disposition": "queued" });
    for _ in 0..2 {
        assert_eq!(server.ask("bb/sendMessage", message("m1")), started);
        assert_eq!(server.ask("bb/sendMessage", message("m2")), queued);
    }
    let waiting = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(waiting, json!({ "items": [{ "messageId": "m2", "text": "a question" }], "paused": false }));
    gate.open();
    server.wait_end(&session);
    server.wait_end(&session);
    assert_eq!(server.ask("bb/sendMessage", message("m2")), queued);
    let prompts = |server: &Server| {
        let events = server.events(&session).into_iter().filter(|event| event["type"] == "local.prompt");
        events.map(|event| event["payload"]["messageId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(prompts(&server), ["m1", "m2"]);
    let own = server.prompt(&session, "without an id");
    assert!(own["messageId"].as_str().is_some_and(|id| !id.is_empty()), "{own}");
}

#[test]
fn the_queue_is_shown_edited_moved_cut_and_resumed() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("one", &gate, ""), says("x"), says("y")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.prompt(&session, "first");
    model.asked();
    for id in ["a", "b", "c"] {
        let params = json!({ "sessionId": session, "text": format!("text {id}"), "messageId": id });
        assert_eq!(server.ask("bb/sendMessage", params)["disposition"], "queued");
    }
    let shown = |result: &Value| {
        let items = result["items"].as_array().expect("items").iter();
        items
            .map(|item| format!("{}={}", item["messageId"], item["text"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let with = |more: Value| {
        let mut params = more;
        params["sessionId"] = json!(session);
        params
    };
    let edited = server.ask("bb/queue/edit", with(json!({ "messageId": "b", "text": "better" })));
    assert_eq!(shown(&edited), ["a=text a", "b=better", "c=text c"]);
    let moved = server.ask("bb/queue/move", with(json!({ "messageId": "c", "before": "a" })));
    assert_eq!(shown(&moved), ["c=text c", "a=text a", "b=better"]);
    let last = server.ask("bb/queue/move", with(json!({ "messageId": "c" })));
    assert_eq!(shown(&last), ["a=text a", "b=better", "c=text c"]);
    let cut = server.ask("bb/queue/remove", with(json!({ "messageId": "a" })));
    assert_eq!(shown(&cut), ["b=better", "c=text c"]);
    assert_eq!(cut["paused"], false);
    assert_eq!(
        server.refused("bb/queue/edit", with(json!({ "messageId": "b", "text": " " })))["data"]["code"],
        "invalid_params"
    );

    // R000-26: a stop ends the turn and keeps the queue for the user.
    assert_eq!(
        server.ask("bb/stop", json!({ "sessionId": session })),
        json!({ "sessionId": session, "stopping": true })
    );
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["metadata"]["cancelled"], true);
    let paused = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(
        (shown(&paused), &paused["paused"]),
        (vec!["b=better".to_owned(), "c=text c".to_owned()], &json!(true))
    );
    let resumed = server.ask("bb/queue/resume", json!({ "sessionId": session }));
    assert_eq!((shown(&resumed), &resumed["paused"]), (vec!["c=text c".to_owned()], &json!(false)));
    let asked = model.asked();
    let messages = asked.body["messages"].as_array().expect("messages");
    assert!(messages.iter().any(|message| message["content"] == "better"), "{messages:?}");
    server.wait_end(&session);
    server.wait_end(&session);
    let empty = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(empty, json!({ "items": [], "paused": false }));
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], false);
}

#[test]
fn events_are_read_again_in_pages_exactly_as_they_were_sent() {
    let model = Model::start(vec![Reply::Stream((0..100).map(|n| Step::Text(format!("{n} "))).collect())]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    let end = server.turn(&session, "a question")["seq"].as_u64().expect("a number");
    let sent = server.events(&session);
    // R000-48, R000-50, R000-51: in order, without holes, ids as the engine gave them (the embedded one gives none).
    let numbers: Vec<u64> = sent.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=end).collect::<Vec<_>>());
    for event in &sent {
        assert_eq!(event["id"], "", "{event}");
        let local = event["type"].as_str().is_some_and(|kind| kind.starts_with("local."));
        assert_eq!(event["origin"], if local { "local" } else { "engine" }, "{event}");
    }
    let tokens: Vec<&Value> = sent
        .iter()
        .filter(|event| event["type"] == "assistant.token")
        .map(|event| &event["payload"]["token"])
        .collect();
    assert_eq!(
        tokens,
        (0..100).map(|n| json!(format!("{n} "))).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );

    let (mut read, mut from, mut pages) = (Vec::new(), 1, 0);
    loop {
        let page =
            server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from, "limit": 30 }));
        let events = page["events"].as_array().expect("events");
        assert!(events.len() <= 30);
        from += events.len() as u64;
        read.extend(events.iter().cloned());
        pages += 1;
        if page["hasMore"] == false {
            break;
        }
        assert_eq!(events.len(), 30);
    }
    assert_eq!(read, sent);
    assert_eq!(pages, end.div_ceil(30));
    for seq in [1, end / 2, end] {
        let body = server.ask("bb/eventBody", json!({ "sessionId": session, "seq": seq }));
        assert_eq!(body["event"], sent[seq as usize - 1]);
    }
    let last_but_one = json!({ "sessionId": session, "fromSeq": end - 1, "limit": 1 });
    let page = server.ask("bb/events/read", last_but_one);
    assert_eq!((&page["events"], &page["hasMore"]), (&json!([sent[end as usize - 2]]), &json!(true)));
    let beyond = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": end + 1 }));
    assert_eq!(beyond, json!({ "events": [], "hasMore": false }));

    // Another process reads the same, and a view of the same.
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.kill();
    let mut next = Server::start_in(workspace, state, model.chosen(false));
    next.shake_hands();
    let all = next.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    assert_eq!(all["events"], json!(sent));
    assert_eq!(next.ask("bb/selectSession", json!({ "sessionId": session }))["view"], view);
}

#[test]
fn a_long_chat_is_paged_from_its_newest_block_to_its_oldest() {
    const TURNS: usize = 40;
    let model = Model::start((0..TURNS).map(|n| says(&format!("answer {n}"))).collect());
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    for n in 0..TURNS {
        server.turn(&session, &format!("question {n}"));
    }
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let chat = &view["lanes"]["chat"];
    assert_eq!(chat["blocks"].as_array().map(Vec::len), Some(50));
    assert_eq!(chat["hasMore"], true);
    let mut blocks = chat["blocks"].as_array().expect("blocks").clone();
    let newest = server.ask("bb/view/page", json!({ "sessionId": session, "lane": "chat" }));
    assert_eq!(newest["blocks"], chat["blocks"]);
    loop {
        let before = blocks[0]["id"].clone();
        let page = server.ask(
            "bb/view/page",
            json!({ "sessionId": session, "lane": "chat", "before": before, "limit": 20 }),
        );
        let older = page["blocks"].as_array().expect("blocks");
        assert!(older.len() <= 20);
        blocks.splice(0..0, older.iter().cloned());
        if page["hasMore"] == false {
            break;
        }
        assert_eq!(older.len(), 20);
    }
    let all = json!(blocks);
    assert_eq!(texts(&all, "user"), (0..TURNS).map(|n| format!("question {n}")).collect::<Vec<_>>());
    assert_eq!(texts(&all, "assistant"), (0..TURNS).map(|n| format!("answer {n}")).collect::<Vec<_>>());
    let first = blocks[0]["id"].clone();
    let none = server.ask("bb/view/page", json!({ "sessionId": session, "lane": "chat", "before": first }));
    assert_eq!(none, json!({ "blocks": [], "hasMore": false }));
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
fn sessions_of_another_workspace_are_not_listed_and_not_reached() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.turn(&session, "where is main?");
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.shut_down();
    let elsewhere = Arc::new(tempfile::tempdir().expect("a workspace"));
    let mut other = Server::start_in(elsewhere, Arc::clone(&state), Options::default());
    other.shake_hands();
    assert_eq!(other.ask("bb/init", json!({}))["sessions"], json!([]));
    for (method, params) in [
        ("bb/selectSession", json!({ "sessionId": session })),
        ("bb/deleteSession", json!({ "sessionId": session })),
        ("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 })),
    ] {
        assert_eq!(other.refused(method, params)["data"]["code"], "unknown_session", "{method}");
    }
    other.shut_down();
    let mut back = Server::start_in(workspace, state, Options::default());
    back.shake_hands();
    assert_eq!(back.ask("bb/init", json!({}))["sessions"][0]["sessionId"], session.as_str());
}

#[test]
fn a_reconnect_gets_exactly_what_it_has_not_seen() {
    let mut server = Server::ready(Options::default());
    let epoch = server.ask("bb/init", json!({}))["epoch"].clone();
    let session = server.session();
    let end = server.turn(&session, "where is main?")["seq"].as_u64().expect("a number");
    let sent = server.events(&session);
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.kill();
    let mut next = Server::start_in(workspace, state, Options::default());
    next.shake_hands();
    let seen = |epoch: &Value, seq: u64| json!({ "lastSeen": { "epoch": epoch, "sessions": { &session: seq, "gone": 4 } } });
    let init = next.ask("bb/init", seen(&epoch, 2));
    assert_eq!(init["epoch"], epoch);
    assert_eq!(
        init["resume"][&session],
        json!({ "verdict": "replayed", "events": end - 2, "from": 3, "to": end })
    );
    assert_eq!(init["resume"]["gone"]["verdict"], "lost");
    next.wait_end(&session);
    assert_eq!(next.events(&session), sent[2..]);
    assert_eq!(
        next.ask("bb/init", seen(&epoch, end))["resume"][&session],
        json!({ "verdict": "complete", "events": 0 })
    );
    assert_eq!(next.ask("bb/init", seen(&epoch, end + 1))["resume"][&session]["verdict"], "lost");
    assert_eq!(next.ask("bb/init", seen(&json!("another"), 2))["resume"][&session]["verdict"], "lost");
    assert_eq!(next.events(&session).len() as u64, end - 2, "nothing more was sent");
}

#[test]
fn r000_52_a_failing_model_ends_the_turn_in_a_sentence_and_the_session_lives() {
    let model = Model::start(vec![
        Reply::Status(400, "{\"error\":{\"message\":\"no such model\"}}".to_owned()),
        says("well"),
    ]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.prompt(&session, "a question");
    let error = server.wait_event(&session, "an error", |event| event["type"] == "server.error");
    assert!(error["payload"]["error"]["message"].as_str().is_some_and(|text| text.len() > 20), "{error}");
    // An error is no end; one of ours follows.
    let end = server.wait_end(&session);
    assert_eq!((&end["origin"], &end["type"]), (&json!("local"), &json!("local.turn_end")));
    server.turn(&session, "again");
    let chat =
        server.ask("bb/selectSession", json!({ "sessionId": session }))["view"]["lanes"]["chat"]["blocks"]
            .clone();
    assert_eq!(texts(&chat, "assistant"), ["well"]);
}

#[test]
fn r000_62_a_token_goes_to_its_model_and_to_nobody_else() {
    const TOKEN: &str = "sk-story-5f3a9c-never-shown";
    let model = Model::start(vec![says(&format!("your token is {TOKEN}")), says("no token")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    assert_eq!(server.ask("bb/setCredentials", json!({ "scope": "model", "token": TOKEN })), json!({}));
    server.turn(&session, "what is my token?");
    assert_eq!(model.asked().authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    server.ask("bb/setCredentials", json!({ "scope": "model", "token": null }));
    server.turn(&session, "and now?");
    assert_ne!(model.asked().authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    for message in server.received() {
        assert!(!message.to_string().contains(TOKEN), "{message}");
    }
}
