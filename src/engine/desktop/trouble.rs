//! What can go wrong with a request to a desktop host, and the sentence for each.
//!
//! Owns the reading of refusals. Never repeats a token, a URL, or a body that says nothing in words.

use std::time::Duration;

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::http::refusal;
use crate::domain::remedy::{Retry, RetryWhen};
use crate::http::{AuthoritySetting, HttpError, Unreached};

/// Longest piece of a host's text in a sentence of ours, in characters.
const LONGEST: usize = 300;

/// What a missing route says in the public source, and in many a framework.
const NO_ROUTE: &str = "not found";

/// What is said of one that speaks something else.
const NO_HTTP: &str = "it speaks no HTTP";

/// Why a request did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostTrouble {
    /// Nothing answers, or nothing that can be spoken with.
    Unreachable(Unreached),
    /// The connection broke, or no answer came in time.
    Broken(String),
    /// The token would be readable on the way.
    Exposed,
    /// It wants a token, or another one.
    Unauthorized {
        /// Whether we sent one.
        had_token: bool,
    },
    /// The host does not have this route.
    NoRoute,
    /// There is no such thing; in the host's words.
    Gone(String),
    /// It refuses; status and words.
    Refused(u16, String),
    /// Not now.
    Busy(Option<Duration>),
    /// What answers is no desktop host, or fails inside.
    Strange(u16, String),
}

impl HostTrouble {
    /// Whether it wants a token, and none was there to send.
    pub(super) fn wants_token(&self) -> bool {
        matches!(self, Self::Unauthorized { had_token: false })
    }

    /// A failure of the transport.
    pub(super) fn of_transport(error: &HttpError) -> Self {
        match error {
            HttpError::Unreachable(why) => Self::Unreachable(why.clone()),
            HttpError::Silent => Self::Broken("it was silent for too long".to_owned()),
            HttpError::Broken => Self::Broken("the connection ended".to_owned()),
            HttpError::NotHttp => Self::Strange(0, NO_HTTP.to_owned()),
            HttpError::Encoded(_)
            | HttpError::BodyTooLarge(_)
            | HttpError::EventTooLarge(_)
            | HttpError::StreamTooLarge(_)
            | HttpError::Crowded
            | HttpError::TooManyEvents(_) => {
                Self::Strange(0, "its answer is too large or in a form that was not asked for".to_owned())
            }
        }
    }

    /// An answer that is no success.
    pub(super) fn of_answer(status: u16, body: &[u8], had_token: bool, wait: Option<Duration>) -> Self {
        let said = refusal(body).map(|said| short(&said));
        match (status, said) {
            (401, _) | (403, None) => Self::Unauthorized { had_token },
            (405 | 501, _) => Self::NoRoute,
            (404, None) => Self::NoRoute,
            (404, Some(said)) if said.eq_ignore_ascii_case(NO_ROUTE) => Self::NoRoute,
            (404 | 410, Some(said)) => Self::Gone(said),
            (410, None) => Self::Gone("it is gone".to_owned()),
            (429 | 503, _) => Self::Busy(wait),
            (400..=499, Some(said)) => Self::Refused(status, said),
            (_, said) => Self::Strange(status, said.unwrap_or_default()),
        }
    }

    /// How long the host asks to be left alone.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Self::Busy(wait) => *wait,
            _ => None,
        }
    }

    /// Whether whoever watches the host should look at it again.
    pub(super) fn is_of_the_host(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::Broken(_)
                | Self::Unauthorized { .. }
                | Self::Exposed
                | Self::Busy(_)
        )
    }

    /// The refusal for the user; `origin` is where the host is.
    pub(super) fn told(&self, origin: &str) -> CodedError {
        let (code, message) = match self {
            Self::Unreachable(Unreached::Tls(doubt)) => (
                ErrorCode::EngineUnreachable,
                format!(
                    "The desktop host at {origin} was sent nothing, because {}; {}.",
                    doubt.why(),
                    doubt.next(AuthoritySetting::File)
                ),
            ),
            Self::Unreachable(Unreached::Connection(why)) => (
                ErrorCode::EngineUnreachable,
                format!(
                    "The desktop host at {origin} cannot be reached: {why}; start it, or correct its address."
                ),
            ),
            Self::Broken(why) => (
                ErrorCode::EngineUnreachable,
                format!("The connection to the desktop host at {origin} broke: {why}; try again."),
            ),
            Self::Exposed => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The token for {origin} would be readable on the way, so it was not sent; use https, or a host on this machine."
                ),
            ),
            Self::Unauthorized { had_token: true } => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The desktop host at {origin} does not take our token; give it the one that the host shows."
                ),
            ),
            Self::Unauthorized { had_token: false } => (
                ErrorCode::EngineUnauthorized,
                format!(
                    "The desktop host at {origin} wants a token; set BREADBOARD_API_TOKEN, or give it in the editor."
                ),
            ),
            Self::NoRoute => (
                ErrorCode::Unsupported,
                format!(
                    "The desktop host at {origin} does not offer this; use a newer one, or do it at the host."
                ),
            ),
            Self::Gone(said) => (
                ErrorCode::NotFound,
                format!(
                    "The desktop host at {origin} has no such thing: {}; list again and choose.",
                    end(said)
                ),
            ),
            Self::Refused(_, said) => {
                (ErrorCode::EngineRejected, format!("The desktop host at {origin} refused: {}.", end(said)))
            }
            Self::Busy(_) => (
                ErrorCode::EngineUnreachable,
                format!("The desktop host at {origin} is busy; try again later."),
            ),
            Self::Strange(0, why) if why == NO_HTTP && origin.starts_with("http:") => (
                ErrorCode::EngineUnreachable,
                format!(
                    "What answers at {origin} speaks no plain HTTP; begin its address with https where the host has TLS, or correct it."
                ),
            ),
            Self::Strange(0, why) => (
                ErrorCode::EngineUnreachable,
                format!("What answers at {origin} is no desktop host: {}; correct its address.", end(why)),
            ),
            Self::Strange(status @ 300..=399, _) => (
                ErrorCode::EngineUnreachable,
                format!(
                    "What answers at {origin} sends us elsewhere (HTTP {status}), and a token does not travel; correct its address."
                ),
            ),
            Self::Strange(status, said) => {
                let said = if said.is_empty() { String::new() } else { format!(": {}", end(said)) };
                (
                    ErrorCode::EngineRejected,
                    format!(
                        "The desktop host at {origin} failed (HTTP {status}){said}; look into its log and try again."
                    ),
                )
            }
        };
        CodedError::new(code, message).with_remedy(self.retry())
    }

    /// Whether the same can be sent again; of what was never a prompt.
    fn retry(&self) -> Retry {
        let when = match self {
            Self::Unreachable(_) | Self::Broken(_) | Self::Busy(_) => RetryWhen::Later,
            Self::Exposed | Self::Unauthorized { .. } | Self::Strange(..) => RetryWhen::Changed,
            Self::NoRoute | Self::Gone(_) | Self::Refused(..) => RetryWhen::Never,
        };
        Retry::not_taken(when).after(self.wait())
    }
}

/// Words of a host as the end of a sentence.
fn end(words: &str) -> &str {
    words.trim().trim_end_matches(['.', '!'])
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(LONGEST).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_refuses_is_told_apart() {
        let of = |status, body: &str| HostTrouble::of_answer(status, body.as_bytes(), true, None);
        assert_eq!(of(404, r#"{"detail":"Not Found"}"#), HostTrouble::NoRoute);
        assert_eq!(of(405, r#"{"detail":"Method Not Allowed"}"#), HostTrouble::NoRoute);
        assert_eq!(
            of(404, r#"{"detail":"Workspace not found"}"#),
            HostTrouble::Gone("Workspace not found".to_owned())
        );
        assert_eq!(of(403, ""), HostTrouble::Unauthorized { had_token: true });
        assert_eq!(of(302, ""), HostTrouble::Strange(302, String::new()));
        let told = of(302, "").told("http://h");
        assert!(
            told.message.starts_with("What answers at http://h sends us elsewhere (HTTP 302)"),
            "{told:?}"
        );
        assert!(HostTrouble::Exposed.told("http://h").message.contains("readable on the way"));
    }
}
