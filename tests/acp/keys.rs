//! Keys of the environment: a known agent gets those that are meant for it, and no other agent gets any.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::desk::{Desk, Layout};

/// A program of this name that writes down the key it has, and is the scripted agent then.
fn program(place: &Path, name: &str) -> String {
    let file = place.join(name);
    let script = format!(
        "#!/bin/sh\nprintf '%s' \"${{OPENAI_API_KEY-none}}\" > '{}'\nexec '{}' \"$@\"\n",
        place.join("key").display(),
        env!("CARGO_BIN_EXE_breadboard-ls")
    );
    std::fs::write(&file, script).expect("a program");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("may be run");
    file.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_agent_gets_its_key_what_the_user_wrote_wins_and_another_agent_gets_none() {
    for (name, env, key) in [
        ("codex-acp", json!({}), "sk-of-the-environment"),
        ("codex-acp", json!({ "OPENAI_API_KEY": "sk-of-the-user" }), "sk-of-the-user"),
        ("claude-agent-acp", json!({}), "none"),
        ("other", json!({}), "none"),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        let given = json!({ "command": program(place.path(), name), "env": env });
        let mut desk = Desk::laid(Layout { given, ..Layout::default() });
        desk.make("a").await;
        let got = std::fs::read_to_string(place.path().join("key")).expect("it was written");
        assert_eq!(got, key, "{name}");
    }
}
