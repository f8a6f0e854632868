//! What TLS finds wrong at an address: a BreadBoard engine, a desktop host and a model each say what it is and what to do about it,
//! under one code, and send nothing there. The ends of TLS are real ones, with certificates of an authority of this story.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream};

use crate::errors::{answer, peer};
use crate::harness::{Options, Server};

/// What is wrong with a certificate.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Names,
    OneName,
    Over,
    NotYet,
    Unsigned,
    OtherAuthority,
    OfAuthority,
    Nothing,
}

/// An end of TLS that answers nothing, and what it was sent.
struct TlsPeer {
    port: u16,
    /// The file of the authority that clients are to trust.
    authority: PathBuf,
    sent: Arc<Mutex<Vec<u8>>>,
    _place: TempDir,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("params");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

impl TlsPeer {
    fn with(wrong: Wrong) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let (trusted, key) = (authority(), KeyPair::generate().expect("a key"));
        let names: &[&str] = match wrong {
            Wrong::Names => &["engine.example", "10.1.2.3"],
            Wrong::OneName => &["engine.example"],
            _ => &["localhost"],
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("params");
        match wrong {
            Wrong::Over => params.not_after = date_time_ymd(2020, 2, 29),
            Wrong::NotYet => params.not_before = date_time_ymd(2999, 1, 1),
            Wrong::OfAuthority => params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            // Of the same name as the authority that is trusted, as when that was made anew.
            Wrong::Names | Wrong::OneName | Wrong::OtherAuthority | Wrong::Nothing => {}
            Wrong::Unsigned => params.distinguished_name.push(DnType::CommonName, "engine"),
        }
        let signed = match wrong {
            Wrong::Unsigned | Wrong::OtherAuthority => params.self_signed(&key),
            _ => params.signed_by(&key, &trusted),
        };
        let certificate = signed.expect("a certificate").der().clone();
        let file = place.path().join("authority.pem");
        std::fs::write(&file, trusted.pem()).expect("is written");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = config.expect("versions").with_no_client_auth().with_single_cert(vec![certificate], key);
        let config = Arc::new(config.expect("an end of TLS"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let sent: Arc<Mutex<Vec<u8>>> = Arc::default();
        let heard = Arc::clone(&sent);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut tls = ServerConnection::new(Arc::clone(&config)).expect("a connection");
                let mut bytes = [0; 4096];
                // A client that does not like the certificate hangs up in the middle of this.
                if let Ok(read) = Stream::new(&mut tls, &mut stream).read(&mut bytes) {
                    heard.lock().expect("bytes").extend_from_slice(&bytes[..read]);
                }
                let _ = stream.flush();
            }
        });
        Self { port, authority: file, sent, _place: place }
    }
}

/// Whom a user has at an address.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whom {
    Engine,
    Host,
    Model,
}

impl Whom {
    fn name(self) -> &'static str {
        match self {
            Self::Engine => "The BreadBoard engine",
            Self::Host => "The desktop host",
            Self::Model => "The model",
        }
    }

    /// Where he can name an authority that this machine does not know.
    fn adds_authority(self) -> &'static str {
        match self {
            Self::Engine | Self::Host => {
                "add its authority's certificate to those of this machine, or name its file in the settings"
            }
            Self::Model => "add its authority's certificate to those of this machine",
        }
    }

    /// The sentence that he is told about this address, which this machine's authorities or its own are trusted at; `PEER` for it.
    fn told(self, url: &str, trusted: &TlsPeer) -> String {
        let told = match self {
            Self::Model => self.of_a_model(url, trusted),
            Self::Engine => self.of_an_engine("breadboard", url, trusted),
            Self::Host => self.of_an_engine("desktop", url, trusted),
        };
        told.replace(url, "PEER")
    }

    fn of_an_engine(self, kind: &str, url: &str, trusted: &TlsPeer) -> String {
        let engine = json!({ "kind": kind, "url": url, "caFile": trusted.authority });
        let mut server = Self::server(json!({ "engine": engine, "workspaceTrusted": true }), trusted);
        let told = server.wait_notification("bb/connection", |params| params["status"] == "error");
        let sentence = told["params"]["lastError"].as_str().expect("a sentence").to_owned();
        let refused = server.refused("bb/createSession", json!({}));
        let code =
            if sentence.contains("is not a BreadBoard") { "engine_rejected" } else { "engine_unreachable" };
        assert_eq!(refused["data"]["code"], code, "{refused}");
        assert_eq!(refused["message"], sentence.as_str(), "{refused}");
        sentence
    }

    fn of_a_model(self, url: &str, trusted: &TlsPeer) -> String {
        let model = json!({ "provider": "openai", "name": "m", "url": format!("{url}/v1") });
        let mut server = Self::server(json!({ "model": model, "workspaceTrusted": true }), trusted);
        let session = server.session();
        server.turn(&session, "hello");
        let events = server.events(&session);
        let error = events.iter().find(|event| event["type"] == "server.error").expect("an error");
        let error = &error["payload"]["error"];
        assert_eq!(error["code"], "MODEL_ERROR", "{error}");
        // Nothing comes of asking again, but of another address or certificate.
        assert_eq!(error["details"]["retry"], json!({ "taken": "no", "when": "changed" }), "{error}");
        error["message"].as_str().expect("a sentence").to_owned()
    }

    fn server(options: Value, trusted: &TlsPeer) -> Server {
        let options = Options { options, ..Options::default() };
        let file = trusted.authority.to_string_lossy().into_owned();
        Server::ready(options.env("SSL_CERT_FILE", &file).env("NO_PROXY", "localhost,127.0.0.1"))
    }
}

const ALL: [Whom; 3] = [Whom::Engine, Whom::Host, Whom::Model];

/// What each says of a peer with this certificate.
fn said(wrong: Wrong) -> Vec<(Whom, String)> {
    let peer = TlsPeer::with(wrong);
    let url = format!("https://localhost:{}", peer.port);
    let said = ALL.map(|whom| (whom, whom.told(&url, &peer))).to_vec();
    assert_eq!(String::from_utf8_lossy(&peer.sent.lock().expect("bytes")), "", "it was sent something");
    said
}

/// Each says that it sent nothing, why, and what to do.
fn assert_said(wrong: Wrong, why: &str, next: impl Fn(Whom) -> &'static str) {
    for (whom, sentence) in said(wrong) {
        let wanted = format!("{} at PEER was sent nothing, because {why}; {}.", whom.name(), next(whom));
        assert_eq!(sentence, wanted, "{whom:?}");
    }
}

#[test]
fn a_certificate_for_other_names_is_told_with_the_names() {
    let next = |_| "give an address with a name of its certificate, or have one made there for this address";
    assert_said(Wrong::OneName, "its certificate is for `engine.example` and not for `localhost`", next);
    let several = "its certificate is for `engine.example` and `10.1.2.3` and not for `localhost`";
    assert_said(Wrong::Names, several, next);
}

#[test]
fn a_certificate_that_is_over_or_has_not_begun_is_told_as_that() {
    let renewed = "have it renewed there, or set the clock of this machine where that is wrong";
    for (whom, sentence) in said(Wrong::Over) {
        let before = format!("{} at PEER was sent nothing, because its certificate expired ", whom.name());
        let days = sentence.strip_prefix(&before).expect(&sentence);
        let days = days.strip_suffix(&format!(" days ago; {renewed}.")).expect(&sentence);
        // It was over on a day of February 2020.
        assert!(days.parse::<u32>().expect("a number") > 2_000, "{sentence}");
    }
    assert_said(Wrong::NotYet, "its certificate is not valid yet", |_| renewed);
}

#[test]
fn a_certificate_that_nobody_signed_whom_this_machine_trusts_is_told_with_where_to_add_him() {
    let why = "nobody whom this machine trusts has signed its certificate";
    assert_said(Wrong::Unsigned, why, Whom::adds_authority);
    let why = "its certificate is not signed by the authority that this machine trusts under that name";
    assert_said(Wrong::OtherAuthority, why, Whom::adds_authority);
    let why = "its certificate is that of an authority, as `openssl req -x509` makes one";
    assert_said(Wrong::OfAuthority, why, |_| "have one made for the server, which that authority signs");
}

#[test]
fn what_speaks_no_tls_is_told_as_that() {
    let trusted = TlsPeer::with(Wrong::Nothing);
    // Given one that speaks HTTP and nothing else
    let url = format!("https://127.0.0.1:{}", peer(answer("400 Bad", "")));
    for whom in ALL {
        let wanted = format!(
            "{} at PEER was sent nothing, because what answers there speaks no TLS; check its address: the port, and http in \
             place of https where it has no TLS.",
            whom.name()
        );
        assert_eq!(whom.told(&url, &trusted), wanted, "{whom:?}");
    }
    // And one that hangs up at once
    let url = format!("https://127.0.0.1:{}", peer(Vec::new()));
    for whom in ALL {
        let told = whom.told(&url, &trusted);
        assert!(told.contains("what answers there speaks no TLS"), "{whom:?}: {told}");
    }
}

#[test]
fn what_wants_tls_is_told_as_that_where_the_address_begins_with_http() {
    let peer = TlsPeer::with(Wrong::Nothing);
    let url = format!("http://127.0.0.1:{}", peer.port);
    for whom in ALL {
        let told = whom.told(&url, &peer);
        assert!(told.contains(" HTTP") && told.contains("with https where"), "{whom:?}: {told}");
    }
}
