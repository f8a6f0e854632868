//! What can go wrong between a request and the last byte of its answer.
//!
//! Owns the cases; the caller knows the endpoint's name and makes the sentence.

use super::cause::{Cause, Unreached};

/// A failure of the transport, or a limit that an answer passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HttpError {
    /// No connection, or none that could be used.
    Unreachable(Unreached),
    /// No byte came for too long.
    Silent,
    /// The connection broke.
    Broken,
    /// What came is no HTTP.
    NotHttp,
    /// The answer came in this content encoding.
    Encoded(String),
    /// The body is larger than this many bytes.
    BodyTooLarge(usize),
    /// One event or line is larger than this many bytes.
    EventTooLarge(usize),
    /// A streamed body is larger than this many bytes.
    StreamTooLarge(u64),
    /// Other streams hold all that may be held; this one would need more.
    Crowded,
    /// A streamed body has more events than this.
    TooManyEvents(u64),
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() {
            Self::Unreachable(Cause::of(&error).into())
        } else if error.is_timeout() {
            Self::Silent
        } else if Cause::of(&error) == Cause::NotHttp {
            Self::NotHttp
        } else {
            Self::Broken
        }
    }
}
