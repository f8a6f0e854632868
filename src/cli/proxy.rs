//! Proxies as the environment names them: which one a URL would take, and how it may be shown.
//!
//! Never connects, never shows a password.

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

/// The proxy variables that are set.
#[derive(Debug)]
pub(super) struct Proxies {
    /// Name as it is spelled, and value.
    set: Vec<(&'static str, String)>,
    matcher: Matcher,
}

const NAMES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

impl Proxies {
    /// Reads the variables through `env`; empty ones count as absent.
    pub(super) fn read(env: impl Fn(&str) -> Option<String>) -> Self {
        let set: Vec<(&'static str, String)> = NAMES
            .into_iter()
            .filter_map(|name| Some((name, env(name).filter(|value| !value.is_empty())?)))
            .collect();
        // Of the two spellings of a name the upper one counts.
        let value = |name: &str| {
            let found = set.iter().find(|(set, _)| set.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let matcher = Matcher::builder()
            .all(value("ALL_PROXY"))
            .http(value("HTTP_PROXY"))
            .https(value("HTTPS_PROXY"))
            .no(value("NO_PROXY"))
            .build();
        Self { set, matcher }
    }

    /// `NAME=value` for each, without user names and passwords.
    pub(super) fn shown(&self) -> Vec<String> {
        self.set.iter().map(|(name, value)| format!("{name}={}", masked(value))).collect()
    }

    /// The proxy that a request to this URL takes, as the HTTP client decides it; `None` goes straight.
    pub(super) fn for_url(&self, url: &Url) -> Option<Url> {
        let proxy = self.matcher.intercept(&url.as_str().parse().ok()?)?;
        Url::parse(&proxy.uri().to_string()).ok().filter(Url::has_host)
    }
}

/// The text with whatever stands before an `@` in place of a user name hidden; also where it is no URL at all.
pub(super) fn masked(value: &str) -> String {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), value),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(set: &[(&str, &str)]) -> Proxies {
        Proxies::read(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn credentials_of_a_proxy_are_never_shown() {
        let set = [
            ("HTTPS_PROXY", "http://user:p@ss@proxy:3128"),
            ("http_proxy", "me:secret@proxy"),
            ("NO_PROXY", "a,b"),
        ];
        assert_eq!(
            proxies(&set).shown(),
            ["HTTPS_PROXY=http://***@proxy:3128", "http_proxy=***@proxy", "NO_PROXY=a,b"]
        );
    }

    #[test]
    fn the_proxy_goes_by_scheme_and_no_proxy() {
        let set = [
            ("HTTPS_PROXY", "http://one:1"),
            ("ALL_PROXY", "two:2"),
            ("NO_PROXY", "localhost, .corp.example"),
        ];
        let taken = |url: &str| {
            let url = Url::parse(url).expect("is a URL");
            proxies(&set).for_url(&url).map(|proxy| proxy.as_str().trim_end_matches('/').to_owned())
        };
        assert_eq!(taken("https://api.example").as_deref(), Some("http://one:1"));
        assert_eq!(taken("http://api.example").as_deref(), Some("http://two:2"));
        assert_eq!(taken("http://localhost:9"), None);
        assert_eq!(taken("https://git.corp.example"), None);
        assert_eq!(taken("https://notcorp.example").as_deref(), Some("http://one:1"));
    }
}
