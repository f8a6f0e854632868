//! Sessions of a BreadBoard engine from their first event to their last: what its own sidebar gets wrong, ours must not.
//!
//! The numbers are those of the list of faults in the facts of the engine.

use std::io::Write;

use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::{Server, uri};

#[test]
fn fault_01_the_default_engine_is_asked_on_the_routes_it_has() {
    let desk = Desk::scripted(&json!([[says("hello")]]));
    let mut server = desk.server();
    let init = server.ask("bb/init", json!({}));
    assert_eq!(
        (&init["engine"]["kind"], &init["engine"]["status"]),
        (&json!("breadboard"), &json!("connected"))
    );
    let can: Vec<&str> =
        init["engine"]["capabilities"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for word in ["sessions", "input", "events", "commands", "files", "download", "models"] {
        assert!(can.contains(&word), "{can:?}");
    }
    let session = server.session();
    server.prompt(&session, "hi");
    ran(&server, &session);
    assert_eq!(listed(&mut server, &session)["title"], "hi");
    server.ask("bb/deleteSession", json!({ "sessionId": session }));
    for seen in desk.engine.requests() {
        let known =
            seen.path.starts_with("/v1/") || ["/health", "/openapi.json"].contains(&seen.path.as_str());
        assert!(known, "{seen:?}");
    }
    assert_eq!(desk.engine.sessions(), Vec::<String>::new());
}

#[test]
fn fault_04_r003_66_attaching_again_to_a_quiet_session_is_no_gap() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    heard(&server, &session, "tool_result");
    let first = server.wait_notification("bb/connection", |params| params["resume"].is_object());
    assert_eq!(first["params"]["resume"]["from"], 1, "{first}");
    // What a stream without parameters begins with: its id is in no log.
    let snapshot = json!({
        "id": "0badcafe-0000-4000-8000-000000000000", "seq": null, "type": "tool_result", "session_id": session,
        "turn": null, "timestamp": 1, "timestamp_ms": 1, "protocol_version": "1.0",
        "payload": { "call_id": "todo:snapshot:connect:0badcafe", "todo": { "op": "snapshot", "items": [], "revision": 0 } },
    });
    desk.engine.emit_raw(&session, &snapshot.to_string(), false);
    server.wait_event(&session, "the snapshot", |event| {
        event["payload"]["call_id"] == "todo:snapshot:connect:0badcafe"
    });
    for round in 2..5 {
        server.ask("bb/selectSession", json!({ "sessionId": session }));
        desk.engine.cut_streams();
        until("the stream is opened again", || (desk.cursors(&session).len() == round).then_some(()));
        let up = server.wait_notification("bb/connection", |params| {
            params["status"] == "connected"
                && params["sessionId"] == session.as_str()
                && params["resume"].is_object()
        });
        assert_eq!(up["params"]["resume"]["verdict"], "complete", "{up}");
    }
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.kill();
    let mut next = Server::start_in(workspace, state, desk.chosen(true));
    next.shake_hands();
    let again = next.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(again["resume"]["verdict"], "complete", "{again}");
    let cursors = desk.cursors(&session);
    assert_eq!(cursors[0], None);
    assert!(cursors[1..].iter().all(|cursor| cursor.as_deref() == Some("2")), "{cursors:?}");
    assert_eq!((gaps(&server), gaps(&next)), (Vec::new(), Vec::new()));
}

#[test]
fn fault_05_what_was_said_before_anybody_listened_is_heard() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    let session = server.session();
    until("the engine said its first words", || (desk.engine.sent(&session).len() == 2).then_some(()));
    for at in 3..=7 {
        desk.engine.emit(&session, "warning", &warning(&format!("early {at}")));
    }
    desk.engine.release_answers();
    warned(&server, &session, "early 7");
    let events = journal(&mut server, &session);
    assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6, 7]);
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(gaps(&server), Vec::<Value>::new());
}

#[test]
fn fault_06_pieces_are_one_block_of_text() {
    let desk = Desk::scripted(&json!([[
        { "type": "assistant.message.start", "payload": { "item_id": "msg_1" } },
        piece("Hel"), piece("lo, "), { "hold": "half" }, piece("wor"), piece("ld"),
        { "type": "assistant.message.end", "payload": { "item_id": "msg_1" } },
        says("Hello, world"),
    ]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "greet");
    server.wait_event(&session, "the second piece", |event| event["payload"]["delta"] == "lo, ");
    let half = of_kind(&chat(&mut server, &session), "assistant");
    assert_eq!(half.len(), 1, "{half:?}");
    assert_eq!((&half[0]["text"], &half[0]["streaming"]), (&json!("Hello, "), &json!(true)));
    desk.engine.release("half");
    ran(&server, &session);
    let whole = of_kind(&chat(&mut server, &session), "assistant");
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!((&whole[0]["text"], &whole[0]["streaming"]), (&json!("Hello, world"), &json!(false)));
}

#[test]
fn fault_07_hundreds_of_tree_nodes_leave_the_chat_alone() {
    let desk = Desk::scripted(&json!([[says("before"), { "ctree": 260 }, says("after")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "grow");
    ran(&server, &session);
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().unwrap();
    let texts =
        |kind: &str| of_kind(blocks, kind).iter().map(|block| block["text"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (texts("user"), texts("assistant")),
        (vec![json!("grow")], vec![json!("before"), json!("after")])
    );
    assert_eq!(view["lanes"]["chat"]["hasMore"], false);
    assert!(blocks.len() < 20, "{} blocks", blocks.len());
    // They are all there for those who look for them.
    let nodes = journal(&mut server, &session).iter().filter(|event| event["type"] == "ctree_node").count();
    assert_eq!(nodes, 260);
}

#[test]
fn fault_09_three_results_of_one_call_are_one_block_that_tells_the_truth() {
    let arguments = json!({ "command": "make" }).to_string();
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "run_shell", "arguments": arguments } });
    let message = json!({ "role": "tool", "name": "run_shell", "content": "no rule" });
    let desk = Desk::scripted(&json!([[
        { "type": "tool_call", "payload":
            { "call": call, "call_id": "call_1", "tool": "run_shell", "action": "start", "seq": 1 } },
        { "type": "tool_result", "payload":
            { "call_id": "todo:call_1", "todo": { "op": "snapshot", "items": [], "revision": 0, "scope_key": "main" } } },
        { "type": "tool_result", "payload":
            { "tool": "run_shell", "success": false, "status": "error", "error": true, "call_id": "call_1",
              "metadata": { "is_run_shell": true, "command": "make", "exit_code": 2 },
              "result": { "stdout": "", "stderr": "no rule", "exit": 2 } } },
        { "type": "tool_result", "payload":
            { "message": message, "call_id": "call_1", "result": "no rule", "status": "ok", "error": false } },
    ]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "build");
    ran(&server, &session);
    let tools = of_kind(&chat(&mut server, &session), "tool");
    assert_eq!(tools.len(), 1, "{tools:#?}");
    assert_eq!(
        (&tools[0]["name"], &tools[0]["status"]),
        (&json!("run_shell"), &json!("failed")),
        "{tools:#?}"
    );
}

#[test]
fn fault_10_a_session_that_is_over_says_so_and_nothing_hangs() {
    let desk = Desk::scripted(
        &json!([{ "when": "last", "bare": true, "steps": [says("bye"), { "end": "completed" }] }]),
    );
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "the last one");
    status(&server, &session, "completed");
    let streams = desk.cursors(&session).len();
    for _ in 0..2 {
        let blocks = chat(&mut server, &session);
        assert_eq!(of_kind(&blocks, "assistant")[0]["text"], "bye");
    }
    assert_eq!(listed(&mut server, &session)["status"], "completed");
    let error = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "more" }));
    assert_eq!(error["data"]["code"], "engine_rejected");
    assert!(error["message"].as_str().unwrap().contains("create a new one"), "{error}");
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], false);
    // One stream on an ended session hangs for ever; none is opened.
    assert_eq!(desk.cursors(&session).len(), streams);
    let ends = |events: &[Value]| events.iter().filter(|event| event["type"] == "local.turn_end").count();
    let before = journal(&mut server, &session);
    assert_eq!(ends(&before), 1, "the turn ended once");

    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.kill();
    let mut next = Server::start_in(workspace, state, desk.chosen(true));
    next.shake_hands();
    let selected = next.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(selected["resume"]["verdict"], "complete", "{selected}");
    assert_eq!(listed(&mut next, &session)["status"], "completed");
    assert_eq!(journal(&mut next, &session), before);
}

#[test]
fn fault_12_an_event_may_come_byte_by_byte_and_with_any_line_ends() {
    let event = |seq: u64, text: &str| {
        json!({
            "id": format!("{seq:08x}-0000-4000-8000-000000000000"), "seq": seq, "type": "warning", "session_id": ONLY,
            "turn": null, "timestamp": 1, "timestamp_ms": 1, "protocol_version": "1.0", "payload": { "message": text },
        })
    };
    let texts = ["one", "zwei \u{e4}\u{1f600}", "three\r\nlines", "four", "five"];
    let mut stream = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let end = ["\r\n", "\n", "\r", "\r\n", "\r\n"][at];
        let seq = at as u64 + 1;
        stream.extend_from_slice(format!("id: {seq}{end}data: {}{end}{end}", event(seq, text)).as_bytes());
    }
    let socket = Socket::start(move |line, out| {
        if !line.starts_with(&format!("GET /v1/sessions/{ONLY}/events")) {
            return Ok(false);
        }
        out.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        )?;
        for byte in &stream {
            out.write_all(&[b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat())?;
            out.flush()?;
        }
        // It stays open, as the engine's does, until the test ends.
        loop {
            std::thread::park();
        }
    });
    let mut server = Server::ready(chosen(&socket.url, true));
    connected(&server);
    let session = server.session();
    assert_eq!(session, ONLY);
    warned(&server, &session, "five");
    let events = journal(&mut server, &session);
    let said: Vec<&Value> = events.iter().map(|event| &event["payload"]["message"]).collect();
    assert_eq!(said, texts);
    assert_eq!(numbers(&events), [1, 2, 3, 4, 5]);
    assert_eq!(gaps(&server), Vec::<Value>::new());
}

#[test]
fn fault_12_frames_in_pieces_between_garbage_and_twice_are_one_history() {
    let faults = breadboard_ls::testing::simulate::breadboard::Faults::parse(
        "split=0.6,garbage=0.2,dup=0.2,budget=400",
    );
    let mut options = scripted(&json!([[{ "repeat": 120, "steps": [piece("word ")] }, says("the end")]]));
    options = SimulatorOptions { faults: faults.unwrap(), seed: 7, ..options };
    let desk = Desk::start(options);
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "talk");
    ran(&server, &session);
    assert!(desk.engine.faults_met().values().sum::<u64>() > 50, "{:?}", desk.engine.faults_met());
    let sent = desk.engine.sent(&session);
    let events = journal(&mut server, &session);
    assert_eq!(numbers(&events), (1..=sent.len() as u64).collect::<Vec<_>>());
    assert_eq!(gaps(&server), Vec::<Value>::new());
}

#[test]
fn fault_13_a_diff_is_against_the_folder_of_the_session() {
    let desk = Desk::scripted(&json!([]));
    let mut server = Server::start(desk.chosen(true));
    let other = tempfile::tempdir().unwrap();
    let mut params = server.initialize_params();
    params["workspaceFolders"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "uri": uri(other.path()), "name": "other" }));
    server.ask("initialize", params);
    server.notify("initialized", json!({}));
    connected(&server);
    server.write("a.txt", "of the first folder\n");
    std::fs::write(other.path().join("a.txt"), "of the session\n").unwrap();
    std::fs::write(other.path().join("old.txt"), "as it was\n").unwrap();
    let body = json!({ "config_path": "agent_configs/c.yaml", "task": "", "workspace": other.path(),
        "metadata": { "workspace": other.path() } });
    let (code, made) = desk.post("/v1/sessions", &body);
    assert_eq!(code, 200, "{made}");
    let session = made["session_id"].as_str().unwrap();
    listed(&mut server, session);
    let asked = json!({ "sessionId": session, "filePath": "a.txt", "beforeRef": "artifact:old.txt", "afterRef": "disk" });
    let diff = server.ask("bb/openDiff", asked);
    let unified = diff["unified"].as_str().unwrap();
    assert!(unified.contains("-as it was") && unified.contains("+of the session"), "{diff}");
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)), "{diff}");
    let left = server.ask("bb/textDocument", json!({ "uri": diff["left"]["uri"] }));
    assert_eq!(left["text"], "as it was\n");
}

#[test]
fn fault_10_a_session_that_ended_before_its_stream_was_opened_is_over_soon() {
    let desk = Desk::scripted(&json!([{ "bare": true, "steps": [says("bye"), { "end": "completed" }] }]));
    let mut server = desk.server();
    // Asked for while it lives, opened once it has ended: such a stream says what was and then hangs.
    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    let session = server.session();
    until("the stream is asked for", || (desk.cursors(&session).len() == 1).then_some(()));
    server.prompt(&session, "the last one");
    until("the session ended", || (desk.engine.sent(&session).len() == 3).then_some(()));
    desk.engine.release_answers();
    status(&server, &session, "completed");
    assert_eq!(of_kind(&chat(&mut server, &session), "assistant")[0]["text"], "bye");
}

#[test]
fn r000_21_a_session_whose_configuration_does_not_exist_has_failed_and_says_why() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    // Not made by us
    let refused = server.refused("bb/createSession", json!({ "configPath": "missing.yaml" }));
    assert_eq!(
        (&refused["data"]["code"], refused["message"].as_str().unwrap()),
        (
            &json!("engine_rejected"),
            "The engine cannot use the configuration `missing.yaml`: failed to load config: [Errno 2] No such file or directory: \
             'missing.yaml'; choose another one."
        )
    );
    // But by another client, which did not look
    let place = server.workspace.path().to_owned();
    let body = json!({ "config_path": "missing.yaml", "task": "", "workspace": place, "metadata": { "workspace": place } });
    let (_, made) = desk.post("/v1/sessions", &body);
    server.ask("bb/listSessions", json!({}));
    let session = made["session_id"].as_str().unwrap();
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    status(&server, session, "failed");
    let notices = of_kind(&chat(&mut server, session), "notice");
    let why =
        notices.iter().find(|notice| notice["level"] == "error").unwrap_or_else(|| panic!("{notices:#?}"));
    assert!(why["text"].as_str().unwrap().contains("No such file or directory: 'missing.yaml'"), "{why}");
    let error = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "go" }));
    assert_eq!(error["data"]["code"], "engine_rejected");
    assert_eq!(listed(&mut server, session)["status"], "failed");
}

#[test]
fn r000_22_sessions_of_another_workspace_are_not_listed() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let own = server.session();
    let other = tempfile::tempdir().unwrap();
    let body = |at: &std::path::Path| json!({ "config_path": "agent_configs/c.yaml", "task": "", "workspace": at, "metadata": { "workspace": at } });
    assert_eq!(desk.post("/v1/sessions", &body(other.path())).0, 200);
    let (_, second) = desk.post("/v1/sessions", &body(server.workspace.path()));
    let all = server.ask("bb/listSessions", json!({}));
    let mut ids: Vec<&Value> =
        all["sessions"].as_array().unwrap().iter().map(|one| &one["sessionId"]).collect();
    ids.sort_by_key(|id| id.to_string());
    let mut wanted = [json!(own), second["session_id"].clone()];
    wanted.sort_by_key(ToString::to_string);
    assert_eq!(ids, wanted.iter().collect::<Vec<_>>());
    assert_eq!(desk.engine.sessions().len(), 3);
}
