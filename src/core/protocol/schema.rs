//! The contract as JSON Schema files: what `schemas/` holds, made from the same rows as the dispatcher.
//!
//! Owns file names and their shape. Never writes a file: `tests/schemas.rs` does, and fails when they drift.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::contract::rows;
use super::contract_row::{Direction, MethodRow};
use super::desktop::client_message::ClientMessage;
use super::desktop::host_message::HostMessage;
use super::desktop::openapi;
use super::desktop::refusal::RefusalBody;
use super::desktop::route::routes;
use super::envelope::{RpcEvt, RpcReq, RpcRes};
use super::refusals::codes;
use crate::domain::approval::Permission;
use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::event::SessionEvent;
use crate::domain::view::{Block, Change, View};

/// Every schema file by its name below `schemas/`. A method's file describes its params at `#/properties/params` and, for
/// a request, its result at `#/properties/result`.
pub fn files() -> BTreeMap<String, Value> {
    let rows = rows();
    let mut files: BTreeMap<String, Value> =
        rows.iter().map(|row| (file_name(row.method), method_file(row))).collect();
    files.insert("Event.json".to_owned(), noun::<SessionEvent>("Event"));
    files.insert("View.json".to_owned(), noun::<View>("View"));
    files.insert("Block.json".to_owned(), noun::<Block>("Block"));
    files.insert("Change.json".to_owned(), noun::<Change>("Change"));
    files.insert("Permission.json".to_owned(), noun::<Permission>("Permission"));
    files.insert("RpcReq.json".to_owned(), noun::<RpcReq>("RpcReq"));
    files.insert("RpcRes.json".to_owned(), exclusive(noun::<RpcRes>("RpcRes")));
    files.insert("RpcEvt.json".to_owned(), noun::<RpcEvt>("RpcEvt"));
    files.extend(desktop_files());
    files.extend(super::breadboard_schema::files());
    files.insert("meta.json".to_owned(), meta(&rows));
    files
}

/// `bb/queue/list` → `bb.queue.list.json`.
pub fn file_name(method: &str) -> String {
    format!("{}.json", method.replace('/', "."))
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn method_file(row: &MethodRow) -> Value {
    let mut generator = generator();
    let params = (row.params)(&mut generator).to_value();
    let result = row.result.map(|result| result(&mut generator).to_value());
    let needed = params.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
    let mut properties = Map::new();
    properties.insert("params".to_owned(), params);
    if let Some(mut result) = result {
        if row.method == super::method::RPC {
            result = exclusive(result);
        }
        properties.insert("result".to_owned(), result);
    }
    let mut file = head(row.method, row.summary);
    file.insert("direction".to_owned(), direction(row.direction).into());
    file.insert("type".to_owned(), "object".into());
    file.insert("properties".to_owned(), Value::Object(properties));
    if needed {
        file.insert("required".to_owned(), json!(["params"]));
    }
    with_definitions(file, generator)
}

fn noun<T: JsonSchema>(title: &str) -> Value {
    let mut generator = generator();
    let schema = T::json_schema(&mut generator);
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut file = head(title, &description);
    merge(&mut file, schema);
    with_definitions(file, generator)
}

/// What the embedded engine says, and beside it what a desktop host and its clients say over HTTP and WebSocket.
fn desktop_files() -> Vec<(String, Value)> {
    let mut files = message_files::<ServerMessage>("desktop");
    files.extend(message_files::<HostMessage>("desktop/host"));
    files.extend(message_files::<ClientMessage>("desktop/host"));
    files.extend(body_files());
    files.push(("desktop/host/openapi.json".to_owned(), openapi::document()));
    files
}

/// One file a body that a route takes, answers or is refused with.
fn body_files() -> Vec<(String, Value)> {
    let mut generator = generator();
    let mut bodies = vec![generator.subschema_for::<RefusalBody>()];
    for route in routes() {
        bodies.extend([route.takes, route.answers].into_iter().flatten().map(|body| body(&mut generator)));
    }
    let definitions = generator.take_definitions(true);
    let named: BTreeSet<String> = bodies.into_iter().filter_map(|body| named(&body)).collect();
    named
        .into_iter()
        .filter_map(|name| {
            let Value::Object(body) = definitions.get(&name)?.clone() else { return None };
            let description = body.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut file = head(&name, &description);
            for (key, value) in body {
                file.entry(key).or_insert(value);
            }
            Some((format!("desktop/host/{name}.json"), defined(file, &definitions)))
        })
        .collect()
}

/// The type of a body, or of the items of a list.
fn named(body: &Schema) -> Option<String> {
    let items = body.get("items");
    let reference = body.get("$ref").or_else(|| items?.get("$ref"))?;
    reference.as_str()?.strip_prefix("#/$defs/").map(str::to_owned)
}

/// One file a message of an enumeration whose members are told apart by their `type`.
fn message_files<T: JsonSchema>(folder: &str) -> Vec<(String, Value)> {
    let mut generator = generator();
    let schema = T::json_schema(&mut generator).to_value();
    let definitions = generator.take_definitions(true);
    let messages = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    messages
        .into_iter()
        .filter_map(|message| {
            let kind = message.pointer("/properties/type/const")?.as_str()?.to_owned();
            let description =
                message.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut file = head(&kind, &description);
            if let Value::Object(message) = message {
                file.extend(message);
            }
            Some((format!("{folder}/{kind}.json"), defined(file, &definitions)))
        })
        .collect()
}

/// A list of all methods: direction, since when, how stable, where their schemas are.
fn meta(rows: &[MethodRow]) -> Value {
    let methods: Vec<Value> = rows
        .iter()
        .map(|row| {
            let file = file_name(row.method);
            let mut entry = json!({
                "method": row.method,
                "direction": direction(row.direction),
                "since": "1.0",
                "stability": "stable",
                "params": format!("{file}#/properties/params"),
            });
            if row.result.is_some() {
                entry["result"] = format!("{file}#/properties/result").into();
            }
            let errors = codes(row.refusals);
            if !errors.is_empty() {
                entry["errors"] = json!(errors);
            }
            entry
        })
        .collect();
    json!({ "v": super::version::WIRE_VERSION, "methods": methods })
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Request => "request, editor to server",
        Direction::ToServer => "notification, editor to server",
        Direction::Asks => "request, server to editor",
        Direction::ToEditor => "notification, server to editor",
        Direction::Document => "settings",
    }
}

fn head(title: &str, description: &str) -> Map<String, Value> {
    let mut file = Map::new();
    file.insert("$schema".to_owned(), super::breadboard_schema::DIALECT.into());
    file.insert("title".to_owned(), title.into());
    file.insert("description".to_owned(), description.into());
    file
}

fn merge(file: &mut Map<String, Value>, schema: Schema) {
    if let Value::Object(schema) = schema.to_value() {
        for (name, value) in schema {
            file.entry(name).or_insert(value);
        }
    }
}

/// R000-17, which the type cannot say: `ok: true` carries no error, `ok: false` an error and no result.
fn exclusive(mut response: Value) -> Value {
    response["oneOf"] = json!([
        { "properties": { "ok": { "const": true } }, "not": { "required": ["error"] } },
        { "properties": { "ok": { "const": false } }, "required": ["error"], "not": { "required": ["result"] } },
    ]);
    response
}

fn with_definitions(file: Map<String, Value>, mut generator: SchemaGenerator) -> Value {
    let definitions = generator.take_definitions(true);
    defined(file, &definitions)
}

/// The file with those definitions that it reaches.
fn defined(mut file: Map<String, Value>, definitions: &Map<String, Value>) -> Value {
    let mut reached: BTreeMap<String, Value> = BTreeMap::new();
    let mut open = vec![Value::Object(file.clone())];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                let target =
                    map.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix("#/$defs/"));
                if let Some(name) = target
                    && !reached.contains_key(name)
                    && let Some(definition) = definitions.get(name)
                {
                    reached.insert(name.to_owned(), definition.clone());
                    open.push(definition.clone());
                }
                open.extend(map.into_iter().map(|(_, value)| value));
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if !reached.is_empty() {
        file.insert("$defs".to_owned(), Value::Object(reached.into_iter().collect()));
    }
    let mut file = Value::Object(file);
    tidy(&mut file);
    file
}

/// Says the bound of 64-bit numbers, and makes one line of each description, without our requirement numbers.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("format").and_then(Value::as_str) == Some("uint64") {
                map.entry("maximum").or_insert(u64::MAX.into());
            }
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = without_requirements(&text.replace('\n', " "));
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Cuts every ` (R000-01 …)`.
fn without_requirements(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(at) = rest.find(" (R0") {
        let Some(length) = rest[at..].find(')') else { break };
        clean.push_str(&rest[..at]);
        rest = &rest[at + length + 1..];
    }
    clean.push_str(rest);
    clean
}
