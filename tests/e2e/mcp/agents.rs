//! The user's servers go to agents, which start them themselves.

use serde_json::{Value, json};

use crate::harness::{Options, Server};

#[test]
fn an_agent_is_given_the_programs_with_its_session_and_is_told_of_no_address_that_it_does_not_take() {
    // Given an agent that takes programs only
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let agent = json!({ "command": env!("CARGO_BIN_EXE_breadboard-ls"),
                        "args": ["simulate", "acp", "--log", log, "--script", json!([{ "chunk": "hi" }]).to_string()] });
    let servers = json!({
        "docs": { "command": "/bin/docs", "args": ["-x"], "env": { "API_KEY": "${KEY_OF_DOCS}" } },
        "web": { "url": "https://docs.example/mcp", "headers": { "Authorization": "Bearer canary-in-a-header" } },
        "off": { "command": "/bin/off", "disabled": true },
    });
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": agent }, "mcpServers": servers,
                          "engine": { "kind": "acp", "name": "sim" } });
    let options = Options { options, ..Options::default() }.env("KEY_OF_DOCS", "canary-from-outside");
    let mut server = Server::ready(options);
    // When it makes a session and works in it
    let made = server.ask("bb/createSession", json!({}));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    server.turn(&session, "go");
    // Then it was given the program, with the variable filled in, and not the address, which is said
    let text = std::fs::read_to_string(&log).expect("a log");
    let asked = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|line| line.to_string().contains("session/new").then_some(line))
        .expect("the session was asked for");
    let whole = asked.to_string();
    assert!(whole.contains("/bin/docs") && whole.contains("canary-from-outside"), "{whole}");
    assert!(!whole.contains("docs.example") && !whole.contains("/bin/off"), "{whole}");
    let told = server.events(&session).iter().any(|event| {
        event["payload"]["text"].to_string().contains("takes no tool servers that have an address, so `web`")
    });
    assert!(told, "{:#?}", server.events(&session));
    // And here they are listed, and not started a second time
    let listed = server.ask("bb/mcp/list", json!({}));
    assert_eq!(listed["servers"][0]["status"], "stopped");
    for message in server.received() {
        let text = message.to_string();
        assert!(!text.contains("canary-from-outside") && !text.contains("canary-in-a-header"), "{text}");
    }
}
