//! TLS: the host's own certificate, our client's authority, and an address that others reach.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use super::command;
use crate::breadboard_desk::connected;
use crate::desktop_desk::{chosen, last_text};
use crate::harness::Server;
use crate::model::{Model, says};

/// Files of a certificate for this machine, and the authority that stands behind it.
struct Certified {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    _place: TempDir,
}

impl Certified {
    fn make() -> Self {
        let place = tempfile::tempdir().expect("a place");
        let mut params = CertificateParams::new(Vec::new()).expect("params");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let host =
            CertificateParams::new(names).expect("params").signed_by(&key, &authority).expect("is signed");
        let write = |name: &str, text: String| {
            let file = place.path().join(name);
            std::fs::write(&file, text).expect("is written");
            file
        };
        Self {
            authority: write("authority.pem", authority.pem()),
            certificate: write("host.pem", host.pem()),
            key: write("host.key", key.serialize_pem()),
            _place: place,
        }
    }
}

/// A host with TLS, ended with this value.
struct SecureHost {
    child: Child,
    /// What it said until it named the token.
    said: Vec<String>,
    port: String,
    token: String,
    workspace: Arc<TempDir>,
    _state: TempDir,
}

impl SecureHost {
    fn start(model: &Model, certified: &Certified, listen: &str, lines: usize) -> Self {
        let (workspace, state) =
            (Arc::new(tempfile::tempdir().expect("a folder")), tempfile::tempdir().expect("a folder"));
        let chosen = model.options(true);
        let model_url = chosen["model"]["url"].as_str().expect("a url");
        let mut child = command(&workspace, &state)
            .args(["--trust", "--model=story", "--model-provider=openai"])
            .arg(format!("--model-url={model_url}"))
            .arg(format!("--listen={listen}"))
            .arg(format!("--tls-cert={}", certified.certificate.display()))
            .arg(format!("--tls-key={}", certified.key.display()))
            .spawn()
            .expect("the host starts");
        let mut all = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let said: Vec<String> = all.by_ref().take(lines).map(|line| line.expect("text")).collect();
        std::thread::spawn(move || all.for_each(drop));
        let rest = said[0].split_once("Listening on https://").unwrap_or_else(|| panic!("{said:?}")).1;
        let (address, rest) = rest.split_once("; the token is in ").expect("where the token is");
        let port = address.rsplit_once(':').expect("a port").1.to_owned();
        let token = std::fs::read_to_string(rest.trim_end_matches('.')).expect("a token").trim().to_owned();
        Self { child, said, port, token, workspace, _state: state }
    }

    /// A server of ours that is told of this authority.
    fn server(&self, authority: &PathBuf, token: &str) -> Server {
        let mut options = chosen(&format!("https://localhost:{}", self.port), true)
            .env("BREADBOARD_API_TOKEN", token)
            .env("NO_PROXY", "localhost,127.0.0.1");
        options.options["engine"]["caFile"] = json!(authority);
        let state = Arc::new(tempfile::tempdir().expect("a state directory"));
        let mut server = Server::start_in(Arc::clone(&self.workspace), state, options);
        server.shake_hands();
        server
    }
}

impl Drop for SecureHost {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn r002_03_the_host_speaks_https_and_our_client_asks_through_it_with_the_authority_that_signed() {
    let model = Model::start(vec![says("Through TLS.")]);
    let certified = Certified::make();
    let host = SecureHost::start(&model, &certified, "127.0.0.1:0", 1);
    let mut server = host.server(&certified.authority, &host.token);
    connected(&server);
    let session = server.session();
    server.prompt(&session, "who is there?");
    server.wait_end(&session);
    assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some("Through TLS."));
}

#[test]
fn r002_03_an_authority_that_did_not_sign_is_refused_in_a_sentence_and_plain_http_hears_nothing() {
    let model = Model::start(Vec::new());
    let certified = Certified::make();
    let host = SecureHost::start(&model, &certified, "127.0.0.1:0", 1);
    let other = Certified::make();
    let server = host.server(&other.authority, &host.token);
    let refused = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let why = refused["params"]["lastError"].as_str().expect("a sentence");
    assert!(why.contains("certificate") && why.ends_with('.'), "{why}");
    // Without TLS there is no answer at all, and so nothing that a page or a proxy could read.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let plain = runtime.block_on(client.get(format!("http://127.0.0.1:{}/v1/health", host.port)).send());
    assert!(plain.is_err(), "{plain:?}");
}

#[test]
fn r002_04_09_an_address_that_others_reach_says_so_and_wants_the_token() {
    let model = Model::start(Vec::new());
    let certified = Certified::make();
    // It says so twice: who can do what, and how it is taken back.
    let host = SecureHost::start(&model, &certified, "0.0.0.0:0", 4);
    assert!(host.said[1].contains("Other machines can reach this address"), "{:?}", host.said);
    assert!(host.said[2].contains("listen on 127.0.0.1"), "{:?}", host.said);
    assert!(host.said[3].contains("clients with the token may"), "{:?}", host.said);
    let server = host.server(&certified.authority, "another-token-of-some-length");
    let refused = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let why = refused["params"]["lastError"].as_str().expect("a sentence");
    assert!(why.contains("token"), "{why}");
}
