//! The engine's commands, and decisions on its asks, which are commands too.
//!
//! Owns which commands pass and what a refusal means. Never waits for the effect: the engine only says that it took the
//! command, and an event says that it did it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::EngineParts;
use super::engine_error::EngineError;
use crate::app::ports::Ruling;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::breadboard::http::{Command, CommandReply};
use crate::domain::dialect::command::{CommandNeed, need_of};
use crate::protocol::request::CommandResult;

/// Bytes of an argument that is said with its command.
const VALUE: usize = 200;

/// Answers `bb/command`.
pub(super) async fn run(
    shared: &Arc<EngineParts>,
    session_id: &str,
    command: &str,
    args: Map<String, Value>,
) -> Result<CommandResult, CodedError> {
    let command = command.trim();
    if command.is_empty() {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "The command is blank; name one of the engine's.",
        ));
    }
    if need_of(command) == CommandNeed::Approval {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "A request for permission is answered where it is shown, and not by a command; answer it there.",
        ));
    }
    let reply = send(shared, session_id, command, args)
        .await
        .map_err(|trouble| refused(shared, command, &trouble))?;
    let CommandReply { status, detail } = reply;
    let detail = (!detail.is_empty()).then_some(Value::Object(detail));
    Ok(CommandResult { session_id: session_id.to_owned(), status, detail })
}

/// A command in words: its name, and the values of its arguments that are short.
pub(super) fn words(command: &str, args: &Map<String, Value>) -> String {
    let values = args.values().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()).filter(|text| text.len() <= VALUE && !text.contains('\n')),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let mut words = command.trim().to_owned();
    for value in values {
        words.push(' ');
        words.push_str(&value);
    }
    words
}

/// Decides on an ask. `Ok` means that the engine took it.
pub(super) async fn decide(
    shared: &Arc<EngineParts>,
    session_id: &str,
    engine_request_id: &str,
    ruling: &Ruling,
    note: Option<String>,
) -> Result<(), CodedError> {
    let mut payload = Map::new();
    payload.extend(note.map(|note| ("note".to_owned(), note.into())));
    payload.insert("request_id".to_owned(), engine_request_id.into());
    let word = match ruling {
        Ruling::AllowOnce => "allow-once",
        Ruling::AllowRule { pattern, scope } => {
            payload.insert("rule".to_owned(), pattern.clone().into());
            payload.insert("scope".to_owned(), scope.clone().into());
            "allow-always"
        }
        Ruling::Deny | Ruling::Cancelled => "deny-once",
        Ruling::DenyAndStop => "deny-stop",
    };
    payload.insert("decision".to_owned(), word.into());
    let sent = send(shared, session_id, "permission_decision", payload.clone()).await;
    let sent = match sent {
        // Nothing went out, so the same may go once more; the user's answer should not be lost to a restart of a socket.
        Err(trouble @ EngineError::Unreachable { .. }) if !trouble.leaves_it_open() => {
            send(shared, session_id, "permission_decision", payload).await
        }
        sent => sent,
    };
    sent.map(drop).map_err(|trouble| match &trouble {
        EngineError::Refused { status: 409, .. } => CodedError::new(
            ErrorCode::Conflict,
            "The engine no longer waits for this answer; look at the session and answer what waits there now.",
        ),
        trouble if trouble.leaves_it_open() => CodedError::new(
            ErrorCode::EngineUnreachable,
            "The engine did not say whether it took the answer; look whether the ask still waits and answer it again.",
        ),
        trouble => refused(shared, "permission_decision", trouble),
    })
}

/// Sends a command.
pub(super) async fn send(
    shared: &EngineParts,
    session_id: &str,
    command: &str,
    payload: Map<String, Value>,
) -> Result<CommandReply, EngineError> {
    let body = Command { command: command.to_owned(), payload };
    shared.client.post(&["v1", "sessions", session_id, "command"], &json!(body)).await
}

/// A refusal of this command. The engine says 400 to a command that it does not have and to one whose arguments do not fit.
pub(super) fn refused(shared: &EngineParts, command: &str, trouble: &EngineError) -> CodedError {
    let command: String = command.chars().take(60).collect();
    match trouble {
        EngineError::Refused { status: 400, detail, .. } if detail.starts_with("Unsupported command") => {
            CodedError::new(
                ErrorCode::Unsupported,
                format!("This engine has no command `{command}`; use one that it has."),
            )
        }
        EngineError::Refused { status: 501, .. } => CodedError::new(
            ErrorCode::Unsupported,
            format!(
                "This engine has the command `{command}` by name only; do it yourself or ask for it in a prompt."
            ),
        ),
        // A fault inside is what this engine makes of blank arguments.
        EngineError::Broken { status: 500, .. } => CodedError::new(
            ErrorCode::EngineRejected,
            format!(
                "The engine failed inside at the command `{command}`; check its arguments and the engine's log."
            ),
        ),
        trouble => shared.told(trouble),
    }
}
