//! The contract on disk: `schemas/` is what the code says, and schema and decoder agree on every example.
//!
//! `BREADBOARD_UPDATE=1` rewrites `schemas/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::protocol::envelope::{self, Opened};
use breadboard_ls::protocol::method::{NOTIFICATIONS, REQUESTS, announced_methods};
use breadboard_ls::protocol::{ErrorCode, Request, WireError, document, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn on_disk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            on_disk(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_schemas_on_disk_are_what_the_code_says() {
    let files = schema::files();
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        let _ = fs::remove_dir_all(folder());
        for (name, file) in &files {
            let path = folder().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, pretty(file)).unwrap();
        }
        return;
    }
    let mut stale: Vec<String> = Vec::new();
    for (name, file) in &files {
        match fs::read_to_string(folder().join(name)) {
            Ok(text) if text == pretty(file) => {}
            Ok(_) => stale.push(format!("{name}: differs")),
            Err(_) => stale.push(format!("{name}: is missing")),
        }
    }
    let mut found = BTreeSet::new();
    on_disk(&folder(), "", &mut found);
    stale.extend(
        found.iter().filter(|name| !files.contains_key(*name)).map(|name| format!("{name}: is left over")),
    );
    assert!(
        stale.is_empty(),
        "schemas/ is not what src/protocol says. If the change is meant, run\n  BREADBOARD_UPDATE=1 cargo test --test schemas\n\
         and read the difference.\n{}",
        stale.join("\n")
    );
}

#[test]
fn protocol_md_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
    let text = document::document();
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = text.lines().zip(found.lines()).position(|(wanted, found)| wanted != found);
    assert!(
        found == text,
        "PROTOCOL.md is not what src/protocol says (first at line {:?}). If the change is meant, run\n  \
         BREADBOARD_UPDATE=1 cargo test --test schemas\nand read the difference.",
        differs.map(|at| at + 1)
    );
}

#[test]
fn protocol_md_names_every_method_error_and_link() {
    let text = document::document();
    for method in announced_methods().iter().chain(NOTIFICATIONS) {
        assert!(text.contains(&format!("\n### `{method}`\n")), "{method}");
    }
    let headings: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|heading| heading.to_lowercase())
        .collect();
    for link in text.split("](#").skip(1) {
        let target = link.split(')').next().unwrap();
        assert!(target == "types" || headings.contains(target), "a link to #{target} leads nowhere");
    }
    assert!(text.contains("| `untrusted_workspace` | -32803 | The workspace must be trusted first. |"));
}

/// A validator of what stands at `at` in a schema file.
fn validator(file: &Value, at: &str) -> Validator {
    let mut part = file.pointer(at).unwrap_or_else(|| panic!("no {at} in {}", file["title"])).clone();
    part["$schema"] = file["$schema"].clone();
    if let Some(definitions) = file.get("$defs") {
        part["$defs"] = definitions.clone();
    }
    jsonschema::validator_for(&part).unwrap()
}

fn validator_of(name: &str) -> Validator {
    jsonschema::validator_for(&schema::files()[name]).unwrap()
}

/// Examples of the params of every request: those that fit, then those that do not.
fn requests() -> BTreeMap<&'static str, (Vec<Value>, Vec<Value>)> {
    let session_only = || {
        (
            vec![
                json!({"sessionId": "s"}),
                json!({"sessionId": "s", "extra": [1]}),
                json!({"sessionId": ""}),
            ],
            vec![
                json!({}),
                json!({"sessionId": 1}),
                json!({"sessionId": null}),
                json!({"session_id": "s"}),
                json!(["s"]),
                json!("s"),
            ],
        )
    };
    let none = || (vec![json!({}), json!({"extra": 1})], vec![json!([]), json!("x"), json!(1)]);
    let queue = || {
        (
            vec![
                json!({"sessionId": "s"}),
                json!({"sessionId": "s", "messageId": "m", "text": "t", "before": "b"}),
                json!({"sessionId": "s", "messageId": null, "before": null}),
            ],
            vec![json!({}), json!({"sessionId": "s", "messageId": 1}), json!({"sessionId": "s", "text": {}})],
        )
    };
    BTreeMap::from([
        (
            "bb/init",
            (
                vec![
                    json!({}),
                    json!({"subscribe": {"events": true, "view": false, "tabs": null, "maxLatencyMs": 0}}),
                    json!({"lastSeen": {"epoch": "e", "sessions": {"s": 12}}}),
                    json!({"lastSeen": {"epoch": "e"}, "subscribe": null}),
                ],
                vec![
                    json!({"subscribe": true}),
                    json!({"subscribe": [true]}),
                    json!({"subscribe": {"events": "yes"}}),
                    json!({"lastSeen": {}}),
                    json!({"lastSeen": {"epoch": "e", "sessions": {"s": -1}}}),
                    json!({"lastSeen": ["e"]}),
                    json!({"subscribe": {"maxLatencyMs": 1.5}}),
                ],
            ),
        ),
        (
            "bb/createSession",
            (
                vec![
                    json!({}),
                    json!({"configPath": "c", "task": "t", "model": "m", "permissionMode": "p", "more": {}}),
                    json!({"task": null}),
                ],
                vec![json!({"task": 1}), json!({"configPath": ["c"]}), json!({"model": {}}), json!([])],
            ),
        ),
        ("bb/listSessions", none()),
        ("bb/selectSession", session_only()),
        ("bb/deleteSession", session_only()),
        (
            "bb/sendMessage",
            (
                vec![
                    json!({"sessionId": "s", "text": "t"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": ["a"], "messageId": "m"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": []}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"text": "t"}),
                    json!({"sessionId": "s", "text": 1}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": "a"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": [1]}),
                    json!({"sessionId": "s", "text": "t", "messageId": 7}),
                ],
            ),
        ),
        ("bb/stop", session_only()),
        ("bb/queue/list", queue()),
        ("bb/queue/edit", queue()),
        ("bb/queue/move", queue()),
        ("bb/queue/remove", queue()),
        ("bb/queue/resume", queue()),
        (
            "bb/approvePermission",
            (
                vec![
                    json!({"sessionId": "s", "requestId": "r", "decision": "allow_once"}),
                    json!({"tabId": "t", "requestId": "r", "decision": "deny", "optionId": "o", "digest": "d"}),
                    json!({"requestId": "r", "decision": "allow_rule", "ruleUpdate": {"pattern": "p", "scope": "workspace"}}),
                    json!({"requestId": "r", "decision": "allow_rule", "ruleUpdate": {"any": 1}}),
                ],
                vec![
                    json!({"sessionId": "s", "decision": "deny"}),
                    json!({"requestId": "r"}),
                    json!({"requestId": "r", "decision": "allow"}),
                    json!({"requestId": "r", "decision": "ALLOW_ONCE"}),
                    json!({"requestId": "r", "decision": null}),
                    json!({"requestId": "r", "decision": {"deny": null}}),
                    json!({"requestId": "r", "decision": "deny", "ruleUpdate": {"scope": "world"}}),
                    json!({"requestId": "r", "decision": "deny", "ruleUpdate": ["p", "session"]}),
                ],
            ),
        ),
        (
            "bb/listFiles",
            (
                vec![
                    json!({"sessionId": "s", "path": ""}),
                    json!({"sessionId": "s", "path": "src", "root": "r", "gitignore": true}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"path": "src"}),
                    json!({"sessionId": "s", "path": null}),
                    json!({"sessionId": "s", "path": "src", "gitignore": "yes"}),
                ],
            ),
        ),
        (
            "bb/readFileSnippet",
            (
                vec![
                    json!({"sessionId": "s", "path": "a"}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": 10, "headLines": 0, "tailLines": 5}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": 4096.0}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": -1}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": "10"}),
                    json!({"sessionId": "s", "path": "a", "headLines": 1.5}),
                    json!({"sessionId": "s", "path": "a", "tailLines": [1]}),
                ],
            ),
        ),
        (
            "bb/events/read",
            (
                vec![
                    json!({"sessionId": "s", "fromSeq": 1}),
                    json!({"sessionId": "s", "fromSeq": 0, "limit": 10}),
                    json!({"sessionId": "s", "fromSeq": 1e16, "limit": u64::MAX}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "fromSeq": "1"}),
                    json!({"sessionId": "s", "fromSeq": -1}),
                    json!({"sessionId": "s", "fromSeq": 1e30}),
                    json!({"fromSeq": 1}),
                    json!({"sessionId": "s", "fromSeq": 1, "limit": true}),
                ],
            ),
        ),
        (
            "bb/eventBody",
            (vec![json!({"sessionId": "s", "seq": 3})], vec![json!({"sessionId": "s"}), json!({"seq": 3})]),
        ),
        (
            "bb/view/page",
            (
                vec![
                    json!({"sessionId": "s", "lane": "chat"}),
                    json!({"sessionId": "s", "lane": "debug", "before": "a-1-0", "limit": 20}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "lane": "files"}),
                    json!({"sessionId": "s", "lane": {"chat": null}}),
                    json!({"sessionId": "s", "lane": "chat", "before": 4}),
                ],
            ),
        ),
        (
            "bb/attachment/put",
            (
                vec![
                    json!({"sessionId": "s", "name": "n", "uri": "file:///a"}),
                    json!({"sessionId": "s", "name": "n", "base64": "YQ==", "mime": "text/plain"}),
                ],
                vec![
                    json!({"sessionId": "s", "uri": "file:///a"}),
                    json!({"name": "n"}),
                    json!({"sessionId": "s", "name": "n", "base64": [1]}),
                ],
            ),
        ),
        ("bb/models/list", none()),
        (
            "bb/models/set",
            (
                vec![
                    json!({"name": "m"}),
                    json!({"name": "m", "provider": "openai", "url": "http://localhost:1"}),
                ],
                vec![json!({}), json!({"name": null}), json!({"name": "m", "provider": 1})],
            ),
        ),
        (
            "bb/setCredentials",
            (
                vec![
                    json!({"scope": "engine", "token": "t-123456"}),
                    json!({"scope": "model", "token": null}),
                    json!({"scope": "model"}),
                ],
                vec![
                    json!({"token": "t"}),
                    json!({"scope": "all", "token": "t"}),
                    json!({"scope": "engine", "token": 1}),
                ],
            ),
        ),
    ])
}

#[test]
fn r000_20_to_26_28_to_31_34_35_59_69_74_schema_and_decoder_agree_on_every_example_of_every_request() {
    let files = schema::files();
    let examples = requests();
    for method in REQUESTS {
        let (good, bad) =
            examples.get(method).unwrap_or_else(|| panic!("give {method} examples, good and bad"));
        let validator = validator(&files[&schema::file_name(method)], "/properties/params");
        for params in good {
            assert!(validator.is_valid(params), "{method}: the schema refuses {params}");
            let read = Request::parse(method, params.clone());
            assert_eq!(
                read.as_ref().map(Request::method),
                Ok(*method),
                "{method}: the decoder refuses {params}"
            );
        }
        for params in bad {
            assert!(!validator.is_valid(params), "{method}: the schema takes {params}");
            let refused =
                Request::parse(method, params.clone()).expect_err(&format!("{method} takes {params}"));
            assert_eq!(refused.code, ErrorCode::InvalidParams, "{method} {params}");
            assert!(refused.message.contains(method), "{}", refused.message);
        }
    }
    let unknown: Vec<_> = examples.keys().filter(|method| !REQUESTS.contains(method)).collect();
    assert!(unknown.is_empty(), "examples of methods that are gone: {unknown:?}");
}

#[test]
fn r000_21_absent_params_are_an_empty_object() {
    assert!(matches!(Request::parse("bb/createSession", Value::Null), Ok(Request::CreateSession(_))));
    assert!(matches!(Request::parse("bb/init", Value::Null), Ok(Request::Init(_))));
    let refused = Request::parse("bb/stop", Value::Null).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidParams);
}

#[test]
fn r000_75_an_unknown_method_is_refused_by_name() {
    for method in ["bb/nope", "bb.init", "bb/init/", "", "BB/INIT"] {
        let refused = Request::parse(method, json!({})).unwrap_err();
        assert_eq!((refused.code, refused.code.number()), (ErrorCode::UnknownMethod, -32601), "{method}");
    }
}

/// Wrong in one way each; those without a usable id come last.
fn bad_envelopes() -> Vec<Value> {
    vec![
        json!({"v": 2, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": "1", "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "res", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "id": "1"}),
        json!({"v": 1, "kind": "req", "id": "1", "method": 5}),
        json!({"v": 1, "kind": "req", "id": 1, "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "id": null, "method": "bb.init"}),
        json!([1, "req", "1", "bb.init"]),
        json!("bb.init"),
    ]
}

#[test]
fn r000_09_14_19_envelope_requests_are_read_as_their_schema_says() {
    let validator = validator_of("RpcReq.json");
    for envelope in [
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1.0, "kind": "req", "id": "", "method": "bb.queue.list", "params": {"sessionId": "s"}, "more": 1}),
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init", "params": null}),
    ] {
        assert!(validator.is_valid(&envelope), "{envelope}");
        let opened = envelope::open(&envelope);
        let Opened::Request { id, method, params } = opened else { panic!("{envelope} is {opened:?}") };
        assert_eq!(Some(id.as_str()), envelope["id"].as_str());
        assert_eq!(method.replace('/', "."), envelope["method"].as_str().unwrap());
        assert!(params.is_object());
    }
    let responses = validator_of("RpcRes.json");
    for envelope in bad_envelopes() {
        assert!(!validator.is_valid(&envelope), "{envelope}");
        match envelope::open(&envelope) {
            Opened::Violation(answer) => {
                assert!(envelope["id"].is_string(), "{envelope}");
                let answer = serde_json::to_value(answer).unwrap();
                assert!(responses.is_valid(&answer), "{answer}");
                assert_eq!(answer["error"]["code"], "invalid_params");
                assert_eq!(answer["id"], envelope["id"]);
            }
            Opened::Unanswerable(refused) => {
                assert!(!envelope["id"].is_string(), "{envelope}");
                assert_eq!(refused.code.number(), -32602);
            }
            Opened::Request { .. } => panic!("{envelope} went through"),
        }
    }
}

#[test]
fn r000_10_11_17_60_answers_fit_their_schema_and_no_answer_is_both() {
    let validator = validator_of("RpcRes.json");
    let refused = WireError::new(ErrorCode::NotFound, "gone").with_details(json!({"path": "a"}));
    for good in [
        serde_json::to_value(envelope::succeeded("1".into(), json!({"any": 1}))).unwrap(),
        serde_json::to_value(envelope::failed("1".into(), &refused)).unwrap(),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true}),
    ] {
        assert!(validator.is_valid(&good), "{good}");
    }
    for bad in [
        json!({"v": 1, "kind": "res", "id": "1", "ok": false}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "error": {"code": "x"}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "error": {"code": "x", "message": 1}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "result": 1, "error": {"code": "x", "message": "m"}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true, "result": 1, "error": {"code": "x", "message": "m"}}),
        json!({"v": 1, "kind": "res", "id": 1, "ok": true}),
        json!({"v": 1, "kind": "res", "id": "1"}),
        json!({"v": 2, "kind": "res", "id": "1", "ok": true}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

#[test]
fn r000_08_12_13_an_envelope_is_exactly_one_of_three_and_topics_are_closed() {
    let kinds = ["RpcReq.json", "RpcRes.json", "RpcEvt.json"].map(validator_of);
    let fitting = |message: &Value| kinds.iter().filter(|kind| kind.is_valid(message)).count();
    for good in [
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true, "result": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/events", "payload": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/view", "payload": {"extra": 1}}),
    ] {
        assert_eq!(fitting(&good), 1, "{good}");
    }
    for bad in [
        json!({"v": 1, "kind": "evt", "topic": "bb/other", "payload": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/events"}),
        json!({"v": 1, "kind": "evt", "payload": {}}),
        json!({"kind": "evt", "topic": "bb/events", "payload": {}}),
    ] {
        assert_eq!(fitting(&bad), 0, "{bad}");
    }
    for topic in NOTIFICATIONS {
        assert_eq!(fitting(&json!({"v": 1, "kind": "evt", "topic": topic, "payload": {}})), 1, "{topic}");
    }
}

fn view() -> Value {
    let lane = json!({"blocks": [{"id": "u-1", "kind": "user", "seq": 1, "text": "hi"}], "hasMore": false});
    json!({"epoch": "e", "seq": 1, "lanes": {"chat": lane, "tasks": lane, "run": lane, "debug": lane}})
}

fn event() -> Value {
    json!({"id": "", "type": "local.prompt", "payload": {"text": "hi"}, "seq": 1, "class": "transcript.user_message",
        "pane": ["chat"], "origin": "local"})
}

/// For each method an answer as we send it, and one that lacks something.
fn results() -> Vec<(&'static str, Value, Value)> {
    let session = json!({"sessionId": "s", "title": "t", "status": "idle", "updatedAt": 1});
    let queue = json!({"items": [{"messageId": "m", "text": "t"}], "paused": false});
    vec![
        (
            "bb/init",
            json!({"v": 1, "server": {"name": "breadboard-ls", "version": "0"}, "epoch": "e", "sessions": [session],
                "engine": {"kind": "embedded", "status": "connected", "capabilities": []}, "workspaceTrusted": false}),
            json!({"v": 1}),
        ),
        ("bb/createSession", json!({"sessionId": "s"}), json!({})),
        ("bb/listSessions", json!({"sessions": [session]}), json!({"sessions": [{}]})),
        (
            "bb/selectSession",
            json!({"sessionId": "s", "seq": 1, "view": view(), "resume": {"verdict": "complete"}}),
            json!({"sessionId": "s", "seq": 1, "view": view(), "resume": {"verdict": "maybe"}}),
        ),
        ("bb/deleteSession", json!({"sessionId": "s", "deleted": true}), json!({"sessionId": "s"})),
        (
            "bb/sendMessage",
            json!({"sessionId": "s", "messageId": "m", "disposition": "started"}),
            json!({"sessionId": "s", "messageId": "m", "disposition": "lost"}),
        ),
        (
            "bb/stop",
            json!({"sessionId": "s", "stopping": true}),
            json!({"sessionId": "s", "stopping": "yes"}),
        ),
        ("bb/queue/list", queue.clone(), json!({"items": []})),
        ("bb/queue/edit", queue.clone(), json!({"items": [{}], "paused": true})),
        ("bb/queue/move", queue.clone(), json!({"paused": true})),
        ("bb/queue/remove", queue.clone(), json!([])),
        ("bb/queue/resume", queue, json!({})),
        (
            "bb/approvePermission",
            json!({"requestId": "r", "outcome": "already_resolved", "resolution": "denied", "resolvedBy": "user"}),
            json!({"requestId": "r", "outcome": "ok"}),
        ),
        (
            "bb/listFiles",
            json!({"path": "", "entries": [{"path": "a", "name": "a", "type": "file", "size": 1}], "truncated": false}),
            json!({"path": "", "entries": [{"path": "a", "name": "a", "type": "socket"}], "truncated": false}),
        ),
        (
            "bb/readFileSnippet",
            json!({"path": "a", "content": "x", "totalBytes": 1, "truncated": false,
                "ranges": [{"startLine": 1, "endLine": 1}], "source": "buffer"}),
            json!({"path": "a", "content": "x"}),
        ),
        (
            "bb/events/read",
            json!({"events": [event()], "hasMore": false}),
            json!({"events": [{}], "hasMore": false}),
        ),
        ("bb/eventBody", json!({"event": event()}), json!({"event": {}})),
        (
            "bb/view/page",
            json!({"blocks": view()["lanes"]["chat"]["blocks"], "hasMore": true}),
            json!({"blocks": [{"id": "x", "seq": 1, "kind": "new"}], "hasMore": true}),
        ),
        (
            "bb/attachment/put",
            json!({"attachmentId": "a", "bytes": 1, "mime": "text/plain"}),
            json!({"bytes": 1}),
        ),
        (
            "bb/models/list",
            json!({"models": [{"id": "m", "name": "M"}], "current": "p/m"}),
            json!({"current": "m"}),
        ),
        ("bb/models/set", json!({"models": []}), json!({"models": [{"id": 1, "name": "M"}]})),
        ("bb/setCredentials", json!({}), json!([])),
        (
            "bb/rpc",
            json!({"v": 1, "kind": "res", "id": "1", "ok": true}),
            json!({"v": 1, "kind": "res", "id": "1"}),
        ),
    ]
}

#[test]
fn r000_60_results_fit_their_schema_and_broken_ones_do_not() {
    let files = schema::files();
    let examples = results();
    for (method, good, bad) in &examples {
        let validator = validator(&files[&schema::file_name(method)], "/properties/result");
        assert!(validator.is_valid(good), "{method}: {good}");
        assert!(!validator.is_valid(bad), "{method}: {bad}");
    }
    let missing: Vec<_> =
        REQUESTS.iter().filter(|method| !examples.iter().any(|example| example.0 == **method)).collect();
    assert!(missing.is_empty(), "give these results an example: {missing:?}");
}

#[test]
fn r000_37_to_50_notifications_fit_their_schema_and_broken_ones_do_not() {
    let files = schema::files();
    let block = json!({"id": "a", "kind": "assistant", "seq": 1, "text": "", "streaming": true});
    for (method, good, bad) in [
        (
            "bb/connection",
            json!({"status": "error", "retryCount": 2, "lastError": "m", "gapDetected": true, "extra": 1}),
            json!({"status": "down"}),
        ),
        ("bb/state", json!({"sessions": [], "running": true}), json!({"running": true})),
        (
            "bb/events",
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "events": [event()]}),
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "events": [{"seq": 1}]}),
        ),
        (
            "bb/view",
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1,
                "changes": [{"lane": "chat", "op": "put", "id": "a", "block": block}], "snapshot": view()}),
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "changes": [{"lane": "chat", "op": "push", "id": "a"}]}),
        ),
        ("bb/workspaceTrust", json!({"trusted": true}), json!({"trusted": "yes"})),
        (
            "initializationOptions",
            json!({"engine": {"kind": "embedded"}, "delivery": {"maxLatencyMs": 0}, "unknown": 1}),
            json!({"engine": {"kind": "magic"}}),
        ),
        (
            "workspaceConfiguration",
            json!({"delivery": {"maxEvents": 1}, "engine": 1}),
            json!({"delivery": 1}),
        ),
    ] {
        let validator = validator(&files[&schema::file_name(method)], "/properties/params");
        assert!(validator.is_valid(&good), "{method}: {good}");
        assert!(!validator.is_valid(&bad), "{method}: {bad}");
    }
}

#[test]
fn every_announced_method_has_a_file_and_a_line_in_meta() {
    let files = schema::files();
    let listed: Vec<&str> = files["meta.json"]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["method"].as_str().unwrap())
        .collect();
    for method in announced_methods().iter().chain(NOTIFICATIONS) {
        assert!(listed.contains(method), "{method} is not in meta.json");
        assert!(files.contains_key(&schema::file_name(method)), "{method} has no file");
    }
}

#[test]
fn every_event_and_block_of_the_fixtures_fits_its_schema() {
    let (events, blocks) = (validator_of("Event.json"), validator_of("Block.json"));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reducers");
    let desktop: BTreeMap<String, Validator> = schema::files()
        .iter()
        .filter_map(|(name, file)| {
            let kind = name.strip_prefix("desktop/")?.strip_suffix(".json")?;
            Some((kind.to_owned(), jsonschema::validator_for(file).unwrap()))
        })
        .collect();
    assert_eq!(desktop.len(), 12, "one file a message of the dialect");
    let mut messages = 0;
    for entry in fs::read_dir(fixtures).unwrap() {
        let fixture: Value = serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for event in fixture["events"].as_array().unwrap() {
            assert!(events.is_valid(event), "{event}");
            let kind = event["type"].as_str().unwrap();
            // A tool message without the additive `call_id` is the seed's own; our schema describes what we send.
            let ours = kind != "tool.execute" || event["payload"].get("call_id").is_some();
            if let Some(validator) = desktop.get(kind).filter(|_| ours) {
                let mut message = event["payload"].clone();
                message["type"] = event["type"].clone();
                let errors: Vec<String> =
                    validator.iter_errors(&message).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{message}: {errors:?}");
                messages += 1;
            }
        }
        for lane in ["chat", "tasks", "run", "debug"] {
            for block in fixture["expected"][lane]["blocks"].as_array().unwrap() {
                assert!(blocks.is_valid(block), "{block}");
            }
        }
    }
    assert!(messages > 30, "only {messages} messages were checked");
}
