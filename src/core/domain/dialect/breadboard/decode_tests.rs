//! Every shape of the engine's envelope, and bytes that are none.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Decodes a whole stream, as the engine edge does.
fn decoded(stream: &str) -> Vec<Decoded<'static>> {
    let mut events = Vec::new();
    SseDecoder::new(1 << 20).feed(stream.as_bytes(), &mut |item| match item {
        SseItem::Frame(frame) => events.push(decode(&frame).into_owned()),
        SseItem::TooLarge(_) => panic!("nothing is too large here"),
    });
    events
}

fn one(own_id: Option<&str>, data: &[u8]) -> Decoded<'static> {
    decode(&SseFrame { own_id, last_id: own_id.unwrap_or("6"), event: None, data }).into_owned()
}

fn object(value: Value) -> Payload {
    value.as_object().cloned().unwrap().into()
}

fn event(id: &str, kind: &str, turn: Option<u64>, payload: Value) -> EngineEvent {
    EngineEvent {
        id: id.to_owned(),
        kind: kind.to_owned(),
        turn,
        ts: Some(1_000),
        payload: object(payload),
        repaired: false,
    }
}

fn plain(event: EngineEvent, seq: Option<u64>) -> Decoded<'static> {
    Decoded {
        event,
        seq,
        envelope_id: Some("e-1".into()),
        session_id: Some("s-1".into()),
        stable_cursor: None,
        input_id: None,
        turn_id: None,
    }
}

/// An envelope with these fields in front of the payload.
fn envelope(fields: &str, payload: &str) -> String {
    format!(
        r#"{{"id":"e-1",{fields},"session_id":"s-1","timestamp":1000,"timestamp_ms":1000,"protocol_version":"1.0","payload":{payload}}}"#
    )
}

fn unreadable(id: &str, text: &str, repaired: bool) -> Decoded<'static> {
    Decoded {
        event: EngineEvent {
            id: id.to_owned(),
            kind: "unknown".to_owned(),
            turn: None,
            ts: None,
            payload: object(json!({ "raw": text })),
            repaired,
        },
        seq: None,
        envelope_id: None,
        session_id: None,
        stable_cursor: None,
        input_id: None,
        turn_id: None,
    }
}

#[test]
fn r003_06_the_id_line_is_the_event_id_and_seq_is_the_envelope_s() {
    // Given an event as the engine writes it, with the additive fields of agent events and a counter in its payload
    let data = envelope(r#""seq":8,"type":"assistant.message.delta","turn":15"#, r#"{"delta":"x","seq":77}"#)
        .replace(
            r#""payload""#,
            r#""classification":"canonical","family":"f","actor":{"kind":"human"},"visibility":"transcript","payload""#,
        );
    // Then the id is that of the line, seq that of the envelope
    assert_eq!(
        decoded(&format!("id: 8\ndata: {data}\n\n")),
        [plain(event("8", "assistant.message.delta", Some(15), json!({"delta": "x", "seq": 77})), Some(8))]
    );
}

#[test]
fn r000_51_ids_pass_untouched() {
    for id in ["8", "008", "9007199254740993", "5e3c7f1e-0000-4000-8000-000000000000", " x", "é/1"] {
        let stream =
            format!("id: {id}\ndata: {}\n\n", envelope(r#""seq":8,"type":"error","turn":null"#, "{}"));
        assert_eq!(decoded(&stream), [plain(event(id, "error", None, json!({})), Some(8))]);
    }
}

#[test]
fn r000_49_the_connect_snapshot_has_an_id_and_no_seq() {
    let payload = r#"{"call_id":"todo:snapshot:connect:0011aabb","todo":{"items":[]}}"#;
    let stream = format!(
        "id: 5e3c7f1e\ndata: {}\n\n",
        envelope(r#""seq":null,"type":"tool_result","turn":null"#, payload)
    );
    let snapshot = event("5e3c7f1e", "tool_result", None, serde_json::from_str::<Value>(payload).unwrap());
    assert_eq!(decoded(&stream), [plain(snapshot, None)]);
}

#[test]
fn r000_49_an_event_without_an_id_line_has_no_id_even_behind_one_that_has() {
    // Given a newer engine: an event with an id line, then its `stream.open`, which has none and no `id` nor `seq`
    let first = envelope(
        r#""seq":3,"type":"user_message","turn":1,"stable_cursor":"c-3","input_id":"i-1","turn_id":"t-1""#,
        r#"{"text":"x"}"#,
    );
    let open =
        r#"{"type":"stream.open","session_id":"s-1","payload":{"headSequence":3},"stable_cursor":null}"#;
    let stream = format!("id: 3\ndata: {first}\n\ndata: {open}\n\n");
    // Then the second inherits nothing
    assert_eq!(
        decoded(&stream),
        [
            Decoded {
                stable_cursor: Some("c-3".into()),
                input_id: Some("i-1".into()),
                turn_id: Some("t-1".into()),
                ..plain(event("3", "user_message", Some(1), json!({"text": "x"})), Some(3))
            },
            Decoded {
                event: EngineEvent { ts: None, ..event("", "stream.open", None, json!({"headSequence": 3})) },
                envelope_id: None,
                ..plain(event("", "", None, json!({})), None)
            },
        ]
    );
}

#[test]
fn only_an_integer_is_a_seq_and_a_field_of_another_shape_spoils_only_itself() {
    for (seq, expected) in [
        ("1", Some(1)),
        ("18446744073709551615", Some(u64::MAX)),
        ("null", None),
        ("\"8\"", None),
        ("8.0", None),
        ("8e0", None),
        ("-1", None),
        ("true", None),
        ("[8]", None),
        ("18446744073709551616", None),
    ] {
        let data = envelope(&format!(r#""seq":{seq},"type":"error","turn":{seq}"#), "{}");
        assert_eq!(
            one(Some("8"), data.as_bytes()),
            plain(event("8", "error", expected, json!({})), expected)
        );
    }
    let both = one(None, br#"{"type":"x","timestamp":5,"timestamp_ms":1000}"#);
    assert_eq!(both.event.ts, Some(1_000), "of two times the one that names its unit");
    let odd = r#"{"id":7,"type":"x","session_id":{},"timestamp":1000.75,"timestamp_ms":"soon","stable_cursor":12,"turn_id":[],"input_id":null,"payload":{}}"#;
    let read = one(None, odd.as_bytes());
    assert_eq!(
        read,
        Decoded {
            envelope_id: None,
            session_id: None,
            stable_cursor: Some("12".into()),
            ..plain(event("", "x", None, json!({})), None)
        }
    );
}

#[test]
fn names_that_come_twice_escaped_names_and_any_order_are_read() {
    let data = "{\"payload\":{\"a\":1},\n \"type\":\"x\" ,\"seq\":1,\"\\u0073eq\":2,\"new\":[{\"type\":\"y\"}],\
                \"payload\" : {\"b\" : 2} ,\"type\":\"z\",\"timestamp\":1000,\"timestamp_ms\":null,\
                \"id\":\"e-1\",\"session_id\":\"s-1\"}";
    assert_eq!(one(None, data.as_bytes()), plain(event("", "z", None, json!({"b": 2})), Some(2)));
}

#[test]
fn the_payload_stays_the_engine_s_own_text() {
    let payload = r#"{ "b":1.50,"a":"\u00e9\ud83d\ude00", "n":123456789012345678901234567890,"b":2 }"#;
    let read = one(Some("1"), envelope(r#""seq":1,"type":"x""#, payload).as_bytes());
    assert_eq!(read.event.payload.raw(), Some(payload));
    assert!(!read.event.repaired);
}

#[test]
fn what_python_writes_is_repaired_and_keeps_its_type() {
    for (written, expected) in [
        (r#"{"a":NaN,"b":[-Infinity,1e999],"t":"NaN"}"#, json!({"a": null, "b": [null, null], "t": "NaN"})),
        (r#"{"delta":"\ud83d","ok":"\ud83d\ude00"}"#, json!({"delta": "\u{fffd}", "ok": "😀"})),
    ] {
        let read = one(Some("8"), envelope(r#""seq":8,"type":"x","turn":1"#, written).as_bytes());
        let repaired = EngineEvent { repaired: true, ..event("8", "x", Some(1), expected) };
        assert_eq!(read, plain(repaired, Some(8)));
    }
    // Also where it is the envelope that is not strict, or not UTF-8
    for envelope in [
        &br#"{"seq":8,"type":"x\ud83d","turn":NaN,"payload":{}}"#[..],
        b"{\"seq\":8,\"type\":\"x\xFF\",\"payload\":{}}",
    ] {
        let read = one(Some("8"), envelope);
        assert_eq!((read.event.kind.as_str(), read.event.turn, read.seq), ("x\u{fffd}", None, Some(8)));
        assert!(read.event.repaired);
    }
}

#[test]
fn what_is_no_json_is_kept_raw() {
    for text in
        ["", "hello", "{\"seq\":8,", "[1]", "[NaN]", "8", "null", "{\"a\":NaN", "{'a':1}", "\u{feff}{}"]
    {
        assert_eq!(one(Some("8"), text.as_bytes()), unreadable("8", text, false), "{text}");
    }
    assert_eq!(
        one(None, b"x\xFFy"),
        unreadable("", "x\u{fffd}y", true),
        "the text was changed, so it is told"
    );
}

#[test]
fn json_without_a_type_or_with_another_payload_is_kept_raw_and_keeps_its_place() {
    for (kind, payload) in
        [("7", "{}"), ("\"\"", "{}"), ("null", "{}"), ("\"x\"", "[]"), ("\"x\"", "\"{\""), ("\"x\"", "1")]
    {
        let text = envelope(&format!(r#""seq":8,"type":{kind},"turn":2"#), payload);
        let expected = plain(event("8", "unknown", Some(2), json!({ "raw": text })), Some(8));
        assert_eq!(one(Some("8"), text.as_bytes()), expected);
    }
    // Without a payload there is nothing that could be lost.
    let expected = plain(event("8", "stream.gap", None, json!({})), Some(8));
    let fields = r#""seq":8,"type":"stream.gap""#;
    assert_eq!(one(Some("8"), envelope(fields, "null").as_bytes()), expected);
    let absent = envelope(fields, "").replace(r#","payload":"#, "");
    assert_eq!(one(Some("8"), absent.as_bytes()), expected);
}

#[test]
fn a_payload_that_is_nested_too_deeply_is_kept_raw_and_keeps_its_place() {
    for depth in [100, 200, 100_000] {
        let nested = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let text = envelope(r#""seq":8,"type":"x","turn":2"#, &nested);
        let read = one(Some("8"), text.as_bytes());
        assert_eq!(read, plain(event("8", "unknown", Some(2), json!({ "raw": text })), Some(8)));
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "{",
        "}",
        "\"seq\":",
        "8",
        ",",
        "\"type\":",
        "\"x\"",
        "\"payload\":",
        "{}",
        "NaN",
        "\"\\ud83d\"",
        "null",
        "[",
        "]",
        "1e999",
        "\"id\":\"e\"",
        "{\"seq\":8,\"type\":\"x\",\"payload\":{}}",
    ]);
    prop_oneof![
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    /// Any bytes are one event that every strict parser reads, and nothing is lost without a word.
    #[test]
    fn any_bytes_become_an_event(data in bytes()) {
        let read = one(Some("8"), &data);
        prop_assert_eq!(read.event.id.as_str(), "8");
        let payload = serde_json::to_string(&read.event.payload).unwrap();
        prop_assert!(serde_json::from_str::<Map<String, Value>>(&payload).is_ok(), "{}", payload);
        if read.event.kind == "unknown" && !read.event.repaired {
            let raw = read.event.payload.get("raw").and_then(Value::as_str);
            prop_assert_eq!(raw, Some(str::from_utf8(&data).unwrap()));
        }
    }
}

#[test]
fn an_envelope_that_is_read_in_one_go_says_what_it_says_field_by_field() {
    let plain = [
        r#"{"id":"a","seq":3,"type":"turn_start","session_id":"s","turn":1,"timestamp":5,"timestamp_ms":6,"payload":{}}"#,
        r#"{"type":"x","payload":{"text":"\u00e9 \ud83d\ude00","n":[1.5,{"a":null}]},"seq":null,"more":{"type":"y"}}"#,
        r#" { "payload" : { } , "type" : "x" , "timestamp" : 5 , "stable_cursor" : "9" , "input_id" : "i" , "turn_id" : "t" } "#,
    ];
    for text in plain {
        let at_once = PlainField::decoded("7", text).expect(text);
        assert_eq!(at_once, FrameFields::read(text).expect(text).decoded("7", text, false), "{text}");
    }
    let other = [
        r#"{"type":"x","payload":{"n":1e999}}"#,
        r#"{"type":"x","payload":{"t":"\ud83d"}}"#,
        r#"{"type":"x","payload":[]}"#,
        r#"{"type":"","payload":{}}"#,
        r#"{"type":"x","type":"y","payload":{}}"#,
        r#"{"type":"x","seq":1.5,"payload":{}}"#,
        r#"{"type":"x\u0041","payload":{}}"#,
        r#"{"type":"x"}"#,
    ];
    for text in other {
        assert!(PlainField::decoded("7", text).is_none(), "{text}");
    }
}
