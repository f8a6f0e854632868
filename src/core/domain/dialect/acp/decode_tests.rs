//! One line is one message, however an agent writes it, and an event keeps its text.

use serde_json::{Value, json};

use super::*;

fn line(text: &str) -> AcpLine {
    let read = read_line(text.as_bytes());
    assert!(!read.repaired, "{text}");
    read.line
}

fn map(value: Value) -> Payload {
    value.as_object().cloned().unwrap().into()
}

fn id(json: &str) -> RpcId {
    RpcId::from_json(json).unwrap()
}

#[test]
fn a_line_is_a_request_a_notification_or_an_answer() {
    assert_eq!(
        line(r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"a":1}}"#),
        AcpLine::Request {
            id: RpcId::number(0),
            method: "session/request_permission".to_owned(),
            params: map(json!({"a": 1})),
        }
    );
    assert_eq!(
        line("{\"jsonrpc\":\"2.0\",\"method\":\"_x/y\"}\r\n"),
        AcpLine::Notification { method: "_x/y".to_owned(), params: Payload::default() }
    );
    assert_eq!(
        line(r#"{"jsonrpc":"2.0","result":{"stopReason":"end_turn"},"id":2}"#),
        AcpLine::Answer { id: RpcId::number(2), outcome: Ok(map(json!({"stopReason": "end_turn"}))) }
    );
}

#[test]
fn ids_are_null_numbers_or_strings_and_go_back_as_they_came() {
    let request = |id: &str| format!(r#"{{"id":{id},"method":"m/m"}}"#);
    for spelled in ["null", "0", "-7", "12345678901234567890123", "\"a-1\"", "1.5"] {
        let AcpLine::Request { id, .. } = line(&request(spelled)) else { panic!("{spelled}") };
        assert_eq!(id.json(), spelled);
        assert_eq!(serde_json::to_string(&id).unwrap(), spelled);
    }
    assert_eq!(id(r#""\u0061""#), id(r#""a""#));
    assert_ne!(id("1"), id("\"1\""));
    assert_eq!(id("7").as_number(), Some(7));
    for other in ["[1]", "{}", "true"] {
        assert_eq!(line(&request(other)), AcpLine::Unreadable { raw: request(other) });
    }
}

#[test]
fn answers_are_read_however_an_agent_writes_them() {
    let answer = |text: &str| match line(text) {
        AcpLine::Answer { id, outcome } => (id, outcome),
        other @ (AcpLine::Request { .. } | AcpLine::Notification { .. } | AcpLine::Unreadable { .. }) => {
            panic!("{other:?}")
        }
    };
    // elizacp: no id at all.
    let (no_id, outcome) = answer(
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error","data":{"line":"{not json"}}}"#,
    );
    assert_eq!(no_id, RpcId::null());
    assert_eq!(
        outcome,
        Err(AcpError {
            code: -32700,
            message: "Parse error".to_owned(),
            data: Some(json!({"line": "{not json"})),
            whole: map(json!({"code": -32700, "message": "Parse error", "data": {"line": "{not json"}})),
        })
    );
    assert_eq!(answer(r#"{"id":1,"result":null}"#), (RpcId::number(1), Ok(Payload::default())));
    assert_eq!(answer(r#"{"id":1,"result":[1]}"#).1, Ok(map(json!({"result": [1]}))));
    assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1}"#), (RpcId::number(1), Ok(Payload::default())));
    assert_eq!(answer(r#"{"id":1,"result":{},"error":null}"#).1, Ok(Payload::default()));
    let (_, both) = answer(r#"{"id":1,"result":null,"error":"broken"}"#);
    let error = both.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (AcpError::INTERNAL, "\"broken\""));
}

#[test]
fn junk_and_lists_of_messages_are_kept_raw() {
    for raw in ["", "hello", "{not json", "[]", r#"[{"id":1,"method":"a/b"}]"#, "{}", "7", r#"{"method":7}"#]
    {
        assert_eq!(line(raw), AcpLine::Unreadable { raw: raw.to_owned() }, "{raw}");
    }
    let read = read_line(b"\xff\xfe{");
    assert_eq!(
        read,
        ReadLine { line: AcpLine::Unreadable { raw: "\u{fffd}\u{fffd}{".to_owned() }, repaired: false }
    );
}

#[test]
fn broken_text_inside_a_message_is_repaired_and_said_so() {
    let read = read_line(b"{\"method\":\"_a/b\",\"params\":{\"x\":NaN,\"y\":\"\\ud800\",\"z\":\"\xff\"}}");
    assert!(read.repaired);
    assert_eq!(
        read.line,
        AcpLine::Notification {
            method: "_a/b".to_owned(),
            params: map(json!({"x": null, "y": "\u{fffd}", "z": "\u{fffd}"})),
        }
    );
}

#[test]
fn an_update_becomes_an_event_of_its_word_with_its_own_text() {
    let text = r#"{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1.50,"size":2}}"#;
    let params: Payload = serde_json::from_str(text).unwrap();
    let (session, event) = update_event(&params).unwrap();
    assert_eq!((session.as_str(), event.kind.as_str()), ("s", "usage_update"));
    assert_eq!(event.payload.raw(), Some(r#"{"sessionUpdate":"usage_update","used":1.50,"size":2}"#));
    assert_eq!(session_of(&params).as_deref(), Some("s"));
}

#[test]
fn an_update_that_is_none_stays_whole_as_its_method() {
    for params in [
        json!({}),
        json!({"sessionId": "s"}),
        json!({"sessionId": "s", "update": 1}),
        json!({"sessionId": "s", "update": {"sessionUpdate": 1}}),
        json!({"update": {"sessionUpdate": "plan"}}),
        json!({"sessionId": "s", "update": {"sessionUpdate": "local.agent_exited"}}),
        json!({"sessionId": "s", "update": {"sessionUpdate": "session/request_permission"}}),
        json!({"sessionId": "s", "update": {"sessionUpdate": "session/prompt", "stopReason": "end_turn"}}),
    ] {
        let params = map(params);
        assert_eq!(update_event(&params), None);
        let event = method_event(UPDATE, params.clone());
        assert_eq!((event.kind.as_str(), &event.payload), (UPDATE, &params));
    }
}

#[test]
fn a_method_never_passes_for_an_update_an_answer_or_an_event_of_ours() {
    for method in ["tool_call", "plan", "session/prompt", "agent/log", "local.prompt", "local./x", ""] {
        let event = method_event(method, map(json!({"a": 1})));
        assert_eq!(event.kind, UNKNOWN);
        assert_eq!(event.payload, map(json!({"method": method, "params": {"a": 1}})));
    }
    assert_eq!(method_event("_auth/status_update", Payload::default()).kind, "_auth/status_update");
}

#[test]
fn the_answer_to_a_prompt_keeps_result_or_error() {
    let ok = prompt_event(&Ok(map(json!({"stopReason": "exploded", "_meta": {"a": 1}}))), None);
    assert_eq!(
        (ok.kind.as_str(), ok.payload),
        (PROMPT, map(json!({"stopReason": "exploded", "_meta": {"a": 1}})))
    );
    let AcpLine::Answer { outcome, .. } =
        line(r#"{"id":1,"error":{"code":1001,"message":"m","data":{"restartable":true}}}"#)
    else {
        panic!()
    };
    assert_eq!(
        prompt_event(&outcome, None).payload,
        map(json!({"error": {"code": 1001, "message": "m", "data": {"restartable": true}}}))
    );
    assert_eq!(unreadable_event("x").payload, map(json!({"raw": "x"})));
}

#[test]
fn an_ask_names_the_process_and_the_id_of_its_request() {
    for spelled in ["0", "\"1:a\"", "null"] {
        let event = ask_event("session/request_permission", map(json!({"a": 1})), 3, &id(spelled));
        assert_eq!(event.id, format!("3:{spelled}"));
        assert_eq!(asked_by(&event.id), Some((3, id(spelled))));
    }
    assert_eq!((asked_by("x"), asked_by("1:"), asked_by("")), (None, None, None));
}

#[test]
fn how_long_an_agent_asks_to_wait_is_read_where_its_data_says_so() {
    let wait = |data: Value| {
        let line =
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "m", "data": data } });
        let AcpLine::Answer { outcome: Err(error), .. } = self::line(&line.to_string()) else {
            panic!("{line}")
        };
        error.wait()
    };
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(wait(json!({ "retryAfterMs": 1_500 })), ms(1_500));
    assert_eq!(wait(json!({ "retry_after": 12 })), ms(12_000));
    assert_eq!(wait(json!({ "retryAfter": 1e300 })), ms(600_000));
    for odd in
        [json!({ "retryAfter": -1 }), json!({ "retryAfter": "soon" }), json!({}), json!("1"), json!(null)]
    {
        assert_eq!(wait(odd.clone()), None, "{odd}");
    }
}
