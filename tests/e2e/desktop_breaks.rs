//! Broken connections to a desktop host: nothing is sent twice, a turn goes on where the host says so, and what cannot be known is said.

use breadboard_ls::testing::simulate::desktop::{HostDialect, HostOptions};
use serde_json::{Value, json};

use crate::desktop_desk::{BOTH, HostDesk, scripted};
use crate::harness::Server;

/// Waits until the session's connection stands again; its verdict.
fn stands(server: &Server, session: &str) -> Value {
    let up = server.wait_notification("bb/connection", |params| {
        params["sessionId"] == session && params["status"] == "connected" && params["resume"].is_object()
    });
    up["params"]["resume"].clone()
}

fn gaps(server: &Server, session: &str) -> usize {
    server.events(session).iter().filter(|event| event["type"] == "local.gap").count()
}

#[test]
fn r002_77_a_turn_goes_on_after_a_break_where_the_host_says_so_and_what_was_missed_is_said_to_be_unknown() {
    let steps = json!([{ "say": "First. " }, { "hold": "on" }, { "say": "Last." }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    assert_eq!(stands(&server, &session)["verdict"], "complete");
    server.prompt(&session, "go");
    server.wait_event(&session, "its words", |event| event["class"] == "transcript.assistant_stream");
    desk.host.cut_sockets();
    let resume = stands(&server, &session);
    assert_eq!(resume["verdict"], "lost", "{resume}");
    assert!(resume["reason"].as_str().unwrap().contains("cannot be known"), "{resume}");
    desk.host.release("on");
    let end = server.wait_end(&session);
    assert_eq!(
        (&end["type"], &end["payload"]["message"]),
        (&json!("assistant.message_final"), &json!("First. Last."))
    );
    assert_eq!(gaps(&server, &session), 1);
    assert_eq!(desk.all_heard("client.user_message").len(), 1);
}

#[test]
fn a_turn_that_died_with_its_socket_ends_and_its_prompt_is_not_sent_again() {
    let steps = json!([{ "say": "First. " }, { "hold": "never" }]);
    let desk = HostDesk::scripted(
        HostDialect::Source,
        &json!([{ "steps": steps }, { "steps": [{ "say": "Again." }] }]),
    );
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_event(&session, "its words", |event| event["class"] == "transcript.assistant_stream");
    desk.host.cut_sockets();
    let end = server.wait_end(&session);
    assert_eq!(
        (&end["type"], &end["payload"]["reason"]),
        (&json!("local.turn_end"), &json!("failed")),
        "{end}"
    );
    assert!(end["payload"]["message"].as_str().unwrap().contains("cannot be known"), "{end}");
    assert_eq!(desk.all_heard("client.user_message").len(), 1);
    server.prompt(&session, "again");
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Again.");
}

#[test]
fn a_question_outlives_a_break_and_is_answered_once() {
    let ask = json!({ "type": "tool.request_approval", "request_id": "r1", "tool_name": "delete_file",
        "args": { "file_path": "a.txt" }, "risk_level": "high" });
    let steps = json!([{ "ask": ask, "on_allow": [{ "say": "Gone." }], "on_deny": [{ "say": "Kept." }] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    assert_eq!(stands(&server, &session)["verdict"], "complete");
    desk.host.cut_sockets();
    stands(&server, &session);
    server.decide(&session, &ask, "allow_once");
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Gone.");
    assert_eq!(desk.all_heard("client.approval_response").len(), 1);
}

#[test]
fn a_prompt_that_finds_no_socket_waits_for_one_and_is_sent_once() {
    for dialect in BOTH {
        let desk = HostDesk::scripted(dialect, &json!([{ "steps": [{ "say": "Hello." }] }]));
        let mut server = desk.server();
        let session = server.session();
        stands(&server, &session);
        desk.host.refuse_sockets(true);
        desk.host.cut_sockets();
        server.wait_notification("bb/connection", |params| {
            params["sessionId"] == session.as_str()
                && params["status"] == "connecting"
                && params["lastError"].is_string()
        });
        server.prompt(&session, "hi");
        desk.host.refuse_sockets(false);
        let end = server.wait_end(&session);
        assert_eq!(end["payload"]["message"], "Hello.");
        assert_eq!(desk.all_heard("client.user_message").len(), 1);
    }
}

#[test]
fn a_turn_of_a_process_that_was_killed_is_taken_up_by_the_next_where_the_host_still_works_on_it() {
    let steps = json!([{ "say": "First. " }, { "hold": "on" }, { "say": "Last." }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_event(&session, "its words", |event| event["class"] == "transcript.assistant_stream");
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.kill();
    let mut next = Server::start_in(workspace, state, desk.chosen(true));
    next.shake_hands();
    let selected = next.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(selected["resume"]["verdict"], "lost", "{selected}");
    desk.host.release("on");
    let end = next.wait_end(&session);
    assert_eq!(
        (&end["type"], &end["payload"]["message"]),
        (&json!("assistant.message_final"), &json!("First. Last."))
    );
    assert_eq!(desk.all_heard("client.user_message").len(), 1);
}

#[test]
fn seeded_faults_never_lose_the_end_of_a_turn_and_no_prompt_is_sent_twice() {
    for dialect in BOTH {
        for seed in 0..6 {
            let prompts =
                json!([{ "when": "go", "steps": [{ "say": "A few words, in pieces, to the end." }] }]);
            let faults =
                HostOptions { dialect, cut: 0.15, garbage: 0.1, seed, budget: 2, ..scripted(&prompts) };
            let desk = HostDesk::start(faults);
            let mut server = desk.server();
            let session = server.session();
            for turn in 1..=3 {
                server.prompt(&session, &format!("go {turn}"));
                let end = server.wait_end(&session);
                // Whole, or said to be unknown: nothing in between.
                let whole = end["payload"]["message"] == "A few words, in pieces, to the end.";
                let unknown = end["type"] == "local.turn_end" && end["payload"]["reason"] == "failed";
                assert!(whole || unknown, "seed {seed}: {end}");
                server.ask("bb/queue/resume", json!({ "sessionId": session }));
            }
            let said: Vec<Value> =
                desk.all_heard("client.user_message").iter().map(|said| said["message"].clone()).collect();
            assert_eq!(said, ["go 1", "go 2", "go 3"], "{dialect:?}, seed {seed}");
        }
    }
}

#[test]
fn a_question_that_was_asked_while_no_socket_stood_is_said_to_wait_there() {
    let ask = json!({ "type": "tool.request_approval", "request_id": "r1", "tool_name": "delete_file",
        "args": { "file_path": "a.txt" }, "risk_level": "high" });
    let steps = json!([{ "say": "First. " }, { "cut": true }, { "ask": ask, "on_allow": [], "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    assert_eq!(stands(&server, &session)["verdict"], "complete");
    // Given a host that asks behind a break, and does not ask again
    server.prompt(&session, "go");
    // Then it is said that something waits there
    let told = server.wait_event(&session, "a notice", |event| {
        let text = event["payload"]["text"].as_str().unwrap_or_default();
        event["type"] == "local.notice" && text.contains("asked a question that still waits there")
    });
    assert_eq!(told["payload"]["level"], "warning", "{told}");
}
