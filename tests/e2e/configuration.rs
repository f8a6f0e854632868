//! What an editor may set while we run: configuration, trace, and how it counts positions.

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, Reply, Step};

fn configures() -> Value {
    json!({ "workspace": { "configuration": true, "didChangeConfiguration": { "dynamicRegistration": true } } })
}

/// A reply of a hundred pieces.
fn pieces() -> Reply {
    Reply::Stream((0..100).map(|n| Step::Text(format!("{n} "))).collect())
}

/// Sizes of the batches of the last turn.
fn batches(server: &Server, session: &str, turn: u64) -> Vec<usize> {
    server
        .received()
        .iter()
        .filter(|message| message["method"] == "bb/events" && message["params"]["sessionId"] == session)
        .map(|message| message["params"]["events"].as_array().expect("events"))
        .filter(|events| events.iter().all(|event| event["turn"] == turn))
        .map(Vec::len)
        .collect()
}

#[test]
fn configuration_is_asked_for_after_initialized_and_whenever_it_changed() {
    let mut server = Server::ready(Options { capabilities: configures(), ..Options::default() });
    let register = server.wait_request("client/registerCapability");
    let registration = &register["params"]["registrations"][0];
    assert_eq!(registration["method"], "workspace/didChangeConfiguration");
    server.answer(&register["id"], Value::Null);
    let asked = server.wait_request("workspace/configuration");
    assert_eq!(asked["params"], json!({ "items": [{ "section": "breadboard" }] }));
    server.answer(&asked["id"], json!([null]));
    // Editors send null, nothing, or everything.
    for settings in [json!({ "settings": null }), json!({}), json!({ "settings": { "other": 1 } })] {
        server.notify("workspace/didChangeConfiguration", settings);
        let again = server.wait_request("workspace/configuration");
        server.answer(&again["id"], json!([]));
    }
    server.assert_alive();
}

#[test]
fn an_editor_without_configuration_is_not_asked() {
    let mut server = Server::ready(Options::default());
    server.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    server.assert_alive();
    let asked = |message: &Value| message.get("id").is_some() && message.get("method").is_some();
    assert!(!server.received().iter().any(asked));
}

#[test]
fn delivery_is_taken_from_an_answer_and_from_a_push() {
    let model = Model::start(vec![pieces(), pieces(), pieces()]);
    let mut server = Server::ready(Options { capabilities: configures(), ..model.chosen(false) });
    let asked = server.wait_request("workspace/configuration");
    let session = server.session();
    let slow = |events: u64| json!({ "delivery": { "maxEvents": events, "maxLatencyMs": 1000 } });
    server.answer(&asked["id"], json!([slow(10)]));
    server.turn(&session, "count");
    let sizes = batches(&server, &session, 1);
    assert!(
        sizes.iter().all(|size| *size <= 10) && sizes.iter().filter(|size| **size == 10).count() > 5,
        "{sizes:?}"
    );

    server.notify("workspace/didChangeConfiguration", json!({ "settings": { "breadboard": slow(1) } }));
    server.turn(&session, "count");
    let sizes = batches(&server, &session, 2);
    assert!(sizes.len() > 100 && sizes.iter().all(|size| *size == 1), "{sizes:?}");

    // R000-66: the default makes far fewer messages than events.
    server.notify("workspace/didChangeConfiguration", json!({ "settings": { "breadboard": slow(64) } }));
    server.turn(&session, "count");
    let sizes = batches(&server, &session, 3);
    assert!(sizes.len() < 12 && sizes.contains(&64), "{sizes:?}");
}

#[test]
fn everything_else_in_a_configuration_is_ignored() {
    let mut server = Server::ready(Options { capabilities: configures(), ..Options::default() });
    let before = server.ask("bb/init", json!({}));
    let asked = server.wait_request("workspace/configuration");
    let wishes = json!({
        "engine": { "kind": "acp", "command": "touch", "args": ["ran"] }, "workspaceTrusted": true,
        "model": { "provider": "openai", "name": "m", "url": "http://127.0.0.1:9" }, "stateDir": "elsewhere",
        "delivery": { "maxEvents": "many" },
    });
    server.answer(&asked["id"], json!([wishes]));
    server.notify("workspace/didChangeConfiguration", json!({ "settings": { "breadboard": wishes } }));
    server.notify("workspace/didChangeConfiguration", json!({ "settings": { "breadboard": 5 } }));
    for answer in [json!("text"), json!([5]), json!({ "delivery": 1 })] {
        server.notify("workspace/didChangeConfiguration", json!({}));
        let again = server.wait_request("workspace/configuration");
        server.answer(&again["id"], answer);
    }
    assert_eq!(server.ask("bb/init", json!({})), before);
    assert!(
        !server.workspace.path().join("ran").exists() && !server.workspace.path().join("elsewhere").exists()
    );
}

#[test]
fn the_trace_is_as_loud_as_the_editor_wants() {
    let mut server = Server::ready(Options::default());
    let traced = |server: &mut Server| {
        server.assert_alive();
        let all = server.received();
        all.into_iter().filter(|message| message["method"] == "$/logTrace").collect::<Vec<_>>()
    };
    server.ask("bb/listSessions", json!({}));
    assert_eq!(traced(&mut server), Vec::<Value>::new(), "off is the default");
    server.notify("$/setTrace", json!({ "value": "messages" }));
    server.ask("bb/listSessions", json!({}));
    let messages = traced(&mut server);
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|message| message["params"].get("verbose").is_none()), "{messages:?}");
    server.notify("$/setTrace", json!({ "value": "verbose" }));
    server.ask("bb/listSessions", json!({}));
    let verbose = traced(&mut server);
    let of_list = |message: &&Value| message["params"].to_string().contains("bb/listSessions");
    assert!(
        verbose[messages.len()..].iter().find(of_list).is_some_and(|m| m["params"]["verbose"].is_string()),
        "{verbose:#?}"
    );
    server.notify("$/setTrace", json!({ "value": "off" }));
    let quiet = traced(&mut server).len();
    server.ask("bb/listSessions", json!({}));
    assert_eq!(traced(&mut server).len(), quiet);
    let refused = |message: &Value| {
        message["method"] == "window/logMessage" && message["params"].to_string().contains("$/setTrace")
    };
    assert!(!server.received().iter().any(refused), "a good trace level is no violation");
}

#[test]
fn positions_are_counted_as_negotiated_also_behind_an_astral_character() {
    // `𝄞` is one character, two units of UTF-16 and four bytes.
    for (offered, chosen, behind) in [
        (json!(["utf-8", "utf-16"]), "utf-8", 4),
        (json!(["utf-16"]), "utf-16", 2),
        (json!(["utf-32", "utf-16"]), "utf-32", 1),
        (json!(["utf-7"]), "utf-16", 2),
        (Value::Null, "utf-16", 2),
    ] {
        let capabilities = json!({ "general": { "positionEncodings": offered } });
        let mut server = Server::start(Options { capabilities, ..Options::default() });
        let answer = server.shake_hands();
        assert_eq!(answer["result"]["capabilities"]["positionEncoding"], chosen, "{offered}");
        let session = server.session();
        server.write("a.txt", "on disk\n");
        server.open("a.txt", "first\r\n𝄞 old end\r\n");
        let at = |character: u64| json!({ "line": 1, "character": character });
        server.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": server.file("a.txt"), "version": 2 },
                "contentChanges": [{ "range": { "start": at(behind + 1), "end": at(behind + 4) }, "text": "𝄞new" }],
            }),
        );
        let read = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "a.txt" }));
        assert_eq!(
            (&read["content"], &read["source"]),
            (&json!("first\r\n𝄞 𝄞new end\r\n"), &json!("buffer")),
            "{offered}"
        );
    }
}
