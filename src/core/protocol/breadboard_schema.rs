//! The BreadBoard engine's events as JSON Schema files, from the table of their shapes.
//!
//! Owns how a shape is written as a schema. Lenient as the readers are: more fields are allowed everywhere, and a field that
//! is there may be null. Never a fact of its own.

use serde_json::{Map, Value, json};

pub(super) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

use crate::domain::dialect::breadboard::schema::{ENVELOPE, Field, Holds, SHAPES, Shape};

/// Each file by its name below `schemas/`: the envelope, and one payload a type.
pub(super) fn files() -> Vec<(String, Value)> {
    let payloads = SHAPES.iter().map(|shape| (file_name(shape.kind), payload(shape)));
    std::iter::once(("breadboard/envelope.json".to_owned(), envelope())).chain(payloads).collect()
}

/// `tool.result` → `breadboard/tool.result.json`.
pub(super) fn file_name(kind: &str) -> String {
    format!("breadboard/{kind}.json")
}

fn envelope() -> Value {
    let mut file = head(
        "envelope",
        "One event of the stream of a BreadBoard engine, as it stands in `data`. The payload of each type has a file of its own.",
    );
    let mut properties = Map::new();
    properties.insert(
        "type".to_owned(),
        json!({ "type": "string", "minLength": 1, "description": "The type. One without a file here is kept as `unknown_event`." }),
    );
    properties.insert("payload".to_owned(), json!({ "type": "object", "description": "What it says." }));
    if let Value::Object(more) = fields(ENVELOPE) {
        properties.extend(more);
    }
    file.insert("properties".to_owned(), Value::Object(properties));
    file.insert("required".to_owned(), json!(["type", "payload"]));
    Value::Object(file)
}

fn payload(shape: &Shape) -> Value {
    let mut file = head(shape.kind, shape.says);
    if !shape.fields.is_empty() {
        file.insert("properties".to_owned(), fields(shape.fields));
    }
    if !shape.one_of.is_empty() {
        let any = shape.one_of.iter().map(|name| there(name)).collect();
        file.insert("anyOf".to_owned(), Value::Array(any));
    }
    Value::Object(file)
}

/// The field is there and says something.
fn there(name: &str) -> Value {
    json!({ "required": [name], "properties": { name: { "not": { "type": "null" } } } })
}

fn fields(fields: &[Field]) -> Value {
    let schemas = fields.iter().map(|field| {
        let mut schema = holds(field.holds);
        schema.insert("description".to_owned(), field.says.into());
        (field.name.to_owned(), Value::Object(schema))
    });
    Value::Object(schemas.collect())
}

fn holds(holds: Holds) -> Map<String, Value> {
    let of = |kinds: Value| Map::from_iter([("type".to_owned(), kinds)]);
    match holds {
        Holds::Text => of(json!(["string", "null"])),
        Holds::Count => of(json!(["integer", "null"])),
        Holds::Number => of(json!(["number", "null"])),
        Holds::Flag => of(json!(["boolean", "null"])),
        Holds::Words => of(json!(["string", "object", "array", "null"])),
        Holds::Command => {
            let mut schema = of(json!(["string", "array", "null"]));
            schema.insert("items".to_owned(), json!({ "type": "string" }));
            schema
        }
        Holds::FlagOrText => of(json!(["boolean", "string", "null"])),
        Holds::Fields(inner) => {
            let mut schema = of(json!(["object", "null"]));
            schema.insert("properties".to_owned(), fields(inner));
            schema
        }
        Holds::List(inner) => {
            let mut schema = of(json!(["array", "null"]));
            schema.insert("items".to_owned(), json!({ "type": "object", "properties": fields(inner) }));
            schema
        }
        Holds::Map => of(json!(["object", "null"])),
        Holds::Anything => Map::new(),
    }
}

fn head(title: &str, description: &str) -> Map<String, Value> {
    Map::from_iter([
        ("$schema".to_owned(), DIALECT.into()),
        ("title".to_owned(), title.into()),
        ("description".to_owned(), description.into()),
        ("type".to_owned(), "object".into()),
    ])
}
