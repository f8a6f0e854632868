//! Who may speak to the host at all: checked before any route, over HTTP and WebSocket alike.
//!
//! Owns the checks, in this order: no web page (`Origin`), a name that is ours (`Host`, against DNS rebinding), not too often, the
//! token. A token in the address is not taken: addresses stand in logs. Tests: below, and `tests/hostile/desktop_host.rs`.

use axum::http::{HeaderMap, header};

use super::rate::RateLimit;
use super::token::HostToken;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};

/// Requests at once and a second, of all clients together. An editor needs a handful at its start.
const REQUESTS: (u32, u32) = (400, 100);

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    token: HostToken,
    /// Names beside addresses and `localhost`, lower case.
    names: Vec<String>,
    requests: RateLimit,
}

impl Gate {
    /// Of a host with this token that answers to these names too.
    pub(crate) fn new(token: HostToken, names: &[String]) -> Self {
        let names = names.iter().map(|name| name.trim_end_matches('.').to_ascii_lowercase()).collect();
        Self { token, names, requests: RateLimit::new(REQUESTS.0, REQUESTS.1) }
    }

    /// Whether a request with these headers may go on.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), DesktopRefusal> {
        self.check_caller(headers)?;
        self.check_token(headers)
    }

    /// The same before anybody has the token.
    pub(super) fn check_caller(&self, headers: &HeaderMap) -> Result<(), DesktopRefusal> {
        if headers.contains_key(header::ORIGIN) {
            return Err(DesktopRefusal::new(
                RefusalCode::ForbiddenOrigin,
                "A web page asks (`Origin`), and this host answers none; use a client that is not a web page.",
            ));
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.answers_to(host)) {
            return Err(DesktopRefusal::new(
                RefusalCode::ForbiddenOrigin,
                "This host does not answer to that name; use its address, or name it with --allow-host when it is started.",
            ));
        }
        if !self.requests.take() {
            return Err(DesktopRefusal::new(
                RefusalCode::RateLimited,
                "Too many requests came; wait a second and ask again.",
            ));
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), DesktopRefusal> {
        match bearer(headers) {
            Some(given) if self.token.is(given) => Ok(()),
            Some(_) => Err(DesktopRefusal::new(
                RefusalCode::Unauthorized,
                "The token is wrong; take the one in the token file of the host.",
            )),
            None => Err(DesktopRefusal::new(
                RefusalCode::Unauthorized,
                "The token is missing; send it as `Authorization: Bearer …`.",
            )),
        }
    }

    /// An address cannot be made to point elsewhere, a name can.
    fn answers_to(&self, host: &str) -> bool {
        let name = without_port(host).trim_end_matches('.').to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        address.parse::<std::net::IpAddr>().is_ok() || name == "localhost" || self.names.contains(&name)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        Some(_) | None => host,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let given = all.next()?.to_str().ok()?;
    // Two say nothing.
    if all.next().is_some() {
        return None;
    }
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn code(headers: &[(&str, &str)]) -> Option<RefusalCode> {
        let gate = Gate::new(HostToken::of("the-token-of-this-host"), &["Box.local".to_owned()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        gate.check(&map).err().map(|refusal| refusal.code)
    }

    #[test]
    fn r002_09_only_the_token_opens_and_only_as_a_header() {
        let with = |value: &'static str| code(&[("host", "127.0.0.1:3199"), ("authorization", value)]);
        assert_eq!(with("Bearer the-token-of-this-host"), None);
        assert_eq!(with("bearer the-token-of-this-host"), None);
        for wrong in [
            "Bearer the-token-of-this-hos",
            "Bearer ",
            "Basic the-token-of-this-host",
            "the-token-of-this-host",
        ] {
            assert_eq!(with(wrong), Some(RefusalCode::Unauthorized), "{wrong}");
        }
        assert_eq!(code(&[("host", "127.0.0.1")]), Some(RefusalCode::Unauthorized));
        let twice = "Bearer the-token-of-this-host";
        assert_eq!(
            code(&[("host", "[::1]:3199"), ("authorization", twice), ("authorization", twice)]),
            Some(RefusalCode::Unauthorized)
        );
    }

    #[test]
    fn a_page_and_a_name_that_was_made_to_point_here_are_refused_before_the_token_is_looked_at() {
        let token = ("authorization", "Bearer the-token-of-this-host");
        for host in
            ["localhost:3199", "LOCALHOST", "[::1]", "192.168.1.5:3199", "box.local:3199", "box.local."]
        {
            assert_eq!(code(&[("host", host), token]), None, "{host}");
        }
        for host in ["evil.example:3199", "localhost.evil.example", "127.0.0.1.nip.io", "", "box.local:x"] {
            assert_eq!(code(&[("host", host), token]), Some(RefusalCode::ForbiddenOrigin), "{host}");
        }
        assert_eq!(code(&[token]), Some(RefusalCode::ForbiddenOrigin));
        for origin in ["https://evil.example", "null", "http://127.0.0.1:3199"] {
            let headers = [("host", "127.0.0.1:3199"), ("origin", origin), token];
            assert_eq!(code(&headers), Some(RefusalCode::ForbiddenOrigin), "{origin}");
        }
    }
}
