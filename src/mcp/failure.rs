//! What went wrong with a server, as sentences.
//!
//! Owns the words. Never repeats an address with what stands behind its `?`, a header, or what a program wrote at length.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};

use crate::http::Cause;

/// Characters of what a server says of its own error.
const SAID: usize = 300;

/// Why a server could not be used, as the end of a sentence, and what to do next.
pub(super) fn of_start(name: &str, error: &ClientInitializeError) -> String {
    let why = match error {
        _ if error.is_authorization_required() => return unauthorized(name),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the greeting: {}", said(&error.message))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            "it closed the connection before it said hello".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => match transport(error.error.as_ref()) {
            Trouble::Unauthorized => return unauthorized(name),
            Trouble::Words(words) => words,
        },
        _ => "it did not answer as a tool server does".to_owned(),
    };
    format!("The tool server `{name}` could not be used, because {why}; check its setting, then restart it.")
}

/// Why a call came to nothing.
pub(super) fn of_call(name: &str, what: &str, error: &ServiceError) -> String {
    let why = match error {
        _ if error.is_authorization_required() => return unauthorized(name),
        ServiceError::McpError(error) => format!("it answered: {}", said(&error.message)),
        ServiceError::TransportClosed => "its connection was closed".to_owned(),
        ServiceError::TransportSend(error) => match transport(error.error.as_ref()) {
            Trouble::Unauthorized => return unauthorized(name),
            Trouble::Words(words) => words,
        },
        ServiceError::InputRequiredRoundsExceeded { .. } => {
            "it asks for input, which is not given to tool servers here".to_owned()
        }
        _ => "its answer could not be read".to_owned(),
    };
    format!("The tool server `{name}` did not do {what}: {why}.")
}

/// A server refuses our credentials.
fn unauthorized(name: &str) -> String {
    format!(
        "The tool server `{name}` refuses our credentials; put a token that it takes among the headers of its setting, then restart \
         it."
    )
}

enum Trouble {
    Unauthorized,
    Words(String),
}

/// What is known of a failure of the transport.
fn transport(error: &(dyn Error + 'static)) -> Trouble {
    let mut looked_at = Some(error);
    while let Some(error) = looked_at {
        if let Some(status) = error.downcast_ref::<HttpStatusError>() {
            return Trouble::Words(format!("it answers with the status {}", status.status));
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return of_http(error);
        }
        if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            match error {
                StreamableHttpError::Client(error) => return of_http(error),
                StreamableHttpError::HttpStatus(status) => {
                    return Trouble::Words(format!("it answers with the status {}", status.status));
                }
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                    return Trouble::Unauthorized;
                }
                StreamableHttpError::ResponseBodyTooLarge { .. } => {
                    return Trouble::Words("its answer is too large".to_owned());
                }
                StreamableHttpError::SessionExpired => {
                    return Trouble::Words("it has forgotten this session".to_owned());
                }
                StreamableHttpError::UnexpectedServerResponse(text) if text.contains("401") => {
                    return Trouble::Unauthorized;
                }
                StreamableHttpError::UnexpectedContentType(_)
                | StreamableHttpError::UnexpectedServerResponse(_)
                | StreamableHttpError::Deserialize(_) => {
                    return Trouble::Words("what answers there is no tool server".to_owned());
                }
                _ => {}
            }
        }
        looked_at = error.source();
    }
    Trouble::Words("the connection to it failed".to_owned())
}

fn of_http(error: &reqwest::Error) -> Trouble {
    match error.status().map(|status| status.as_u16()) {
        Some(401 | 403) => Trouble::Unauthorized,
        Some(status) => Trouble::Words(format!("it answers with the status {status}")),
        None if error.is_timeout() => Trouble::Words("it does not answer".to_owned()),
        None => Trouble::Words(Cause::of(error).words()),
    }
}

/// A server's own words on one line, bounded.
pub(super) fn said(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(SAID).collect();
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("{}{more}", short.trim_end_matches('.'))
}
