//! Why an exchange over HTTP came to nothing, in words that a person can do something with.
//!
//! Owns the reading of the errors below `reqwest`. Never repeats a URL: it may hold ids, and the origin is named anyway.

use std::error::Error;
use std::io;

/// Longest piece of foreign words, in characters.
const LONGEST: usize = 300;

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No connection was taken or kept; the end of a sentence.
    NoConnection(String),
    /// It ended before the answer was whole.
    Cut,
    /// What answers speaks no HTTP.
    NotHttp,
    /// TLS found something wrong; the end of a sentence.
    Tls(String),
}

impl Cause {
    /// Reads it.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
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
            Self::NoConnection(words) | Self::Tls(words) => words.clone(),
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
        return Some(Cause::Tls(doubt_of(doubt)));
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

/// What TLS found wrong, and for the usual case what to do about it.
fn doubt_of(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Certificate, Error};
    match error {
        Error::InvalidCertificate(Certificate::UnknownIssuer) => {
            "nobody whom this machine trusts has signed its certificate (add its authority's certificate to those of this machine, \
             or name its file in the settings)"
                .to_owned()
        }
        Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        Error::InvalidCertificate(Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }) => {
            "its certificate is for another name".to_owned()
        }
        Error::InvalidCertificate(Certificate::Other(other)) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority, as `openssl req -x509` makes one, and a server needs one of its own".to_owned()
        }
        Error::InvalidMessage(_) => "it speaks no TLS, so its address may begin with http".to_owned(),
        other => one_line(&format!("TLS with it failed ({other})")),
    }
}

fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_finds_wrong_is_said_without_its_own_words_where_a_person_can_do_something() {
        use rustls::{CertificateError, Error, InvalidMessage};
        let said = |found: CertificateError| doubt_of(&Error::InvalidCertificate(found));
        assert!(
            said(CertificateError::UnknownIssuer).starts_with("nobody whom this machine trusts has signed")
        );
        assert_eq!(said(CertificateError::Expired), "its certificate has expired");
        assert_eq!(said(CertificateError::NotValidForName), "its certificate is for another name");
        let plain = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(doubt_of(&plain), "it speaks no TLS, so its address may begin with http");
        let other = doubt_of(&Error::General("x".repeat(10_000)));
        assert!(other.starts_with("TLS with it failed (") && other.chars().count() <= LONGEST);
    }
}
