//! How a desktop host refuses: one body for HTTP and WebSocket, with a stable code.
//!
//! Owns the codes. Three are the seed's; the others are additive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::coded_error::{CodedError, ErrorCode};

/// The closed list of codes of a desktop host (R002-75).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RefusalCode {
    /// The search failed.
    RetrievalFailed,
    /// The model or the engine failed.
    ModelError,
    /// Policy, trust or the list of folders forbids it.
    PolicyViolation,
    /// The token is missing or wrong.
    Unauthorized,
    /// A web page, or a name that this host does not answer to, asks.
    ForbiddenOrigin,
    /// There is no such thing.
    NotFound,
    /// The path is there, the method is not.
    MethodNotAllowed,
    /// The body, the query or the message is not what the schema says.
    BadMessage,
    /// The handshake is missing: `client.hello` comes first.
    HelloRequired,
    /// The versions of the protocol do not fit.
    VersionMismatch,
    /// Past a limit of bytes.
    TooLarge,
    /// Too many requests, messages or sockets.
    RateLimited,
    /// The state is not what the request assumed.
    Conflict,
    /// This host does not do that.
    Unsupported,
    /// A fault of ours.
    Internal,
}

impl RefusalCode {
    /// The status of an HTTP answer.
    pub fn status(self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::PolicyViolation | Self::ForbiddenOrigin => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Conflict | Self::HelloRequired => 409,
            Self::TooLarge => 413,
            Self::BadMessage | Self::VersionMismatch => 422,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::Unsupported => 501,
            Self::RetrievalFailed | Self::ModelError => 502,
        }
    }

    /// Whether the same can work later or after a correction that needs no restart.
    fn is_recoverable(self) -> bool {
        !matches!(self, Self::Unsupported | Self::VersionMismatch)
    }
}

/// One refusal (R002-74).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesktopRefusal {
    /// Stable code.
    pub code: RefusalCode,
    /// What happened and what to do next.
    pub message: String,
    /// More, or an empty object.
    pub details: Map<String, Value>,
    /// Whether asking again can work.
    pub recoverable: bool,
}

impl DesktopRefusal {
    /// A refusal without details.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new(), recoverable: code.is_recoverable() }
    }

    /// The refusal of the loop in the words of this protocol.
    pub fn of(error: CodedError) -> Self {
        let code = match error.code {
            ErrorCode::InvalidParams | ErrorCode::NotText => RefusalCode::BadMessage,
            ErrorCode::UnknownMethod
            | ErrorCode::UnknownSession
            | ErrorCode::UnknownTab
            | ErrorCode::UnknownRequest
            | ErrorCode::NotFound => RefusalCode::NotFound,
            ErrorCode::UntrustedWorkspace | ErrorCode::PathOutsideWorkspace => RefusalCode::PolicyViolation,
            ErrorCode::TooLarge => RefusalCode::TooLarge,
            ErrorCode::Conflict | ErrorCode::Cancelled => RefusalCode::Conflict,
            ErrorCode::Unsupported => RefusalCode::Unsupported,
            ErrorCode::Overloaded => RefusalCode::RateLimited,
            ErrorCode::EngineUnreachable
            | ErrorCode::EngineUnauthorized
            | ErrorCode::EngineRejected
            | ErrorCode::AgentExited => RefusalCode::ModelError,
            ErrorCode::Internal => RefusalCode::Internal,
        };
        let mut refusal = Self::new(code, error.message);
        refusal.details.insert("reason".to_owned(), error.code.as_str().into());
        refusal
    }

    /// The same refusal with one more detail.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// The body of every HTTP answer that is a refusal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalBody {
    /// The refusal.
    pub error: DesktopRefusal,
}
