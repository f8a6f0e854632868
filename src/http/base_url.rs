//! The base URL of an HTTP engine, checked once.
//!
//! Owns the origin that a token is bound to, whether it is this machine, and how a path is put behind the base. Never
//! contacts anyone.

use url::{Host, Url};

use super::client::Route;

/// A checked base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// With a `/` at its end; no user name, no query, no fragment.
    base: Url,
    origin: String,
    loopback: bool,
}

/// The text is no http or https URL, or has a user name, a query or a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoBaseUrl;

impl BaseUrl {
    /// Reads a base URL: http or https, a path before the engine's own paths allowed. The error does not repeat it, because
    /// it may hold a password.
    pub fn parse(text: &str) -> Result<Self, NoBaseUrl> {
        let mut base = Url::parse(text.trim()).map_err(|_| NoBaseUrl)?;
        let named = !base.username().is_empty() || base.password().is_some();
        let more = base.query().is_some() || base.fragment().is_some();
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() || named || more {
            return Err(NoBaseUrl);
        }
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        let loopback = match base.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
            }
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
            None => false,
        };
        let origin = base.origin().ascii_serialization();
        Ok(Self { base, origin, loopback })
    }

    /// `scheme://host[:port]`: what a token is bound to and what messages name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether this URL, where it is one, is of another origin: what was given for that one is not sent here.
    pub fn is_elsewhere_than(&self, url: Option<&str>) -> bool {
        url.and_then(|url| Self::parse(url).ok()).is_some_and(|other| other.origin != self.origin)
    }

    /// Whether what is sent there can be read on the way.
    pub fn is_readable_on_the_way(&self) -> bool {
        self.base.scheme() == "http" && !self.loopback
    }

    /// The way there: a proxy would see a token for this machine in the clear.
    pub fn route(&self) -> Route {
        if self.loopback { Route::Direct } else { Route::SystemProxy }
    }

    /// Whether no TLS is spoken: neither with the engine nor with a proxy, which this machine never needs.
    pub fn needs_no_tls(&self) -> bool {
        self.base.scheme() == "http" && self.loopback
    }

    /// The URL of a path. `None` when one of `parts` is not one plain part: an id never chooses another path.
    pub fn at(&self, parts: &[&str], query: &[(&str, &str)]) -> Option<Url> {
        if parts.iter().any(|part| part.is_empty() || part.trim_matches('.').is_empty() || part.len() > 512) {
            return None;
        }
        let mut url = self.base.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(parts);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::{BaseUrl, NoBaseUrl, Route};

    #[test]
    fn a_base_may_have_a_path_and_paths_go_behind_it() {
        for (given, then) in [
            ("http://127.0.0.1:9099", "http://127.0.0.1:9099/v1/sessions/a%2Fb?path=x+y%26"),
            (" http://127.0.0.1:9099/ ", "http://127.0.0.1:9099/v1/sessions/a%2Fb?path=x+y%26"),
            ("https://h/pre", "https://h/pre/v1/sessions/a%2Fb?path=x+y%26"),
            ("https://h/pre/", "https://h/pre/v1/sessions/a%2Fb?path=x+y%26"),
        ] {
            let base = BaseUrl::parse(given).unwrap();
            let url = base.at(&["v1", "sessions", "a/b"], &[("path", "x y&")]).unwrap();
            assert_eq!(url.as_str(), then, "{given}");
        }
        let base = BaseUrl::parse("http://h/pre").unwrap();
        for id in ["", ".", "..", "..."] {
            assert_eq!(base.at(&["v1", "sessions", id], &[]), None, "{id:?}");
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused() {
        for given in [
            "",
            "h:1",
            "127.0.0.1:9099",
            "ftp://h",
            "http://u:secret@h",
            "http://h/?secret",
            "http://h/#secret",
        ] {
            assert_eq!(BaseUrl::parse(given), Err(NoBaseUrl), "{given}");
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for (given, loopback, readable) in [
            ("http://127.0.0.1:9099", true, false),
            ("http://127.1.2.3", true, false),
            ("http://[::1]:9099", true, false),
            ("http://[::ffff:127.0.0.1]", true, false),
            ("http://LOCALHOST.", true, false),
            ("http://a.localhost", true, false),
            ("https://localhost", true, false),
            ("http://localhost.evil.example", false, true),
            ("http://10.0.0.1", false, true),
            ("https://10.0.0.1", false, false),
            ("http://0.0.0.0:9099", false, true),
        ] {
            let base = BaseUrl::parse(given).unwrap();
            assert_eq!(
                (base.route() == Route::Direct, base.is_readable_on_the_way()),
                (loopback, readable),
                "{given}"
            );
        }
    }
}
