//! What can go wrong with a request to the engine, and the sentence for each.
//!
//! Owns the reading of refusals, which the engine does not always put into its own envelope. Never repeats a token or a
//! body that is not the engine's envelope.

use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::app::ports::TurnFailure;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::remedy::{PromptTaken, Retry, RetryWhen};
use crate::http::{AuthoritySetting, Cause, Unreached, in_words};

/// Longest piece of the engine's text in a sentence of ours, in characters.
const LONGEST_DETAIL: usize = 300;

/// Why a request did not succeed.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineError {
    /// Nothing answers, or the connection broke.
    Unreachable {
        /// Why.
        why: Unreached,
        /// Whether the engine may have got the request all the same.
        sent: bool,
    },
    /// The engine is there or seems to be, and no answer came in time.
    TimedOut {
        /// Whether the engine may have got the request all the same.
        sent: bool,
    },
    /// 401, or a token that must not be sent.
    Unauthorized(Denied),
    /// 404 in the engine's words: there is no such session, file or artifact.
    Gone {
        /// The engine's word.
        detail: String,
    },
    /// The engine does not have this path at all: an older or another one.
    NoRoute,
    /// 409: the engine's log does not hold the place that was asked for.
    WindowExceeded(ErrorWindow),
    /// 429 or 503, of the engine or of what stands before it: not now.
    Busy {
        /// The engine's word, where it said one.
        detail: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// Any other refusal in the engine's words.
    Refused {
        /// Status of HTTP.
        status: u16,
        /// The engine's code.
        code: String,
        /// The engine's word.
        detail: String,
    },
    /// What answers speaks something else than HTTP, perhaps TLS.
    NotHttp,
    /// An answer that is not one: a fault inside the engine, or something else at its address.
    Broken {
        /// Status of HTTP.
        status: u16,
        /// The end of a sentence.
        why: String,
    },
}

/// Why a token did not help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The engine wants one and we have none.
    Missing,
    /// The engine does not take ours.
    Refused,
    /// It would be readable on the way.
    Exposed,
}

/// What the engine says of its log; all unknown where it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorWindow {
    /// Oldest number that it still has.
    pub first: Option<u64>,
    /// Newest number that it has.
    pub last: Option<u64>,
}

#[derive(Deserialize)]
struct ErrorEnvelope {
    error: Option<String>,
    detail: Option<Value>,
}

impl EngineError {
    /// Reads a refusal. `body` is what came of it, bounded.
    pub(super) fn of_answer(
        status: StatusCode,
        body: &[u8],
        with_token: bool,
        wait: Option<Duration>,
    ) -> Self {
        let number = status.as_u16();
        if status == StatusCode::UNAUTHORIZED {
            return Self::Unauthorized(if with_token { Denied::Refused } else { Denied::Missing });
        }
        if matches!(number, 429 | 503) {
            let said =
                serde_json::from_slice::<ErrorEnvelope>(body).ok().and_then(|envelope| envelope.detail);
            return Self::Busy { detail: words(said.as_ref()), wait };
        }
        let Ok(ErrorEnvelope { error, detail }) = serde_json::from_slice::<ErrorEnvelope>(body) else {
            let why = format!("it answered {number} without saying why");
            return Self::Broken { status: number, why };
        };
        let Some(code) = error else {
            return match number {
                404 | 405 => Self::NoRoute,
                _ => Self::Refused { status: number, code: String::new(), detail: words(detail.as_ref()) },
            };
        };
        match (number, code.as_str()) {
            (409, "resume_window_exceeded") => Self::WindowExceeded(ErrorWindow::of(detail.as_ref())),
            (404, _) => Self::Gone { detail: words(detail.as_ref()) },
            (_, _) => Self::Refused { status: number, code, detail: words(detail.as_ref()) },
        }
    }

    /// Reads a failure of the transport.
    pub(super) fn of_transport(error: &reqwest::Error) -> Self {
        let sent = !error.is_connect() && !error.is_builder();
        if error.is_timeout() {
            return Self::TimedOut { sent };
        }
        match Cause::of(error) {
            Cause::NotHttp => Self::NotHttp,
            cause => Self::Unreachable { why: cause.into(), sent },
        }
    }

    /// Whether the engine may have done what was asked although we do not know it.
    pub fn leaves_it_open(&self) -> bool {
        match self {
            Self::Unreachable { sent, .. } | Self::TimedOut { sent } => *sent,
            // What stands before an engine may answer for it after it took the request.
            Self::Broken { status, .. } => matches!(status, 200..=299 | 502 | 504),
            Self::NotHttp => true,
            Self::Unauthorized(_)
            | Self::Gone { .. }
            | Self::NoRoute
            | Self::WindowExceeded(_)
            | Self::Busy { .. }
            | Self::Refused { .. } => false,
        }
    }

    /// How long the engine asked to be left alone.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Busy { wait, .. } => *wait,
            _ => None,
        }
    }

    /// The refusal for the user; `origin` is where the engine is.
    pub fn told(&self, origin: &str) -> CodedError {
        let (code, message) = match self {
            Self::Unreachable { why, sent } => (ErrorCode::EngineUnreachable, unreached(origin, why, *sent)),
            Self::TimedOut { sent: false } => (
                ErrorCode::EngineUnreachable,
                format!(
                    "The BreadBoard engine at {origin} takes no connection; start it, or correct its address."
                ),
            ),
            Self::TimedOut { sent: true } => (
                ErrorCode::EngineUnreachable,
                format!(
                    "The BreadBoard engine at {origin} is there but too slow to answer; try again in a moment."
                ),
            ),
            Self::Unauthorized(Denied::Missing) => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The BreadBoard engine at {origin} wants a token; set the engine's token in your editor, or in the \
                     environment variable BREADBOARD_API_TOKEN."
                ),
            ),
            Self::Unauthorized(Denied::Refused) => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The BreadBoard engine at {origin} does not take our token; set the right one in your editor, or in the \
                     environment variable BREADBOARD_API_TOKEN."
                ),
            ),
            Self::Unauthorized(Denied::Exposed) => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The token for {origin} would be readable on the way and was not sent; use https, a tunnel to this \
                     machine, or forget the token."
                ),
            ),
            Self::Gone { detail } => (
                ErrorCode::NotFound,
                format!("The engine does not have this: {}; list again and choose another.", end(detail)),
            ),
            Self::NoRoute => (
                ErrorCode::Unsupported,
                format!(
                    "The engine at {origin} cannot do this; use a newer BreadBoard engine, or correct its address."
                ),
            ),
            Self::WindowExceeded(_) => (
                ErrorCode::Conflict,
                "The engine no longer has this part of the session's events; select the session again."
                    .to_owned(),
            ),
            Self::Busy { detail, wait } => {
                let why = if detail.is_empty() { String::new() } else { format!(": {}", end(detail)) };
                let when = wait.filter(|wait| !wait.is_zero()).map_or("a moment".to_owned(), in_words);
                (ErrorCode::Overloaded, format!("The engine at {origin} is busy{why}; try again in {when}."))
            }
            Self::Refused { status, code, detail } => refused(*status, code, detail),
            Self::NotHttp => (ErrorCode::EngineRejected, not_http(origin)),
            Self::Broken { status: 200..=299, why } => (
                ErrorCode::EngineRejected,
                format!(
                    "What answers at {origin} is not a BreadBoard engine: {why}; correct the engine's address."
                ),
            ),
            Self::Broken { status, why } => (ErrorCode::EngineRejected, broken(origin, *status, why)),
        };
        let told = CodedError::new(code, message);
        match self.retry() {
            Some(retry) => told.with_remedy(retry),
            None => told,
        }
    }

    /// Of what goes before a prompt, which was not sent whatever became of that.
    pub(super) fn unsent(&self, message: String) -> TurnFailure {
        let retry = self.retry().unwrap_or(Retry::not_taken(RetryWhen::Changed));
        TurnFailure::new(message, Retry { taken: PromptTaken::No, ..retry })
    }

    /// Whether the same can be sent again; `None` where that depends on what was sent.
    pub fn retry(&self) -> Option<Retry> {
        use RetryWhen::{Changed, Later, Never};
        let open = |when| {
            if self.leaves_it_open() { Retry::perhaps_taken(when) } else { Retry::not_taken(when) }
        };
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => Some(open(Later)),
            Self::Busy { wait, .. } => Some(open(Later).after(*wait)),
            Self::Refused { status: 413, .. } | Self::Broken { status: 413, .. } => Some(open(Never)),
            Self::Broken { status: 408 | 502 | 504, .. } => Some(Retry::perhaps_taken(Later)),
            // It failed on the way, and how far it had come it does not say.
            Self::Broken { status: 500..=599, .. } => Some(Retry::perhaps_taken(Changed)),
            Self::Unauthorized(_) | Self::Broken { .. } | Self::NotHttp => Some(open(Changed)),
            Self::Gone { .. } | Self::NoRoute | Self::WindowExceeded(_) | Self::Refused { .. } => None,
        }
    }
}

/// Something else than an engine answers; whoever asks without TLS may have met TLS.
fn not_http(origin: &str) -> String {
    let why = "it speaks no HTTP";
    if origin.starts_with("http:") {
        format!(
            "What answers at {origin} is not a BreadBoard engine: {why}; correct the engine's address, which begins with https \
             where it has TLS."
        )
    } else {
        format!("What answers at {origin} is not a BreadBoard engine: {why}; correct the engine's address.")
    }
}

/// The engine was not reached, or not spoken with.
fn unreached(origin: &str, why: &Unreached, sent: bool) -> String {
    match why {
        Unreached::Tls(doubt) => format!(
            "The BreadBoard engine at {origin} was sent nothing, because {}; {}.",
            doubt.why(),
            doubt.next(AuthoritySetting::File)
        ),
        Unreached::Connection(why) if sent => {
            format!("The connection to the BreadBoard engine at {origin} broke: {why}; try again.")
        }
        Unreached::Connection(why) => format!(
            "The BreadBoard engine at {origin} cannot be reached: {why}; start it, or correct its address."
        ),
    }
}

/// An answer without the engine's words: most come from what stands before it.
fn broken(origin: &str, status: u16, why: &str) -> String {
    match status {
        300..=399 => format!(
            "What answers at {origin} sends us elsewhere (HTTP {status}), and a token does not travel; give the address at \
             which the engine itself answers."
        ),
        403 => format!(
            "What stands before the engine at {origin} does not let us through (HTTP 403); ask whoever runs it, or correct \
             the engine's address."
        ),
        404 | 405 => format!(
            "What answers at {origin} is not a BreadBoard engine: it has no such page (HTTP {status}); correct the \
             engine's address."
        ),
        407 => format!(
            "The proxy before the engine at {origin} wants a login (HTTP 407); put it into the proxy's address in the \
             environment, or name the engine's host in NO_PROXY."
        ),
        408 | 502 | 504 => format!(
            "The engine at {origin} did not answer what stands before it (HTTP {status}); see whether it runs and try again."
        ),
        413 => format!(
            "What was sent is too large for the engine at {origin} or for what stands before it (HTTP 413); send less at a \
             time."
        ),
        _ => format!(
            "The BreadBoard engine at {origin} failed inside: {why}; look into its log and try again."
        ),
    }
}

fn refused(status: u16, code: &str, detail: &str) -> (ErrorCode, String) {
    let why = end(if detail.is_empty() { code } else { detail });
    match status {
        409 => (
            ErrorCode::Conflict,
            format!("The engine cannot do this now: {why}; look at the session and try again."),
        ),
        501 => (ErrorCode::Unsupported, format!("The engine cannot do this: {why}; use a newer one for it.")),
        _ => (
            ErrorCode::EngineRejected,
            format!("The engine refused this: {why}; change the request and try again."),
        ),
    }
}

/// The engine's text without the end that a sentence of ours adds.
pub(super) fn end(detail: &str) -> &str {
    let detail = detail.trim().trim_end_matches(['.', ';']);
    if detail.is_empty() { "it did not say why" } else { detail }
}

/// `detail` as one line: its text, its `message`, or the first of its `errors`.
fn words(detail: Option<&Value>) -> String {
    let text = match detail {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(fields)) => match (fields.get("message"), fields.get("errors")) {
            (Some(Value::String(text)), _) => text.clone(),
            (_, Some(Value::Array(errors))) => errors.first().map(first_error).unwrap_or_default(),
            (_, _) => String::new(),
        },
        _ => String::new(),
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(LONGEST_DETAIL).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// `[{ loc: ["body", "x"], msg }]`: never its `input`, which may be the user's text.
fn first_error(error: &Value) -> String {
    let field = error.get("loc").and_then(Value::as_array).and_then(|loc| loc.last()).and_then(Value::as_str);
    let message = error.get("msg").and_then(Value::as_str).unwrap_or("a field does not fit");
    match field {
        Some(field) => format!("`{field}`: {message}"),
        None => message.to_owned(),
    }
}

impl ErrorWindow {
    fn of(detail: Option<&Value>) -> Self {
        let number = |names: &[&str]| {
            let detail = detail?;
            names.iter().find_map(|name| detail.get(name)).and_then(Value::as_u64)
        };
        Self {
            first: number(&["first_retained_sequence", "earliestRetainedSequence"]),
            last: number(&["last_retained_sequence", "headSequence"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(status: u16, body: &str) -> EngineError {
        EngineError::of_answer(StatusCode::from_u16(status).unwrap(), body.as_bytes(), false, None)
    }

    #[test]
    fn the_engines_refusals_are_told_apart() {
        let refused = |status, code: &str, detail: &str| EngineError::Refused {
            status,
            code: code.to_owned(),
            detail: detail.to_owned(),
        };
        let envelope =
            |error: &str, detail| json!({ "error": error, "detail": detail, "path": null }).to_string();
        for (status, body, wanted) in [
            (
                401,
                envelope("unauthorized", json!("unauthorized")),
                EngineError::Unauthorized(Denied::Missing),
            ),
            (
                404,
                envelope("not_found", json!("session not found")),
                EngineError::Gone { detail: "session not found".into() },
            ),
            (404, json!({ "detail": "Not Found" }).to_string(), EngineError::NoRoute),
            (405, json!({ "detail": "Method Not Allowed" }).to_string(), EngineError::NoRoute),
            (
                409,
                envelope("resume_window_exceeded", json!("…")),
                EngineError::WindowExceeded(ErrorWindow::default()),
            ),
            (
                409,
                envelope(
                    "resume_window_exceeded",
                    json!({ "first_retained_sequence": 3, "last_retained_sequence": 9 }),
                ),
                EngineError::WindowExceeded(ErrorWindow { first: Some(3), last: Some(9) }),
            ),
            (
                409,
                envelope("conflict", json!("session is closed")),
                refused(409, "conflict", "session is closed"),
            ),
            (
                501,
                envelope("internal", json!("not implemented")),
                refused(501, "internal", "not implemented"),
            ),
            (
                422,
                envelope(
                    "invalid_request",
                    json!({ "errors": [{ "loc": ["body", "content"], "msg": "Field required", "input": "MINE" }] }),
                ),
                refused(422, "invalid_request", "`content`: Field required"),
            ),
            (
                500,
                "Internal Server Error".to_owned(),
                EngineError::Broken { status: 500, why: "it answered 500 without saying why".into() },
            ),
            (
                307,
                String::new(),
                EngineError::Broken { status: 307, why: "it answered 307 without saying why".into() },
            ),
        ] {
            assert_eq!(read(status, &body), wanted, "{status} {body}");
        }
    }

    #[test]
    fn who_asks_us_to_wait_is_said_with_how_long() {
        let told = |wait: Option<u64>, body: &str| {
            let wait = wait.map(Duration::from_secs);
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let trouble = EngineError::of_answer(status, body.as_bytes(), false, wait);
            assert_eq!(trouble.wait(), wait);
            trouble.told("http://h").message
        };
        let full = json!({ "error": "overloaded", "detail": "the queue is full." }).to_string();
        assert_eq!(
            told(Some(20), &full),
            "The engine at http://h is busy: the queue is full; try again in 20 seconds."
        );
        assert_eq!(told(None, "<html>"), "The engine at http://h is busy; try again in a moment.");
        assert_eq!(told(Some(0), "<html>"), "The engine at http://h is busy; try again in a moment.");
    }

    #[test]
    fn each_trouble_has_its_code_and_one_sentence() {
        let origin = "http://127.0.0.1:9099";
        let refused = |status| EngineError::Refused { status, code: "c".into(), detail: "d.".into() };
        for (trouble, code) in [
            (
                EngineError::Unreachable { why: Unreached::Connection("w".into()), sent: false },
                ErrorCode::EngineUnreachable,
            ),
            (EngineError::TimedOut { sent: true }, ErrorCode::EngineUnreachable),
            (EngineError::TimedOut { sent: false }, ErrorCode::EngineUnreachable),
            (EngineError::Unauthorized(Denied::Missing), ErrorCode::EngineUnauthorized),
            (EngineError::Unauthorized(Denied::Refused), ErrorCode::EngineUnauthorized),
            (EngineError::Unauthorized(Denied::Exposed), ErrorCode::EngineUnauthorized),
            (EngineError::Gone { detail: String::new() }, ErrorCode::NotFound),
            (EngineError::NoRoute, ErrorCode::Unsupported),
            (EngineError::WindowExceeded(ErrorWindow::default()), ErrorCode::Conflict),
            (refused(400), ErrorCode::EngineRejected),
            (refused(409), ErrorCode::Conflict),
            (refused(501), ErrorCode::Unsupported),
            (EngineError::Busy { detail: "d.".into(), wait: None }, ErrorCode::Overloaded),
            (EngineError::Broken { status: 500, why: "w".into() }, ErrorCode::EngineRejected),
            (EngineError::Broken { status: 200, why: "w".into() }, ErrorCode::EngineRejected),
        ] {
            let told = trouble.told(origin);
            assert_eq!(told.code, code, "{trouble:?}");
            assert!(told.message.ends_with('.') && !told.message.contains(". "), "{}", told.message);
        }
    }
}
