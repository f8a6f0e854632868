//! `breadboard-ls ask` with the simulated BreadBoard engine: what it does, how it ends, and what goes wrong on the way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

use breadboard_ls::testing::simulate::breadboard::HoldPoint;
use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// A simulated engine, which ends with this value.
struct Engine {
    child: Child,
    url: String,
    place: tempfile::TempDir,
}

impl Engine {
    fn start(steps: &Value, flags: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("script.json");
        std::fs::create_dir(place.path().join("w")).expect("a workspace");
        std::fs::write(&file, json!({ "prompts": [steps] }).to_string()).expect("a script");
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "breadboard", "--script"]).arg(&file).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.env_remove("BREADBOARD_API_TOKEN");
        let mut child = command.spawn().expect("the engine starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("the first line");
        let url = line.trim().strip_prefix("listening on ").expect("the address").to_owned();
        Self { child, url, place }
    }

    /// What `ask` says on stdout and stderr, and its exit code.
    fn ask(&self, flags: &[&str]) -> (String, String, Option<i32>) {
        said(&self.command(&["ask", "go", "--trust"]).args(flags).output().expect("the binary runs"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--engine-url", &self.url, "--workspace"]).arg(self.place.path().join("w"));
        command.arg("--state-dir").arg(self.place.path().join("state")).stdin(Stdio::null());
        for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

fn message(text: &str) -> Value {
    json!({ "type": "assistant_message",
        "payload": { "text": text, "message": { "role": "assistant", "content": text } } })
}

fn end(summary: Value) -> [Value; 2] {
    [
        json!({ "type": "completion", "payload": { "summary": summary } }),
        json!({ "type": "run_finished", "payload": { "eventCount": 9 } }),
    ]
}

fn run(begin: &[Value], summary: Value) -> Value {
    let start = json!({ "type": "turn_start", "payload": {} });
    let steps: Vec<Value> = [&[start][..], begin, &end(summary)].concat();
    json!({ "bare": true, "steps": steps })
}

#[test]
fn a_run_that_was_not_done_says_why_once_and_exits_with_1() {
    let rows = [
        (
            json!({ "completed": false, "reason": "max_steps_exhausted", "max_steps": 7 }),
            "The turn ended at its limit of 7 steps.\n",
        ),
        (
            json!({ "completed": false, "reason": "stopped_by_user", "exit_kind": "stopped" }),
            "The turn was stopped.\n",
        ),
        (
            json!({ "completed": false, "reason": "run_loop_exception" }),
            "The turn failed: the engine's run loop broke.\n",
        ),
        (
            json!({ "completed": false, "reason": "provider_error", "error": { "message": "401 from the model" } }),
            "error: The turn failed: 401 from the model\n",
        ),
    ];
    for (summary, sentence) in rows {
        let engine = Engine::start(&run(&[message("Hello")], summary.clone()), &[]);
        let (out, err, code) = engine.ask(&[]);
        assert_eq!((out.as_str(), err.as_str(), code), ("Hello\n", sentence, Some(1)), "{summary}");
    }
}

#[test]
fn calls_warnings_and_a_denied_edit_are_told_by_what_they_do() {
    let call = |name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "type": "tool_call", "payload": { "call": { "id": null, "function": function }, "tool": name, "call_id": null } })
    };
    let result = |name: &str, ok: bool, text: &str| json!({ "type": "tool_result", "payload": { "tool": name, "success": ok, "result": text } });
    let steps = [
        message("I look first."),
        call("run_shell", json!({ "command": "python sort.py" })),
        result("run_shell", true, "1 2 3"),
        call("run_shell", json!({ "command": "rm -rf build" })),
        result("run_shell", false, "rm: not permitted"),
        json!({ "type": "warning", "payload": { "message": "The budget is nearly used up." } }),
        call("create_file", json!({ "path": "a.py", "content": "x" })),
        json!({ "ask": { "category": "edit", "pattern": "a.py", "metadata": { "path": "a.py", "function": "create_file" } },
            "on_allow": [], "on_deny": [] }),
        message("Then not."),
    ];
    let engine = Engine::start(&run(&steps, json!({ "completed": true })), &[]);
    let (out, err, code) = engine.ask(&[]);
    assert_eq!((out.as_str(), code), ("I look first.\n\nThen not.\n", Some(4)), "{err}");
    for line in [
        "· run_shell python sort.py\n",
        "✗ run_shell rm -rf build failed: rm: not permitted\n",
        "The budget is nearly used up.\n",
        "· create_file a.py: denied\n",
    ] {
        assert_eq!(err.matches(line).count(), 1, "{line:?} in {err}");
    }
}

#[test]
fn a_turn_that_says_nothing_is_told_so() {
    let engine = Engine::start(&run(&[], json!({ "completed": true })), &[]);
    let (out, err, code) = engine.ask(&[]);
    assert_eq!(
        (out.as_str(), err.as_str(), code),
        ("", "The turn is done; the engine gave no answer.\n", Some(0))
    );
}

/// A proxy that answers a page to every request for events, and passes on the rest. Its address.
fn page_for_events(engine: &str) -> String {
    let engine = engine.strip_prefix("http://").expect("an address").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let engine = engine.clone();
            // Whoever goes away ends only its own connection.
            std::thread::spawn(move || pass_on(client, &engine).ok());
        }
    });
    address
}

fn pass_on(mut client: TcpStream, engine: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let lower = line.to_lowercase();
        if let Some(bytes) = lower.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    if head.lines().next().is_some_and(|line| line.contains("/events")) {
        let page = "<html>Please log in</html>";
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length:";
        return write!(client, "{answer} {}\r\n\r\n{page}", page.len());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut upstream = TcpStream::connect(engine)?;
    upstream.write_all(head.trim_end().as_bytes())?;
    upstream.write_all(b"\r\nconnection: close\r\n\r\n")?;
    upstream.write_all(&body)?;
    std::io::copy(&mut upstream, &mut client).map(drop)
}

#[test]
fn events_that_do_not_come_are_said_once_and_given_up_in_time() {
    let mut engine = Engine::start(&run(&[message("Hello")], json!({ "completed": true })), &[]);
    engine.url = page_for_events(&engine.url);
    let (out, err, code) = engine.ask(&["--timeout", "4"]);
    assert_eq!((out.as_str(), code), ("", Some(1)), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].starts_with("Waiting up to 4 s for the engine's "), "{err}");
    assert!(lines[1].starts_with("error: No events of the engine came for 4 s"), "{err}");
    // Why stands in one of them.
    let has_reason = |line: &&&str| line.contains("engine's events: ") || line.contains("came for 4 s: ");
    assert_eq!(lines.iter().filter(has_reason).count(), 1, "{err}");
}

#[test]
fn an_engine_without_a_word_is_said_and_given_up_in_time() {
    let steps = json!({ "bare": true, "steps": [{ "delay_ms": 60_000 }] });
    let engine = Engine::start(&steps, &[]);
    let (out, err, code) = engine.ask(&["--timeout", "3"]);
    assert_eq!((out.as_str(), code), ("", Some(1)), "{err}");
    let wanted = "Waiting up to 3 s for the engine's first word.\nerror: The engine said nothing for 3 s; look into its log, or \
        wait longer with --timeout.\n";
    assert_eq!(err, wanted);
}

#[test]
fn the_configuration_of_the_command_line_reaches_the_engine() {
    let engine = Engine::start(&run(&[message("Hello")], json!({ "completed": true })), &[]);
    // The engine tells it in its catalogue of skills.
    let (out, err, code) = engine.ask(&["--config", "agent_configs/mini.yaml", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("\"config_path\":\"agent_configs/mini.yaml\""), "{out}");
}

#[test]
fn a_configuration_that_the_engine_cannot_use_is_named_by_ask_and_by_doctor() {
    // Given an engine that takes any configuration and fails afterwards
    let engine = Engine::start(&run(&[message("Hello")], json!({ "completed": true })), &[]);
    // When one is asked for that it does not have
    let (out, err, code) = engine.ask(&["--config", "missing.yaml"]);
    // Then the sentence names it, the engine's reason, and what to do
    let sentence = "The engine cannot use the configuration `missing.yaml`: failed to load config: [Errno 2] No such file or directory: \
        'missing.yaml'; choose another one.";
    let whole = format!("breadboard-ls: {sentence} Name it with --config.\n");
    assert_eq!((out, err, code), (String::new(), whole, Some(1)));
    // And doctor does not call that fine
    let report =
        engine.command(&["doctor", "--trust", "--config", "missing.yaml"]).output().expect("the binary runs");
    let (out, _, code) = said(&report);
    assert_eq!(code, Some(1), "{out}");
    let advice = format!(
        "{sentence}\n                 → give a configuration that this engine can start with --config\n"
    );
    assert!(out.contains(&advice) && !out.contains("Nothing failed"), "{out}");
    assert!(!out.contains("  session  "), "{out}");
    // While one that starts is fine
    let report = engine
        .command(&["doctor", "--trust", "--config", "agent_configs/mini.yaml"])
        .output()
        .expect("the binary runs");
    let (out, _, code) = said(&report);
    assert_eq!(code, Some(0), "{out}");
    // And no more is claimed than was seen
    let claim =
        "one starts and was deleted again; no prompt was sent in it, so whether one is answered is not known";
    assert!(out.contains(&format!("ok    session    {claim}\n")), "{out}");
}

/// The engine's own reason for a session that cannot start, and what is said of its end.
const BROKEN: &str = "Tools definitions directory not found: ../defs";
const ENDED: &str = "The engine ended the session: failed. It was made with the configuration `agent_configs/a.yaml`; if that cannot start, make a \
    session with another one.";

/// Runs one of our commands with this engine and a configuration that loads.
fn with_configuration(desk: &Desk, place: &tempfile::TempDir, words: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(words).args([
        "--trust",
        "--config",
        "agent_configs/a.yaml",
        "--engine-url",
        desk.engine.base_url(),
    ]);
    command.arg("--workspace").arg(place.path()).arg("--state-dir").arg(place.path().join("state"));
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn breaks(desk: &Desk, session: &str) {
    desk.engine.emit(session, "error", &json!({ "message": BROKEN }));
    desk.engine.end_session(session, "failed");
}

#[test]
fn a_session_that_fails_at_its_first_prompt_is_told_with_the_option_that_names_another_configuration() {
    // Given a session that works on its first prompt
    let desk = Desk::scripted(&json!([[{ "hold": "for ever" }]]));
    let place = tempfile::tempdir().expect("a workspace");
    let child = with_configuration(&desk, &place, &["ask", "go"]);
    let session = until("there is a session", || desk.engine.sessions().pop());
    until("it runs", || desk.engine.busy(&session).then_some(()));
    // When its engine gives up on it
    breaks(&desk, &session);
    // Then both sentences are there once, and the second says what to type
    let (out, err, code) = said(&child.wait_with_output().expect("it ends"));
    assert_eq!((out.as_str(), code), ("", Some(1)), "{err}");
    assert_eq!(err, format!("error: {BROKEN}\n{ENDED} Name it with --config.\n"));
}

#[test]
fn doctor_tells_of_a_session_that_fails_by_itself_soon_after_it_was_made() {
    // Given an engine that makes a session and then gives up on it, before it has told that it made one
    let desk = Desk::scripted(&json!([]));
    desk.engine.hold_answers("POST /v1/sessions", HoldPoint::BeforeAnswer);
    let place = tempfile::tempdir().expect("a workspace");
    let child = with_configuration(&desk, &place, &["doctor", "--json"]);
    let session = until("there is a session", || desk.engine.sessions().pop());
    breaks(&desk, &session);
    desk.engine.release_answers();
    // When it is checked
    let (out, err, code) = said(&child.wait_with_output().expect("it ends"));
    // Then that is the failure, with the engine's reason and what to type
    assert_eq!(code, Some(1), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("the report is JSON");
    let checks = report["checks"].as_array().expect("a list");
    let of = |id: &str| checks.iter().find(|check| check["id"] == id);
    let wanted = json!({ "id": "engine", "mark": "fail", "found": format!("{BROKEN}. {ENDED}"),
        "do": "give a configuration that this engine can start with --config" });
    assert_eq!((of("engine"), of("session")), (Some(&wanted), None), "{report}");
    assert_eq!(desk.asked("/input"), [], "no prompt was sent");
}

#[test]
fn an_answer_that_was_streamed_is_not_repeated_where_the_engine_trims_the_whole() {
    let piece = |text: &str| json!({ "type": "assistant.message.delta", "payload": { "item_id": "msg_1", "delta": text } });
    let steps = [
        json!({ "type": "assistant.message.start", "payload": { "item_id": "msg_1" } }),
        piece("It is "),
        piece("done. "),
        json!({ "type": "assistant.message.end", "payload": { "item_id": "msg_1" } }),
        message("It is done.\n>>>>>> END RESPONSE"),
    ];
    let engine = Engine::start(&run(&steps, json!({ "completed": true })), &[]);
    let (out, err, code) = engine.ask(&[]);
    assert_eq!((out.as_str(), err.as_str(), code), ("It is done. \n>>>>>> END RESPONSE\n", "", Some(0)));
}

#[test]
fn an_engine_without_an_address_and_an_empty_configuration_are_told_with_their_options() {
    let place = tempfile::tempdir().expect("a directory");
    let say = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command
            .args(words)
            .arg("--workspace")
            .arg(place.path())
            .arg("--state-dir")
            .arg(place.path().join("s"));
        command.env_remove("BREADBOARD_API_URL").stdin(Stdio::null());
        said(&command.output().expect("the binary runs"))
    };
    let (out, err, code) = say(&["ask", "go", "--engine", "breadboard"]);
    assert!(err.contains("has no address") && err.contains("--engine-url"), "{err}");
    assert_eq!((out.as_str(), code), ("", Some(1)));
    let (out, err, _) = say(&["doctor", "--engine", "breadboard"]);
    assert!(format!("{out}{err}").contains("give its address with --engine-url"), "{out}{err}");
    let (out, err, code) = say(&["ask", "go", "--engine-url=http://127.0.0.1:9", "--config", ""]);
    assert!(err.contains("the path is empty; name a file, or leave --config out"), "{err}");
    assert_eq!((out.as_str(), code), ("", Some(2)));
}
