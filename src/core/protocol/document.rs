//! PROTOCOL.md, made from the same rows and descriptions as `schemas/`.
//!
//! Owns the layout. Never says a fact of its own: what is written by hand stands in `introduction.md` and
//! `transcript.md`. `tests/schemas.rs` writes the file and fails when it drifts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::breadboard_schema;
use super::contract::rows;
use super::contract_row::Direction;
use super::error::number;
use super::refusals::{ANY, codes};
use super::schema::{file_name, files};
use crate::domain::coded_error::ErrorCode;
use crate::domain::dialect::acp::commands::COMMANDS;
use crate::domain::dialect::breadboard;
use crate::domain::dialect::breadboard::schema::{SHAPES, SentBy};
use crate::domain::tabs::{BYTES, MESSAGES, TABS};

/// The whole document.
pub fn document() -> String {
    let files = files();
    let mut types: BTreeMap<String, Value> = BTreeMap::new();
    let mut text = introduction();
    for (heading, direction) in [
        ("Requests, editor to server", Direction::Request),
        ("Notifications, editor to server", Direction::ToServer),
        ("Requests, server to editor", Direction::Asks),
        ("Notifications, server to editor", Direction::ToEditor),
        ("Settings", Direction::Document),
    ] {
        text.push_str(&format!("\n## {heading}\n"));
        for row in rows().iter().filter(|row| row.direction == direction) {
            let file = file_name(row.method);
            let Some(schema) = files.get(&file) else { continue };
            if let Some(Value::Object(definitions)) = schema.get("$defs") {
                types.extend(definitions.clone());
            }
            text.push_str(&format!("\n### `{}`\n\n{} [Schema](schemas/{file}).\n", row.method, row.summary));
            let params = schema.pointer("/properties/params");
            let name = if direction == Direction::Document { "Fields" } else { "Params" };
            section(&mut text, name, params);
            if row.result.is_some() {
                section(&mut text, "Result", schema.pointer("/properties/result"));
            }
            let errors: Vec<String> =
                codes(row.refusals).iter().map(|code| format!("`{}`", code.as_str())).collect();
            if !errors.is_empty() {
                text.push_str(&format!("\nErrors: {}.\n", errors.join(", ")));
            }
        }
    }
    text.push_str("\n## Types\n");
    for (name, schema) in &types {
        text.push_str(&format!("\n### {name}\n\n{}\n", description(schema)));
        shape(&mut text, schema);
    }
    errors(&mut text);
    dialect(&mut text, &files);
    breadboard(&mut text);
    text.push_str("\n## A worked transcript\n\n");
    text.push_str(include_str!("transcript.md"));
    text
}

/// What is written by hand, with the numbers and the names that stand in the code.
fn introduction() -> String {
    let commands = COMMANDS.iter().map(|command| {
        let args = command.args.iter().map(|(name, meaning)| format!("`{name}`: {meaning}"));
        let args = args.collect::<Vec<_>>().join("; ");
        let args = if args.is_empty() { "none".to_owned() } else { args };
        format!("| `{}` | {args} | {} |", command.name, command.summary)
    });
    include_str!("introduction.md")
        .replace("{commands}", &commands.collect::<Vec<_>>().join("\n"))
        .replace("{messages}", &MESSAGES.to_string())
        .replace("{mebibytes}", &(BYTES >> 20).to_string())
        .replace("{tabs}", &TABS.to_string())
}

fn section(text: &mut String, name: &str, schema: Option<&Value>) {
    let Some(schema) = schema else { return };
    let none = schema.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty)
        && ["$ref", "oneOf", "anyOf"].iter().all(|choice| schema.get(*choice).is_none());
    if none {
        text.push_str(&format!("\n{name}: none.\n"));
        return;
    }
    let said = description(schema);
    // "Params of `bb/x`." repeats the headings.
    let repeats = said.starts_with("Params of ") || said.starts_with("Result of ");
    let said = if repeats { said.split_once(". ").map_or("", |(_, more)| more) } else { &said };
    let either = schema.get("anyOf").map(|_| match one_of(schema) {
        Some(names) => format!("{said} Needs {names}.").trim_start().to_owned(),
        None => format!("{said} {}.", kind(schema)).trim_start().to_owned(),
    });
    let said = either.as_deref().unwrap_or(said);
    text.push_str(&format!("\n{}\n", format!("{name}: {said}").trim_end()));
    shape(text, schema);
}

/// The fields of an object, the words of a list of words, the variants of a tagged object.
fn shape(text: &mut String, schema: &Value) {
    fields(text, schema);
    let variants = schema.get("oneOf").and_then(Value::as_array);
    let words: Vec<(String, String)> = match (variants, schema.get("enum").and_then(Value::as_array)) {
        (Some(variants), _) => variants.iter().flat_map(words).collect(),
        (None, Some(values)) => values.iter().map(|value| (value.to_string(), String::new())).collect(),
        (None, None) => Vec::new(),
    };
    if !words.is_empty() {
        text.push_str("\n| value | meaning |\n|---|---|\n");
        for (word, meaning) in words {
            text.push_str(&format!("| `{word}` | {} |\n", cell(&meaning)));
        }
    }
    for variant in variants.into_iter().flatten() {
        let Some((tag, word)) = tag(variant) else { continue };
        text.push_str(&format!("\n**`{tag}: \"{word}\"`**: {}\n", description(variant)));
        fields(text, &without(variant, tag));
    }
}

fn fields(text: &mut String, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|map| !map.is_empty())
    else {
        return;
    };
    let required = schema.get("required").and_then(Value::as_array);
    text.push_str("\n| field | type | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let needed = required.is_some_and(|names| names.iter().any(|needed| needed == name));
        let mark = if needed { "" } else { "?" };
        text.push_str(&format!(
            "| `{name}{mark}` | {} | {} |\n",
            kind(property),
            cell(&description(property))
        ));
    }
}

/// The fields of which one must be there, where the variants of an object differ in nothing else.
fn one_of(schema: &Value) -> Option<String> {
    let names = schema.get("anyOf")?.as_array()?.iter().map(|variant| {
        let names: Vec<&str> =
            variant.get("required")?.as_array()?.iter().filter_map(Value::as_str).collect();
        Some(names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "))
    });
    Some(names.collect::<Option<Vec<String>>>()?.join(" or "))
}

/// A type in few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix("#/$defs/"))
    {
        return format!("[**{name}**](#{})", name.to_lowercase());
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(choice).and_then(Value::as_array) {
            let mut names: Vec<String> = options.iter().map(kind).filter(|name| name != "null").collect();
            names.dedup();
            return names.join(" or ");
        }
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    match names.as_slice() {
        ["array"] => format!("list of {}", schema.get("items").map_or_else(|| "any JSON".to_owned(), kind)),
        ["object"] => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("map to {}", kind(values)),
            Some(_) | None => "object".to_owned(),
        },
        [] => "any JSON".to_owned(),
        names => names.join(" or "),
    }
}

/// The words that a variant of an enumeration stands for.
fn words(variant: &Value) -> Vec<(String, String)> {
    if let Some(word) = variant.get("const").and_then(Value::as_str) {
        return vec![(word.to_owned(), description(variant))];
    }
    let values = variant.get("enum").and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(|word| (word.to_owned(), String::new())).collect()
}

/// Name and value of the field that tells a variant from the others.
fn tag(variant: &Value) -> Option<(&str, &str)> {
    let properties = variant.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, property)| Some((name.as_str(), property.get("const")?.as_str()?)))
}

fn without(variant: &Value, field: &str) -> Value {
    let mut rest = variant.clone();
    if let Some(Value::Object(properties)) = rest.get_mut("properties") {
        properties.shift_remove(field);
    }
    rest
}

fn errors(text: &mut String) {
    let any: Vec<String> = ANY.iter().map(|code| format!("`{}`", code.as_str())).collect();
    text.push_str(&format!(
        "\n## Errors\n\nThe message says what happened and what to do next; a program relies on `data.code`, and in an \
         envelope on `error.code`. A request is refused with the codes that stand under its name, and any request with {}.\n\n\
         | `code` | number | meaning |\n|---|---|---|\n",
        any.join(", ")
    ));
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schema = ErrorCode::json_schema(&mut generator).to_value();
    for variant in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        let word = variant.get("const").cloned().unwrap_or_default();
        let meaning = description(variant);
        // The number has a column of its own.
        let meaning = meaning.split("; `-").next().unwrap_or_default().trim_end_matches('.');
        if let Ok(code) = serde_json::from_value::<ErrorCode>(word) {
            text.push_str(&format!("| `{}` | {} | {}. |\n", code.as_str(), number(code), cell(meaning)));
        }
    }
}

fn dialect(text: &mut String, files: &BTreeMap<String, Value>) {
    text.push_str(
        "\n## Events of the embedded and the desktop engine\n\n`type` of the event and what it says; `payload` is the message \
         without `type`.\n\n| `type` | meaning |\n|---|---|\n",
    );
    for (name, file) in files.iter().filter(|(name, _)| name.starts_with("desktop/")) {
        let kind = file.get("title").and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("| [`{kind}`](schemas/{name}) | {} |\n", cell(&description(file))));
    }
}

/// Types of the BreadBoard engine with what becomes of them, from the table of its dialect.
fn breadboard(text: &mut String) {
    text.push_str(
        "\n## Events of the BreadBoard engine\n\n`type` of the event, the `class` and the panes that it gets, and what it says; \
         `payload` is the engine's own. `.` and `_` in a type mean the same. The schemas name what this server reads: an engine \
         may send more, and what does not fit is still passed on. Around each stands the \
         [envelope](schemas/breadboard/envelope.json). Any other type becomes `unknown_event` in `debug`.\n\n\
         | `type` | `class` | panes | meaning |\n|---|---|---|---|\n",
    );
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    for shape in SHAPES {
        let (class, panes) = breadboard::row(shape.kind);
        let panes: Vec<String> = panes.iter().map(|pane| format!("`{}`", word(json!(pane)))).collect();
        let from = match shape.from {
            SentBy::Engine => "",
            SentBy::Alias => " Another name that recordings have.",
            SentBy::Newer => " Newer engines only.",
        };
        text.push_str(&format!(
            "| [`{}`](schemas/{}) | `{}` | {} | {}{from} |\n",
            shape.kind,
            breadboard_schema::file_name(shape.kind),
            word(json!(class)),
            panes.join(", "),
            cell(shape.says),
        ));
    }
}

fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
