//! Errors in the words of JSON-RPC (wire.md section 5).
//!
//! Owns the number and the `data` of each. The codes themselves are in `domain::coded_error`.

use serde_json::{Value, json};

use crate::domain::coded_error::{CodedError, ErrorCode};

/// The JSON-RPC number that carries this code.
pub fn number(code: ErrorCode) -> i64 {
    match code {
        ErrorCode::InvalidParams => -32602,
        ErrorCode::UnknownMethod => -32601,
        ErrorCode::Internal => -32603,
        ErrorCode::Cancelled => -32800,
        ErrorCode::UnknownSession
        | ErrorCode::UnknownTab
        | ErrorCode::UnknownRequest
        | ErrorCode::UntrustedWorkspace
        | ErrorCode::PathOutsideWorkspace
        | ErrorCode::NotFound
        | ErrorCode::NotText
        | ErrorCode::TooLarge
        | ErrorCode::Conflict
        | ErrorCode::Unsupported
        | ErrorCode::Overloaded
        | ErrorCode::EngineUnreachable
        | ErrorCode::EngineUnauthorized
        | ErrorCode::EngineRejected
        | ErrorCode::AgentExited => -32803,
    }
}

/// `data` of the JSON-RPC error: `{ code, details? }`.
pub fn data(error: &CodedError) -> Value {
    match &error.details {
        Some(details) => json!({ "code": error.code, "details": details }),
        None => json!({ "code": error.code }),
    }
}
