//! Strict JSON stays as it is, what Python writes becomes strict, and nothing else counts as JSON.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn repaired(text: &str) -> Option<String> {
    repair(text.as_bytes())
}

fn becomes(text: &str, expected: &str) {
    assert_eq!(repaired(text).as_deref(), Some(expected), "{text}");
}

#[test]
fn non_finite_numbers_become_null() {
    becomes(
        r#"{"a":NaN,"b":[Infinity,-Infinity , 1e999,-1E+400],"c":{"d":NaN}}"#,
        r#"{"a":null,"b":[null,null , null,null],"c":{"d":null}}"#,
    );
    becomes("NaN", "null");
    // A number need not have an exponent to be too large; one that fits stays, digit for digit.
    becomes(&format!("[{}]", "9".repeat(400)), "[null]");
    let long = format!("[0.{},{},1.7e308,123456789012345678901234567890]", "1".repeat(400), "1".repeat(305));
    becomes(&long, &long);
    assert!(is_strict(&long));
    assert!(!is_strict("[1e999]"), "the grammar allows it, no f64 holds it");
}

#[test]
fn words_within_strings_and_keys_are_text() {
    for text in [
        r#"{"NaN":"NaN, Infinity and -Infinity","a \" NaN":"\\","b":"\\\"NaN"}"#,
        r#"["1e999","[[[[","\\ud83d","\\\\ud83d"]"#,
    ] {
        becomes(text, text);
        assert!(is_strict(text), "{text}");
    }
    becomes(r#"["NaN",NaN,"\"NaN",NaN]"#, r#"["NaN",null,"\"NaN",null]"#);
}

#[test]
fn lone_surrogates_become_the_replacement_character() {
    for (text, expected) in [
        (r#""\ud83d""#, r#""\ufffd""#),
        (r#""\uD83D x \uDE00""#, r#""\ufffd x \ufffd""#),
        (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
        (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        (r#""\ud83d\n\u0041""#, r#""\ufffd\n\u0041""#),
        (r#"{"\ud800":1}"#, r#"{"\ufffd":1}"#),
        (r#"["\udbff","\udfff"]"#, r#"["\ufffd","\ufffd"]"#),
        (r#""\\\ud83d""#, r#""\\\ufffd""#),
    ] {
        becomes(text, expected);
        assert!(!is_strict(text), "{text}");
    }
    for whole in [r#""\ud83d\ude00\u00e9""#, r#""\ud7ff\ue000""#, r#""\\ud83d""#] {
        becomes(whole, whole);
        assert!(is_strict(whole), "{whole}");
    }
}

#[test]
fn broken_utf_8_becomes_the_replacement_character() {
    assert_eq!(repair(b"{\"a\":\"x\xFFy\xF0\x9F\"}").as_deref(), Some("{\"a\":\"x\u{fffd}y\u{fffd}\"}"));
    assert_eq!(repair(b"{\"a\":1}\xFF"), None, "outside a string it is no JSON");
}

#[test]
fn what_is_no_json_stays_none() {
    for text in [
        "",
        " ",
        "{",
        "hello",
        "{'a':1}",
        "{\"a\":1,}",
        "[1 NaN]",
        "[NaNs]",
        "[-NaN]",
        "[xNaN]",
        "[+Infinity]",
        "[Infinity1]",
        "[nan]",
        "{NaN:1}",
        "[1.2.3e5]",
        "[1e999e9]",
        "[01e999]",
        "\"\\ud83",
        "\"\\u+123\"",
        "\"\\x\"",
        "\"\\",
        "\"\n\"",
        "[1][2]",
        "\u{feff}{}",
    ] {
        assert_eq!(repaired(text), None, "{text:?}");
    }
}

#[test]
fn nesting_is_bounded_and_costs_no_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for text in [nested(MAX_DEPTH), format!("[{}]", vec![nested(MAX_DEPTH - 1); 3].join(","))] {
        assert!(is_strict(&text));
        assert_eq!(repaired(&text).as_deref(), Some(text.as_str()));
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
    for depth in [MAX_DEPTH + 1, 200, 1_000_000] {
        let text = nested(depth);
        assert!(!is_strict(&text));
        assert_eq!(repaired(&text), None);
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH + 1), "}".repeat(MAX_DEPTH + 1));
    assert_eq!(repaired(&objects), None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        prop::sample::select(vec!["NaN", "Infinity", "\\ud83d", "\\", "\"", "[{", "1e999", "😀"])
            .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.7e308..1.7e308).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Like Python: ASCII only, everything else escaped.
fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        8 => prop::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"", "\"a\"", "\"a\":", "1", "-1.5", "1e999", "-2E308", "NaN", "Infinity",
            "-Infinity", "null", "true", " ", "\\", "\\u", "\\ud83d", "\\ude00", "\\n", "\\\\", "\"\\ud83d\"", "é",
            "[1,", "]]", "\"\\ud83d\\ude00\"", "9007199254740993", "-", "e", ".",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

/// An array of texts most of which are JSON by the grammar, strict or not.
fn loose_array() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "1",
        "-0",
        "1e999",
        "1e308",
        "1.8e308",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e-999",
        "123456789e300",
        "0.00001e312",
        "0e999",
        "-1E309",
        "\"\\ud83d\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uDE00\\uD83D\"",
        "\"\\ud83d\\u0041\"",
        "\"x\\\\ud83d\"",
        "\"\\ud83dx\"",
        "{\"\\udfff\":[]}",
        "{}",
        "null",
        "\"e\"",
    ]);
    prop::collection::vec(part, 0..4).prop_map(|parts| format!("[{}]", parts.join(", ")))
}

proptest! {
    #[test]
    fn strict_json_comes_back_as_it_was(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap(), ascii(&value.to_string())] {
            prop_assert!(is_strict(&text), "{}", text);
            prop_assert_eq!(repaired(&text), Some(text));
        }
    }

    #[test]
    fn what_counts_as_json_is_strict(bytes in soup()) {
        if let Some(text) = repair(&bytes) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            prop_assert!(is_strict(&text));
            prop_assert_eq!(repaired(&text), Some(text));
        }
    }

    #[test]
    fn strict_means_what_the_parser_takes(text in loose_array()) {
        prop_assert!(serde_json::from_str::<IgnoredAny>(&text).is_ok());
        prop_assert_eq!(is_strict(&text), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        prop_assert!(repaired(&text).is_some());
    }

    #[test]
    fn numbers_that_are_none_are_nulled_wherever_they_stand(value in any_json(), word in prop::sample::select(
        vec!["NaN", "Infinity", "-Infinity", "1e999"],
    )) {
        let text = format!("{{\"before\":{value},\"it\":{word},\"after\":{value}}}");
        let read: Value = serde_json::from_str(&repaired(&text).unwrap()).unwrap();
        let plain: Value = serde_json::from_str(&value.to_string()).unwrap();
        prop_assert_eq!(read, json!({ "before": plain, "it": null, "after": plain }));
    }
}
