//! Why an exchange over HTTP came to nothing, in words that a person can do something with.
//!
//! Owns the reading of the errors below `reqwest`. Never repeats a URL: it may hold ids, and the origin is named anyway.

use std::error::Error;
use std::io;

use super::tls_doubt::{TlsDoubt, one_line};

/// Why an endpoint was not reached, or was reached and not spoken with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// No connection; the end of a sentence.
    Connection(String),
    /// TLS found something wrong.
    Tls(TlsDoubt),
}

impl From<Cause> for Unreached {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Tls(doubt) => Self::Tls(doubt),
            cause => Self::Connection(cause.words()),
        }
    }
}

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No connection was taken or kept; the end of a sentence.
    NoConnection(String),
    /// It ended before the answer was whole.
    Cut,
    /// What answers speaks no HTTP.
    NotHttp,
    /// TLS found something wrong.
    Tls(TlsDoubt),
}

impl Cause {
    /// Reads it.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        match Self::read(error) {
            // Before there is a connection nothing of an answer can be missing: it ended while TLS began.
            Self::Cut if error.is_connect() => Self::Tls(TlsDoubt::NoTls),
            cause => cause,
        }
    }

    fn read(error: &reqwest::Error) -> Self {
        let mut deepest = None;
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(known) = known(cause) {
                return known;
            }
            deepest = Some(cause.to_string());
            source = cause.source();
        }
        if error.is_dns() {
            return Self::NoConnection("the name of its host is not known".to_owned());
        }
        Self::NoConnection(deepest.map_or_else(|| "the connection failed".to_owned(), |text| one_line(&text)))
    }

    /// The end of a sentence that says why.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::NoConnection(words) => words.clone(),
            Self::Tls(doubt) => doubt.why(),
            Self::Cut => "the connection was cut before the answer was whole".to_owned(),
            Self::NotHttp => "what answers there speaks no HTTP".to_owned(),
        }
    }
}

/// What one of the errors means, where it is the one that says it.
fn known(cause: &(dyn Error + 'static)) -> Option<Cause> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return if error.is_parse() && !error.is_parse_too_large() {
            Some(Cause::NotHttp)
        } else if error.is_incomplete_message() {
            Some(Cause::Cut)
        } else {
            None
        };
    }
    if let Some(doubt) = cause.downcast_ref::<rustls::Error>() {
        return Some(Cause::Tls(TlsDoubt::of(doubt)));
    }
    let error = cause.downcast_ref::<io::Error>()?;
    // One inside another hides what is in it: its source is the source of that.
    if let Some(known) = error.get_ref().and_then(|inner| known(inner)) {
        return Some(known);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(Cause::NoConnection("nothing listens there".to_owned())),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            Some(Cause::NoConnection("it closed the connection".to_owned()))
        }
        io::ErrorKind::UnexpectedEof => Some(Cause::Cut),
        _ => None,
    }
}
