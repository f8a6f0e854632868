//! A refusal: a stable code, one sentence, details for a program (wire.md section 5).
//!
//! Owns the closed list of codes, so that engines, store and workspace can refuse without knowing the wire. Never carries a
//! token: what goes in here is passed through the redactor at the outbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::remedy::Remedy;

/// The closed list of stable error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The params do not fit the schema; `-32602`.
    InvalidParams,
    /// There is no such method; `-32601`.
    UnknownMethod,
    /// No session has this id.
    UnknownSession,
    /// No tab has this id.
    UnknownTab,
    /// No permission request has this id.
    UnknownRequest,
    /// The workspace must be trusted first.
    UntrustedWorkspace,
    /// The path leaves the workspace.
    PathOutsideWorkspace,
    /// The thing named does not exist.
    NotFound,
    /// The file is not text.
    NotText,
    /// Past a limit.
    TooLarge,
    /// The state is not what the request assumed.
    Conflict,
    /// This engine, editor or build cannot do it.
    Unsupported,
    /// A bound is reached; try again later.
    Overloaded,
    /// The engine does not answer.
    EngineUnreachable,
    /// The engine refuses our credentials.
    EngineUnauthorized,
    /// The engine refuses the request.
    EngineRejected,
    /// The agent process ended.
    AgentExited,
    /// Cancelled by the client; `-32800`.
    Cancelled,
    /// A fault of ours; `-32603`.
    Internal,
}

impl ErrorCode {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidParams => "invalid_params",
            Self::UnknownMethod => "unknown_method",
            Self::UnknownSession => "unknown_session",
            Self::UnknownTab => "unknown_tab",
            Self::UnknownRequest => "unknown_request",
            Self::UntrustedWorkspace => "untrusted_workspace",
            Self::PathOutsideWorkspace => "path_outside_workspace",
            Self::NotFound => "not_found",
            Self::NotText => "not_text",
            Self::TooLarge => "too_large",
            Self::Conflict => "conflict",
            Self::Unsupported => "unsupported",
            Self::Overloaded => "overloaded",
            Self::EngineUnreachable => "engine_unreachable",
            Self::EngineUnauthorized => "engine_unauthorized",
            Self::EngineRejected => "engine_rejected",
            Self::AgentExited => "agent_exited",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

/// One refusal: what happened and what to do next, with a code a program can rely on.
#[derive(Debug, Clone, PartialEq)]
pub struct CodedError {
    /// The stable code.
    pub code: ErrorCode,
    /// One sentence for a person.
    pub message: String,
    /// More for a program.
    pub details: Option<Value>,
}

impl CodedError {
    /// A refusal without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// The same refusal with details.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same refusal with what can be done about it, beside the details that it has.
    pub fn with_remedy(mut self, remedy: impl Into<Remedy>) -> Self {
        let fields = remedy.into().fields();
        match &mut self.details {
            Some(Value::Object(details)) => details.extend(fields),
            details if !fields.is_empty() => *details = Some(Value::Object(fields)),
            _ => {}
        }
        self
    }

    /// What can be done about it.
    pub fn remedy(&self) -> Remedy {
        Remedy::of_details(self.details.as_ref())
    }

    /// A fault of ours.
    pub fn internal() -> Self {
        Self::new(
            ErrorCode::Internal,
            "breadboard-ls failed inside while handling this request; nothing else is affected, try again and report \
             it if it stays.",
        )
    }

    /// A session that we do not know.
    pub fn unknown_session(session_id: &str) -> Self {
        Self::new(
            ErrorCode::UnknownSession,
            format!("There is no session `{}`; list the sessions and choose one.", excerpt(session_id)),
        )
    }
}

/// A client's text cut to what fits in a sentence.
fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
