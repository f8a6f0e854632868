//! Bodies as the engine writes them, today's and the newer one's, and bodies that are odd.

use serde_json::json;

use super::*;

fn read_list<T: DeserializeOwned>(body: &[u8]) -> Option<Vec<T>> {
    read(body).map(fitting)
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

#[test]
fn a_session_is_read_from_today_s_engine_and_from_the_newer_one() {
    let today = json!({
        "session_id": "s-1", "status": "running", "created_at": "2026-01-01T00:00:00.000001Z",
        "last_activity_at": "2026-01-01T00:00:01.000001Z", "model": "m", "mode": null, "completion_summary": null,
        "reward_summary": null, "logging_dir": "logging/x", "metadata": {"permission_mode": "prompt"}
    });
    let summary = EngineSessionSummary {
        session_id: "s-1".to_owned(),
        status: "running".to_owned(),
        created_at: Some("2026-01-01T00:00:00.000001Z".to_owned()),
        last_activity_at: Some("2026-01-01T00:00:01.000001Z".to_owned()),
        model: Some("m".to_owned()),
        logging_dir: Some("logging/x".to_owned()),
        metadata: Map::from_iter([("permission_mode".to_owned(), json!("prompt"))]),
        ..EngineSessionSummary::default()
    };
    assert_eq!(read(&bytes(&today)), Some(summary.clone()));
    let mut newer = today;
    newer["turn_admission"] = json!("active");
    newer["active_turn_id"] = json!("t-1");
    newer["queued_turn_count"] = json!(2);
    newer["headSequence"] = json!(9);
    newer["terminalTurns"] = json!([{}]);
    assert_eq!(
        read(&bytes(&newer)),
        Some(EngineSessionSummary {
            turn_admission: Some("active".to_owned()),
            active_turn_id: Some("t-1".to_owned()),
            queued_turn_count: Some(2),
            head_sequence: Some(9),
            ..summary
        })
    );
}

#[test]
fn one_odd_session_does_not_hide_the_others() {
    let list = json!([
        {"session_id": "s-1", "status": null, "metadata": [], "queued_turn_count": -1},
        {"status": "running"}, {"session_id": ""}, {"session_id": 7}, null, "s-2",
        {"session_id": "s-3", "completion_summary": {"completed": true}},
    ]);
    let empty = EngineSessionSummary { session_id: "s-1".to_owned(), ..EngineSessionSummary::default() };
    let third = EngineSessionSummary {
        session_id: "s-3".to_owned(),
        completion_summary: json!({"completed": true}),
        ..EngineSessionSummary::default()
    };
    assert_eq!(read_list(&bytes(&list)), Some(vec![empty, third]));
    assert_eq!(read_list::<EngineSessionSummary>(b"{}"), None);
    assert_eq!(read::<EngineSessionSummary>(b"{\"status\":\"running\"}"), None);
}

#[test]
fn bodies_that_are_not_strict_are_read_and_others_are_not() {
    let body =
        b"{\"session_id\":\"s-1\",\"model\":\"\\ud83d\",\"metadata\":{\"a\":NaN},\"session_id\":\"s-2\"}";
    assert_eq!(
        read(body),
        Some(EngineSessionSummary {
            session_id: "s-2".to_owned(),
            model: Some("\u{fffd}".to_owned()),
            metadata: Map::from_iter([("a".to_owned(), Value::Null)]),
            ..EngineSessionSummary::default()
        })
    );
    for body in [&b""[..], b"Internal Server Error", b"[]", b"null", b"{"] {
        assert_eq!(read::<EngineSessionSummary>(body), None);
    }
}

#[test]
fn requests_say_only_what_is_set() {
    let idle = CreateSession { config_path: "c.yaml".to_owned(), ..CreateSession::default() };
    assert_eq!(serde_json::to_value(idle).unwrap(), json!({"config_path": "c.yaml", "task": ""}));
    let full = CreateSession {
        config_path: "c.yaml".to_owned(),
        task: "t".to_owned(),
        overrides: Map::from_iter([("a.b".to_owned(), json!([]))]),
        metadata: Map::from_iter([("model".to_owned(), json!("m"))]),
        workspace: Some("/w".to_owned()),
        max_steps: Some(3),
        permission_mode: Some("prompt".to_owned()),
        stream: Some(true),
    };
    assert_eq!(
        serde_json::to_value(full).unwrap(),
        json!({"config_path": "c.yaml", "task": "t", "overrides": {"a.b": []}, "metadata": {"model": "m"},
            "workspace": "/w", "max_steps": 3, "permission_mode": "prompt", "stream": true})
    );
    let input = EngineInput {
        content: "x".to_owned(),
        client_message_id: "m-1".to_owned(),
        ..EngineInput::default()
    };
    assert_eq!(serde_json::to_value(input).unwrap(), json!({"content": "x", "client_message_id": "m-1"}));
    let input =
        EngineInput { content: "x".to_owned(), attachments: vec!["a".to_owned()], ..EngineInput::default() };
    assert_eq!(
        serde_json::to_value(input).unwrap(),
        json!({"content": "x", "attachments": ["a"], "client_message_id": ""})
    );
    let stop = Command { command: "stop".to_owned(), ..Command::default() };
    assert_eq!(serde_json::to_value(stop).unwrap(), json!({"command": "stop"}));
    let cancel = CancelTurn { cancellation_request_key: "k".to_owned(), reason: "user_requested" };
    assert_eq!(
        serde_json::to_value(cancel).unwrap(),
        json!({"cancellation_request_key": "k", "reason": "user_requested"})
    );
}

#[test]
fn replies_are_read() {
    let created =
        json!({"session_id": "s-1", "status": "starting", "created_at": "now", "logging_dir": null});
    assert_eq!(
        read(&bytes(&created)),
        Some(SessionCreated {
            session_id: "s-1".to_owned(),
            status: "starting".to_owned(),
            created_at: Some("now".to_owned()),
        })
    );
    assert_eq!(read::<SessionCreated>(b"{\"session_id\":null}"), None);
    let accepted = InputReply { status: "accepted".to_owned(), ..InputReply::default() };
    assert_eq!(read(br#"{"status":"accepted"}"#), Some(accepted));
    let newer = json!({"status": "accepted", "client_message_id": "m", "input_id": "i", "turn_id": "t",
        "disposition": "deduplicated", "original_disposition": "started"});
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        read(&bytes(&newer)),
        Some(InputReply {
            status: "accepted".to_owned(),
            client_message_id: some("m"),
            input_id: some("i"),
            turn_id: some("t"),
            disposition: some("deduplicated"),
            original_disposition: some("started"),
        })
    );
    assert_eq!(
        read(br#"{"status":"accepted","detail":{"status":"ok","stopping":true}}"#),
        Some(CommandReply {
            status: "accepted".to_owned(),
            detail: Map::from_iter([
                ("status".to_owned(), json!("ok")),
                ("stopping".to_owned(), json!(true))
            ]),
        })
    );
    let file = StoredAttachment {
        id: "att-1".to_owned(),
        filename: "a.txt".to_owned(),
        mime: some("text/plain"),
        size_bytes: Some(3),
    };
    assert_eq!(
        read(br#"{"attachments":[{"id":"att-1","filename":"a.txt","mime":"text/plain","size_bytes":3},{"filename":"b"}]}"#),
        Some(Attachments { attachments: vec![file] })
    );
    assert_eq!(read(br#"{"attachments":null}"#), Some(Attachments::default()));
}

#[test]
fn files_and_models_are_read() {
    let entry =
        |path: &str, kind: &str, size| EngineFileEntry { path: path.to_owned(), kind: kind.to_owned(), size };
    assert_eq!(
        read_list(br#"[{"path":"src","type":"directory","updated_at":null},{"path":"a","type":"file","size":3},{}]"#),
        Some(vec![entry("src", "directory", None), entry("a", "file", Some(3))])
    );
    assert_eq!(
        read(br#"{"path":"a","content":"x\n","truncated":true,"total_bytes":9}"#),
        Some(FileContent {
            path: "a".to_owned(),
            content: "x\n".to_owned(),
            truncated: true,
            total_bytes: Some(9),
        })
    );
    assert_eq!(read::<FileContent>(br#"{"path":"a"}"#), None, "no content is not an empty file");
    let models = json!({"models": [{"id": "m", "adapter": "a", "provider": "p", "name": null, "context_length": 8,
        "params": {}}, {"name": "no id"}], "default_model": "m", "config_path": "c"});
    let model =
        Model { id: "m".to_owned(), name: None, provider: Some("p".to_owned()), context_length: Some(8) };
    assert_eq!(
        read(&bytes(&models)),
        Some(Models { models: vec![model], default_model: Some("m".to_owned()) })
    );
}
