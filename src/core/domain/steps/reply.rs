//! What a model said in one reply, whole: text, reasoning, calls.
//!
//! Owns the form in which a reply goes back to its model, in this process or after a restart. Never translates it: the models'
//! protocols do.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call of a tool by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Pairs the result with the call.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments; a string when they are no JSON.
    pub arguments: Value,
}

impl Call {
    /// The arguments as JSON text, an empty object where there are none.
    pub fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::Null => "{}".to_owned(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.arguments.to_string()
            }
        }
    }

    /// The arguments as an object; an empty one where they are none, for providers that take nothing else.
    pub fn arguments_object(&self) -> Value {
        match &self.arguments {
            Value::Object(_) => self.arguments.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Value::Object(serde_json::Map::new())
            }
        }
    }
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Text, with the signature that must go back with it.
    Text {
        /// The text.
        text: String,
        /// The provider's signature.
        signature: Option<String>,
    },
    /// Reasoning, with the signature without which the provider does not take it back.
    Thinking {
        /// The reasoning, or nothing where the provider keeps it to itself.
        text: String,
        /// The provider's signature, or the encrypted reasoning.
        signature: Option<String>,
    },
    /// Reasoning that only the provider can read.
    Redacted {
        /// As it came.
        data: String,
    },
    /// A call.
    Call(SpokenCall),
}

impl Part {
    /// Bytes that it holds, about as the limits on a reply count them.
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Text { text, signature } | Self::Thinking { text, signature } => {
                text.len() + length(signature)
            }
            Self::Redacted { data } => data.len(),
            Self::Call(SpokenCall { call, provider_id, signature }) => {
                call.name.len() + call.arguments_text().len() + length(provider_id) + length(signature)
            }
        }
    }
}

/// A call as the provider wants to see it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpokenCall {
    /// The call.
    pub call: Call,
    /// The id that the provider gave it; `None` where its id is our own.
    pub provider_id: Option<String>,
    /// What must go back with it.
    pub signature: Option<String>,
}
