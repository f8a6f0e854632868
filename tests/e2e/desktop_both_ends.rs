//! Our client of desktop hosts against our own host: each thing is done once, by the end that says that it does it.

use std::sync::Arc;

use serde_json::json;

use crate::breadboard_desk::connected;
use crate::desktop_desk::{chosen, last_text, notices};
use crate::desktop_host::Host;
use crate::harness::Server;
use crate::model::{Model, calls, says};

/// A server of the folder that this host serves, with its token and a state of its own.
fn server_of(host: &Host) -> Server {
    let state = Arc::new(tempfile::tempdir().expect("a state directory"));
    let options = chosen(&host.url, true).env("BREADBOARD_API_TOKEN", &host.token);
    let mut server = Server::start_in(Arc::clone(&host.workspace), state, options);
    server.shake_hands();
    connected(&server);
    server
}

#[test]
fn i14_1_a_question_is_answered_through_both_ends() {
    let model = Model::start(vec![says("Forty-two.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "what is it?");
    server.wait_end(&session);
    assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some("Forty-two."));
}

#[test]
fn i14_2_a_change_that_was_allowed_is_made_by_the_host_alone_and_a_denied_one_by_nobody() {
    for (decision, written, answer) in [("allow_once", Some("hello\n"), "Done."), ("deny", None, "Then not.")]
    {
        // Given a host whose model proposes a file
        let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
        let wish = json!({ "file_path": "new.txt", "diff": diff, "rationale": "It greets." });
        let model = Model::start(vec![calls("propose_patch", wish), says(answer)]);
        let host = Host::of(&model);
        let mut server = server_of(&host);
        let session = server.session();
        // When the user of our client decides
        server.prompt(&session, "write it");
        let ask = server.wait_ask(&session);
        assert_eq!(ask["permission"]["subject"]["kind"], "edit", "{ask}");
        server.decide(&session, &ask, decision);
        server.wait_end(&session);
        // Then the host made it where it was allowed, and nobody tried a second time
        assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some(answer));
        let at_host = std::fs::read_to_string(host.workspace.path().join("new.txt")).ok();
        assert_eq!(at_host.as_deref(), written, "{decision}");
        let said = notices(&mut server, &session);
        assert!(said.iter().all(|text| text.contains("index")), "{said:?}");
    }
}

#[cfg(unix)]
#[test]
fn i14_2_a_command_that_was_allowed_runs_once_at_the_host() {
    let wish = json!({ "command": "echo ran >> ran.txt", "reason": "To see." });
    let model = Model::start(vec![calls("run_command", wish), says("It ran.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["subject"]["kind"], "command", "{ask}");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let ran = std::fs::read_to_string(host.workspace.path().join("ran.txt")).ok();
    assert_eq!(ran.as_deref(), Some("ran\n"));
}
