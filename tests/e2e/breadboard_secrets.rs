//! The engine's token reaches the engine and nobody else, however the engine gives it back (R000-62, R000-78).

use std::path::Path;
use std::process::{Command, Stdio};

use breadboard_ls::testing::simulate::breadboard::SimulatorOptions;
use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::{Options, Server};

/// Never written anywhere but on the wire to the engine.
const CANARY: &str = "bbt-7f41c9d2-canary-\"of\"-the-engine";

/// The token where it can only be a header.
const PLAIN: &str = "bbt-55ae90b1-canary-of-the-engine";

/// Whether the token stands in these bytes, raw or as JSON writes it.
fn holds(bytes: &[u8], token: &str) -> bool {
    let written = Value::from(token).to_string();
    let spelled = [token.as_bytes(), &written.as_bytes()[1..written.len() - 1]];
    spelled.iter().any(|text| bytes.windows(text.len()).any(|window| window == *text))
}

/// Some of what stands around it, for a failure.
fn around(bytes: &[u8], token: &str) -> String {
    let word = &token.as_bytes()[..8];
    let at = bytes.windows(8).position(|window| window == word).unwrap_or_default();
    String::from_utf8_lossy(&bytes[at.saturating_sub(200)..(at + 200).min(bytes.len())]).into_owned()
}

/// Looks into every file below; how many there were.
fn clean(directory: &Path, token: &str) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += clean(&path, token);
        } else {
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            assert!(!holds(&bytes, token), "{} holds the token: {}", path.display(), around(&bytes, token));
        }
    }
    files
}

/// An engine that says its token wherever it can.
fn talkative(token: &str) -> SimulatorOptions {
    let (left, right) = token.split_at(11);
    let arguments = json!({ "command": format!("echo {token}") }).to_string();
    let call =
        json!({ "id": "c", "type": "function", "function": { "name": "run_shell", "arguments": arguments } });
    let steps = json!([
        piece(&format!("your token is {left}")), piece(&format!("{right}, is it not?")),
        says(&format!("your token is {token}, is it not?")),
        { "type": "tool_call", "payload":
            { "call": call, "call_id": "c", "tool": "run_shell", "action": "start", "seq": 1 } },
        { "type": "tool_result", "payload":
            { "tool": "run_shell", "success": true, "status": "ok", "error": false, "call_id": "c",
              "metadata": { "is_run_shell": true, "command": format!("echo {token}"), "exit_code": 0 },
              "result": { "stdout": format!("{token}\n"), "stderr": token, "exit": 0 } } },
        { "type": "assistant.reasoning.delta", "payload": { "item_id": "r", "delta": token } },
        { "type": "warning", "payload": { "message": format!("odd: {token}") } },
        { "type": format!("new.{PLAIN}"), "payload": { token: token, "deep": [{ "x": token }] } },
        { "raw": format!("no json {PLAIN}") },
        asks(&format!("curl -H {token}"), token, "denied"),
    ]);
    let last = json!([{ "error": format!("failed with {token}") }]);
    SimulatorOptions { token: Some(token.to_owned()), ..scripted(&json!([steps, last])) }
}

/// Says everything that can be said to this engine, and looks at every byte that came of it.
#[cfg(unix)]
fn story(token: &str, options: Options, by_request: bool) {
    let desk = Desk::start(talkative(token));
    let aside = tempfile::tempdir().unwrap();
    let stderr = aside.path().join("stderr");
    let shell = format!("exec \"$0\" \"$@\" 2>'{}'", stderr.display());
    let launcher = vec!["sh".to_owned(), "-c".to_owned(), shell];
    let mut server =
        Server::ready(Options { options: desk.chosen(true).options, launcher, keep_frames: true, ..options });
    server.notify("$/setTrace", json!({ "value": "verbose" }));
    if by_request {
        let denied = server.wait_notification("bb/connection", |params| params["status"] == "error");
        let why = denied["params"]["lastError"].as_str().unwrap();
        assert!(why.contains("wants a token") && why.contains("BREADBOARD_API_TOKEN"), "{why}");
        assert_eq!(server.refused("bb/createSession", json!({}))["data"]["code"], "engine_unauthorized");
        server.ask("bb/setCredentials", json!({ "scope": "engine", "token": token }));
    }
    connected(&server);
    let session = server.session();
    server.prompt(&session, &format!("is {token} good?"));
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_rule");
    ran(&server, &session);
    // Refused by the engine, in words that repeat what was asked.
    let wrong =
        json!({ "sessionId": session, "command": "restore_checkpoint", "args": { "checkpoint_id": token } });
    server.refused("bb/command", wrong);
    server.refused("bb/command", json!({ "sessionId": session, "command": PLAIN, "args": {} }));
    desk.engine.answer_next(
        "/input",
        400,
        &json!({ "error": "invalid_request", "detail": token }).to_string(),
    );
    server.prompt(&session, "refused?");
    heard(&server, &session, "local.turn_end");
    server.prompt(&session, "fail");
    heard(&server, &session, "error");
    status(&server, &session, "failed");
    for method in ["bb/listSessions", "bb/init", "bb/models/list"] {
        server.ask(method, json!({}));
    }
    let events = journal(&mut server, &session);
    let blocks = chat(&mut server, &session);
    let said = of_kind(&blocks, "assistant")[0]["text"].as_str().unwrap().to_owned();
    assert_eq!(said, "your token is [redacted], is it not?");
    assert_eq!(numbers(&events).len(), desk.engine.sent(&session).len(), "every event is there");

    assert!(clean(server.state.path(), token) >= 2, "the journal as it is while the process lives");
    let (frames, state) = (server.frames(), server.state.clone());
    assert!(frames.len() > 20);
    for frame in &frames {
        assert!(!holds(frame, token), "{}", String::from_utf8_lossy(frame));
    }
    assert!(server.shut_down().success());
    assert!(clean(state.path(), token) >= 2, "the journal after the end");
    assert!(!holds(&std::fs::read(stderr).unwrap(), token), "stderr");
}

#[cfg(unix)]
#[test]
fn r000_62_a_token_of_the_environment_never_comes_out() {
    story(CANARY, Options::default().env("BREADBOARD_API_TOKEN", CANARY), false);
    story(PLAIN, Options::default().env("BREADBOARD_API_TOKEN", PLAIN), false);
}

#[cfg(unix)]
#[test]
fn r000_62_a_token_of_the_editor_never_comes_out() {
    story(PLAIN, Options::default(), true);
}

#[test]
fn r000_62_the_doctor_does_not_say_the_token() {
    let (workspace, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = SimulatorOptions { token: Some("another".to_owned()), ..scripted(&json!([])) };
    for (options, code) in [(talkative(PLAIN), Some(0)), (other, Some(1))] {
        let desk = Desk::start(options);
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
        doctor.args(["doctor", "--json", "--workspace"]).arg(workspace.path());
        doctor.arg("--state-dir").arg(state.path()).env("BREADBOARD_API_URL", desk.engine.base_url());
        let output =
            doctor.env("BREADBOARD_API_TOKEN", PLAIN).stdin(Stdio::null()).output().expect("it runs");
        let shown = [output.stdout, output.stderr].concat();
        assert_eq!(output.status.code(), code, "{}", String::from_utf8_lossy(&shown));
        assert!(!holds(&shown, PLAIN), "{}", String::from_utf8_lossy(&shown));
    }
}

/// `authorization` headers that an engine got.
fn tokens(socket: &Socket) -> Vec<String> {
    let heads = socket.heads();
    let lines = heads.iter().flat_map(|head| head.lines()).filter(|line| line.starts_with("authorization"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_token_goes_to_the_engine_it_was_given_for_and_to_no_other() {
    let [own, other] = [(), ()].map(|()| Socket::start(|_, _| Ok(false)));
    let talk = |options: Options| {
        let options = Options { options: json!({ "workspaceTrusted": true }), ..options };
        let options = options.env("BREADBOARD_API_URL", &own.url).env("BREADBOARD_API_TOKEN", PLAIN);
        let mut server = Server::ready(options);
        connected(&server);
        let session = server.session();
        server.ask("bb/selectSession", json!({ "sessionId": session }));
        assert!(server.shut_down().success());
    };
    talk(Options::default());
    assert!(own.heads().len() > 3, "{:?}", own.heads());
    assert_eq!(tokens(&own).len(), own.heads().len(), "every request to it has the token");
    assert!(
        tokens(&own).iter().all(|line| *line == format!("authorization: bearer {PLAIN}")),
        "{:?}",
        tokens(&own)
    );
    assert_eq!(other.heads(), Vec::<String>::new());

    let asked = own.heads().len();
    let args = vec!["--engine-url".to_owned(), other.url.clone()];
    talk(Options { args, ..Options::default() });
    assert!(other.heads().len() > 3, "{:?}", other.heads());
    assert_eq!(tokens(&other), Vec::<String>::new());
    assert_eq!(own.heads().len(), asked, "and the first engine hears nothing");
}

#[test]
fn a_redirect_of_the_engine_is_not_followed() {
    let elsewhere = Socket::start(|_, _| Ok(false));
    let to = elsewhere.url.clone();
    let engine = Socket::start(move |line, out| {
        let path = line.split(' ').nth(1).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 307 Elsewhere\r\nLocation: {to}{path}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        std::io::Write::write_all(out, head.as_bytes()).map(|()| true)
    });
    let mut server = Server::ready(chosen(&engine.url, true).env("BREADBOARD_API_TOKEN", PLAIN));
    let failed = server.wait_notification("bb/connection", |params| params["status"] == "error");
    assert!(failed["params"]["lastError"].as_str().unwrap().contains("sends us elsewhere"), "{failed}");
    server.refused("bb/createSession", json!({}));
    assert!(!engine.heads().is_empty());
    assert_eq!(elsewhere.heads(), Vec::<String>::new());
}
