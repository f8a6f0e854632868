//! The listener: connections in, with TLS or without, each bounded in time and number.
//!
//! Owns which address may be listened on without TLS, and the end: when the host stops, no connection holds it up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::host::{DesktopHost, SOCKETS, ended};
use super::router::router;

/// Connections at a time; with keep-alive a client has one or two.
const CONNECTIONS: usize = 512;

/// How long the start of TLS, and the head of a request, may take.
const HEAD: Duration = Duration::from_secs(10);

/// Bytes of the head of a request.
const HEAD_BYTES: usize = 64 << 10;

/// How long connections may take to end when the host stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where the host listens, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenOptions {
    /// The address.
    pub address: SocketAddr,
    /// Files with the certificate chain and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// What was opened.
pub(crate) struct OpenedListener {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    /// As a client names it.
    pub url: String,
}

/// Opens the address.
///
/// # Errors
/// One sentence: the address is in use, it is open to other machines without TLS, or the files of TLS cannot be read.
pub(crate) async fn open_listener(options: &ListenOptions) -> Result<OpenedListener, String> {
    let address = options.address;
    if !address.ip().is_loopback() && options.tls.is_none() {
        return Err(format!(
            "{address} is open to other machines, and without TLS the token could be read on the way; name --tls-cert and \
             --tls-key, or listen on 127.0.0.1."
        ));
    }
    let tls = match &options.tls {
        Some((certificate, key)) => Some(acceptor(certificate, key)?),
        None => None,
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        format!("{address} cannot be listened on: {error}; choose another address with --listen.")
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    let scheme = if tls.is_some() { "https" } else { "http" };
    Ok(OpenedListener { listener, tls, url: format!("{scheme}://{bound}") })
}

fn acceptor(certificate: &PathBuf, key: &PathBuf) -> Result<TlsAcceptor, String> {
    let unreadable = |what: &str, file: &PathBuf, error: &dyn std::fmt::Display| {
        format!("The {what} {} cannot be used: {error}; name a PEM file.", file.display())
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable("certificate", certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("key", key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unreadable("certificate", certificate, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| unreadable("certificate", certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until `stop` turns true, and then until every connection has ended or had its time.
pub(crate) async fn serve_until(
    opened: OpenedListener,
    host: Arc<DesktopHost>,
    mut stop: watch::Receiver<bool>,
) {
    let OpenedListener { listener, tls, .. } = opened;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let sockets = Arc::clone(&host.sockets);
    let service = TowerToHyperService::new(router(host));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ended(&mut stop) => break,
        };
        let Ok((stream, _)) = accepted else {
            // No more files may be open; some will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Past the bound a connection is closed at once: whoever waits would wait for nothing.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let (tls, service, stop) = (tls.clone(), service.clone(), stop.clone());
        tokio::spawn(async move {
            match tls {
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD, tls.accept(stream)).await {
                        connection(stream, service, stop).await;
                    }
                }
                None => connection::<TcpStream>(stream, service, stop).await,
            }
            drop(place);
        });
    }
    drop(listener);
    let all = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
    let farewell = async {
        // Sockets have left their connection, and are told to close on their own.
        tokio::join!(places.acquire_many(all(CONNECTIONS)), sockets.acquire_many(all(SOCKETS)))
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    service: TowerToHyperService<axum::Router>,
    mut stop: watch::Receiver<bool>,
) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(serving);
    tokio::select! {
        _ = serving.as_mut() => {}
        () = ended(&mut stop) => {
            // The answer that is under way, and no further one.
            serving.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(FAREWELL, serving).await;
        }
    }
}
