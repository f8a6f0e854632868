//! One line of the client as a message of JSON-RPC 2.0, and our errors.
//!
//! Owns what is a message and which number refuses what is none. Never knows a method.

use serde_json::{Map, Value, json};

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::decode::RpcId;
use crate::protocol::error::data;

const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;
const CANCELLED: i64 = -32800;
const AUTH_REQUIRED: i64 = -32000;
const NOT_FOUND: i64 = -32002;

/// A message.
#[derive(Debug, PartialEq)]
pub(super) enum AcpClientMessage {
    /// It asks.
    Request { id: RpcId, method: String, params: Map<String, Value> },
    /// It tells.
    Notification { method: String, params: Map<String, Value> },
    /// It answers us.
    Answer { id: RpcId, outcome: Result<Value, RpcFault> },
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcFault {
    /// Its number.
    pub(super) code: i64,
    /// One sentence.
    pub(super) message: String,
    /// More for a program.
    pub(super) data: Option<Box<Value>>,
}

impl RpcFault {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The params do not fit.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// It cannot be asked now.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// There is no such method.
    pub(super) fn method(method: &str) -> Self {
        let short: String = method.chars().take(80).collect();
        Self::new(METHOD_NOT_FOUND, format!("This agent has no method `{short}`."))
    }

    /// The line is longer than any may be.
    pub(super) fn too_long() -> Self {
        Self::new(INVALID_REQUEST, "The message is longer than 32 MiB; send less at a time.")
    }

    /// The turn failed.
    pub(super) fn turn(message: impl Into<String>) -> Self {
        Self::new(INTERNAL, message)
    }

    /// A fault of ours.
    pub(super) fn internal() -> Self {
        Self::from(CodedError::internal())
    }

    /// As the error of an answer.
    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Some(data) => json!({ "code": self.code, "message": self.message, "data": data }),
            None => json!({ "code": self.code, "message": self.message }),
        }
    }
}

impl From<CodedError> for RpcFault {
    fn from(error: CodedError) -> Self {
        let code = match error.code {
            ErrorCode::InvalidParams => INVALID_PARAMS,
            ErrorCode::UnknownMethod => METHOD_NOT_FOUND,
            ErrorCode::UnknownSession | ErrorCode::NotFound => NOT_FOUND,
            ErrorCode::Cancelled => CANCELLED,
            _ if error.remedy().login.is_some() => AUTH_REQUIRED,
            _ => INTERNAL,
        };
        let message = match error.code {
            ErrorCode::UntrustedWorkspace => format!("{} {TRUST}", error.message),
            _ => error.message.clone(),
        };
        Self { code, message, data: Some(Box::new(data(&error))) }
    }
}

/// What to do where trust is missing: it is given where the client's settings name us.
pub(super) const TRUST: &str =
    "Whoever wants that adds `--trust` to the arguments with which this client starts breadboard-ls.";

/// Reads a line.
///
/// # Errors
/// The error to answer with, and the id that it answers, as far as it can be told.
pub(super) fn read(line: &[u8]) -> Result<AcpClientMessage, (RpcId, RpcFault)> {
    let value: Value = serde_json::from_slice(line).map_err(|_| {
        (RpcId::null(), RpcFault::new(PARSE, "The line is no JSON; send one message a line."))
    })?;
    let wrong = |id: RpcId, message: &str| Err((id, RpcFault::request(message)));
    let Value::Object(mut map) = value else {
        return wrong(RpcId::null(), "A message is one object; this is none.");
    };
    let id = match map.get("id").map(|id| RpcId::from_json(&id.to_string())) {
        Some(None) => return wrong(RpcId::null(), "An id is a string, a number or null."),
        Some(id) => id,
        None => None,
    };
    match (map.remove("method"), id) {
        (Some(Value::String(method)), id) => {
            let params = match map.remove("params") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(params)) => params,
                Some(_) => {
                    let fault = RpcFault::params("The params are no object.");
                    return Err((id.unwrap_or_else(RpcId::null), fault));
                }
            };
            Ok(match id {
                Some(id) => AcpClientMessage::Request { id, method, params },
                None => AcpClientMessage::Notification { method, params },
            })
        }
        (Some(_), id) => wrong(id.unwrap_or_else(RpcId::null), "The method is no string."),
        (None, Some(id)) if map.contains_key("result") || map.contains_key("error") => {
            let outcome = match map.remove("error") {
                None | Some(Value::Null) => Ok(map.remove("result").unwrap_or_default()),
                Some(error) => Err(fault_of(&error)),
            };
            Ok(AcpClientMessage::Answer { id, outcome })
        }
        (None, id) => wrong(id.unwrap_or_else(RpcId::null), "The message has neither a method nor a result."),
    }
}

fn fault_of(error: &Value) -> RpcFault {
    RpcFault {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL),
        message: error.get("message").and_then(Value::as_str).unwrap_or("it does not say why").to_owned(),
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_6_what_is_no_message_is_refused_by_its_number_and_its_id() {
        let refused = |line: &str| {
            let (id, fault) = read(line.as_bytes()).expect_err(line);
            (id.json().to_owned(), fault.code)
        };
        let rows = [
            ("{", "null", PARSE),
            ("[]", "null", INVALID_REQUEST),
            ("7", "null", INVALID_REQUEST),
            (r#"{"id":1}"#, "1", INVALID_REQUEST),
            (r#"{"id":{},"method":"a"}"#, "null", INVALID_REQUEST),
            (r#"{"id":"x","method":5}"#, "\"x\"", INVALID_REQUEST),
            (r#"{"id":2,"method":"a","params":[1]}"#, "2", INVALID_PARAMS),
        ];
        for (line, id, code) in rows {
            assert_eq!(refused(line), (id.to_owned(), code), "{line}");
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refused(&deep).1, PARSE);
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let asked = read(br#"{"id":null,"method":"m"}"#).expect("is read");
        assert_eq!(
            asked,
            AcpClientMessage::Request { id: RpcId::null(), method: "m".to_owned(), params: Map::new() }
        );
        let told = read(br#"{"method":"m","params":{}}"#).expect("is read");
        assert_eq!(told, AcpClientMessage::Notification { method: "m".to_owned(), params: Map::new() });
        let answered = read(br#"{"id":3,"result":{"a":1}}"#).expect("is read");
        assert_eq!(answered, AcpClientMessage::Answer { id: RpcId::number(3), outcome: Ok(json!({"a": 1})) });
    }
}
