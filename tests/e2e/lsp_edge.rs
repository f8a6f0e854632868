//! What an editor may do to us on the wire, and what must come of it: items a to h of the platform's list, and its probes.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{Options, Server, frame};
use crate::harness::own_time::OwnTime;

/// What "at once" means for an end: the promise is a second.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// One slow request and one that panics, on demand.
fn slow(method: &str) -> Options {
    Options::default().env("BREADBOARD_LS_FAULT", &format!("slow:{method}"))
}

fn assert_ends(server: &mut Server, code: i32) {
    let (status, took) = server.wait_exit_timed();
    assert_eq!(status.code(), Some(code));
    assert!(took < ENDS_WITHIN, "it took {took:?}");
}

fn code_of(error: &Value) -> (i64, Option<&str>) {
    (error["code"].as_i64().unwrap_or(0), error["data"]["code"].as_str())
}

fn parse_errors(server: &Server) -> usize {
    server
        .received()
        .iter()
        .filter(|message| message["id"].is_null() && message["error"]["code"] == -32700)
        .count()
}

// ---------------------------------------------------------------- a: the exit

#[test]
fn shutdown_then_exit_with_stdin_open_ends_with_0() {
    let mut server = Server::ready(Options::default());
    assert_eq!(server.ask("shutdown", Value::Null), Value::Null);
    server.notify("exit", Value::Null);
    assert_ends(&mut server, 0);
}

#[test]
fn shutdown_and_exit_in_one_write_end_with_0_and_an_answer() {
    let mut server = Server::ready(Options::default());
    let shutdown = json!({ "jsonrpc": "2.0", "id": 77, "method": "shutdown" }).to_string();
    let exit = json!({ "jsonrpc": "2.0", "method": "exit" }).to_string();
    server.raw((frame(&shutdown) + &frame(&exit)).as_bytes());
    assert_eq!(server.wait_response(&json!(77))["result"], Value::Null);
    assert_ends(&mut server, 0);
}

#[test]
fn exit_without_shutdown_ends_with_1() {
    let mut server = Server::ready(Options::default());
    server.notify("exit", Value::Null);
    assert_ends(&mut server, 1);
}

#[test]
fn exit_before_initialize_ends_with_1() {
    let mut server = Server::start(Options::default());
    server.notify("exit", Value::Null);
    assert_ends(&mut server, 1);
}

#[test]
fn the_end_of_stdin_ends_the_server_also_with_a_slow_request_in_flight() {
    let mut server = Server::ready(slow("bb/models/list"));
    server.request("bb/models/list", json!({}));
    server.assert_alive();
    server.close_stdin();
    assert_ends(&mut server, 1);
}

#[test]
fn exit_ends_the_server_also_with_slow_requests_in_flight() {
    let mut server = Server::ready(slow("bb/models/list"));
    for _ in 0..10 {
        server.request("bb/models/list", json!({}));
    }
    server.ask("shutdown", Value::Null);
    server.notify("exit", Value::Null);
    assert_ends(&mut server, 0);
}

// ---------------------------------------------------------------- b: answers of the editor

#[test]
fn answers_to_nothing_and_late_answers_do_no_harm() {
    let mut server = Server::ready(Options::default());
    for id in [json!("never-asked"), json!(5), Value::Null, json!({ "a": 1 })] {
        server.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        server.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": 1, "message": "no" } }));
    }
    server.assert_alive();
}

// ---------------------------------------------------------------- c: the frame guard

#[test]
fn one_bad_body_is_answered_and_the_server_lives() {
    let mut server = Server::ready(Options::default());
    let deep = "[".repeat(100_000);
    for (at, bad) in ["{", "nonsense", "{\"a\": \"\\ud800\"}", &deep].into_iter().enumerate() {
        server.raw(frame(bad).as_bytes());
        server.assert_alive();
        assert_eq!(parse_errors(&server), at + 1, "{bad:.40}");
    }
    server.raw(b"Content-Length: 3\r\n\r\n\"\xff\"");
    server.assert_alive();
    assert_eq!(parse_errors(&server), 5);
}

#[test]
fn a_header_without_length_and_stray_text_are_answered_and_the_next_frame_is_found() {
    let mut server = Server::ready(Options::default());
    for (at, bad) in [
        "Content-Type: x\r\n\r\n{\"jsonrpc\":\"2.0\"}",
        "Content-Length: many\r\n\r\n{}",
        "Debugger attached at port 1\n",
        "Content-Length: 68719476736\r\n\r\n{}",
        &format!("X: {}\r\n\r\n", "y".repeat(9_000)),
    ]
    .into_iter()
    .enumerate()
    {
        server.raw(bad.as_bytes());
        server.assert_alive();
        assert_eq!(parse_errors(&server), at + 1, "{bad:.40}");
    }
}

#[test]
fn a_batch_is_refused_and_the_server_lives() {
    let mut server = Server::ready(Options::default());
    server.raw(frame(r#"[{"jsonrpc":"2.0","id":1,"method":"bb/listSessions"}]"#).as_bytes());
    let refusal = server.wait_for("the refusal of a batch", |message| message["error"]["code"] == -32600);
    assert_eq!(refusal["id"], Value::Null);
    server.assert_alive();
}

#[test]
fn what_is_no_message_is_refused_with_its_id() {
    let mut server = Server::ready(Options::default());
    server.raw(frame(r#"{"jsonrpc":"2.0","id":"odd"}"#).as_bytes());
    assert_eq!(server.wait_response(&json!("odd"))["error"]["code"], -32600);
    server.assert_alive();
}

#[test]
fn frames_may_come_in_any_pieces() {
    let mut server = Server::ready(Options::default());
    let mut stream = String::new();
    for id in 1_000..1_020 {
        stream += &frame(&json!({ "jsonrpc": "2.0", "id": id, "method": "bb/nothing" }).to_string());
    }
    for piece in stream.as_bytes().chunks(7) {
        server.raw(piece);
    }
    for id in 1_000..1_020 {
        assert_eq!(server.wait_response(&json!(id))["error"]["code"], -32601);
    }
}

#[test]
fn a_frame_above_the_cap_is_refused_by_name_and_the_server_lives() {
    let mut server = Server::ready(Options::default());
    let text = "x".repeat(33 << 20);
    let error = server.refused("bb/attachment/put", json!({ "sessionId": "s", "name": "n", "base64": text }));
    assert_eq!(code_of(&error), (-32803, Some("too_large")));
    server.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": "file:///big", "languageId": "x", "version": 1, "text": text } }),
    );
    let warning = server.wait_notification("window/showMessage", |params| params["type"] == 2);
    assert!(
        warning["params"]["message"].as_str().is_some_and(|text| text.contains("file:///big")),
        "{warning}"
    );
    server.assert_alive();
}

#[test]
fn a_message_of_30_mib_is_taken() {
    let mut server = Server::ready(Options::default());
    let text = "x".repeat(30 << 20);
    server.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": "file:///large", "languageId": "x", "version": 1, "text": text } }),
    );
    server.assert_alive();
    let warned = server.received().iter().any(|message| message["method"] == "window/showMessage");
    assert!(!warned, "it was refused");
}

// ---------------------------------------------------------------- d, e: order, slow work, cancelling

#[test]
fn four_and_more_slow_requests_hold_nothing_back() {
    let mut server = Server::ready(slow("bb/models/list"));
    let slow: Vec<Value> = (0..50).map(|_| server.request("bb/models/list", json!({}))).collect();
    let mut time = OwnTime::of(server.pid());
    server.ask("bb/listSessions", json!({}));
    assert!(time.taken() < Duration::from_secs(2));

    // All of them, in the order of the cancels: no slot is waited for.
    for id in &slow {
        server.notify("$/cancelRequest", json!({ "id": id }));
        let error = &server.wait_response(id)["error"];
        assert_eq!(code_of(error), (-32800, Some("cancelled")));
    }
}

#[test]
fn r000_16_a_cancel_in_the_same_write_yields_exactly_one_answer() {
    let mut server = Server::ready(slow("bb/models/list"));
    let request = json!({ "jsonrpc": "2.0", "id": "x", "method": "bb/models/list" }).to_string();
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": "x" } }).to_string();
    server.raw((frame(&request) + &frame(&cancel)).as_bytes());
    assert_eq!(server.wait_response(&json!("x"))["error"]["code"], -32800);
    server.assert_alive();
    assert_eq!(server.received().iter().filter(|message| message["id"] == "x").count(), 1);
}

#[test]
fn document_changes_are_applied_in_order() {
    let mut server = Server::ready(Options::default());
    let uri = format!("{}/a.txt", super::harness::uri(server.workspace.path()));
    server.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "plaintext", "version": 0, "text": "" } }),
    );
    let expected: String = (0..200).map(|at| format!("{at},")).collect();
    for at in 0..200 {
        let end: usize = (0..at).map(|n: usize| n.to_string().len() + 1).sum();
        let place = json!({ "line": 0, "character": end });
        server.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": at + 1 }, "contentChanges": [
                { "range": { "start": place, "end": place }, "text": format!("{at},") }] }),
        );
    }
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let snippet = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "a.txt" }));
    assert_eq!((&snippet["content"], &snippet["source"]), (&json!(expected), &json!("buffer")));
}

#[test]
fn more_requests_than_the_bound_are_refused_as_overloaded() {
    let mut server = Server::ready(slow("bb/models/list"));
    let ids: Vec<Value> = (0..513).map(|_| server.request("bb/models/list", json!({}))).collect();
    let error = &server.wait_response(&ids[512])["error"];
    assert_eq!(code_of(error), (-32803, Some("overloaded")));
    server.notify("$/cancelRequest", json!({ "id": ids[0] }));
    server.wait_response(&ids[0]);
    server.ask("bb/listSessions", json!({}));
}

// ---------------------------------------------------------------- f: panics

#[test]
fn a_panic_in_a_handler_answers_internal_and_the_server_lives() {
    let options = Options::default().env("BREADBOARD_LS_FAULT", "panic:bb/models/list");
    let mut server = Server::ready(options);
    for _ in 0..2 {
        let error = server.refused("bb/models/list", json!({}));
        assert_eq!(code_of(&error), (-32603, Some("internal")));
    }
    server.ask("bb/listSessions", json!({}));
}

#[test]
fn a_panic_in_a_notification_costs_only_the_notification() {
    let options = Options::default().env("BREADBOARD_LS_FAULT", "panic:bb/workspaceTrust");
    let mut server = Server::ready(options);
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    server.assert_alive();
    assert_eq!(server.ask("bb/init", json!({}))["workspaceTrusted"], false);
}

// ---------------------------------------------------------------- g: the editor is gone

#[test]
#[cfg(unix)]
fn a_dead_editor_ends_the_server_though_the_pipes_are_open() {
    let mut editor = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let mut server = Server::ready(Options { process_id: Some(editor.id()), ..slow("bb/models/list") });
    server.request("bb/models/list", json!({}));
    server.assert_alive();
    editor.kill().expect("the editor dies");
    editor.wait().expect("the editor is dead");
    assert_ends(&mut server, 1);
}

#[test]
fn a_dead_stdout_ends_the_server_though_stdin_is_open() {
    let mut server = Server::start(Options { hold_stdout: true, ..Options::default() });
    server.close_stdout();
    let params = server.initialize_params();
    server.request("initialize", params);
    assert_ends(&mut server, 1);
}

#[test]
fn a_dead_stdout_ends_the_server_that_has_nothing_to_say() {
    let mut server = Server::start(Options { hold_stdout: true, ..Options::default() });
    let params = server.initialize_params();
    let id = server.request("initialize", params);
    assert_eq!(server.read_one()["id"], id);
    // Everything that it was asked is answered, and nothing more is asked of it.
    server.close_stdout();
    assert_ends(&mut server, 1);
}

// ---------------------------------------------------------------- h: an editor that does not read

#[test]
fn an_editor_that_does_not_read_loses_no_answer() {
    let mut server = Server::start(Options { hold_stdout: true, ..Options::default() });
    let params = server.initialize_params();
    let first = server.request("initialize", params);
    server.notify("initialized", json!({}));
    // Answers of about 300 bytes: far more than a pipe holds.
    let ids: Vec<Value> = (0..2_000).map(|_| server.request("bb/there-is-none", json!({}))).collect();
    server.read_on();
    assert!(server.wait_response(&first).get("result").is_some());
    for id in &ids {
        assert_eq!(code_of(&server.wait_response(id)["error"]), (-32601, Some("unknown_method")));
    }
}

// ---------------------------------------------------------------- the rest of the probes

#[test]
fn requests_before_initialize_are_refused() {
    let mut server = Server::start(Options::default());
    for method in ["bb/init", "bb/nothing", "shutdown"] {
        assert_eq!(server.refused(method, json!({}))["code"], -32002, "{method}");
    }
    server.shake_hands();
    server.ask("bb/init", json!({}));
}

#[test]
fn requests_after_shutdown_are_refused() {
    let mut server = Server::ready(Options::default());
    server.ask("shutdown", Value::Null);
    assert_eq!(server.refused("bb/init", json!({}))["code"], -32600);
    server.notify("exit", Value::Null);
    assert_ends(&mut server, 0);
}

#[test]
fn bad_params_and_unknown_methods_have_their_codes() {
    let mut server = Server::ready(Options::default());
    assert_eq!(code_of(&server.refused("bb/selectSession", json!({}))), (-32602, Some("invalid_params")));
    assert_eq!(code_of(&server.refused("bb/selectSession", json!([1]))), (-32602, Some("invalid_params")));
    assert_eq!(code_of(&server.refused("bb/nothing", json!({}))), (-32601, Some("unknown_method")));
    assert_eq!(code_of(&server.refused("textDocument/hover", json!({}))), (-32601, Some("unknown_method")));
    // No params, `null` and `{}` are the same.
    let bare = server.request("bb/listSessions", Value::Null);
    assert!(server.wait_response(&bare).get("result").is_some());
    server.send(&json!({ "jsonrpc": "2.0", "id": "bare", "method": "bb/listSessions" }));
    assert!(server.wait_response(&json!("bare")).get("result").is_some());
}

#[test]
fn r000_15_violations_are_logged_under_one_word() {
    let mut server = Server::ready(Options::default());
    server.notify("bb/no-such-notification", json!({}));
    let logged = server.wait_notification("window/logMessage", |params| {
        params["message"].as_str().is_some_and(|text| text.starts_with("protocol_violation"))
    });
    assert_eq!(logged["params"]["type"], 2);
}

#[test]
fn nothing_but_the_handshake_is_sent_before_initialized() {
    let mut server = Server::start(Options::default());
    let params = server.initialize_params();
    let id = server.request("initialize", params);
    let answer = server.wait_response(&id);
    let announced = &answer["result"]["capabilities"]["experimental"]["breadboard"];
    assert_eq!(announced["v"], 1);
    // An unknown method is logged, but not yet to the editor; its answer comes after whatever else was sent.
    let id = server.request("bb/no-such-method", json!({}));
    server.wait_response(&id);
    assert_eq!(server.received().len(), 2, "{:#?}", server.received());
}
