//! A token goes to the origin it was given for and nowhere else: not to the editor, not to the disk, not to another host,
//! however a model gives it back (ARCHITECTURE.md, invariant 12; R000-62, R000-78).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::flood::{Answer, Asked, Model};
use super::harness::{Options, Server};

/// Every source of a token, and what came from it.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("BREADBOARD_API_TOKEN", "api-4b1d0c7e-of-the-engine"),
    ("BREADBOARD_MODEL_TOKEN", "mod-9f3a55d2-of-the-model"),
    ("OPENAI_API_KEY", "sk-77e0b1c4-of-openai"),
    ("ANTHROPIC_API_KEY", "ant-1c9e8d33-of-anthropic"),
    ("GEMINI_API_KEY", "gem-5a6b7c8d-of-gemini"),
];
const GIVEN: &str = "giv-\"c3d4\\e5f6\"-by-the-editor";

fn secrets() -> Vec<&'static str> {
    ENVIRONMENT.iter().map(|(_, token)| *token).chain([GIVEN]).collect()
}

fn options(model: &Value) -> Options {
    Options {
        options: json!({ "model": model, "workspaceTrusted": true }),
        env: ENVIRONMENT.iter().map(|(name, token)| ((*name).to_owned(), (*token).to_owned())).collect(),
        keep_frames: true,
        ..Options::default()
    }
}

/// Which secrets stand in these bytes, raw or as JSON writes them.
fn found_in(bytes: &[u8]) -> Vec<String> {
    let spellings = secrets().into_iter().flat_map(|secret| {
        let json = Value::from(secret).to_string();
        [secret.to_owned(), json[1..json.len() - 1].to_owned()]
    });
    spellings.filter(|text| bytes.windows(text.len()).any(|window| window == text.as_bytes())).collect()
}

/// The same for every file below.
fn assert_clean(directory: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += assert_clean(&path);
        } else {
            files += 1;
            let found = found_in(&std::fs::read(&path).unwrap());
            assert!(found.is_empty(), "{} holds {found:?}", path.display());
        }
    }
    files
}

fn turn(server: &mut Server, session: &Value, text: &str) -> Vec<Value> {
    let sent = server.ask("bb/sendMessage", json!({ "sessionId": session, "text": text }));
    assert_eq!(sent["disposition"], "started", "{sent}");
    let mut events = Vec::new();
    loop {
        let batch = server.wait_notification("bb/events", |params| params["sessionId"] == *session);
        for event in batch["params"]["events"].as_array().unwrap() {
            events.push(event.clone());
            if event["class"] == "permission.request" {
                let id = server.request(
                    "bb/approvePermission",
                    json!({ "sessionId": session, "requestId": event["permission"]["requestId"],
                        "decision": "allow_once", "digest": event["permission"]["digest"] }),
                );
                let answer = server.wait_response(&id);
                assert_eq!(answer["result"]["outcome"], "recorded", "{answer}");
            }
        }
        if events.iter().any(|event| event["class"] == "run.finished") {
            return events;
        }
    }
}

#[cfg(unix)]
#[test]
fn r000_62_a_token_that_comes_back_reaches_neither_the_editor_nor_the_disk() {
    let echo = |at: usize, asked: &Asked| -> Answer {
        let all = secrets().join(" and ");
        match at {
            0 => Answer::Call(vec![format!("I know {all}.")], "read_file", json!({ "path": "kept.txt" })),
            1 => {
                assert!(asked.last().contains("kept"), "the file was read: {}", asked.last());
                // In pieces of three characters, so that no piece holds one.
                let letters: Vec<char> = all.chars().collect();
                let pieces = letters.chunks(3).map(|piece| piece.iter().collect()).collect();
                let command = json!({ "command": "cat kept.txt; cat kept.txt >&2", "reason": all });
                Answer::Call(pieces, "run_command", command)
            }
            2 => {
                assert!(asked.last().contains("exit code 0"), "the command ran: {}", asked.last());
                Answer::Text(vec![format!("The end: {all}")])
            }
            3 => Answer::Status(500, json!({ "error": { "message": format!("no {all}") } }).to_string()),
            _ => Answer::Text(vec!["Done.".to_owned()]),
        }
    };
    let model = Model::start(echo);
    let (workspace, state, aside) =
        (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()), TempDir::new().unwrap());
    std::fs::write(workspace.path().join("kept.txt"), format!("kept {}\n", secrets().join("\nand ")))
        .unwrap();
    let stderr = aside.path().join("stderr");
    let mut options = options(&model.setting());
    let shell = format!("exec \"$0\" \"$@\" 2>'{}'", stderr.display());
    options.launcher = vec!["sh".to_owned(), "-c".to_owned(), shell];
    let mut server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), options);
    server.shake_hands();
    server.ask("bb/init", json!({}));
    server.notify("$/setTrace", json!({ "value": "verbose" }));
    server.ask("bb/setCredentials", json!({ "scope": "model", "token": GIVEN }));
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();

    let prompt = format!("Is {} a good token?", secrets().join(" or "));
    let events = turn(&mut server, &session, &prompt);
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let pieces = read["events"].as_array().unwrap().iter();
    let said: String = pieces.filter_map(|event| event["payload"]["token"].as_str()).collect();
    let told = |from: &str| said.contains(&format!("{from}[redacted] and [redacted]"));
    assert!(told("I know ") && told("The end: "), "the answer is there without the tokens: {said}");
    assert_eq!(said.matches("[redacted]").count(), 3 * secrets().len(), "{said}");
    // The streamed and the final text are one, so the view shows the answer once.
    let last = events.last().unwrap();
    assert_eq!(last["payload"]["message"], Value::from(said.clone()), "{last}");
    let failed = turn(&mut server, &session, "Again.");
    assert!(failed.iter().any(|event| event["type"] == "server.error"), "{failed:#?}");
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    // Whatever it answers, it answers without a token.
    let listed = server.request("bb/models/list", json!({}));
    server.wait_response(&listed);

    // The wal as it is while the process lives, and the file after its end.
    assert!(assert_clean(state.path()) >= 2);
    assert!(server.received().len() > 10);
    let frames = server.frames();
    assert!(server.shut_down().success());
    assert!(assert_clean(state.path()) >= 2);
    for frame in frames {
        let found = found_in(&frame);
        assert!(found.is_empty(), "{found:?} in {}", String::from_utf8_lossy(&frame));
    }
    assert_eq!(found_in(&std::fs::read(stderr).unwrap()), Vec::<String>::new());
    assert!(model.asked().iter().any(|asked| asked.head.contains(GIVEN)), "the model itself gets its token");

    let mut doctor = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    doctor.args(["doctor", "--json", "--model", "fake", "--model-url", &model.url, "--workspace"]);
    doctor.arg(workspace.path()).arg("--state-dir").arg(state.path());
    let output = doctor.envs(ENVIRONMENT).stdin(Stdio::null()).output().expect("runs");
    let shown = [output.stdout, output.stderr].concat();
    assert!(!shown.is_empty());
    assert_eq!(found_in(&shown), Vec::<String>::new());
}

/// Tokens among the headers that an endpoint got.
fn tokens_at(model: &Model) -> Vec<String> {
    model.asked().iter().flat_map(|asked| found_in(asked.head.as_bytes())).collect()
}

#[test]
fn a_token_is_sent_to_the_origin_it_was_given_for_only() {
    let [first, second] = [0, 1].map(|_| Model::start(|_, _| Answer::Text(vec!["Yes.".to_owned()])));
    for given in [None, Some(GIVEN)] {
        let mut server = Server::ready(options(&first.setting()));
        if let Some(token) = given {
            server.ask("bb/setCredentials", json!({ "scope": "model", "token": format!("given{token}") }));
        }
        let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
        turn(&mut server, &session, "One?");
        server.ask("bb/models/set", second.setting());
        turn(&mut server, &session, "Two?");
        assert!(server.shut_down().success());
    }
    assert_eq!((first.asked().len(), second.asked().len()), (2, 2));
    assert!(first.asked()[0].head.contains(ENVIRONMENT[1].1), "{}", first.asked()[0].head);
    assert_eq!(tokens_at(&second), Vec::<String>::new());
    assert!(!second.asked().iter().any(|asked| asked.head.contains("authorization")));
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let to = format!("http://{}/v1/chat/completions", elsewhere.local_addr().unwrap());
    let model = Model::start(move |_, _| Answer::Redirect(to.clone()));
    let mut server = Server::ready(options(&model.setting()));
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let events = turn(&mut server, &session, "Where?");
    assert!(events.iter().any(|event| event["type"] == "server.error"), "{events:#?}");
    assert_eq!(model.asked().len(), 1);
    assert_eq!(elsewhere.accept().err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    assert!(server.shut_down().success());
}

#[test]
fn a_token_is_refused_for_plain_http_to_another_machine() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let model = json!({ "provider": "openai", "name": "m", "url": "http://model.example:8000/v1" });
    let mut options = options(&model);
    // Whatever is sent to another machine would pass here.
    options
        .env
        .extend(BTreeMap::from([("http_proxy".to_owned(), url.clone()), ("HTTP_PROXY".to_owned(), url)]));
    let mut server = Server::ready(options);
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let events = turn(&mut server, &session, "There?");
    let error = events.iter().find(|event| event["type"] == "server.error").expect("an error");
    assert!(error.to_string().contains("plain http would show it"), "{error}");
    assert_eq!(proxy.accept().err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    assert!(server.shut_down().success());
}
