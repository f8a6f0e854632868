//! What a real agent process is and offers: told in every window, and after a kill.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn options() -> Options {
    let script = json!({
        "agent": {
            "modes": { "currentModeId": "ask",
                "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }] },
            "configOptions": [{ "id": "m", "name": "Model", "category": "model", "type": "select",
                "currentValue": "small", "options": [{ "value": "small", "name": "Small" }] }],
        },
        "prompts": [{ "when": "stay", "steps": [{ "wait": { "file": "go" } }] }, { "when": "", "steps": [
            { "update": { "sessionUpdate": "available_commands_update",
                "availableCommands": [{ "name": "plan", "description": "Plans" }] } },
        ] }],
    });
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": agent } });
    Options { options, ..Options::default() }
}

/// Asks until this is the answer: another window hears of it within two seconds.
fn until_told(server: &mut Server, session: &str, expected: &Value) {
    let began = Instant::now();
    loop {
        let id = server.request("bb/session/info", json!({ "sessionId": session }));
        let answer = server.wait_response(&id);
        if answer.get("result") == Some(expected) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{answer}");
    }
}

#[test]
fn what_an_agent_offers_is_told_in_every_window_and_after_a_kill() {
    // Given a session of an agent that a window works on
    let mut first = Server::ready(options());
    let made = first.ask("bb/createSession", json!({ "agent": "sim" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    first.prompt(&session, "go");
    first.wait_end(&session);
    // When its mode changes
    first.ask(
        "bb/command",
        json!({ "sessionId": session, "command": "set_mode", "args": { "modeId": "code" } }),
    );
    // Then that window tells what the agent said in answers and in events
    let mut info = first.ask("bb/session/info", json!({ "sessionId": session }));
    assert_eq!(info["agent"]["title"], "Simulated agent");
    assert_eq!((&info["agent"]["generation"], &info["agent"]["status"]), (&json!(1), &json!("running")));
    assert_eq!(info["modes"]["currentModeId"], "code");
    assert_eq!(info["configOptions"][0]["currentValue"], "small");
    assert_eq!(info["commands"], json!([{ "name": "plan", "description": "Plans" }]));
    assert_eq!(info["capabilities"]["loadSession"], true);
    // And another one the same, with the process that works on it
    first.prompt(&session, "stay");
    let (workspace, state) = (Arc::clone(&first.workspace), Arc::clone(&first.state));
    let mut second = Server::start_in(workspace, state, options());
    second.shake_hands();
    until_told(&mut second, &session, &info);
    // And once nobody works on it, that there is no process here; and after a kill too
    first.write("go", "");
    first.wait_end(&session);
    info["agent"]["generation"] = json!(0);
    info["agent"]["status"] = json!("stopped");
    until_told(&mut second, &session, &info);
    first.kill();
    second.kill();
    let mut third = Server::start_in(Arc::clone(&first.workspace), Arc::clone(&first.state), options());
    third.shake_hands();
    until_told(&mut third, &session, &info);
}
