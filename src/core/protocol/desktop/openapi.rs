//! The OpenAPI document of a desktop host.
//!
//! Owns how the table of routes becomes the document. Never writes a file.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::PROTOCOL_VERSION;
use super::refusal::{RefusalBody, RefusalCode};
use super::route::{EVERY_ROUTE, RouteRow, routes};

/// The OpenAPI document, version 3.1.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let refusal = generator.subschema_for::<RefusalBody>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for row in routes() {
        let operation = operation(&row, &refusal, &mut generator);
        let path = paths.entry(row.path.to_owned()).or_insert_with(|| json!({}));
        path[row.method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "breadboard-ls desktop host",
            "version": PROTOCOL_VERSION,
            "description": "The routes of `breadboard-ls engine`. The socket of a session, `GET /v1/sessions/{session_id}/stream`, \
                            speaks the messages of the schemas beside this document.",
        },
        "servers": [{ "url": "http://127.0.0.1:3199" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(row: &RouteRow, refusal: &Value, generator: &mut SchemaGenerator) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    match row.answers {
        Some(answers) => {
            let schema = answers(generator).to_value();
            responses.insert("200".to_owned(), answer("The answer.", &schema));
        }
        None if row.refusals.contains(&RefusalCode::Unsupported) => {}
        None => drop(responses.insert("200".to_owned(), json!({ "description": "The document." }))),
    }
    let mut codes: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for code in EVERY_ROUTE.iter().chain(row.refusals) {
        let name = serde_json::to_value(code).unwrap_or_default();
        codes.entry(code.status()).or_default().push(name.as_str().unwrap_or_default().to_owned());
    }
    for (status, names) in codes {
        responses.insert(status.to_string(), answer(&names.join(", "), refusal));
    }
    let places = row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let placed = places.map(|name| (name, "path", true));
    let asked = row.query.iter().map(|name| (*name, "query", false));
    let parameters: Vec<Value> = placed
        .chain(asked)
        .map(|(name, place, required)| {
            let schema = match name {
                "limit" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
                _ => json!({ "type": "string" }),
            };
            json!({ "name": name, "in": place, "required": required, "schema": schema })
        })
        .collect();
    let mut operation = json!({ "summary": row.summary, "parameters": parameters, "responses": responses });
    if let Some(takes) = row.takes {
        let schema = takes(generator).to_value();
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    operation
}

fn answer(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}
