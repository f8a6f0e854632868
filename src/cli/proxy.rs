//! Proxies as the environment names them: which one a URL would take, and how it may be shown.
//!
//! Never connects, never shows a password.

use url::Url;

/// The proxy variables of this process that are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Name as it is spelled, and value.
    set: Vec<(&'static str, String)>,
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
    pub fn read(env: impl Fn(&str) -> Option<String>) -> Self {
        let set =
            NAMES.into_iter().filter_map(|name| Some((name, env(name).filter(|value| !value.is_empty())?)));
        Self { set: set.collect() }
    }

    /// `NAME=value` for each, without user names and passwords.
    pub fn shown(&self) -> Vec<String> {
        self.set.iter().map(|(name, value)| format!("{name}={}", masked(value))).collect()
    }

    /// The proxy that a request to this URL takes; `None` goes straight.
    pub fn for_url(&self, url: &Url) -> Option<Url> {
        let host = url.host_str()?;
        if self.bypassed(host) {
            return None;
        }
        let names: [&str; 4] = match url.scheme() {
            "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let value = names.iter().find_map(|name| self.value(name))?;
        parse(value)
    }

    fn bypassed(&self, host: &str) -> bool {
        let list = self.value("NO_PROXY").or_else(|| self.value("no_proxy")).unwrap_or_default();
        list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
            let entry = entry.trim_start_matches("*.").trim_start_matches('.');
            entry == "*" || host == entry || host.strip_suffix(entry).is_some_and(|rest| rest.ends_with('.'))
        })
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.as_str())
    }
}

/// A proxy may be written without its scheme.
fn parse(value: &str) -> Option<Url> {
    let with_scheme = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    Url::parse(&with_scheme).ok().filter(Url::has_host)
}

/// The text with whatever stands before an `@` in place of a user name hidden; also where it is no URL at all.
pub fn masked(value: &str) -> String {
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
