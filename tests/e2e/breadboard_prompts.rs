//! Prompts on their way to a BreadBoard engine: whole, once, in order, with what is attached.

use serde_json::{Value, json};

use crate::breadboard_desk::*;

/// What reached the agent, as the engine says it.
fn reached(desk: &Desk, session: &str) -> Vec<Value> {
    let sent = desk.engine.sent(session).into_iter().filter(|event| event.kind == "user_message");
    sent.map(|event| serde_json::from_str::<Value>(&event.payload).expect("JSON")["text"].clone()).collect()
}

#[test]
fn r000_25_a_prompt_that_begins_like_an_earlier_one_arrives_whole() {
    let desk = Desk::scripted(&json!([[says("1")], [says("2")], [says("3")], [says("4")]]));
    let mut server = desk.server();
    let session = server.session();
    let prompts = ["fix", "fix the bug", "fix the bug in prefix.rs", "fix"];
    for prompt in prompts {
        server.prompt(&session, prompt);
        ran(&server, &session);
        status(&server, &session, "idle");
    }
    let arrived: Vec<String> =
        reached(&desk, &session).iter().map(|text| text.as_str().unwrap().trim_start().to_owned()).collect();
    assert_eq!(arrived, prompts);
    let shown: Vec<Value> =
        of_kind(&chat(&mut server, &session), "user").iter().map(|block| block["text"].clone()).collect();
    assert_eq!(shown, prompts);
}

#[test]
fn r000_25_a_prompt_that_the_engine_would_misread_is_not_sent() {
    let desk = Desk::scripted(&json!([[says("well")]]));
    let mut server = desk.server();
    let session = server.session();
    for blank in ["", "  \n\t"] {
        let error = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": blank }));
        assert_eq!(error["data"]["code"], "invalid_params");
    }
    for recording in ["replay:x", "  /replay the last bug", "@replay x"] {
        let error = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": recording }));
        assert_eq!(error["data"]["code"], "invalid_params", "{error}");
        assert!(error["message"].as_str().unwrap().contains("path of a recording"), "{error}");
    }
    let created = server.refused("bb/createSession", json!({ "task": "replay:x" }));
    assert_eq!(created["data"]["code"], "invalid_params", "{created}");
    assert_eq!(desk.inputs(&session), Vec::<Value>::new());
    server.prompt(&session, "and now");
    ran(&server, &session);
    assert_eq!(reached(&desk, &session), ["and now"]);
}

#[test]
fn r000_25_one_prompt_is_outstanding_and_the_next_waits_for_the_end_of_the_run() {
    let desk = Desk::scripted(&json!([[{ "hold": "one" }, says("1")], [says("2")]]));
    let mut server = desk.server();
    let session = server.session();
    assert_eq!(server.prompt(&session, "first")["disposition"], "started");
    heard(&server, &session, "user_message");
    assert_eq!(server.prompt(&session, "second")["disposition"], "queued");
    server.assert_alive();
    assert_eq!(desk.inputs(&session).len(), 1);
    desk.engine.release("one");
    ran(&server, &session);
    ran(&server, &session);
    let inputs = desk.inputs(&session);
    let said: Vec<&Value> = inputs.iter().map(|input| &input["content"]).collect();
    assert_eq!(said, ["first", "second"]);
    // The second left only after the first run's last event.
    let kinds: Vec<String> = desk.engine.sent(&session).into_iter().map(|event| event.kind).collect();
    let end = kinds.iter().position(|kind| kind == "run_finished").unwrap();
    let second = kinds.iter().rposition(|kind| kind == "user_message").unwrap();
    assert!(end < second, "{kinds:?}");
    assert_eq!(
        server.ask("bb/queue/list", json!({ "sessionId": session })),
        json!({ "items": [], "paused": false })
    );
}

#[test]
fn r000_26_a_stop_ends_the_run_and_keeps_what_waits() {
    let desk = Desk::scripted(
        &json!([[{ "repeat": 2000, "steps": [piece("on "), { "delay_ms": 5 }] }], [says("next")]]),
    );
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go on");
    heard(&server, &session, "assistant.message.delta");
    server.prompt(&session, "and then");
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], true);
    assert_eq!(ran(&server, &session)["payload"]["reason"], "stopped_by_user");
    status(&server, &session, "idle");
    let queue = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!((&queue["items"][0]["text"], &queue["paused"]), (&json!("and then"), &json!(true)), "{queue}");
    server.ask("bb/queue/resume", json!({ "sessionId": session }));
    server.wait_event(&session, "the next answer", |event| event["payload"]["text"] == "next");
    ran(&server, &session);
}

#[test]
fn r000_25_attachments_reach_the_engine_as_they_are() {
    let desk = Desk::scripted(&json!([[says("read")]]));
    let mut server = desk.server();
    let session = server.session();
    let put = |name: &str, base64: &str| json!({ "sessionId": session, "name": name, "base64": base64 });
    // "hello\r\nbytes" and "two"
    let one = server.ask("bb/attachment/put", put("a.txt", "aGVsbG8NCmJ5dGVz"))["attachmentId"].clone();
    let two = server.ask("bb/attachment/put", put("b.txt", "dHdv"))["attachmentId"].clone();
    server
        .ask("bb/sendMessage", json!({ "sessionId": session, "text": "look", "attachmentIds": [one, two] }));
    ran(&server, &session);
    let uploads = desk.asked(&format!("POST /v1/sessions/{session}/attachments"));
    assert_eq!(uploads.len(), 2);
    for (upload, (name, bytes)) in uploads.iter().zip([("a.txt", "hello\r\nbytes"), ("b.txt", "two")]) {
        let kind = &upload.headers.iter().find(|(header, _)| header == "content-type").expect("a type").1;
        assert!(kind.starts_with("multipart/form-data; boundary="), "{kind}");
        assert!(upload.body.contains(&format!("filename=\"{name}\"")), "{}", upload.body);
        assert!(upload.body.contains(&format!("\r\n\r\n{bytes}\r\n--")), "{}", upload.body);
    }
    let inputs = desk.inputs(&session);
    let ids = inputs[0]["attachments"].as_array().expect("attachments");
    assert!(ids.len() == 2 && ids.iter().all(|id| id.as_str().unwrap().starts_with("att-")), "{inputs:?}");
    let text = reached(&desk, &session)[0].as_str().unwrap().to_owned();
    assert!(text.starts_with("look") && text.contains("[Attachment 2: b.txt -> "), "{text}");
}
