//! Requests that a machine makes up from the host's own OpenAPI document, good ones and spoilt ones: no answer is one that the
//! document does not say, and none is a fault of ours.
//!
//! `BREADBOARD_OPENAPI_REQUESTS` is how many (1500), `BREADBOARD_SEED` the seed. `scripts/openapi.sh` asks the same of schemathesis.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::Host;
use crate::model::Model;

/// Requests without a word.
const REQUESTS: u64 = 1_500;

/// Levels of made-up values.
const DEPTH: u32 = 4;

struct Operation {
    method: String,
    path: String,
    parameters: Vec<Value>,
    body: Option<Value>,
    responses: Map<String, Value>,
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            operations.push(Operation {
                method: method.clone(),
                path: path.clone(),
                parameters: operation["parameters"].as_array().cloned().unwrap_or_default(),
                body: operation.pointer("/requestBody/content/application~1json/schema").cloned(),
                responses: operation["responses"].as_object().expect("responses").clone(),
            });
        }
    }
    operations
}

/// What makes requests up.
struct Maker<'a> {
    chance: Rng,
    document: &'a Value,
    /// Values that lead somewhere, by the name of their place.
    known: BTreeMap<&'static str, String>,
}

impl Maker<'_> {
    fn word(&mut self) -> String {
        let odd = [
            "",
            " ",
            "../../etc/passwd",
            "\u{202e}x",
            "null",
            "%2e%2e",
            "a\0b",
            "'; drop",
            "😀",
            "-1",
            "[]",
            "**/*",
        ];
        match self.chance.u32(0..3) {
            0 => odd[self.chance.usize(0..odd.len())].to_owned(),
            1 => (0..self.chance.usize(0..40)).map(|_| self.chance.char('!'..'\u{2ff}')).collect(),
            _ => (0..self.chance.usize(1..12)).map(|_| self.chance.lowercase()).collect(),
        }
    }

    /// Anything.
    fn any(&mut self, depth: u32) -> Value {
        match self.chance.u32(0..if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.chance.bool()),
            2 => json!(self.chance.i64(..)),
            3 => json!(self.chance.f64() * 1e300),
            4 => json!(self.word()),
            5 => (0..self.chance.usize(0..4)).map(|_| self.any(depth - 1)).collect(),
            _ => {
                let fields = (0..self.chance.usize(0..4)).map(|_| (self.word(), self.any(depth - 1)));
                Value::Object(fields.collect::<Vec<_>>().into_iter().collect())
            }
        }
    }

    /// Something that a schema asks for; now and then something else.
    fn of(&mut self, schema: &Value, depth: u32) -> Value {
        if self.chance.u32(0..12) == 0 {
            return self.any(2);
        }
        if let Some(to) = schema["$ref"].as_str() {
            let to = to.trim_start_matches('#');
            let to = self.document.pointer(to).expect("a reference leads somewhere").clone();
            return self.of(&to, depth);
        }
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let choice = choices[self.chance.usize(0..choices.len())].clone();
            return self.of(&choice, depth);
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[self.chance.usize(0..words.len())].clone();
        }
        if let Some(word) = schema.get("const") {
            return word.clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.chance.usize(0..kinds.len())].clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("string") => json!(self.word()),
            Some("integer" | "number") => json!(self.chance.i64(-3..1_000)),
            Some("boolean") => json!(self.chance.bool()),
            Some("null") => Value::Null,
            Some("array") if depth > 0 => {
                let items = schema["items"].clone();
                (0..self.chance.usize(0..4)).map(|_| self.of(&items, depth - 1)).collect()
            }
            Some("array") => json!([]),
            Some("object") => {
                let mut made = Map::new();
                let properties = schema["properties"].as_object().cloned().unwrap_or_default();
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                for (name, schema) in properties {
                    let is_required = required.contains(&json!(name));
                    if self.chance.u32(0..20) != 0 && (is_required || self.chance.bool()) {
                        let known =
                            self.known.get(name.as_str()).cloned().filter(|_| self.chance.u32(0..4) != 0);
                        let value =
                            known.map_or_else(|| self.of(&schema, depth.saturating_sub(1)), Value::from);
                        made.insert(name, value);
                    }
                }
                if self.chance.u32(0..10) == 0 {
                    made.insert(self.word(), self.any(1));
                }
                Value::Object(made)
            }
            _ => self.any(2),
        }
    }

    /// The address of an operation, with its places and its query.
    fn address(&mut self, operation: &Operation) -> String {
        let mut path = operation.path.clone();
        let mut query = Vec::new();
        for parameter in &operation.parameters {
            let name = parameter["name"].as_str().expect("a name");
            let known = self.known.get(name).cloned().filter(|_| self.chance.u32(0..3) != 0);
            let value = known.unwrap_or_else(|| match parameter["schema"]["type"].as_str() {
                Some("integer") if self.chance.bool() => self.chance.i64(-2..500).to_string(),
                _ => self.word(),
            });
            let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let value = value.replace('+', "%20");
            if parameter["in"] == "path" {
                // Nothing at all would be another address.
                let value =
                    if value.is_empty() || value.chars().all(|c| c == '.') { "x".to_owned() } else { value };
                path = path.replace(&format!("{{{name}}}"), &value);
            } else if self.chance.bool() {
                query.push(format!("{name}={value}"));
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

#[test]
fn r002_01_no_request_that_the_document_allows_or_forbids_gets_an_answer_that_it_does_not_say() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let document = host.get("/v1/openapi.json");
    let operations = operations(&document);
    let seed = number("BREADBOARD_SEED").unwrap_or(1);
    let count = number("BREADBOARD_OPENAPI_REQUESTS").unwrap_or(REQUESTS);
    println!("seed {seed}, {count} requests");
    let known = BTreeMap::from([("workspace_id", host.workspace_id()), ("session_id", host.session())]);
    let mut maker = Maker { chance: Rng::with_seed(seed), document: &document, known };
    let bearer = host.bearer();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut answers: BTreeMap<u16, u64> = BTreeMap::new();
    for at in 0..count {
        let operation = &operations[maker.chance.usize(0..operations.len())];
        let address = maker.address(operation);
        let body = operation.body.as_ref().map(|schema| match maker.chance.u32(0..16) {
            0 => maker.word(),
            _ => maker.of(schema, DEPTH).to_string(),
        });
        let method = operation.method.to_uppercase();
        let mut request = client
            .request(method.parse().expect("a method"), format!("{}{address}", host.url))
            .header("authorization", if maker.chance.u32(0..30) == 0 { "Bearer wrong" } else { &bearer });
        if let Some(body) = &body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let story =
            || format!("request {at} of seed {seed}: {method} {address} {}", body.as_deref().unwrap_or(""));
        // Whoever asks faster than the host answers is told so, and asks again until it has room.
        let (status, kind, text) = loop {
            let request = request.try_clone().expect("a body that can be sent again");
            let answer = host.runtime.block_on(async {
                let answer = request.send().await.unwrap_or_else(|error| panic!("{}: {error}", story()));
                let kind =
                    answer.headers().get("content-type").map(|kind| kind.to_str().expect("text").to_owned());
                (answer.status().as_u16(), kind, answer.text().await.expect("a body"))
            });
            *answers.entry(answer.0).or_default() += 1;
            if answer.0 != 429 {
                break answer;
            }
            assert!(operation.responses.contains_key("429"), "{}: 429 is not in the document", story());
        };
        // The model of this story cannot be listed, and the document says so of what asks it.
        let asks_the_model = status == 502 && operation.path.starts_with("/v1/models");
        assert!(status < 500 || status == 501 || asks_the_model, "{}: {status} {text}", story());
        let said = operation.responses.get(&status.to_string());
        let said = said.unwrap_or_else(|| panic!("{}: {status} is not in the document: {text}", story()));
        if let Some(schema) = said.pointer("/content/application~1json/schema") {
            assert_eq!(kind.as_deref(), Some("application/json"), "{}", story());
            let mut whole = schema.clone();
            whole["components"] = document["components"].clone();
            let validator = jsonschema::validator_for(&whole).expect("a schema");
            let answer: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", story()));
            let errors: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?} in {answer}", story());
        }
    }
    println!("{answers:?}");
    assert!(answers.get(&200).is_some_and(|good| *good > count / 20), "{answers:?}");
    assert!(answers.contains_key(&422) && answers.contains_key(&404), "{answers:?}");
    let (status, health) = loop {
        let answer = host.ask("get", "/v1/health", None);
        if answer.0 != 429 {
            break answer;
        }
    };
    assert_eq!((status, &health["status"]), (200, &json!("healthy")));
}
