//! Modes and options of a session, as the client chooses them.
//!
//! Owns the shapes, and the option that stands for the model of our own engine. An agent behind us has its own; they go through.

use serde_json::{Map, Value, json};

/// The option for the model of our own engine.
pub const MODEL: &str = "model";

/// The model as an option; `None` where there is nothing to choose from.
pub fn model_option(current: Option<&str>, models: &[(String, String)]) -> Option<Value> {
    let current = current?;
    let mut choices: Vec<Value> =
        models.iter().map(|(id, name)| json!({ "value": id, "name": name })).collect();
    if choices.is_empty() {
        return None;
    }
    if models.iter().all(|(id, _)| id != current) {
        choices.insert(0, json!({ "value": current, "name": current }));
    }
    Some(json!({
        "id": MODEL,
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": current,
        "options": choices,
    }))
}

/// An agent's own options without those that the client cannot show.
pub fn shown(options: Vec<Value>, switches: bool) -> Vec<Value> {
    let fits = |option: &Value| match option.get("type").and_then(Value::as_str) {
        Some("select") => option.get("currentValue").is_some_and(Value::is_string),
        Some("boolean") => switches && option.get("currentValue").is_some_and(Value::is_boolean),
        _ => false,
    };
    options.into_iter().filter(fits).collect()
}

/// What a new or opened session offers.
pub fn offer(modes: Option<Value>, options: Vec<Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(modes) = modes {
        fields.insert("modes".to_owned(), modes);
    }
    if !options.is_empty() {
        fields.insert("configOptions".to_owned(), Value::Array(options));
    }
    fields
}
