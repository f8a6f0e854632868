//! Every `bb/*` message the server sends, against the schemas it ships (R000-60).
//!
//! Owns a strict copy of `schemas/`: what clients must tolerate (unknown fields), we must not send (ruling 2), so objects
//! with named properties are closed here. Free maps stay free.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// What a request of ours asked.
pub struct Asked {
    method: String,
    /// The method inside of a `bb/rpc` envelope.
    inside: Option<String>,
}

impl Asked {
    /// Of this request.
    pub fn new(method: &str, params: &Value) -> Self {
        let inside = (method == "bb/rpc")
            .then(|| params.get("method").and_then(Value::as_str))
            .flatten()
            .map(|name| name.replace('.', "/"));
        Self { method: method.to_owned(), inside }
    }
}

/// Fails the story when a message breaks the contract. `asked` is what an answer answers.
pub fn check(message: &Value, asked: Option<&Asked>) {
    if let Some(method) = message.get("method").and_then(Value::as_str) {
        if method.starts_with("bb/") && message.get("id").is_none() {
            fits(method, "params", &message["params"], message);
        }
        return;
    }
    let Some(asked) = asked.filter(|asked| asked.method.starts_with("bb/")) else { return };
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => {
            if !known(&asked.method) {
                panic!("a method without a schema was answered: {message:#}");
            }
            fits(&asked.method, "result", result, message);
            if let (Some(inside), Some(inner)) = (&asked.inside, result.get("result")) {
                assert_eq!(result["ok"], true, "a refusal with a result: {message:#}");
                assert!(result.get("error").is_none(), "both a result and an error: {message:#}");
                fits(inside, "result", inner, message);
            }
            if let (Some(_), Some(error)) = (&asked.inside, result.get("error")) {
                assert_eq!(result["ok"], false, "a success with an error: {message:#}");
                assert!(CODES.iter().any(|(code, _)| error["code"] == *code), "an unknown code: {message:#}");
            }
        }
        (None, Some(error)) => refusal(error, message),
        _ => panic!("an answer has either a result or an error: {message:#}"),
    }
}

/// The closed list of codes with their JSON-RPC numbers.
const CODES: &[(&str, i64)] = &[
    ("invalid_params", -32_602),
    ("unknown_method", -32_601),
    ("internal", -32_603),
    ("cancelled", -32_800),
    ("unknown_session", -32_803),
    ("unknown_tab", -32_803),
    ("unknown_request", -32_803),
    ("untrusted_workspace", -32_803),
    ("path_outside_workspace", -32_803),
    ("not_found", -32_803),
    ("not_text", -32_803),
    ("too_large", -32_803),
    ("conflict", -32_803),
    ("unsupported", -32_803),
    ("overloaded", -32_803),
    ("engine_unreachable", -32_803),
    ("engine_unauthorized", -32_803),
    ("engine_rejected", -32_803),
    ("agent_exited", -32_803),
];

fn refusal(error: &Value, message: &Value) {
    // Refusals of JSON-RPC itself carry no code of ours.
    if matches!(error["code"].as_i64(), Some(-32_700 | -32_600 | -32_002)) {
        return;
    }
    let named = CODES.iter().find(|(code, _)| error["data"]["code"] == *code);
    let Some((_, number)) = named else { panic!("an unknown code: {message:#}") };
    assert_eq!(error["code"], *number, "the number does not belong to the code: {message:#}");
    assert!(error["message"].as_str().is_some_and(|text| text.len() > 10), "no sentence: {message:#}");
}

fn known(method: &str) -> bool {
    validators().contains_key(&key(method, "result"))
}

fn fits(method: &str, part: &str, value: &Value, message: &Value) {
    let Some(validator) = validators().get(&key(method, part)) else {
        panic!("`{method}` has no schema of its {part}: {message:#}");
    };
    let wrong: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{} at `{}`", error, error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "`{method}` breaks its schema: {wrong:#?}\nin {message:#}");
}

fn key(method: &str, part: &str) -> String {
    format!("{method} {part}")
}

fn validators() -> &'static BTreeMap<String, Validator> {
    static VALIDATORS: OnceLock<BTreeMap<String, Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        let mut validators = BTreeMap::new();
        for file in std::fs::read_dir(folder).expect("the schemas") {
            let path = file.expect("a schema").path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let Some(method) = name.strip_prefix("bb.").and_then(|name| name.strip_suffix(".json")) else {
                continue;
            };
            let text = std::fs::read_to_string(&path).expect("a schema");
            let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
            for part in ["params", "result"] {
                let Some(of_part) = schema.pointer(&format!("/properties/{part}")) else { continue };
                let mut whole = of_part.clone();
                close(&mut whole, false);
                let mut defs = schema.get("$defs").cloned().unwrap_or(json!({}));
                for def in defs.as_object_mut().expect("an object").values_mut() {
                    close(def, false);
                }
                if let Some(whole) = whole.as_object_mut() {
                    whole.insert("$schema".to_owned(), schema["$schema"].clone());
                    whole.insert("$defs".to_owned(), defs);
                }
                let validator = jsonschema::validator_for(&whole)
                    .unwrap_or_else(|error| panic!("{name} is no schema: {error}"));
                validators.insert(key(&format!("bb/{}", method.replace('.', "/")), part), validator);
            }
        }
        validators
    })
}

/// Closes every object that names its properties. Alternatives beside properties of their own are one object, which is
/// closed as a whole.
fn close(schema: &mut Value, inside_of_an_object: bool) {
    let Value::Object(schema) = schema else { return };
    let names = schema.contains_key("properties");
    let open = !schema.contains_key("additionalProperties");
    if names && open && !inside_of_an_object {
        schema.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        for one in schema.get_mut(word).and_then(Value::as_array_mut).into_iter().flatten() {
            close(one, names || inside_of_an_object);
        }
    }
    for word in ["items", "additionalProperties"] {
        if let Some(one) = schema.get_mut(word) {
            close(one, false);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for one in properties.into_iter().flat_map(Map::values_mut) {
        close(one, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(method: &str, part: &str, value: &Value) -> bool {
        !validators()[&key(method, part)].is_valid(value)
    }

    #[test]
    fn r000_60_the_strict_copy_refuses_what_is_missing_wrong_or_too_much() {
        let session = |extra: &str| json!({ "sessions": [{ "sessionId": "s", extra: "t" }] });
        assert!(!wrong("bb/state", "params", &session("title")));
        assert!(wrong("bb/state", "params", &session("headline")));
        assert!(wrong("bb/state", "params", &json!({})));
        assert!(wrong("bb/state", "params", &json!({ "sessions": [], "running": 1 })));
        let change = |block: Value| {
            json!({ "sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1,
            "changes": [{ "lane": "chat", "op": "put", "id": "b", "block": block }] })
        };
        let good = json!({ "id": "b", "seq": 1, "kind": "user", "text": "t" });
        assert!(!wrong("bb/view", "params", &change(good.clone())));
        let mut extra = good;
        extra["markup"] = json!("x");
        assert!(wrong("bb/view", "params", &change(extra)));
    }
}
