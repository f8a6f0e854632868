//! What is answered to a request that came cut, by what is sent to the server.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;

use super::super::super::args::{self, Cli};
use super::super::super::client::Client;
use super::super::super::console::Console;
use super::super::super::framing::read_frame;
use super::super::super::terminal::Terminal;
use super::super::keyboard::Keyboard;
use super::super::opened::{OpenedSession, Person};
use super::*;
use crate::domain::approval::{Action, Subject};
use crate::domain::dialect::Dialect;

const PATIENCE: Duration = Duration::from_secs(60);

/// A turn on a terminal whose server writes down what it is sent and answers nothing.
fn turn(heard: &std::path::Path) -> AskTurn {
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$0\""]).arg(heard);
    let client = Client::start(command).expect("sh starts");
    let words = ["breadboard-ls", "ask", "q", "--trust"];
    let Some(args::Command::Ask(args)) = Cli::try_parse_from(words).expect("parses").command else {
        panic!("is `ask`")
    };
    let terminal = Terminal { stdin: true, stdout: false, stderr: false, plain: true };
    let person = Person { terminal: &terminal, keyboard: Keyboard::Stdin };
    let opened = OpenedSession {
        session_id: "s".to_owned(),
        seq: 0,
        earlier: Vec::new(),
        trusted: true,
        dialect: Dialect::Acp,
        waiting: Vec::new(),
        advice: None,
    };
    let console = Console::new(std::io::stdout(), std::io::stderr(), None);
    AskTurn::new(client, console, person, &args, "/".into(), opened, Arc::new(AtomicBool::new(false)))
}

fn cut() -> Permission {
    let command = Action::Command { command: "make".to_owned(), cwd: "/w".to_owned(), env: None };
    Permission {
        request_id: "r".to_owned(),
        digest: "sha256:d".to_owned(),
        title: "Run make".to_owned(),
        subject: Subject { truncated: true, ..Subject::new(command) },
        options: Vec::new(),
        tool_call_id: None,
        patch_id: None,
        parts: None,
        expires_at: None,
        policy: None,
    }
}

#[test]
fn d4_what_came_cut_is_read_whole_and_denied_where_that_cannot_be_had() {
    let refusal = Refusal { number: -32803, code: "unknown_request".to_owned(), message: "No.".to_owned() };
    for whole in [Err(refusal), Ok(json!({ "status": "pending" }))] {
        // Given a request that came cut
        let place = tempfile::tempdir().expect("a directory");
        let heard = place.path().join("heard");
        let mut turn = turn(&heard);
        // When it comes, then nobody is asked yet
        assert!(turn.asked(cut()).is_ok());
        assert!(turn.open.is_none() && turn.waiting.is_empty());
        // And when the whole of it cannot be had, nobody is asked either
        assert!(turn.whole_came(cut(), whole.clone()).is_ok());
        assert!(turn.open.is_none() && turn.waiting.is_empty());
        // But it is denied
        let AskTurn { client, .. } = turn;
        client.abandon(PATIENCE);
        let bytes = std::fs::read(&heard).expect("what was sent");
        let mut sent = bytes.as_slice();
        let mut requests = Vec::new();
        while let Some(raw) = read_frame(&mut sent).expect("frames") {
            let request: Value = serde_json::from_str(&raw).expect("JSON");
            requests.push((request["method"].clone(), request["params"].clone()));
        }
        assert_eq!(
            requests,
            [
                (json!("bb/permission/get"), json!({ "sessionId": "s", "requestId": "r" })),
                (
                    json!("bb/approvePermission"),
                    json!({ "sessionId": "s", "requestId": "r", "decision": "deny", "digest": "sha256:d" })
                ),
            ],
            "{whole:?}"
        );
    }
}
