//! What a user is asked to fill in.
//!
//! Owns its shape and how it is made safe to show. Never checks what was filled in: the engine does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::shown::{Kind, show};

/// A form, or a page to visit, that an engine asks for (ACP elicitation).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputForm {
    /// What the engine says about it.
    pub message: String,
    /// JSON Schema of a flat object, for a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Address to visit, for a page; it is never opened unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl InputForm {
    /// The form as clients see it. Names of fields and values stay: they are given back.
    pub fn shown(mut self) -> Self {
        self.message = show(&self.message, Kind::Lines).into_owned();
        self.url = self.url.map(|url| show(&url, Kind::Code).into_owned());
        if let Some(schema) = &mut self.schema {
            show_descriptions(schema);
        }
        self
    }
}

/// Titles and descriptions of a JSON Schema.
fn show_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if matches!(name.as_str(), "title" | "description") => {
                        *text = show(text, Kind::Lines).into_owned();
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => show_descriptions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
