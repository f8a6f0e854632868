//! Construction of HTTP clients.
//!
//! Owns what all of them have in common: TLS, no redirects, no retries, no decompression, a user agent. Never sends.

use std::sync::Once;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// How long an endpoint may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the head of an answer, and then for each next byte.
    pub idle: Duration,
}

/// The way to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Straight to it. For this machine: a proxy would see a token in the clear.
    Direct,
    /// Through the system's proxy where there is one.
    SystemProxy,
}

/// A client. `None` when TLS cannot be set up on this machine. Reads certificates, so it may block.
pub(crate) fn client(route: Route, timeouts: EndpointTimeouts) -> Option<reqwest::Client> {
    builder(route).connect_timeout(timeouts.connect).read_timeout(timeouts.idle).build().ok()
}

/// What all clients have in common.
pub(crate) fn builder(route: Route) -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An `Err` means that another part of the process installed one first, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        // Another crate may switch these features of the library on for the whole build.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .http1_only()
        .default_headers(plain)
        .user_agent(concat!("breadboard-ls/", env!("CARGO_PKG_VERSION")));
    match route {
        Route::Direct => builder.no_proxy(),
        Route::SystemProxy => builder,
    }
}
