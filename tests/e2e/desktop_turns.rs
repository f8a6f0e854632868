//! Turns at a desktop host: the handshake, prompts and their context, answers, errors and stops, in both dialects.

use breadboard_ls::testing::simulate::desktop::{HostDialect, HostOptions};
use serde_json::{Value, json};

use crate::desktop_desk::{BOTH, HostDesk, last_text, notices, scripted};

#[test]
fn r002_10_11_12_20_27_28_30_31_54_72_73_a_turn_is_asked_and_answered_in_both_dialects() {
    for dialect in BOTH {
        for waits_for_hello in [false, true] {
            // Given a host of either dialect, which greets first or second
            let prompts = json!([{ "steps": [{ "say": "Hello from the host." }] }]);
            let desk = HostDesk::start(HostOptions { dialect, waits_for_hello, ..scripted(&prompts) });
            let mut server = desk.server();
            // When a session is made and prompted
            let session = server.session();
            server.prompt(&session, "hi");
            let end = server.wait_end(&session);
            // Then the turn ends with the host's own end and the answer is whole
            assert_eq!(end["type"], "assistant.message_final", "{end}");
            assert_eq!(
                last_text(&mut server, &session, "assistant").as_deref(),
                Some("Hello from the host."),
                "{dialect:?}"
            );
            // And the host heard a greeting and the prompt, once each
            assert_eq!(desk.all_heard("client.hello").len(), 1);
            let said = desk.all_heard("client.user_message");
            assert_eq!(said.len(), 1);
            assert_eq!((&said[0]["message"], said[0]["context"].is_object()), (&json!("hi"), true));
            let requests = desk.host.requests();
            for wanted in [
                "GET /v1/health".to_owned(),
                "GET /v1/workspaces".to_owned(),
                "POST /v1/workspaces/register".to_owned(),
                "POST /v1/sessions".to_owned(),
                format!("GET /v1/sessions/{session}/stream"),
            ] {
                assert!(requests.contains(&wanted), "{wanted} is not in {requests:?}");
            }
        }
    }
}

#[test]
fn r002_56_58_59_61_every_message_becomes_an_event_and_nothing_unknown_is_dropped() {
    let messages = [
        json!({ "type": "assistant.thinking", "phase": "planning", "message": "Thinking." }),
        json!({ "type": "agent.plan", "steps": [{ "step_number": 1, "description": "One", "files_involved": ["a"] }],
            "rationale": "r" }),
        json!({ "type": "agent.retrieve.status", "stage": "text_search", "results_count": 2, "message": "Found 2." }),
        json!({ "type": "tool.execute", "tool_name": "read_file", "args": { "file_path": "a" }, "status": "started" }),
        json!({ "type": "tool.execute", "tool_name": "read_file", "args": { "file_path": "a" }, "status": "completed",
            "result": { "text": "x" } }),
        json!({ "type": "never.heard", "of": [1, { "two": null }] }),
    ];
    let mut steps: Vec<Value> = messages.iter().map(|message| json!({ "send": message })).collect();
    steps.push(json!({ "raw": "this is no JSON" }));
    steps.push(json!({ "raw": "{\"type\":\"assistant.token\",\"token\":NaN}" }));
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_end(&session);
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let events = read["events"].as_array().unwrap();
    for message in &messages {
        let mut payload = message.clone();
        let kind = payload.as_object_mut().unwrap().remove("type").unwrap();
        let found = events.iter().any(|event| event["type"] == kind && event["payload"] == payload);
        assert!(found, "{message} is not in {events:?}");
    }
    let raw = events.iter().find(|event| event["type"] == "unknown").unwrap();
    assert_eq!((&raw["payload"]["raw"], &raw["class"]), (&json!("this is no JSON"), &json!("unknown_event")));
    assert!(events.iter().any(|event| event["repaired"] == true), "{events:?}");
}

#[test]
fn r002_73_a_final_text_that_differs_from_what_was_streamed_wins_and_is_said() {
    for dialect in BOTH {
        let steps = json!([{ "say": "The answer is 41." }, { "final": "The answer is 42." }]);
        let desk = HostDesk::scripted(dialect, &json!([{ "steps": steps }]));
        let mut server = desk.server();
        let session = server.session();
        server.prompt(&session, "what is it?");
        server.wait_end(&session);
        assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some("The answer is 42."));
        let told = notices(&mut server, &session);
        assert!(told.iter().any(|text| text.contains("not what it had streamed")), "{told:?}");
    }
}

#[test]
fn r002_74_76_an_error_ends_a_turn_without_a_final_message_unless_the_turn_goes_on() {
    let failure = json!({ "type": "server.error", "error": { "code": "MODEL_ERROR", "message": "No model answers.",
        "details": {}, "recoverable": true } });
    let bare = json!({ "type": "error", "error": "No model is loaded." });
    for (dialect, message) in [(HostDialect::Seed, &failure), (HostDialect::Source, &bare)] {
        let desk = HostDesk::scripted(
            dialect,
            &json!([
                { "bare": true, "steps": [{ "send": message }] },
                { "steps": [{ "send": failure }, { "say": "I go on." }] },
            ]),
        );
        let mut server = desk.server();
        let session = server.session();
        server.prompt(&session, "first");
        let end = server.wait_end(&session);
        assert_eq!(
            (&end["type"], &end["payload"]["reason"]),
            (&json!("local.turn_end"), &json!("failed")),
            "{end}"
        );
        server.prompt(&session, "second");
        let end = server.wait_end(&session);
        assert_eq!(end["type"], "assistant.message_final", "{end}");
    }
}

#[test]
fn r002_51_a_stop_ends_the_turn_whether_the_host_answers_it_or_closes_the_socket() {
    for dialect in BOTH {
        let desk = HostDesk::scripted(
            dialect,
            &json!([{ "steps": [{ "say": "Working." }, { "hold": "never" }] }, { "steps": [{ "say": "Again." }] }]),
        );
        let mut server = desk.server();
        let session = server.session();
        server.prompt(&session, "work");
        server.wait_event(&session, "its words", |event| event["class"] == "transcript.assistant_stream");
        let stopped = server.ask("bb/stop", json!({ "sessionId": session }));
        assert_eq!(stopped["stopping"], true);
        let end = server.wait_event(&session, "the end", |event| {
            event["class"] == "run.finished"
                && (event["payload"]["reason"] == "cancelled"
                    || event["payload"]["metadata"]["cancelled"] == true)
        });
        assert_eq!(desk.heard("client.cancel")["reason"], "user_cancelled", "{end}");
        // And the session takes the next prompt.
        server.prompt(&session, "again");
        server.wait_event(&session, "the next answer", |event| event["payload"]["message"] == "Again.");
    }
}

#[test]
fn r002_31_34_39_100_a_prompt_takes_its_context_and_the_text_of_its_attachments_along() {
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": [{ "say": "Seen." }] }]));
    let mut server = desk.server();
    server.write("src/a.rs", "fn a() {}\n");
    let session = server.session();
    let put = server
        .ask("bb/attachment/put", json!({ "sessionId": session, "name": "note.txt", "base64": "aGVsbG8=" }));
    server.ask(
        "bb/sendMessage",
        json!({ "sessionId": session, "text": "look at @src/a.rs", "attachmentIds": [put["attachmentId"]], "messageId": "m1",
            "context": {} }),
    );
    server.wait_end(&session);
    let said = desk.heard("client.user_message");
    let mentions = said["context"]["mentions"].as_array().unwrap();
    let text = json!({ "type": "file", "path": "note.txt", "content": "hello", "truncated": false });
    assert!(mentions.contains(&text), "{said}");
    assert_eq!(said["message_id"], "m1");
    assert!(mentions.iter().any(|mention| mention["path"] == "src/a.rs"), "{said}");
}
