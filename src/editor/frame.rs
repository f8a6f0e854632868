//! One JSON-RPC message: what a body says, and how an answer is spelled.
//!
//! Owns the sorting of bodies into requests, notifications and responses, and the shape of errors. Never reads a stream and
//! never handles a message.

use serde_json::{Map, Value, json};

use crate::domain::coded_error::CodedError;
use crate::domain::shown::{Kind, show};
use crate::protocol::error::{data, number};

/// Numbers of JSON-RPC and LSP that no `ErrorCode` stands for.
pub(super) const PARSE_ERROR: i64 = -32700;
/// See `PARSE_ERROR`.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// See `PARSE_ERROR`.
pub(super) const NOT_INITIALIZED: i64 = -32002;

/// Id of a request of the editor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

impl RequestId {
    /// Reads an id; fractions, `null` and everything else are none.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// As it stands in an answer.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

/// A message that keeps the rules.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// To be answered exactly once.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: String,
        /// Its params, `None` when absent or `null`.
        params: Option<Value>,
    },
    /// Not to be answered.
    Notification {
        /// Its method.
        method: String,
        /// Its params, `None` when absent or `null`.
        params: Option<Value>,
    },
    /// The answer to a request of ours.
    Response {
        /// Id of our request.
        id: Value,
        /// Its result, or its error.
        outcome: Result<Value, Value>,
    },
}

/// Something that is no message: answered, never handled.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The id it had, where it had a usable one.
    pub id: Option<RequestId>,
    /// The number of the error.
    pub number: i64,
    /// One sentence.
    pub message: String,
}

impl Refusal {
    /// A refusal without an id.
    pub fn new(number: i64, message: impl Into<String>) -> Self {
        Self { id: None, number, message: message.into() }
    }
}

/// Sorts a body.
pub(super) fn sort(body: &[u8]) -> Result<Message, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| {
        Refusal::new(PARSE_ERROR, "A message was not UTF-8 and was ignored; send JSON in UTF-8.")
    })?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Refusal::new(
            PARSE_ERROR,
            format!("A message was not JSON that can be read and was ignored: {error}."),
        )
    })?;
    let Value::Object(mut message) = value else {
        let what = if value.is_array() {
            "JSON-RPC batches are not part of LSP"
        } else {
            "A message must be an object"
        };
        return Err(Refusal::new(INVALID_REQUEST, format!("{what}; send one message a frame.")));
    };
    let id = message.get("id").and_then(RequestId::read);
    let refuse = |id: Option<RequestId>, text: &str| {
        Err(Refusal { id, number: INVALID_REQUEST, message: text.to_owned() })
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(id, "A message needs `\"jsonrpc\": \"2.0\"`; it was ignored.");
    }
    let Some(method) = message.remove("method") else { return sort_response(message, id) };
    let Value::String(method) = method else {
        return refuse(id, "A `method` must be a string; the message was ignored.");
    };
    let params = message.remove("params").filter(|params| !params.is_null());
    match (message.contains_key("id"), id) {
        (false, _) => Ok(Message::Notification { method, params }),
        (true, Some(id)) => Ok(Message::Request { id, method, params }),
        (true, None) => refuse(None, "A request needs an integer or a string as `id`; it was ignored."),
    }
}

fn sort_response(mut message: Map<String, Value>, id: Option<RequestId>) -> Result<Message, Refusal> {
    let outcome = match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Ok(result),
        // Some clients send `result: null` beside an error.
        (None | Some(Value::Null), Some(error)) if !error.is_null() => Err(error),
        (Some(result), Some(Value::Null)) => Ok(result),
        (None, _) | (Some(_), Some(_)) => {
            return Err(Refusal {
                id,
                number: INVALID_REQUEST,
                message:
                    "A message needs a `method`, or else exactly one of `result` and `error`; it was ignored."
                        .to_owned(),
            });
        }
    };
    match message.remove("id") {
        Some(id) => Ok(Message::Response { id, outcome }),
        None => {
            Err(Refusal::new(INVALID_REQUEST, "An answer needs the `id` of its request; it was ignored."))
        }
    }
}

/// An answer that worked.
pub(super) fn result_message(id: &RequestId, result: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id.to_value(), "result": result }).to_string().into_bytes()
}

/// An answer that says why not; `None` is `id: null`.
pub(super) fn error_message(
    id: Option<&RequestId>,
    number: i64,
    message: &str,
    data: Option<&Value>,
) -> Vec<u8> {
    let mut error = json!({ "code": number, "message": message });
    if let Some(data) = data {
        error["data"] = data.clone();
    }
    let id = id.map_or(Value::Null, RequestId::to_value);
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
}

/// A refusal of the contract as an answer.
pub(super) fn refusal_message(id: &RequestId, error: &CodedError) -> Vec<u8> {
    error_message(Some(id), number(error.code), &error.message, Some(&data(error)))
}

/// A notification.
pub(super) fn notification_message(method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().into_bytes()
}

/// `window/showMessage` with a warning.
pub(super) fn warning_message(text: &str) -> Vec<u8> {
    notification_message("window/showMessage", &json!({ "type": 2, "message": show(text, Kind::Lines) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (i64, Option<RequestId>) {
        let refusal = sort(body.as_bytes()).unwrap_err();
        (refusal.number, refusal.id)
    }

    #[test]
    fn the_three_kinds_are_told_apart() {
        assert_eq!(
            sort(br#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"b":1}}"#),
            Ok(Message::Request {
                id: RequestId::Number(7),
                method: "a".to_owned(),
                params: Some(json!({"b": 1}))
            })
        );
        assert_eq!(
            sort(br#"{"jsonrpc":"2.0","method":"a","params":null}"#),
            Ok(Message::Notification { method: "a".to_owned(), params: None })
        );
        assert_eq!(
            sort(br#"{"jsonrpc":"2.0","id":"x","result":null}"#),
            Ok(Message::Response { id: json!("x"), outcome: Ok(Value::Null) })
        );
        assert_eq!(
            sort(br#"{"jsonrpc":"2.0","id":"x","result":null,"error":{"code":1,"message":"m"}}"#),
            Ok(Message::Response { id: json!("x"), outcome: Err(json!({"code": 1, "message": "m"})) })
        );
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_without_id() {
        let deep = "[".repeat(100_000);
        for body in ["", "{", "{\"a\":\"\\ud800\"}", "{\"a\":\"\\udc00\"}", "nul", &deep] {
            assert_eq!(refused(body), (PARSE_ERROR, None), "{body:.40}");
        }
        assert_eq!(sort(b"{\"a\":\"\xff\"}").unwrap_err().number, PARSE_ERROR);
    }

    #[test]
    fn what_is_no_message_is_an_invalid_request_with_its_id() {
        assert_eq!(refused("[]"), (INVALID_REQUEST, None));
        assert_eq!(refused("5"), (INVALID_REQUEST, None));
        assert_eq!(refused(r#"{"id":5,"method":"x"}"#), (INVALID_REQUEST, Some(RequestId::Number(5))));
        assert_eq!(
            refused(r#"{"jsonrpc":"2.0","id":5,"method":{}}"#),
            (INVALID_REQUEST, Some(RequestId::Number(5)))
        );
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), (INVALID_REQUEST, None));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), (INVALID_REQUEST, None));
        assert_eq!(
            refused(r#"{"jsonrpc":"2.0","id":"y"}"#),
            (INVALID_REQUEST, Some(RequestId::Text("y".to_owned())))
        );
        assert_eq!(refused(r#"{"jsonrpc":"2.0","result":1}"#), (INVALID_REQUEST, None));
    }
}
