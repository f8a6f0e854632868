//! `bb/rpc`: the v1 envelope of a webview, carried over the LSP wire by a host that reads nothing in it.

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

fn envelope(id: &str, method: &str, params: Value) -> Value {
    json!({ "v": 1, "kind": "req", "id": id, "method": method, "params": params })
}

/// Sends one envelope; gives the one that comes back.
fn carry(server: &mut Server, envelope: Value) -> Value {
    server.ask("bb/rpc", envelope)
}

fn violations(server: &Server) -> usize {
    let logged = |message: &Value| {
        message["method"] == "window/logMessage"
            && message["params"]["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("protocol_violation"))
    };
    server.received().iter().filter(|message| logged(message)).count()
}

/// What a violation must not change.
fn sessions(server: &mut Server) -> Value {
    server.ask("bb/listSessions", json!({}))["sessions"].clone()
}

#[test]
fn r000_08_to_10_what_works_on_the_wire_works_in_an_envelope() {
    let mut server = Server::ready(Options::default());
    let init = server.ask("bb/init", json!({}));
    assert_eq!(
        carry(&mut server, envelope("α-1", "bb.init", json!({}))),
        json!({ "v": 1, "kind": "res", "id": "α-1", "ok": true, "result": init })
    );
    // Params are optional, and the id is the caller's own business.
    let made = carry(&mut server, json!({ "v": 1, "kind": "req", "id": "", "method": "bb.createSession" }));
    assert_eq!((&made["id"], &made["ok"]), (&json!(""), &json!(true)));
    let session = made["result"]["sessionId"].clone();
    let listed = carry(&mut server, envelope("b", "bb.listSessions", Value::Null));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session);
    // A dotted name of several parts.
    let queue = carry(&mut server, envelope("c", "bb.queue.list", json!({ "sessionId": session })));
    assert_eq!(queue["result"], json!({ "items": [], "paused": false }));
    // R000-69: fields that we do not know are no violation, in the envelope and in params.
    let mut additive = envelope("d", "bb.queue.list", json!({ "sessionId": session, "colour": "red" }));
    additive["trace"] = json!("x");
    assert_eq!(carry(&mut server, additive)["ok"], true);
    assert_eq!(violations(&server), 0);
}

#[test]
fn r000_14_19_what_breaks_the_envelope_is_answered_in_it_and_changes_nothing() {
    let mut server = Server::ready(Options::default());
    server.session();
    let before = sessions(&mut server);
    let good = envelope("x", "bb.createSession", json!({}));
    let with = |key: &str, value: Value| {
        let mut bad = good.clone();
        bad[key] = value;
        bad
    };
    let without = |key: &str| {
        let mut bad = good.clone();
        bad.as_object_mut().expect("an object").remove(key);
        bad
    };
    let bad = [
        with("v", json!(2)),
        with("v", json!(0)),
        with("v", json!("1")),
        with("v", json!(1.5)),
        with("v", Value::Null),
        without("v"),
        with("kind", json!("res")),
        with("kind", json!("evt")),
        with("kind", json!(1)),
        without("kind"),
        with("method", json!(5)),
        without("method"),
        with("params", json!("text")),
        with("params", json!([1])),
        with("params", json!(5)),
    ];
    let count = bad.len();
    for envelope in bad {
        let answer = carry(&mut server, envelope.clone());
        let error = &answer["error"];
        assert_eq!(
            (&answer["v"], &answer["kind"], &answer["id"], &answer["ok"], &error["code"]),
            (&json!(1), &json!("res"), &json!("x"), &json!(false), &json!("invalid_params")),
            "{envelope}"
        );
        assert!(answer.get("result").is_none(), "{answer}");
        assert!(error["message"].as_str().is_some_and(|text| text.len() > 10), "{answer}");
    }
    assert_eq!(sessions(&mut server), before);
    // R000-15: each of them is in the log under one word.
    server.assert_alive();
    assert!(violations(&server) >= count, "{} of {count}", violations(&server));
}

#[test]
fn only_what_has_no_usable_id_is_an_error_of_the_wire() {
    let mut server = Server::ready(Options::default());
    server.session();
    let before = sessions(&mut server);
    for payload in [
        json!({ "v": 1, "kind": "req", "method": "bb.createSession" }),
        json!({ "v": 1, "kind": "req", "id": 5, "method": "bb.createSession" }),
        json!({ "v": 1, "kind": "req", "id": null, "method": "bb.createSession" }),
        json!({}),
        json!([]),
        json!("text"),
        Value::Null,
    ] {
        let error = server.refused("bb/rpc", payload.clone());
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32602), &json!("invalid_params")),
            "{payload}"
        );
    }
    assert_eq!(sessions(&mut server), before);
}

#[test]
fn r000_61_75_unknown_methods_run_nothing() {
    let mut server = Server::ready(Options::default());
    server.session();
    let before = sessions(&mut server);
    for method in [
        "bb.nothing",
        "bb.createsession",
        "bb/createSession",
        "createSession",
        "bb",
        "bb.",
        "",
        "bb.createSession.",
        "bb..createSession",
        "initialize",
        "shutdown",
        "bb.rpc",
        "bb.workspaceTrust",
        "textDocument.didOpen",
        "bb.deleteSession/x",
    ] {
        let answer = carry(&mut server, envelope("x", method, json!({})));
        assert_eq!(
            (&answer["ok"], &answer["error"]["code"]),
            (&json!(false), &json!("unknown_method")),
            "{method}"
        );
        assert!(
            answer["error"]["message"].as_str().is_some_and(|text| text.contains(&format!("`{method}`"))),
            "{answer}"
        );
    }
    assert_eq!(sessions(&mut server), before);
    assert_eq!(server.ask("bb/init", json!({}))["workspaceTrusted"], false);
}

#[test]
fn r000_35_36_every_refusal_of_a_method_is_one_of_its_envelope() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    for (method, params, code) in [
        ("bb.selectSession", json!({}), "invalid_params"),
        ("bb.selectSession", json!({ "sessionId": 5 }), "invalid_params"),
        ("bb.selectSession", json!({ "sessionId": "nobody" }), "unknown_session"),
        ("bb.sendMessage", json!({ "sessionId": session }), "invalid_params"),
        (
            "bb.approvePermission",
            json!({ "sessionId": session, "requestId": "r", "decision": "allow" }),
            "invalid_params",
        ),
        (
            "bb.approvePermission",
            json!({ "sessionId": session, "requestId": "r", "decision": "deny" }),
            "unknown_request",
        ),
        ("bb.eventBody", json!({ "sessionId": session, "seq": 9 }), "not_found"),
        ("bb.readFileSnippet", json!({ "sessionId": session, "path": "../x" }), "path_outside_workspace"),
        ("bb.listFiles", json!({ "sessionId": session, "path": "nothing" }), "not_found"),
    ] {
        let answer = carry(&mut server, envelope("x", method, params.clone()));
        assert_eq!(
            (&answer["ok"], &answer["error"]["code"]),
            (&json!(false), &json!(code)),
            "{method} {params}"
        );
        // The same refusal on the wire itself, in the same words.
        let error = server.refused(&method.replace('.', "/"), params);
        assert_eq!((&error["data"]["code"], &error["message"]), (&json!(code), &answer["error"]["message"]));
    }
}

#[test]
fn r000_16_18_many_at_once_get_one_answer_each_with_their_own_id() {
    let mut server = Server::ready(Options::default());
    server.write("a.txt", "hello\n");
    let session = server.session();
    let mut sent = Vec::new();
    for at in 0..60 {
        let id = format!("e{at}");
        let (method, params) = match at % 4 {
            0 => ("bb.readFileSnippet", json!({ "sessionId": session, "path": "a.txt" })),
            1 => ("bb.listSessions", json!({})),
            2 => ("bb.nothing", json!({})),
            _ => ("bb.listFiles", json!({ "sessionId": session, "path": "" })),
        };
        let request = server.request("bb/rpc", envelope(&id, method, params));
        sent.push((at, id, request));
    }
    for (at, id, request) in sent.into_iter().rev() {
        let answer = server.wait_response(&request)["result"].clone();
        assert_eq!(answer["id"], id.as_str());
        match at % 4 {
            0 => assert_eq!(answer["result"]["content"], "hello\n"),
            1 => assert_eq!(answer["result"]["sessions"][0]["sessionId"], session.as_str()),
            2 => assert_eq!(answer["error"]["code"], "unknown_method"),
            _ => assert_eq!(answer["result"]["entries"][0]["name"], "a.txt"),
        }
    }
    // Exactly one answer each: sixty, the session's own, and no other.
    server.assert_alive();
    let answers = server.received().into_iter().filter(|message| message["result"]["kind"] == "res").count();
    assert_eq!(answers, 60);
}

#[test]
fn r000_28_29_a_whole_conversation_fits_into_envelopes() {
    let wish = json!({ "file_path": "a.txt", "rationale": "it is missing", "new_content": "hello\n" });
    let model = Model::start(vec![calls("propose_patch", wish), says("done")]);
    let mut server = Server::ready(model.chosen(true));
    let session =
        carry(&mut server, envelope("1", "bb.createSession", json!({})))["result"]["sessionId"].clone();
    let session = session.as_str().expect("an id").to_owned();
    let prompt = json!({ "sessionId": session, "text": "write it", "messageId": "m" });
    let sent = carry(&mut server, envelope("2", "bb.sendMessage", prompt));
    assert_eq!(sent["result"]["disposition"], "started");
    let ask = server.wait_ask(&session);
    let mut decision = Server::decision(&session, &ask, "perhaps");
    let refused = carry(&mut server, envelope("3", "bb.approvePermission", decision.clone()));
    assert_eq!(refused["error"]["code"], "invalid_params");
    decision["decision"] = json!("allow_once");
    decision["digest"] = json!("stale");
    let stale = carry(&mut server, envelope("4", "bb.approvePermission", decision.clone()));
    assert_eq!(stale["error"]["code"], "conflict");
    decision["digest"] = ask["permission"]["digest"].clone();
    let allowed = carry(&mut server, envelope("5", "bb.approvePermission", decision));
    assert_eq!(allowed["result"]["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("a.txt"), "hello\n");
}
