//! What TLS found wrong at an endpoint, in words that a person can do something with.
//!
//! Owns the reading of the errors of `rustls`, and what is to be done about each. Never says that an endpoint is not there: with each of
//! these something answered, and was sent nothing.

use rustls::pki_types::ServerName;
use rustls::{CertificateError, Error};

/// Longest piece of foreign words, in characters.
const LONGEST: usize = 300;

/// Names of a certificate in a sentence.
const NAMES: usize = 4;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Why nothing was sent over TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsDoubt {
    /// Nobody whom this machine trusts has signed the certificate.
    UnknownAuthority,
    /// It was signed by another one than the one that is trusted under that name, as when that was made anew.
    OtherAuthority,
    /// The certificate is over, so many days where it is known.
    Expired(Option<u64>),
    /// The certificate begins later.
    NotYetValid,
    /// The certificate is for other names than the one in the address.
    OtherName {
        /// The one in the address; unknown where the system checked it.
        wanted: Option<String>,
        /// Those of the certificate, as far as they are known.
        names: Vec<String>,
    },
    /// The certificate of a server is the one of an authority.
    AuthorityAsServer,
    /// What answers speaks no TLS.
    NoTls,
    /// Something else; the end of a sentence.
    Else(String),
}

/// Where a user can name an authority that this machine does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthoritySetting {
    /// Among those of this machine alone.
    Machine,
    /// In the settings too, by its file.
    File,
}

impl TlsDoubt {
    /// Reads an error.
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(certificate) => Self::of_certificate(certificate),
            Error::InvalidMessage(_) => Self::NoTls,
            other => Self::failed(other),
        }
    }

    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            CertificateError::BadSignature => Self::OtherAuthority,
            CertificateError::Expired => Self::Expired(None),
            CertificateError::ExpiredContext { time, not_after } => {
                Self::Expired(time.as_secs().checked_sub(not_after.as_secs()).map(|over| over / DAY))
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            CertificateError::NotValidForName => Self::OtherName { wanted: None, names: Vec::new() },
            CertificateError::NotValidForNameContext { expected, presented } => Self::OtherName {
                wanted: Some(wanted(expected)),
                names: presented.iter().filter_map(|one| name(one)).collect(),
            },
            CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                Self::AuthorityAsServer
            }
            other => Self::failed(other),
        }
    }

    fn failed(error: &dyn std::fmt::Display) -> Self {
        Self::Else(one_line(&format!("TLS with it failed ({error})")))
    }

    /// What is wrong, as the end of a sentence about the endpoint.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::UnknownAuthority => "nobody whom this machine trusts has signed its certificate".to_owned(),
            Self::OtherAuthority => {
                "its certificate is not signed by the authority that this machine trusts under that name"
                    .to_owned()
            }
            Self::Expired(days) => match days {
                None => "its certificate has expired".to_owned(),
                Some(0) => "its certificate expired today".to_owned(),
                Some(1) => "its certificate expired yesterday".to_owned(),
                Some(days) => format!("its certificate expired {days} days ago"),
            },
            Self::NotYetValid => "its certificate is not valid yet".to_owned(),
            Self::OtherName { wanted, names } => {
                let not = wanted.as_ref().map(|name| format!(" and not for `{name}`")).unwrap_or_default();
                match names.as_slice() {
                    [] if wanted.is_some() => "its certificate names no host".to_owned(),
                    [] => "its certificate is for another name".to_owned(),
                    [one] => format!("its certificate is for `{one}`{not}"),
                    several => format!("its certificate is for {}{not}", listed(several)),
                }
            }
            Self::AuthorityAsServer => {
                "its certificate is that of an authority, as `openssl req -x509` makes one".to_owned()
            }
            Self::NoTls => "what answers there speaks no TLS".to_owned(),
            Self::Else(words) => words.clone(),
        }
    }

    /// What to do about it, as the end of a sentence.
    pub(crate) fn next(&self, setting: AuthoritySetting) -> &'static str {
        match self {
            Self::UnknownAuthority | Self::OtherAuthority => match setting {
                AuthoritySetting::Machine => "add its authority's certificate to those of this machine",
                AuthoritySetting::File => {
                    "add its authority's certificate to those of this machine, or name its file in the settings"
                }
            },
            Self::Expired(_) | Self::NotYetValid => {
                "have it renewed there, or set the clock of this machine where that is wrong"
            }
            Self::OtherName { names, .. } if names.is_empty() => {
                "give the address that its certificate is for, or have one made there for this address"
            }
            Self::OtherName { .. } => {
                "give an address with a name of its certificate, or have one made there for this address"
            }
            Self::AuthorityAsServer => "have one made for the server, which that authority signs",
            Self::NoTls => "check its address: the port, and http in place of https where it has no TLS",
            Self::Else(_) => "ask whoever runs it",
        }
    }
}

/// The name in an address.
fn wanted(expected: &ServerName<'_>) -> String {
    one_line(&expected.to_str())
}

/// A name of a certificate: a host or an address of one. It stands in there as `DnsName("…")` or `IpAddress(…)`.
fn name(presented: &str) -> Option<String> {
    let inside = |kind: &str| presented.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')');
    let name = inside("DnsName").or_else(|| inside("IpAddress"))?.trim_matches('"');
    (!name.is_empty()).then(|| one_line(name).replace('`', ""))
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMES) {
        0 => {}
        1 => shown.push("one more".to_owned()),
        more => shown.push(format!("{more} more")),
    }
    let last = shown.pop().unwrap_or_default();
    format!("{} and {last}", shown.join(", "))
}

/// Foreign words on one line, bounded.
pub(super) fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use rustls::InvalidMessage;
    use rustls::pki_types::UnixTime;

    use super::*;

    fn said(error: CertificateError) -> String {
        TlsDoubt::of(&Error::InvalidCertificate(error)).why()
    }

    fn other_name(presented: &[&str]) -> String {
        let expected = ServerName::try_from("engine.example").expect("a name").to_owned();
        let presented = presented.iter().map(|name| (*name).to_owned()).collect();
        said(CertificateError::NotValidForNameContext { expected, presented })
    }

    #[test]
    fn names_of_a_certificate_are_said_as_they_stand_in_an_address() {
        assert_eq!(
            other_name(&["DnsName(\"a.example\")"]),
            "its certificate is for `a.example` and not for `engine.example`"
        );
        let several =
            ["DnsName(\"a.example\")", "IpAddress(10.0.0.1)", "DirectoryName", "DnsName(\"*.b.example\")"];
        assert_eq!(
            other_name(&several),
            "its certificate is for `a.example`, `10.0.0.1` and `*.b.example` and not for `engine.example`"
        );
        let many: Vec<String> = (0..90).map(|number| format!("DnsName(\"host-{number}\")")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            other_name(&many),
            "its certificate is for `host-0`, `host-1`, `host-2`, `host-3` and 86 more and not for `engine.example`"
        );
        assert_eq!(other_name(&[]), "its certificate names no host");
        assert_eq!(said(CertificateError::NotValidForName), "its certificate is for another name");
    }

    #[test]
    fn how_long_a_certificate_is_over_is_said_in_days() {
        let since = |seconds: u64| {
            let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
            said(CertificateError::ExpiredContext { time: at(1_000_000 + seconds), not_after: at(1_000_000) })
        };
        assert_eq!(since(3_600), "its certificate expired today");
        assert_eq!(since(DAY), "its certificate expired yesterday");
        assert_eq!(since(12 * DAY + 5), "its certificate expired 12 days ago");
        assert_eq!(said(CertificateError::Expired), "its certificate has expired");
    }

    #[test]
    fn what_is_unknown_is_said_in_the_words_of_tls_and_bounded() {
        let plain = TlsDoubt::of(&Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert_eq!(plain, TlsDoubt::NoTls);
        let other = TlsDoubt::of(&Error::General("x".repeat(10_000))).why();
        assert!(other.starts_with("TLS with it failed (") && other.chars().count() <= 300, "{other}");
    }
}
