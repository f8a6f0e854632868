//! An engine on another machine: behind TLS, with a certificate of its owner's own authority, and behind a proxy.
//!
//! The proxy and the end of TLS are ours and pass everything on to the simulator.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use breadboard_ls::testing::simulate::breadboard::SimulatorOptions;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use crate::breadboard_desk::*;
use crate::harness::{Options, Server};

/// A name that no resolver knows: only the proxy leads there.
const HOST: &str = "engine.breadboard.invalid";

const TOKEN: &str = "bbt-1c0ffee5-for-the-engine-only";

/// A proxy, and behind it the engine with its certificate.
struct Office {
    desk: Desk,
    proxy: SocketAddr,
    /// What the proxy was told, head by head.
    told: Arc<Mutex<Vec<String>>>,
    authority: PathBuf,
    _place: tempfile::TempDir,
    _runtime: Runtime,
}

impl Office {
    fn open(prompts: &Value) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (authority, acceptor) = certified();
        let file = place.path().join("authority.pem");
        std::fs::write(&file, authority).unwrap();
        let desk = Desk::start(SimulatorOptions { token: Some(TOKEN.to_owned()), ..scripted(prompts) });
        let engine = desk.engine.base_url().trim_start_matches("http://").to_owned();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let proxy = listener.local_addr().unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let heads = Arc::clone(&told);
        runtime.spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (acceptor, engine, heads) = (acceptor.clone(), engine.clone(), Arc::clone(&heads));
                tokio::spawn(async move {
                    let head = head_of(&mut client).await;
                    heads.lock().unwrap().push(head);
                    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
                    // A client that does not like the certificate hangs up here.
                    let inside = acceptor.accept(client).await.ok()?;
                    let behind = TcpStream::connect(engine).await.ok()?;
                    pass_on(inside, behind).await.ok()
                });
            }
        });
        Self { desk, proxy, told, authority: file, _place: place, _runtime: runtime }
    }

    /// Options of a server that is to reach the engine, which is told of this authority.
    fn chosen(&self, authority: Option<&PathBuf>) -> Options {
        let mut options = chosen(&format!("https://{HOST}"), true)
            .env("BREADBOARD_API_TOKEN", TOKEN)
            .env("HTTPS_PROXY", &format!("http://{}", self.proxy))
            .env("NO_PROXY", "");
        if let Some(authority) = authority {
            options.options["engine"]["caFile"] = json!(authority);
        }
        options
    }

    /// Every head that the proxy heard, once each.
    fn heads(&self) -> Vec<String> {
        let mut heads = self.told.lock().unwrap().clone();
        heads.sort();
        heads.dedup();
        heads
    }
}

/// An authority of nobody's, in PEM, and the end of TLS with a certificate of it for the engine.
fn certified() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let engine = CertificateParams::new(vec![HOST.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![engine.der().clone()], key).unwrap();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// Passes on both ways. The simulator answers to names of this machine only, so the engine's is changed into one.
async fn pass_on(inside: TlsStream<TcpStream>, behind: TcpStream) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = tokio::io::split(inside);
    let (mut from_engine, mut to_engine) = behind.into_split();
    let there = async {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = from_client.read(&mut bytes).await?;
            if count == 0 {
                return to_engine.shutdown().await;
            }
            let local = String::from_utf8_lossy(&bytes[..count]).replace(HOST, "localhost");
            to_engine.write_all(local.as_bytes()).await?;
        }
    };
    let back = async {
        tokio::io::copy(&mut from_engine, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::try_join!(there, back).map(drop)
}

async fn head_of(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn an_engine_behind_a_proxy_and_tls_is_reached_with_its_own_authority_and_the_proxy_sees_no_token() {
    // Given an engine behind both, whose authority the settings name
    let office = Office::open(&json!([[piece("far "), piece("away"), says("far away")]]));
    let mut server = Server::ready(office.chosen(Some(&office.authority)));
    connected(&server);
    // When a prompt goes there
    let session = server.session();
    server.prompt(&session, "where are you?");
    ran(&server, &session);
    // Then the engine, which takes nothing without its token, had it, and its stream came back
    let inputs = office.desk.inputs(&session);
    assert_eq!(inputs.iter().map(|input| &input["content"]).collect::<Vec<_>>(), ["where are you?"]);
    let answers = server.ask("bb/view/page", json!({ "sessionId": session, "lane": "chat" }));
    assert!(answers.to_string().contains("far away"), "{answers}");
    // And the proxy was told nothing but where to
    let heads = office.heads();
    assert!(heads.iter().all(|head| head.starts_with(&format!("CONNECT {HOST}:443 "))), "{heads:?}");
    assert!(!heads.is_empty() && !heads.concat().contains(TOKEN), "{heads:?}");
    assert!(server.shut_down().success());
}

#[test]
fn an_engine_whose_certificate_nobody_vouches_for_is_not_spoken_with_and_the_sentence_says_what_to_do() {
    // Given the same engine, whose authority nobody named
    let office = Office::open(&json!([]));
    let server = Server::ready(office.chosen(None));
    // Then it is no connection, in a sentence, and the engine was asked nothing
    let told = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let sentence = told["params"]["lastError"].as_str().unwrap();
    assert!(
        sentence.contains("certificate") && sentence.contains("name its file in the settings"),
        "{sentence}"
    );
    assert_eq!(office.desk.engine.requests(), Vec::new());
}

#[test]
fn a_file_without_certificates_is_said_by_its_name() {
    let office = Office::open(&json!([]));
    let empty = office.authority.with_file_name("empty.pem");
    std::fs::write(&empty, "no certificate\n").unwrap();
    let server = Server::ready(office.chosen(Some(&empty)));
    let told = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let sentence = told["params"]["lastError"].as_str().unwrap();
    assert!(sentence.contains("which the settings name") && sentence.contains("empty.pem"), "{sentence}");
    assert_eq!(office.heads(), Vec::<String>::new());
}
