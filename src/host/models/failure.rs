//! What can go wrong with a model, in one sentence.
//!
//! Owns the sentences. Never shows a token, a header or a whole response body.

use genai::Error;

use super::target::Target;
use super::tokens::Token;

/// A failure of a model or of its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// One sentence: what happened and what to do next.
    pub message: String,
    /// HTTP status, when the endpoint answered with one.
    pub status: Option<u16>,
    /// Whether asking again can work without changing a setting.
    pub recoverable: bool,
}

impl ModelError {
    /// A setting that cannot work.
    pub fn setting(message: String) -> Self {
        Self { message, status: None, recoverable: false }
    }

    /// Something that may work next time.
    pub fn passing(message: String) -> Self {
        Self { message, status: None, recoverable: true }
    }

    /// Reads an error of the provider library.
    pub fn from_provider(error: &Error, target: &Target, token: Option<&Token>) -> Self {
        let origin = target.origin();
        let origin = origin.as_str();
        if let Some((status, body)) = http_status(error) {
            return Self::from_status(status, &body, target, token);
        }
        match error {
            Error::ChatResponse { body, .. } => {
                Self::passing(format!("The model at {origin} broke off{}; ask again.", said(body, token)))
            }
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    genai::webc::Error::Reqwest(error) => Self::from_transport(error, origin),
                    _ => unreadable(origin),
                }
            }
            Error::WebStream { error, .. } => match error.downcast_ref::<reqwest::Error>() {
                Some(error) => Self::from_transport(error, origin),
                None => Self::passing(format!("The answer of the model at {origin} broke off; ask again.")),
            },
            _ => unreadable(origin),
        }
    }

    /// The stream ended before the answer was complete.
    pub fn cut(target: &Target) -> Self {
        Self::passing(format!(
            "The answer of the model at {} was cut off before its end; ask again.",
            target.origin().as_str()
        ))
    }

    fn from_status(status: u16, body: &str, target: &Target, token: Option<&Token>) -> Self {
        let origin = target.origin();
        let origin = origin.as_str();
        let body = serde_json::from_str(body).unwrap_or(serde_json::Value::Null);
        let (message, recoverable) = match status {
            // The body of a refusal may repeat the credentials, so it is not shown.
            401 | 403 if token.is_none() => (
                format!(
                    "The model at {origin} wants credentials (HTTP {status}) and none are set for it; give a token with \
                     bb/setCredentials after choosing the model, or in the environment."
                ),
                false,
            ),
            401 | 403 => (
                format!("The model at {origin} refused our credentials (HTTP {status}); set a valid token."),
                false,
            ),
            300..=399 => (
                format!(
                    "The model at {origin} answered with a redirect (HTTP {status}), which is never followed, because a \
                     token must not travel; set `model.url` to the final address."
                ),
                false,
            ),
            404 => (
                format!(
                    "There is no model `{}` at {} (HTTP 404){}; check the model's name and url.",
                    excerpt(&target.name),
                    target.base,
                    said(&body, token)
                ),
                false,
            ),
            429 => (
                format!(
                    "The model at {origin} takes no more requests now (HTTP 429){}; wait and ask again.",
                    said(&body, token)
                ),
                true,
            ),
            500..=599 => (
                format!("The model at {origin} failed (HTTP {status}){}; ask again.", said(&body, token)),
                true,
            ),
            _ => (
                format!(
                    "The model at {origin} refused the request (HTTP {status}){}; check the model setting.",
                    said(&body, token)
                ),
                false,
            ),
        };
        Self { message, status: Some(status), recoverable }
    }

    fn from_transport(error: &reqwest::Error, origin: &str) -> Self {
        if error.is_connect() {
            // The innermost cause (refused, unknown host, bad certificate) is what the user can act on.
            let mut cause: &dyn std::error::Error = error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            Self::passing(format!(
                "The model at {origin} cannot be reached ({}); start it or check `model.url` and the proxy.",
                excerpt(&cause.to_string())
            ))
        } else if error.is_timeout() {
            Self::passing(format!("The model at {origin} has been silent for too long; ask again."))
        } else {
            Self::passing(format!("The connection to the model at {origin} broke; ask again."))
        }
    }
}

fn unreadable(origin: &str) -> ModelError {
    ModelError::passing(format!(
        "The answer of the model at {origin} could not be read; check that `model.provider` fits the endpoint."
    ))
}

fn http_status(error: &Error) -> Option<(u16, String)> {
    match error {
        Error::HttpError { status, body, .. } => Some((status.as_u16(), body.clone())),
        Error::WebStream { error, .. } => error.downcast_ref::<Error>().and_then(http_status),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => match webc_error
        {
            genai::webc::Error::ResponseFailedStatus { status, body, .. } => {
                Some((status.as_u16(), body.clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The provider's own sentence, short, without the token: `: …`, or nothing.
fn said(body: &serde_json::Value, token: Option<&Token>) -> String {
    let text = [body.pointer("/error/message"), body.get("message"), body.get("error"), Some(body)]
        .into_iter()
        .flatten()
        .find_map(serde_json::Value::as_str)
        .unwrap_or("");
    let text = match token {
        Some(token) => text.replace(&token.0, "[redacted]"),
        None => text.to_owned(),
    };
    let text = excerpt(text.trim().trim_end_matches('.'));
    if text.is_empty() { text } else { format!(": {text}") }
}

/// A foreign text cut to what fits in a sentence, on one line.
pub fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
