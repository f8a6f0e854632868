//! What can be done about a failure, as data, on the real binary: whether the same can be sent again, and how one logs in. The
//! sentences beside it are in `errors`.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, chosen};
use crate::errors::{HTML, PROGRAM, answer, ask, peer, peer_in_order};
use crate::harness::{Options, Server};

/// A stream of the model's with these pieces.
fn stream(pieces: &[Value]) -> Vec<u8> {
    let body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    answer("200 OK\r\nContent-Type: text/event-stream", &format!("{body}data: [DONE]\n\n"))
}

fn asked_by_a_model(port: u16) -> Options {
    let model = json!({ "provider": "openai", "name": "m", "url": format!("http://127.0.0.1:{port}/v1") });
    Options { options: json!({ "model": model, "workspaceTrusted": true }), ..Options::default() }
}

/// The notices of the chat, without what is said in them.
fn notices(server: &mut Server, session: &str) -> Vec<Value> {
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    let blocks = selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let notices = blocks.into_iter().filter(|block| block["kind"] == "notice");
    notices
        .map(|block| json!({ "level": block["level"], "retry": block["retry"], "login": block["login"] }))
        .collect()
}

#[test]
fn whether_a_model_has_taken_a_prompt_and_when_it_takes_it_again_is_told_as_data() {
    let called = stream(&[json!({ "choices": [{ "finish_reason": "tool_calls", "delta": { "tool_calls": [
        { "index": 0, "id": "c1", "function": { "name": "list_files", "arguments": "{}" } },
    ] } }] })]);
    let busy = || answer("429 Too Many Requests\r\nRetry-After: 30", "");
    // Longer than a turn waits by itself.
    let busier = answer("429 Too Many Requests\r\nRetry-After: 90", "");
    let later = |taken: &str| json!({ "taken": taken, "when": "later" });
    let rows = [
        (vec![busy()], Some(429), json!({ "taken": "no", "when": "later", "afterMs": 30_000 })),
        (vec![answer("503 Busy", HTML)], Some(503), later("no")),
        (vec![answer("500 Oops\r\nRetry-After: 1", "")], Some(500), later("perhaps")),
        (vec![answer("504 Late", "")], Some(504), later("perhaps")),
        (vec![answer("401 No", "{}")], Some(401), json!({ "taken": "no", "when": "changed" })),
        (vec![answer("413 Large", "")], Some(413), json!({ "taken": "no", "when": "never" })),
        (vec![Vec::new()], None, later("perhaps")),
        // What its first reply led to was done, whatever is refused then.
        (vec![called, busier], Some(429), json!({ "taken": "yes", "when": "later", "afterMs": 90_000 })),
    ];
    for (answers, status, retry) in rows {
        let mut server = Server::ready(asked_by_a_model(peer_in_order(answers).0));
        let session = server.session();
        server.prompt(&session, "go");
        let failed = server.wait_event(&session, "a failure", |event| event["type"] == "server.error");
        let mut details = json!({ "retry": retry });
        if let Some(status) = status {
            details["status"] = json!(status);
        }
        assert_eq!(failed["payload"]["error"]["details"], details);
        server.wait_end(&session);
        let notice = json!({ "level": "error", "retry": retry, "login": null });
        assert_eq!(notices(&mut server, &session), [notice], "{details}");
    }
    // Nobody is there.
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let mut server = Server::ready(asked_by_a_model(closed));
    let session = server.session();
    server.prompt(&session, "go");
    let failed = server.wait_event(&session, "a failure", |event| event["type"] == "server.error");
    assert_eq!(failed["payload"]["error"]["details"], json!({ "retry": later("no") }));
}

#[test]
fn whether_an_engine_has_taken_a_request_is_told_as_data() {
    let refused = |answer: Vec<u8>| {
        let url = format!("http://127.0.0.1:{}", peer(answer));
        let mut server = Server::ready(chosen(&url, true));
        server.refused("bb/createSession", json!({}))["data"].clone()
    };
    let later = |taken: &str| json!({ "retry": { "taken": taken, "when": "later" } });
    for (answer, code, details) in [
        (
            answer("429 Too Many Requests\r\nRetry-After: 30", ""),
            "overloaded",
            json!({ "retry": { "taken": "no", "when": "later", "afterMs": 30_000 } }),
        ),
        (answer("503 Busy", HTML), "overloaded", later("no")),
        (answer("502 Bad Gateway", HTML), "engine_rejected", later("perhaps")),
        (Vec::new(), "engine_unreachable", later("perhaps")),
        (
            answer("401 No", "{}"),
            "engine_unauthorized",
            json!({ "retry": { "taken": "no", "when": "changed" } }),
        ),
        (answer("413 Large", ""), "engine_rejected", json!({ "retry": { "taken": "no", "when": "never" } })),
    ] {
        assert_eq!(refused(answer), json!({ "code": code, "details": details }));
    }
    // And of a prompt, in the event that ends its turn.
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    desk.engine.answer_next("/input", 503, "");
    server.prompt(&session, "go");
    let end = server.wait_event(&session, "the end", |event| event["type"] == "local.turn_end");
    let retry = json!({ "taken": "no", "when": "later" });
    let origin = desk.engine.base_url().trim_end_matches('/');
    let message = format!("The engine at {origin} is busy; try again in a moment.");
    assert_eq!(end["payload"], json!({ "reason": "failed", "message": message, "retry": retry }));
    assert_eq!(notices(&mut server, &session), [json!({ "level": "error", "retry": retry, "login": null })]);
}

#[test]
fn ask_asks_again_where_nothing_was_taken_and_never_where_something_may_have_been() {
    let hi = || stream(&[json!({ "choices": [{ "delta": { "content": "Hi" }, "finish_reason": "stop" }] })]);
    let busy = |wait: u32| answer(&format!("429 Too Many Requests\r\nRetry-After: {wait}"), "");
    let asked = |answers: Vec<Vec<u8>>| {
        let (port, count) = peer_in_order(answers);
        let origin = format!("http://127.0.0.1:{port}");
        let url = format!("--model-url={origin}/v1");
        let (out, err, code) = ask(&["--model=m", "--model-provider=openai", &url]);
        (out, err.replace(&origin, "PEER"), code, count.load(Ordering::SeqCst))
    };
    let waits = "The answer asks to wait 1 s; trying again then.\n";
    assert_eq!(asked(vec![busy(1), hi()]), ("Hi\n".to_owned(), waits.to_owned(), Some(0), 2));
    // It is tried three times more, and what it says then is said.
    let full =
        "error: The model at PEER takes no more requests now (HTTP 429); wait 1 second and ask again.\n";
    assert_eq!(asked(vec![busy(1)]), (String::new(), format!("{waits}{full}"), Some(1), 4));
    // A wait beyond --timeout is not waited for.
    let long =
        "error: The model at PEER takes no more requests now (HTTP 429); wait 30 seconds and ask again.\n";
    assert_eq!(asked(vec![busy(30), hi()]), (String::new(), long.to_owned(), Some(1), 1));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nRetry-After: 1\r\nContent-Length: 900\r\n\r\n".to_vec();
    let oops = answer("500 Oops\r\nRetry-After: 1", "");
    for (first, sentence) in [
        (cut, "The connection to the model at PEER broke; ask again."),
        (oops, "The model at PEER failed (HTTP 500); ask again."),
    ] {
        assert_eq!(
            asked(vec![first, hi()]),
            (String::new(), format!("error: {sentence}\n"), Some(1), 1),
            "{sentence}"
        );
    }
}

/// D10: what logs in, as data.
#[cfg(unix)]
#[test]
fn how_one_logs_in_at_an_agent_is_told_as_data() {
    let place = tempfile::tempdir().expect("a directory");
    // A program that is called as a known agent is one.
    let codex = place.path().join("codex-acp");
    std::os::unix::fs::symlink(PROGRAM, &codex).expect("a link");
    let agents = |script: Value| {
        let args = json!(["simulate", "acp", "--script", script.to_string()]);
        let agents = json!({
            "codex": { "command": codex, "args": args },
            "sim": { "command": PROGRAM, "args": args },
        });
        let options = json!({ "workspaceTrusted": true, "agents": agents });
        Server::ready(Options { options, ..Options::default() })
    };
    let retry = json!({ "taken": "no", "when": "changed" });
    // Given agents without ways of their own
    let mut server = agents(json!({ "agent": { "authRequired": true } }));
    let known = json!({ "command": "codex login", "variable": "OPENAI_API_KEY" });
    for (agent, login) in [("codex", known.clone()), ("sim", json!({}))] {
        // Then the refusal says what is known
        let refused = server.refused("bb/createSession", json!({ "agent": agent }));
        let details = json!({ "retry": retry, "login": login });
        assert_eq!(refused["data"], json!({ "code": "engine_unauthorized", "details": details }), "{agent}");
    }
    // Given that their sessions are open, and a prompt is refused
    let mut server = agents(json!([{ "chunk": "Hal" }, { "error": { "code": -32000, "message": "401" } }]));
    let how = "log in with `codex login` in a shell, or set OPENAI_API_KEY in the environment.";
    let tried = json!({ "taken": "perhaps", "when": "changed" });
    for (agent, login, how) in [("codex", known.clone(), how), ("sim", json!({}), "it says: 401.")] {
        let made = server.ask("bb/createSession", json!({ "agent": agent }));
        let session = made["sessionId"].as_str().expect("an id").to_owned();
        server.prompt(&session, "go");
        // Then the end of the turn says how one logs in there, and so does the chat
        let end = server.wait_event(&session, "the end", |event| event["type"] == "local.turn_end");
        let sentence = format!("The agent `{agent}` wants a login first; {how}");
        assert_eq!(
            end["payload"],
            json!({ "reason": "failed", "message": sentence, "retry": tried, "login": login })
        );
        let said = notices(&mut server, &session);
        assert_eq!(
            said.last(),
            Some(&json!({ "level": "error", "retry": tried, "login": login })),
            "{agent}"
        );
    }
    // Given one with two ways
    let mut server = agents(json!({ "agent": { "authRequired": true, "authMethods": [
        { "id": "key", "name": "API key" },
        { "id": "tty", "name": "Log in", "description": "Run `sim login`", "type": "terminal" },
    ] } }));
    let mut login = known;
    login["methods"] = json!([
        { "id": "key", "name": "API key", "by": "agent" },
        { "id": "tty", "name": "Log in", "description": "Run `sim login`", "by": "terminal", "command": "sim login" },
    ]);
    let made = server.ask("bb/createSession", json!({ "agent": "codex" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    let sentence = "The agent `codex` wants a login first; log in with `codex login` in a shell, or set OPENAI_API_KEY in \
        the environment.";
    // Then its session says so at once
    let told = server.wait_event(&session, "a notice", |event| event["type"] == "local.notice");
    assert_eq!(told["payload"], json!({ "level": "warning", "text": sentence, "login": login }));
    // And so does the turn that it did not take
    server.prompt(&session, "go");
    let end = server.wait_event(&session, "the end", |event| event["type"] == "local.turn_end");
    assert_eq!(
        end["payload"],
        json!({ "reason": "failed", "message": sentence, "retry": retry, "login": login })
    );
    assert_eq!(
        notices(&mut server, &session),
        [
            json!({ "level": "warning", "retry": null, "login": login }),
            json!({ "level": "error", "retry": retry, "login": login }),
        ]
    );
}
