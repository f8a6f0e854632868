//! What can go wrong with a model, in one sentence.
//!
//! Owns the sentences. Never shows a token, a header or a whole response body.

use std::time::Duration;

use super::bounds;
use super::fault::ModelFault;
use super::target::{Provider, Target};
use super::tokens::Token;
use crate::domain::remedy::{PromptTaken, Retry, RetryWhen};
use crate::http::{AuthoritySetting, HttpError, TlsDoubt, Unreached, in_words};

/// A failure of a model or of its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelError {
    /// One sentence: what happened and what to do next.
    pub message: String,
    /// HTTP status, when the endpoint answered with one.
    pub status: Option<u16>,
    /// Whether the same can be asked again.
    pub retry: Retry,
    /// What of the question it is about.
    pub about: FailureAbout,
}

/// What of a question a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureAbout {
    /// Its length: it is more than the model reads at once.
    TooLong,
    /// Something else.
    Else,
}

/// Parts of what endpoints say when a question is more than their model reads at once.
const TOO_LONG: [&str; 10] = [
    "context length",
    "context_length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "input token count",
    "maximum number of tokens",
];

impl ModelError {
    /// A setting that cannot work, so that nothing was sent.
    pub(crate) fn setting(message: String) -> Self {
        Self::told(message, Retry::not_taken(RetryWhen::Changed))
    }

    /// Something in the middle of an answer that may work next time.
    pub(crate) fn passing(message: String) -> Self {
        Self::told(message, Retry::taken(RetryWhen::Later))
    }

    fn told(message: String, retry: Retry) -> Self {
        Self { message, status: None, retry, about: FailureAbout::Else }
    }

    /// Whether asking again can work without changing a setting.
    pub(crate) fn is_recoverable(&self) -> bool {
        self.retry.when != RetryWhen::Changed
    }

    /// The same, in a turn of which the model has taken something before.
    pub(crate) fn within_a_turn(self) -> Self {
        Self { retry: Retry { taken: PromptTaken::Yes, ..self.retry }, ..self }
    }

    /// A reply that is not read on.
    pub(crate) fn from_fault(fault: &ModelFault, target: &Target, token: Option<&Token>) -> Self {
        let origin = target.origin();
        let origin = origin.as_str();
        let stopped = |what: String| {
            Self::passing(format!("The answer of the model at {origin} was stopped, because {what}."))
        };
        let mib = |bytes: usize| bytes >> 20;
        match fault {
            ModelFault::Unreadable => unreadable(origin),
            ModelFault::Reported(text) => Self::passing(format!(
                "The model at {origin} broke off{}; ask again.",
                said(&serde_json::Value::String(text.clone()), token)
            )),
            ModelFault::CallIndex => stopped(format!(
                "it numbered a tool call beyond {}; ask again, or choose another model",
                bounds::CALLS
            )),
            ModelFault::Calls => stopped(format!(
                "it called more than {} tools at once; ask for a smaller step",
                bounds::CALLS
            )),
            ModelFault::Parts => stopped(format!(
                "it has more than {} parts; ask for a smaller step",
                bounds::PARTS
            )),
            ModelFault::ArgumentBytes => stopped(format!(
                "it gave a tool more than {} MiB of arguments; ask for smaller changes",
                mib(bounds::ARGUMENT_BYTES)
            )),
            ModelFault::ArgumentValues => stopped(format!(
                "it gave a tool more than {} values; ask for smaller changes",
                bounds::ARGUMENT_VALUES
            )),
            ModelFault::Name => stopped(
                "it named a tool call with a text that is too long to be a name; ask again, or choose another model"
                    .to_owned(),
            ),
            ModelFault::Retained => stopped(format!(
                "it grew past {} MiB; ask for less at a time",
                mib(bounds::RETAINED_BYTES)
            )),
        }
    }

    /// A failure between the request and the last byte of the answer.
    pub(crate) fn from_http(error: &HttpError, target: &Target) -> Self {
        let origin = target.origin();
        let origin = origin.as_str();
        match error {
            HttpError::Unreachable(Unreached::Tls(doubt)) => Self::untrusted(origin, doubt),
            HttpError::Unreachable(Unreached::Connection(cause)) => {
                Self::told(unreachable(target, &excerpt(cause)), Retry::not_taken(RetryWhen::Later))
            }
            HttpError::Silent => Self::told(
                format!("The model at {origin} has been silent for too long; ask again."),
                Retry::perhaps_taken(RetryWhen::Later),
            ),
            HttpError::NotHttp => Self::no_http(origin),
            HttpError::Broken => Self::told(
                format!("The connection to the model at {origin} broke; ask again."),
                Retry::perhaps_taken(RetryWhen::Later),
            ),
            HttpError::Encoded(encoding) => Self::told(
                format!(
                    "The model at {origin} compressed its answer ({}), which was not asked for and is not read; have it, or \
                     the proxy before it, answer without compression.",
                    excerpt(encoding)
                ),
                Retry::perhaps_taken(RetryWhen::Changed),
            ),
            HttpError::BodyTooLarge(limit) => Self::passing(format!(
                "The answer of the model at {origin} is larger than {} MiB and was not read; correct the model's address.",
                limit >> 20
            )),
            HttpError::EventTooLarge(limit) => Self::passing(format!(
                "The answer of the model at {origin} was stopped, because one piece of it is larger than {} MiB; ask for \
                 less at a time.",
                limit >> 20
            )),
            HttpError::Crowded => Self::passing(format!(
                "The answer of the model at {origin} was stopped, because too many large answers of models are being read \
                 at once; wait for one to end and ask again."
            )),
            HttpError::StreamTooLarge(limit) => Self::passing(format!(
                "The answer of the model at {origin} was stopped, because it is larger than {} MiB; ask for less at a time.",
                limit >> 20
            )),
            HttpError::TooManyEvents(limit) => Self::passing(format!(
                "The answer of the model at {origin} was stopped, because it came in more than {limit} pieces; ask for less \
                 at a time."
            )),
        }
    }

    /// TLS found something wrong, so that nothing was sent.
    fn untrusted(origin: &str, doubt: &TlsDoubt) -> Self {
        let (why, next) = (doubt.why(), doubt.next(AuthoritySetting::Machine));
        Self::setting(format!("The model at {origin} was sent nothing, because {why}; {next}."))
    }

    /// What answers speaks something else; to plain HTTP a host with TLS does.
    fn no_http(origin: &str) -> Self {
        let https =
            if origin.starts_with("http:") { ", which begins with https where it has TLS" } else { "" };
        Self::setting(format!(
            "What answers at {origin} speaks no HTTP, so it is no model; correct the model's address{https}."
        ))
    }

    /// The stream ended before the answer was complete.
    pub(crate) fn cut(target: &Target) -> Self {
        Self::passing(format!(
            "The answer of the model at {} was cut off before its end; ask again.",
            target.origin().as_str()
        ))
    }

    /// A refusal by status, with the beginning of its body, and how long it asks to `wait`.
    pub(crate) fn from_status(
        status: u16,
        body: &[u8],
        wait: Option<Duration>,
        target: &Target,
        token: Option<&Token>,
    ) -> Self {
        let origin = target.origin();
        let origin = origin.as_str();
        let text = String::from_utf8_lossy(body).to_lowercase();
        let is_too_long = status == 413 || (status == 400 && TOO_LONG.iter().any(|part| text.contains(part)));
        let about = if is_too_long { FailureAbout::TooLong } else { FailureAbout::Else };
        let body = serde_json::from_slice(body).unwrap_or(serde_json::Value::Null);
        let message = match status {
            403 if body.is_null() => format!(
                "What stands before the model at {origin} does not let us through (HTTP 403); ask whoever runs it, or \
                 correct the model's address."
            ),
            // The body of a refusal may repeat the credentials, so it is not shown.
            401 | 403 if token.is_none() => format!(
                "The model at {origin} wants a key (HTTP {status}) and there is none for it; set the key of the model in your \
                 editor, or in the environment variable {}.",
                target.key_variable()
            ),
            401 | 403 => {
                format!(
                    "The model at {origin} does not take our key (HTTP {status}); set the right one in your editor, or in \
                     the environment variable {}.",
                    target.key_variable()
                )
            }
            300..=399 => format!(
                "The model at {origin} answered with a redirect (HTTP {status}), which is never followed, because a \
                 token must not travel; give the model's final address."
            ),
            404 => format!(
                "There is no model `{}` at {} (HTTP 404){}; check the model's name and address.",
                excerpt(&target.name),
                target.base,
                said(&body, token)
            ),
            407 => format!(
                "The proxy before the model at {origin} wants a login (HTTP 407); put it into the proxy's address in the \
                 environment, or name the model's host in NO_PROXY."
            ),
            408 | 502 | 504 => format!(
                "The model at {origin} did not answer what stands before it in time (HTTP {status}); ask again."
            ),
            413 => format!(
                "What was sent is too large for the model at {origin} or for what stands before it (HTTP 413){}; ask for \
                 less at a time, or begin a new session.",
                said(&body, token)
            ),
            429 | 503 | 529 => format!(
                "The model at {origin} takes no more requests now (HTTP {status}){}; wait {}and ask again.",
                said(&body, token),
                wait.filter(|wait| !wait.is_zero()).map(|wait| in_words(wait) + " ").unwrap_or_default()
            ),
            500..=599 => {
                format!("The model at {origin} failed (HTTP {status}){}; ask again.", said(&body, token))
            }
            _ => format!(
                "The model at {origin} refused the request (HTTP {status}){}; check the model's settings.",
                said(&body, token)
            ),
        };
        let retry = match status {
            413 => Retry::not_taken(RetryWhen::Never),
            // A refusal that comes before anything is done.
            429 | 503 | 529 => Retry::not_taken(RetryWhen::Later).after(wait),
            // How far it had come is not said, nor what stands behind whoever answered.
            408 | 500..=599 => Retry::perhaps_taken(RetryWhen::Later),
            _ => Retry::not_taken(RetryWhen::Changed),
        };
        Self { message, status: Some(status), retry, about }
    }
}

/// That there is no connection, and what helps: a model of this machine is started, one elsewhere is not.
fn unreachable(target: &Target, cause: &str) -> String {
    let origin = target.origin();
    let origin = origin.as_str();
    match (target.is_loopback(), target.provider) {
        (true, Provider::Ollama) => format!(
            "Ollama cannot be reached at {origin} ({cause}); start it with `ollama serve`, or correct the model's address."
        ),
        (true, _) => format!(
            "The model at {origin} cannot be reached ({cause}); start it, or correct the model's address or the proxy."
        ),
        (false, _) => format!(
            "The model at {origin} cannot be reached ({cause}); check the network connection, the model's address and the \
             proxy."
        ),
    }
}

fn unreadable(origin: &str) -> ModelError {
    ModelError::passing(format!(
        "The answer of the model at {origin} could not be read; check that the model's provider fits its address."
    ))
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
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
