//! Requests of an agent that nobody could answer any more: the reason is said, and the next prompt opens its session again
//! (ruling 19).

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn options(agent: &Value) -> Options {
    let ask = json!({ "ask": { "toolCall": { "toolCallId": "c1", "title": "Build", "kind": "execute",
        "rawInput": { "command": "make" } } }, "on": { "else": [] } });
    let script = json!({ "agent": agent, "prompts": [
        { "when": "build", "steps": [ask] },
        { "when": "die", "steps": [{ "exit": 3 }] },
        { "when": "", "steps": [{ "chunk": "Went on." }] },
    ] });
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    Options { options: json!({ "workspaceTrusted": true, "agents": { "sim": agent } }), ..Options::default() }
}

fn agent_session(server: &mut Server) -> String {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    made["sessionId"].as_str().expect("an id").to_owned()
}

/// The sentences in the chat of a session, oldest first, and how its last request stands.
fn chat(server: &mut Server, session: &str) -> (Vec<String>, Value) {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks");
    let notices = blocks.iter().filter(|block| block["kind"] == "notice");
    let request = blocks.iter().rev().find(|block| block["kind"] == "permission").expect("a request");
    (
        notices.map(|block| block["text"].as_str().expect("a text").to_owned()).collect(),
        request["status"].clone(),
    )
}

/// The next prompt goes on in the same session of the agent.
fn goes_on(server: &mut Server, session: &str) {
    server.prompt(session, "Continue where you stopped.");
    server
        .wait_event(session, "words of the agent", |event| event["payload"].to_string().contains("Went on."));
}

#[test]
fn r001_57_a_request_of_an_agent_that_ended_says_why_nobody_can_answer_it_and_how_to_go_on() {
    for (can, next) in [
        (json!({}), "continue, and the agent opens this session again with what it remembers."),
        (
            json!({ "capabilities": {} }),
            "the agent keeps no sessions, so it begins anew with the next prompt.",
        ),
    ] {
        // Given a session in which an agent asks, and another one of the same process
        let mut server = Server::ready(options(&can));
        let (asking, other) = (agent_session(&mut server), agent_session(&mut server));
        server.prompt(&asking, "build");
        server.wait_ask(&asking);
        // When the process ends
        server.prompt(&other, "die");
        server.wait_end(&asking);
        // Then the request is over, with the reason and the way on
        let (sentences, status) = chat(&mut server, &asking);
        assert_eq!(status, "cancelled");
        let sentence =
            format!("The agent ended before you answered what `sim` asked, so that was not done; {next}");
        assert!(sentences.contains(&sentence), "{sentences:#?}");
        // And it goes on
        goes_on(&mut server, &asking);
    }
}

#[test]
fn r001_60_a_request_of_an_agent_whose_server_was_killed_says_so_and_the_session_goes_on() {
    let mut server = Server::ready(options(&json!({})));
    let session = agent_session(&mut server);
    server.prompt(&session, "build");
    server.wait_ask(&session);
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut next = Server::start_in(workspace, state, options(&json!({})));
    next.shake_hands();
    next.ask("bb/init", json!({}));
    // The session is free once everything that its window started is gone.
    let began = Instant::now();
    let (sentences, status) = loop {
        let told = chat(&mut next, &session);
        if told.1 != "pending" {
            break told;
        }
        assert!(began.elapsed() < PATIENCE, "{told:?}");
    };
    assert_eq!(status, "cancelled");
    let sentence = "breadboard-ls ended before you answered what `sim` asked, so that was not done; continue, and the agent opens this session again with what it remembers.";
    assert!(sentences.contains(&sentence.to_owned()), "{sentences:#?}");
    goes_on(&mut next, &session);
}
