//! Secrets of settings and environments in whatever leaves the server or is stored.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Options, Server};

/// Secrets of the settings, each in a place of its own.
const AGENT: &str = "zq7-canary-of-an-agents-env";
const ODD: &str = "Wk39xx-canary-under-an-odd-name";
const SHORT: &str = "h4nt3r";
const ENGINE: &str = "eng-canary-\"quoted\\path\"-55";
const HEADER: &str = "hdr-canary-0c1d2e3f";
const PLAIN_HEADER: &str = "hdr-canary-of-a-plain-name-77";
const MCP: &str = "mcp-canary-in-an-environment-9";
const DEEP: &str = "deep-canary-four-levels-down";
const ADDRESS: &str = "adr-canary-behind-a-user";
const SECRETS: [&str; 9] = [AGENT, ODD, SHORT, ENGINE, HEADER, PLAIN_HEADER, MCP, DEEP, ADDRESS];

/// What looks like a setting of every day, and has to stay readable.
const ORDINARY: [&str; 5] =
    ["production", "/opt/tools/bin", "https://api.example.com/v1", "12345678", "en_US.UTF-8"];

fn spellings() -> impl Iterator<Item = String> {
    SECRETS.into_iter().flat_map(|secret| {
        let json = Value::from(secret).to_string();
        let twice = Value::from(json[1..json.len() - 1].to_owned()).to_string();
        [secret.to_owned(), json[1..json.len() - 1].to_owned(), twice[1..twice.len() - 1].to_owned()]
    })
}

fn assert_clean(bytes: &[u8], place: &str) {
    for spelling in spellings() {
        assert!(memchr::memmem::find(bytes, spelling.as_bytes()).is_none(), "{place} holds {spelling}");
    }
}

fn assert_clean_below(directory: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += assert_clean_below(&path);
        } else {
            files += 1;
            assert_clean(&std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
    files
}

fn settings(script: &Value) -> Value {
    json!({
        "workspaceTrusted": true,
        "engine": { "kind": "embedded", "env": { "ENGINE_THING": ENGINE } },
        "agents": { "sim": {
            "command": env!("CARGO_BIN_EXE_breadboard-ls"),
            "args": ["simulate", "acp", "--script", script.to_string()],
            "env": {
                "AGENT_API_KEY": AGENT, "SOMETHING": ODD, "DB_PASSWORD": SHORT, "NODE_ENV": ORDINARY[0], "EXTRA": ORDINARY[1],
                "BASE": ORDINARY[2], "WORKERS": ORDINARY[3], "LANG": ORDINARY[4], "HOME": "/home/somebody", "FLAG": "true",
            },
        } },
        "mcpServers": {
            "one": { "headers": { "Authorization": format!("Bearer {HEADER}"), "X-Plain": PLAIN_HEADER, "Accept": "application/json" } },
            "two": { "env": [{ "name": "ANY", "value": MCP }] },
        },
        "model": { "name": "none", "url": format!("http://me:{ADDRESS}@127.0.0.1:9/v1"), "a": { "b": { "c": { "authToken": DEEP } } } },
        // A value of the wrong type: the warning quotes it.
        "delivery": { "maxEvents": AGENT },
    })
}

#[test]
fn secrets_of_the_settings_reach_neither_the_editor_nor_the_disk_and_ordinary_values_stay() {
    let all = SECRETS.join(" and ");
    let ordinary = ORDINARY.join(" and ");
    let letters: Vec<char> = all.chars().collect();
    let mut script = vec![
        json!({ "chunk": format!("{ordinary}; ") }),
        json!({ "stderr": format!("log: {all}; {ordinary}") }),
    ];
    // In pieces, so that no piece holds one.
    script.extend(letters.chunks(3).map(|piece| json!({ "chunk": piece.iter().collect::<String>() })));
    script.push(json!({ "chunk": " end" }));
    let script = Value::from(script);
    // The agent's own words stand in its command line, which is not what is tested here: by a file.
    let place = TempDir::new().unwrap();
    let file = place.path().join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let mut options = settings(&json!(null));
    options["agents"]["sim"]["args"] = json!(["simulate", "acp", "--script", file]);
    let (workspace, state) = (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()));
    let stderr = place.path().join("stderr");
    let launcher =
        ["sh".to_owned(), "-c".to_owned(), format!("exec \"$0\" \"$@\" 2>'{}'", stderr.display())].to_vec();
    let options =
        Options { options, launcher, keep_frames: true, ..Options::default() }.env("RUST_LOG", "trace");
    let mut server = Server::start_in(workspace, Arc::clone(&state), options);
    server.shake_hands();
    server.notify("$/setTrace", json!({ "value": "verbose" }));
    server.ask("bb/init", json!({}));
    let session =
        server.ask("bb/createSession", json!({ "agent": "sim" }))["sessionId"].as_str().unwrap().to_owned();
    // When the user and the agent say them
    server.turn(&session, &format!("Is it {all}? Not {ordinary}?"));
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    // An error that quotes what was asked
    server.refused("bb/selectSession", json!({ "sessionId": all }));
    server.refused(&format!("bb/{HEADER}"), json!({}));
    // Then the words that are no secrets stand everywhere, and the secrets nowhere
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let said = read["events"].to_string();
    for word in ORDINARY {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(said.contains("[redacted]"), "{said}");
    assert!(assert_clean_below(state.path()) >= 5);
    let frames = server.frames();
    assert!(server.shut_down().success());
    assert!(assert_clean_below(state.path()) >= 4);
    for frame in frames {
        assert_clean(&frame, &String::from_utf8_lossy(&frame));
    }
    assert_clean(&std::fs::read(stderr).unwrap(), "stderr");
    let log = std::fs::read_to_string(state.path().join("agents/sim.log")).unwrap();
    assert!(log.contains("[redacted]") && ORDINARY.iter().all(|word| log.contains(word)), "{log}");
}
