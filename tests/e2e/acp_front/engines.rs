//! Any engine behind the front: an agent of its own, and never ourselves.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::client::{AcpPeer, PROGRAM, folder};

fn agent(script: &Value) -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("script.json");
    std::fs::write(&file, script.to_string()).expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script \"{}\"", file.display());
    (place, engine)
}

#[test]
fn i14_6_an_agent_behind_it_is_heard_asked_about_and_answered() {
    let script = json!([
        { "chunk": "Hello " },
        { "ask": { "toolCall": { "toolCallId": "c", "title": "rm x", "rawInput": { "command": "rm x" }, "kind": "execute" } },
          "on": { "allow_once": [{ "chunk": "allowed" }], "reject_once": [{ "chunk": "refused" }] } },
    ]);
    let (_place, engine) = agent(&script);
    let (mut peer, session) = AcpPeer::ready(&[&engine, "--trust"], json!({}));
    let id = peer.prompt(&session, "go");
    let ask = peer.wait_request("session/request_permission");
    assert!(ask["params"]["toolCall"].to_string().contains("rm x"), "{ask}");
    peer.choose(&ask, "reject_once");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.said("agent_message_chunk"), "Hello refused");
}

#[test]
fn i14_6_without_trust_no_agent_is_started_and_it_is_said_how_trust_is_given() {
    let (_place, engine) = agent(&json!([{ "chunk": "x" }]));
    let mut peer = AcpPeer::start(&[&engine]);
    peer.hello(json!({}));
    let refused = peer.refused("session/new", json!({ "cwd": peer.workspace.path(), "mcpServers": [] }));
    let said = refused["message"].as_str().expect("a sentence");
    assert!(said.contains("not trusted") && said.contains("`--trust`"), "{said}");
}

#[test]
fn i14_6_modes_options_and_commands_of_an_agent_go_through() {
    let script = json!({
        "agent": {
            "modes": { "currentModeId": "ask",
                "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "plan", "name": "Plan" }] },
            "configOptions": [{ "id": "m", "name": "Model", "category": "model", "type": "select",
                "currentValue": "small", "options": [{ "value": "small", "name": "S" }, { "value": "large", "name": "L" }] }],
        },
        "prompts": [{ "steps": [{ "chunk": "Hello" }] }],
    });
    let (_place, engine) = agent(&script);
    let mut peer = AcpPeer::start(&[&engine, "--trust"]);
    peer.hello(json!({}));
    let made = peer.ask("session/new", json!({ "cwd": peer.workspace.path(), "mcpServers": [] }));
    let session = made["sessionId"].clone();
    assert_eq!(made["modes"]["currentModeId"], "ask");
    assert_eq!(made["configOptions"][0]["currentValue"], "small");
    assert_eq!(peer.ask("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })), json!({}));
    let refused = peer.refused("session/set_mode", json!({ "sessionId": session, "modeId": "no such mode" }));
    assert_eq!(refused["code"], -32602);
    let set = json!({ "sessionId": session, "configId": "m", "value": "large" });
    assert_eq!(peer.ask("session/set_config_option", set)["configOptions"][0]["currentValue"], "large");
    let wrong = json!({ "sessionId": session, "configId": "m", "value": "huge" });
    assert_eq!(peer.refused("session/set_config_option", wrong)["code"], -32602);
}

#[test]
fn i14_6_it_is_never_its_own_agent_directly_or_through_another_program() {
    let engine = format!("'{PROGRAM}' acp");
    for engine in [engine.clone(), format!("sh -c \"exec {PROGRAM} acp\"")] {
        let (workspace, state) = (folder(), folder());
        let output = Command::new(PROGRAM)
            .args(["ask", "go", "--trust", &format!("--engine=acp:{engine}"), "--workspace"])
            .arg(workspace.path())
            .arg("--state-dir")
            .arg(state.path())
            .env_remove("BREADBOARD_API_URL")
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("would only ask itself"), "{engine}: {said}");
    }
    // And as a front in front of itself
    let mut peer = AcpPeer::start(&[&format!("--engine=acp:{engine}"), "--trust"]);
    peer.hello(json!({}));
    let refused = peer.refused("session/new", json!({ "cwd": peer.workspace.path(), "mcpServers": [] }));
    assert!(
        refused["message"].as_str().is_some_and(|said| said.contains("would only ask itself")),
        "{refused}"
    );
}
