//! The way to one engine over HTTP: where it is, the token that it is sent, and the client, built at the first request.
//!
//! Owns when a token goes along: to this address alone, never where it could be read on the way. Never sends, and never reads an
//! answer: what a refusal means differs from engine to engine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, RequestBuilder};
use tokio::sync::{Notify, OnceCell};

use super::base_url::BaseUrl;
use super::client::builder;
use super::trusted::trusting;

/// Engines close a connection that was idle for about 5 s, so one that is older than this is not used again.
const IDLE: Duration = Duration::from_millis(2_500);

/// A dead peer on another machine is noticed by the system after this and three more tries.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How long a token is waited for at a peer that wants one and was given none: an editor hands it over right behind its greeting.
const FIRST_TOKEN: Duration = Duration::from_secs(1);

/// Why there is no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoRequest {
    /// An id in its path is none.
    NoPath,
    /// The token could be read on the way.
    Exposed,
    /// The token is one that no header can hold.
    BadToken,
    /// The client cannot be built; the end of a sentence.
    NoClient(String),
}

/// See the module.
pub(crate) struct HttpPeer {
    base_url: BaseUrl,
    /// Certificates of authorities beside the system's, in PEM.
    ca_file: Option<PathBuf>,
    /// How long a connection may take.
    connect: Duration,
    token: RwLock<Option<String>>,
    client: OnceCell<Client>,
    /// A request did not reach it, or its token was not taken.
    trouble: Notify,
    /// Another token came.
    new_token: Notify,
    /// A first token was waited for.
    has_waited: AtomicBool,
}

impl HttpPeer {
    /// A way to `base_url`. `token` belongs to it alone.
    pub(crate) fn new(
        base_url: BaseUrl,
        token: Option<String>,
        ca_file: Option<PathBuf>,
        connect: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            base_url,
            ca_file,
            connect,
            token: RwLock::new(token),
            client: OnceCell::new(),
            trouble: Notify::new(),
            new_token: Notify::new(),
            has_waited: AtomicBool::new(false),
        })
    }

    /// Where it is.
    pub(crate) fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// Takes another token, or forgets the one there is; requests from now on use it.
    pub(crate) fn set_token(&self, token: Option<String>) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = token;
        // Whoever waits hears of it, and of one that comes before anybody waits the next who does.
        self.new_token.notify_waiters();
        self.new_token.notify_one();
        self.trouble.notify_one();
    }

    /// A request met something that concerns whoever watches the peer.
    pub(crate) fn met_trouble(&self) {
        self.trouble.notify_one();
    }

    /// Waits until a request met trouble, or another token came: time to ask how the peer is.
    pub(crate) async fn trouble(&self) {
        self.trouble.notified().await;
    }

    /// Waits until another token comes.
    pub(crate) async fn new_token(&self) {
        self.new_token.notified().await;
    }

    /// Waits a moment for the token of a peer that wants one and was given none, once; `false`: it was waited for before. What the peer
    /// said before is then asked for again, and told only when no token came.
    pub(crate) async fn waits_for_first_token(&self) -> bool {
        if self.has_waited.swap(true, Ordering::Relaxed) {
            return false;
        }
        // Told by the next answer when it does not come.
        let _ = tokio::time::timeout(FIRST_TOKEN, self.new_token()).await;
        true
    }

    /// A request with the token, where there is one, and whether there is.
    ///
    /// # Errors
    /// See [`NoRequest`].
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(RequestBuilder, bool), NoRequest> {
        let url = self.base_url.at(path, query).ok_or(NoRequest::NoPath)?;
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(token) = token else { return Ok((self.client().await?.request(method, url), false)) };
        if self.base_url.is_readable_on_the_way() {
            return Err(NoRequest::Exposed);
        }
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| NoRequest::BadToken)?;
        value.set_sensitive(true);
        Ok((self.client().await?.request(method, url).header(AUTHORIZATION, value), true))
    }

    /// The HTTP client. Building it may read certificates, so it is not done on a thread that others wait for.
    async fn client(self: &Arc<Self>) -> Result<&Client, NoRequest> {
        let build = || async {
            let peer = Arc::clone(self);
            let failed = "the client for it could not be built".to_owned();
            let built = tokio::task::spawn_blocking(move || peer.build()).await;
            built.unwrap_or(Err(failed)).map_err(NoRequest::NoClient)
        };
        self.client.get_or_try_init(build).await
    }

    fn build(&self) -> Result<Client, String> {
        let builder = builder(self.base_url.route())
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .connect_timeout(self.connect)
            .pool_idle_timeout(IDLE);
        trusting(builder, &self.base_url, self.ca_file.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    fn peer(url: &str, token: Option<&str>) -> Arc<HttpPeer> {
        HttpPeer::new(BaseUrl::parse(url).unwrap(), token.map(str::to_owned), None, LONG)
    }

    async fn sent(peer: &Arc<HttpPeer>, path: &[&str]) -> Result<Option<HeaderValue>, NoRequest> {
        let (request, has_token) = peer.request(Method::GET, path, &[]).await?;
        let sent = request.build().unwrap().headers().get(AUTHORIZATION).cloned();
        assert_eq!(sent.is_some(), has_token);
        Ok(sent)
    }

    #[tokio::test]
    async fn a_token_goes_along_only_where_nobody_reads_it_on_the_way() {
        let here = peer("http://127.0.0.1:1", Some("t"));
        assert_eq!(sent(&here, &["v1"]).await, Ok(Some(HeaderValue::from_static("Bearer t"))));
        here.set_token(None);
        assert_eq!(sent(&here, &["v1"]).await, Ok(None));
        here.set_token(Some("a\nb".to_owned()));
        assert_eq!(sent(&here, &["v1"]).await, Err(NoRequest::BadToken));
        assert_eq!(sent(&here, &["v1", ".."]).await, Err(NoRequest::NoPath));
        let elsewhere = peer("http://engine.example", Some("t"));
        assert_eq!(sent(&elsewhere, &["v1"]).await, Err(NoRequest::Exposed));
        elsewhere.set_token(None);
        assert_eq!(sent(&elsewhere, &["v1"]).await, Ok(None));
    }

    #[tokio::test]
    async fn another_token_wakes_whoever_waits_for_one_or_watches() {
        let peer = peer("http://127.0.0.1:1", None);
        peer.set_token(Some("t".to_owned()));
        peer.new_token().await;
        peer.trouble().await;
        peer.met_trouble();
        peer.trouble().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_token_is_waited_for_once_and_for_a_moment() {
        let handed_over = peer("http://127.0.0.1:1", None);
        handed_over.set_token(Some("t".to_owned()));
        let begun = tokio::time::Instant::now();
        assert!(handed_over.waits_for_first_token().await);
        assert!(begun.elapsed() < FIRST_TOKEN);
        let alone = peer("http://127.0.0.1:1", None);
        assert!(alone.waits_for_first_token().await);
        assert!(begun.elapsed() >= FIRST_TOKEN);
        assert!(!alone.waits_for_first_token().await);
    }
}
